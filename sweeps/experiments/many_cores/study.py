"""Runs a study of many cores. Everything it finds is in the database; it continues where it was
stopped, and a second run has nothing to do."""

import itertools
from collections.abc import Sequence

from results.analysis import many_cores
from results.analysis.crossover import Point
from results.model.cell import Cell
from results.store.records import CrossoverRecord
from results.store.store import Store
from sweeps.execution.runner import Runner
from sweeps.experiments.crossover.cells import FIRST_SEED
from sweeps.experiments.crossover.searches import CrossoverTask, points, records, search_all
from sweeps.experiments.facts import store_isas, store_machines
from sweeps.experiments.many_cores.cells import ManyCoresCells
from sweeps.experiments.many_cores.plan import ManyCoresPlan, shape

PLAN = "many_cores"


class ManyCoresStudy:
    """Runs a plan and stores the results."""

    def __init__(self, plan: ManyCoresPlan, store: Store, runner: Runner) -> None:
        self._plan = plan
        self._store = store
        self._runner = runner
        self._cells = ManyCoresCells(plan)

    def known_cells(self) -> list[Cell]:
        """Every cell that can be named before anything has been run."""
        cells = self._cells
        searched = [
            line.cell(lock, x, FIRST_SEED)
            for line in cells.lines()
            for x in line.values
            for lock in self._plan.locks
        ]
        return [
            *cells.contended_cells(), *cells.owned_cells(), *cells.cancelling_cells(), *searched
        ]  # fmt: skip

    def run(self) -> None:
        """Runs everything and stores series, crossovers and facts.

        Raises LockcrossError (exit code 1) when a run of the study fails.
        """
        self._runner.require(self.known_cells(), PLAN)
        seeds = range(FIRST_SEED + 1, FIRST_SEED + self._plan.seeds)
        by_series: dict[str, list[CrossoverRecord]] = {
            line.series: [] for line in self._cells.lines()
        }
        for one in search_all(self._evaluate, self._tasks(), seeds):
            by_series[one.task.line.series] += records(one, self._plan.engine)
        for series, kept in by_series.items():
            self._store.set_crossovers(kept, f"{PLAN}/{series}")
        for series, cells in (
            (many_cores.CORES, self._cells.contended_cells()),
            (many_cores.DISTANCE, self._cells.owned_cells()),
            (many_cores.CANCELLATION, self._cells.cancelling_cells()),
        ):
            self._store.set_series(series, [run.id for run in self._runner.require(cells, PLAN)])
        store_machines(self._store, self._plan.machines)
        store_isas(self._store)
        meshes = {"meshes": self._meshes()}
        self._store.set_fact(many_cores.FACT, self._plan.model_dump() | meshes)

    def _meshes(self) -> dict[str, tuple[int, int]]:
        placing = [one for one in (self._plan.distance, self._plan.cancellation) if one]
        return {one.machine: shape(one.machine) for one in placing}

    def _tasks(self) -> list[CrossoverTask]:
        return [
            CrossoverTask(line, a, b, line.values)
            for line in self._cells.lines()
            for a, b in itertools.combinations(self._plan.locks, 2)
        ]

    def _evaluate(self, cells: Sequence[Cell]) -> list[Point]:
        return points(self._runner, cells, PLAN)
