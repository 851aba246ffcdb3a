"""How a run's numbers and resolved options are kept: what many runs share once, and an array each.

Names and units of the metrics are a set (`metric_sets`, `metric_names`), the numbers a JSON array
(`run_metrics`); the names of resolved options are a set too (`option_sets`), and runs with equal
options share their settings (`resolved_options`). The views `metrics` and `resolved` have them as
a row for each number, and as JSON objects.
"""

import hashlib
import json
import math
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import astuple
from functools import lru_cache

from results.store.records import Place


def register(connection: sqlite3.Connection) -> None:
    """Gives a connection the functions that migrations call."""
    connection.create_function("number_text", 1, number_text, deterministic=True)
    connection.create_function("digest", 1, digest, deterministic=True)


def number_text(value: float) -> str:
    """The shortest JSON number that is read as the same value; whole ones without a point.

    Raises ValueError for what is no number.
    """
    if type(value) is int:  # most of a run's numbers
        return str(value)
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r} is not a number")
    return str(int(value)) if value == int(value) else repr(value)


def digest(text: str) -> bytes:
    """Tells texts apart."""
    return hashlib.sha256(text.encode()).digest()[:16]


def set_metrics(
    connection: sqlite3.Connection, run_id: int, metrics: Mapping[str, tuple[float, str]]
) -> None:
    """Makes these all the metrics of a run (name -> (value, unit)), inside a transaction."""
    connection.execute("DELETE FROM run_metrics WHERE run_id = ?", (run_id,))
    if not metrics:
        return
    names = sorted(metrics)
    layout = _layout(tuple((name, metrics[name][1]) for name in names))
    numbers = f"[{','.join(number_text(metrics[name][0]) for name in names)}]"
    metric_set, new = _shared(connection, "metric_sets", "layout", layout)
    if new:
        connection.executemany(
            "INSERT INTO metric_names (metric_set, name, unit, position) VALUES (?, ?, ?, ?)",
            [(metric_set, name, metrics[name][1], number) for number, name in enumerate(names)],
        )
    connection.execute(
        "INSERT INTO run_metrics (run_id, metric_set, numbers) VALUES (?, ?, ?)",
        (run_id, metric_set, numbers),
    )


@lru_cache(maxsize=100)  # the runs of a study have a few sets of metrics
def _layout(names: tuple[tuple[str, str], ...]) -> str:
    """The names and units of a set as one text."""
    return _json(names)


def metrics_of(
    connection: sqlite3.Connection, run_ids: Iterable[int]
) -> dict[int, dict[str, float]]:
    """The metrics of some runs (a few thousand at most), by run and name."""
    ids = list(run_ids)
    found: dict[int, dict[str, float]] = {run_id: {} for run_id in ids}
    sets: dict[int, list[str]] = {}
    for run_id, metric_set, numbers in connection.execute(
        "SELECT run_id, metric_set, numbers FROM run_metrics "
        f"WHERE run_id IN ({', '.join('?' * len(ids))})",
        ids,
    ).fetchall():
        if metric_set not in sets:
            sets[metric_set] = names_of(connection, metric_set)
        found[run_id] = dict(zip(sets[metric_set], map(float, json.loads(numbers)), strict=True))
    return found


def names_of(connection: sqlite3.Connection, metric_set: int) -> list[str]:
    """The names of a set, in the order of its numbers."""
    rows = connection.execute(
        "SELECT name FROM metric_names WHERE metric_set = ? ORDER BY position", (metric_set,)
    )
    return [name for (name,) in rows]


def options_id(connection: sqlite3.Connection, resolved: Mapping[str, int | str]) -> int:
    """The number of these resolved options, which are stored if they are new."""
    whole = digest(json.dumps(resolved, sort_keys=True))
    row = connection.execute(
        "SELECT id FROM resolved_options WHERE digest = ?", (whole,)
    ).fetchone()
    if row is not None:
        return int(row[0])
    names = sorted(resolved)
    option_set, _ = _shared(connection, "option_sets", "names", _json(names))
    settings = _json([resolved[name] for name in names])
    return _inserted(
        connection.execute(
            "INSERT INTO resolved_options (digest, option_set, settings) VALUES (?, ?, ?)",
            (whole, option_set, settings),
        )
    )


def place_id(connection: sqlite3.Connection, place: Place | None) -> int | None:
    """The number of a place, which is stored if it is new."""
    if place is None:
        return None
    row = connection.execute(
        "SELECT id FROM places WHERE host = ? AND processor = ? AND job = ? AND worker = ?",
        astuple(place),
    ).fetchone()
    if row is not None:
        return int(row[0])
    return _inserted(
        connection.execute(
            "INSERT INTO places (host, processor, job, worker) VALUES (?, ?, ?, ?)",
            astuple(place),
        )
    )


def _shared(connection: sqlite3.Connection, table: str, column: str, text: str) -> tuple[int, bool]:
    """The number of a row that many runs share, made if it is new, and whether it is."""
    row = connection.execute(f"SELECT id FROM {table} WHERE {column} = ?", (text,)).fetchone()
    if row is not None:
        return int(row[0]), False
    made = connection.execute(f"INSERT INTO {table} ({column}) VALUES (?)", (text,))
    return _inserted(made), True


def _inserted(cursor: sqlite3.Cursor) -> int:
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def _json(value: object) -> str:
    """As SQLite writes it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
