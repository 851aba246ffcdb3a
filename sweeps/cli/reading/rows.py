"""Rows on standard output: as a table for people, as CSV or as JSON for programs."""

import csv
import json
import math
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

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
        from rich.table import Table

        from results.report.terminal import console

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


def print_compact(
    answer: "Answer", out: "Console", always: "Sequence[str]", limit: int | None = None
) -> None:
    """Prints rows by what they differ in: first, in one line, what they have in common, then a
    table that is no wider than the console, of `limit` rows at most. The columns `always` are
    there, unless nothing is in them."""
    from rich.table import Table

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
