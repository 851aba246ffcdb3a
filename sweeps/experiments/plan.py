"""Plans: sweeps/plans/*.toml, products of axes that become cells."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from results.errors import LockcrossError
from sweeps.engines import load_engine
from sweeps.model.bounds import MAX_LATENCY, MAX_SEED
from sweeps.model.cells import Cell, invalid_reason, unsupported_reason
from sweeps.model.isa import FENCE_KINDS, ISAS
from sweeps.model.locks import load_locks
from sweeps.model.machine import load_machine, machine_names
from sweeps.model.workloads import MAX_THREADS, WORKLOADS
from sweeps.support.files import head
from sweeps.support.paths import PLANS
from sweeps.support.text import shortened, shown
from sweeps.support.toml import parse

MAX_CELLS = 1_000_000  # a plan with more is a slip of a range
_MAX_FILE = 1_000_000  # bytes of a plan
_MAX_MESSAGE = 10_000  # characters
_RANGE = {"from", "to", "step"}

Value = TypeVar("Value")


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def _as_list(value: Any) -> Any:
    """A value is an axis of one point; { from, to, step } one of whole numbers, with `to`."""
    if isinstance(value, dict):
        if set(value) != _RANGE or not all(type(number) is int for number in value.values()):
            raise ValueError("a range is { from = N, to = N, step = N }, all whole numbers")
        if value["step"] < 1 or value["to"] < value["from"]:
            raise ValueError("a range needs step >= 1 and to >= from")
        if (value["to"] - value["from"]) // value["step"] >= MAX_CELLS:
            raise ValueError(f"more than {MAX_CELLS} points")
        value = list(range(value["from"], value["to"] + 1, value["step"]))
    elif not isinstance(value, list):
        value = [value]
    if not value:
        raise ValueError("an empty axis; give a value, a list of them, or a range")
    plain = [point if isinstance(point, int | str) else str(point) for point in value]
    if len({(type(point), point) for point in plain}) != len(value):
        raise ValueError("a value stands twice")
    return value


def _as_names(value: Any) -> Any:
    """As _as_list, but for text, of which there are no ranges."""
    if isinstance(value, dict):
        raise ValueError("a range is of whole numbers; give a text or a list of texts")
    return _as_list(value)


Axis = Annotated[list[Value], BeforeValidator(_as_list)]
Names = Annotated[list[str], BeforeValidator(_as_names)]
Cycles = Annotated[int, Field(ge=0, le=MAX_LATENCY)]
Threads = Annotated[int, Field(ge=1, le=MAX_THREADS)]
Seed = Annotated[int, Field(ge=0, le=MAX_SEED)]
_AXES = (
    "engine", "machine", "isa", "flavour", "lock", "variant", "fence", "workload", "threads",
    "cores", "cas", "fence_latency", "cancel", "seed",
)  # fmt: skip


class Sweep(_Table):
    """One product of axes. Latencies are in cycles; None leaves the machine's own."""

    engine: Names = ["qemu"]
    machine: Names
    isa: Names | None = None  # None: every ISA of the machine
    flavour: Names | None = None  # None: the ISA's first; "all": each of the ISA's
    lock: Names
    variant: Names | None = None  # None: the lock's first; "all": each of the lock's
    fence: Names = ["full"]
    workload: Names
    parameters: dict[str, Axis[int | str]] = {}
    threads: Axis[Threads] = [1]
    cores: Axis[Threads] | None = None  # None: a core a thread
    cas: Axis[Cycles] | None = None
    fence_latency: Axis[Cycles] | None = None
    cancel: Axis[Cycles] | None = None
    seed: Axis[Seed] = [1]
    # Plans of earlier versions say skip_impossible.
    skip_unsupported: bool = Field(
        False, validation_alias=AliasChoices("skip_unsupported", "skip_impossible")
    )

    @model_validator(mode="after")
    def _known_names(self) -> Self:
        for engine in self.engine:
            try:
                load_engine(engine)
            except LockcrossError as error:
                raise ValueError(f"engine: {error.message}") from None
        for key, known in (
            ("machine", machine_names()),
            ("isa", list(ISAS)),
            ("flavour", ["all", *itertools.chain(*(isa.flavours for isa in ISAS.values()))]),
            ("lock", list(load_locks())),
            ("fence", FENCE_KINDS),
            ("workload", list(WORKLOADS)),
        ):
            for value in getattr(self, key) or []:
                if value not in known:
                    raise ValueError(
                        f"{key}: {shown(value)} is unknown; allowed are {', '.join(known)}"
                    )
        own = list(itertools.chain(*(load_locks()[lock].variants for lock in self.lock)))
        for variant in self.variant or []:
            if variant not in ("", "all", *own):
                known_to = f"{', '.join(self.lock)}: " + (", ".join(own) or "none")
                raise ValueError(f"variant: {shown(variant)} is unknown; variants of {known_to}")
        for key in ("flavour", "variant"):
            values = getattr(self, key) or []
            if "all" in values and len(values) > 1:
                raise ValueError(f"{key}: 'all' stands for every {key} and must stand alone")
        return self

    def cells(self) -> Iterator[Cell]:
        """Every cell of the product, possible or not, in the order of the axes."""
        names = list(self.parameters)
        for engine, machine in itertools.product(self.engine, self.machine):
            for isa in self.isa or load_machine(machine).isas:
                for flavour, lock in itertools.product(self._flavours(isa), self.lock):
                    for (
                        variant, fence, workload, threads, cores, cas, fence_latency, cancel, seed,
                    ) in (
                        itertools.product(
                            self._variants(lock), self.fence, self.workload, self.threads,
                            _or_own(self.cores), _or_own(self.cas), _or_own(self.fence_latency),
                            _or_own(self.cancel), self.seed,
                        )
                    ):  # fmt: skip
                        for point in itertools.product(*self.parameters.values()):
                            yield Cell(
                                engine, machine, isa, flavour, lock, fence, workload,
                                dict(zip(names, point, strict=True)), threads, cas, fence_latency,
                                cancel, seed, variant, cores,
                            )  # fmt: skip

    def _flavours(self, isa: str) -> list[str]:
        if self.flavour is None:
            return [ISAS[isa].flavours[0]]
        return list(ISAS[isa].flavours) if self.flavour == ["all"] else self.flavour

    def _variants(self, lock: str) -> list[str]:
        """As cells have them: "" is the lock's first."""
        own = load_locks()[lock].variants if lock in load_locks() else ()
        wanted = list(own or [""]) if self.variant == ["all"] else self.variant or [""]
        return ["" if own and name == own[0] else name for name in wanted]


def _or_own(axis: list[int] | None) -> Sequence[int | None]:
    return [None] if axis is None else axis


class Plan(_Table):
    """A file of sweeps."""

    title: str = Field(min_length=1)
    sweep: list[Sweep] = Field(min_length=1)


@dataclass(frozen=True)
class LoadedPlan:
    """A plan's name (its file's), title and cells, refused ones included."""

    name: str
    title: str
    cells: list[Cell]


def plan_names() -> list[str]:
    """The names of the plans in sweeps/plans, sorted."""
    return sorted(path.stem for path in PLANS.glob("*.toml"))


def load_plan(name: str) -> LoadedPlan:
    """Reads a plan by its name in sweeps/plans or by its path.

    Raises LockcrossError (exit code 2) that names file, key, value and what is allowed.
    """
    path = PLANS / f"{name}.toml" if name in plan_names() else Path(name)
    try:
        text = head(path, _MAX_FILE + 1).decode()
    except FileNotFoundError:
        raise LockcrossError(
            f"plan {name!r}: there is no such file, and the plans in sweeps/plans are "
            f"{', '.join(plan_names())}"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise LockcrossError(f"plan {name!r} cannot be read: {why}") from None
    if len(text) > _MAX_FILE:
        raise LockcrossError(f"plan {name!r} is larger than a plan may be, {_MAX_FILE} bytes")
    try:
        plan = parse_plan(text)
        return LoadedPlan(path.stem, plan.title, expand(plan))
    except ValueError as error:
        raise LockcrossError(shortened(f"{path.name}: {error}", _MAX_MESSAGE)) from None


def parse_plan(text: str) -> Plan:
    """Reads a plan from TOML. Raises ValueError that names the key, the value, what is allowed."""
    return parse(Plan, text)


def expand(plan: Plan) -> list[Cell]:
    """The cells of a plan. Raises ValueError for those that are impossible and not to be skipped,
    and for sweeps of which nothing is possible."""
    cells: list[Cell] = []
    for number, sweep in enumerate(plan.sweep):
        where = f"sweep.{number}"
        if (size := _size(sweep)) > MAX_CELLS:
            raise ValueError(f"{where}: {size} cells; a plan has {MAX_CELLS} at most")
        product = list(sweep.cells())
        if why := next(filter(None, map(invalid_reason, product)), ""):
            raise ValueError(f"{where}.{why}")
        reasons = [why for why in map(unsupported_reason, product) if why]
        if reasons and not sweep.skip_unsupported:
            raise ValueError(
                f"{where}.{reasons[0]}\n  ({len(reasons)} of {len(product)} cells are impossible; "
                "with skip_unsupported = true they are stored as refused and the others run)"
            )
        if len(reasons) == len(product):
            raise ValueError(f"{where}.{reasons[0]}\n  (no cell of this sweep is possible)")
        cells += product
    return cells


def _size(sweep: Sweep) -> int:
    axes = [getattr(sweep, name) for name in _AXES] + list(sweep.parameters.values())
    return math.prod(len(axis) for axis in axes if axis)
