"""Parsl while a command uses it: its processes on this machine, the jobs that it asks for, and
their end, however the command ends."""

import itertools
import os
import platform
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, Self

from results.extras import Extra
from results.paths import ROOT, WORK
from sweeps.run.cluster import ship, watch
from sweeps.run.cluster.blocks import Blocks
from sweeps.run.cluster.description import Cluster
from sweeps.run.cluster.executor import make_executor

PARSL = Extra("Parsl", ROOT / "requirements-cluster.txt", megabytes=3)
_FOLDER = WORK / "build" / "cluster"  # Parsl's logs, one folder a driver
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # a closed terminal too ends the jobs
_TICK_S = 1.0
_END_S = 20.0  # that the end of all jobs may take
_ANSWER_S = 30.0  # that the interchange may take to answer

Answer = Future[bytes]
Function = Callable[[bytes], bytes]


@dataclass(frozen=True)
class _Sent:
    """What a worker was asked to call."""

    number: int
    function: Function
    message: bytes


class Session:
    """A context manager: leaving it ends all jobs. Nothing is started until the first `start`, and
    no job is asked for until there is work for one, or `at_once`."""

    def __init__(self, cluster: Cluster, at_once: bool = False) -> None:
        self._at_once = at_once
        self.cluster = cluster
        self.blocks: Blocks | None = None
        self._kernel: Any = None
        self._executor: Any = None
        self._watch: subprocess.Popen[str] | None = None
        self._folder = Path()
        self._ended: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self._sent: dict[Answer, _Sent] = {}
        self._numbers = itertools.count()
        self._told: set[str] = set()  # numbers of jobs that the watch knows
        self._handlers: dict[int, Any] = {}
        self._busy = self._interrupted = False

    def __enter__(self) -> Self:
        for number in _SIGNALS:
            if number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN:
                continue  # nohup
            self._handlers[number] = signal.signal(number, self._interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        self._busy = True
        try:
            self._end()
        finally:
            for number, handler in self._handlers.items():
                signal.signal(number, handler)

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        # Not in the middle of a question to Parsl's interchange, which would never be asked again.
        self._interrupted = True
        if not self._busy:
            raise KeyboardInterrupt

    @contextmanager
    def undisturbed(self) -> Iterator[None]:
        """Inside, signals wait. Parsl is called nowhere else."""
        self._busy = True
        try:
            yield
        finally:
            self._busy = False
        if self._interrupted:
            raise KeyboardInterrupt

    def start(self) -> None:
        """Installs and starts Parsl, once. Raises LockcrossError."""
        if self._kernel is not None:
            return
        PARSL.install()
        from parsl.config import Config
        from parsl.dataflow.dflow import DataFlowKernel

        self._folder = _new_folder()
        self._executor = make_executor(
            self.cluster, f"lockcross-{self._folder.name}", self._folder, self._at_once
        )
        self._watch = subprocess.Popen(
            [sys.executable, "-P", watch.__file__, self._executor.label, self.cluster.provider],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, start_new_session=True,
        )  # fmt: skip
        self._kernel = DataFlowKernel(
            Config(
                executors=[self._executor],
                run_dir=str(self._folder),
                strategy="simple",
                strategy_period=1,
                initialize_logging=False,
                usage_tracking=0,
            )
        )
        # Without a limit a question to an interchange that has died is waited for for ever.
        client = self._executor.command_client
        client.run = partial(client.run, timeout_s=_ANSWER_S)
        self.blocks = Blocks(self._executor, self.cluster, *([1] if self._at_once else []))

    def submit(self, function: Function, message: bytes) -> int:
        """Has a worker call a function of this tree. Returns a number under which `next` hands the
        answer out when it is there."""
        number = next(self._numbers)
        self._send(_Sent(number, function, message))
        return number

    def _send(self, sent: "_Sent", with_tree: bool = False) -> None:
        function: Callable[..., object] = sent.function
        words: tuple[object, ...] = (sent.message,)
        if self.cluster.tree == "shipped":
            tree, name = ship.tree(), f"{function.__module__}:{function.__name__}"
            words = (tree.digest, tree.data if with_tree else None, name, sent.message)
            function = ship.boot().run
        future: Answer = self._kernel.submit(
            function, words, executors="all", cache=False, ignore_for_cache=None, app_kwargs={}
        )
        self._sent[future] = sent
        future.add_done_callback(self._ended.put)

    def next(self) -> tuple[int, Answer] | None:
        """The next answer; None when there is none for a while."""
        try:
            future = self._ended.get(timeout=_TICK_S)
        except queue.Empty:
            return None
        sent = self._sent.pop(future)
        if future.exception() is None and future.result() is None:  # a node without the tree
            with self.undisturbed():
                self._send(sent, with_tree=True)
            return None
        return sent.number, future

    def look(self) -> Blocks:
        """How blocks and workers are. Raises LockcrossError when there is no use in waiting."""
        assert self.blocks is not None
        self.blocks.look()
        self._tell_watch()
        return self.blocks

    def interchange_cpu_s(self) -> float:
        """CPU time of Parsl's process beside this one."""
        import psutil  # comes with Parsl

        times = psutil.Process(self._executor.interchange_proc.pid).cpu_times()
        return float(times.user + times.system)

    def _tell_watch(self) -> None:
        """Says which jobs there are to the process that cancels them when this one dies."""
        assert self._watch is not None and self._watch.stdin is not None
        for job in set(self._executor.job_ids_to_block) - self._told:
            self._told.add(job)
            self._watch.stdin.write(f"{job}\n")
            self._watch.stdin.flush()

    def _end(self) -> None:
        if self._kernel is None:
            return
        self._tell_watch()
        assert self._watch is not None
        # In a thread: a batch system that is away must not keep the user waiting.
        ending = threading.Thread(target=self._kernel.cleanup, daemon=True)
        ending.start()
        ending.join(_END_S)
        left = [one for one in self._executor.status_facade.values() if not one.terminal]
        with suppress(subprocess.TimeoutExpired):
            self._watch.communicate("" if left or ending.is_alive() else "end\n", timeout=_END_S)
        if self._watch.poll() is None:
            print(
                "lockcross: the batch system does not answer; the jobs are cancelled when it does",
                file=sys.stderr,
            )
        shutil.rmtree(self._folder, ignore_errors=True)


def _new_folder() -> Path:
    """A folder for Parsl's logs. Those of drivers on this host that were killed are removed."""
    _FOLDER.mkdir(parents=True, exist_ok=True)
    for folder in _FOLDER.glob(f"{platform.node()}-*-*"):
        if not Path("/proc", folder.name.split("-")[-2]).exists():
            shutil.rmtree(folder, ignore_errors=True)
    return Path(tempfile.mkdtemp(dir=_FOLDER, prefix=f"{platform.node()}-{os.getpid()}-"))
