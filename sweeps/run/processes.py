"""Runs processes side by side, each on one CPU, within time limits, and no longer than this one."""

import ctypes
import fcntl
import os
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, Self, TextIO, TypeVar

from results import children
from sweeps.engines.base import ProcessResult, Request
from sweeps.run.servers import Process, ServerLostError, Servers, start
from sweeps.support.toml import head

_KEPT = 1024 * 1024  # bytes of standard output and error that are read back
_LOCK = ".lock"
_WALL = 10  # a run may take so many times its CPU time limit by the clock: others use the CPU too
_POLL_S = 0.05  # between two polls at a run's CPU time, at least
_libc = ctypes.CDLL(None, use_errno=True)

Key = TypeVar("Key")


@dataclass(frozen=True)
class Task(Generic[Key]):
    """A command to run in a folder of its own. `key` is handed back with its end. `bound`: all of
    it runs on one CPU. `files`: name -> content, in the folder when it starts. `request`: a server
    may do the same instead."""

    key: Key
    argv: list[str]
    time_limit_s: float  # of CPU time
    bound: bool = True
    files: Mapping[str, str] = field(default_factory=dict)
    request: Request | None = None


class Signals:
    """Let signals raise KeyboardInterrupt, but not in the middle of work that must be done whole:
    while `held`."""

    def __init__(self, *numbers: int) -> None:
        self._numbers = numbers
        self._handlers: dict[int, Any] = {}
        self.held = self._interrupted = False

    def begin(self) -> None:
        for number in self._numbers:
            self._handlers[number] = signal.signal(number, self._interrupt)

    def end(self) -> None:
        """Restore the former handling of signals."""
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        self._handlers.clear()

    def _interrupt(self, number: int, _: object) -> None:
        children.signals.append(number)
        self._interrupted = True
        if not self.held:
            raise KeyboardInterrupt

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Let signals wait inside."""
        self.held = True
        try:
            yield
        finally:
            self.held = False
        if self._interrupted and self._handlers:
            raise KeyboardInterrupt


@dataclass
class _Running(Generic[Key]):
    task: Task[Key]
    process: Process
    folder: Path
    slot: int
    began: float
    deadline: float
    next_poll: float
    exceeded: str = ""  # which limit it hit

    def poll(self, now: float) -> None:
        """Kill it when it has hit a limit."""
        if self.exceeded or now < self.next_poll:
            return
        limit = self.task.time_limit_s
        # Of all its threads, from the kernel's clock of the process, since a container may lack
        # /proc; none once it has ended.
        clock, taken = ctypes.c_int(), 0.0
        if _libc.clock_getcpuclockid(self.process.pid, ctypes.byref(clock)) == 0:
            with suppress(OSError):
                taken = time.clock_gettime(clock.value)
        left = limit - taken
        if left <= 0:
            self.exceeded = f"CPU time limit: {limit:g} s"
        elif now >= self.deadline:
            self.exceeded = (
                f"wall time limit: {self.deadline - self.began:g} s; it had the CPU for "
                f"{limit - left:.1f} s of them (the CPU time limit is {limit:g} s)"
            )
        if self.exceeded:
            self.process.kill()
        # On one CPU its CPU time grows no faster than the clock.
        self.next_poll = min(self.deadline, now + max(left, _POLL_S))


def _own_folder(root: Path) -> tuple[Path, TextIO]:
    """Return where the runs of this process get their folders, and the lock that says that it is
    alive.

    They lie below `root`, which must be on this host: locks of a shared file system cannot be
    trusted. Folders left by killed processes are removed: nobody holds their lock."""
    root.mkdir(parents=True, exist_ok=True)
    with (root / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one process at a time looks through them
        for left in root.glob("[!.]*"):
            with suppress(OSError), (left / _LOCK).open("a") as held:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(left, ignore_errors=True)
        folder = Path(tempfile.mkdtemp(dir=root, prefix="driver-"))
        held = (folder / _LOCK).open("w")
        fcntl.flock(held, fcntl.LOCK_EX)
    return folder, held


@dataclass(frozen=True)
class Share:
    """The part of a host's CPUs that is this process's own, as one of `count` workers that share
    the host. `rank` is its number among them, from any one on."""

    rank: int = 0
    count: int = 1


class Processes(Generic[Key]):
    """At most `jobs` processes at a time, whose folders lie below `root`. Use as a context manager:
    leaving it kills the rest. With `servers`, tasks that these can do are left to them.

    With a `share`, this process is a worker beside others; who started it deals with signals.
    """

    def __init__(
        self, jobs: int, root: Path, share: Share | None = None, servers: Servers | None = None
    ) -> None:
        self.root = root
        self._servers = servers
        self._cpus = sorted(os.sched_getaffinity(0))
        together = jobs if share is None else share.count
        self._wall = _WALL * -(-together // len(self._cpus))  # more where they share CPUs
        if share is not None:
            self._cpus = [self._cpus[share.rank % len(self._cpus)]]
        # A process that starts or has ended is noted whole, so that `__exit__` finds every one.
        self._signals = Signals(*(() if share else (signal.SIGINT, signal.SIGTERM)))
        self._free = list(range(jobs))[::-1]
        self._running: dict[int, _Running[Key]] = {}
        self._selector = selectors.DefaultSelector()
        self._folder, self._lock = _own_folder(root)
        self._empty: list[Path] = []  # folders of runs, to be used again

    def __enter__(self) -> Self:
        self._signals.begin()
        return self

    def __exit__(self, *_: object) -> None:
        self._signals.end()
        for running in list(self._running.values()):
            running.process.kill()
            self._end(running)
            shutil.rmtree(running.folder, ignore_errors=True)
        self._selector.close()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._lock.close()

    def run(self, tasks: Iterable[Task[Key]]) -> Iterator[tuple[Key, ProcessResult, Path]]:
        """Yield each task's key, how it ended and its folder, in the order in which they end.

        The folder is gone or empty when the next result is asked for. Raises OSError when a process
        cannot be started.
        """
        waiting = iter(tasks)
        while True:
            while self._free and (task := next(waiting, None)) is not None:
                with self._signals.waiting():
                    self._start(task)
            if not self._running:
                return
            for running in self._wait():
                with self._signals.waiting():
                    if (end := self._end(running)) is None:
                        self._start(replace(running.task, request=None))
                try:
                    if end is not None:
                        yield running.task.key, end, running.folder
                finally:
                    # A file system may take milliseconds to remove a folder, so that of a server's
                    # child is used again. Not others': what they have started may be alive, and
                    # write there.
                    if running.process.is_child and _emptied(running.folder):
                        self._empty.append(running.folder)
                    else:
                        shutil.rmtree(running.folder, ignore_errors=True)

    def _start(self, task: Task[Key]) -> None:
        slot = self._free[-1]
        cpus = {self._cpus[slot % len(self._cpus)]} if task.bound else set(self._cpus)
        empty = self._empty.pop() if self._empty else None
        folder = empty or Path(tempfile.mkdtemp(dir=self._folder))
        try:
            for name, content in task.files.items():
                (folder / name).write_text(content, encoding="utf-8")
            process = self._process(task, cpus, folder)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        now, limit = time.monotonic(), task.time_limit_s
        self._running[process.pidfd] = _Running(
            task, process, folder, slot, now, now + self._wall * limit, now + limit
        )
        self._free.pop()
        self._selector.register(process.pidfd, selectors.EVENT_READ)

    def _process(self, task: Task[Key], cpus: set[int], folder: Path) -> Process:
        child = None
        if self._servers and task.request:
            child = self._servers.start(task.request, cpus, folder)
        if child is not None:
            return child
        with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
            streams = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": err}
            alone = start(task.argv, cpus, cwd=folder, **streams)
        return Process(alone.pid, alone.wait, is_child=False)

    def _wait(self) -> list[_Running[Key]]:
        """Wait for those that end, and kill those past their limits."""
        while True:
            now = time.monotonic()
            for running in self._running.values():
                running.poll(now)
            polls = [r.next_poll for r in self._running.values() if not r.exceeded]
            timeout = max(0.0, min(polls) - now) if polls else None
            if events := self._selector.select(timeout):
                return [self._running[key.fd] for key, _ in events]

    def _end(self, running: _Running[Key]) -> ProcessResult | None:
        """Say how it has ended; None where nobody can tell, since its server is gone."""
        pidfd = running.process.pidfd
        try:
            code = running.process.wait()
        except ServerLostError:
            code = None
        duration = time.monotonic() - running.began
        self._selector.unregister(pidfd)
        os.close(pidfd)
        del self._running[pidfd]
        self._free.append(running.slot)
        if code is None:
            return None
        streams = {"stdout": "", "stderr": ""}
        for name in streams:
            with suppress(OSError):  # the run has put something else in its place
                streams[name] = head(running.folder / name, _KEPT).decode(errors="replace")
        return ProcessResult(code, exceeded=running.exceeded, duration_s=duration, **streams)


def _emptied(folder: Path) -> bool:
    """Tell whether nothing but files lay in a folder, which are removed."""
    try:
        for path in folder.iterdir():
            path.unlink()
    except OSError:
        return False
    return True
