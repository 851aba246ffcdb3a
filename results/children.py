"""Starts other programs so that none is left behind: each leads a group of its own, which ends with
it, and with this process, however that ends (sweeps/run/start.c)."""

import errno
import os
import shutil
import signal
import subprocess
import threading
import weakref
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from results.paths import WORK

STARTER = WORK / "build" / "start"  # sweeps/run/start.c, compiled; set-up begins without it
CANNOT_START = 126  # its exit code when a program cannot be started
AS_IT_IS = "-"  # its word for CPUs, or a limit, that stay as they are

_started: "weakref.WeakSet[subprocess.Popen[Any]]" = weakref.WeakSet()
_interrupted = False
signals: list[int] = []  # that told this command to end


def start(
    command: Sequence[str | Path], cpus: str = AS_IT_IS, most: str = AS_IT_IS, **settings: Any
) -> "subprocess.Popen[Any]":
    """Start a program, which the environment's PATH finds. `cpus`: a list that it stays on; `most`:
    bytes of a file that it writes; `settings`: of Popen. Raises OSError where there is no such
    program, KeyboardInterrupt in a thread that goes on after `end_all`."""
    if _interrupted and threading.current_thread() is not threading.main_thread():
        raise KeyboardInterrupt
    program = _executable(str(command[0]), settings)
    words = [program, *map(str, command[1:])]
    if STARTER.exists():
        words = [str(STARTER), str(os.getpid()), cpus, most, *words]
    process: subprocess.Popen[Any] = subprocess.Popen(words, start_new_session=True, **settings)
    _started.add(process)
    return process


def _executable(name: str, settings: dict[str, Any]) -> str:
    variables = settings.get("env")
    path = (os.environ if variables is None else variables).get("PATH", os.defpath)
    program = name if "/" in name else shutil.which(name, path=path)
    if program is None or not os.access(Path(settings.get("cwd") or ".", program), os.X_OK):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    return program


def end(process: "subprocess.Popen[Any]") -> None:
    """End a program that was started, and all that it has started."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def end_all() -> None:
    """End all children that threads of this process wait for: it was interrupted."""
    global _interrupted  # noqa: PLW0603 of the process
    _interrupted = True
    for process in list(_started):
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
