"""Parsl while a command uses it: its processes on this machine, the jobs that it asks for, when
there is no use in waiting for them, and their end, however the command ends."""

import itertools
import os
import platform
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Self

from results.errors import LockcrossError
from results.extras import REQUIREMENTS, Extra
from results.paths import WORK
from sweeps.run.artifacts import FULL
from sweeps.run.cluster import ship, watch
from sweeps.run.cluster.description import Cluster
from sweeps.run.cluster.executor import make_executor
from sweeps.run.cluster.node import boot
from sweeps.run.processes import Signals
from sweeps.support.text import shortened

_FAILURES = 3  # blocks in a row that the batch system refuses, or that end before a worker starts
_QUEUED_S = 60.0  # until people are told why
_PATIENCE_S = 600.0  # with a batch system that does not answer
_LOOK_S = 2.0  # between two questions to the interchange
_NOT_STARTED = ("FAILED", "MISSING")
_REFUSED = "Failed to start block"  # begins what Parsl says of a job that was not taken
_SHOWN = 400  # characters of what a job or the batch system said
# A batch system that is away for a while, in its commands' words.
_AWAY = re.compile(
    r"unable to contact|connection (refused|timed out|reset)|communication|socket|not respond"
    r"|time(d )?[ -]?out|try again|temporarily|zero bytes",
    re.IGNORECASE,
)


class Blocks:
    """What is known of the blocks of an executor. `look` raises LockcrossError (1) when it is of no
    use to wait any longer."""

    def __init__(self, executor: Any, cluster: Cluster, failures: int = _FAILURES) -> None:
        self._failures = failures
        self._executor = executor
        self._cluster = cluster
        self._since = time.monotonic()  # there was a worker, or the first wait began
        self._next_look = 0.0
        self._managers: list[dict[str, Any]] = []
        self._held: set[str] = set()
        self._left_out: dict[str, str] = {}  # host -> why
        self._lost_blocks = 0  # in a row, of nodes that are left out
        self._options = getattr(executor.provider, "scheduler_options", "")
        self._told = False
        self.queued = self.running = 0

    @property
    def workers(self) -> int:
        """Workers that are there and not left out."""
        fit = [manager for manager in self._managers if manager["manager"] not in self._held]
        return sum(int(manager["worker_count"]) for manager in fit if manager["active"])

    def look(self) -> None:
        """Asks how blocks and workers are, now and then."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + _LOOK_S
        if self._executor.interchange_proc.poll() is not None:
            raise self._error("Parsl's interchange on this machine has ended, or was killed")
        self._managers = self._executor.connected_managers()
        blocks = list(dict(self._executor.status_facade).values())
        states = [block.status_name for block in blocks]
        self.queued, self.running = states.count("PENDING"), states.count("RUNNING")
        if self.workers:
            self._since, self._told = now, False
        else:
            ended = [block for block in blocks if block.status_name not in ("PENDING", "RUNNING")]
            self._judge(ended[-self._failures :], now - self._since)

    def _judge(self, last: list[Any], waited_s: float) -> None:
        """Without any worker: whether one may still come. `last`: the blocks that ended last."""
        # Parsl calls a block that could not be asked for FAILED at first, later MISSING.
        refused = [block.message for block in last if _REFUSED in (block.message or "")]
        # What its command said, without Parsl's words before it.
        words = " ".join(refused[-1].rpartition("stderr=")[2].split()) if refused else ""
        words = shortened(words, _SHOWN)
        if refused and _AWAY.search(refused[-1]):
            self._tell(f"the batch system does not answer; waiting ({words})")
            if waited_s > _PATIENCE_S:
                minutes = f"{waited_s / 60:.0f} minutes"
                raise self._error(f"the batch system has not answered for {minutes}: {words}")
        elif len(refused) == self._failures:
            if any(os.strerror(number) in refused[-1] for number in FULL):
                raise self._error(f"no job can be asked for, the disk is full: {words}")
            why = f"the batch system refuses the job: {words}"
            raise self._error(f"{why}; correct the cluster file")
        elif sum(block.status_name in _NOT_STARTED for block in last) == self._failures:
            # What the last one said, of itself or on standard error.
            lines = (last[-1].stderr_summary or "").strip().splitlines()
            own = f": {shortened(lines[-1], _SHOWN)}" if lines else ""
            raise self._error(
                f"{self._failures} jobs in a row have ended before a worker of theirs answered"
                f"{own}; check python and commands in the cluster file, and that nodes reach this "
                f"machine at {self._executor.address} (address)"
            )
        if not self.queued or self.running:
            return
        if waited_s > self._cluster.queue_minutes * 60:
            raise self._error(
                f"no job has started in {self._cluster.queue_minutes:g} minutes, as many as the "
                f"cluster file allows (queue_minutes); {self.queued} are queued{self._why_queued()}"
            )
        if waited_s > _QUEUED_S and not self._told:
            self._tell(f"{self.queued} jobs are queued, and none has started{self._why_queued()}")

    def leave_out(self, host: str, manager: str, why: str) -> None:
        """A node cannot run the cells: it gets no more of them, and its block makes room for
        another one when no node of it is left."""
        if host not in self._left_out:
            self._left_out[host] = why
            print(f"lockcross: node {host} is left out: {why}", file=sys.stderr)
        if manager in self._held:
            return
        self._held.add(manager)
        self._executor._hold_manager(manager)
        if self._cluster.provider == "slurm":  # the next block goes elsewhere
            self._executor.provider.scheduler_options = (
                f"{self._options}#SBATCH --exclude={','.join(self._left_out)}\n"
            )
        self._managers = self._executor.connected_managers()
        block = next(
            (known["block_id"] for known in self._managers if known["manager"] == manager), None
        )
        if all(
            known["manager"] in self._held for known in self._managers if known["block_id"] == block
        ):
            self._lost_blocks += 1
            if job := self._executor.blocks_to_job_id.get(block):
                self._executor.provider.cancel([job])
        if self._lost_blocks >= max(_FAILURES, self._cluster.blocks) and not self.workers:
            raise self._error("no node can run the cells")

    def _why_queued(self) -> str:
        """The batch system's reason, where it is known how to ask."""
        if self._cluster.provider != "slurm":
            return ""
        jobs = ",".join(self._executor.job_ids_to_block)
        _, said, _ = self._executor.provider.execute_wait(f"squeue -h -o %r -j {jobs}")
        return f" (Slurm's reason: {', '.join(sorted(set(said.split())))})" if said.strip() else ""

    def answered(self) -> None:
        """A node has run cells."""
        self._lost_blocks = 0

    def _error(self, message: str) -> LockcrossError:
        nodes = "".join(f"\n  {host}: {why}" for host, why in self._left_out.items())
        left_out = f". Nodes that were left out:{nodes}" if nodes else ""
        rest = "What was run is stored; once this is settled, the same command runs the rest"
        return LockcrossError(f"{message}. {rest}{left_out}", exit_code=1)

    def _tell(self, message: str) -> None:
        if not self._told:
            print(f"lockcross: {message}", file=sys.stderr)
        self._told = True


PARSL = Extra("Parsl", REQUIREMENTS / "cluster.txt", megabytes=3)
_FOLDER = WORK / "build" / "cluster"  # Parsl's logs, one folder a driver
_TICK_S = 1.0
_END_S = 20.0  # that the end of all jobs may take
_ANSWER_S = 30.0  # that the interchange may take to answer

Answer = Future[bytes]
Function = Callable[[bytes], bytes]


class Session:
    """A context manager: leaving it ends all jobs. Nothing is started until the first `start`, and
    no job is asked for until there is work for one, or `at_once`."""

    def __init__(self, cluster: Cluster, at_once: bool = False) -> None:
        self._at_once = at_once
        self.cluster = cluster
        self.blocks: Blocks | None = None
        self._kernel: Any = None
        self._executor: Any = None
        self._watch: Any = None
        self._folder = Path()
        self._ended: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self._sent: dict[Answer, tuple[int, Function, bytes]] = {}  # with their numbers
        self._numbers = itertools.count()
        self._told: set[str] = set()  # numbers of jobs that the watch knows
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
        """Installs and starts Parsl, once. Raises LockcrossError."""
        if self._kernel is not None:
            return
        PARSL.install()
        from parsl.config import Config
        from parsl.dataflow.dflow import DataFlowKernel

        # For Parsl's logs. Folders of drivers on this host that were killed are removed.
        _FOLDER.mkdir(parents=True, exist_ok=True)
        for folder in _FOLDER.glob(f"{platform.node()}-*-*"):
            if not Path("/proc", folder.name.split("-")[-2]).exists():
                shutil.rmtree(folder, ignore_errors=True)
        self._folder = Path(mkdtemp(dir=_FOLDER, prefix=f"{platform.node()}-{os.getpid()}-"))
        label = f"lockcross-{self._folder.name}"
        self._executor = make_executor(self.cluster, label, self._folder, self._at_once)
        words = [sys.executable, "-P", watch.__file__, label, self.cluster.provider]
        self._watch = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        settings: dict[str, Any] = {"strategy": "simple", "strategy_period": 1}
        settings |= {"initialize_logging": False, "usage_tracking": 0}
        config = Config([self._executor], run_dir=str(self._folder), **settings)
        self._kernel = DataFlowKernel(config)
        # Without a limit a question to an interchange that has died is waited for for ever.
        client = self._executor.command_client
        client.run = partial(client.run, timeout_s=_ANSWER_S)
        self.blocks = Blocks(self._executor, self.cluster, *([1] if self._at_once else []))

    def submit(self, function: Function, message: bytes) -> int:
        """Has a worker call a function of this tree. Returns a number under which `next` hands the
        answer out when it is there."""
        self._send(number := next(self._numbers), function, message)
        return number

    def _send(
        self, number: int, function: Function, message: bytes, with_tree: bool = False
    ) -> None:
        called: Callable[..., object] = function
        words: tuple[object, ...] = (message,)
        if self.cluster.tree == "shipped":
            tree, name = ship.tree(), f"{function.__module__}:{function.__name__}"
            words = (tree.digest, tree.data if with_tree else None, name, message)
            called = boot.run
        future: Answer = self._kernel.submit(
            called, words, executors="all", cache=False, ignore_for_cache=None, app_kwargs={}
        )
        self._sent[future] = number, function, message
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
                self._send(*sent, with_tree=True)
            return None
        return sent[0], future

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
        new = set(self._executor.job_ids_to_block) - self._told
        self._told |= new
        self._watch.stdin.writelines(f"{job}\n" for job in new)
        self._watch.stdin.flush()

    def _end(self) -> None:
        self._tell_watch()
        # In a thread: a batch system that is away must not keep the user waiting.
        ending = threading.Thread(target=self._kernel.cleanup, daemon=True)
        ending.start()
        ending.join(_END_S)
        left = [block for block in self._executor.status_facade.values() if not block.terminal]
        with suppress(subprocess.TimeoutExpired):
            self._watch.communicate("" if left or ending.is_alive() else "end\n", timeout=_END_S)
        if self._watch.poll() is None:
            away = "the batch system does not answer; the jobs are cancelled when it does"
            print(f"lockcross: {away}", file=sys.stderr)
        shutil.rmtree(self._folder, ignore_errors=True)
