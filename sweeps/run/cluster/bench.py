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
from results.text.rows import Rows
from sweeps.run.cluster.check import SMALL_CELL, run_here
from sweeps.run.cluster.description import Cluster
from sweeps.run.cluster.node.worker import Chunk, Reply, wait_chunk
from sweeps.run.cluster.parsl_pool import ParslPool
from sweeps.run.cluster.session import Session
from sweeps.run.runner import Runner
from sweeps.run.work import Work

_WAITS_S = (0.01, 0.03, 0.1)  # of the stand-ins
_BUSY_S = 15.0  # that every worker is kept busy with them
_REAL = 1000  # cells
_FILLED_S = 300.0  # until every worker must be there
_FORMATS = {  # of the columns, in their order
    "cells": "",
    "how many": "",
    "workers": "",
    "seconds": ".1f",
    "cells/s": ".0f",
    "chunks": "",
    "gaps %": ".2f",
    "driver CPU ms": ".3f",
    "interchange CPU ms": ".3f",
    "bytes": ".0f",
    "workers fed": "",
}
NOTE = (
    "gaps: time of the workers between two chunks, of that in chunks. workers fed: computed, not "
    "measured, from the driver's CPU time; cells as long as the stand-ins, a CPU of its own."
)


class _MeasuredPool(ParslPool):
    """Notes when each worker was in a chunk, and how large the answers are."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.spans: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
        self.bytes = 0

    def received(self, reply: Reply, size: int) -> None:
        self.spans[reply.manager, reply.place.worker].append(reply.span)
        self.bytes += size


class _StandIns(_MeasuredPool):
    """Cells that only wait."""

    function = staticmethod(wait_chunk)

    def __init__(self, session: Session, seconds: float, answer: bytes) -> None:
        super().__init__(session)
        self._seconds, self._answer = seconds, answer

    def message(self, chunk: Chunk) -> object:
        return chunk, self._seconds, self._answer


def rows(cluster: Cluster) -> Rows:
    """A row a measurement. Raises LockcrossError."""
    shown = {name: f"{{{name}:{form}}}" for name, form in _FORMATS.items()}
    return Rows(list(_measurements(cluster)), shown)


def _measurements(cluster: Cluster) -> Iterator[dict[str, object]]:
    """Stand-ins of several lengths, then real cells."""
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


def _measure(
    name: str, pool: _MeasuredPool, count: int, session: Session, db: Path
) -> dict[str, object]:
    """Runs so many cells and says what that took."""
    cells = [replace(SMALL_CELL, seed=number) for number in range(1, count + 1)]
    with Store(db) as store:
        runner = Runner(store, pool=pool)
        began, own_s, parsl_s = time.monotonic(), time.process_time(), session.interchange_cpu_s()
        runs = runner.run(cells, "bench")
        own_s, parsl_s = time.process_time() - own_s, session.interchange_cpu_s() - parsl_s
        seconds = time.monotonic() - began
    if failed := next((run for run in runs if run.status != "ok"), None):
        raise LockcrossError(f"benchmark run failed: {failed.cause}", exit_code=1)
    idle = busy = 0.0
    for spans in map(sorted, pool.spans.values()):
        idle += sum(after[0] - before[1] for before, after in pairwise(spans))
        busy += sum(end - begin for begin, end in spans)
    values = (
        name,
        count,
        len(pool.spans),
        seconds,
        count / seconds,
        sum(map(len, pool.spans.values())),
        100 * idle / busy,
        1000 * own_s / count,
        1000 * parsl_s / count,
        pool.bytes / count,
        " / ".join(f"{wait / (own_s / count):,.0f}" for wait in _WAITS_S),
    )
    return dict(zip(_FORMATS, values, strict=True))
