"""The programs of java-programs/, compiled, and their libraries loaded from Maven Central."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from results.errors import LockcrossError
from results.paths import ROOT, WORK
from sweeps.questions.validate.jvm.definition import Program
from sweeps.support.tools import complaint, run

SOURCES = ROOT / "java-programs"
FOLDER = WORK / "build" / "java-programs"
_ALONE, _WITH_LIBRARIES, _LIBRARIES = "alone", "with-libraries", "lib"
_OLDEST = "11"  # release whose class files the programs have
_SECONDS = 600.0  # that loading or compiling takes at most
# What a user has set for programs of his own.
_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")


@dataclass(frozen=True)
class Built:
    """Where the programs are, and why those with libraries are left out; empty: they are not."""

    folder: Path
    without: str

    def command(self, java: str, options: Sequence[str], program: Program) -> list[str]:
        """What runs a program on a JVM."""
        parts = [_WITH_LIBRARIES, f"{_LIBRARIES}/*"] if program.libraries else [_ALONE]
        path = ":".join(str(self.folder / part) for part in parts)
        return [java, *options, "-cp", path, *program.words]


def environment() -> Mapping[str, str]:
    """What programs get of this process's variables."""
    return {name: value for name, value in os.environ.items() if name not in _VARIABLES}


def build(libraries: bool) -> Built:
    """Compiles the programs, with `libraries` those that need some, too. Raises LockcrossError
    without a JDK."""
    if shutil.which("javac") is None:
        raise LockcrossError(
            "javac: no such program; the programs are compiled by a JDK of version 11 or later "
            "(Debian's default-jdk-headless), whose bin folder is in PATH"
        )
    FOLDER.mkdir(parents=True, exist_ok=True)
    if why := _compiled(_ALONE, []):
        raise LockcrossError(f"the programs could not be compiled: {why}", exit_code=1)
    return Built(FOLDER, _with_libraries() if libraries else "")


def _with_libraries() -> str:
    """Loads the libraries and compiles what needs them; says why that is not possible."""
    if shutil.which("mvn") is None:
        return "mvn: no such program (Debian's maven), so their libraries cannot be loaded"
    where = FOLDER / _LIBRARIES
    why = _failure(
        "mvn", "--batch-mode", "--quiet", "--file", SOURCES / "pom.xml",
        "dependency:copy-dependencies", f"-DoutputDirectory={where}",
    )  # fmt: skip
    if why:
        return f"their libraries could not be loaded from Maven Central: {why}"
    return _compiled(_WITH_LIBRARIES, ["-cp", f"{where}/*"])


def _compiled(part: str, options: Sequence[str]) -> str:
    """Compiles the programs of a folder; says why that is not possible."""
    sources = sorted((SOURCES / part).glob("*.java"))
    return _failure("javac", "--release", _OLDEST, *options, "-d", FOLDER / part, *sources)


def _failure(*words: object) -> str:
    """Runs a program to its end: why it failed, or nothing."""
    try:
        done = run([str(word) for word in words], _SECONDS, FOLDER, environment())
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return complaint(done.stderr + done.stdout, "error") if done.returncode else ""
