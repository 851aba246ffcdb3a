"""Runs the cells that are not stored yet, and says before how long that will take, estimated from
stored runs of similar cells."""

import os
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from results.errors import LockcrossError
from results.paths import ROOT
from results.store.records import MachineRecord, StoredRun
from results.store.store import Store
from sweeps.engines import load_engine, refusal
from sweeps.engines.base import Limits
from sweeps.model.cell import Cell
from sweeps.model.cells import arguments, command, digest, invalid_reason, unsupported_reason
from sweeps.model.machine import is_own, load_machine
from sweeps.programs import Binary, Builder
from sweeps.run.pool import LocalPool, Pool
from sweeps.run.work import CellRecord, Done, Work, alone
from sweeps.support.revision import source_revision
from sweeps.support.text import shortened

if TYPE_CHECKING:
    from rich.progress import Progress

GUESS_S = 0.15  # where no similar cell is stored: a small program, start of QEMU included
_Kind = tuple[str, str, str, int]


class Durations:
    """Mean seconds of a run by engine, workload, ISA and number of threads."""

    def __init__(self, store: Store) -> None:
        rows = store.connection.execute(
            "SELECT engine, workload, isa, threads, avg(duration_s) FROM runs "
            "WHERE status = 'ok' GROUP BY engine, workload, isa, threads"
        )
        self._known: dict[_Kind, float] = {(row[0], row[1], row[2], row[3]): row[4] for row in rows}

    def of(self, cell: Cell) -> float | None:
        """Seconds of a cell, or None where no similar one is stored."""
        return self._known.get(kind(cell))


def kind(cell: Cell) -> _Kind:
    """What cells of about equal length have in common."""
    return cell.engine, cell.workload, cell.isa, cell.threads


_SHOWN_CAUSE = 2000  # characters of a failed run's cause that are stored


@dataclass(frozen=True)
class Prepared:
    """A cell with everything that makes up its identity. `refusal`: why it will not be run."""

    cell: Cell
    identity: str
    engine_version: str  # with everything that is stored with the run
    binary: Binary | None
    refusal: str


@dataclass(frozen=True)
class Known:
    """How many of some cells are stored already. `missing` are those a run would run."""

    cells: int
    distinct: int
    stored: int
    failed: int
    refused: int
    missing: list[Prepared]


class Runner:
    """Runs cells in a pool. Only this process writes the store.

    `jobs` processes at a time (0: one a CPU); `progress` shows a bar, if given; `collect` is called
    with the folder of each valid run before that is removed. `pool` runs the cells elsewhere, but
    not those whose engine is this host. Must be used from the main thread: the processes it starts
    are killed when the thread that started them ends.
    """

    def __init__(
        self,
        store: Store,
        jobs: int = 0,
        progress: "Progress | None" = None,
        limits: Limits | None = None,
        retry_failed: bool = False,
        keep: bool = False,
        collect: Callable[[Path], None] | None = None,
        pool: Pool | None = None,
    ) -> None:
        self._store = store
        self._jobs = jobs or len(os.sched_getaffinity(0))
        self._progress = progress
        self._limits = limits or Limits()
        self._retry_failed = retry_failed
        self._keep = keep
        self._here = LocalPool(self._jobs, collect)
        self._alone = LocalPool(1, collect)
        self._pool = pool or self._here
        self._builder: Builder | None = None
        self._kept: set[str] = set()  # machines that were looked at

    def run(self, cells: Sequence[Cell], plan: str) -> list[StoredRun]:
        """Runs what is missing and returns the stored run of every cell, in the order of `cells`.

        A run that fails is stored with its cause, and the others go on. Raises LockcrossError when
        nothing can be run at all: a missing engine or compiler, a cell with values unknown to it.
        """
        prepared = self.prepare(cells)
        # No file of the tree says what users' own machines are.
        for name in {cell.machine for cell in cells} - self._kept:
            self._kept.add(name)
            if is_own(name):
                self._store.set_machine(record_of(name))
        missing = self._missing(prepared)
        refused = [item for item in missing if item.refusal]
        self._store.add_runs([self._record(item, None) for item in refused], plan)
        to_run = [item for item in missing if not item.refusal]
        self._run_all([item for item in to_run if not alone(item.cell)], plan, plan, self._pool)
        by_itself = [item for item in to_run if alone(item.cell)]
        self._run_all(by_itself, plan, f"{plan}, one at a time", self._alone)
        stored = self._store.find([item.identity for item in prepared])
        return [stored[item.identity] for item in prepared]

    def require(self, cells: Sequence[Cell], plan: str) -> list[StoredRun]:
        """As `run`, for a job that needs every one of them.

        Raises LockcrossError (exit code 1) for the first that is not ok.
        """
        runs = self.run(cells, plan)
        for cell, run in zip(cells, runs, strict=True):
            if run.status != "ok":
                raise LockcrossError(
                    f"a required run {run.status}: {run.cause}\n  `lockcross show {run.id}` "
                    f"shows it; to repeat it: {command(cell)}\n  The other runs are stored; once "
                    "this is fixed, the same command continues from here.",
                    exit_code=1,
                )
        return runs

    def prepare(self, cells: Sequence[Cell]) -> list[Prepared]:
        """Builds the cells' programs and works out their identities. Raises as `run` does."""
        refusals, programs = [], []
        for cell in cells:
            if why := invalid_reason(cell):
                raise LockcrossError(why)
            refusals.append(unsupported_reason(cell) or refusal(cell))
            programs.append(None if refusals[-1] else load_engine(cell.engine).program(cell))
        if self._builder is None:
            self._builder = Builder()
        binaries = self._builder.build([p for p in programs if p is not None], self._jobs)
        prepared = []
        for cell, program, why in zip(cells, programs, refusals, strict=True):
            if program is None:  # never run, so there is nothing more that could change the answer
                identity = digest(["refused", why, vars(cell)])
                prepared.append(Prepared(cell, identity, "", None, why))
                continue
            engine, binary = load_engine(cell.engine), binaries[program]
            identity = digest(
                {
                    "engine": [cell.engine, engine.version(cell.isa)],
                    "options": engine.options(cell),
                    "arguments": arguments(cell),
                    "binary": binary.digest,
                }
            )
            prepared.append(Prepared(cell, identity, engine.provenance(cell.isa), binary, ""))
        return prepared

    def look_up(self, cells: Sequence[Cell]) -> Known:
        """What a run of these cells would find and what it would have to do."""
        prepared = self.prepare(cells)
        distinct = _distinct(prepared)
        stored = self._store.find(distinct)
        return Known(
            cells=len(cells),
            distinct=len(distinct),
            stored=len(stored),
            failed=sum(run.status == "failed" for run in stored.values()),
            refused=sum(bool(item.refusal) for item in distinct.values()),
            missing=self._missing(prepared),
        )

    def _missing(self, prepared: Sequence[Prepared]) -> list[Prepared]:
        """Those to be run, each identity once."""
        distinct = _distinct(prepared)
        known = {
            identity
            for identity, run in self._store.find(distinct).items()
            if not (run.status == "failed" and self._retry_failed)
        }
        return [item for identity, item in distinct.items() if identity not in known]

    def _run_all(self, items: Sequence[Prepared], plan: str, title: str, pool: Pool) -> None:
        if not items:
            return
        bar = self._progress.add_task(title, total=len(items)) if self._progress else None
        by_identity = {item.identity: item for item in items}
        with closing(pool.run(self._works(items))) as chunks:
            for chunk in chunks:
                records = [self._record(by_identity[done.identity], done) for done in chunk]
                if records:
                    self._store.add_runs(records, plan)
                if self._progress and bar is not None:
                    self._progress.update(bar, state=pool.state())
                    if records:
                        self._progress.advance(bar, len(records))

    def _works(self, items: Sequence[Prepared]) -> list[Work]:
        """Cells of one program one after another, for whoever loads a program once."""
        durations = Durations(self._store)
        works: dict[Path, list[Work]] = {}
        for item in items:
            assert item.binary is not None  # refused cells are not run
            time_s = self._limits.time_s or load_engine(item.cell.engine).time_limit_s
            work = Work(
                cell=item.cell,
                identity=item.identity,
                engine_version=item.engine_version,
                binary=item.binary,
                limits=replace(self._limits, time_s=time_s),
                expected_s=durations.of(item.cell),
                keep=self._keep,
            )
            works.setdefault(item.binary.path, []).append(work)
        return list(chain.from_iterable(works.values()))

    def _record(self, item: Prepared, done: Done | None) -> CellRecord:
        """A run as it is stored; without `done`, one that was refused."""
        cell, cause = item.cell, done.outcome.cause if done else item.refusal
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        return CellRecord(
            **vars(cell),
            identity=item.identity,
            engine_version=item.engine_version,
            status="refused" if done is None else "failed" if cause else "ok",
            cause=shortened(cause, _SHOWN_CAUSE),
            output=done.kept + done.said if done else "",
            command=command(cell),
            started=done.started if done else now,
            duration_s=done.duration_s if done else 0.0,
            attempts=1 if done else 0,
            binary_digest=item.binary.digest if item.binary else "",
            source_revision=source_revision(ROOT),
            compiler=item.binary.compiler if item.binary else "",
            resolved=done.outcome.resolved if done else {},
            metrics=done.outcome.metrics if done else {},
            place=done.place if done else None,
        )


def record_of(machine: str) -> MachineRecord:
    """A machine as it is described now."""
    known = load_machine(machine)
    return MachineRecord(machine, known.title, known.model_dump(mode="json", exclude_none=True))


def _distinct(prepared: Sequence[Prepared]) -> dict[str, Prepared]:
    """Each identity once. Two variants of a lock may be one program; the run is the first's, as the
    default variant comes before the others."""
    distinct: dict[str, Prepared] = {}
    for item in prepared:
        distinct.setdefault(item.identity, item)
    return distinct


def describe(store: Store, known: Known, jobs: int) -> str:
    """Says in a few lines what a sweep has to do, and the time it takes with `jobs` processes."""
    jobs = jobs or len(os.sched_getaffinity(0))
    durations = Durations(store)
    to_run = [item.cell for item in known.missing if not item.refusal]
    likely = [(alone(cell), durations.of(cell)) for cell in to_run]
    by_itself, together = (
        sum(GUESS_S if like is None else like for single, like in likely if single is wanted)
        for wanted in (True, False)
    )
    seconds = together / jobs + by_itself
    span = f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
    lines = [
        f"{known.cells} cells, {known.distinct} distinct: {known.stored} known "
        f"({known.failed} of them failed), {known.refused} refused, {len(to_run)} to run",
        f"estimated time: {f'{seconds:.0f} s' if seconds < 90 else span} with {jobs} at a time"
        + (", on the host one at a time" if by_itself else ""),
    ]
    if guessed := sum(like is None for _, like in likely):
        lines.append(
            f"  {GUESS_S} s each are assumed for {guessed} of them: no run of their engine, "
            "workload, ISA and number of threads is stored"
        )
    return "\n".join(lines)
