"""The published numbers: results/paper/*.csv, described in results/paper/index.toml."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import NamedTuple

from pydantic import Field

from results.errors import LockcrossError
from results.paths import PAPER
from sweeps.support.toml import Document, read_registry

TEXTS = ("text", "unit", "yes_no")  # units of columns whose cells are no numbers

Cell = Decimal | str | None


class Titled(Document):
    title: str = Field(min_length=1)


class Entry(Document):
    """One CSV file: where it is from, and the unit of each column, with a question mark where cells
    may be empty. The first column is its key unless `key` names others; `doubtful` rows are named
    by the first column."""

    document: str
    place: str = Field(min_length=1)
    title: str = Field(min_length=1)
    platform: str
    columns: dict[str, str] = Field(min_length=2)
    key: list[str] = []
    doubtful: dict[str, str] = {}


class Index(Document):
    document: dict[str, Titled]
    platform: dict[str, Titled]
    table: dict[str, Entry]


@dataclass(frozen=True)
class Table:
    """A published table. Rows map a column to its cell; numbers are exact, empty cells None."""

    name: str
    entry: Entry
    rows: tuple[Mapping[str, Cell], ...]

    def row(self, key: str) -> Mapping[str, Cell]:
        """Return the row whose first column is `key`. Raises KeyError."""
        first = next(iter(self.entry.columns))
        for row in self.rows:
            if row[first] == key:
                return row
        raise KeyError(f"{self.name} has no row {key!r}")

    def number(self, key: str, column: str) -> Decimal:
        """Return a number of a row. Raises KeyError where there is none."""
        cell = self.row(key)[column]
        if not isinstance(cell, Decimal):
            raise KeyError(f"{self.name}: {key!r} has no number in {column!r}")
        return cell


class Published(NamedTuple):
    """A published number: a value (`low` is `high`) or a range, None for an open end."""

    low: int | float | None  # a whole number stays one where this is stored
    high: int | float | None

    @property
    def value(self) -> float | None:
        """Return the number, where it is one and no range."""
        return self.low if self.low == self.high else None

    def holds(self, ours: float, tolerance: float = 0.0) -> bool:
        """Tell whether `ours` lies in the range, each end widened by `tolerance` of itself."""
        above = self.low is None or ours >= self.low - abs(self.low) * tolerance
        return above and (self.high is None or ours <= self.high + abs(self.high) * tolerance)

    def __str__(self) -> str:
        if self.value is not None:
            return f"{self.value:.5g}"
        if self.low is None or self.high is None:
            return f"at most {self.high:.5g}" if self.low is None else f"at least {self.low:.5g}"
        return f"{self.low:.5g} to {self.high:.5g}"


@cache
def index() -> Index:
    """Return the tables that there are. Raises LockcrossError when index.toml is faulty."""
    return read_registry(Index, PAPER / "index.toml")


@cache
def table(name: str) -> Table:
    """Return a table by its file's name. Raises LockcrossError for an unknown or a faulty one."""
    entries = index().table
    if name not in entries:
        raise LockcrossError(f"published table {name!r} is unknown", exit_code=1)
    try:
        text = (PAPER / f"{name}.csv").read_text("utf-8")
        return Table(name, entries[name], parse(text, entries[name]))
    except (OSError, ValueError, InvalidOperation) as error:
        raise LockcrossError(f"results/paper/{name}.csv: {error}", exit_code=1) from None


def parse(text: str, entry: Entry) -> tuple[Mapping[str, Cell], ...]:
    """Return the rows of a CSV, each cell as the unit of its column wants it. Raises ValueError for
    other columns, InvalidOperation for a number that is none."""
    rows = csv.DictReader(text.splitlines())
    if rows.fieldnames != list(entry.columns):
        raise ValueError(f"its columns must be {', '.join(entry.columns)}")
    units = entry.columns.items()
    return tuple({name: _cell(row[name], unit) for name, unit in units} for row in rows)


def _cell(text: str, unit: str) -> Cell:
    if not text:
        return None
    return text if unit.rstrip("?") in TEXTS else Decimal(text)


def stated(document: str, key: str) -> Published:
    """Return the statement in a document's text: the row `key` of <document>_stated."""
    row = table(f"{document}_stated").row(key)
    low, high = (None if row[end] is None else float(str(row[end])) for end in ("low", "high"))
    return Published(low, high)


OURS = "ours: "  # so begins where a bound is from that no words of the source give


def bound(document: str, key: str) -> tuple[float | None, str]:
    """Return by how much a stated number may be missed, as a part of it (negative: a margin that it
    asks for; None: it is a number to compare with), and where that is from."""
    row = table(f"{document}_stated").row(key)
    found, origin = row["bound"], row["bound_from"]
    return None if found is None else float(str(found)), str(origin or "")
