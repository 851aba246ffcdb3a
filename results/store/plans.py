"""The runs of a plan: those that its last sweep left, or those that it asked for first."""

import sqlite3
from pathlib import Path

from results.errors import LockcrossError

PREFIX = "plan/"  # of the series that a sweep leaves
_SHOWN = 20  # names in a message


def plan_name(words: str) -> str:
    """The name of a plan that is given by its name or its path."""
    return Path(words).stem if words.endswith(".toml") or "/" in words else words


def plan_names(connection: sqlite3.Connection) -> list[str]:
    """The plans that a database has runs of."""
    rows = connection.execute(
        "SELECT plan FROM runs UNION SELECT substr(name, ?) FROM series WHERE name GLOB ?",
        (len(PREFIX) + 1, f"{PREFIX}*"),
    )
    return sorted(name for (name,) in rows)


def condition(connection: sqlite3.Connection, words: str) -> str:
    """SQL that is true for the runs of a plan; `:plan` and `:plan_series` are to be bound. Raises
    LockcrossError when there are none."""
    name = plan_name(words)
    for test in (
        "runs.id IN (SELECT run_id FROM series WHERE name = :plan_series)",
        "runs.plan = :plan",
    ):
        if connection.execute(f"SELECT 1 FROM runs WHERE {test} LIMIT 1", bound(words)).fetchone():
            return test
    known = plan_names(connection)
    there = f"it has runs of {', '.join(known[:_SHOWN])}" if known else "it has no runs"
    raise LockcrossError(
        f"--plan: the database has no runs of plan {name!r}; {there}; "
        f"`./lockcross sweep {words}` runs a plan"
    )


def bound(words: str) -> dict[str, str]:
    """What `condition` leaves to be bound."""
    name = plan_name(words)
    return {"plan": name, "plan_series": f"{PREFIX}{name}"}
