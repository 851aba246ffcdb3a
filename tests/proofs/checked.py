"""Clients of locks, and our checker's reports on them."""

import json
import subprocess
from pathlib import Path
from typing import Any

from sweeps.model.locks import LockLabel
from sweeps.questions.prove.proofs.programs import Program, known_clients
from sweeps.verdicts import Flavour


def program(label: str, client: str, model: str) -> Program:
    """A client of a lock, for a model of our own checker."""
    flavour = Flavour.TSO if model.startswith("tso") else Flavour.WEAK
    return Program(LockLabel(label), flavour, known_clients([client])[0])


def report(binary: Path, model: str, *options: str) -> dict[str, Any]:
    """Return the checker's report, without the time."""
    command = [str(binary), "--model", model, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    written: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == {"proved": 0, "failed": 1, "bound": 3}[written["verdict"]]
    del written["seconds"]
    return written
