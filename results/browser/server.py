"""Datasette, an optional package, as a process: started, seen to answer, ended."""

import socket
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from subprocess import DEVNULL
from tempfile import TemporaryFile
from typing import NoReturn

from results import children
from results.browser.site import HOST
from results.errors import LockcrossError
from results.extras import REQUIREMENTS, Extra

DATASETTE = Extra("Datasette", REQUIREMENTS / "browser.txt", megabytes=5)
_START_S = 120  # that a start may take on a busy machine


def free_port(port: int) -> int:
    """The port, or some free one for 0. Raises LockcrossError where it is taken."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise LockcrossError(
                f"port {port} cannot be used ({error.strerror}); name another with --port, "
                "or --port 0 for a free one"
            ) from None
        return int(probe.getsockname()[1])


@contextmanager
def served(words: Sequence[str], port: int) -> Iterator[Callable[[], NoReturn]]:
    """A process that serves on a port: inside it answers, afterwards it ends. Yields what waits for
    an end of its own, which is a failure. Raises LockcrossError."""
    with TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
        process = children.start(words, stdin=DEVNULL, stdout=DEVNULL, stderr=said)

        def fail() -> NoReturn:
            said.seek(0)
            lines = said.read().strip().splitlines()[-1:]
            raise LockcrossError(f"Datasette has ended{''.join(f': {line}' for line in lines)}", 1)

        def wait_for_end() -> NoReturn:
            process.wait()
            fail()

        end = time.monotonic() + _START_S
        try:
            while not _answers(port):
                if process.poll() is not None or time.monotonic() > end:
                    fail()
                time.sleep(0.1)
            yield wait_for_end
        finally:
            children.end(process)


def _answers(port: int) -> bool:
    with (
        suppress(OSError),
        urllib.request.urlopen(f"http://{HOST}:{port}/-/versions.json", timeout=5),
    ):
        return True
    return False
