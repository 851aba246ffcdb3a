"""The pool of a cluster: Parsl's workers run the cells, chunk by chunk."""

import hashlib
import os
import pickle
import platform
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, Self

from results.errors import LockcrossError
from results.paths import WORK
from sweeps.engines.base import RunOutcome
from sweeps.execution.cluster import watch
from sweeps.execution.cluster.blocks import Blocks
from sweeps.execution.cluster.chunks import Chunks
from sweeps.execution.cluster.description import Cluster
from sweeps.execution.cluster.executor import make_executor
from sweeps.execution.cluster.install import install
from sweeps.execution.cluster.message import Chunk, Reply
from sweeps.execution.cluster.worker import run_chunk
from sweeps.execution.kept import unpack
from sweeps.execution.pool import kept_place, kept_words
from sweeps.execution.work import Done, Work
from sweeps.support.paths import ENGINE_PLUGIN

_FOLDER = WORK / "build" / "cluster"  # Parsl's logs, one folder a driver
_AHEAD = 2  # chunks in flight for each worker
_TICK_S = 1.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # a closed terminal too ends the jobs
_END_S = 20.0  # that the end of all jobs may take
_ANSWER_S = 30.0  # that the interchange may take to answer
_SPLIT, _MOST_LOSSES = 2, 4  # of a cell with its worker or node: then by itself, then no more
_RECENT_S = 60.0
_LOST = ("WorkerLost", "ManagerLost")


class ParslPool:
    """Runs cells on a cluster. A context manager: leaving it ends all its jobs.

    Jobs are asked for when cells are first run, and stay for the next ones.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._kernel: Any = None
        self._executor: Any = None
        self._folder = Path()
        self._plugin = ""
        self._ended: queue.SimpleQueue[Future[bytes]] = queue.SimpleQueue()
        self._losses: Counter[str] = Counter()
        self._blocks: Blocks | None = None
        self._speed = _Speed()
        self._watch: subprocess.Popen[str] | None = None
        self._handlers: dict[int, Any] = {}
        self._busy = self._interrupted = False
        self._told: set[str] = set()  # numbers of jobs that the watch knows

    def __enter__(self) -> Self:
        for number in _SIGNALS:
            self._handlers[number] = signal.signal(number, self._interrupt)
        return self

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        # Not in the middle of a question to Parsl's interchange, which would never be asked again.
        self._interrupted = True
        if not self._busy:
            raise KeyboardInterrupt

    @contextmanager
    def _undisturbed(self) -> Iterator[None]:
        self._busy = True
        try:
            yield
        finally:
            self._busy = False
        if self._interrupted:
            raise KeyboardInterrupt

    def __exit__(self, *_: object) -> None:
        self._busy = True
        try:
            self._end()
        finally:
            for number, handler in self._handlers.items():
                signal.signal(number, handler)

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

    def run(self, works: Sequence[Work]) -> Generator[Sequence[Done], None, None]:
        """As Pool."""
        with self._undisturbed():
            self._start()
        chunks = Chunks(works, self._cluster.slots)
        flying: dict[Future[bytes], list[Work]] = {}
        while True:
            with self._undisturbed():
                while len(flying) < _AHEAD * self._cluster.slots and (chunk := chunks.next()):
                    flying[self._submit(chunk)] = chunk
                self._look()
            if not flying:
                return
            try:
                future = self._ended.get(timeout=_TICK_S)
            except queue.Empty:
                yield []
                continue
            if (sent := flying.pop(future, None)) is not None:
                with self._undisturbed():
                    done = self._collect(future, sent, chunks)
                yield done

    def _start(self) -> None:
        if self._kernel is not None:
            return
        install()
        from parsl.config import Config
        from parsl.dataflow.dflow import DataFlowKernel

        self._plugin = hashlib.sha256(ENGINE_PLUGIN.read_bytes()).hexdigest()
        _FOLDER.mkdir(parents=True, exist_ok=True)
        _remove_old_folders()
        self._folder = Path(
            tempfile.mkdtemp(dir=_FOLDER, prefix=f"{platform.node()}-{os.getpid()}-")
        )
        self._executor = make_executor(self._cluster, f"lockcross-{self._folder.name}")
        self._watch = subprocess.Popen(
            [sys.executable, "-P", watch.__file__, self._executor.label, self._cluster.provider],
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
        self._blocks = Blocks(self._executor, self._cluster)

    def _look(self) -> None:
        assert self._blocks is not None
        self._blocks.look()
        self._tell_watch()

    def _tell_watch(self) -> None:
        """Says which jobs there are to the process that cancels them when this one dies."""
        assert self._watch is not None and self._watch.stdin is not None
        for job in set(self._executor.job_ids_to_block) - self._told:
            self._told.add(job)
            self._watch.stdin.write(f"{job}\n")
            self._watch.stdin.flush()

    def _submit(self, chunk: list[Work]) -> "Future[bytes]":
        message = pickle.dumps(
            Chunk(chunk, self._cluster.scratch, self._plugin), protocol=pickle.HIGHEST_PROTOCOL
        )
        future: Future[bytes] = self._kernel.submit(
            run_chunk,
            (message,),
            executors="all",
            cache=False,
            ignore_for_cache=None,
            app_kwargs={},
        )
        future.add_done_callback(self._ended.put)
        return future

    def _collect(self, future: "Future[bytes]", sent: list[Work], chunks: Chunks) -> Sequence[Done]:
        """What came of a chunk; what did not is sent again."""
        if (error := future.exception()) is not None:
            return self._lost(error, sent, chunks)
        reply: Reply = pickle.loads(future.result())
        chunks.learn(sent, reply.done)
        assert self._blocks is not None
        self._speed.add(len(reply.done))
        if not reply.refused:
            self._blocks.answered()
        else:
            self._blocks.leave_out(reply.place.host, reply.manager, reply.refused)
            finished = {done.identity for done in reply.done}
            chunks.again([work for work in sent if work.identity not in finished])
        return [self._kept(done, reply) for done in reply.done]

    def _kept(self, done: Done, reply: Reply) -> Done:
        entries = reply.folders.get(done.identity)
        if entries is None:
            return done
        place = kept_place(done.identity)
        unpack(entries, place)
        return replace(done, kept=kept_words(place))

    def _lost(self, error: BaseException, sent: list[Work], chunks: Chunks) -> Sequence[Done]:
        """A worker or its node is gone. The cells are sent again, after a second loss one by one,
        since one of them may be the reason."""
        if type(error).__name__ not in _LOST:
            raise LockcrossError(
                f"a worker of the cluster failed: {type(error).__name__}: {error}; "
                "./lockcross cluster check shows what its nodes lack",
                exit_code=1,
            )
        self._losses.update(work.identity for work in sent)
        losses = max(self._losses[work.identity] for work in sent)
        if len(sent) == 1 and losses >= _MOST_LOSSES:
            return [_lost_for_good(sent[0], losses, error)]
        for part in [sent] if losses < _SPLIT else [[work] for work in sent]:
            chunks.again(part)
        return []

    def state(self) -> str:
        """Blocks, workers, and how fast cells end."""
        blocks = self._blocks
        if blocks is None:
            return ""
        return (
            f"{blocks.running} blocks running, {blocks.queued} queued, {blocks.workers} workers, "
            f"{self._speed.per_second():.3g} cells/s"
        )


def _lost_for_good(work: Work, losses: int, error: BaseException) -> Done:
    cause = (
        f"lost {losses} times, the last time by itself: its worker or node ended while it ran "
        f"({error}); a job past its wall time and too little memory do that"
    )
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return Done(work.identity, RunOutcome(cause), "", now, 0.0, None)


def _remove_old_folders() -> None:
    """Those of drivers on this host that were killed."""
    for folder in _FOLDER.glob(f"{platform.node()}-*-*"):
        if not Path("/proc", folder.name.split("-")[-2]).exists():
            shutil.rmtree(folder, ignore_errors=True)


class _Speed:
    """Cells a second, over the last minute."""

    def __init__(self) -> None:
        self._ends: deque[tuple[float, int]] = deque()

    def add(self, count: int) -> None:
        """Some cells have ended."""
        now = time.monotonic()
        self._ends.append((now, count))
        while self._ends[0][0] < now - _RECENT_S:
            self._ends.popleft()

    def per_second(self) -> float:
        """The mean."""
        if not self._ends:
            return 0.0
        took = max(_TICK_S, time.monotonic() - self._ends[0][0])
        return sum(count for _, count in self._ends) / took
