"""Runs a study of many cores. Everything it finds is in the database; it continues where it was
stopped, and a second run has nothing to do."""

import itertools
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import product

from results.store.records import CrossoverRecord
from results.store.store import Store
from sweeps.model.cell import Cell
from sweeps.model.workloads import Value, with_defaults
from sweeps.plans.study import isa_of
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
from sweeps.search.calibrate import store_isas, store_machines
from sweeps.search.lines import FIRST_SEED, NO_LOCK, AxisLine, in_parts, set_to, with_lock
from sweeps.search.searches import pairs, points, records, search_all

PLAN = "many_cores"
load = load_many_cores  # as of every question that has studies


def _away(base: Cell, _: str, links: int) -> Cell:
    """The cell with core 1 so many links away from core 0."""
    (node,) = nodes_at(base.machine, [links])
    return replace(base, engine=placed(base.engine, node))


class Study:
    """Makes the cells of a plan, which has one flavour, runs them and stores the results."""

    def __init__(
        self, plan: ManyCoresPlan, _flavours: list[str], store: Store, runner: Runner
    ) -> None:
        self.plan, self._store, self._runner = plan, store, runner
        self._seeds = range(FIRST_SEED, FIRST_SEED + plan.seeds)

    def contended_cells(self) -> list[Cell]:
        """Of the curves, the largest first: the smaller ones then fill the gaps at the end."""
        line = self._cores_line()
        places = product(line.values[::-1], self._seeds, self.plan.locks)
        return [line.cell(lock, cores, seed) for cores, seed, lock in places]

    def owned_cells(self) -> list[Cell]:
        """Each distance and share; none where the plan has no distances."""
        links = self.plan.distance.links if self.plan.distance else []
        places = product(links, self._distance_lines(), self._seeds, self.plan.locks)
        return [line.cell(lock, x, seed) for x, line, seed, lock in places]

    def cancelling_cells(self) -> list[Cell]:
        """A contender at each node but the owner's; of one seed, as maps are."""
        given = self.plan.cancellation
        if given is None:
            return []
        cell = with_lock(self._base(given.machine, "transition", given.parameters), given.lock)
        return [
            replace(cell, engine=placed(cell.engine, node), cancel_latency=given.cancel_latency)
            for node in range(1, network(given.machine).nodes)
        ]

    def lines(self) -> list[AxisLine]:
        """Every axis along which costs may cross."""
        lines, given = [self._cores_line(), *self._distance_lines()], self.plan.distance
        if given is not None:
            base = self._base(given.machine, "lock_sequence", given.parameters)
            *values, step = in_parts(base.workload, "owner_share", (*given.owner_share, given.step))
            lines += [
                AxisLine(
                    f"owner_share/{links}", _away(base, "distance", links), "owner_share",
                    tuple(values), step, step,
                    {**given.parameters, "threads": 2, "links": links}, move=set_to,
                )
                for links in (given.links[0], given.links[-1])
            ]  # fmt: skip
        return lines

    def _cores_line(self) -> AxisLine:
        """So many cores that contend for one lock, on the first machine with room for them: each
        its part of the pairs, rounded up."""
        given = self.plan.cores

        def move(base: Cell, _: str, cores: int) -> Cell:
            machine = next(one for one in given.machines if room(one) >= cores)
            parameters = {**base.parameters, "iterations": -(-given.pairs // cores)}
            return replace(base, machine=machine, threads=cores, parameters=parameters)

        return AxisLine(
            "cores", self._base(given.machines[0], CONTENDED, given.parameters), "threads",
            tuple(given.values), given.tolerance, unit="cores", move=move,
            setting={**given.parameters, "pairs": given.pairs},
        )  # fmt: skip

    def _distance_lines(self) -> list[AxisLine]:
        """An owner, and a contender so many links away, for each of its shares."""
        given = self.plan.distance
        if given is None:
            return []
        base = self._base(given.machine, "lock_sequence", given.parameters)
        return [
            AxisLine(
                f"distance/{share}", set_to(base, "owner_share", share), "distance",
                tuple(given.links), given.tolerance, unit="links", move=_away,
                setting={**given.parameters, "threads": 2, "owner_share": share},
            )
            for share in given.shares
        ]  # fmt: skip

    def _base(self, machine: str, workload: str, parameters: Mapping[str, Value]) -> Cell:
        """Two threads, on the cores in the order of the nodes."""
        return Cell(
            engine=self.plan.engine, machine=machine, isa=isa_of(self.plan.flavour),
            flavour=self.plan.flavour, lock=NO_LOCK, workload=workload, threads=2,
            parameters=with_defaults(workload, parameters),
        )  # fmt: skip

    def known_cells(self) -> list[Cell]:
        """Every cell that can be named before anything has been run."""
        searched = [
            line.cell(lock, x)
            for line in self.lines()
            for x, lock in product(line.values, self.plan.locks)
        ]
        curves = self.contended_cells() + self.owned_cells() + self.cancelling_cells()
        return curves + searched

    def run(self) -> None:
        """Runs everything and stores series, crossovers and facts.

        Raises LockcrossError (exit code 1) when a run of the study fails.
        """
        plan, lines = self.plan, self.lines()
        self._runner.require(self.known_cells(), PLAN)
        tasks = list(itertools.chain(*(pairs(line, plan.locks) for line in lines)))
        by_series: dict[str, list[CrossoverRecord]] = {line.series: [] for line in lines}
        for one in search_all(partial(points, self._runner, PLAN), tasks, self._seeds[1:]):
            by_series[one.task.line.series] += records(one)
        for series, kept in by_series.items():
            self._store.set_crossovers(kept, f"{PLAN}/{series}")
        for series, cells in (
            (answer.CORES, self.contended_cells()),
            (answer.DISTANCE, self.owned_cells()),
            (answer.CANCELLATION, self.cancelling_cells()),
        ):
            self._store.set_series(series, [run.id for run in self._runner.require(cells, PLAN)])
        store_machines(self._store, plan.machines)
        store_isas(self._store)
        placing = [one for one in (plan.distance, plan.cancellation) if one]
        meshes = {one.machine: list(shape(one.machine)) for one in placing}
        fact = plan.model_dump() | {"meshes": meshes}
        answer.PLAN.write(self._store, answer.ManyCoresFact.model_validate(fact))
