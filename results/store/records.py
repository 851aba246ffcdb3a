"""The records of the store, as plain values."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """Where a run ran: its host, the kind of processor there, and on a cluster the job and worker.
    No part of its identity: cycles are the same everywhere."""

    host: str
    processor: str
    job: str = ""
    worker: str = ""


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """The outcome of a run, as its driver saw it. Whoever chooses runs adds the axes that are
    chosen: all but `resolved`, `metrics` and `place` are columns of the table runs."""

    identity: str  # SHA-256, hex
    engine_version: str
    status: str  # "ok", "failed", "refused"
    cause: str  # "" when ok; else e.g. "CPU time limit: 60 s", "check failed: ..."
    output: str  # standard output and error of a run that failed, shortened
    command: str  # what repeats it
    started: str  # ISO 8601
    duration_s: float
    attempts: int
    binary_digest: str
    source_revision: str
    compiler: str
    resolved: dict[str, int | str]  # engine options as the engine reported them
    metrics: dict[str, tuple[float, str]]  # name -> (value, unit)
    place: Place | None = None  # None: it was refused, or nobody said
    system: str = ""  # the fact system/NAME has the packages of the system that built it


@dataclass(frozen=True)
class StoredRun:
    """A run as the store returns it: metrics by name, without their units."""

    id: int
    identity: str
    status: str
    cause: str
    metrics: dict[str, float]


@dataclass(frozen=True)
class CalibrationRecord:
    """Measured cycles of one operation: (its loop - the comparison loop) / iterations."""

    machine: str
    isa: str
    flavour: str
    engine: str
    cas_latency: int | None  # set latencies; None: the machine's own
    fence_latency: int | None
    op: str
    cycles: float
    run_id: int
    base_run_id: int  # the comparison loop


@dataclass(frozen=True)
class CrossoverRun:
    """One run behind a crossover: a lock's cost (cycles per pair) at a value of the axis."""

    run_id: int
    seed: int
    lock: str
    x: float
    cost: float


@dataclass(frozen=True)
class CrossoverSeed:
    """Where a crossover lies with one seed; None where there is none near the first seed's. Where
    the first seed has none at all: a value at which the other lock is the cheaper one."""

    seed: int
    value: float | None
    bracket_low: float | None
    bracket_high: float | None


@dataclass(frozen=True, kw_only=True)
class FirstSeeds:
    """Where lock_a and lock_b cost the same along an axis, or that they never do, by the first
    seed.

    `value` and the bracket are None unless the verdict is "crosses". `below` names the lock that
    is cheaper just below the crossing, or everywhere when one wins throughout ("" for a tie).
    """

    machine: str
    isa: str
    flavour: str
    setting: Mapping[str, int | float | str]  # held fixed: workload keys, threads, latencies
    axis: str
    unit: str
    lock_a: str
    lock_b: str
    low: float
    high: float
    tolerance: float
    verdict: str  # "crosses", "a_always", "b_always", "tie"
    below: str
    value: float | None
    bracket_low: float | None
    bracket_high: float | None


@dataclass(frozen=True, kw_only=True)
class CrossoverRecord(FirstSeeds):
    """A crossover as it is stored; `seeds` has each seed, the first among them."""

    engine: str
    workload: str
    runs: tuple[CrossoverRun, ...]
    seeds: tuple[CrossoverSeed, ...]


@dataclass(frozen=True)
class MachineRecord:
    """A machine as it was described when the runs were made (`description`: its whole file)."""

    name: str
    title: str
    description: Mapping[str, object]
