"""Commands for developers of Lockcross: test, check, python."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from results.errors import LockcrossError
from results.extras import REQUIREMENTS, Extra
from results.paths import ROOT, WORK
from sweeps.support.paths import ENGINE_PLUGIN

TOOLS = Extra("packages for tests and checks", REQUIREMENTS / "tests.txt", megabytes=152)
_C_FOLDERS = (
    "lockimpl workloads qemu-timing sst-configs sweeps tests/link proofs pthread-recorder".split()
)
_C_SUFFIXES = (".c", ".h", ".cc")
_ANY = {"allow_extra_args": True, "ignore_unknown_options": True}
SETTINGS = {"test": _ANY, "python": _ANY}


def test(
    arguments: Annotated[
        list[str] | None, typer.Argument(help="Passed on to pytest, e.g. -k plans.")
    ] = None,
) -> None:
    """Run all tests: the engine's unit tests in C++, then pytest."""
    TOOLS.install()
    engine = ["make", "-C", str(ENGINE_PLUGIN.parent), "-f", str(ROOT / "qemu-timing" / "Makefile")]
    _run({"the engine's unit tests": [*engine, "BUILD=.", "-j2", "test"]})
    sys.stdout.flush()
    # Replaces this process, so that pytest's summary is the last line.
    os.chdir(ROOT)
    cache = ["-o", f"cache_dir={WORK / 'build' / 'pytest'}"]
    os.execv(sys.executable, [sys.executable, "-P", "-m", "pytest", *cache, *(arguments or [])])


def python(
    arguments: Annotated[list[str] | None, typer.Argument(help="Passed on to Python.")] = None,
) -> None:
    """Run Python with the packages, the tree and the QEMU that Lockcross uses."""
    TOOLS.install()
    os.execv(sys.executable, [sys.executable, "-P", *(arguments or [])])


def check() -> None:
    """Run all linters: ruff, mypy, clang-format."""
    TOOLS.install()
    python = [sys.executable, "-P", "-m"]
    c_files = sorted(
        str(path.relative_to(ROOT))
        for folder in _C_FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.suffix in _C_SUFFIXES
    )
    clang_format = str(Path(sys.executable).with_name("clang-format"))
    _run(
        {
            "ruff": [*python, "ruff", "check", "."],
            "Python formatting": [*python, "ruff", "format", "--check", "."],
            "mypy": [*python, "mypy"],
            "C and C++ formatting": [clang_format, "--dry-run", "-Werror", *c_files],
        }
    )


def _run(commands: Mapping[str, Sequence[str]]) -> None:
    """Run commands in the root of the tree, all of them. Raises LockcrossError if some fail."""
    failed = []
    for what, command in commands.items():
        print(f"== {what}", flush=True)
        if subprocess.run(command, cwd=ROOT, check=False).returncode != 0:
            failed.append(what)
    if failed:
        raise LockcrossError(f"failed: {', '.join(failed)}", exit_code=1)
