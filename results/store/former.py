"""The name that a lock had, in users' files: on command lines, in plans, in their SQL, and in
databases of the schema before. Readers of CSV take the word for a missing value."""

import re
import sqlite3
from collections.abc import Mapping
from typing import Any

FORMER, NAME = "null", "nop"
SCHEMA = 9  # the last whose databases have the former name

# A lock label of that lock: alone, behind "not", or before its variant and its fence kind.
_LABEL = re.compile(rf"(not )?{FORMER}(?=[:/]|$)")
_KEYS = ("lock", "locks", "table_locks", "aside", "limits")  # of documents: what takes labels
_TEXT = f"(?-i:'{FORMER}')"
_COLUMN = r"\b(?:lock|lock_a|lock_b|below)\b[\"\]`]?\s*"
_COMPARED = re.compile(
    rf"({_COLUMN}(?:==?|!=|<>|IS(?:\s+NOT)?|(?:NOT\s+)?(?:LIKE|GLOB))\s*){_TEXT}|"
    rf"{_TEXT}(\s*(?:==?|!=|<>)\s*(?:\w+\.)?{_COLUMN})",
    re.IGNORECASE,
)
_LISTED = re.compile(rf"{_COLUMN}(?:NOT\s+)?IN\s*\([^()]*\)", re.IGNORECASE)

# What has the name in a database: tables, their columns, and how SQL says the new one.
_WORD = f"CASE {{0}} WHEN '{FORMER}' THEN '{NAME}' ELSE {{0}} END"
_JSON = f"replace({{0}}, '\"{FORMER}\"', '\"{NAME}\"')"
_COMMAND = (
    f"replace(replace({{0}}, ' --lock {FORMER} ', ' --lock {NAME} '), ' stores=none', "
    "' stores=zero')"
)
_CAUSE = f"replace({{0}}, 'lock {FORMER} ', 'lock {NAME} ')"
_PARAMETERS = 'replace({0}, \'"stores": "none"\', \'"stores": "zero"\')'
CHANGED: Mapping[str, Mapping[str, str]] = {
    "runs": {"lock": _WORD, "command": _COMMAND, "cause": _CAUSE, "parameters": _PARAMETERS},
    "crossovers": {"lock_a": _WORD, "lock_b": _WORD, "below": _WORD},
    "crossover_runs": {"lock": _WORD},
    "facts": {"value": _JSON},
}


def current(word: str) -> str:
    """Return a lock label by the lock's name of today."""
    return _LABEL.sub(rf"\g<1>{NAME}", word, count=1) if _LABEL.match(word) else word


def current_in_document(document: Any) -> Any:
    """Return a TOML document with the lock's name of today under each key that takes labels."""
    if isinstance(document, list):
        return [current_in_document(inner) for inner in document]
    if not isinstance(document, dict):
        return document
    renamed = {
        key: _current_in(value) if key in _KEYS else current_in_document(value)
        for key, value in document.items()
    }
    # The values of `each` stand in the names of cells, too; a cell has its lock renamed itself.
    return renamed | {key: given for key, given in document.items() if key == "each"}


def _current_in(value: Any) -> Any:
    if isinstance(value, list):
        return [_current_in(label) for label in value]
    if isinstance(value, dict):
        return {current(label): inner for label, inner in value.items()}
    return current(value) if isinstance(value, str) else value


def current_sql(sql: str) -> str:
    """SQL that compares a column of locks with the name of today."""

    def renamed(match: re.Match[str]) -> str:
        return f"{match[1] or ''}'{NAME}'{match[2] or ''}"

    def listed(match: re.Match[str]) -> str:
        return match[0].replace(f"'{FORMER}'", f"'{NAME}'")

    return _LISTED.sub(listed, _COMPARED.sub(renamed, sql))


def rename(connection: sqlite3.Connection) -> None:
    """Change the name in a database of schema SCHEMA, within a transaction. Runs keep their
    identities."""
    for table, columns in CHANGED.items():
        for column, text in columns.items():
            changed = text.format(column)
            connection.execute(
                f"UPDATE {table} SET {column} = {changed} WHERE {column} IS NOT {changed}"
            )


def shadow(
    connection: sqlite3.Connection, changed: Mapping[str, Mapping[str, str]] = CHANGED
) -> None:
    """Has a database of an earlier schema read as if it were changed so, and leaves the file as it
    is: a temporary view stands before each table that would change."""
    for table, columns in changed.items():
        names = [row[1] for row in connection.execute(f"PRAGMA main.table_info({table})")]
        shown = (
            f"CAST({columns[name].format(name)} AS TEXT) AS {name}" if name in columns else name
            for name in names
        )
        connection.execute(
            f"CREATE TEMP VIEW {table} AS SELECT {', '.join(shown)} FROM main.{table}"
        )
