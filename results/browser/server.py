"""Datasette, an optional package, as a process: started, seen to answer, ended."""

import socket
import subprocess
import time
import urllib.request
from collections.abc import Sequence
from tempfile import TemporaryFile
from typing import NoReturn, Self

from results.browser.site import HOST
from results.errors import LockcrossError
from results.extras import Extra
from results.paths import ROOT

DATASETTE = Extra("Datasette", ROOT / "requirements-browser.txt", megabytes=5)
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


class Server:
    """A process that serves on a port. A context manager: inside it answers, afterwards it ends.

    Raises LockcrossError when it does not start.
    """

    def __init__(self, words: Sequence[str], port: int) -> None:
        self._said = TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 closed below
        self._process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self._said
        )
        self._address = f"http://{HOST}:{port}/-/versions.json"

    def __enter__(self) -> Self:
        end = time.monotonic() + _START_S
        try:
            while self._process.poll() is None and time.monotonic() < end:
                try:
                    with urllib.request.urlopen(self._address, timeout=5):
                        return self
                except OSError:
                    time.sleep(0.1)
            self._failed()
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()
        self._said.close()

    def serve(self) -> None:
        """Until it ends, which it does not by itself. Raises LockcrossError."""
        self._process.wait()
        self._failed()

    def _failed(self) -> NoReturn:
        self._said.seek(0)
        lines = self._said.read().strip().splitlines()[-1:]
        raise LockcrossError(f"Datasette has ended{''.join(f': {line}' for line in lines)}", 1)
