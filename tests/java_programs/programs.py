"""The programs of java-programs/: their names and arguments, compiled, with their libraries."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from results.paths import ROOT, WORK

SOURCES = ROOT / "java-programs"
FOLDER = WORK / "build" / "java-programs"
_ALONE, _WITH_LIBRARIES, _LIBRARIES = "alone", "with-libraries", "lib"
_OLDEST = "11"  # release whose class files the programs have
# Variables by which users set options for programs of their own.
_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")


class Program(NamedTuple):
    """A Java program: its class with arguments, and whether it needs libraries from Maven."""

    name: str
    title: str
    words: tuple[str, ...]
    libraries: bool = True
    microbenchmark: bool = False


PROGRAMS = (
    Program("byte_writer", "a byte writer", ("ByteWriter", "160"), False, True),
    Program("words", "words in a StringBuffer and a Hashtable", ("Words", "900000"), False, True),
    Program("handover", "objects that change threads", ("Handover", "50"), False, True),
    Program("records", "records in a Vector", ("Records", "150"), False),
    Program("xalan", "Xalan 2.7", ("Transform", "20")),
    Program("hsqldb", "HSQLDB 2.7", ("Database", "jdbc:hsqldb:mem:a", "15000")),
    Program("jython", "Jython 2.7", ("Script", "120")),
    Program("fop", "FOP 2.9", ("Print", "30")),
    Program("h2", "H2 2.3", ("Database", "jdbc:h2:mem:a;DB_CLOSE_DELAY=-1", "15000")),
    Program("tomcat", "Tomcat 9", ("Server", "2000")),
    Program("derby", "Derby 10.14", ("Database", "jdbc:derby:memory:a;create=true", "6000")),
    Program("lucene", "Lucene 2.9", ("Search", "12000")),
    Program("ecj", "ECJ 3.33", ("Compile", "ecj", "4")),
    Program("javac", "javac", ("Compile", "javac", "3")),
)


def chosen(names: Sequence[str], default: Sequence[Program]) -> list[Program]:
    """Return the programs of these names, the default ones for none. Exit for an unknown name."""
    if unknown := set(names) - {program.name for program in PROGRAMS}:
        known = ", ".join(program.name for program in PROGRAMS)
        raise SystemExit(f"program {unknown.pop()!r} is unknown; known are {known}")
    return [program for program in PROGRAMS if program.name in names] or list(default)


def java(program: Program, *options: str) -> list[str]:
    """Return the command that runs a program on the JVM of PATH."""
    parts = [_WITH_LIBRARIES, f"{_LIBRARIES}/*"] if program.libraries else [_ALONE]
    path = ":".join(str(FOLDER / part) for part in parts)
    return ["java", *options, "-cp", path, *program.words]


def environment() -> Mapping[str, str]:
    """Return this process's variables, without those that change a JVM's behaviour."""
    return {name: value for name, value in os.environ.items() if name not in _VARIABLES}


def build(libraries: bool) -> None:
    """Compile the programs; with `libraries` load those from Maven Central, and compile the
    programs that need them. Raises CalledProcessError."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    _compile(_ALONE)
    if libraries:
        where = FOLDER / _LIBRARIES
        pom = ("--file", SOURCES / "pom.xml")
        copy = ("dependency:copy-dependencies", f"-DoutputDirectory={where}")
        _run("mvn", "--batch-mode", "--quiet", *pom, *copy)
        _compile(_WITH_LIBRARIES, "-cp", f"{where}/*")


def _compile(part: str, *options: str) -> None:
    sources = sorted((SOURCES / part).glob("*.java"))
    _run("javac", "--release", _OLDEST, *options, "-d", FOLDER / part, *sources)


def _run(*words: object) -> None:
    subprocess.run([str(word) for word in words], check=True, cwd=FOLDER, env=environment())
