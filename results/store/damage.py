"""What is wrong with a database, looked for when something that read it has failed.

Lockcross trusts what it has written; this tells a database that was damaged, or changed by
something else, from an internal error.
"""

import json
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from results.store.queries import TABLES, VIEWS
from sweeps.questions.reproduce import answer, overtake

_TYPES = {"INTEGER": "'integer'", "REAL": "'integer', 'real'", "TEXT": "'text'", "BLOB": "'blob'"}
_OBJECTS = (  # columns of JSON objects
    ("runs", "parameters"), ("crossovers", "setting"),
    ("machines", "description"), ("facts", "value"),
)  # fmt: skip
_ARRAYS = (  # tables, columns of JSON arrays, how long they are, and of what
    ("run_metrics", "numbers", "SELECT count(*) FROM metric_names AS one "
     "WHERE one.metric_set = run_metrics.metric_set", "'integer', 'real'"),
    ("resolved_options", "settings", "SELECT json_array_length(names) FROM option_sets "
     "WHERE option_sets.id = option_set", "'integer', 'real', 'text'"),
)  # fmt: skip


class _Shape(BaseModel):
    model_config = ConfigDict(strict=True)


class _Sequence(_Shape):
    objects: int
    runs: int
    run_length: int
    owner_share: int


class _Map(_Shape):
    threads: int
    tolerance: int
    parameters: _Sequence


class _Plan(_Shape):
    title: str
    engine: str = ""
    machine: str
    flavours: list[str]
    beside: list[str]
    locks: list[str]
    table_locks: list[str]
    limits: dict[str, str]
    seeds: int
    tie_percent: float
    map: _Map


class _Isa(_Shape):
    model_config = ConfigDict(strict=True, extra="forbid")
    title: str
    full_fence: str


class _Job(_Shape):
    command: str
    started: str
    duration_s: float
    new_runs: int


class _Bars(_Shape):
    title: str = ""
    candidate: str = ""
    mean: float | None = None
    worst: float | None = None
    order: float | None = None
    lead: float | None = None
    each_isa: bool = False
    known: dict[str, list[str]] = {}
    missed: str = ""


class _Slopes(_Shape):
    candidate: str
    bar: float


class _Names(_Shape):
    names: list[str]


class _Machine(_Shape):
    latency: dict[str, dict[str, dict[str, Any]]]


_FACTS: dict[str, Callable[[Any], object]] = {  # by what the name begins with
    "plan": _Plan.model_validate,
    "isa/": _Isa.model_validate,
    "job": _Job.model_validate,
    "validation_bars": TypeAdapter(dict[str, _Bars]).validate_python,
    "validation_slopes": _Slopes.model_validate,
    "java_locks": _Names.model_validate,
    overtake.FACT: overtake.from_fact,
    answer.fact_name(""): answer.from_fact,
}


def damage(connection: sqlite3.Connection) -> str:
    """The first thing found wrong, in words; empty if everything is as Lockcross writes it."""
    try:
        return next(_everything(connection), "")
    except sqlite3.Error as error:
        return str(error)


def _everything(connection: sqlite3.Connection) -> Iterator[str]:
    (checked,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if checked != "ok":
        yield str(checked)
    there = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    yield from (f"the table {name} is missing" for name in TABLES + VIEWS if name not in there)
    for table in TABLES:
        yield from _columns(connection, table)
    for table, column in _OBJECTS:
        wrong = connection.execute(
            f"SELECT 1 FROM {table} WHERE json_type({column}) != 'object' LIMIT 1"
        )
        if wrong.fetchone():
            yield f"{table}.{column} has a value that is not a JSON object"
    for table, column, length, types in _ARRAYS:
        wrong = connection.execute(
            f"SELECT {column} FROM {table} WHERE json_type({column}) != 'array' "
            f"OR json_array_length({column}) != ({length}) "
            f"OR EXISTS (SELECT 1 FROM json_each({column}) WHERE type NOT IN ({types})) LIMIT 1"
        ).fetchone()
        if wrong:
            yield f"{table}.{column} is {wrong[0][:40]!r}"
    for name, text in connection.execute("SELECT name, value FROM facts ORDER BY name"):
        for beginning, check in _FACTS.items():
            if name == beginning or (beginning.endswith("/") and name.startswith(beginning)):
                yield from _shape(f"the fact {name}", check, text)
    for name, text in connection.execute("SELECT name, description FROM machines ORDER BY name"):
        yield from _shape(f"the machine {name}", _Machine.model_validate, text)


def _columns(connection: sqlite3.Connection, table: str) -> Iterator[str]:
    """Values of another type than declared, and infinite ones; SQLite takes any."""
    for _, column, type_, *_ in connection.execute(f"PRAGMA table_info({table})").fetchall():
        wrong = connection.execute(
            f"SELECT {column} FROM {table} WHERE {column} IS NOT NULL "
            f"AND (typeof({column}) NOT IN ({_TYPES[type_]}) OR {column} IN (9e999, -9e999)) "
            "LIMIT 1"
        ).fetchone()
        if wrong:
            yield f"{table}.{column} is {wrong[0]!r}"
    for _ in connection.execute(f"SELECT * FROM {table}"):  # fails for text that is no UTF-8
        pass


def _shape(what: str, check: Callable[[Any], object], text: str) -> Iterator[str]:
    try:
        check(json.loads(text))
    except ValidationError as error:
        first = error.errors()[0]
        yield f"{what}: {'.'.join(map(str, first['loc']))}: {first['msg']}"
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        yield f"{what}: {type(error).__name__}: {error}"
