"""Runs the command line in a process of its own, as users do."""

import os
import subprocess
import sys
from pathlib import Path

from results.paths import ROOT

_STARTED: list["subprocess.Popen[str]"] = []
SMALL = ["--lock", "cas_spin", "--workload", "sync", "iterations=50"]


def environment(**changes: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200", **changes}


def start(*arguments: str, **changes: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "sweeps", *arguments],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment(**changes),
    )  # fmt: skip
    _STARTED.append(process)
    return process


def end_all() -> None:
    """Kills the commands that are still running."""
    for process in _STARTED:
        process.kill()


def lockcross(*arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
    """The command's exit code, standard output and error. No command ever shows a traceback."""
    process = start(*arguments, **changes)
    try:
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert "Traceback" not in out + err, err
    return subprocess.CompletedProcess(arguments, process.returncode, out, err)


def program(folder: Path, name: str, script: str) -> None:
    """Puts a shell script into a folder as a program."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
