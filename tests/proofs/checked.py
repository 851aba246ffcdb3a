"""Clients of locks, our checker's reports on them, and faults to put into it."""

import json
import subprocess
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from results.errors import LockcrossError
from sweeps.model.locks import LockLabel
from sweeps.questions.prove.proofs.own_checker import compiled, make_library
from sweeps.questions.prove.proofs.programs import Program, known_clients
from sweeps.questions.prove.proofs.proving import Tool
from sweeps.verdicts import Flavour
from tests import litmus_runs


def program(label: str, client: str, model: str) -> Program:
    """A client of a lock, for a model of our own checker."""
    flavour = Flavour.TSO if model.startswith("tso") else Flavour.WEAK
    return Program(LockLabel(label), flavour, known_clients([client])[0])


def built(
    one: Program, folder: Path, change: Callable[[Sequence[str]], Sequence[str]] = list
) -> Path:
    """Return a client as a program, linked with the checker of this tree."""
    make_library(2)
    return compiled(one, folder, change)


def report(binary: Path, model: str, *options: str) -> dict[str, Any]:
    """Return the checker's report, without the time."""
    command = [str(binary), "--model", model, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    written: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == {"proved": 0, "failed": 1, "bound": 3}[written["verdict"]]
    del written["seconds"]
    return written


def found_or_skipped(tool: Tool) -> None:
    try:
        tool.version()
    except LockcrossError as error:
        pytest.skip(error.message)


def faults(part: str) -> dict[str, dict[str, str]]:
    """Name -> fault of the `checker` or of its `liveness` analysis, as in faults.toml."""
    text = Path(__file__).with_name("faults.toml").read_text(encoding="utf-8")
    kept: dict[str, dict[str, str]] = tomllib.loads(text)[part]
    return kept


def with_faults(folder: Path, part: str) -> Path:
    """Return the library of a checker that has the fault whose place LOCKCROSS_FAULT names."""
    chosen = [(one["file"], one["old"], one["new"]) for one in faults(part).values()]
    return litmus_runs.broken(folder, chosen)
