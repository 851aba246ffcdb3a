"""Cells to be run, their results, and the pool of this machine; sweeps/run/cluster has the pool
of a cluster, whose nodes run cells by the same code."""

import os
import platform
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Protocol

from results.paths import WORK
from results.store.records import Place, RunRecord
from sweeps.engines.base import Limits, PhaseCounts, RunOutcome, Serving, load_engine
from sweeps.engines.guest import BadRunError, Metrics
from sweeps.model.cell import Cell
from sweeps.programs import Binary
from sweeps.run import artifacts
from sweeps.run.processes import Processes, Task
from sweeps.run.servers import Servers
from sweeps.support.paths import KEPT_FOLDERS, RUN_FOLDERS
from sweeps.support.text import shortened

PATHS = ("acquire", "nested_acquire", "nested_release", "release")
_OBJECTS = ("own", "foreign")
_PHASES = len(PATHS) + 1  # of an object: nothing, then its paths
_SHOWN_CAUSE = 2000  # characters of a failed run's cause that are stored
_SHOWN_OUTPUT = 4000  # characters of a failed run's output that are stored
_CPUINFO = Path("/proc/cpuinfo")


@dataclass(frozen=True, kw_only=True)
class CellRecord(Cell, RunRecord):
    """One run as it is stored: a cell and its result."""


@dataclass(frozen=True)
class Work:
    """A cell with the parts of its identity and the means to run it. `engine_version` is the
    driver's, with everything that is stored with the run; `expected_s`: how long it may take, where
    that is known, for whoever packs chunks; `keep`: its folder is kept here although it is valid;
    `refusal`: why it will not be run."""

    cell: Cell
    identity: str
    engine_version: str
    binary: Binary
    limits: Limits
    expected_s: float | None = None
    keep: bool = False
    refusal: str = ""


@dataclass(frozen=True)
class Done:
    """The result of a cell, as it is stored (RunRecord). `output`: where its folder is kept, in
    words, and the output of a failed run."""

    identity: str
    cause: str = ""
    output: str = ""
    started: str = ""
    duration_s: float = 0.0
    resolved: dict[str, int | str] = field(default_factory=dict)
    metrics: Metrics = field(default_factory=dict)
    place: Place | None = None


def not_run(work: Work, cause: str) -> Done:
    """Return that there is no run of a cell to speak of, and why."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return Done(work.identity, shortened(cause, _SHOWN_CAUSE), started=now)


def keep(folder: Path, done: Done) -> Done:
    """Keep the folder of a run, and say where."""
    place = KEPT_FOLDERS / done.identity[:16]
    artifacts.keep(folder, place)
    return replace(done, output=f"folder: {place.relative_to(WORK)}\n{done.output}")


class Pool(Protocol):
    """Run cells somewhere and read their output, at most `slots` of them at a time."""

    slots: int

    def run(self, works: Sequence[Work]) -> Generator[Sequence[Done], None, None]:
        """Run cells and yield their results, each once, in chunks that belong in one
        transaction, in the order in which they end. A chunk may be empty: nothing has ended, but
        `state` may have changed.

        Raises OSError when a disk is full, and LockcrossError when cells cannot be run at all;
        results yielded until then are to be stored.
        """

    def state(self) -> str:
        """Return its present means, in a few words; nothing where that never
        changes."""
        return ""


class LocalPool(Pool):
    """This machine: at most `jobs` cells at a time, each on one CPU. `collect` is called with the
    folder of each valid run before that is removed."""

    def __init__(self, jobs: int, collect: Callable[[Path], None] | None = None) -> None:
        self.slots = jobs
        self._collect = collect
        self._servers = Servers()

    def run(self, works: Sequence[Work]) -> Generator[Sequence[Done], None, None]:
        """Run cells, as Pool says. Must be called from the main thread: the processes are killed
        when the thread that started them ends."""
        with Processes[Work](self.slots, RUN_FOLDERS, servers=self._servers) as processes:
            for work, done, folder in execute(works, processes, this_host()):
                if self._collect and not done.cause:
                    self._collect(folder)
                yield [keep(folder, done) if done.cause or work.keep else done]


def execute(
    works: Iterable[Work], processes: Processes[Work], place: Place
) -> Iterator[tuple[Work, Done, Path]]:
    """Run cells and read their output. Yields each with its folder, which is removed when the
    next one is asked for.

    Raises OSError when the disk of the folders is full, which is no fault of a cell.
    """
    for work, end, folder in processes.run(map(_task, works)):
        read = load_engine(work.cell.engine).read(work.cell, work.limits, end, folder)
        outcome, cause, output = with_paths(work.cell, read), "", ""
        if outcome.cause:
            artifacts.check_room(
                processes.root
            )  # a cell that failed because the disk is full is not stored
            streams = f"standard output:\n{end.stdout}\nstandard error:\n{end.stderr}"
            cause = shortened(outcome.cause, _SHOWN_CAUSE)
            output = shortened(streams, _SHOWN_OUTPUT)
        began = datetime.now(UTC) - timedelta(seconds=end.duration_s)
        done = Done(
            identity=work.identity,
            cause=cause,
            output=output,
            started=began.isoformat(timespec="milliseconds"),
            duration_s=end.duration_s,
            resolved=outcome.resolved,
            metrics=outcome.metrics,
            place=place,
        )
        yield work, done, folder


def _task(work: Work) -> Task[Work]:
    engine = load_engine(work.cell.engine)
    what = work.cell, work.binary.path, work.limits
    serving = engine if work.limits.serve and isinstance(engine, Serving) else None
    return Task(
        work,
        engine.command(*what),
        work.limits.time_s,
        bound=not alone(work.cell),
        files=engine.inputs(*what),
        request=serving.request(*what) if serving else None,
    )


def alone(cell: Cell) -> bool:
    """Tell whether a cell needs the host's CPUs for itself: its engine is the host."""
    return load_engine(cell.engine).capabilities().host_machines is not None


@cache
def this_host() -> Place:
    """Return where this process runs. A node of a batch system has the name that the system gave
    it."""
    host = os.environ.get("SLURMD_NODENAME") or platform.node()
    text = ""
    with suppress(OSError):
        text = _CPUINFO.read_text(encoding="utf-8", errors="replace")
    # The processor's name for people, where the kernel has one.
    name = re.search(r"^(?:model name|cpu)[ \t]*:[ \t]*(.*\S)", text, flags=re.MULTILINE)
    return Place(host, name[1] if name else platform.machine())


def with_paths(cell: Cell, outcome: RunOutcome) -> RunOutcome:
    """Return the outcome of a cell, of workload footprint with the metrics of its paths; failed
    where they contradict each other."""
    if outcome.cause or cell.workload != "footprint":
        return outcome
    try:
        paths = path_metrics(outcome.phases, cell.threads)
    except BadRunError as bad:
        return RunOutcome(str(bad))
    return replace(outcome, metrics=outcome.metrics | paths)


def path_metrics(phases: Sequence[PhaseCounts], threads: int) -> Metrics:
    """Return `path_<object>_<path>_<count>`, and `path_<object>_<path>_fences_<kind>` for kinds
    that occur: the operations of each uncontended path through a lock (workload footprint).

    Raises BadRunError when a path is not the same each time.
    """
    totals = [mark.counts for mark in sorted(phases, key=lambda mark: mark.phase)]
    turn = threads * _PHASES + 1  # the last phase of a turn has the end of its loop too
    if (
        not totals
        or len(totals) % turn
        or any(total.keys() != totals[0].keys() for total in totals)
    ):
        raise BadRunError(f"engine output: {len(totals)} phases, not a multiple of {turn}")
    steps = [{name: now[name] - before[name] for name in now} for before, now in pairwise(totals)]
    metrics: Metrics = {}
    for first in range(0, len(totals), turn):
        base = steps[first]
        for place, (item, path) in enumerate(
            (item, path) for item in _OBJECTS[:threads] for path in ("", *PATHS)
        ):
            counts = steps[first + place]
            for name in counts if path else ():
                key, value = f"path_{item}_{path}_{name}", counts[name] - base[name]
                unit = "instructions" if name == "instructions" else "count"
                if metrics.setdefault(key, (value, unit))[0] != value:
                    raise BadRunError(f"{key}: {metrics[key][0]:g} the first time, then {value}")
    return {key: value for key, value in metrics.items() if "_fences_" not in key or value[0]}
