"""Runs a node's manager, and ends what it leaves behind: one that is killed leaves the process that
holds its queues, for ever where a batch system does not find it.

Called by path, with the manager's words: it imports nothing of Lockcross.
"""

import ctypes
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None)


def main() -> int:
    """Returns the manager's exit code."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)  # orphans become children of this process
    manager = subprocess.Popen(
        sys.argv[1:],
        preexec_fn=lambda: _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL),  # noqa: PLW1509
    ).pid
    signal.signal(signal.SIGTERM, lambda *_: os.kill(manager, signal.SIGTERM))
    while True:
        ended, status = os.wait()
        if ended == manager:
            break
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with suppress(ChildProcessError):
        while True:
            for child in _children():
                os.kill(child, signal.SIGKILL)  # its own children are then this process's
            os.wait()
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code  # as a shell says it


def _children() -> list[int]:
    """The processes that this one is the parent of; none where there is no /proc."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            # "pid (name) state parent ...": the name may hold anything
            if (entry / "stat").read_text().rpartition(")")[2].split()[1] == str(os.getpid()):
                found.append(int(entry.name))
    return found


if __name__ == "__main__":
    sys.exit(main())
