"""Querying the database: SQL, named queries, single runs. Read-only throughout."""

import json
import math
import re
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from results.errors import LockcrossError
from results.paths import QUERIES
from results.store.database import code_of, explain, see_signals
from results.store.former import current_sql
from results.store.records import RunRecord


def compiler_name(line: str) -> str:
    """Return family and version (`gcc 12.2.0`), from the first line of a compiler's `--version`.

    The same for the compilers of all instruction sets. Other text stays as it is.
    """
    family = "clang" if "clang" in line else "gcc" if "gcc" in line.lower() else ""
    outside = re.sub(r"\([^)]*\)", "", line)  # in brackets is the distribution's version
    version = re.search(r"\d+\.\d+(\.\d+)?", outside)
    return f"{family} {version[0]}" if family and version else line


def names(lines: Iterable[str]) -> list[str]:
    """Return the distinct ones, sorted; runs without a program have none."""
    return sorted({compiler_name(line) for line in lines if line})


def compilers_of_study(connection: sqlite3.Connection) -> list[str]:
    """Return those of the winner map's programs."""
    rows = connection.execute(
        "SELECT DISTINCT compiler FROM runs JOIN series ON series.run_id = runs.id "
        "WHERE series.name GLOB 'map/*'"
    )
    return names(line for (line,) in rows)


PREFIX = "plan/"  # of the series that a sweep leaves
OF_A_PLAN = ("winners", "costs")  # the named queries that a plan has too
_SHOWN = 20  # names in a message


def plan_name(words: str) -> str:
    """Return the name of a plan that is given by its name or its path."""
    return Path(words).stem if words.endswith(".toml") or "/" in words else words


def condition(connection: sqlite3.Connection, words: str) -> tuple[str, dict[str, str]]:
    """Return SQL that is true for the runs of a plan, and the values to bind. Raises
    LockcrossError when there are none."""
    name = plan_name(words)
    bound = {"plan": name, "plan_series": f"{PREFIX}{name}"}
    for test in (
        "runs.id IN (SELECT run_id FROM series WHERE name = :plan_series)",
        "runs.plan = :plan",
    ):
        if connection.execute(f"SELECT 1 FROM runs WHERE {test} LIMIT 1", bound).fetchone():
            return test, bound
    rows = connection.execute(
        "SELECT plan FROM runs UNION SELECT substr(name, ?) FROM series WHERE name GLOB ?",
        (len(PREFIX) + 1, f"{PREFIX}*"),
    )
    known = sorted(plan for (plan,) in rows)[:_SHOWN]
    there = f"it has runs of {', '.join(known)}" if known else "it has no runs"
    raise LockcrossError(
        f"--plan: the database has no runs of plan {name!r}; {there}; "
        f"`./lockcross sweep {words}` runs a plan"
    )


VIEWS = ("metrics", "resolved")
TABLES = tuple(
    (
        "runs run_metrics metric_sets metric_names option_sets resolved_options calibrations "
        "crossovers crossover_runs crossover_seeds series machines facts places migrations"
    ).split()
)
# Columns of runs that do not say what was chosen, and the engine.
_OF_ITS_RUN = {"id", "engine", "plan", "cycles_per_pair", "resolved_id", "place_id"}
_OF_ITS_RUN |= {field.name for field in fields(RunRecord)}
_FILES = (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH)  # VACUUM attaches a file too
_PLACE = ("host", "processor", "job", "worker")


class QueryError(LockcrossError):
    """A query cannot be answered."""


@dataclass(frozen=True)
class Answer:
    columns: list[str]
    rows: list[tuple[Any, ...]]


def named_queries(folder: Path = QUERIES) -> dict[str, str]:
    """Return the queries of a folder with their first comment lines."""
    return {
        path.stem: path.read_text(encoding="utf-8").splitlines()[0].removeprefix("-- ")
        for path in sorted(folder.glob("*.sql"))
    }


def query_text(connection: sqlite3.Connection, path: Path) -> str:
    """Return the SQL of a named query. SETTING there is every column that describes a run, except
    its engine; `a.SETTING IS b.SETTING`: two runs have the same in all of them."""
    setting = [
        name
        for _, name, *_ in connection.execute("PRAGMA table_info(runs)")
        if name not in _OF_ITS_RUN
    ]

    def same(match: re.Match[str]) -> str:
        return " AND ".join(f"{match[1]}.{name} IS {match[2]}.{name}" for name in setting)

    text = re.sub(r"(\w+)\.SETTING IS (\w+)\.SETTING", same, path.read_text(encoding="utf-8"))
    return re.sub(r"\bSETTING\b", ", ".join(setting), text)


def ask(connection: sqlite3.Connection, query: str, path: Path, limit_s: float = 0) -> Answer:
    """Answer SQL or the named query of that name. Bytes that are no UTF-8 come as `\\xff`.

    Raises QueryError for a faulty one, or after `limit_s` seconds (0: it may take any time), and
    KeyboardInterrupt when a signal ends it.
    """
    if query in named_queries():
        query = query_text(connection, QUERIES / f"{query}.sql")
    elif " " not in query.strip():
        raise QueryError(
            f"there is no query {query!r}; named ones are {', '.join(named_queries())}; "
            "anything of several words is read as SQL"
        )
    else:
        query = current_sql(query)
    try:
        with guarded(connection, limit_s):
            cursor = connection.execute(query)
            if cursor.description is None:
                raise QueryError("this SQL returns no table; only queries (SELECT) are allowed")
            return Answer([column[0] for column in cursor.description], cursor.fetchall())
    except UnicodeEncodeError:
        raise QueryError("the SQL is not UTF-8 text") from None
    except sqlite3.Error as error:
        if (code := code_of(error)) == sqlite3.SQLITE_INTERRUPT:
            raise KeyboardInterrupt from None
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_AUTH):
            raise QueryError(
                "the query would change the database or create a file; only reading is allowed"
            ) from None
        if code in (0, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISUSE):
            raise QueryError(f"SQL: {error}; the tables are {', '.join(TABLES + VIEWS)}") from None
        raise explain(error, path) from None


@contextmanager
def guarded(connection: sqlite3.Connection, limit_s: float) -> Iterator[None]:
    """Guard SQL of any kind: it ends after `limit_s` seconds, if that is not 0, signals are seen
    while it runs, and no other file is opened or made. Raises QueryError (1) after that time."""
    end = time.monotonic() + (limit_s or math.inf)
    see_signals(connection, lambda: time.monotonic() > end)
    connection.set_authorizer(
        lambda action, *_: sqlite3.SQLITE_DENY if action in _FILES else sqlite3.SQLITE_OK
    )
    connection.text_factory = lambda text: text.decode("utf-8", "backslashreplace")
    try:
        yield
    except sqlite3.OperationalError as error:
        if code_of(error) == sqlite3.SQLITE_INTERRUPT and time.monotonic() > end:
            raise QueryError(
                f"the query took longer than {limit_s:g} s and was ended; --timeout gives it more "
                "seconds, --timeout 0 as many as it takes",
                1,
            ) from None
        raise
    finally:
        see_signals(connection)
        connection.set_authorizer(None)
        connection.text_factory = str


@dataclass(frozen=True)
class RunDetails:
    """Everything about a run: its columns, its metrics (name, value, unit), where it is used."""

    columns: dict[str, Any]
    metrics: list[tuple[str, float, str]]
    series: list[str]
    crossovers: list[int]


def show_run(connection: sqlite3.Connection, run_id: int) -> RunDetails:
    """Return everything about a run. Raises QueryError when there is no run of that id."""
    cursor = connection.execute("SELECT * FROM runs WHERE id = ?", (run_id,))
    row = cursor.fetchone()
    if row is None:
        raise QueryError(f"there is no run {run_id}; `lockcross runs` lists them")
    columns = dict(zip((column[0] for column in cursor.description), row, strict=True))
    del columns["resolved_id"], columns["cycles_per_pair"]  # among the others below
    place = connection.execute(
        f"SELECT {', '.join(_PLACE)} FROM places WHERE id = ?", (columns.pop("place_id"),)
    ).fetchone()
    columns |= {name: text for name, text in zip(_PLACE, place or (), strict=False) if text}
    (resolved,) = connection.execute(
        "SELECT resolved FROM resolved WHERE run_id = ?", (run_id,)
    ).fetchone() or ("{}",)
    made_on = connection.execute(
        "SELECT value FROM facts WHERE name = 'system/' || ?", (columns.pop("system", ""),)
    ).fetchone()
    if made_on:
        system = json.loads(made_on[0])
        versions = " ".join(f"{name}={version}" for name, version in system["packages"].items())
        columns |= {"system": system["name"], "packages": versions}
    columns |= {"parameters": json.loads(columns["parameters"]), "resolved": json.loads(resolved)}
    metrics = connection.execute(
        "SELECT name, value, unit FROM metrics WHERE run_id = ? ORDER BY name", (run_id,)
    ).fetchall()
    series = connection.execute("SELECT name FROM series WHERE run_id = ?", (run_id,))
    crossovers = connection.execute(
        "SELECT DISTINCT crossover_id FROM crossover_runs WHERE run_id = ?", (run_id,)
    )
    return RunDetails(columns, metrics, *([r[0] for r in rows] for rows in (series, crossovers)))
