"""Which compiler made the programs of some runs. Costs of two compilers' programs may be compared
side by side, but are never one series, map or table."""

import re
import sqlite3
from collections.abc import Iterable

_VERSION = re.compile(r"\d+\.\d+(\.\d+)?")


def compiler_name(line: str) -> str:
    """Family and version (`gcc 12.2.0`), from the first line of a compiler's `--version`.

    The same for the compilers of all instruction sets. What is not understood stays as it is.
    """
    family = "clang" if "clang" in line else "gcc" if "gcc" in line.lower() else ""
    outside = re.sub(r"\([^)]*\)", "", line)  # in brackets is the distribution's version
    version = _VERSION.search(outside)
    return f"{family} {version[0]}" if family and version else line


def names(lines: Iterable[str]) -> list[str]:
    """The distinct ones, sorted; runs without a program have none."""
    return sorted({compiler_name(line) for line in lines if line})


def compilers_of_study(connection: sqlite3.Connection) -> list[str]:
    """Those of the winner map's programs."""
    rows = connection.execute(
        "SELECT DISTINCT compiler FROM runs JOIN series ON series.run_id = runs.id "
        "WHERE series.name GLOB 'map/*'"
    )
    return names(line for (line,) in rows)
