"""Runs a node's manager and sees to it that all of it ends together. A manager that is killed
leaves the process that holds its queues, for ever where a batch system does not find it; one that
loses that process looks alive, and hands nothing back.

Called by path, with the manager's words: it imports nothing of Lockcross.
"""

import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_LOOK_S = 5.0
_BROKEN_S = 20.0  # a manager collects a worker that has ended much sooner
_libc = ctypes.CDLL(None)


def main() -> int:
    """Returns the manager's exit code."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)  # orphans become children of this process
    manager = subprocess.Popen(
        sys.argv[1:],
        preexec_fn=lambda: _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL),  # noqa: PLW1509
    ).pid
    signal.signal(signal.SIGTERM, lambda *_: os.kill(manager, signal.SIGTERM))
    _watch(manager)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _, status = os.waitpid(manager, 0)
    with suppress(ChildProcessError):
        while True:
            for child in _children(os.getpid()):
                os.kill(child, signal.SIGKILL)  # its own children are then this process's
            os.wait()
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code  # as a shell says it


def _watch(manager: int) -> None:
    """Waits for the manager's end, and kills it when it does not collect what has ended."""
    handle = os.pidfd_open(manager)
    ended: dict[int, float] = {}  # child -> since when
    while not select.select([handle], [], [], _LOOK_S)[0]:
        now = time.monotonic()
        states = _children(manager)
        ended = {pid: ended.get(pid, now) for pid, state in states.items() if state == "Z"}
        if any(now - since > _BROKEN_S for since in ended.values()):
            os.kill(manager, signal.SIGKILL)


def _children(parent: int) -> dict[int, str]:
    """The children of a process and their states; none where there is no /proc."""
    states = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            # "pid (name) state parent ...": the name may hold anything
            state, its = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            if int(its) == parent:
                states[int(entry.name)] = state
    return states


if __name__ == "__main__":
    sys.exit(main())
