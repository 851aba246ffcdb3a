"""Rows on standard output: as a table for people, as CSV or as JSON for programs."""

import csv
import json
import math
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from results.store.queries import Answer


_LONG = 40  # columns that a cause gets at least
_GAP = 2  # columns between two of a table


class Form(StrEnum):
    """How rows are printed."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"


Format = Annotated[Form, typer.Option("--format", help="How rows are printed.")]


def print_rows(answer: "Answer", form: Form) -> None:
    """Prints rows in the form that was asked for."""
    from results.store.queries import as_records

    if form == Form.JSON:
        records = [
            {name: _json_value(value) for name, value in record.items()}
            for record in as_records(answer)
        ]
        print(json.dumps(records, indent=1, allow_nan=False))
    elif form == Form.CSV:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerows([answer.columns, *(map(_plain, row) for row in answer.rows)])
    else:
        from results.text.terminal import console

        shown = Table(*answer.columns, box=None)
        for row in answer.rows:
            shown.add_row(*map(cell, row))
        console(fold=False).print(shown)


def _plain(value: object) -> object:
    """A SQLite value for a table of any format."""
    from results.store.queries import blob

    return blob(value) if isinstance(value, bytes) else value


def _json_value(value: object) -> object:
    """A SQLite value for JSON, which has no infinity."""
    return None if isinstance(value, float) and not math.isfinite(value) else _plain(value)


def cell(value: object) -> str:
    """A value in a table."""
    if isinstance(value, float):
        return number(value)
    if isinstance(value, dict):
        return ", ".join(f"{key}={one}" for key, one in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(_plain(value))


def number(value: float) -> str:
    """A number in a table: two digits behind the point where it has any."""
    return f"{value:.0f}" if not math.isfinite(value) or value == int(value) else f"{value:.2f}"


@contextmanager
def printer(form: Form, fold: bool = True) -> "Iterator[Console]":
    """A console for what a command prints. In csv and json the rows of all tables are printed as
    one, at the end, and text beside them is left out; `table` is the title of the table."""
    from results.text.terminal import console

    if form == Form.TABLE:
        yield console(fold)
        return
    collected = console()
    tables: list[Table] = []

    def collect(*parts: object, **_: object) -> None:
        for part in parts:
            inner = getattr(part, "renderable", part)  # of a padded one
            if isinstance(inner, Table):
                tables.append(inner)

    collected.print = collect  # type: ignore[method-assign]
    yield collected
    print_rows(_joined(tables), form)


def _joined(tables: "Sequence[Table]") -> "Answer":
    """The rows of several tables as one."""
    from results.store.queries import Answer

    heads = [[_name(column.header) for column in table.columns] for table in tables]
    names = list(dict.fromkeys(name for head in heads for name in head))
    titled = len(tables) > 1 and any(table.title for table in tables)
    rows = []
    for table, head in zip(tables, heads, strict=True):
        for row in zip(*(column.cells for column in table.columns), strict=True):
            found = dict(zip(head, map(_as_value, row), strict=True))
            place = (_plain_text(table.title or ""),) if titled else ()
            rows.append((*place, *(found.get(name) for name in names)))
    return Answer(["table"] * titled + names, rows)


def _name(header: object) -> str:
    """The name of a column whose head may have several lines."""
    return " ".join(_plain_text(header).split("\n"))


def _plain_text(part: object) -> str:
    return str(getattr(part, "plain", part))


def _as_value(part: object) -> int | float | str:
    """What stands in a table, as a number where it is one."""
    text = _plain_text(part)
    if re.fullmatch(r"-?(0|[1-9][0-9]{0,17})", text):
        return int(text)
    return float(text) if re.fullmatch(r"-?[0-9]{1,17}\.[0-9]{1,17}", text) else text


def print_compact(
    answer: "Answer", out: "Console", always: "Sequence[str]", limit: int | None = None
) -> None:
    """Prints rows by what they differ in: first, in one line, what they have in common, then a
    table that is no wider than the console, of `limit` rows at most. The columns `always` are
    there, unless nothing is in them."""
    columns = dict(zip(answer.columns, zip(*answer.rows, strict=True), strict=True))
    same, apart = {}, []
    for name, found in columns.items():
        if set(found) <= {None, ""}:
            continue
        if name in always or len(set(found)) > 1:
            apart.append(name)
        elif (name, found[0]) != ("status", "ok"):
            same[name] = found[0]
    if same:
        out.print("in common: " + ", ".join(f"{name}={value}" for name, value in same.items()))
    shown, left_out = _fitting({name: columns[name] for name in apart}, always, out.width)
    table = Table(box=None, padding=(0, _GAP, 0, 0))
    for name in shown:
        right = any(isinstance(value, int | float) for value in columns[name])
        table.add_column(
            name, no_wrap=True, overflow="ellipsis", justify="right" if right else "left"
        )
    for row in list(zip(*(columns[name] for name in shown), strict=True))[:limit]:
        table.add_row(*map(cell, row))
    out.print(table)
    if limit is not None and len(answer.rows) > limit:
        out.print(f"... and {len(answer.rows) - limit} more rows")
    if left_out:
        out.print(f"too narrow for {', '.join(left_out)}; --format csv has every column")


def _fitting(
    columns: "dict[str, Sequence[object]]", always: "Sequence[str]", width: int
) -> tuple[list[str], list[str]]:
    """The columns that fit into a width, and those that do not. The last ones go first, but for
    those that are `always` there."""
    wide = {
        name: _GAP + max(len(name), *(len(cell(value)) for value in found))
        for name, found in columns.items()
    }
    if "cause" in wide:
        wide["cause"] = min(wide["cause"], _LONG)
    shown, left_out = list(columns), list[str]()
    for name in reversed([one for one in columns if one not in always]):
        if sum(wide[one] for one in shown) <= width:
            break
        shown.remove(name)
        left_out.insert(0, name)
    return shown, left_out
