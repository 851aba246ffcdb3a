"""The plan of the main job: sweeps/plans/studies/*.toml."""

import tomllib
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from results.errors import LockcrossError
from sweeps.engines import load_engine
from sweeps.model import engines
from sweeps.model.axes import MAX_LATENCY, MAX_THREADS
from sweeps.model.isa import FENCE_KINDS, FLAVOURS
from sweeps.model.locks import load_locks
from sweeps.model.machine import MachineName, known_machines
from sweeps.model.workloads import WORKLOADS
from sweeps.plans import STUDIES
from sweeps.support.toml import Document

CROSSOVER, MANY_CORES = "crossover", "many_cores"  # the questions that have studies
SHARED_AXES = ("cancel", "owner_share", "run_length", "threads")

Latency = Annotated[int, Field(ge=0, le=MAX_LATENCY)]
Count = Annotated[int, Field(ge=1)]


def _rising(values: list[int]) -> list[int]:
    if sorted(set(values)) != values:
        raise ValueError("values must rise, each given once")
    return values


def _keys_of(workload: str) -> AfterValidator:
    """Of parameters: only keys that a workload has, with values that they may have."""

    def check(parameters: dict[str, int]) -> dict[str, int]:
        keys = WORKLOADS[workload].keys
        for name, value in parameters.items():
            if name not in keys:
                raise ValueError(f"{name}: unknown; workload {workload} has {', '.join(keys)}")
            if why := keys[name].invalid_reason(value):
                raise ValueError(f"{name}: {value}: {why}")
        return parameters

    return AfterValidator(check)


Latencies = Annotated[list[Latency], Field(min_length=2), AfterValidator(_rising)]


class _Sequence(Document):
    """A use of the workload lock_sequence."""

    threads: Annotated[int, Field(ge=1, le=MAX_THREADS)]
    parameters: Annotated[dict[str, int], _keys_of("lock_sequence")]
    tolerance: Count


class Map(_Sequence):
    """The winner map: a grid of set latencies in cycles, and the tolerance of crossovers."""

    cas: Latencies
    fence_latency: Latencies


class RunLength(_Sequence):
    """Cost against run length, for some cancellation costs in cycles."""

    values: Annotated[list[Count], Field(min_length=2), AfterValidator(_rising)]
    cancel: Annotated[list[Latency], Field(min_length=1), AfterValidator(_rising)]


class Rounds(Document):
    """The rounds experiment of thesis Figure 6.15."""

    machine: MachineName
    flavour: str
    fences: Annotated[list[str], Field(min_length=1)]  # fence kinds, a panel of the figure each
    parameters: Annotated[dict[str, int], _keys_of("rounds")]


class Axis(Document):
    """A further axis. Only multiples of `step` are tried."""

    values: Latencies
    tolerance: Count
    step: Count = 1

    @model_validator(mode="after")
    def _multiples(self) -> Self:
        if any(value % self.step for value in self.values) or self.tolerance % self.step:
            raise ValueError(f"values and tolerance must be multiples of step {self.step}")
        return self


class Calibration(Document):
    """Set latencies at which CAS and fence are measured, and the real processors."""

    latencies: Latencies
    machines: list[MachineName]


class StudyPlan(Document):
    """All parameters of the main job."""

    title: Annotated[str, Field(min_length=1)]
    engine: str = engines.DEFAULT
    machine: MachineName
    beside: list[MachineName] = []  # further machines with maps and crossovers of their own
    flavours: Annotated[list[str], Field(min_length=1)]
    locks: Annotated[list[str], Field(min_length=2)]
    table_locks: list[str]
    limits: dict[str, str] = {}  # of locks among table_locks: what they cannot do, in words
    fence_kinds: list[str]
    seeds: Annotated[int, Field(ge=1, le=100)] = 1  # of each crossover
    tie_percent: Annotated[float, Field(ge=0, le=100)] = 2.0  # a lead below it is a tie
    map: Map
    run_length: RunLength | None = None
    rounds: Rounds | None = None
    axes: dict[str, Axis]
    calibration: Calibration

    @property
    def machines(self) -> list[str]:
        """Those with maps and crossovers."""
        return [self.machine, *self.beside]

    @model_validator(mode="after")
    def _known_names(self) -> Self:
        try:
            load_engine(self.engine)
        except LockcrossError as error:
            raise ValueError(f"engine: {error.message}") from None
        rounds = [self.rounds] if self.rounds else []
        machines = [*self.machines, *(r.machine for r in rounds), *self.calibration.machines]
        for key, values, known in (
            ("machine", machines, known_machines(machines)),
            ("locks", [*self.locks, *self.table_locks], list(load_locks())),
            ("limits", list(self.limits), self.table_locks),
            ("fence_kinds", self.fence_kinds, [k for k in FENCE_KINDS if k != "full"]),
            ("axes", list(self.axes), list(SHARED_AXES)),
            ("rounds.fences", [f for r in rounds for f in r.fences], list(FENCE_KINDS)),
        ):
            if unknown := [value for value in values if value not in known]:
                raise ValueError(
                    f"{key}: {unknown[0]!r} is unknown; allowed are {', '.join(known)}"
                )
        measured = self.calibration.latencies
        for axis in (self.map.cas, self.map.fence_latency):
            if axis[0] < measured[0] or axis[-1] > measured[-1]:
                raise ValueError(
                    f"calibration.latencies: must reach from {axis[0]} to {axis[-1]}, "
                    "since the map's axes are shown as measured"
                )
        for flavour in [*self.flavours, *(r.flavour for r in rounds)]:
            if flavour not in FLAVOURS:
                raise ValueError(
                    f"flavours: {flavour!r} is unknown; allowed are {', '.join(FLAVOURS)}"
                )
        return self


def load_study(name: str) -> StudyPlan:
    """Reads sweeps/plans/studies/<name>.toml, or the file of a path.

    Raises LockcrossError (exit code 2) that names file, key, value and what is allowed.
    """
    return STUDIES.load(StudyPlan, name)


def question_of(name: str) -> str:
    """The question that a study of a name or a path is a plan of: many_cores where it has a table
    [cores], else crossover; so what cannot be read."""
    try:
        plan = tomllib.loads(STUDIES.path(name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return CROSSOVER
    return MANY_CORES if "cores" in plan else CROSSOVER
