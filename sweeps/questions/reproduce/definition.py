"""Definitions of reproductions, sweeps/plans/reproductions/*.toml: which published numbers are
compared with which runs. Axes in `each` multiply a cell or a row; `{axis}` in its texts is the
value."""

import itertools
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from results import published as paper
from results.errors import LockcrossError
from results.paths import ROOT
from results.published import Published
from sweeps.model import engines
from sweeps.model.cell import Cell
from sweeps.model.cells import invalid_reason, unsupported_reason
from sweeps.model.isa import ISAS
from sweeps.model.label import LockLabel
from sweeps.model.machine import load_machine, machine_names
from sweeps.model.workloads import with_defaults
from sweeps.plans import REPRODUCTIONS
from sweeps.questions.reproduce.answer import Plot, Reproduction
from sweeps.questions.reproduce.macro import MacroPlan, macro_cells, macro_rows
from sweeps.questions.reproduce.planned import (
    CLOCK,
    Measured,
    PlannedReproduction,
    PlannedRow,
    check,
    identifier,
    in_words,
)
from sweeps.support import toml
from sweeps.support.toml import Document

Value = int | str
Each = dict[str, list[Value]]


class Source(Document):
    """Where a published number is from: a cell of a table, or what the text states. `over_...`
    divides it by another one (of a table: `over_row` and `over_column`, each the same if left out).
    `factor` converts it to the unit of the row."""

    table: str = ""
    row: str = ""
    column: str = ""
    over_row: str = ""
    over_column: str = ""
    stated: str = ""
    over_stated: str = ""
    factor: float = 1.0

    def look_up(self, document: str) -> Published:
        """The published number. Raises KeyError where there is none."""
        if self.stated:
            found = paper.stated(document, self.stated)
            if self.over_stated:
                base = paper.stated(document, self.over_stated).value
                if found.value is None or not base:
                    raise KeyError(f"{self.stated} over {self.over_stated}: not two numbers")
                found = Published(found.value / base, found.value / base)
            return found
        one = paper.table(self.table)
        value = float(one.number(self.row, self.column))
        if self.over_row or self.over_column:
            value /= float(one.number(self.over_row or self.row, self.over_column or self.column))
        return Published(value * self.factor, value * self.factor)


class CellPlan(Document):
    """A run and its name in expressions, where it stands for `metric`. `lock` is a lock label."""

    name: str = Field(min_length=1)
    each: Each = {}
    machine: str = ""
    isa: str = ""
    lock: str
    workload: str
    parameters: dict[str, Value] = {}
    threads: Value = 1
    cores: Value | None = None
    cancel: int | None = None
    metric: str = "cycles_per_pair"


class RowPlan(Document):
    """A row: `ours` is an expression over the names of cells (expression.py). A negative tolerance
    asks for a margin: `at least 1` by 10 % is 1.1."""

    label: str = Field(min_length=1)
    each: Each = {}
    published: Source | None = None
    ours: str
    tolerance: Annotated[float, Field(ge=-1, le=1)] | None = None
    series: str = ""
    x: str = ""
    group: str = ""
    note: str = ""


class PlotPlan(Document):
    """As sweeps.questions.reproduce.answer.Plot."""

    kind: Literal["bars", "lines"]
    x: str = ""
    y: str
    log: bool = False
    low: float | None = None


class Definition(Document):
    """One file."""

    title: str = Field(min_length=1)
    document: str
    place: str = Field(min_length=1)
    machine: str
    unit: str = Field(min_length=1)
    scale: str = Field(min_length=1)
    notes: list[str] = []
    plot: PlotPlan | None = None
    macro: MacroPlan | None = None
    cell: list[CellPlan] = []
    row: list[RowPlan] = []

    @model_validator(mode="after")
    def _known(self) -> Self:
        if self.document not in paper.index().document:
            raise ValueError(f"document: {self.document!r} is unknown")
        for machine in {self.machine, *(cell.machine or self.machine for cell in self.cell)}:
            if machine not in machine_names():
                raise ValueError(f"machine: {machine!r} is unknown")
        if not self.macro and not (self.cell and self.row):
            raise ValueError("cells and rows, or the table macro, are missing")
        return self


def load(name: str, machine: str = "") -> PlannedReproduction:
    """Reads sweeps/plans/reproductions/<name>.toml; with `machine`, for that one instead of its
    own.

    Raises LockcrossError (exit code 2) that names file, key and what is wrong.
    """
    path = REPRODUCTIONS.path(name)
    try:
        return parse(name, path.read_text(encoding="utf-8"), machine)
    except (OSError, ValueError) as error:
        what = f"reproduction {name} on {machine}" if machine else path.relative_to(ROOT)
        raise LockcrossError(f"{what}: {error}") from None


def parse(name: str, text: str, machine: str = "") -> PlannedReproduction:
    """Reads a definition from TOML; with `machine`, for that one. Raises ValueError."""
    plan = toml.parse(Definition, text)
    if machine:
        if several := sorted({cell.machine for cell in plan.cell} - {"", plan.machine}):
            others = ", ".join(several)
            raise ValueError(f"compares machine {plan.machine} with {others}; leave --machine out")
        plan = plan.model_copy(update={"machine": machine})
    cells, rows = dict(_cells(plan)), tuple(_rows(plan))
    if plan.macro:
        cells |= macro_cells(plan.macro, plan.machine)
        rows += tuple(macro_rows(plan.macro))
    for row in rows:
        check(row, cells)
    plot = Plot(**plan.plot.model_dump()) if plan.plot else Plot()
    outline = Reproduction(
        name, plan.title, plan.document, plan.place, plan.machine, plan.unit, plan.scale, (),
        plot, tuple(plan.notes),
    )  # fmt: skip
    return PlannedReproduction(outline, cells, rows)


def _points(each: Each) -> Iterator[dict[str, Value]]:
    for values in itertools.product(*each.values()):
        yield dict(zip(each, values, strict=True))


def _filled(text: Any, point: Mapping[str, Value]) -> Any:
    """`text` with the values of axes in place; one that is nothing but an axis stays a number."""
    if not isinstance(text, str):
        return text
    if text.startswith("{") and text[1:-1] in point and text.endswith("}"):
        return point[text[1:-1]]
    try:
        return text.format(**point)
    except (KeyError, IndexError, ValueError) as error:
        raise ValueError(f"{text!r}: {error} is no axis of `each`") from None


def _number(value: Value) -> Value:
    """What is written in digits is a number, such as "{percent}0000"."""
    return int(value) if isinstance(value, str) and value.isdigit() else value


def _cells(plan: Definition) -> Iterator[tuple[str, Measured]]:
    seen = set()
    for one in plan.cell:
        for point in _points(one.each):
            name = identifier(str(_filled(one.name, point)))
            if name in seen or name in CLOCK:
                raise ValueError(f"cell {name!r} is given twice, or is a name of the clock")
            seen.add(name)
            yield name, Measured(_cell(plan, one, point), one.metric)


def _cell(plan: Definition, one: CellPlan, point: Mapping[str, Value]) -> Cell:
    machine = one.machine or plan.machine
    isa = one.isa or load_machine(machine).isas[0]
    label = LockLabel(_filled(one.lock, point))
    workload = str(_filled(one.workload, point))
    given = {key: _number(_filled(value, point)) for key, value in one.parameters.items()}
    cell = Cell(
        engine=engines.DEFAULT, machine=machine, isa=isa, flavour=ISAS[isa].flavours[0],
        lock=label.lock, variant=label.variant, fence=label.fence, workload=workload,
        parameters=with_defaults(workload, given),
        threads=_filled(one.threads, point), cores=_filled(one.cores, point), cancel=one.cancel,
    )  # fmt: skip
    if why := invalid_reason(cell) or unsupported_reason(cell):
        raise ValueError(f"cell {one.name}: {why}")
    return cell


def _rows(plan: Definition) -> Iterator[PlannedRow]:
    for one in plan.row:
        for point in _points(one.each):
            # Axis values in names of cells become identifiers, as the names do.
            inside = {axis: identifier(str(value)) for axis, value in point.items()}
            label, series, x, group, note = (
                str(_filled(text, point))
                for text in (one.label, one.series, one.x, one.group, one.note)
            )
            ours, published = str(_filled(one.ours, inside)), _published(plan, one, point)
            yield PlannedRow(
                in_words(label), ours, published, one.tolerance, series, x, group, note
            )


def _published(plan: Definition, one: RowPlan, point: Mapping[str, Value]) -> Published | None:
    if one.published is None:
        return None
    filled = {key: _filled(value, point) for key, value in one.published.model_dump().items()}
    try:
        return Source(**filled).look_up(plan.document)
    except (KeyError, LockcrossError) as error:
        raise ValueError(f"row {one.label!r}: {error}") from None
