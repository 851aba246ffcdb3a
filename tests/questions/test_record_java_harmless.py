"""record leaves Java programs as they are, whatever else is at work in their JVM: other agents,
class loaders that hand nothing up, a full stack, a security manager."""

import subprocess
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from sweeps.lock_logs.log import EventLog, Kind, read_events
from tests.commands import lockcross, program
from tests.java_agent import SOURCES, counts, needs_java
from tests.jdks import RELEASES, USUAL, version_of

pytestmark = needs_java
LAST_WITH_MANAGER = 23  # JDK that takes a security manager
_SECONDS = 100
# Else three quarters of a run go into compiling the JDK's own methods well. A full stack and the
# programs that are drawn have all of the JIT.
QUICK, WHOLE = "-XX:TieredStopAtLevel=1", "-XX:TieredStopAtLevel=4"

every_jvm = pytest.mark.parametrize("java", RELEASES, indirect=True)


@dataclass(frozen=True)
class Ran:
    code: int
    output: str
    errors: str
    log: Path

    @property
    def events(self) -> EventLog:
        return read_events(self.log)


def run(agent: Path, log: Path, java: str, *words: str) -> Ran:
    """Run a program with the agent: it must behave as without, which is tried first."""
    plain = _run([java, QUICK, *words])
    recorded = _run([java, QUICK, f"-javaagent:{agent}=output={log}", *words])
    assert (recorded.returncode, recorded.stdout) == (plain.returncode, plain.stdout), (
        recorded.stderr
    )
    return Ran(recorded.returncode, recorded.stdout, recorded.stderr, log)


def _run(command: list[str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)


@every_jvm
def test_another_agent_has_classes_transformed_again(
    java: str, agent: Path, classes: Path, tmp_path: Path
) -> None:
    jar = tmp_path / "other.jar"
    with zipfile.ZipFile(jar, "w") as file:
        file.writestr(
            "META-INF/MANIFEST.MF",
            "Premain-Class: Again\nCan-Retransform-Classes: true\n",
        )
        for one in classes.glob("Again*.class"):
            file.write(one, one.name)
    ran = run(agent, tmp_path / "x.locks", java, f"-javaagent:{jar}", "-cp", str(jar), "Again")
    assert ran.output == "4000\n"
    found = counts(ran.events)
    assert found["Again", "increment"] == found["Again", "block"] == 2000
    places = [one.method for one in ran.events.sites.values() if one.type == "Again"]
    assert sorted(places) == ["block", "increment"]


@every_jvm
def test_a_class_loader_that_hands_nothing_up(
    java: str, agent: Path, classes: Path, tmp_path: Path
) -> None:
    ran = run(agent, tmp_path / "x.locks", java, "-cp", str(classes), "Isolated")
    assert ran.output == "20\n"
    found = counts(ran.events)
    assert found["Inside", "run"] == found["Inside", "increment"] == 10


@every_jvm
def test_a_class_loader_with_a_list_is_named(
    java: str, agent: Path, classes: Path, tmp_path: Path
) -> None:
    ran = run(agent, tmp_path / "x.locks", java, "-cp", str(classes), "Isolated", "listed")
    assert ran.output == "20\n"
    assert "Inside: its class loader has a list" in ran.errors


@every_jvm
def test_a_full_stack(java: str, agent: Path, classes: Path, tmp_path: Path) -> None:
    ran = run(agent, tmp_path / "x.locks", java, WHOLE, "-Xss512k", "-cp", str(classes), "Overflow")
    assert ran.output == "60 false\n"
    assert "disk" not in ran.errors and "out of stack" in ran.errors
    log = ran.events
    assert log.totals is not None and log.totals.end == "exit"
    # Behind the last overflow, the thread is known to hold nothing.
    places = [number for number, one in log.sites.items() if one.method == "main"]
    last = log.events[log.events["site"].isin(places)]
    assert len(last) == 100
    kinds = log.events["kind"].value_counts()
    assert 0 <= kinds[Kind.ACQUIRED] - kinds[Kind.RELEASE] <= 8


@pytest.mark.parametrize("java", [USUAL, 21], indirect=True)
def test_a_security_manager(java: str, agent: Path, classes: Path, tmp_path: Path) -> None:
    if version_of(java) > LAST_WITH_MANAGER:
        pytest.skip("this JVM takes no security manager")
    manager = "-Djava.security.manager"
    ran = run(agent, tmp_path / "x.locks", java, manager, "-cp", str(classes), "Known", "10")
    assert "not seen: " in ran.errors
    allowed = f"{manager}=allow"
    words = ["-cp", str(classes), "Restricted"]
    ran = run(
        agent, tmp_path / "y.locks", java, *([allowed] if version_of(java) > 11 else []), *words
    )
    assert ran.output == "3001\n" and "not seen: " in ran.errors
    log = ran.events
    assert counts(log)["Restricted", "increment"] == 3000
    assert counts(log)["Restricted$Late", "increment"] == 1
    assert log.totals is not None and log.totals.end == "exit"


@every_jvm
def test_a_program_sees_its_own_frames_and_messages(
    java: str, agent: Path, classes: Path, tmp_path: Path
) -> None:
    ran = run(agent, tmp_path / "x.locks", java, "-cp", str(classes), "Visible")
    assert ran.output.count("Visible.java") == 3


@every_jvm
def test_waits_by_references_and_reflection(
    java: str, agent: Path, classes: Path, tmp_path: Path
) -> None:
    log = run(agent, tmp_path / "x.locks", java, "-cp", str(classes), "Indirect").events
    one = log.events[
        log.events["site"].isin([n for n, at in log.sites.items() if at.method == "await"])
    ]
    events = log.events[log.events["object"] == one["object"].iloc[0]]
    kinds = events["kind"].value_counts()
    assert kinds[Kind.WAIT] == kinds[Kind.WAITED] == 3
    assert kinds[Kind.NOTIFY_ALL] == 3


def test_where_nothing_can_be_recorded_the_program_goes_on(
    agent: Path, classes: Path, tmp_path: Path
) -> None:
    log = tmp_path / "none" / "x.locks"
    ran = run(agent, log, "java", "-cp", str(classes), "Isolated")
    assert ran.code == 0 and "nothing can be recorded" in ran.errors


def test_quotes_in_a_path(classes: Path, tmp_path: Path) -> None:
    folder = tmp_path / 'it\'s "his"'
    folder.mkdir()
    program(tmp_path, "start", f"exec java -cp '{classes}' Isolated")
    log = folder / "it's.locks"
    done = lockcross("record", "--output", str(log), "--", str(tmp_path / "start"))
    assert done.returncode == 0 and done.stdout == "20\n", done.stderr
    assert counts(read_events(log))["Inside", "run"] == 10


def test_behind_the_limit_acquisitions_are_counted(
    agent: Path, classes: Path, tmp_path: Path
) -> None:
    log = tmp_path / "x.locks"
    options = f"-javaagent:{agent}=most=2000000;output={log}"
    done = _run(["java", options, "-cp", str(classes), "Endless", "1500", "0"])
    assert done.returncode == 0, done.stderr
    made = int(done.stdout.split()[-1])
    found = read_events(log)
    assert found.totals is not None and found.totals.end == "limit"
    all_ = found.totals.acquisitions + (found.totals.counted or 0)
    assert made <= all_ <= made + 1000


@pytest.fixture(scope="module")
def libraries(agent: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The programs that use libraries, and these. Skips where the libraries cannot be had."""
    folder = tmp_path_factory.mktemp("libraries")
    project = SOURCES / "with-libraries"
    copy = ["dependency:copy-dependencies", f"-DoutputDirectory={folder}"]
    command = ["mvn", "--batch-mode", "--quiet", "--file", str(project / "pom.xml"), *copy]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"the libraries cannot be had: {done.stdout[-300:]}")
    path = [folder / "own", *sorted(folder.glob("*.jar"))]
    files = [str(one) for one in project.glob("*.java")]
    path_text = ":".join(map(str, path))
    compile_ = ["javac", "-nowarn", "--release", "11", "-cp", path_text, "-d", str(path[0])]
    subprocess.run([*compile_, *files], check=True, capture_output=True)
    return path


@every_jvm
@pytest.mark.long
def test_a_mocking_library(java: str, agent: Path, libraries: list[Path], tmp_path: Path) -> None:
    path = ":".join(map(str, libraries))
    ran = run(agent, tmp_path / "x.locks", java, "-cp", path, "Mocked")
    assert ran.output == "42 51\n"
    assert counts(ran.events)["Mocked$Account", "add"] >= 51


@every_jvm
@pytest.mark.long
def test_an_osgi_framework(java: str, agent: Path, libraries: list[Path], tmp_path: Path) -> None:
    bundle = tmp_path / "bundle.jar"
    with zipfile.ZipFile(bundle, "w") as file:
        file.writestr(
            "META-INF/MANIFEST.MF",
            "Manifest-Version: 1.0\nBundle-ManifestVersion: 2\nBundle-SymbolicName: b\n"
            "Bundle-Version: 1\nBundle-Activator: Bundled\nImport-Package: org.osgi.framework\n\n",
        )
        file.write(libraries[0] / "Bundled.class", "Bundled.class")
    path = ":".join(map(str, libraries))
    words = ["-cp", path, "Bundled", str(bundle), str(tmp_path / "storage")]
    ran = run(agent, tmp_path / "x.locks", java, *words)
    assert ran.output == "100\n"
    found = counts(ran.events)
    assert found["Bundled", "start"] == found["Bundled", "increment"] == 50
