"""record leaves Java programs as they are, whatever else is at work in their JVM: other agents,
class loaders that hand nothing up, a full stack, a security manager."""

import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from sweeps.lock_logs.log import Kind, read_events
from tests.java_agent import SOURCES, counts, needs_java
from tests.jdks import RELEASES, USUAL, version_of
from tests.questions.recording import ended
from tests.questions.test_record import events_at

pytestmark = needs_java
LAST_WITH_MANAGER = 23  # JDK that takes a security manager
# Else three quarters of a run go into compiling the JDK's own methods well. A full stack and the
# programs that are drawn have all of the JIT.
QUICK, WHOLE = "-XX:TieredStopAtLevel=1", "-XX:TieredStopAtLevel=4"
Ended = subprocess.CompletedProcess[str]
Run = Callable[..., Ended]

every_jvm = pytest.mark.parametrize("java", RELEASES, indirect=True)


@pytest.fixture
def run(java: str, agent: Path, classes: Path, log: Path) -> Run:
    """Runs a program with the agent: it must behave as without, which is tried first."""

    def run(*words: str, path: str | Path = classes, log: Path = log) -> Ended:
        program = ["-cp", str(path), *words]
        plain = ended([java, QUICK, *program])
        recorded = ended([java, QUICK, f"-javaagent:{agent}=output={log}", *program])
        assert (recorded.returncode, recorded.stdout) == (plain.returncode, plain.stdout), (
            recorded.stderr
        )
        return recorded

    return run


def jar(path: Path, manifest: str, *classes: Path) -> Path:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("META-INF/MANIFEST.MF", manifest)
        for one in classes:
            file.write(one, one.name)
    return path


@every_jvm
def test_another_agent_has_classes_transformed_again(
    run: Run, classes: Path, log: Path, tmp_path: Path
) -> None:
    manifest = "Premain-Class: Again\nCan-Retransform-Classes: true\n"
    other = jar(tmp_path / "other.jar", manifest, *classes.glob("Again*.class"))
    assert run(f"-javaagent:{other}", "Again", path=other).stdout == "4000\n"
    events = read_events(log)
    found = counts(events)
    assert found["Again", "increment"] == found["Again", "block"] == 2000
    places = [one.method for one in events.sites.values() if one.type == "Again"]
    assert sorted(places) == ["block", "increment"]


@every_jvm
def test_a_class_loader_that_hands_nothing_up(run: Run, log: Path) -> None:
    """One that has a list of what it hands up is named."""
    assert run("Isolated").stdout == "20\n"
    found = counts(read_events(log))
    assert found["Inside", "run"] == found["Inside", "increment"] == 10
    ran = run("Isolated", "listed", log=log.with_name("listed.locks"))
    assert ran.stdout == "20\n" and "Inside: its class loader has a list" in ran.stderr


@every_jvm
def test_a_full_stack(run: Run, log: Path) -> None:
    ran = run(WHOLE, "-Xss512k", "Overflow")
    assert ran.stdout == "60 false\n"
    assert "disk" not in ran.stderr and "out of stack" in ran.stderr
    found = read_events(log)
    assert found.totals is not None and found.totals.end == "exit"
    # Behind the last overflow, the thread is known to hold nothing.
    assert len(events_at(found, "Overflow", "main")) == 100
    kinds = found.events["kind"].value_counts()
    assert 0 <= kinds[Kind.ACQUIRED] - kinds[Kind.RELEASE] <= 8


@pytest.mark.parametrize("java", [USUAL, 21], indirect=True)
def test_a_security_manager(java: str, run: Run, log: Path, tmp_path: Path) -> None:
    if version_of(java) > LAST_WITH_MANAGER:
        pytest.skip("this JVM takes no security manager")
    manager = "-Djava.security.manager"
    assert "not seen: " in run(manager, "Known", "10", log=tmp_path / "y.locks").stderr
    ran = run(*([f"{manager}=allow"] if version_of(java) > 11 else []), "Restricted")
    assert ran.stdout == "3001\n" and "not seen: " in ran.stderr
    found = read_events(log)
    assert counts(found)["Restricted", "increment"] == 3000
    assert counts(found)["Restricted$Late", "increment"] == 1
    assert found.totals is not None and found.totals.end == "exit"


@every_jvm
def test_a_program_sees_its_own_frames_and_messages(run: Run) -> None:
    assert run("Visible").stdout.count("Visible.java") == 3


def test_a_class_has_the_same_version_for_serialization(run: Run) -> None:
    """It is made of its methods' flags."""
    assert "version" in run("Known", "100").stdout


@every_jvm
def test_waits_by_references_and_reflection(run: Run, log: Path) -> None:
    run("Indirect")
    found = read_events(log)
    one = events_at(found, "Indirect", "await")["object"].iloc[0]
    kinds = found.events.loc[found.events["object"] == one, "kind"].value_counts()
    assert kinds[Kind.WAIT] == kinds[Kind.WAITED] == 3
    assert kinds[Kind.NOTIFY_ALL] == 3


def test_where_nothing_can_be_recorded_the_program_goes_on(run: Run, tmp_path: Path) -> None:
    ran = run("Isolated", log=tmp_path / "none" / "x.locks")
    assert ran.returncode == 0 and "nothing can be recorded" in ran.stderr


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of libraries with the programs that use them, in `own`. Skips where the libraries
    cannot be had."""
    folder = tmp_path_factory.mktemp("libraries")
    project = SOURCES / "with-libraries"
    copy = ["dependency:copy-dependencies", f"-DoutputDirectory={folder}"]
    command = ["mvn", "--batch-mode", "--quiet", "--file", str(project / "pom.xml"), *copy]
    done = ended(command)
    if done.returncode:
        pytest.skip(f"the libraries cannot be had: {done.stdout[-300:]}")
    compile_ = ["javac", "-nowarn", "--release", "11", "-cp", f"{folder}/*", "-d", folder / "own"]
    subprocess.run([*compile_, *project.glob("*.java")], check=True, capture_output=True)
    return folder


@every_jvm
@pytest.mark.long
def test_a_mocking_library(run: Run, libraries: Path, log: Path) -> None:
    assert run("Mocked", path=f"{libraries}/own:{libraries}/*").stdout == "42 51\n"
    assert counts(read_events(log))["Mocked$Account", "add"] >= 51


@every_jvm
@pytest.mark.long
def test_an_osgi_framework(run: Run, libraries: Path, log: Path, tmp_path: Path) -> None:
    bundle = jar(
        tmp_path / "bundle.jar",
        "Manifest-Version: 1.0\nBundle-ManifestVersion: 2\nBundle-SymbolicName: b\n"
        "Bundle-Version: 1\nBundle-Activator: Bundled\nImport-Package: org.osgi.framework\n\n",
        libraries / "own" / "Bundled.class",
    )
    words = ("Bundled", str(bundle), str(tmp_path / "storage"))
    assert run(*words, path=f"{libraries}/own:{libraries}/*").stdout == "100\n"
    found = counts(read_events(log))
    assert found["Bundled", "start"] == found["Bundled", "increment"] == 50
