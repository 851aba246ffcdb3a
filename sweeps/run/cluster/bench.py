"""What a cluster costs beside the cells: gaps between chunks, and the driver's CPU time."""

import pickle
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from results.errors import LockcrossError
from results.store.store import Store
from sweeps.run.cluster.check import SMALL_CELL, run_here
from sweeps.run.cluster.description import Cluster
from sweeps.run.cluster.node.worker import Chunk, Reply, Waits, wait_chunk
from sweeps.run.cluster.parsl_pool import ParslPool
from sweeps.run.cluster.session import Session
from sweeps.run.runner import Runner
from sweeps.run.work import Work

_WAITS_S = (0.01, 0.03, 0.1)  # of the stand-ins
_BUSY_S = 15.0  # that every worker is kept busy with them
_REAL = 1000  # cells
_FILLED_S = 300.0  # until every worker must be there
Row = tuple[object, ...]


COLUMNS = (
    "cells,how many,workers,seconds,cells/s,chunks,gaps %,driver CPU ms,interchange CPU ms,bytes,"
    "workers fed"
).split(",")
NOTE = (
    "gaps: time of the workers between two chunks, of that in chunks. workers fed: computed, not "
    "measured, from the driver's CPU time; cells as long as the stand-ins, a CPU of its own."
)


class _MeasuredPool(ParslPool):
    """Notes when each worker was in a chunk, and how large the answers are."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._spans: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
        self._bytes = 0

    def received(self, reply: Reply, size: int) -> None:
        self._spans[reply.manager, reply.place.worker].append(reply.span)
        self._bytes += size

    def row(self, name: str, cells: int, seconds: float, cpu: list[float]) -> Row:
        """What was measured, as COLUMNS say. `cpu`: seconds of the driver, and of Parsl's
        interchange beside it."""
        idle = busy = 0.0
        for spans in self._spans.values():
            spans.sort()
            idle += sum(after[0] - before[1] for before, after in pairwise(spans))
            busy += sum(end - begin for begin, end in spans)
        driver_ms, parsl_ms = (1000 * each / cells for each in cpu)
        fed = [f"{wait / (driver_ms / 1000):,.0f}" for wait in _WAITS_S]
        chunks = sum(map(len, self._spans.values()))
        what = name, cells, len(self._spans), f"{seconds:.1f}", f"{cells / seconds:.0f}", chunks
        cost = f"{100 * idle / busy:.2f}", f"{driver_ms:.3f}", f"{parsl_ms:.3f}"
        return *what, *cost, f"{self._bytes / cells:.0f}", " / ".join(fed)


class _StandIns(_MeasuredPool):
    """Cells that only wait."""

    function = staticmethod(wait_chunk)

    def __init__(self, session: Session, seconds: float, answer: bytes) -> None:
        super().__init__(session)
        self._seconds, self._answer = seconds, answer

    def message(self, chunk: Chunk) -> object:
        return Waits(chunk, self._seconds, self._answer)


def bench(cluster: Cluster) -> Iterator[Row]:
    """Measures stand-ins of several lengths, then real cells. Raises LockcrossError."""
    work, done = run_here("bench")
    answer = pickle.dumps(done)
    with TemporaryDirectory(prefix="lockcross-bench-") as name, Session(cluster) as session:
        folder = Path(name)
        _fill(session, _StandIns(session, 0.5, answer), work)
        for seconds in _WAITS_S:
            pool = _StandIns(session, seconds, answer)
            count = round(cluster.slots * _BUSY_S / seconds)
            title = f"stand-ins that wait {seconds * 1000:g} ms"
            yield _measure(title, pool, count, session, folder / f"{seconds}.db")
        real = _MeasuredPool(session)
        yield _measure("real cells", real, _REAL, session, folder / "real.db")


def _fill(session: Session, pool: ParslPool, work: Work) -> None:
    """Until every worker is there."""
    end = time.monotonic() + _FILLED_S
    slots = session.cluster.slots
    while session.blocks is None or session.blocks.workers < slots:
        if time.monotonic() > end:
            raise LockcrossError(f"fewer than {slots} workers after {_FILLED_S:g} s", 1)
        works = [replace(work, identity=str(number)) for number in range(4 * slots)]
        for _ in pool.run(works):
            pass


def _measure(name: str, pool: _MeasuredPool, count: int, session: Session, db: Path) -> Row:
    cells = [replace(SMALL_CELL, seed=number) for number in range(1, count + 1)]
    with Store(db) as store:
        runner = Runner(store, pool=pool)
        began, cpu = time.monotonic(), [time.process_time(), session.interchange_cpu_s()]
        runs = runner.run(cells, "bench")
        cpu = [time.process_time() - cpu[0], session.interchange_cpu_s() - cpu[1]]
        seconds = time.monotonic() - began
    if failed := next((run for run in runs if run.status != "ok"), None):
        raise LockcrossError(f"benchmark run failed: {failed.cause}", exit_code=1)
    return pool.row(name, count, seconds, cpu)
