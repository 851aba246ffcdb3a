"""One cell to be run and what came of it, the same on this machine and on a node of a cluster."""

import os
import platform
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from results.model.cell import Cell
from results.store.records import Place
from sweeps.engines import load_engine
from sweeps.engines.base import Limits, ProcessResult, RunOutcome, Serving
from sweeps.execution.derived import with_derived
from sweeps.execution.kept import check_room
from sweeps.execution.processes import Processes, Task
from sweeps.programs.builder import Binary
from sweeps.support.text import shortened

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
        yield work, _done(work, end, outcome, place), folder


def _task(work: Work) -> Task[Work]:
    engine = load_engine(work.cell.engine)
    what = work.cell, work.binary.path, work.limits
    request = None
    if work.limits.serve and isinstance(engine, Serving):
        request = engine.request(*what)
    return Task(
        work,
        engine.command(*what),
        work.limits.time_s,
        bound=not alone(work.cell),
        files=engine.inputs(*what),
        request=request,
    )


def _done(work: Work, end: ProcessResult, outcome: RunOutcome, place: Place) -> Done:
    started = datetime.fromtimestamp(datetime.now(UTC).timestamp() - end.duration_s, UTC)
    said = f"standard output:\n{end.stdout}\nstandard error:\n{end.stderr}"
    return Done(
        identity=work.identity,
        outcome=outcome,
        said=shortened(said, _SHOWN_OUTPUT) if outcome.cause else "",
        started=started.isoformat(timespec="milliseconds"),
        duration_s=end.duration_s,
        place=place,
    )


def alone(cell: Cell) -> bool:
    """Whether a cell needs the host's CPUs for itself: its engine is the host."""
    return load_engine(cell.engine).capabilities().host_machines is not None


@cache
def this_host() -> Place:
    """Where this process runs. A node of a batch system has the name that the system gave it."""
    host = os.environ.get("SLURMD_NODENAME") or platform.node()
    return Place(host, _processor())


def _processor() -> str:
    """The processor's name for people, where the kernel has one."""
    try:
        lines = _CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.machine()
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() in ("model name", "cpu"):
            return value.strip()
    return platform.machine()
