"""Look for the damage of a database when a reader of it has failed.

Lockcross trusts its own data; this tells a database that was damaged, or changed by
something else, from an internal error. The type of a fact checks its content.
"""

import sqlite3
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from results.store.queries import TABLES, VIEWS

_NUMBER = "'integer', 'real'"
_TYPES = {
    "INTEGER": "'integer'",
    "REAL": _NUMBER,
    "NUMERIC": _NUMBER,
    "TEXT": "'text'",
    "BLOB": "'blob'",
}
_OBJECTS = (  # columns of JSON objects
    ("runs", "parameters"), ("crossovers", "setting"),
    ("machines", "description"), ("facts", "value"),
)  # fmt: skip
_ARRAYS = (  # tables, columns of JSON arrays, how long they are, and of what
    (
        "run_metrics",
        "numbers",
        "SELECT count(*) FROM metric_names AS one WHERE one.metric_set = run_metrics.metric_set",
        "'integer', 'real'",
    ),
    (
        "resolved_options",
        "settings",
        "SELECT json_array_length(names) FROM option_sets WHERE option_sets.id = option_set",
        "'integer', 'real', 'text'",
    ),
)


class _Machine(BaseModel):
    model_config = ConfigDict(strict=True)
    latency: dict[str, dict[str, dict[str, Any]]]


def damage(connection: sqlite3.Connection) -> str:
    """Return the first thing found wrong, in words; empty if everything is as Lockcross writes
    it."""
    try:
        return next(_everything(connection), "")
    except sqlite3.Error as error:
        return str(error)


def _everything(connection: sqlite3.Connection) -> Iterator[str]:
    def wrong(table: str, column: str, condition: str) -> Iterator[Any]:
        """Return a value of a column for which something is true."""
        sql = f"SELECT {column} FROM main.{table} WHERE {condition} LIMIT 1"
        yield from (value for (value,) in connection.execute(sql))

    (checked,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if checked != "ok":
        yield str(checked)
    there = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    yield from (f"the table {name} is missing" for name in TABLES + VIEWS if name not in there)
    for table in TABLES:
        # Values of another type than declared, and infinite ones; SQLite takes any.
        for _, column, type_, *_ in connection.execute(
            f"PRAGMA main.table_info({table})"
        ).fetchall():
            other = f"typeof({column}) NOT IN ({_TYPES[type_]}) OR {column} IN (9e999, -9e999)"
            for value in wrong(table, column, f"{column} IS NOT NULL AND ({other})"):
                yield f"{table}.{column} is {value!r}"
        for _ in connection.execute(
            f"SELECT * FROM main.{table}"
        ):  # fails for text that is no UTF-8
            pass
    for table, column in _OBJECTS:
        for _ in wrong(table, column, f"json_type({column}) != 'object'"):
            yield f"{table}.{column} has a value that is not a JSON object"
    for table, column, length, types in _ARRAYS:
        other = f"SELECT 1 FROM json_each({column}) WHERE type NOT IN ({types})"
        for value in wrong(
            table,
            column,
            f"json_type({column}) != 'array' "
            f"OR json_array_length({column}) != ({length}) OR EXISTS ({other})",
        ):
            yield f"{table}.{column} is {value[:40]!r}"
    for name, text in connection.execute("SELECT name, description FROM machines ORDER BY name"):
        try:
            _Machine.model_validate_json(text)
        except ValidationError as error:
            yield f"the machine {name}: {first_mistake(error)}"


def first_mistake(error: ValidationError) -> str:
    """Return the place of the first mistake, and its kind."""
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
