"""The main job: `lockcross crossover`. Everything it finds is in the database; it continues
where it was stopped, and a second run has nothing to do."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from results.analysis.crossover import Crossover, Point, Search, find_all, search
from results.analysis.winners import neighbours
from results.errors import LockcrossError
from results.model.cell import Cell
from results.model.label import FULL, LockLabel
from results.store.records import (
    CrossoverRecord,
    CrossoverRun,
    StoredRun,
)
from results.store.store import Store
from sweeps.execution.runner import Runner
from sweeps.experiments.calibrate import Setting, calibrate
from sweeps.experiments.crossover.cells import AxisLine, StudyCells, isa_of
from sweeps.experiments.crossover.plan import StudyPlan
from sweeps.experiments.facts import store_isas, store_machines
from sweeps.model.locks import cancels

PLAN = "crossover"
_RUNS_A_SEARCH = 4  # typical: one window around the interpolated crossing, both locks


@dataclass(frozen=True)
class CrossoverTask:
    """One search: a pair of locks along a line, from the coarse values it starts with."""

    line: AxisLine
    lock_a: str
    lock_b: str
    coarse: tuple[int, ...]

    def search(self) -> Search:
        """The search itself, in steps of the line's unit."""
        step = self.line.step
        return search(
            self.lock_a, self.lock_b, [x // step for x in self.coarse], self.line.tolerance // step
        )


class Study:
    """Runs a plan for some flavours and stores the results."""

    def __init__(self, plan: StudyPlan, flavours: list[str], store: Store, runner: Runner) -> None:
        self._plan = plan
        self._flavours = flavours
        self._store = store
        self._runner = runner
        self._cells = StudyCells(plan)
        self._tables = self._cells.table_machines(flavours)

    def known_cells(self) -> list[Cell]:
        """Every cell that can be named before anything has been run."""
        cells = [s.cell(*loop) for s in self._calibrations() for loop in s.loops()]
        for flavour in self._flavours:
            # The longest first: the shorter ones then fill the gaps at the end.
            cells += self._cells.run_length_cells(flavour)[::-1]
            cells += self._cells.map_cells(flavour).values()
            for line in self._axis_lines(flavour):
                cells += [line.cell(lock, x) for x in line.values for lock in self._plan.locks]
        for machine, flavour in self._tables:
            cells += self._cells.table_cells(machine, flavour)
        return cells + self._cells.rounds_cells()

    def estimated_searches(self) -> int:
        """About how many runs the searches will ask for."""
        plan = self._plan
        pairs = len(plan.locks) * (len(plan.locks) - 1) // 2
        lines = len(plan.map.cas) + len(plan.map.fence_latency)
        lengths = len(plan.run_length.cancel) if plan.run_length else 0
        tasks = lines + pairs * (2 + len(plan.axes)) + 2 * lengths
        return len(self._flavours) * tasks * _RUNS_A_SEARCH

    def run(self) -> None:
        """Runs everything and stores series, calibrations, crossovers and facts.

        Raises LockcrossError (exit code 1) when a run of the job fails.
        """
        self._runner.require(self.known_cells(), PLAN)
        calibrate(self._runner, self._store, self._calibrations())
        tasks: list[CrossoverTask] = []
        for flavour in self._flavours:
            tasks += self._map_tasks(flavour)
            for line in self._axis_lines(flavour):
                tasks += self._pair_tasks(line)
            for cancel in self._plan.run_length.cancel if self._plan.run_length else []:
                line = self._cells.run_length_line(flavour, cancel)
                tasks += [
                    task
                    for task in self._pair_tasks(line)
                    if cancels(task.lock_a) or cancels(task.lock_b)
                ]
        searches = {number: task.search() for number, task in enumerate(tasks)}

        def evaluate(wanted: Sequence[tuple[int, str, int]]) -> list[Point]:
            lines = [(tasks[number].line, lock, x) for number, lock, x in wanted]
            return self._evaluate(line.cell(lock, x * line.step) for line, lock, x in lines)

        found = find_all(evaluate, searches)
        if not _is_plan(self._store.fact("plan"), self._plan):
            self._store.forget_series()  # another plan's must not be drawn with this one's
        self._store_crossovers([(tasks[number], found[number]) for number in searches])
        self._store_series()
        self._store_facts()

    def _calibrations(self) -> list[Setting]:
        given = self._plan.calibration
        settings = [
            Setting(
                self._plan.machine, isa_of(flavour), flavour, latency, latency, self._plan.engine
            )
            for flavour in self._flavours
            for latency in given.latencies
        ]
        settings += [
            Setting(machine, isa_of(flavour), flavour, None, None, self._plan.engine)
            for machine, flavour in self._tables
        ]
        return settings

    def _axis_lines(self, flavour: str) -> list[AxisLine]:
        grid = self._plan.map
        return [
            self._cells.latency_line(flavour, "cas", None, grid.cas),
            self._cells.latency_line(flavour, "fence_latency", None, grid.fence_latency),
            *(self._cells.axis_line(flavour, name, axis) for name, axis in self._plan.axes.items()),
        ]

    def _pair_tasks(self, line: AxisLine) -> list[CrossoverTask]:
        return [
            CrossoverTask(line, a, b, line.values)
            for a, b in itertools.combinations(self._plan.locks, 2)
        ]

    def _map_tasks(self, flavour: str) -> list[CrossoverTask]:
        """Between neighbours on the grid that different locks win: with full fences alone, and
        with every fence kind in the contest."""
        cells = self._cells.map_cells(flavour)
        costs: dict[tuple[int, int], dict[LockLabel, float]] = {}
        for (label, cas, fence), point in zip(cells, self._evaluate(cells.values()), strict=True):
            costs.setdefault((cas, fence), {})[label] = float(point.cost)
        full = {
            place: {label: cost for label, cost in found.items() if label.fence == FULL}
            for place, found in costs.items()
        }
        tasks = {}
        for first, second, here, there in [*neighbours(full), *neighbours(costs)]:
            axis, low, high, other = (
                ("cas", here[0], there[0], here[1])
                if here[1] == there[1]
                else ("fence_latency", here[1], there[1], here[0])
            )
            line = self._cells.latency_line(flavour, axis, other, [low, high])
            lock_a, lock_b = sorted((first, second))
            tasks[flavour, axis, low, other, lock_a, lock_b] = CrossoverTask(
                line, lock_a, lock_b, (low, high)
            )
        return list(tasks.values())

    def _evaluate(self, cells: Iterable[Cell]) -> list[Point]:
        """Cost in core cycles per pair, exactly, of each cell."""
        wanted = list(cells)
        return [
            self._point(cell, run)
            for cell, run in zip(wanted, self._runner.require(wanted, PLAN), strict=True)
        ]

    def _point(self, cell: Cell, run: StoredRun) -> Point:
        if run.metrics.get("charges_stop", 0) > 0 and not cancels(cell.label):
            raise LockcrossError(
                f"lock {cell.lock} stops threads: give it TRAIT_CANCELS in lockimpl/locks.def"
            )
        cycles, pairs = int(run.metrics["core_cycles"]), int(run.metrics["pairs"])
        return Point(Fraction(cycles, pairs), run.id)

    def _store_crossovers(self, found: Sequence[tuple[CrossoverTask, Crossover]]) -> None:
        by_series: dict[str, list[CrossoverRecord]] = {}
        for flavour in self._flavours:
            for series in ("map", "run_length"):
                by_series[series_name(series, flavour)] = []
        for task, crossover in found:
            name = series_name(task.line.series, task.line.flavour)
            by_series.setdefault(name, []).extend(self._records(task, crossover))
        for name, records in by_series.items():
            self._store.set_crossovers(records, name)

    def _records(self, task: CrossoverTask, found: Crossover) -> list[CrossoverRecord]:
        line, step = task.line, task.line.step
        runs = tuple(
            CrossoverRun(point.run_id, lock, x * step, float(point.cost))
            for (lock, x), point in found.points.items()
        )
        always = {"a_always": found.lock_a, "b_always": found.lock_b}.get(found.verdict, "")
        ends: list[tuple[str, float | None, int | None, int | None]] = [
            (c.below, float(c.value * step), c.low * step, c.high * step) for c in found.crossings
        ] or [(always, None, None, None)]
        return [
            CrossoverRecord(
                machine=self._plan.machine, isa=isa_of(line.flavour), flavour=line.flavour,
                engine=self._plan.engine, workload="lock_sequence", setting=line.setting,
                unit=line.unit, lock_a=found.lock_a, lock_b=found.lock_b, low=min(task.coarse),
                high=max(task.coarse), tolerance=line.tolerance, axis=line.axis,
                verdict=found.verdict, below=below, value=value, bracket_low=low,
                bracket_high=high, runs=runs,
            )
            for below, value, low, high in ends
        ]  # fmt: skip

    def _store_series(self) -> None:
        """Which runs the figures and the tables are drawn from. All are stored already."""
        series: dict[str, list[Cell]] = {}
        if rounds := self._plan.rounds:
            series[f"rounds/{rounds.machine}/{rounds.flavour}"] = self._cells.rounds_cells()
        for flavour in self._flavours:
            series[series_name("map", flavour)] = list(self._cells.map_cells(flavour).values())
            series[series_name("run_length", flavour)] = self._cells.run_length_cells(flavour)
        for machine, flavour in self._tables:
            name = f"table/{machine}/{isa_of(flavour)}/{flavour}"
            series[name] = self._cells.table_cells(machine, flavour)
        for name, cells in series.items():
            self._store.set_series(name, [run.id for run in self._runner.require(cells, PLAN)])

    def _store_facts(self) -> None:
        machines = {machine for machine, _ in self._tables}
        if self._plan.rounds:
            machines.add(self._plan.rounds.machine)
        store_machines(self._store, machines)
        self._store.set_fact("plan", self._plan.model_dump())
        store_isas(self._store)


def _is_plan(stored: Mapping[str, Any] | None, plan: StudyPlan) -> bool:
    """Whether a stored plan, if there is one, is this. Older ones name the locks that cancel."""
    return stored is None or {**stored, "cancelling": None} == {
        **plan.model_dump(), "cancelling": None,
    }  # fmt: skip


def series_name(kind: str, flavour: str) -> str:
    """The name of a series of the study's own machine."""
    return f"{kind}/{isa_of(flavour)}/{flavour}"
