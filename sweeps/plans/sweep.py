"""Plans: sweeps/plans/*.toml, products of axes that become cells."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, Self, TypeVar

from pydantic import BeforeValidator, Field, create_model, model_validator

from results.store.missing import FIRST_VARIANT, why_no_name
from sweeps.model.axes import AXES
from sweeps.model.axes import Axis as CellAxis
from sweeps.model.cell import Cell, invalid_reason, unsupported_reason
from sweeps.model.isa import FLAVOURS, ISAS
from sweeps.model.locks import FENCE_KINDS, Trait, load_locks
from sweeps.model.machine import HOST, MachineName, isas_of, known_machines
from sweeps.model.workloads import WORKLOADS, with_defaults
from sweeps.plans import SWEEPS
from sweeps.plans.study import check_engine
from sweeps.support.text import quoted
from sweeps.support.toml import Document, parse

MAX_CELLS = 1_000_000  # a plan with more has a mistake in a range
_RANGE, _NUMBERS = {"from", "to", "step"}, {int, float}
_ALL, _NOT = "all", "not "
_SEVERAL = (_ALL, *Trait)  # words that stand for several locks

Value = TypeVar("Value")


def _as_list(value: Any) -> Any:
    """A value is an axis of one point; { from, to, step } is a range that includes `to`."""
    if isinstance(value, dict):
        if set(value) != _RANGE or not {type(number) for number in value.values()} <= _NUMBERS:
            raise ValueError("a range is { from = N, to = N, step = N }, all of them numbers")
        kind = int if {type(number) for number in value.values()} == {int} else float
        low, high, step = (Fraction(str(value[end])) for end in ("from", "to", "step"))
        if step <= 0 or high < low:
            raise ValueError("a range needs a step above 0 and to >= from")
        if (high - low) // step >= MAX_CELLS:
            raise ValueError(f"more than {MAX_CELLS} points")
        value = [kind(low + n * step) for n in range((high - low) // step + 1)]
    elif not isinstance(value, list):
        value = [value]
    if not value:
        raise ValueError("an empty axis; give a value, a list of them, or a range")
    plain = [point if isinstance(point, int | str) else str(point) for point in value]
    if len({(type(point), point) for point in plain}) != len(value):
        raise ValueError("a value is given twice")
    return value


def _as_names(value: Any) -> Any:
    """As _as_list, but for text, of which there are no ranges."""
    if isinstance(value, dict):
        raise ValueError("ranges are for whole numbers; give a text or a list of texts")
    return _as_list(value)


Axis = Annotated[list[Value], BeforeValidator(_as_list)]
Names = Annotated[list[str], BeforeValidator(_as_names)]


def _field(axis: CellAxis) -> Any:
    """The field of a cell's axis in a sweep, as pydantic takes it: type and default."""
    kind: Any = Names
    if axis.quantity:
        kind = Axis[Annotated[int, Field(ge=axis.quantity.low, le=axis.quantity.high)]]
    if axis.name == "machine":
        kind = Annotated[list[MachineName], BeforeValidator(_as_names)]
    if axis.optional or axis.name in ("isa", "flavour"):  # the machine's, and the ISA's
        return (kind | None, None)
    return (kind, ... if axis.default is None else [axis.default])


_Axes = create_model("_Axes", __base__=Document, **{axis.name: _field(axis) for axis in AXES})


class Sweep(_Axes):
    """One product of the axes of a cell. Defaults: every ISA of the machine; the first flavour of
    the ISA and the first variant of the lock ("all": each of them); a core for each thread; the
    machine's own latencies; the workload's own parameters. Latencies are in cycles.

    A `lock` may be "all", which stands for every lock that a workload of the sweep allows, or a
    trait of locks.def, for those that have it in every variant; "not NAME" takes one away again.
    """

    parameters: dict[str, Axis[int | float | str]] = Field({})
    skip_unsupported: bool = False

    @model_validator(mode="after")
    def _known_names(self) -> Self:
        for engine in self.given("engine"):
            check_engine(engine)
        for key, known in (
            ("machine", [*known_machines(self.given("machine")), HOST]),
            ("isa", list(ISAS)),
            ("flavour", [_ALL, *FLAVOURS]),
            ("lock", [*load_locks(), *_SEVERAL]),
            ("fence", FENCE_KINDS),
            ("workload", list(WORKLOADS)),
        ):
            for value in getattr(self, key) or []:
                if (value.removeprefix(_NOT) if key == "lock" else value) not in known:
                    raise ValueError(
                        f"{key}: {quoted(value)} is unknown; allowed are {', '.join(known)}"
                    )
        if not (locks := self.given("lock")):
            raise ValueError("lock: what is given stands for no lock")
        own = [variant for lock in locks for variant in load_locks()[lock].variants]
        for variant in self.given("variant"):
            if variant not in ("", FIRST_VARIANT, _ALL, *own):
                known_to = f"{', '.join(locks)}: " + (", ".join(own) or "none")
                raise ValueError(f"variant: {quoted(variant)} is unknown; variants of {known_to}")
        for key in ("flavour", "variant"):
            if _ALL in self.given(key) and len(self.given(key)) > 1:
                raise ValueError(f"{key}: 'all' stands for every {key} and must stand alone")
        return self

    def given(self, axis: str) -> list[Any]:
        """The values of an axis as the plan gives them; none where it gives none. Of the locks
        those that its words stand for."""
        if axis != "lock":
            return getattr(self, axis) or []
        words, workloads = (list(map(str, getattr(self, key))) for key in ("lock", "workload"))
        kinds = [WORKLOADS[name] for name in workloads if name in WORKLOADS]
        chosen: dict[str, None] = {}  # a set, in order
        for word in words:
            if word.startswith(_NOT):
                chosen.pop(word.removeprefix(_NOT), None)
            elif word in _SEVERAL:
                chosen |= {
                    name: None
                    for name, lock in load_locks().items()
                    if any(not kind.locks or name in kind.locks for kind in kinds)
                    and (word == _ALL or lock.has(Trait(word)))
                }
            else:
                chosen[word] = None
        return list(chosen)

    def cells(self) -> Iterator[Cell]:
        """Every cell of the product, supported or not, in the order of the axes."""
        points = [
            dict(zip(self.parameters, point, strict=True))
            for point in itertools.product(*self.parameters.values())
        ]
        choices: list[dict[str, Any]] = [{}]
        for axis in AXES:
            choices = [
                chosen | {axis.name: value}
                for chosen in choices
                for value in self._values(axis.name, chosen)
            ]
        for chosen, point in itertools.product(choices, points):
            yield Cell(**chosen, parameters=with_defaults(chosen["workload"], point))

    def size(self) -> int:
        """How many cells there are, where no axis stands for several values."""
        axes = [self.given(axis.name) for axis in AXES] + list(self.parameters.values())
        return math.prod(len(values) for values in axes if values)

    def _values(self, name: str, chosen: Mapping[str, Any]) -> Sequence[Any]:
        """The values of an axis; what some stand for depends on the axes before."""
        given, every = self.given(name), tuple[str, ...]()
        if name == "isa":
            return given or isas_of(chosen["machine"])
        if name == "flavour":
            every = ISAS[chosen["isa"]].flavours
            return every if given == [_ALL] else given or every[:1]
        if name == "variant":
            every = load_locks()[chosen["lock"]].variants or ("",)
            wanted = every if given == [_ALL] else given
            return ["" if variant in (every[0], FIRST_VARIANT) else variant for variant in wanted]
        return given or [None]


class Plan(Document):
    """A file of sweeps."""

    title: str = Field(min_length=1)
    sweep: list[Sweep] = Field(min_length=1)


@dataclass(frozen=True)
class LoadedPlan:
    """A plan's name (its file's), title and cells, refused ones included."""

    name: str
    title: str
    cells: list[Cell]


def load_plan(name: str) -> LoadedPlan:
    """Reads a plan by its name in sweeps/plans or by its path.

    Raises LockcrossError (exit code 2) that names file, key, value and what is allowed.
    """

    def read(text: str) -> LoadedPlan:
        plan, own = parse_plan(text), SWEEPS.path(name).stem
        if why := why_no_name(own):
            raise ValueError(f"the file's name: {why}")
        return LoadedPlan(own, plan.title, expand(plan))

    return SWEEPS.read(read, name)


def parse_plan(text: str) -> Plan:
    """Reads a plan from TOML. Raises ValueError that names the key, the value, what is allowed."""
    return parse(Plan, text)


def expand(plan: Plan) -> list[Cell]:
    """The cells of a plan. Raises ValueError for unsupported cells that are not to be skipped, and
    for sweeps without a supported cell."""
    cells: list[Cell] = []
    for number, sweep in enumerate(plan.sweep):
        where = f"sweep.{number}"
        if (size := sweep.size()) > MAX_CELLS:
            raise ValueError(f"{where}: {size} cells; a plan has {MAX_CELLS} at most")
        product = list(sweep.cells())
        if why := next(filter(None, map(invalid_reason, product)), ""):
            raise ValueError(f"{where}.{why}")
        reasons = [why for why in map(unsupported_reason, product) if why]
        if reasons and not sweep.skip_unsupported:
            raise ValueError(
                f"{where}.{reasons[0]}\n  ({len(reasons)} of {len(product)} cells are unsupported; "
                "with skip_unsupported = true they are stored as refused and the others run)"
            )
        if len(reasons) == len(product):
            raise ValueError(f"{where}.{reasons[0]}\n  (no cell of this sweep is supported)")
        cells += product
    return cells
