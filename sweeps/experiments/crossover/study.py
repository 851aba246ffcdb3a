"""The main job: `lockcross crossover`. Everything it finds is in the database; it continues
where it was stopped, and a second run has nothing to do."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from results.analysis.crossover import Crossing, Point
from results.analysis.study import MAP_CHECK
from results.analysis.winners import neighbours
from results.model.cell import Cell
from results.model.label import FULL
from results.store.records import CrossoverRecord
from results.store.store import Store
from sweeps.execution.runner import Runner
from sweeps.experiments.calibrate import LATENCY_OPS, Setting, calibrate
from sweeps.experiments.crossover.cells import (
    FIRST_SEED,
    AxisLine,
    StudyCells,
    isa_of,
    table_machines,
)
from sweeps.experiments.crossover.map_costs import MapCosts, measure_maps
from sweeps.experiments.crossover.plan import StudyPlan
from sweeps.experiments.crossover.searches import (
    CrossoverTask,
    Searched,
    points,
    records,
    search_all,
)
from sweeps.experiments.facts import store_isas, store_machines
from sweeps.model.locks import cancels

PLAN = "crossover"


class Study:
    """Runs a plan for some flavours and stores the results."""

    def __init__(self, plan: StudyPlan, flavours: list[str], store: Store, runner: Runner) -> None:
        self._plan = plan
        self._flavours = flavours
        self._store = store
        self._runner = runner
        self._cells = [StudyCells(plan, machine) for machine in plan.machines]
        self._tables = table_machines(plan, flavours)

    def known_cells(self) -> list[Cell]:
        """Every cell that can be named before anything has been run."""
        cells = [s.cell(*loop) for s in self._calibrations() for loop in s.loops()]
        for of, flavour in itertools.product(self._cells, self._flavours):
            # The longest first: the shorter ones then fill the gaps at the end.
            cells += of.run_length_cells(flavour)[::-1]
            one = MapCosts(of, flavour)
            cells += map(one.cell, one.first_keys())
            for line in of.axis_lines(flavour):
                cells += [
                    line.cell(lock, x, FIRST_SEED)
                    for x in line.first_values
                    for lock in self._plan.locks
                ]
        for machine, flavour in self._tables:
            cells += StudyCells(self._plan, machine).table_cells(flavour)
        return cells + self._cells[0].rounds_cells()

    def run(self) -> None:
        """Runs everything and stores series, calibrations, crossovers and facts.

        Raises LockcrossError (exit code 1) when a run of the job fails.
        """
        self._runner.require(self.known_cells(), PLAN)
        calibrate(self._runner, self._store, self._calibrations())
        maps = measure_maps(
            itertools.starmap(MapCosts, itertools.product(self._cells, self._flavours)),
            self._evaluate, self._plan.locks, self._plan.tie_percent / 100,
        )  # fmt: skip
        tasks = [task for one in maps for task in self._tasks(one)]
        seeds = range(FIRST_SEED + 1, FIRST_SEED + self._plan.seeds)
        searched = search_all(self._evaluate, tasks, seeds)
        if not _is_plan(self._store.fact("plan"), self._plan):
            self._store.forget_series()  # another plan's must not be drawn with this one's
            self._store.set_fact(MAP_CHECK, {})
        self._store_crossovers(searched)
        self._store_series(maps)
        self._store_facts(maps)

    def _calibrations(self) -> list[Setting]:
        given = self._plan.calibration
        settings = [
            Setting(
                machine,
                isa_of(flavour),
                flavour,
                latency,
                latency,
                self._plan.engine,
                ops=LATENCY_OPS,
            )
            for machine in self._plan.machines
            for flavour in self._flavours
            for latency in given.latencies
        ]
        settings += [
            Setting(machine, isa_of(flavour), flavour, None, None, self._plan.engine)
            for machine, flavour in self._tables
        ]
        return settings

    def _tasks(self, one: MapCosts) -> list[CrossoverTask]:
        of, flavour = one.of, one.flavour
        tasks = self._map_tasks(one)
        for line in of.axis_lines(flavour):
            tasks += self._pair_tasks(line)
        for cancel in self._plan.run_length.cancel if self._plan.run_length else []:
            tasks += [
                task
                for task in self._pair_tasks(of.run_length_line(flavour, cancel))
                if cancels(task.lock_a) or cancels(task.lock_b)
            ]
        return tasks

    def _pair_tasks(self, line: AxisLine) -> list[CrossoverTask]:
        return [
            CrossoverTask(line, a, b, line.values)
            for a, b in itertools.combinations(self._plan.locks, 2)
        ]

    def _map_tasks(self, one: MapCosts) -> list[CrossoverTask]:
        """Between neighbours on the grid that different locks win: with full fences alone, and
        with every fence kind in the contest. Each search begins where the map has the border."""
        costs = {
            place: {label: cost for label, cost in found.items() if label.lock in self._plan.locks}
            for place, found in one.costs.items()
        }
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
            line = one.of.latency_line(one.flavour, axis, other, [low, high])
            lock_a, lock_b = sorted((first, second))
            lead, lag = (costs[place][second] - costs[place][first] for place in (here, there))
            value = low + (high - low) * Fraction(lead) / Fraction(lead - lag)
            tasks[axis, low, other, lock_a, lock_b] = CrossoverTask(
                line, lock_a, lock_b, (low, high), Crossing(value, low, high, first)
            )
        return list(tasks.values())

    def _evaluate(self, cells: Iterable[Cell]) -> list[Point]:
        return points(self._runner, list(cells), PLAN)

    def _store_crossovers(self, found: Sequence[Searched]) -> None:
        by_series: dict[str, list[CrossoverRecord]] = {
            series_name(series, machine, flavour): []
            for series in ("map", "run_length")
            for machine in self._plan.machines
            for flavour in self._flavours
        }
        for one in found:
            line = one.task.line
            name = series_name(line.series, line.machine, line.flavour)
            by_series.setdefault(name, []).extend(records(one, self._plan.engine))
        for name, kept in by_series.items():
            self._store.set_crossovers(kept, name)

    def _store_series(self, maps: Sequence[MapCosts]) -> None:
        """Which runs the figures and the tables are drawn from. All are stored already."""
        series: dict[str, list[Cell]] = {}
        if rounds := self._plan.rounds:
            series[f"rounds/{rounds.machine}/{rounds.flavour}"] = self._cells[0].rounds_cells()
        for one in maps:
            of, flavour = one.of, one.flavour
            series[series_name("map", of.machine, flavour)] = one.cells
            series[series_name("run_length", of.machine, flavour)] = of.run_length_cells(flavour)
        for machine, flavour in self._tables:
            cells = StudyCells(self._plan, machine).table_cells(flavour)
            series[series_name("table", machine, flavour)] = cells
        for name, cells in series.items():
            self._store.set_series(name, [run.id for run in self._runner.require(cells, PLAN)])

    def _store_facts(self, maps: Sequence[MapCosts]) -> None:
        machines = {machine for machine, _ in self._tables}
        if self._plan.rounds:
            machines.add(self._plan.rounds.machine)
        store_machines(self._store, machines)
        checks = {series_name("map", one.of.machine, one.flavour): one.fact() for one in maps}
        self._store.set_fact(MAP_CHECK, {**(self._store.fact(MAP_CHECK) or {}), **checks})
        self._store.set_fact("plan", self._plan.model_dump())
        store_isas(self._store)


def _is_plan(stored: Mapping[str, Any] | None, plan: StudyPlan) -> bool:
    """Whether a stored plan, if there is one, is this. Older ones name the locks that cancel."""
    return stored is None or {**stored, "cancelling": None} == {
        **plan.model_dump(), "cancelling": None,
    }  # fmt: skip


def series_name(kind: str, machine: str, flavour: str) -> str:
    """The name of a machine's series."""
    return f"{kind}/{machine}/{isa_of(flavour)}/{flavour}"
