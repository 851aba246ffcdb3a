"""Builds litmus tests for the checker, and runs them."""

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from results.paths import ROOT, WORK
from sweeps.questions.prove.proofs.own_checker import COMPILE, LINK, building, object_file

SOURCES = ROOT / "proofs" / "checker"
BUILT = WORK / "build" / "proofs" / "checker"


def make(sources: Path, built: Path, *variables: str) -> Path:
    """The checker's library, of these sources."""
    _call(["make", f"BUILD={built}", *variables], sources)
    return built / "libprove.a"


def library() -> Path:
    """The checker's own library; tests that run beside this one wait."""
    with building():
        return make(SOURCES, BUILT)


# Which fault a checker of `broken` has; none without it.
FAULT = "LOCKCROSS_FAULT"
_CHOICE = f'''#include <cstdlib>
static const int fault = std::getenv("{FAULT}") ? std::atoi(std::getenv("{FAULT}")) : -1;
'''


def broken(folder: Path, faults: Sequence[tuple[str, str, str]]) -> Path:
    """The library of a copy of the checker with faults, each in the file of a name: in place of
    statements others, or a text in which FAULT says whether the fault is the chosen one. Its
    program `liveness` stands beside it."""
    library()
    sources, built = folder / "checker", folder / "built"
    shutil.copytree(SOURCES, sources)
    shutil.copytree(BUILT / "objects", built / "objects")
    for number, (name, old, new) in enumerate(faults):
        (path,) = (path for path in sources.rglob(name) if "tests" not in path.parts)
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{old!r} no longer stands in {name} once"
        either = f"{{ if (FAULT) {{ {new} }} else {{ {old} }} }}"
        put = new if "FAULT" in new else either
        text = text.replace(old, put.replace("FAULT", f"(fault == {number})"))
        path.write_text(text if _CHOICE in text else _CHOICE + text, encoding="utf-8")
    return make(sources, built, "CXXFLAGS=-O1 -Wno-error")


def build(source: str, folder: Path, checker: Path) -> Path:
    """A client's program."""
    return link(compile_client(source, folder), folder, checker)


def compile_client(source: str, folder: Path) -> Path:
    """A client's object file, which any checker can be linked with."""
    library()
    (folder / "client.c").write_text(source, encoding="utf-8")
    warnings = ["-Wno-unused-variable", "-Wno-parentheses"]
    command = ["gcc", *COMPILE, *warnings, f"-I{SOURCES}", "client.c"]
    return object_file(command, folder, lambda words: _call(words, folder))


def link(client: Path, folder: Path, checker: Path) -> Path:
    """The program of a client and a checker."""
    _call(["g++", *LINK, str(client), str(checker), "-o", "client"], folder)
    return folder / "client"


def _call(command: Sequence[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def run(program: Path, model: str, parameter: int, *options: str) -> tuple[str, dict[str, object]]:
    """Return a program's output before its result, and the result."""
    command = [str(program), "--model", model, "--parameter", str(parameter), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode in (0, 1, 3), done.stderr
    printed, brace, result = done.stdout.partition('{"verdict"')
    return printed, json.loads(brace + result)


def verdict(program: Path, model: str, parameter: int, *options: str) -> str:
    """`proved`, or how it failed."""
    result = run(program, model, parameter, *options)[1]
    failure = result.get("failure")
    return str(failure["kind"]) if isinstance(failure, dict) else str(result["verdict"])
