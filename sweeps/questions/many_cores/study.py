"""A study of many cores, a file of sweeps/plans/studies with a table [cores]: its plan, its cells,
and running it. Everything it finds is in the database; it continues where it was stopped, and a
second run has nothing to do."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Annotated, Self

from pydantic import model_validator

from results.store.records import CrossoverRecord
from results.store.store import Store
from sweeps.model import engines
from sweeps.model.axes import MAX_THREADS
from sweeps.model.cell import Cell, usual
from sweeps.model.isa import FLAVOURS
from sweeps.model.locks import load_locks
from sweeps.model.machine import MachineName, MemorySystem, known_machines, load_machine
from sweeps.model.workloads import Value
from sweeps.plans import STUDIES, study
from sweeps.questions.many_cores import answer
from sweeps.run.runner import Runner
from sweeps.search.calibrate import store_isas, store_machines
from sweeps.search.lines import FIRST_SEED, AxisLine, in_parts, set_to, with_lock
from sweeps.search.searches import pairs, points, records, search_all
from sweeps.support.toml import Document

PLAN = "many_cores"
CONTENDED = "random_threads"  # the workload in which all cores contend


class Cores(Document):
    """All cores contend for one lock (workload threads), `pairs` times in all. A number of cores
    runs on the first of the `machines` that has room for it."""

    machines: Annotated[list[MachineName], study.Some]
    values: Annotated[list[study.Threads], study.Several, study.RISING]
    pairs: study.Count
    tolerance: study.Count
    parameters: Annotated[dict[str, Value], study.keys_of(CONTENDED, "iterations")] = {}


class Distance(Document):
    """An owner at node 0, a corner, and one contender, so many links away, that takes what `shares`
    leave of the object's runs (workload lock_sequence). Costs cross along the
    links, and along `owner_share` at the least and the most of them."""

    machine: MachineName
    links: Annotated[list[study.Count], study.Several, study.RISING]
    shares: Annotated[list[study.Share], study.Some, study.RISING]
    tolerance: study.Count
    owner_share: Annotated[list[study.Share], study.Several, study.RISING]
    step: study.Share
    parameters: Annotated[dict[str, Value], study.keys_of("lock_sequence", "owner_share")]

    @model_validator(mode="after")
    def _multiples(self) -> Self:
        study.check_multiples(self.step, self.owner_share, "owner_share: ")
        return self


class Cancellation(Document):
    """What it takes to cancel a reservation from each node, the owner at node 0 (workload
    transition). `cancel_latency`: the machine's charge for stopping a thread, which is the same
    from everywhere."""

    machine: MachineName
    lock: str
    cancel_latency: study.Latency
    parameters: Annotated[dict[str, Value], study.keys_of("transition")]


class ManyCoresPlan(Document):
    """All parameters of the study. `seeds`: of each point of a curve and of each crossover."""

    title: study.Text
    engine: str = engines.DEFAULT
    flavour: str
    locks: study.Locks
    seeds: study.Seeds = 1
    tie_percent: study.Percent = 2.0
    cores: Cores
    distance: Distance | None = None
    cancellation: Cancellation | None = None

    @property
    def flavours(self) -> list[str]:
        """As other studies have them."""
        return [self.flavour]

    @property
    def machines(self) -> list[str]:
        """All that it runs on."""
        others = [part.machine for part in (self.distance, self.cancellation) if part]
        return list(dict.fromkeys([*self.cores.machines, *others]))

    @model_validator(mode="after")
    def _known_names(self) -> Self:
        study.check_engine(self.engine)
        if self.distance or self.cancellation:
            study.check_engine(placed(self.engine, 1))
        cancelled = [self.cancellation.lock] if self.cancellation else []
        study.check_known(
            (
                ("machine", self.machines, known_machines(self.machines)),
                ("flavour", [self.flavour], FLAVOURS),
                ("locks", [*self.locks, *cancelled], load_locks()),
            )
        )
        if self.cores.values[-1] > max(map(room, self.cores.machines)):
            raise ValueError(f"cores.values: no machine has room for {self.cores.values[-1]} cores")
        if self.distance:
            nodes_at(self.distance.machine, self.distance.links)
        if self.cancellation:
            network(self.cancellation.machine)
        return self


def room(machine: str) -> int:
    """How many cores a machine has room for."""
    system = load_machine(machine).sst
    return system.nodes if system else MAX_THREADS


def network(machine: str) -> MemorySystem:
    """The mesh of a machine. Raises ValueError for one that has none."""
    system = load_machine(machine).sst
    if system is None or system.topology != "mesh":
        raise ValueError(f"machine: {machine!r} has no mesh")
    return system


def placed(engine: str, node: int) -> str:
    """The engine label under which core 1 is at a node, and core 0 at node 0."""
    return f"{engine}/at-{node}"


def nodes_at(machine: str, links: Sequence[int]) -> list[int]:
    """For each number of links, the first node that is so far from node 0. Raises ValueError where
    there is none."""
    system = network(machine)
    first: dict[int, int] = {}
    for node in range(system.nodes):
        first.setdefault(system.links(0, node), node)
    if beyond := [link for link in links if link not in first]:
        raise ValueError(
            f"links: {beyond[0]}: the farthest node of {machine} is {max(first)} links from node 0"
        )
    return [first[link] for link in links]


def load(name: str) -> ManyCoresPlan:
    """Reads sweeps/plans/studies/<name>.toml, or the file of a path.

    Raises LockcrossError (exit code 2) that names file, key, value and what is allowed.
    """
    return STUDIES.load(ManyCoresPlan, name)


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
                    f"owner_share/{links}",
                    _away(base, "distance", links),
                    "owner_share",
                    tuple(values),
                    step,
                    step,
                    {**given.parameters, "threads": 2, "links": links},
                    move=set_to,
                )
                for links in (given.links[0], given.links[-1])
            ]
        return lines

    def _cores_line(self) -> AxisLine:
        """So many cores that contend for one lock, on the first machine with room for them: each
        its part of the pairs, rounded up."""
        given = self.plan.cores

        def move(base: Cell, _: str, cores: int) -> Cell:
            machine = next(name for name in given.machines if room(name) >= cores)
            parameters = {**base.parameters, "iterations": -(-given.pairs // cores)}
            return replace(base, machine=machine, threads=cores, parameters=parameters)

        return AxisLine(
            "cores",
            self._base(given.machines[0], CONTENDED, given.parameters),
            "threads",
            tuple(given.values),
            given.tolerance,
            unit="cores",
            move=move,
            setting={**given.parameters, "pairs": given.pairs},
        )

    def _distance_lines(self) -> list[AxisLine]:
        """An owner, and a contender so many links away, for each of its shares."""
        given = self.plan.distance
        if given is None:
            return []
        base = self._base(given.machine, "lock_sequence", given.parameters)
        return [
            AxisLine(
                f"distance/{share}",
                set_to(base, "owner_share", share),
                "distance",
                tuple(given.links),
                given.tolerance,
                unit="links",
                move=_away,
                setting={**given.parameters, "threads": 2, "owner_share": share},
            )
            for share in given.shares
        ]

    def _base(self, machine: str, workload: str, parameters: Mapping[str, Value]) -> Cell:
        """Two threads, on the cores in the order of the nodes."""
        on = {"engine": self.plan.engine, "threads": 2}
        return usual(machine, self.plan.flavour, workload, parameters, **on)

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
        for search in search_all(partial(points, self._runner, PLAN), tasks, self._seeds[1:]):
            by_series[search.task.line.series] += records(search)
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
        meshes = {}
        for machine in [part.machine for part in (plan.distance, plan.cancellation) if part]:
            mesh = network(machine)
            meshes[machine] = [mesh.number("rows"), mesh.number("columns")]
        fact = plan.model_dump() | {"meshes": meshes}
        answer.PLAN.write(self._store, answer.ManyCoresFact.model_validate(fact))
