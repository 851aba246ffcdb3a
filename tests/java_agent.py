"""The agent as the launcher builds it, and whether it can be built here."""

import shutil
import subprocess
from pathlib import Path

import pytest

from results.paths import ROOT, WORK
from sweeps.questions.record.jvm import AGENT
from tests.jdks import OLDEST, version_of

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
