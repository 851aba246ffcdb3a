"""Runs the command line in a process of its own, as users do.

Most of a short command's time goes into its imports. So `lockcross` forks a process that has done
them and nothing else; `fresh` and `start` start Python anew.
"""

import fcntl
import multiprocessing
import os
import pkgutil
import pty
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Mapping, Sequence
from contextlib import suppress
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


def start(*arguments: str, **changes: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "sweeps", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(**changes),
    )
    _STARTED.append(process)
    return process


def end_all() -> None:
    """Kills the commands that are still running."""
    for process in _STARTED:
        process.kill()


def lockcross(
    line: str, *words: str, folder: Path | None = None, **changes: str
) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder and return its exit code, standard output and standard error. No
    command ever shows a traceback.

    `line` is split at its spaces, and `words` follow as they are. `changes` are to variables that
    are read when they are needed, not when a module is imported.
    """
    arguments = [*line.split(), *words]
    with tempfile.TemporaryDirectory() as written:
        said = Path(written, "out"), Path(written, "err")
        given = (arguments, environment(**changes), said, folder or Path.cwd())
        process = _IMPORTED.Process(target=_run, args=given)
        process.start()
        try:
            process.join(_TIME_S)
            if process.is_alive():
                raise subprocess.TimeoutExpired(arguments, _TIME_S)
        finally:
            process.kill()
        out, err = (path.read_text(encoding="utf-8") for path in said)
    return _ended(arguments, process.exitcode, out, err)


def _run(
    words: Sequence[str], variables: Mapping[str, str], said: tuple[Path, Path], folder: Path
) -> None:
    """Run the command, in the process that was forked for it."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, path in enumerate(said, 1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
    sys.argv = [str(ROOT / "sweeps" / "__main__.py"), *words]
    sys.exit(main())


def fresh(*arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
    """As `lockcross`, from Python's start on."""
    process = start(*arguments, **changes)
    try:
        out, err = process.communicate(timeout=_TIME_S)
    finally:
        process.kill()
    return _ended(arguments, process.returncode, out, err)


def _ended(
    arguments: Sequence[str], code: int | None, out: str, err: str
) -> subprocess.CompletedProcess[str]:
    assert "Traceback" not in out + err, err
    assert code is not None
    return subprocess.CompletedProcess(arguments, code, out, err)


def program(folder: Path, name: str, script: str) -> None:
    """Puts a shell script into a folder as a program."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def at_terminal(width: int, *arguments: str) -> tuple[int, str]:
    """The command's exit code, and what it writes on a terminal of so many columns."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "sweeps", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=its,
        stderr=its,
        env=environment(COLUMNS=str(width), TERM="xterm"),
    )
    _STARTED.append(process)
    os.close(its)
    written = b""
    with suppress(OSError):  # what Linux says at the end of a terminal
        while read := os.read(ours, 65536):
            written += read
    os.close(ours)
    return process.wait(_TIME_S), written.decode().replace("\r\n", "\n")
