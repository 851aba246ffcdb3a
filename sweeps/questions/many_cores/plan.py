"""The plan of a study of many cores: a file of sweeps/plans/studies with a table [cores]."""

from collections.abc import Sequence
from typing import Annotated, Self

from pydantic import model_validator

from sweeps.model import engines
from sweeps.model.axes import MAX_THREADS
from sweeps.model.isa import FLAVOURS
from sweeps.model.locks import load_locks
from sweeps.model.machine import MachineName, MemorySystem, known_machines, load_machine
from sweeps.model.workloads import Value
from sweeps.plans import STUDIES, study
from sweeps.support.toml import Document

CONTENDED = "random_threads"  # the workload in which all cores contend


def _check_keys(workload: str, parameters: dict[str, Value], *own: str) -> None:
    words = "{}: unknown; workload {} takes {}"
    study.check_keys(workload, parameters, own, words, where="parameters: ")


class Cores(Document):
    """All cores contend for one lock (workload threads), `pairs` times in all. A number of cores
    runs on the first of the `machines` that has room for it."""

    machines: Annotated[list[MachineName], study.Some]
    values: Annotated[list[study.Threads], study.Several, study.RISING]
    pairs: study.Count
    tolerance: study.Count
    parameters: dict[str, Value] = {}

    @model_validator(mode="after")
    def _known_keys(self) -> Self:
        _check_keys(CONTENDED, self.parameters, "iterations")
        return self


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
    parameters: dict[str, Value]

    @model_validator(mode="after")
    def _known_keys(self) -> Self:
        _check_keys("lock_sequence", self.parameters, "owner_share")
        study.check_multiples(self.step, self.owner_share, "owner_share: ")
        return self


class Cancellation(Document):
    """What it takes to cancel a reservation from each node, the owner at node 0 (workload
    transition). `cancel_latency`: the machine's charge for stopping a thread, which is the same
    from everywhere."""

    machine: MachineName
    lock: str
    cancel_latency: study.Latency
    parameters: dict[str, Value]

    @model_validator(mode="after")
    def _known_keys(self) -> Self:
        _check_keys("transition", self.parameters)
        return self


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
        others = [one.machine for one in (self.distance, self.cancellation) if one]
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
        return self

    @model_validator(mode="after")
    def _room(self) -> Self:
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


def shape(machine: str) -> tuple[int, int]:
    """Rows and columns of the mesh of a machine that has one."""
    system = network(machine)
    return system.number("rows"), system.number("columns")


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
    if beyond := [one for one in links if one not in first]:
        raise ValueError(
            f"links: {beyond[0]}: the farthest node of {machine} is {max(first)} links from node 0"
        )
    return [first[one] for one in links]


def load_many_cores(name: str) -> ManyCoresPlan:
    """Reads sweeps/plans/studies/<name>.toml, or the file of a path.

    Raises LockcrossError (exit code 2) that names file, key, value and what is allowed.
    """
    return STUDIES.load(ManyCoresPlan, name)
