"""The one document of every question that is data: a TOML file that says which cells are run, along
which axes locks are searched for where they change places, who competes, and what is shown.

A sweep has cells alone; a study searches and shows; a question of runtimes' engineers says how its
answer is worded; the exploration has a grid that is checked between its points. A stored plan is
read back by the same model.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import BeforeValidator, Field, create_model, model_validator

from results.store.missing import FIRST_VARIANT, why_no_name
from sweeps.model.axes import AXES
from sweeps.model.axes import Axis as CellAxis
from sweeps.model.cell import NO_LOCK, Cell, invalid_reason, unsupported_reason
from sweeps.model.isa import FLAVOURS, ISAS
from sweeps.model.locks import FENCE_KINDS, LockLabel, Trait, load_locks
from sweeps.model.machine import HOST, MachineName, isas_of, known_machines
from sweeps.model.workloads import WORKLOADS, with_defaults
from sweeps.plans import SWEEPS, study
from sweeps.study import nodes
from sweeps.study.leads import TIE_PERCENT
from sweeps.study.lines import with_lock
from sweeps.support.text import quoted
from sweeps.support.toml import Document, Documents, parse

MAX_CELLS = 1_000_000  # a plan with more has a mistake in a range
_RANGE, _NUMBERS = {"from", "to", "step"}, {int, float}
_ALL, _NOT = "all", "not "
_SEVERAL = (_ALL, *Trait)  # words that stand for several locks

Value = TypeVar("Value")


def _as_list(value: Any) -> Any:
    """Return a list: a value is an axis of one point; { from, to, step } is a range that includes
    `to`."""
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
    """Return the field of a cell's axis in a sweep, as pydantic takes it: type and default."""
    kind: Any = Names
    if axis.quantity:
        kind = Axis[Annotated[int, Field(ge=axis.quantity.low, le=axis.quantity.high)]]
    if axis.name == "machine":
        kind = Annotated[list[MachineName], BeforeValidator(_as_names)]
    # Left out it is the machine's, the ISA's, or the plan's.
    if axis.optional or axis.name in ("isa", "flavour", "lock"):
        return (kind | None, None)
    return (kind, ... if axis.default is None else [axis.default])


_Axes = create_model("_Axes", __base__=Document, **{axis.name: _field(axis) for axis in AXES})


class Cells(_Axes):
    """One product of the axes of a cell. Defaults: every ISA of the machine; the first flavour of
    the ISA and the first variant of the lock ("all": each of them); a core for each thread; the
    machine's own latencies; the workload's own parameters. Latencies are in cycles.

    A `lock` may be "all", which stands for every lock that a workload of the cells allows, or a
    trait of locks.def, for those that have it in every variant; "not NAME" takes one away again.
    Without it all of the plan's locks run, each with the kinds of fence of the plan that it and the
    ISA allow. `name`: the series that the runs are stored as, one for each combination of values of
    the axes `apart`, which stand behind it. `totals`: keys of which each thread has its part,
    rounded up. `node`: where core 1 is in a machine's network, core 0 is at node 0; "all": at every
    other node.
    """

    name: str = ""
    apart: list[str] = []
    parameters: dict[str, Axis[int | float | str]] = Field({})
    totals: dict[str, Annotated[int, Field(ge=1)]] = {}
    node: Literal["all"] | Axis[Annotated[int, Field(ge=1)]] | None = None
    skip_unsupported: bool = False

    @model_validator(mode="after")
    def _known_names(self) -> Self:
        for engine in self.given("engine"):
            study.check_engine(engine)
        for key, known in (
            ("machine", [*known_machines(self.given("machine")), HOST]),
            ("isa", list(ISAS)),
            ("flavour", [_ALL, *FLAVOURS]),
            ("lock", [*load_locks(), *_SEVERAL]),
            ("fence", FENCE_KINDS),
            ("workload", list(WORKLOADS)),
        ):
            for value in self.words(key):
                if (value.removeprefix(_NOT) if key == "lock" else value) not in known:
                    raise ValueError(
                        f"{key}: {quoted(value)} is unknown; allowed are {', '.join(known)}"
                    )
        if not (locks := self.given("lock")) and self.words("lock"):
            raise ValueError("lock: what is given stands for no lock")
        own = [variant for lock in locks for variant in load_locks()[lock].variants]
        for variant in self.given("variant"):
            if variant not in ("", FIRST_VARIANT, _ALL, *own):
                known_to = f"{', '.join(locks)}: " + (", ".join(own) or "none")
                raise ValueError(f"variant: {quoted(variant)} is unknown; variants of {known_to}")
        for key in ("flavour", "variant"):
            if _ALL in self.given(key) and len(self.given(key)) > 1:
                raise ValueError(f"{key}: 'all' stands for every {key} and must stand alone")
        if self.node is not None:
            for machine, engine in itertools.product(self.given("machine"), self.given("engine")):
                for node in (found := self._nodes(machine)):
                    nodes.check(machine, node)
                study.check_engine(nodes.placed(engine, found[0]))
        return self

    def words(self, axis: str) -> list[Any]:
        """Return the values of an axis as the document has them; none where it has none."""
        return getattr(self, axis) or []

    def given(self, axis: str) -> list[Any]:
        """Return the values of an axis; none where the document has none. Of the locks those that
        its words stand for."""
        if axis != "lock":
            return self.words(axis)
        words, workloads = (list(map(str, self.words(key))) for key in ("lock", "workload"))
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
        """Yield every cell of the product, supported or not, in the order of the axes."""
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
            parts = {key: -(-total // chosen["threads"]) for key, total in self.totals.items()}
            parameters = with_defaults(chosen["workload"], {**point, **parts})
            for node in self._nodes(chosen["machine"]) if self.node else [None]:
                engine = chosen["engine"] if node is None else nodes.placed(chosen["engine"], node)
                yield Cell(**{**chosen, "engine": engine}, parameters=parameters)

    def size(self) -> int:
        """Return how many cells there are, where no axis stands for several values."""
        axes = [self.given(axis.name) for axis in AXES] + list(self.parameters.values())
        return math.prod(len(values) for values in axes if values)

    def _values(self, name: str, chosen: Mapping[str, Any]) -> Sequence[Any]:
        """Return the values of an axis; what some stand for depends on the axes before."""
        given, every = self.given(name), tuple[str, ...]()
        if name == "lock":
            return given or [NO_LOCK]
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

    def _nodes(self, machine: str) -> Sequence[int]:
        return range(1, nodes.network(machine).nodes) if self.node == "all" else self.node or ()


class Along(Document):
    """A search for where the locks of some cells change places along an axis: one search for each
    combination of values that `by` names. It has the values of the cells, and between them only
    multiples of `step` are tried. `words`: what the axis is."""

    cells: study.Text
    axis: study.Text
    by: list[str] = []
    tolerance: study.Above
    step: study.Above = 1
    unit: str = ""
    words: str = ""


class Quantity(Document):
    """A number of a run: a metric, less another one where `less` names it, for each of `per`, which
    is a metric or a key of the workload. `cost`: less of it is better."""

    title: study.Text
    unit: study.Text
    metric: study.Text
    less: str = ""
    per: str = ""
    cost: bool = False


class Show(Document):
    """A figure, and the tables of its numbers: `lines` along an axis, of the cells of a name, each
    quantity for each combination of what `by` names; or a `map` of one quantity over a network's
    nodes. `name`: of its file; `words`: what the axis is."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$")]
    lines: str = ""
    map: str = ""
    along: str = ""
    words: str = ""
    by: list[str] = []
    quantities: Annotated[list[str], study.Some]
    title: study.Text
    caption: study.Text

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if bool(self.lines) == bool(self.map) or bool(self.lines) != bool(self.along):
            raise ValueError("either `lines` with `along`, or `map`, names the cells")
        return self


class Check(Document):
    """Points between those of a grid that are run on each map, drawn with a seed."""

    points: Annotated[int, Field(ge=0, le=1000)]
    seed: int


class Calibration(Document):
    """Set latencies in cycles at which CAS and fence are measured."""

    latencies: study.Latencies


class Plan(Document):
    """The document. `locks` compete, `aside` can be added to them: `limits` says what those cannot
    do. `seeds`: of each search. `asked`, `setup`, `settings` and `answer` make it a question: where
    it was asked and by whom, what of the plan stands for what, the axes or keys by which a table's
    rows differ, and the answer's words as a Jinja2 template."""

    QUESTION: ClassVar = ("asked", "setup", "settings", "answer")

    title: study.Text
    cells: list[Cells] = []
    sweep: list[Cells] = []  # the former word for `cells`
    along: list[Along] = []
    quantities: dict[str, Quantity] = {}
    show: list[Show] = []
    locks: list[str] = []
    aside: list[str] = []
    fence_kinds: list[str] = []
    limits: dict[str, str] = {}
    seeds: study.Seeds = 1
    tie_percent: study.Percent = TIE_PERCENT
    calibration: Calibration | None = None
    check: Check | None = None
    asked: str = ""
    setup: str = ""
    settings: list[str] = []
    answer: str = ""

    @property
    def engines(self) -> list[str]:
        """Return the engines' labels, as the cells name them."""
        return [engine for cells in self.blocks.values() for engine in cells.given("engine")]

    @property
    def blocks(self) -> dict[str, Cells]:
        """Return all cells by where they stand in the document."""
        return {
            f"{word}.{number}": cells
            for word, some in (("cells", self.cells), ("sweep", self.sweep))
            for number, cells in enumerate(some)
        }

    def named(self, name: str) -> list[Cells]:
        """Return the cells of a name."""
        return [cells for cells in self.blocks.values() if cells.name == name]

    def labels(self, flavour: str) -> list[LockLabel]:
        """Return the plan's locks with every kind of fence of it that they and the ISA allow."""
        return study.labels(flavour, [*self.locks, *self.aside], self.fence_kinds)

    def cells_of(self, of: Cells) -> list[Cell]:
        """Return the cells of a product, supported or not, in the order of its axes: each once."""
        if of.words("lock"):
            return list(of.cells())
        every = (
            with_lock(cell, label, cell.seed)
            for cell in of.cells()
            for label in self.labels(cell.flavour)
        )
        return list(dict.fromkeys(every))

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if not self.blocks:
            raise ValueError("cells: missing")
        study.check_known(
            (
                ("locks", [*self.locks, *self.aside], load_locks()),
                ("fence_kinds", self.fence_kinds, study.OTHER_FENCES),
                ("limits", self.limits, self.aside),
                ("along.cells", [one.cells for one in self.along], self._names()),
                ("show", [one.lines or one.map for one in self.show], self._names()),
                ("show", [x for one in self.show for x in one.quantities], self.quantities),
            )
        )
        for where, cells in self.blocks.items():
            if not (cells.words("lock") or self.locks):
                raise ValueError(f"{where}.lock: missing")
        said = [key for key in self.QUESTION if getattr(self, key)]
        if said and (missing := [key for key in self.QUESTION if key not in said]):
            raise ValueError(f"{missing[0]}: missing; a question has {', '.join(self.QUESTION)}")
        return self

    def _names(self) -> list[str]:
        return [cells.name for cells in self.blocks.values() if cells.name]


@dataclass(frozen=True)
class LoadedPlan:
    """A plan, its name (its file's) and its cells, refused ones included."""

    name: str
    plan: Plan
    cells: list[Cell]

    @property
    def title(self) -> str:
        """Return the plan's title."""
        return self.plan.title


def load_plan(
    name: str,
    documents: Documents = SWEEPS,
    check: Callable[[LoadedPlan], object] = lambda _: None,
) -> LoadedPlan:
    """Read a plan by its name among some documents, or by its path. `check`: raises ValueError for
    one that its question cannot take.

    Raises LockcrossError (exit code 2) that names file, key, value and what is allowed.
    """

    def read(text: str) -> LoadedPlan:
        plan, own = parse_plan(text), documents.path(name).stem
        if why := why_no_name(own):
            raise ValueError(f"the file's name: {why}")
        loaded = LoadedPlan(own, plan, expand(plan))
        check(loaded)
        return loaded

    return documents.read(read, name)


def parse_plan(text: str) -> Plan:
    """Read a plan from TOML. Raises ValueError that names the key, the value, what is allowed."""
    return parse(Plan, text)


def expand(plan: Plan) -> list[Cell]:
    """Return the cells of a plan. Raises ValueError for unsupported cells that are not to be
    skipped, and for products without a supported cell."""
    cells: list[Cell] = []
    for where, sweep in plan.blocks.items():
        if (size := sweep.size()) > MAX_CELLS:
            raise ValueError(f"{where}: {size} cells; a plan has {MAX_CELLS} at most")
        product = plan.cells_of(sweep)
        if why := next(filter(None, map(invalid_reason, product)), ""):
            raise ValueError(f"{where}.{why}")
        reasons = [why for why in map(unsupported_reason, product) if why]
        if reasons and not sweep.skip_unsupported:
            raise ValueError(
                f"{where}.{reasons[0]}\n  ({len(reasons)} of {len(product)} cells are unsupported; "
                "with skip_unsupported = true they are stored as refused and the others run)"
            )
        if len(reasons) == len(product):
            raise ValueError(f"{where}.{reasons[0]}\n  (no cell of this product is supported)")
        cells += product
    return cells
