"""Runs a study of many cores. Everything it finds is in the database; it continues where it was
stopped, and a second run has nothing to do."""

import itertools
from collections.abc import Sequence
from functools import partial

from results.store.records import CrossoverRecord
from results.store.store import Store
from sweeps.model.cell import Cell
from sweeps.model.workloads import with_defaults
from sweeps.questions.many_cores import answer
from sweeps.questions.many_cores.plan import (
    CONTENDED,
    ManyCoresPlan,
    load_many_cores,
    network,
    nodes_at,
    placed,
    room,
    shape,
)
from sweeps.run.runner import Runner
from sweeps.search.crossing import Point
from sweeps.search.facts import store_isas, store_machines
from sweeps.search.lines import FIRST_SEED, AxisLine, isa_of
from sweeps.search.searches import CrossoverTask, points, records, search_all

load = load_many_cores  # as of every question that has studies


class ManyCoresCells:
    """Makes the cells of a plan."""

    def __init__(self, plan: ManyCoresPlan) -> None:
        self.plan = plan
        self.seeds = range(FIRST_SEED, FIRST_SEED + plan.seeds)

    def contended(self, lock: str, cores: int, seed: int) -> Cell:
        """So many cores that contend for one lock: each its part of the pairs, rounded up."""
        given = self.plan.cores
        machine = next(one for one in given.machines if room(one) >= cores)
        parameters = {**given.parameters, "iterations": -(-given.pairs // cores)}
        return self._cell(lock, machine, CONTENDED, cores, parameters, seed)

    def owned(self, lock: str, links: int, share: int, seed: int) -> Cell:
        """An owner, and a contender so many links away."""
        given = self.plan.distance
        assert given is not None
        (node,) = nodes_at(given.machine, [links])
        parameters = {**given.parameters, "owner_share": share}
        return self._cell(lock, given.machine, "lock_sequence", 2, parameters, seed, node)

    def contended_cells(self) -> list[Cell]:
        """Of the curves, the largest first: the smaller ones then fill the gaps at the end."""
        return [
            self.contended(lock, cores, seed)
            for cores in self.plan.cores.values[::-1]
            for seed in self.seeds
            for lock in self.plan.locks
        ]

    def owned_cells(self) -> list[Cell]:
        """Each distance and share; none where the plan has no distances."""
        given = self.plan.distance
        return [] if given is None else [
            self.owned(lock, links, share, seed)
            for links in given.links
            for share in given.shares
            for seed in self.seeds
            for lock in self.plan.locks
        ]  # fmt: skip

    def cancelling_cells(self) -> list[Cell]:
        """A contender at each node but the owner's; of one seed, as maps are."""
        given = self.plan.cancellation
        return [] if given is None else [
            self._cell(
                given.lock, given.machine, "transition", 2, given.parameters, FIRST_SEED,
                node, given.cancel,
            )
            for node in range(1, network(given.machine).nodes)
        ]  # fmt: skip

    def lines(self) -> list[AxisLine]:
        """Every axis along which costs may cross."""
        return [self._cores_line(), *self._distance_lines()]

    def _cores_line(self) -> AxisLine:
        given = self.plan.cores
        values = given.values
        return AxisLine(
            "cores", given.machines[0], "threads", "cores", self.plan.flavour, tuple(values),
            given.tolerance, 1, (values[0], values[-1]),
            {**given.parameters, "pairs": given.pairs}, self.contended, CONTENDED,
        )  # fmt: skip

    def _distance_lines(self) -> list[AxisLine]:
        given = self.plan.distance
        if given is None:
            return []
        fixed: dict[str, int | str] = {**given.parameters, "threads": 2}
        along = [
            AxisLine(
                f"distance/{share}", given.machine, "distance", "links", self.plan.flavour,
                tuple(given.links), given.tolerance, 1, (given.links[0], given.links[-1]),
                {**fixed, "owner_share": share},
                partial(self._at_distance, share),
            )
            for share in given.shares
        ]  # fmt: skip
        return along + [
            AxisLine(
                f"owner_share/{links}", given.machine, "owner_share", "ppm", self.plan.flavour,
                tuple(given.owner_share), given.step, given.step,
                (given.owner_share[0], given.owner_share[-1]), {**fixed, "links": links},
                partial(self._at_share, links),
            )
            for links in (given.links[0], given.links[-1])
        ]  # fmt: skip

    def _at_distance(self, share: int, lock: str, x: int, seed: int) -> Cell:
        return self.owned(lock, x, share, seed)

    def _at_share(self, links: int, lock: str, x: int, seed: int) -> Cell:
        return self.owned(lock, links, x, seed)

    def _cell(
        self, lock: str, machine: str, workload: str, threads: int,
        parameters: dict[str, int | str], seed: int, node: int = 0, cancel: int | None = None,
    ) -> Cell:  # fmt: skip
        """`node`: where core 1 is; 0: cores are in the order of the nodes."""
        engine = placed(self.plan.engine, node) if node else self.plan.engine
        return Cell(
            engine=engine, machine=machine, isa=isa_of(self.plan.flavour),
            flavour=self.plan.flavour, lock=lock, workload=workload, threads=threads,
            parameters=with_defaults(workload, parameters), cancel=cancel, seed=seed,
        )  # fmt: skip


PLAN = "many_cores"


class Study:
    """Runs a plan, which has one flavour, and stores the results."""

    def __init__(
        self, plan: ManyCoresPlan, _flavours: list[str], store: Store, runner: Runner
    ) -> None:
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
            (answer.CORES, self._cells.contended_cells()),
            (answer.DISTANCE, self._cells.owned_cells()),
            (answer.CANCELLATION, self._cells.cancelling_cells()),
        ):
            self._store.set_series(series, [run.id for run in self._runner.require(cells, PLAN)])
        store_machines(self._store, self._plan.machines)
        store_isas(self._store)
        placing = [one for one in (self._plan.distance, self._plan.cancellation) if one]
        meshes = {one.machine: list(shape(one.machine)) for one in placing}
        fact = self._plan.model_dump() | {"meshes": meshes}
        answer.PLAN.write(self._store, answer.ManyCoresFact.model_validate(fact))

    def _tasks(self) -> list[CrossoverTask]:
        return [
            CrossoverTask(line, a, b, line.values)
            for line in self._cells.lines()
            for a, b in itertools.combinations(self._plan.locks, 2)
        ]

    def _evaluate(self, cells: Sequence[Cell]) -> list[Point]:
        return points(self._runner, cells, PLAN)
