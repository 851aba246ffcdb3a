"""The agent as the launcher builds it, whether it can be, and programs to be recorded."""

import hashlib
import shutil
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from results.paths import ROOT, WORK
from sweeps.lock_logs.log import EventLog, Kind
from sweeps.questions.record.jvm import AGENT
from tests.jdks import OLDEST, version_of
from tests.trees import made_once

SOURCES = ROOT / "tests" / "java"
needs_java = pytest.mark.skipif(
    version_of("javac") < OLDEST or not shutil.which("mvn"),
    reason="needs a JDK from 11 on and Maven: LOCKCROSS_JAVA=1 installs them",
)


@pytest.fixture(scope="session")
def agent() -> Path:
    """The agent, as the launcher builds it; where several tests want it at once, one does."""
    script = 'set -euo pipefail; root="$1"; work="$2"; source "$root/sweeps/setup/set_up.sh"; '
    subprocess.run(
        ["bash", "-c", f"{script} java_ready || alone set_up_java", "bash", str(ROOT), str(WORK)],
        check=True,
        stdin=subprocess.DEVNULL,
        timeout=300,
    )
    return AGENT


@cache
def _compiled() -> Path:
    """The classes of tests/java, kept by a digest of their sources."""
    sources = sorted(SOURCES.glob("*.java"))
    text = "".join([str(version_of("javac")), *(path.read_text("utf-8") for path in sources)])

    def compile_into(folder: Path) -> None:
        command = ["javac", "-nowarn", "--release", "11", "-d", str(folder)]
        subprocess.run([*command, *map(str, sources)], check=True, capture_output=True)

    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return made_once(WORK / "build" / f"test-classes-{digest}", compile_into)


@pytest.fixture
def classes(agent: Path, tmp_path: Path) -> Path:
    """The programs of tests/java, compiled, in a folder of the test's own."""
    return shutil.copytree(_compiled(), tmp_path / "some classes")


def counts(log: EventLog, kind: Kind = Kind.ACQUIRED) -> Counter[tuple[str, str]]:
    """How often each place does something: by class and method."""
    by_site = log.events.loc[log.events["kind"] == kind].groupby("site").size()
    found: Counter[tuple[str, str]] = Counter()
    for site, count in by_site.items():
        if site:  # else unknown: by a method reference or reflection
            one = log.sites[int(site)]
            found[one.type, one.method] += int(count)
    return found
