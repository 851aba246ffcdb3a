"""Runs the cells that are not stored yet, and says before how long that will take, estimated from
stored runs of similar cells."""

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from results.errors import LockcrossError
from results.paths import ROOT
from results.store.records import MachineRecord, StoredRun
from results.store.store import Store
from sweeps.engines.base import Limits, load_engine, refusal
from sweeps.model.cell import (
    Cell,
    arguments,
    command,
    digest,
    distinguishing,
    invalid_reason,
    unsupported_reason,
)
from sweeps.model.machine import is_own, load_machine
from sweeps.programs import Binary, Builder
from sweeps.run.costs import GUESS_S, Costs, RemainingTime, drawn
from sweeps.run.system import keep_system
from sweeps.run.work import CellRecord, Done, LocalPool, Pool, Work, alone, not_run
from sweeps.support.tools import source_revision

if TYPE_CHECKING:
    from rich.progress import Progress

_NO_BINARY = Binary(Path(), "", "")
# Seconds between two estimates of the time left, and the share of the time that they may take.
_ESTIMATE_S, _ESTIMATES = 1.0, 0.05
_LONG_S = 30.0  # a job that is said to be long before it begins


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
        self.progress = progress
        self._limits = limits or Limits()
        self._retry_failed = retry_failed
        self._keep = keep
        self._alone = LocalPool(1, collect)
        self._pool = pool or LocalPool(self._jobs, collect)
        self._builder: Builder | None = None
        self._kept: set[str] = set()  # machines that were looked at
        self._costs: Costs | None = None
        self._foretold = False

    def run(self, cells: Sequence[Cell], plan: str) -> list[StoredRun]:
        """Run the missing cells and return the stored run of every cell, in the order of `cells`.

        A run that fails is stored with its cause, and the others go on. Raises LockcrossError when
        nothing can be run at all: a missing engine or compiler, a cell with values unknown to it.
        """
        works = self.prepare(cells)
        # No file of the tree says what users' own machines are.
        for name in {cell.machine for cell in cells} - self._kept:
            self._kept.add(name)
            if is_own(name):
                self._store.set_machine(record_of(name))
        missing = self._missing(works)
        refused = [work for work in missing if work.refusal]
        self._store.add_runs([_record(work, not_run(work, work.refusal)) for work in refused], plan)
        for by_itself, title, pool in (
            (False, plan, self._pool),
            (True, f"{plan}, one at a time", self._alone),
        ):
            to_run = [w for w in missing if not w.refusal and alone(w.cell) == by_itself]
            if to_run:
                self._run_all(to_run, plan, title, pool)
        stored = self._store.find([work.identity for work in works])
        return [stored[work.identity] for work in works]

    def require(self, cells: Sequence[Cell], plan: str) -> list[StoredRun]:
        """Do as `run`, for a job that needs every one of them.

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

    def prepare(self, cells: Sequence[Cell]) -> list[Work]:
        """Build the cells' programs and works out their identities. Raises as `run` does."""
        refusals = []
        for cell in cells:
            if why := invalid_reason(cell):
                raise LockcrossError(why)
            refusals.append(unsupported_reason(cell) or refusal(cell))
        programs = [
            None if why else load_engine(cell.engine).program(cell)
            for cell, why in zip(cells, refusals, strict=True)
        ]
        self._builder = self._builder or Builder()
        binaries = self._builder.build(filter(None, programs), self._jobs)
        works = []
        for cell, program, why in zip(cells, programs, refusals, strict=True):
            if program is None:  # never run, so there is nothing more that could change the answer
                identity = digest(["refused", why, distinguishing(cell)])
                works.append(Work(cell, identity, "", _NO_BINARY, self._limits, refusal=why))
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
            limits = replace(self._limits, time_s=self._limits.time_s or engine.time_limit_s)
            version = engine.provenance(cell.isa)
            works.append(Work(cell, identity, version, binary, limits, keep=self._keep))
        return works

    def missing(self, cells: Sequence[Cell]) -> list[Work]:
        """Return the cells that a run of these would run, or refuse. Raises as `run` does."""
        return self._missing(self.prepare(cells))

    def describe(self, cells: Sequence[Cell], jobs: int) -> str:
        """Describe in a few lines the work of a run of these cells, and the time that it takes with
        `jobs` processes (0: one a CPU). Raises as `run` does."""
        jobs = jobs or len(os.sched_getaffinity(0))
        works = self.prepare(cells)
        distinct = _distinct(works)
        stored = self._store.find(distinct)
        to_run = [work.cell for work in self._missing(works) if not work.refusal]
        costs = self._known_costs()
        # Seconds of the cells that run side by side, and of those that run by themselves.
        together, by_itself = (
            sum(costs.seconds(cell) for cell in to_run if alone(cell) == single)
            for single in (False, True)
        )
        seconds = together / jobs + by_itself
        failed = sum(run.status == "failed" for run in stored.values())
        lines = [
            f"{len(cells)} cells, {len(distinct)} distinct: {len(stored)} known "
            f"({failed} of them failed), {sum(bool(work.refusal) for work in distinct.values())} "
            f"refused, {len(to_run)} to run",
            f"estimated time: {_span(seconds)} with {jobs} at a time"
            + (", on the host one at a time" if by_itself else ""),
        ]
        if guessed := sum(not costs.knows(cell) for cell in to_run):
            lines.append(
                f"  {GUESS_S} s each are assumed for {guessed} of them: no run of their engine, "
                "workload, ISA and number of threads is stored"
            )
        return "\n".join(lines)

    def foretell(self, cells: Sequence[Cell], more: bool = False) -> None:
        """Say of a long job's cells how many are missing and how long they take, once. `more`:
        further ones follow from them. Raises as `run` does."""
        to_run = [work.cell for work in self.missing(cells) if not work.refusal]
        if self.progress:
            self.progress.update(self.progress.tasks[0].id, total=len(to_run))
        self._foretell(to_run, len(to_run), self._pool.slots, more)

    def _foretell(self, cells: Sequence[Cell], count: int, slots: int, more: bool) -> None:
        """Say how long `count` cells like these take, if that is long."""
        if self._foretold or not cells:
            return
        self._foretold = True
        costs = self._known_costs()
        seconds = sum(map(costs.seconds, cells)) / len(cells) * count / slots
        if seconds < _LONG_S:
            return
        guess = "" if all(map(costs.knows, cells)) else ", a guess: few like them are stored"
        words = f"{'at least ' * more}{count:,} runs, about {_span(seconds)}{guess}"
        print(words, file=sys.stderr, flush=True)

    def _known_costs(self) -> Costs:
        """Return the cost of cells, by the runs that are stored or have ended here."""
        self._costs = self._costs or Costs.of(self._store)
        return self._costs

    def _missing(self, works: Sequence[Work]) -> list[Work]:
        """Return the works to be run, each identity once."""
        distinct = _distinct(works)
        stored = self._store.find(distinct)
        again = {run.identity for run in stored.values() if run.status == "failed"}
        known = stored.keys() - (again if self._retry_failed else set())
        return [work for identity, work in distinct.items() if identity not in known]

    def _run_all(self, works: Sequence[Work], plan: str, title: str, pool: Pool) -> None:
        bar = self.progress.add_task(title, total=len(works)) if self.progress else None
        if self.progress:
            # The first bar may count the batches that follow, too.
            whole, more = self.progress.tasks[0], self.progress.tasks[0].fields.get("at_least")
            count = max(int(whole.total or 0), len(works))
            self._foretell([work.cell for work in works], count, pool.slots, bool(more))
        by_identity = {work.identity: work for work in works}
        costs, system = self._known_costs(), keep_system(self._store)
        cells = {work.identity: work.cell for work in works}
        order = drawn(cells, {work.identity: str(work.binary.path) for work in works})
        ordered = [
            replace(work, expected_s=costs.seconds(work.cell) if costs.knows(work.cell) else None)
            for work in map(by_identity.__getitem__, order)
        ]
        remaining = RemainingTime(cells, pool.slots, costs)
        began = next_estimate = time.monotonic()
        with closing(pool.run(ordered)) as chunks:
            for chunk in chunks:
                for done in chunk:
                    remaining.ended(done.identity, done.duration_s)
                if chunk:
                    records = [_record(by_identity[done.identity], done, system) for done in chunk]
                    self._store.add_runs(records, plan)
                if self.progress and bar is not None:
                    self.progress.update(bar, state=pool.state())
                    if (now := time.monotonic()) >= next_estimate:
                        left_s = remaining.left_s(now - began)
                        self.progress.update(bar, left_s=left_s, of=len(remaining))
                        took = time.monotonic() - now
                        next_estimate = now + max(_ESTIMATE_S, took / _ESTIMATES)
                    if chunk:
                        self.progress.advance(bar, len(chunk))


def _record(work: Work, done: Done, system: str = "") -> CellRecord:
    """Return a run as it is stored; a refused one has no system."""
    return CellRecord(
        **vars(work.cell),
        **vars(done),
        status="refused" if work.refusal else "failed" if done.cause else "ok",
        engine_version=work.engine_version,
        command=command(work.cell),
        attempts=0 if work.refusal else 1,
        binary_digest=work.binary.digest,
        source_revision=source_revision(ROOT),
        compiler=work.binary.compiler,
        system=system,
    )


def record_of(machine: str) -> MachineRecord:
    """Return a machine as it is described now."""
    known = load_machine(machine)
    return MachineRecord(machine, known.title, known.model_dump(mode="json", exclude_none=True))


def _span(seconds: float) -> str:
    """Return a time in words."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _distinct(works: Sequence[Work]) -> Mapping[str, Work]:
    """Return each identity once. Two variants of a lock may be one program; the run is the first's,
    as the default variant comes before the others."""
    distinct: dict[str, Work] = {}
    for work in works:
        distinct.setdefault(work.identity, work)
    return distinct
