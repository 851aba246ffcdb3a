"""The next step after a command: the last line at a terminal, worded in the question's folder."""

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from results.paths import DATABASE

Steps = str | Mapping[str, str]


def next_steps(steps: Steps, arguments: Mapping[str, Any]) -> list[str]:
    """Return the commands that come next, one per line of `steps`, in which {NAME} stands for the
    command's value of NAME (the first of several) and {db} for the option of another database. A
    mapping gives the steps of the first key that was given, else those of ""."""
    if not isinstance(steps, str):
        steps = steps[next((name for name in steps if name and arguments.get(name)), "")]
    words = {name: _word(value) for name, value in arguments.items()}
    database = arguments.get("db")
    words["db"] = "" if database in (None, DATABASE) else f" --db {words['db']}"
    return steps.format_map(words).splitlines()


def _word(value: object) -> str:
    """Return a value as one types it. A file stays one where a name of the tree would do."""
    if isinstance(value, list):
        return _word(value[0]) if value else ""
    if isinstance(value, Path) and value.name == str(value):
        value = f"./{value}"
    return shlex.quote(str(value))


def say_next(program: str, steps: Steps, arguments: Mapping[str, Any]) -> None:
    """Say it to a person: on standard error, where both outputs are a terminal and no CSV or
    JSON."""
    if sys.stdout.isatty() and sys.stderr.isatty() and arguments.get("form", "table") == "table":
        sys.stdout.flush()
        for number, step in enumerate(next_steps(steps, arguments)):
            print(f"{'  or:' if number else 'next:'} {program} {step}", file=sys.stderr)
