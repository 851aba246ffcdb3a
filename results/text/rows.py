"""Rows on standard output: as a table for people, as CSV or as JSON for programs."""

import json
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from itertools import chain, count
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.table import Table

from results.store.csv_lines import csv_writer
from results.store.missing import FIRST_VARIANT

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

    from results.store.queries import Answer


_LONG = 40  # columns that a cause gets at least
_GAP = 2  # columns between two of a table


class Form(StrEnum):
    TABLE = "table"
    CSV = "csv"
    JSON = "json"


Format = Annotated[Form, typer.Option("--format", help="How rows are printed.")]


FRAMED: Mapping[str, Any] = {"box": box.HEAVY_HEAD}  # a look of a table


@dataclass(frozen=True)
class Rows:
    """Rows of values by name, whole: so they stand in CSV and JSON.

    `shown`: the columns of the table for people by their heads, and the text there for a row: a
    format of its values, or a function of it. Without it each value has its column. `look` and
    `heads` are Rich's settings of the table, and of its columns by their heads.
    """

    records: Sequence[Mapping[str, Any]]
    shown: Mapping[str, "str | Callable[[Mapping[str, Any]], str | Text]"] | None = None
    title: str = ""
    look: Mapping[str, Any] = field(default_factory=dict)
    heads: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __rich__(self) -> Table:
        table = Table(
            title=self.title or None, **{"box": None, "title_justify": "left", **self.look}
        )
        heads, *rows = self.texts()
        for head in heads:
            table.add_column(str(head), **self.heads.get(str(head), {}))
        for row in rows:
            table.add_row(*row)
        return table

    def texts(self) -> list[list["str | Text"]]:
        """Return the cells of the table for people, its heads first."""
        shown = self.shown
        if shown is None:
            names = dict.fromkeys(name for record in self.records for name in record)
            shown = {name: partial(_cell_of, name) for name in names}
        return [
            list(shown),
            *(
                [
                    show.format_map(row) if isinstance(show, str) else show(row)
                    for show in shown.values()
                ]
                for row in self.records
            ),
        ]


def plain(*names: str) -> dict[str, str]:
    """Return columns for `Rows.shown` that show values as they are."""
    return {name: f"{{{name}}}" for name in names}


def _cell_of(name: str, record: Mapping[str, Any]) -> str:
    return cell(record.get(name))


def print_parts(form: Form, *parts: "Rows | RenderableType", fold: bool = True) -> None:
    """Print rows, and text between them. In csv and json all rows are printed as one, where there
    are several with `table`, their title; text is left out."""
    from results.text.terminal import console

    if form == Form.TABLE:
        out = console(fold)
        for part in parts:
            out.print(part)
        return
    tables = [part for part in parts if isinstance(part, Rows)]
    titled = len(tables) > 1 and any(rows.title for rows in tables)
    records = [
        ({"table": rows.title} if titled else {}) | dict(record)
        for rows in tables
        for record in rows.records
    ]
    shown = (head for rows in tables for head in rows.shown or ())
    names = list(dict.fromkeys(chain.from_iterable(records)) or dict.fromkeys(shown))
    # As programs name what they read.
    heads = [re.sub(r"\W+", "_", name) for name in names]
    _write(heads, [[record.get(name) for name in names] for record in records], form)


def print_rows(answer: "Answer", form: Form) -> None:
    if form != Form.TABLE:
        _write(answer.columns, answer.rows, form)
        return
    from results.text.terminal import console

    shown = Table(*answer.columns, box=None)
    for row in answer.rows:
        shown.add_row(*map(cell, row))
    console(fold=False).print(shown)


def _write(columns: Sequence[str], rows: Sequence[Sequence[object]], form: Form) -> None:
    """Write rows as CSV, or JSON, which has no infinity. Every variant has a name there."""
    plain = [list(map(_plain, row)) for row in rows]
    for place in (place for place, name in enumerate(columns) if name == "variant"):
        for row in plain:
            row[place] = FIRST_VARIANT if row[place] == "" else row[place]
    if form == Form.CSV:
        csv_writer(sys.stdout).writerows([columns, *_of_one_kind(plain)])
        return
    names = distinct(columns)
    records = [
        {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in zip(names, row, strict=True)
        }
        for row in plain
    ]
    print(json.dumps(records, indent=1, allow_nan=False))


def _of_one_kind(rows: list[list[object]]) -> Iterator[Sequence[object]]:
    """Return rows whose columns of numbers have a point in each or in none: readers of CSV go by
    the first rows."""
    points = [
        any(isinstance(value, float) for value in column) for column in zip(*rows, strict=True)
    ]
    for row in rows:
        yield [
            float(value) if point and isinstance(value, int) else value
            for value, point in zip(row, points, strict=True)
        ]


def distinct(columns: Sequence[str]) -> list[str]:
    """Return names of columns. Of those with one name, the later ones are `name:1`, `name:2`."""
    names: list[str] = []
    for column in columns:
        further = (f"{column}:{number}" for number in count(1))
        names.append(next(name for name in chain([column], further) if name not in names))
    return names


def _plain(value: object) -> object:
    """Return a SQLite value for a table of any format: bytes as SQL writes them."""
    return f"x'{value.hex()}'" if isinstance(value, bytes) else value


def whole(value: float) -> float:
    """Return a number as CSV and JSON have it: one that is whole without a point."""
    return int(value) if math.isfinite(value) and value == int(value) else value


def cell(value: object) -> str:
    if isinstance(value, float):
        return number(value)
    if isinstance(value, dict):
        return ", ".join(f"{key}={inner}" for key, inner in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(_plain(value))


def number(value: float) -> str:
    """Return a number in a table: two digits behind the point where it has any."""
    return f"{value:.0f}" if not math.isfinite(value) or value == int(value) else f"{value:.2f}"


def print_compact(
    answer: "Answer", out: "Console", always: Sequence[str], limit: int | None = None
) -> None:
    """Print rows by their differences: first, in one line, their common values, then a table
    that is no wider than the console, of `limit` rows at most. The columns `always` are there,
    unless nothing is in them."""
    columns = {
        name: column
        for name, column in zip(answer.columns, zip(*answer.rows, strict=True), strict=True)
        if not set(column) <= {None, ""}
    }
    apart = {n: values for n, values in columns.items() if n in always or len(set(values)) > 1}
    same = [f"{name}={column[0]}" for name, column in columns.items() if name not in apart]
    if same := [value for value in same if value != "status=ok"]:
        out.print("in common: " + ", ".join(same))
    shown, left_out = _fitting(apart, always, out.width)
    table = Table(box=None, padding=(0, _GAP, 0, 0))
    for name in shown:
        right = any(isinstance(value, int | float) for value in columns[name])
        table.add_column(
            name, no_wrap=name != "cause", justify="right" if right else "left", overflow="fold"
        )
    for row in list(zip(*(columns[name] for name in shown), strict=True))[:limit]:
        table.add_row(*map(cell, row))
    out.print(table)
    if limit is not None and len(answer.rows) > limit:
        out.print(f"... and {len(answer.rows) - limit} more rows")
    if left_out:
        out.print(f"too narrow for {', '.join(left_out)}; --format csv has every column")


def _fitting(
    columns: Mapping[str, Sequence[object]], always: Sequence[str], width: int
) -> tuple[list[str], list[str]]:
    """Return the columns that fit into a width, and those that do not. The last ones go first, but
    for those that are `always` there."""
    wide = {
        name: _GAP + max(len(name), *(len(cell(value)) for value in values))
        for name, values in columns.items()
    }
    if "cause" in wide:
        wide["cause"] = min(wide["cause"], _LONG)
    shown = list(columns)
    for name in reversed(list(columns)):
        if sum(wide[column] for column in shown) > width and name not in always:
            shown.remove(name)
    return shown, [name for name in columns if name not in shown]
