"""The plan of the main job: sweeps/plans/studies/*.toml; and what plans of other kinds share."""

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Annotated, ClassVar, Self

from pydantic import AfterValidator, Field, model_validator

from results.errors import LockcrossError
from sweeps.engines.base import load_engine
from sweeps.model import engines
from sweeps.model.axes import MAX_LATENCY, MAX_THREADS
from sweeps.model.isa import FLAVOURS, ISAS, isa_of
from sweeps.model.locks import FENCE_KINDS, FULL, LockLabel, load_locks
from sweeps.model.machine import MachineName, known_machines, machine_names
from sweeps.model.workloads import WORKLOADS, Value
from sweeps.plans import STUDIES
from sweeps.support.toml import Document

SHARED_AXES = ("cancel_latency", "owner_share", "run_length", "threads")
OTHER_FENCES = [kind for kind in FENCE_KINDS if kind != FULL]


def labels(
    flavour: str, locks: Sequence[str], fence_kinds: Sequence[str], first: str = FULL
) -> list[LockLabel]:
    """Lock labels with the `first` kind of fence, full ones where a lock has no choice, then with
    every other kind that lock and ISA allow (interfaces, 8)."""
    refused = ISAS[isa_of(flavour)].refused_fence_kinds

    def has(lock: str, kind: str) -> bool:
        return kind not in refused and kind in load_locks()[lock].fence_kinds

    usual = [LockLabel.of(lock, fence=first if has(lock, first) else FULL) for lock in locks]
    others = itertools.product(fence_kinds, locks)
    return usual + [LockLabel.of(lock, fence=kind) for kind, lock in others if has(lock, kind)]


def check_known(rows: Iterable[tuple[str, Iterable[str], Collection[str]]]) -> None:
    """Raise ValueError for the first of some names that is none of those known: of each key, the
    names given and those known."""
    for key, given, known in rows:
        if unknown := [name for name in given if name not in known]:
            raise ValueError(f"{key}: {unknown[0]!r} is unknown; allowed are {', '.join(known)}")


def check_engine(label: str) -> None:
    """Raise ValueError for a label that no engine has."""
    try:
        load_engine(label)
    except LockcrossError as error:
        raise ValueError(f"engine: {error.message}") from None


def check_reach(latencies: Sequence[int], axes: Iterable[Sequence[int]]) -> None:
    """Raise ValueError where calibrations do not reach as far as the axes of a map."""
    for axis in axes:
        if axis[0] < latencies[0] or axis[-1] > latencies[-1]:
            raise ValueError(
                f"calibration.latencies: must reach from {axis[0]} to {axis[-1]}, since the map's "
                "axes are shown as measured"
            )


def _rising(values: list[float]) -> list[float]:
    if sorted(set(values)) != values:
        raise ValueError("values must rise, each given once")
    return values


def check_parameters(workload: str, parameters: Mapping[str, Value]) -> Mapping[str, Value]:
    """Return the parameters. Raises ValueError for a key that a workload has not, and for a value
    that a key cannot have."""
    keys = WORKLOADS[workload].keys
    for name, value in parameters.items():
        if name not in keys:
            raise ValueError(f"{name}: unknown; workload {workload} has {', '.join(keys)}")
        if why := keys[name].invalid_reason(value):
            raise ValueError(f"{name}: {value}: {why}")
    return parameters


def keys_of(workload: str) -> AfterValidator:
    """Refuse parameters that a workload cannot have."""
    return AfterValidator(lambda parameters: check_parameters(workload, parameters))


Latency = Annotated[int, Field(ge=0, le=MAX_LATENCY)]
Count = Annotated[int, Field(ge=1)]
Positive = Annotated[int | float, Field(ge=0, le=MAX_LATENCY)]
Above = Annotated[int | float, Field(gt=0)]
Threads = Annotated[int, Field(ge=1, le=MAX_THREADS)]
Seeds = Annotated[int, Field(ge=1, le=100)]
Percent = Annotated[float, Field(ge=0, le=100)]
Text = Annotated[str, Field(min_length=1)]
RISING = AfterValidator(_rising)
Some = Field(min_length=1)
Several = Field(min_length=2)
Latencies = Annotated[list[Latency], Several, RISING]
Locks = Annotated[list[str], Several]


class _Sequence(Document):
    """A use of the workload lock_sequence."""

    threads: Threads
    parameters: Annotated[dict[str, Value], keys_of("lock_sequence")]
    tolerance: Count


class Map(_Sequence):
    """The winner map: a grid of set latencies in cycles, and the tolerance of crossovers. Where the
    fence of production is an atomic, there is also one over CAS and `cancel_latency`."""

    cas_latency: Latencies
    fence_latency: Latencies
    cancel_latency: Latencies | None = None

    @property
    def latencies(self) -> dict[str, list[int]]:
        """Return the set latencies of its two axes, by name."""
        return {"cas_latency": self.cas_latency, "fence_latency": self.fence_latency}


class RunLength(_Sequence):
    """Cost against run length, for some cancellation costs in cycles."""

    values: Annotated[list[Count], Several, RISING]
    cancel_latency: Annotated[list[Latency], Some, RISING]


class Rounds(Document):
    """The rounds experiment of thesis Figure 6.15."""

    machine: MachineName
    flavour: str
    fences: Annotated[list[str], Some]  # fence kinds, a panel of the figure each
    parameters: Annotated[dict[str, Value], keys_of("rounds")]


class Use(Document):
    """How locks are used: a workload, its threads and its parameters."""

    workload: str
    threads: Threads
    parameters: dict[str, Value]

    @model_validator(mode="after")
    def _known_keys(self) -> Self:
        check_known([("workload", [self.workload], WORKLOADS)])
        check_parameters(self.workload, self.parameters)
        return self


class Processors(Document):
    """Locks on real processors as they are, used by one thread, and by several that contend, with
    the fences of production; a lock that is named with a kind of fence has that."""

    USES: ClassVar = ("one_thread", "contended")

    machines: Annotated[list[MachineName], Some]
    locks: Locks
    one_thread: Use
    contended: Use

    @property
    def uses(self) -> dict[str, Use]:
        """Return the uses by name."""
        return {name: getattr(self, name) for name in self.USES}


class Axis(Document):
    """A further axis. Only multiples of `step` are tried."""

    values: Annotated[list[Positive], Several, RISING]
    tolerance: Above
    step: Above = 1

    @model_validator(mode="after")
    def _multiples(self) -> Self:
        for value in (*self.values, self.tolerance):
            if Fraction(str(value)) % Fraction(str(self.step)):
                raise ValueError(f"{value:g} is no multiple of step {self.step:g}")
        return self


class Calibration(Document):
    """Set latencies at which CAS and fence are measured, and the real processors."""

    latencies: Latencies
    machines: list[MachineName]


class StudyPlan(Document):
    """All parameters of the main job."""

    title: Text
    engine: str = engines.DEFAULT
    machine: MachineName
    beside: list[MachineName] = []  # further machines with maps and crossovers of their own
    flavours: Annotated[list[str], Some]
    locks: Locks
    table_locks: list[str]
    limits: dict[str, str] = {}  # of locks among table_locks: what they cannot do, in words
    fence_kinds: list[str]
    production: dict[str, str] = {}  # flavour: the kind of its headline, where not full fences
    seeds: Seeds = 1  # of each crossover
    tie_percent: Percent = 2.0  # a lead below it is a tie
    map: Map
    run_length: RunLength | None = None
    rounds: Rounds | None = None
    processors: Processors | None = None
    axes: dict[str, Axis]
    calibration: Calibration

    @property
    def machines(self) -> list[str]:
        """Return those with maps and crossovers."""
        return [self.machine, *self.beside]

    def headline(self, flavour: str) -> list[LockLabel]:
        """Return the locks compared, with the fences that a flavour's headline speaks of."""
        return self.in_production(flavour, self.locks)

    def in_production(self, flavour: str, locks: Sequence[str]) -> list[LockLabel]:
        """Return some locks as they are in production: with its fences."""
        return labels(flavour, locks, [], self.production.get(flavour, FULL))

    @model_validator(mode="after")
    def _known_names(self) -> Self:
        check_engine(self.engine)
        rounds = [self.rounds] if self.rounds else []
        machines = [*self.machines, *(r.machine for r in rounds), *self.calibration.machines]
        real = [self.processors] if self.processors else []
        check_known(
            (
                ("machine", machines, known_machines(machines)),
                ("locks", [*self.locks, *self.table_locks], load_locks()),
                ("limits", self.limits, self.table_locks),
                ("processors.machines", [m for p in real for m in p.machines], machine_names()),
                (
                    "processors.locks",
                    [LockLabel(name).lock for p in real for name in p.locks],
                    load_locks(),
                ),
                ("fence_kinds", self.fence_kinds, OTHER_FENCES),
                ("production", self.production, self.flavours),
                ("production", self.production.values(), self.fence_kinds),
                ("axes", self.axes, SHARED_AXES),
                ("rounds.fences", [kind for r in rounds for kind in r.fences], FENCE_KINDS),
            )
        )
        check_reach(self.calibration.latencies, (self.map.cas_latency, self.map.fence_latency))
        check_known([("flavours", [*self.flavours, *(r.flavour for r in rounds)], FLAVOURS)])
        return self


def load_study(name: str) -> StudyPlan:
    """Read sweeps/plans/studies/<name>.toml, or the file of a path.

    Raises LockcrossError (exit code 2) that names file, key, value and what is allowed.
    """
    return STUDIES.load(StudyPlan, name)
