"""Parsl while a command uses it: its processes on this machine, the jobs that it asks for, when
there is no use in waiting for them, and their end, however the command ends."""

import os
import platform
import queue
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Self

from results.errors import LockcrossError
from results.extras import REQUIREMENTS, Extra
from results.paths import WORK
from sweeps.run.cluster.description import Cluster
from sweeps.run.cluster.executor import make_executor
from sweeps.run.processes import Signals
from sweeps.support.text import shortened

PARSL = Extra("Parsl", REQUIREMENTS / "cluster.txt", megabytes=3)
_FOLDER = WORK / "build" / "cluster"  # Parsl's logs, one folder per driver
_FAILURES = 3  # blocks in a row that the batch system refuses, or that end before a worker starts
_FAILED = ("FAILED", "MISSING")  # Parsl's words for the states of such blocks
_REFUSED = "Failed to start block"  # begins what Parsl says of a job that was not taken
_POLL_S = 2.0  # between two questions to the interchange
_TICK_S = 1.0
_END_S = 20.0  # that the end of all jobs may take
_ANSWER_S = 30.0  # that the interchange may take to answer
_MAX_SHOWN = 400  # characters of what a job or the batch system said

Answer = Future[Any]


class Session:
    """A context manager: leaving it ends all jobs. Nothing is started until `start`, and no job is
    asked for until there is work for one."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.workers = 0  # that are there and fit
        self._kernel: Any = None
        self._executor: Any = None
        self._folder = Path()
        self._ended: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self._next_poll = 0.0
        self._states: list[str] = []  # of the blocks, in Parsl's words
        self._left_out: dict[str, str] = {}  # host -> why
        self._unfit_blocks: set[str] = set()
        self._options = ""  # of the cluster file, for the batch system
        self._refusals = 0  # blocks whose nodes were unfit, since a node has run cells
        numbers = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # as it is under nohup
            numbers.append(signal.SIGHUP)  # a closed terminal too ends the jobs
        self._signals = Signals(*numbers)
        # Not in the middle of a question to Parsl's interchange, which would never be asked again.
        self.undisturbed = self._signals.waiting  # Parsl is called nowhere else

    def __enter__(self) -> Self:
        self._signals.begin()
        return self

    def __exit__(self, *_: object) -> None:
        self._signals.held = True
        try:
            if self._kernel is not None:
                self._end()
        finally:
            self._signals.end()

    def start(self) -> None:
        """Install and start Parsl, once. Raises LockcrossError."""
        if self._kernel is not None:
            return
        PARSL.install()
        from parsl.config import Config
        from parsl.dataflow.dflow import DataFlowKernel

        # Folders of drivers on this host that were killed are removed.
        _FOLDER.mkdir(parents=True, exist_ok=True)
        for folder in _FOLDER.glob(f"{platform.node()}-*-*"):
            if not Path("/proc", folder.name.split("-")[-2]).exists():
                shutil.rmtree(folder, ignore_errors=True)
        self._folder = Path(mkdtemp(dir=_FOLDER, prefix=f"{platform.node()}-{os.getpid()}-"))
        label = f"lockcross-{self._folder.name}"
        self._executor = make_executor(self.cluster, label)
        settings: dict[str, Any] = {"strategy": "simple", "strategy_period": 1}
        settings |= {"initialize_logging": False, "usage_tracking": 0}
        config = Config([self._executor], run_dir=str(self._folder), **settings)
        try:
            self._kernel = DataFlowKernel(config)
        except Exception as error:  # Parsl's own, of many kinds
            where = f"at {self._executor.address} (address in the cluster file)"
            raise LockcrossError(f"Parsl cannot be started {where}: {error}", 1) from None
        # Without a limit a question to an interchange that has died is waited for for ever.
        client = self._executor.command_client
        client.run = partial(client.run, timeout_s=_ANSWER_S)

    def submit(self, function: Callable[..., object], *words: object) -> Answer:
        """Have a worker call a function of this tree; `next` hands the answer out."""
        future: Answer = self._kernel.submit(
            function, words, executors="all", cache=False, ignore_for_cache=None, app_kwargs={}
        )
        future.add_done_callback(self._ended.put)
        return future

    def next(self) -> Answer | None:
        """Return the next answer; None when there is none for a while."""
        try:
            return self._ended.get(timeout=_TICK_S)
        except queue.Empty:
            return None

    def poll(self) -> None:
        """Ask how blocks and workers are, now and then. Raises LockcrossError (1) when there is no
        use in waiting for a worker."""
        if (now := time.monotonic()) < self._next_poll:
            return
        self._next_poll = now + _POLL_S
        if self._executor.interchange_proc.poll() is not None:
            raise self._error("Parsl's interchange on this machine has ended, or was killed")
        self.workers = sum(
            int(manager["worker_count"])
            for manager in self._executor.connected_managers()
            if manager["active"] and manager["block_id"] not in self._unfit_blocks
        )
        blocks = list(dict(self._executor.status_facade).values())
        self._states = [block.status_name for block in blocks]
        if self.workers:
            return
        last = [block for block in blocks if block.status_name not in ("PENDING", "RUNNING")]
        if len(last) >= _FAILURES and all(
            block.status_name in _FAILED for block in last[-_FAILURES:]
        ):
            raise self._error(self._why_failed(last[-1]))

    def _why_failed(self, block: Any) -> str:
        """Say why a block has no workers: the batch system refused it, or its job said why."""
        if _REFUSED in (block.message or ""):
            # What the batch system's command said stands after Parsl's own words.
            refusal = " ".join(block.message.rpartition("stderr=")[2].split())
            return (
                f"the batch system gives no job: {shortened(refusal, _MAX_SHOWN)}; correct the "
                "cluster file, or wait until the batch system answers"
            )
        lines = (block.stderr_summary or "").strip().splitlines()
        complaint = f": {shortened(lines[-1], _MAX_SHOWN)}" if lines else ""
        return (
            f"jobs have ended before a worker of theirs answered{complaint}; check python and "
            "commands in the cluster file, and that nodes reach this machine at "
            f"{self._executor.address} (address)"
        )

    def leave_out(self, host: str, block: str, why: str) -> None:
        """Give no more cells to a node that cannot run them; its job ends, and another node may
        come. Raises LockcrossError (1) when none of the last ones could."""
        if host not in self._left_out:
            self._left_out[host] = why
            print(f"lockcross: node {host} is left out: {why}", file=sys.stderr)
        if block in self._unfit_blocks:
            return
        self._unfit_blocks.add(block)
        self._refusals += 1
        self._executor._hold_block(block)
        if self.cluster.provider == "slurm":  # the next block goes elsewhere
            provider, hosts = self._executor.provider, ",".join(self._left_out)
            self._options = self._options or provider.scheduler_options
            provider.scheduler_options = f"{self._options}\n#SBATCH --exclude={hosts}\n"
        if job := self._executor.blocks_to_job_id.get(block):
            self._executor.provider.cancel([job])
        self._next_poll = 0.0
        self.poll()
        if self._refusals >= max(_FAILURES, self.cluster.blocks) and not self.workers:
            raise self._error("no node can run the cells")

    def answered(self) -> None:
        """Note that a node has run cells."""
        self._refusals = 0

    def state(self) -> str:
        """Say how many blocks and workers there are; nothing before Parsl is started."""
        running, queued = (self._states.count(state) for state in ("RUNNING", "PENDING"))
        if self._kernel is None:
            return ""
        return f"{running} blocks running, {queued} queued, {self.workers} workers"

    def _error(self, message: str) -> LockcrossError:
        nodes = "".join(f"\n  {host}: {why}" for host, why in self._left_out.items())
        left_out = f". Nodes that were left out:{nodes}" if nodes else ""
        rest = "What was run is stored; once this is settled, the same command runs the rest"
        return LockcrossError(f"{message}. {rest}{left_out}", exit_code=1)

    def _end(self) -> None:
        # In a thread: a batch system that is away must not keep the user waiting.
        ending = threading.Thread(target=self._kernel.cleanup, daemon=True)
        ending.start()
        ending.join(_END_S)
        if ending.is_alive():
            away = "the batch system does not answer; its jobs end by themselves within a minute"
            print(f"lockcross: {away}", file=sys.stderr)
        shutil.rmtree(self._folder, ignore_errors=True)
