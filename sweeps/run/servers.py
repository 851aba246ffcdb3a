"""Servers: processes that have loaded a program once, and fork a child for each of its cells."""

import os
import signal
import socket
import subprocess
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from results import children
from sweeps.engines.base import MAX_OUTPUT, Request

_KEPT = 32  # servers at a time, each a few megabytes of its own
_ALONE = 2  # first cells of a program; to start a server for two more would cost more than it saves
_LONGEST_ARGUMENTS = 6000  # bytes; a program has room for 8,192 with pointers to them
_LONGEST_REQUEST = 60_000  # bytes; the engine's side reads 64 KiB
_ANSWERS_WITHIN_S = 10.0  # a fork takes a millisecond, on a crowded host perhaps a second
_MOST_LOST = 2  # servers of one program; after that its cells run alone


def start(command: Sequence[str], cpus: Iterable[int], **settings: Any) -> subprocess.Popen[bytes]:
    """Start a command that dies with this process and stays on the CPUs. It leads a group of its
    own. Raises OSError where there is no such program."""
    where = ",".join(map(str, sorted(cpus)))
    return children.start(command, where, str(MAX_OUTPUT), env={}, **settings)


class ServerLostError(Exception):
    """A server has ended, or does not answer; its children end with it."""


class Process:
    """A run: a server's child, or a process of its own, which leads a group of all that it starts.
    `pid` is its own until it is waited for; `pidfd` is readable when it has ended, and closed by
    whoever waits for it. `wait`: its exit code, once it has ended; a signal's number is negative.
    Of a child it raises ServerLostError when nobody can tell."""

    def __init__(self, pid: int, wait: Callable[[], int], is_child: bool) -> None:
        self.pid, self.wait, self.is_child = pid, wait, is_child
        self.pidfd = os.pidfd_open(pid)

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            if self.is_child:
                signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
            else:  # it is not reaped yet, so its number is still its own
                os.killpg(self.pid, signal.SIGKILL)


class Server:
    """One of these processes. Raises OSError when it cannot be started."""

    def __init__(self, command: Sequence[str]) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(_ANSWERS_WITHIN_S)
        try:
            with theirs:
                nowhere = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
                cpus = os.sched_getaffinity(0)
                self._process = start(command, cpus, stdin=theirs.fileno(), **nowhere)
        except BaseException:
            self._socket.close()
            raise
        self._running: set[int] = set()
        self._ended: dict[int, int] = {}

    @property
    def is_idle(self) -> bool:
        """Tell whether it has no child that was not waited for."""
        return not self._running

    def start(self, request: Request, cpus: Iterable[int], folder: Path) -> Process | None:
        """Start a cell in a folder, where its output goes to files `stdout` and `stderr`. None when
        it says that it cannot. Raises ServerLostError."""
        words = [str(folder), ",".join(map(str, cpus)), str(len(request.options))]
        words += [*request.options, *request.arguments]
        with self._or_lost():
            self._socket.sendall(os.fsencode("\0".join([*words, ""])))
            while (heard := self._hear())[0] == "ended":
                pass
            if heard[0] != "started":
                return None
            pid = int(heard[1])
            child = Process(pid, lambda: self.end_of(pid), is_child=True)
        self._running.add(child.pid)
        self._ended.pop(child.pid, None)
        return child

    def end_of(self, pid: int) -> int:
        """Return the exit code of a child, once it has ended. Raises ServerLostError."""
        self._running.discard(pid)
        with self._or_lost():
            while pid not in self._ended:
                self._hear()
        return self._ended.pop(pid)

    @contextmanager
    def _or_lost(self) -> Iterator[None]:
        """Hear a server that has failed once never again: its later words could be taken for an
        answer."""
        try:
            yield
        except OSError as error:
            self._socket.close()
            raise ServerLostError(str(error)) from None

    def _hear(self) -> list[str]:
        words = self._socket.recv(256).decode().split()
        if not words:
            raise ConnectionError("it has ended")
        if words[0] == "ended":  # a child: its number and its exit code
            self._ended[int(words[1])] = int(words[2])
        return words

    def end(self) -> None:
        self._socket.close()
        self._process.kill()
        self._process.wait()


class Servers:
    """The servers of a pool, which go on from one batch of cells to the next. They end with it, or
    by `end()`."""

    def __init__(self) -> None:
        self._asked: Counter[tuple[str, ...]] = Counter()
        self._lost: Counter[tuple[str, ...]] = Counter()
        self._servers: dict[tuple[str, ...], Server] = {}  # the one used last is the last
        self.end = weakref.finalize(self, _end_all, self._servers)

    def start(self, request: Request, cpus: Iterable[int], folder: Path) -> Process | None:
        """Start a cell, or not: the first of a program run alone, since a server costs more than it
        saves with few; and so do all of a program whose server cannot do it."""
        key = request.command
        room = sum(len(os.fsencode(word)) for word in request.arguments)
        if room > _LONGEST_ARGUMENTS or room + sum(map(len, request.options)) > _LONGEST_REQUEST:
            return None
        self._asked[key] += 1
        if self._asked[key] <= _ALONE or self._lost[key] >= _MOST_LOST:
            return None
        server = self._servers.pop(key, None)
        try:
            if server is None:
                idle = [other for other, running in self._servers.items() if running.is_idle]
                for other in idle[: max(0, len(self._servers) - _KEPT + 1)]:
                    self._servers.pop(other).end()
                server = Server(key)
            child = server.start(request, cpus, folder)
        except ServerLostError:
            self._lost[key] += 1
            if server:
                server.end()
            return None
        if child is None:
            self._lost[key] = _MOST_LOST
        if child is None and server.is_idle:
            server.end()
        else:
            self._servers[key] = server
        return child


def _end_all(servers: dict[tuple[str, ...], Server]) -> None:
    for server in servers.values():
        server.end()
    servers.clear()
