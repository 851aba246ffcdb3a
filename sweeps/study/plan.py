"""The one document of every question that is data: a TOML file that says which cells are run, along
which axes locks are searched for where they change places, who competes, and which figures are
shown.

A sweep has cells alone; a study searches and shows; the main job is a study of winner maps; a
question of runtimes' engineers says how its answer is worded; the exploration has a grid that is
checked between its points. A stored plan is read back by the same model. That its names are known
is asked when it is loaded to be run (`check_names`), since machines and locks come and go.
"""

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, create_model, model_validator

from results.errors import LockcrossError
from results.store.former_study import current_study
from results.store.missing import FIRST_VARIANT, why_no_name
from sweeps.engines.base import load_engine
from sweeps.model.axes import AXES, MAX_LATENCY
from sweeps.model.axes import Axis as CellAxis
from sweeps.model.cell import NO_LOCK, Cell, invalid_reason, unsupported_reason
from sweeps.model.isa import FLAVOURS, ISAS, isa_of
from sweeps.model.locks import FENCE_KINDS, FULL, LockLabel, Trait, load_locks
from sweeps.model.machine import HOST, MachineName, isas_of, known_machines
from sweeps.model.workloads import WORKLOADS, with_defaults
from sweeps.plans import SWEEPS
from sweeps.study import nodes
from sweeps.study.leads import TIE_PERCENT
from sweeps.study.lines import with_lock
from sweeps.support.text import quoted
from sweeps.support.toml import Document, Documents, parse

MAX_CELLS = 1_000_000  # a plan with more has a mistake in a range
_RANGE, _NUMBERS = {"from", "to", "step"}, {int, float}
_ALL, _NOT = "all", "not "
PRODUCTION = "production"  # the fence that a plan says is a flavour's in production
MAP = "map"  # the cells of the winner maps of a main job
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


def _rising(values: list[float]) -> list[float]:
    if sorted(set(values)) != values:
        raise ValueError("values must rise, each given once")
    return values


Latency = Annotated[int, Field(ge=0, le=MAX_LATENCY)]
Above = Annotated[int | float, Field(gt=0)]
Text = Annotated[str, Field(min_length=1)]
Some, Several, Rising = Field(min_length=1), Field(min_length=2), AfterValidator(_rising)
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
    ISA allow. A `fence` may be "production": the kind that the plan names for the flavour, for the
    locks that have it. `name`: the series that the runs are stored as, one for each combination of
    values of the axes `apart`, which stand behind it. `totals`: keys of which each thread has its
    part, rounded up. `node`: where core 1 is in a machine's network, core 0 is at node 0; "all": at
    every other node.
    """

    name: str = ""
    apart: list[str] = []
    parameters: dict[str, Axis[int | float | str]] = Field({})
    totals: dict[str, Annotated[int, Field(ge=1)]] = {}
    node: Literal["all"] | Axis[Annotated[int, Field(ge=1)]] | None = None
    skip_unsupported: bool = False

    def check_names(self) -> None:
        """Raise ValueError for a name that is none of those known here."""
        for engine in self.given("engine"):
            check_engine(engine)
        for key, known in (
            ("machine", [*known_machines(self.given("machine")), HOST]),
            ("isa", list(ISAS)),
            ("flavour", [_ALL, *FLAVOURS]),
            ("lock", [*load_locks(), *_SEVERAL]),
            ("fence", [*FENCE_KINDS, PRODUCTION]),
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
        for key, word in (("flavour", _ALL), ("variant", _ALL), ("fence", PRODUCTION)):
            if word in self.given(key) and len(self.given(key)) > 1:
                raise ValueError(f"{key}: '{word}' stands for every {key} and must stand alone")
        if self.node is not None:
            for machine, engine in itertools.product(self.given("machine"), self.given("engine")):
                for node in (found := self._nodes(machine)):
                    nodes.check(machine, node)
                check_engine(nodes.placed(engine, found[0]))

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

    def first(self, name: str) -> Any:
        """Return the first value of an axis, or of a key of the workload."""
        return (self.parameters.get(name) or self.given(name))[0]

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

    def settings(self) -> Iterator[Cell]:
        """Yield the cells without their locks, which are still to be named."""
        return self.model_copy(update={"lock": None, "variant": [""], "fence": [FULL]}).cells()

    def size(self) -> int:
        """Return how many cells there are, where no axis stands for several values."""
        axes = [self.given(axis.name) for axis in AXES] + list(self.parameters.values())
        return math.prod(len(values) for values in axes if values)

    def _values(self, name: str, chosen: Mapping[str, Any]) -> Sequence[Any]:
        """Return the values of an axis; the meaning of some depends on the axes before."""
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
    combination of values that `by` names, and of those that the cells are `apart` in. It has the
    values of the cells, and between them only multiples of `step` are tried; with `values` these,
    everything else as in the cells, with the machine's figure on each axis that they vary.
    `fences`: for the plan's `locks` alone, each two with such fences ("production", "full");
    `cancels`: of each two one cancels. `words`: the name of the axis.
    """

    cells: Text
    axis: Text
    by: list[str] = []
    values: Annotated[list[Annotated[int | float, Field(ge=0)]], Several, Rising] | None = None
    tolerance: Above
    step: Above = 1
    fences: list[Literal["production", "full"]] = []
    cancels: bool = False
    unit: str = ""
    words: str = ""

    @model_validator(mode="after")
    def _multiples(self) -> Self:
        for value in (*(self.values or ()), self.tolerance):
            if self.values and Fraction(str(value)) % Fraction(str(self.step)):
                raise ValueError(f"{value:g} is no multiple of step {self.step:g}")
        return self


class Borders(Document):
    """A search, with the first seed, between neighbours on the grid of some cells over two `axes`
    that different ones of the plan's `locks` win: with full fences alone, and with every kind."""

    cells: Text
    axes: Annotated[list[str], Field(min_length=2, max_length=2)]
    tolerance: Above


class Quantity(Document):
    """A number of a run: a metric, less another one where `less` names it, for each of `per`, which
    is a metric or a key of the workload. `cost`: less of it is better."""

    title: Text
    unit: Text
    metric: Text
    less: str = ""
    per: str = ""
    cost: bool = False


class Show(Document):
    """A figure, and the tables of its numbers: `lines` along an axis, of the cells of a name, each
    quantity for each combination of the values in `by`; or a `map` of one quantity over a network's
    nodes. `name`: of its file; `words`: the name of the axis."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$")]
    lines: str = ""
    map: str = ""
    along: str = ""
    words: str = ""
    by: list[str] = []
    quantities: Annotated[list[str], Some]
    title: Text
    caption: Text

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
    """Set latencies in cycles at which CAS and fence are measured. `cells`: of which machines are
    calibrated; left out, of all cells."""

    cells: list[str] = []
    latencies: Annotated[list[Latency], Several, Rising]


class Plan(Document):
    """The document. `locks` compete, `aside` can be added to them: `limits` names the things that
    those cannot do. `production`: the kind of fence of a flavour, where it is not the full one.
    `seeds`: of each search. Cells of the name `map` make it a main job, of which a database has
    one. `asked`, `setup`, `settings` and `answer` make it a question: where it was asked and by
    whom, which words stand for which part of the plan, the axes or keys by which a table's rows
    differ, and the answer's words as a Jinja2 template."""

    QUESTION: ClassVar = ("asked", "setup", "settings", "answer")

    title: Text
    cells: list[Cells] = []
    sweep: list[Cells] = []  # the former word for `cells`
    along: list[Along] = []
    borders: list[Borders] = []
    quantities: dict[str, Quantity] = {}
    show: list[Show] = []
    locks: list[str] = []
    aside: list[str] = []
    fence_kinds: list[str] = []
    production: dict[str, str] = {}
    limits: dict[str, str] = {}
    seeds: Annotated[int, Field(ge=1, le=100)] = 1
    tie_percent: Annotated[float, Field(ge=0, le=100)] = TIE_PERCENT
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
    def engine(self) -> str:
        """Return the engine's label of its first cells."""
        return self.engines[0]

    @property
    def machines(self) -> list[str]:
        """Return the machines that it has winner maps of, its own first."""
        return [machine for cells in self.named(MAP) for machine in cells.given("machine")]

    @property
    def machine(self) -> str:
        """Return the first of them, which real processors are marked on the map of."""
        return self.machines[0]

    @property
    def tie(self) -> float:
        """Return the lead, as a share of the next lock's cost, below which two locks tie."""
        return self.tie_percent / 100

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
        return labels(flavour, [*self.locks, *self.aside], self.fence_kinds)

    def contest(self, flavour: str, fences: str, locks: Sequence[str] = ()) -> list[LockLabel]:
        """Return some locks, or those that compete, with the fences of production, or full ones."""
        kind = self.production.get(flavour, FULL) if fences == PRODUCTION else FULL
        return labels(flavour, locks or self.locks, [], kind)

    def cells_of(self, of: Cells) -> list[Cell]:
        """Return the cells of a product, supported or not, in the order of its axes: each once."""
        return list(dict.fromkeys(cell for _, cell in self.points_of(of)))

    def points_of(self, of: Cells) -> Iterator[tuple[Cell, Cell]]:
        """Yield each point of a product, as its axes are set, and the cell that is run for it: one
        serves for all latencies that its lock never pays."""
        produced, given = of.given("fence") == [PRODUCTION], of.given("lock")
        if given and not produced:
            yield from ((cell, cell) for cell in of.cells())
            return

        def named(flavour: str) -> list[LockLabel]:
            every = given or [*self.locks, *self.aside]
            return self.contest(flavour, PRODUCTION, every) if produced else self.labels(flavour)

        for point in of.settings():
            for label in named(point.flavour):
                yield point, with_lock(point, label, point.seed)

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if not self.blocks:
            raise ValueError("cells: missing")
        names = self._names()
        check_known(
            (
                ("limits", self.limits, self.aside),
                ("calibration.cells", self.calibration.cells if self.calibration else [], names),
                ("along.cells", [one.cells for one in self.along], names),
                ("borders.cells", [one.cells for one in self.borders], names),
                ("show", [one.lines or one.map for one in self.show], names),
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


def labels(
    flavour: str, locks: Sequence[str], fence_kinds: Sequence[str], first: str = FULL
) -> list[LockLabel]:
    """Return lock labels with the `first` kind of fence, full ones where a lock has no choice, then
    with every other kind that lock and ISA allow (interfaces, 8)."""
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


def check_names(plan: Plan) -> None:
    """Raise ValueError, a line for each mistake, for names that are none of those known here."""
    other_fences = [kind for kind in FENCE_KINDS if kind != FULL]
    mistakes = []
    for where, cells in plan.blocks.items():
        try:
            cells.check_names()
        except ValueError as error:
            mistakes.append(f"{where}: {error}")
    if mistakes:
        raise ValueError("\n  ".join(mistakes))
    check_known(
        (
            ("locks", [*plan.locks, *plan.aside], load_locks()),
            ("fence_kinds", plan.fence_kinds, other_fences),
            ("production", plan.production, FLAVOURS),
            ("production", plan.production.values(), other_fences),
        )
    )


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

    Raises LockcrossError (exit code 2) that names file, key, value and the allowed ones.
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
    """Read a plan from TOML. Raises ValueError that names the key, the value, the allowed ones."""
    check_names(plan := parse(Plan, text, current_study))
    return plan


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
