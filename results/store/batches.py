"""Read the rows of an export in batches: a table, or one row per run with all its values."""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import add
from typing import Any, TypeVar

import numpy as np

from results.store.missing import FIRST_VARIANT
from results.store.queries import TABLES, VIEWS, QueryError
from results.store.store import metric_names

_SIZE = 10_000  # rows in memory at a time
# The types of Python by what columns are declared as.
_TYPES: Mapping[str, type] = {
    "INTEGER": int,
    "REAL": float,
    "NUMERIC": float,
    "TEXT": str,
    "BLOB": bytes,
}
_OF_VIEWS = {"run_id": "INTEGER", "value": "REAL"}  # of expressions SQLite does not know it
_ELSEWHERE = ("parameters", "resolved_id", "place_id", "cycles_per_pair")  # in a wide row
# Of a table, what is not read as it stands: readers of CSV take an empty name for no name.
_READ = {("runs", "variant"): f"CASE {{0}} WHEN '' THEN '{FIRST_VARIANT}' ELSE {{0}} END"}

Kinds = dict[str, type]  # what a column has where it has something
Row = Sequence[Any]
Key = TypeVar("Key")
Made = TypeVar("Made")


@dataclass(frozen=True)
class Batch:
    """Some rows, one at least. `numbers`: the numbers behind each row, by column; NaN where there
    is none."""

    left: Sequence[Row]
    numbers: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.left)

    def rows(self) -> Iterable[Row]:
        if self.numbers is None:
            return self.left
        behind = self.numbers.T.astype(object)
        behind[np.isnan(self.numbers.T)] = None
        return ((*row, *more) for row, more in zip(self.left, behind.tolist(), strict=True))

    def columns(self) -> Iterator[Sequence[Any]]:
        yield from zip(*self.left, strict=True)
        if self.numbers is not None:
            yield from self.numbers


def batches(connection: sqlite3.Connection, name: str) -> tuple[Kinds, Iterator[Batch]]:
    """Return the columns of a table, and its rows in batches; or of `wide`: a row a run, with its
    parameters and metrics as columns.

    Raises QueryError for an unknown table.
    """
    if name == "wide":
        return _wide(connection)
    if name not in TABLES + VIEWS:
        known = ", ".join(TABLES + VIEWS)
        raise QueryError(f"table {name!r} is unknown; allowed are wide, {known}")
    columns = _columns(connection, name)
    sql = f"SELECT {', '.join(sql for _, sql in columns.values())} FROM {name}"
    kinds = {column: kind for column, (kind, _) in columns.items()}
    return kinds, map(Batch, _read(connection, sql))


def _columns(connection: sqlite3.Connection, name: str) -> dict[str, tuple[type, str]]:
    """Return the columns of a table or view: the type of each, and how SQL reads it."""
    columns = {}
    for _, column, declared, *_ in connection.execute(f"PRAGMA table_info({name})"):
        kind = declared or _OF_VIEWS.get(column, "TEXT")
        sql = "CAST({0} AS REAL)" if kind == "NUMERIC" else _READ.get((name, column), "{0}")
        columns[column] = (_TYPES[kind], sql.format(f"{name}.{column}"))
    return columns


def _read(connection: sqlite3.Connection, sql: str) -> Iterator[list[Row]]:
    cursor = connection.execute(sql)
    while rows := cursor.fetchmany(_SIZE):
        yield rows


def _wide(connection: sqlite3.Connection) -> tuple[Kinds, Iterator[Batch]]:
    kept = {
        name: column
        for name, column in _columns(connection, "runs").items()
        if name not in _ELSEWHERE
    }
    resolved, parameters = _Resolved(connection), _Parameters(connection)
    metrics = _Metrics(connection)
    read = _read(
        connection,
        f"SELECT {', '.join(sql for _, sql in kept.values())}, resolved_id, option_set, settings, "
        "parameters, ifnull(metric_set, 0), ifnull(numbers, '[]') FROM runs "
        "LEFT JOIN resolved_options ON resolved_options.id = resolved_id "
        "LEFT JOIN run_metrics ON run_metrics.run_id = runs.id ORDER BY runs.id",
    )

    def widened(rows: list[Row]) -> Batch:
        left = [
            (*row, resolved.of(number, names, settings), *parameters.of(text))
            for *row, number, names, settings, text, _, _ in rows
        ]
        return Batch(left, metrics.of([row[-2] for row in rows], [row[-1] for row in rows]))

    kinds = {name: kind for name, (kind, _) in kept.items()} | {"resolved": str}
    kinds |= {f"parameter_{name}": kind for name, kind in parameters.kinds.items()}
    return kinds | {f"metric_{name}": float for name in metrics.names}, map(widened, read)


class _Resolved:
    """The resolved options of runs as the view `resolved` has them. Many runs have the same."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._keys = {
            number: [f"{json.dumps(name, ensure_ascii=False)}:" for name in json.loads(names)]
            for number, names in connection.execute("SELECT id, names FROM option_sets")
        }
        self._known: dict[int, str] = {}

    def of(self, number: int | None, option_set: int | None, settings: str | None) -> str | None:
        if number is None or option_set is None or settings is None:
            return None
        return _made_once(self._known, number, lambda _: self._joined(option_set, settings))

    def _joined(self, option_set: int, settings: str) -> str:
        keys, values = self._keys[option_set], settings[1:-1].split(",")
        if len(values) != len(keys):  # there is a comma in a text, or nothing at all
            dumped = partial(json.dumps, separators=(",", ":"), ensure_ascii=False)
            values = list(map(dumped, json.loads(settings)))
        return f"{{{','.join(map(add, keys, values))}}}"


class _Parameters:
    """The keys of all workloads, in order of their first use, and a run's values for them: whole
    numbers, numbers where any has a point, or text. Many runs have the same."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.kinds: Kinds = {}
        self._known: dict[str, Row] = {}
        order = (int, float, str)
        for (text,) in connection.execute("SELECT parameters FROM runs GROUP BY parameters"):
            for name, value in json.loads(text).items():
                kinds = (self.kinds.get(name, int), type(value))
                self.kinds[name] = max(kinds, key=order.index)

    def of(self, text: str) -> Row:
        return _made_once(self._known, text, self._values)

    def _values(self, text: str) -> Row:
        given = json.loads(text)
        return [kind(given[name]) if name in given else None for name, kind in self.kinds.items()]


def _made_once(known: dict[Key, Made], key: Key, made: Callable[[Key], Made]) -> Made:
    """Return a value that is made once for many rows; only so many are kept."""
    if key not in known:
        if len(known) == _SIZE:
            known.clear()
        known[key] = made(key)
    return known[key]


class _Metrics:
    """The names of all metrics, and the numbers of runs for them."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        sets: dict[int, list[str]] = {}
        for (number,) in connection.execute("SELECT id FROM metric_sets"):
            sets[number] = metric_names(connection, number)
        self.names = sorted(set().union(*sets.values()))
        places = {name: place for place, name in enumerate(self.names)}
        self._places = {number: [places[name] for name in names] for number, names in sets.items()}

    def of(self, sets: Sequence[int], numbers: Sequence[str]) -> np.ndarray:
        """Return a column for each metric, NaN where a run has none."""
        read = json.loads(f"[{','.join(numbers)}]")  # each is an array
        found = np.full((len(read), len(self.names)), np.nan)
        for number, places in self._places.items():
            runs = [run for run, one in enumerate(sets) if one == number]
            if runs:
                found[np.ix_(runs, places)] = [read[run] for run in runs]
        return np.ascontiguousarray(found.T)
