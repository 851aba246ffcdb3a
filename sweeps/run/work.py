"""One cell to be run and what came of it, the same on this machine and on a node of a cluster."""

import os
import platform
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from itertools import pairwise
from pathlib import Path

from results.store.records import Place, RunRecord
from sweeps.engines import load_engine
from sweeps.engines.base import Limits, PhaseCounts, RunOutcome, Serving
from sweeps.engines.guest import BadRunError, Metrics
from sweeps.model.cell import Cell
from sweeps.programs import Binary
from sweeps.run.kept import check_room
from sweeps.run.processes import Processes, Task
from sweeps.support.text import shortened


@dataclass(frozen=True, kw_only=True)
class CellRecord(Cell, RunRecord):
    """One run as it is stored: a cell and what came of it."""


PATHS = ("acquire", "nested_acquire", "nested_release", "release")
_OBJECTS = ("own", "foreign")
_PHASES = len(PATHS) + 1  # of an object: nothing, then its paths


def with_derived(cell: Cell, outcome: RunOutcome) -> RunOutcome:
    """An outcome with the metrics that its workload adds; failed where they contradict each
    other."""
    derive = _DERIVED.get(cell.workload)
    if outcome.cause or derive is None:
        return outcome
    try:
        return replace(outcome, metrics=outcome.metrics | derive(outcome.phases, cell.threads))
    except BadRunError as bad:
        return RunOutcome(str(bad))


def path_metrics(phases: Sequence[PhaseCounts], threads: int) -> Metrics:
    """`path_<object>_<path>_<count>`, and `path_<object>_<path>_fences_<kind>` for kinds that
    occur: what each uncontended path through a lock consists of (workload footprint).

    Raises BadRunError when a path is not the same each time.
    """
    totals = [mark.counts for mark in sorted(phases, key=lambda mark: mark.phase)]
    turn = threads * _PHASES + 1  # the last phase of a turn has the end of its loop too
    if not totals or len(totals) % turn or any(one.keys() != totals[0].keys() for one in totals):
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


_DERIVED: dict[str, Callable[[Sequence[PhaseCounts], int], Metrics]] = {"footprint": path_metrics}


_SHOWN_OUTPUT = 4000  # characters of a failed run's output that are stored
_CPUINFO = Path("/proc/cpuinfo")


@dataclass(frozen=True)
class Work:
    """A cell with what it takes to run it. `engine_version` is the driver's; `expected_s`: how long
    it may take, where that is known, for whoever packs chunks; `keep`: its folder is kept although
    it is valid."""

    cell: Cell
    identity: str
    engine_version: str
    binary: Binary
    limits: Limits
    expected_s: float | None
    keep: bool


@dataclass(frozen=True)
class Done:
    """What came of a cell. `said`: standard output and error of a failed run, shortened. `kept`:
    where its folder is kept, in words."""

    identity: str
    outcome: RunOutcome
    said: str
    started: str
    duration_s: float
    place: Place | None
    kept: str = ""


def execute(
    works: Iterable[Work], processes: Processes[Work], place: Place
) -> Iterator[tuple[Work, Done, Path]]:
    """Runs cells and reads what they said. Yields each with its folder, which is removed when the
    next one is asked for.

    Raises OSError when the disk of the folders is full, which is no fault of a cell.
    """
    for work, end, folder in processes.run(map(_task, works)):
        cell = work.cell
        read = load_engine(cell.engine).read(cell, work.limits, end, folder)
        outcome = replace(with_derived(cell, read), phases=())
        if outcome.cause:
            check_room(processes.root)  # a cell that failed because the disk is full is not stored
        started = datetime.fromtimestamp(datetime.now(UTC).timestamp() - end.duration_s, UTC)
        said = f"standard output:\n{end.stdout}\nstandard error:\n{end.stderr}"
        done = Done(
            identity=work.identity,
            outcome=outcome,
            said=shortened(said, _SHOWN_OUTPUT) if outcome.cause else "",
            started=started.isoformat(timespec="milliseconds"),
            duration_s=end.duration_s,
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
    """Whether a cell needs the host's CPUs for itself: its engine is the host."""
    return load_engine(cell.engine).capabilities().host_machines is not None


@cache
def this_host() -> Place:
    """Where this process runs. A node of a batch system has the name that the system gave it."""
    host = os.environ.get("SLURMD_NODENAME") or platform.node()
    text = ""
    with suppress(OSError):
        text = _CPUINFO.read_text(encoding="utf-8", errors="replace")
    # The processor's name for people, where the kernel has one.
    name = re.search(r"^(?:model name|cpu)[ \t]*:[ \t]*(.*\S)", text, flags=re.MULTILINE)
    return Place(host, name[1] if name else platform.machine())
