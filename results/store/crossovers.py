"""Crossovers as their tables have them."""

import json
import sqlite3
from dataclasses import dataclass
from operator import attrgetter
from typing import Self

from results.store.records import CrossoverRecord, CrossoverRun, CrossoverSeed

_OF_CROSSOVER = tuple(
    name for name in CrossoverRecord.__dataclass_fields__ if name not in ("runs", "seeds")
)
_OF_RUN = tuple(CrossoverRun.__dataclass_fields__)
_OF_SEED = tuple(CrossoverSeed.__dataclass_fields__)


@dataclass(frozen=True)
class CrossoverRows:
    """A crossover as its tables have it: its row, and those of its runs and seeds."""

    values: dict[str, object]
    runs: dict[tuple[object, ...], None]  # as a set, but in order
    seeds: dict[tuple[object, ...], None]

    @classmethod
    def of(cls, record: CrossoverRecord, series: str) -> Self:
        """The rows of a record."""
        values = {name: getattr(record, name) for name in _OF_CROSSOVER}
        values |= {"series": series, "setting": json.dumps(dict(record.setting), sort_keys=True)}
        return cls(
            values,
            dict.fromkeys(map(attrgetter(*_OF_RUN), record.runs)),
            dict.fromkeys(map(attrgetter(*_OF_SEED), record.seeds)),
        )


def stored_crossovers(connection: sqlite3.Connection, series: str) -> list[CrossoverRows]:
    """The crossovers of a series as they stand, in order."""
    names = [*_OF_CROSSOVER, "series"]
    of_series = "SELECT id FROM crossovers WHERE series = ?"
    found = {
        number: CrossoverRows(dict(zip(names, values, strict=True)), {}, {})
        for number, *values in connection.execute(
            f"SELECT id, {', '.join(names)} FROM crossovers WHERE series = ? ORDER BY id", (series,)
        )
    }
    for table, columns in (("crossover_runs", _OF_RUN), ("crossover_seeds", _OF_SEED)):
        for number, *values in connection.execute(
            f"SELECT crossover_id, {', '.join(columns)} FROM {table} "
            f"WHERE crossover_id IN ({of_series})",
            (series,),
        ):
            one = found[number]
            (one.runs if columns == _OF_RUN else one.seeds)[tuple(values)] = None
    return list(found.values())


def add_crossover(connection: sqlite3.Connection, rows: CrossoverRows) -> None:
    """Adds a crossover, inside a transaction."""
    names = list(rows.values)
    number = connection.execute(
        f"INSERT INTO crossovers ({', '.join(names)}) VALUES (:{', :'.join(names)})", rows.values
    ).lastrowid
    for table, columns, found in (
        ("crossover_runs", _OF_RUN, rows.runs),
        ("crossover_seeds", _OF_SEED, rows.seeds),
    ):
        marks = ", ".join("?" * (1 + len(columns)))
        connection.executemany(
            f"INSERT INTO {table} (crossover_id, {', '.join(columns)}) VALUES ({marks})",
            [(number, *values) for values in found],
        )
