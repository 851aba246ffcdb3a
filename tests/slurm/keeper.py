"""Starts processes and ends them with everything that they have started, by their ids, even when
the process that asked for them is killed."""

import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)


class Keeper:
    """A process of its own that starts what it is told to. It adopts what its children leave behind
    (daemons, jobs), so that all of it is among its descendants. When its standard input closes, on
    `end` or because this process is dead, it kills them all and removes `folder`."""

    def __init__(self, folder: Path | None = None) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", __file__, *([str(folder)] if folder else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self.pid = self._process.pid
        self._read = b""
        self._codes: dict[int, int] = {}

    def start(self, argv: Sequence[str], log: Path, env: Mapping[str, str]) -> int:
        """Starts a command whose output goes to a file; returns its process id."""
        order = {"argv": list(argv), "log": str(log), "env": dict(env)}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        self._process.stdin.flush()
        while True:
            line = self._line(time.monotonic() + 10)
            assert line is not None, "the keeper does not answer"
            if "started" in line:
                return line["started"]

    def code(self, pid: int, timeout_s: float) -> int | None:
        """The exit code of a started process once it ends, negative for a signal."""
        deadline = time.monotonic() + timeout_s
        while pid not in self._codes and self._line(deadline) is not None:
            pass
        return self._codes.get(pid)

    def processes(self) -> dict[int, str]:
        """All that runs below the keeper: process id -> command line."""
        return dict(_below(self.pid))

    def end(self) -> None:
        """Kills everything; waits until nothing is left."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=20)

    def _line(self, deadline: float) -> dict[str, int] | None:
        assert self._process.stdout is not None
        handle = self._process.stdout.fileno()
        while b"\n" not in self._read:
            ready, _, _ = select.select([handle], [], [], max(0.0, deadline - time.monotonic()))
            more = os.read(handle, 4096) if ready else b""
            if not more:
                return None
            self._read += more
        line, _, self._read = self._read.partition(b"\n")
        said: dict[str, int] = json.loads(line)
        if "ended" in said:
            self._codes[said["ended"]] = said["code"]
        return said


def _below(root: int) -> Iterator[tuple[int, str]]:
    """The descendants of a process that are alive."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            # "pid (name) state parent ...": the name may hold anything
            state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            if state != "Z":
                parents[int(entry.name)] = int(parent)
    for pid in parents:
        above = parents.get(pid)
        while above is not None and above != root:
            above = parents.get(above)
        if above == root:
            with suppress(OSError):
                said = Path(f"/proc/{pid}/cmdline").read_bytes()
                yield pid, said.replace(b"\0", b" ").decode(errors="replace").strip()


def _start(order: Mapping[str, object]) -> int:
    def in_child() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # for a keeper that is killed

    with open(str(order["log"]), "ab") as log:  # noqa: PTH123
        process = subprocess.Popen(
            order["argv"],
            env=order["env"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=in_child,  # noqa: PLW1509
        )  # type: ignore[call-overload]
    process.returncode = 0  # it is reaped with the adopted ones, not by its Popen
    return int(process.pid)


def _reap() -> Iterator[tuple[int, int]]:
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            yield ended[0], os.waitstatus_to_exitcode(ended[1])


def _serve() -> None:
    """The keeper's own process: starts what comes on standard input, tells what ends."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake)
    started: set[int] = set()
    waiting = b""
    while True:
        ready, _, _ = select.select([0, woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
        for pid, code in _reap():
            if pid in started:
                print(json.dumps({"ended": pid, "code": code}), flush=True)
        if 0 in ready:
            more = os.read(0, 65536)
            if not more:
                return
            *orders, waiting = (waiting + more).split(b"\n")
            for order in orders:
                pid = _start(json.loads(order))
                started.add(pid)
                print(json.dumps({"started": pid}), flush=True)


def _kill_all() -> None:
    while left := dict(_below(os.getpid())):
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)
        list(_reap())


if __name__ == "__main__":
    try:
        _serve()
    finally:
        _kill_all()
        for folder in sys.argv[1:]:
            shutil.rmtree(folder, ignore_errors=True)
