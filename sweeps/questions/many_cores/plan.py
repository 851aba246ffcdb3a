"""The plan of a study of many cores: a file of sweeps/plans/studies with a table [cores]."""

from collections.abc import Sequence
from typing import Annotated, Self

from pydantic import Field, field_validator, model_validator

from results.errors import LockcrossError
from sweeps.engines import load_engine
from sweeps.model import engines
from sweeps.model.axes import MAX_LATENCY, MAX_THREADS
from sweeps.model.isa import FLAVOURS
from sweeps.model.locks import load_locks
from sweeps.model.machine import MachineName, MemorySystem, known_machines, load_machine
from sweeps.model.workloads import WORKLOADS
from sweeps.plans import STUDIES
from sweeps.support.toml import Document

CONTENDED = "random_threads"  # the workload in which all cores contend
Count = Annotated[int, Field(ge=1)]
Threads = Annotated[int, Field(ge=1, le=MAX_THREADS)]
Share = Annotated[int, Field(ge=0, le=1_000_000)]


def _rising(values: list[int]) -> list[int]:
    if sorted(set(values)) != values:
        raise ValueError("values must rise, each given once")
    return values


def _check_keys(workload: str, parameters: dict[str, int | str], given: Sequence[str]) -> None:
    """Raises ValueError for keys that a workload has not, or that the study itself gives."""
    keys = WORKLOADS[workload].keys
    for name, value in parameters.items():
        if name not in keys or name in given:
            allowed = ", ".join(key for key in keys if key not in given)
            raise ValueError(f"parameters: {name}: unknown; workload {workload} takes {allowed}")
        if why := keys[name].invalid_reason(value):
            raise ValueError(f"parameters: {name}: {value}: {why}")


class Cores(Document):
    """All cores contend for one lock (workload threads), `pairs` times in all. A number of cores
    runs on the first of the `machines` that has room for it."""

    machines: Annotated[list[MachineName], Field(min_length=1)]
    values: Annotated[list[Threads], Field(min_length=2)]
    pairs: Count
    tolerance: Count
    parameters: dict[str, int | str] = {}

    _rise = field_validator("values")(_rising)

    @model_validator(mode="after")
    def _known_keys(self) -> Self:
        _check_keys(CONTENDED, self.parameters, ("iterations",))
        return self


class Distance(Document):
    """An owner at node 0, a corner, and one contender, so many links away, that takes what `shares`
    (parts per million) leave of the object's runs (workload lock_sequence). Costs cross along the
    links, and along `owner_share` at the least and the most of them."""

    machine: MachineName
    links: Annotated[list[Count], Field(min_length=2)]
    shares: Annotated[list[Share], Field(min_length=1)]
    tolerance: Count
    owner_share: Annotated[list[Share], Field(min_length=2)]
    step: Count
    parameters: dict[str, int | str]

    _rise = field_validator("links", "shares", "owner_share")(_rising)

    @model_validator(mode="after")
    def _known_keys(self) -> Self:
        _check_keys("lock_sequence", self.parameters, ("owner_share",))
        if wrong := [one for one in self.owner_share if one % self.step]:
            raise ValueError(f"owner_share: {wrong[0]} is no multiple of step {self.step}")
        return self


class Cancellation(Document):
    """What it takes to cancel a reservation from each node, the owner at node 0 (workload
    transition). `cancel`: the machine's charge for stopping a thread, which is the same from
    everywhere."""

    machine: MachineName
    lock: str
    cancel: Annotated[int, Field(ge=0, le=MAX_LATENCY)]
    parameters: dict[str, int | str]

    @model_validator(mode="after")
    def _known_keys(self) -> Self:
        _check_keys("transition", self.parameters, ())
        return self


class ManyCoresPlan(Document):
    """All parameters of the study. `seeds`: of each point of a curve and of each crossover."""

    title: Annotated[str, Field(min_length=1)]
    engine: str = engines.DEFAULT
    flavour: str
    locks: Annotated[list[str], Field(min_length=2)]
    seeds: Annotated[int, Field(ge=1, le=100)] = 1
    tie_percent: Annotated[float, Field(ge=0, le=100)] = 2.0
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
        try:
            load_engine(self.engine)
            if self.distance or self.cancellation:
                load_engine(placed(self.engine, 1))
        except LockcrossError as error:
            raise ValueError(f"engine: {error.message}") from None
        given = self.cancellation
        for key, values, known in (
            ("machine", self.machines, known_machines(self.machines)),
            ("flavour", [self.flavour], list(FLAVOURS)),
            ("locks", [*self.locks, *([given.lock] if given else [])], list(load_locks())),
        ):
            if unknown := [value for value in values if value not in known]:
                allowed = ", ".join(known)
                raise ValueError(f"{key}: {unknown[0]!r} is unknown; allowed are {allowed}")
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
    assert system.rows is not None and system.columns is not None
    return system.rows.number, system.columns.number


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
