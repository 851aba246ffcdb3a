"""Definitions of reproductions, sweeps/plans/reproductions/*.toml: which published numbers are
compared with which runs. Axes in `each` multiply a cell or a row; `{axis}` in its texts is the
value.

A row's number is arithmetic over names, `(reserved - floor) * ns`: a name stands for a cell's
metric, `name.part` for another one, ns, us, ms and s for a cycle of the machine in that unit, and
`name.ns` for a cycle of that cell's own machine, where a definition has several; functions are min,
max, sum, mean, abs, sqrt. Nothing else can be written, so a definition cannot run code. (Rules in
workloads.def are another language: conditions over C's whole numbers.)
"""

import ast
import itertools
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from fnmatch import fnmatchcase
from statistics import fmean
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from results.errors import LockcrossError
from results.paths import ROOT
from results.store.former import current
from sweeps.accuracy import published as paper
from sweeps.accuracy.published import Published
from sweeps.model import engines
from sweeps.model.cell import Cell, invalid_reason, unsupported_reason
from sweeps.model.machine import machine_names
from sweeps.model.workloads import read_value
from sweeps.plans import REPRODUCTIONS
from sweeps.questions.reproduce.answer import (
    CLOCK,
    Lookup,
    PlannedReproduction,
    PlannedRow,
    Plot,
    PublishedRow,
    Reproduction,
    cell_on,
    in_words,
)
from sweeps.questions.reproduce.macro import MacroPlan, macro_cells, macro_rows
from sweeps.support import toml
from sweeps.support.toml import Document

Value = int | str

_OPERATORS: dict[type[ast.AST], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_FUNCTIONS: dict[str, Callable[[list[float]], float]] = {
    "min": min,
    "max": max,
    "sum": sum,
    "mean": fmean,
    "abs": lambda values: abs(values[0]),
    "sqrt": lambda values: math.sqrt(values[0]),
}


def evaluate(text: str, lookup: Lookup) -> float:
    """Return the value of an expression; `lookup` gives that of a name and its part ("" for none).
    Raises ValueError for any other text, and the errors of `lookup`."""

    def value(node: ast.expr) -> float:
        match node:
            case ast.Constant(value=int() | float() as number):
                return float(number)
            case ast.Name(id=name):
                return lookup(name, "")
            case ast.Attribute(value=ast.Name(id=name), attr=part):
                return lookup(name, part)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](value(left), value(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -value(operand)
            case ast.Call(func=ast.Name(id=function), args=arguments, keywords=[]) if (
                function in _FUNCTIONS and arguments
            ):
                return _FUNCTIONS[function]([value(argument) for argument in arguments])
        raise ValueError(f"{ast.unparse(node)!r} in {text!r} is not arithmetic over names")

    try:
        return value(ast.parse(text, mode="eval").body)
    except SyntaxError:
        raise ValueError(f"{text!r} is no expression") from None


class Source(Document):
    """Where a published number is from: a cell of a table, or a statement of the text. `over_...`
    divides it by another one (of a table: `over_row` and `over_column`, each the same if left out).
    `rows` for several rows that measure the same gives their range, each divided by its counterpart
    of `over_rows`. `factor` converts it to the unit of the row."""

    table: str = ""
    row: str = ""
    rows: list[str] = []
    column: str = ""
    over_row: str = ""
    over_rows: list[str] = []
    over_column: str = ""
    stated: str = ""
    over_stated: str = ""
    factor: float = 1.0

    def look_up(self, document: str) -> Published:
        if self.stated:
            part = paper.stated(document, self.stated)
            if not self.over_stated:
                return part
            divisor = paper.stated(document, self.over_stated)
            if part.value is None or not divisor.value:
                raise KeyError(f"{self.stated} over {self.over_stated}: not two numbers")
            return Published(part.value / divisor.value, part.value / divisor.value)
        rows = self.rows or [self.row]
        under = self.over_rows or [self.over_row] * len(rows)
        values = [self._value(row, over) for row, over in zip(rows, under, strict=True)]
        return Published(min(values), max(values))

    def _value(self, row: str, over_row: str) -> float:
        table = paper.table(self.table)
        value = float(table.number(row, self.column))
        if over_row or self.over_column:
            value /= float(table.number(over_row or row, self.over_column or self.column))
        return value * self.factor


class Multiplied(Document):
    """The product: one for each combination of the values of its axes."""

    each: dict[str, list[Value]] = {}

    def points(self) -> Iterator[Self]:
        """Yield each of them, with the values in place of `{axis}`. Raises ValueError."""
        texts = self.model_dump(exclude={"each"})
        for values in itertools.product(*self.each.values()):
            point = dict(zip(self.each, values, strict=True))
            # In names of cells they become identifiers.
            inside = {axis: re.sub(r"\W", "_", str(value)) for axis, value in point.items()}
            yield type(self).model_validate(
                {
                    key: _filled(text, inside if key in {"name", "ours"} else point)
                    for key, text in texts.items()
                }
            )


def _filled(text: Any, point: Mapping[str, Value]) -> Any:
    """Return a text, or all that are in a table or a list, with the values of axes in place."""
    if isinstance(text, dict):
        return {key: _filled(inner, point) for key, inner in text.items()}
    if isinstance(text, list):
        return [_filled(inner, point) for inner in text]
    try:
        return text.format(**point) if isinstance(text, str) else text
    except (KeyError, IndexError, ValueError) as error:
        raise ValueError(f"{text!r}: {error} is no axis of `each`") from None


class CellPlan(Multiplied):
    """A run and its name in expressions, where it stands for `metric`. `lock` is a lock label,
    `isa` may be an atomic flavour."""

    name: str = Field(min_length=1)
    machine: str = ""
    engine: str = engines.DEFAULT
    isa: str = ""
    lock: str
    workload: str
    parameters: dict[str, Value] = {}
    threads: Value = 1
    cores: Value | None = None
    cancel_latency: int | None = None
    metric: str = "cycles_per_pair"


class RowPlan(Multiplied):
    """A row; `ours` is an expression over the names of cells. `tolerance`: of a table's number,
    which makes it a statement; that of a text's statement stands beside its words. `kind` and
    `aside` are PublishedRow's."""

    label: str = Field(min_length=1)
    published: Source | None = None
    ours: str
    tolerance: Annotated[float, Field(ge=-1, le=1)] | None = None
    series: str = ""
    x: str = ""
    group: str = ""
    note: str = ""
    kind: str = ""
    aside: str = ""


class Cause(Document):
    """Why statements fail, and the command that shows it. `rows` are labels as they are printed, or
    patterns of them (* and ?)."""

    rows: list[str] = Field(min_length=1)
    why: str = Field(min_length=1)
    shown_by: str = Field(pattern=r"^\./lockcross ")


class Definition(Document):
    title: str = Field(min_length=1)
    document: str
    place: str = Field(min_length=1)
    machine: str
    unit: str = Field(min_length=1)
    scale: str = Field(min_length=1)
    notes: list[str] = []
    plot: Plot = Plot()
    macro: MacroPlan | None = None
    cell: list[CellPlan] = []
    row: list[RowPlan] = []
    cause: list[Cause] = []

    @model_validator(mode="after")
    def _known(self) -> Self:
        if self.document not in paper.index().document:
            raise ValueError(f"document: {self.document!r} is unknown")
        for machine in self.machines():
            if machine not in machine_names():
                raise ValueError(f"machine: {machine!r} is unknown")
        if not self.macro and not (self.cell and self.row):
            raise ValueError("cells and rows, or the table macro, are missing")
        return self

    def machines(self) -> set[str]:
        """Return all that it has cells of. Raises ValueError."""
        named = (point.machine for cell in self.cell for point in cell.points())
        return {self.machine, *named} - {""}


def load(name: str, machine: str = "") -> PlannedReproduction:
    """Read sweeps/plans/reproductions/<name>.toml; with `machine`, for that one instead.

    Raises LockcrossError (exit code 2) that names file, key and mistake.
    """
    path = REPRODUCTIONS.path(name)
    try:
        return parse(name, path.read_text(encoding="utf-8"), machine)
    except (OSError, ValueError) as error:
        what = f"reproduction {name} on {machine}" if machine else path.relative_to(ROOT)
        raise LockcrossError(f"{what}: {error}") from None


def parse(name: str, text: str, machine: str = "") -> PlannedReproduction:
    """Read a definition from TOML; with `machine`, for that one. Raises ValueError."""
    plan = toml.parse(Definition, text)
    if machine:
        if several := sorted(plan.machines() - {plan.machine}):
            others = ", ".join(several)
            raise ValueError(f"compares machine {plan.machine} with {others}; leave --machine out")
        plan = plan.model_copy(update={"machine": machine})
    cells: dict[str, Cell] = {}
    metrics: dict[str, str] = {}  # what a cell's plain name stands for
    for planned in itertools.chain.from_iterable(cell.points() for cell in plan.cell):
        name_of = planned.name
        if name_of in cells or name_of in CLOCK:
            raise ValueError(f"cell {name_of!r} is given twice, or is a name of the clock")
        cells[name_of], metrics[name_of] = _cell(plan, planned), planned.metric
    points = [point for row in plan.row for point in row.points()]
    rows = [_row(plan, point, metrics) for point in points]
    # The figure's curves have beside them what is stated of the same numbers.
    stated = {
        point.ours: planned.row.published
        for point, planned in zip(points, rows, strict=True)
        if planned.row.published and not point.series
    }
    rows = [
        replace(planned, row=replace(planned.row, mark=stated.get(point.ours)))
        if point.series and not planned.row.published
        else planned
        for point, planned in zip(points, rows, strict=True)
    ]
    if plan.macro:
        cells |= macro_cells(plan.macro, plan.machine)
        rows += macro_rows(plan.macro)
    for cause in plan.cause:
        rows = _with_cause(rows, cause)
    alike = ("title", "document", "place", "machine", "unit", "scale", "plot")
    outline = Reproduction(
        name=name, rows=(), notes=tuple(plan.notes), **{key: getattr(plan, key) for key in alike}
    )
    return PlannedReproduction(outline, cells, tuple(rows))


def _with_cause(rows: list[PlannedRow], cause: Cause) -> list[PlannedRow]:
    """Return the rows, those that a cause names with it. Raises ValueError where it names none."""
    for pattern in cause.rows:
        if not any(fnmatchcase(planned.row.label, pattern) for planned in rows):
            raise ValueError(f"cause: no row is labelled {pattern!r}")
    return [
        replace(planned, row=replace(planned.row, why=cause.why, shown_by=cause.shown_by))
        if any(fnmatchcase(planned.row.label, pattern) for pattern in cause.rows)
        else planned
        for planned in rows
    ]


def _cell(plan: Definition, point: CellPlan) -> Cell:
    # What is written in digits is a number, such as "{percent}e-2".
    parameters = {key: read_value(str(value)) for key, value in point.parameters.items()}
    machine = point.machine or plan.machine
    on = {
        "engine": point.engine,
        "cores": None if point.cores is None else int(point.cores),
        "threads": int(point.threads),
        "cancel_latency": point.cancel_latency,
    }
    cell = cell_on(machine, current(point.lock), point.workload, parameters, point.isa, **on)
    if why := invalid_reason(cell) or unsupported_reason(cell):
        raise ValueError(f"cell {point.name}: {why}")
    return cell


def _row(plan: Definition, row: RowPlan, metrics: Mapping[str, str]) -> PlannedRow:
    label, expression = in_words(row.label), row.ours
    source, tolerance, origin = row.published, row.tolerance, ""
    try:
        published = source.look_up(plan.document) if source else None
        if source and source.stated and not source.over_stated:
            tolerance, origin = paper.bound(plan.document, source.stated)
    except (KeyError, LockcrossError) as error:
        raise ValueError(f"row {row.label!r}: {error}") from None
    if source and source.stated and row.tolerance is not None:
        raise ValueError(
            f"row {row.label!r}: tolerance: that of what a text states stands beside its words, "
            f"in results/paper/{plan.document}_stated.csv"
        )

    def known(name: str, part: str) -> float:
        if name not in metrics and (name not in CLOCK or part):
            raise ValueError(f"row {label!r}: no cell is named {name!r}")
        return math.nan  # which no division by it stops

    def ours(lookup: Lookup) -> float:
        return evaluate(expression, lambda name, part: lookup(name, part or metrics.get(name, "")))

    with suppress(ZeroDivisionError):
        evaluate(expression, known)
    alike = {key: getattr(row, key) for key in ("series", "x", "group", "note", "kind", "aside")}
    shown = PublishedRow(label, published, tolerance=tolerance, bound_from=origin, **alike)
    return PlannedRow(shown, ours)
