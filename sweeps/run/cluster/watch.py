"""Waits beside a driver and cancels its jobs when it has died without doing so.

Called with the name that the driver's jobs begin with and the provider's name; standard input has
a job's number in each line, then "end" when the driver has ended all by itself.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

_TRIES = 60
_WAIT_S = 10.0  # between two tries: the batch system may be away for a while
_TIMEOUT_S = 60.0


# The command that cancels jobs by their numbers. A local job is a process.
_CANCEL = {
    "slurm": ["scancel"],
    "pbs": ["qdel"],
    "torque": ["qdel"],
    "grid_engine": ["qdel"],
    "lsf": ["bkill"],
    "condor": ["condor_rm"],
    "kubernetes": ["kubectl", "delete", "pod"],
}


def main() -> None:
    """Reads to the end, then cancels."""
    label, provider = sys.argv[1:]
    jobs = [line.strip() for line in sys.stdin]
    if "end" in jobs:
        return
    for _ in range(_TRIES):
        with suppress(OSError, subprocess.SubprocessError):
            _cancel(label, provider, jobs)
            return
        time.sleep(_WAIT_S)


def _cancel(label: str, provider: str, jobs: list[str]) -> None:
    if provider == "slurm":  # by name: a job whose number was not told is found too
        known = _run("squeue", "--me", "--noheader", "--format=%i %j")
        lines = [line.split(maxsplit=1) for line in known.splitlines()]
        jobs = [number for number, name in lines if name.startswith(f"parsl.{label}.")]
    if provider == "local":
        for job in jobs:
            with suppress(ProcessLookupError):
                os.killpg(os.getpgid(int(job)), signal.SIGKILL)
    elif jobs:
        _run(*_CANCEL[provider], *jobs)


def _run(*words: str) -> str:
    return subprocess.run(
        words,
        capture_output=True,
        text=True,
        check=True,
        timeout=_TIMEOUT_S,
        stdin=subprocess.DEVNULL,
    ).stdout


if __name__ == "__main__":
    main()
