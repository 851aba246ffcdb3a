"""Runs the command line in a process of its own, as users do.

Most of a short command's time goes into its imports. So `lockcross` forks a process that has done
them and nothing else; `fresh` and `start` start Python anew.
"""

import fcntl
import multiprocessing
import os
import pkgutil
import pty
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Mapping, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import results
import sweeps
from results.paths import ROOT
from sweeps.cli.main import main

_TIME_S = 120  # a command may take
_STARTED: list["subprocess.Popen[Any]"] = []
_IMPORTED = multiprocessing.get_context("forkserver")
_IMPORTED.set_forkserver_preload(
    [
        __name__,
        *(
            module.name
            for package in (sweeps, results)
            for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
            if not module.name.endswith("__main__")
        ),
    ]
)
SMALL = ["--lock", "cas_spin", "--workload", "sync", "iterations=50"]


def environment(**changes: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200", **changes}


def start(*arguments: str, folder: Path | None = None, **changes: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "sweeps", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=environment(**changes),
    )
    _STARTED.append(process)
    return process


def end_all() -> None:
    """Kill the commands that are still running."""
    for process in _STARTED:
        process.kill()


def lockcross(
    line: str = "", *words: str, folder: Path | None = None, **changes: str
) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder and return its exit code, standard output and standard error. No
    command ever shows a traceback.

    `line` is split at its spaces, and `words` follow as they are. `changes` are to variables that
    are read when they are needed, not when a module is imported.
    """
    arguments = [*line.split(), *words]
    with tempfile.TemporaryDirectory() as written:
        out, err = Path(written, "out"), Path(written, "err")
        process = _forked(arguments, environment(**changes), (out, err), folder or Path.cwd())
        code = _end_of(process)
        return _ended(arguments, code, out.read_text("utf-8"), err.read_text("utf-8"))


def at_terminal(width: int, *arguments: str) -> tuple[int, str]:
    """Run a command on a terminal of a width and return its exit code and its output."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    terminal = Path(os.ttyname(its))
    variables = environment(COLUMNS=str(width), TERM="xterm")
    process = _forked(arguments, variables, (terminal, terminal), Path.cwd())
    written = b""
    ended = time.monotonic() + _TIME_S
    while time.monotonic() < ended and (process.is_alive() or select.select([ours], [], [], 0)[0]):
        if select.select([ours], [], [], 0.05)[0]:
            written += os.read(ours, 65536)
    os.close(its)
    os.close(ours)
    return _end_of(process), written.decode().replace("\r\n", "\n")


def _forked(*given: Any) -> BaseProcess:
    """Start `_run` in a process that has the imports."""
    process = _IMPORTED.Process(target=_run, args=given)
    process.start()
    return process


def _end_of(process: BaseProcess) -> int:
    """Return the exit code, at the latest after _TIME_S."""
    try:
        process.join(_TIME_S)
        if process.exitcode is None:
            raise subprocess.TimeoutExpired(process.name, _TIME_S)
        return process.exitcode
    finally:
        process.kill()


def _run(
    words: Sequence[str], variables: Mapping[str, str], outputs: tuple[Path, Path], folder: Path
) -> None:
    """Run a command that writes to two files, its standard output and its standard error."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, path in enumerate(outputs, 1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOCTTY), number)
    sys.argv = [str(ROOT / "sweeps" / "__main__.py"), *words]
    sys.exit(main())


def fresh(
    *arguments: str, folder: Path | None = None, most_s: float = _TIME_S, **changes: str
) -> subprocess.CompletedProcess[str]:
    """As `lockcross`, from Python's start on."""
    process = start(*arguments, folder=folder, **changes)
    try:
        out, err = process.communicate(timeout=most_s)
    finally:
        process.kill()
    return _ended(arguments, process.returncode, out, err)


def _ended(
    arguments: Sequence[str], code: int, out: str, err: str
) -> subprocess.CompletedProcess[str]:
    assert "Traceback" not in out + err, err
    return subprocess.CompletedProcess(arguments, code, out, err)


def program(folder: Path, name: str, script: str) -> None:
    """Put a shell script into a folder as a program."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
