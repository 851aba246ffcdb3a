"""Every number that is exported or printed as a row has a unit, found by its column's name."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from results.paths import REFERENCE
from results.store.batches import batches
from results.store.queries import TABLES, VIEWS, ask, named_queries
from results.store.store import reading
from sweeps.questions.read.units import OF_THE_ROW, units

DATABASES = sorted(REFERENCE.glob("*.db"))


def have_units(
    known: Mapping[str, str], columns: Sequence[str], rows: Iterable[Any], of: str
) -> None:
    """Every column of `rows` that has a number has a unit, in words or in its row."""
    numbers = [
        name
        for name, values in zip(columns, zip(*rows, strict=True), strict=False)
        if any(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    ]
    assert [name for name in numbers if name not in known] == [], of
    if any(known[name] == OF_THE_ROW for name in numbers):
        assert "unit" in columns, of


@pytest.mark.parametrize("database", DATABASES, ids=lambda path: path.stem)
def test_every_number_of_a_database_and_of_its_named_queries_has_a_unit(database: Path) -> None:
    with reading(database) as connection:
        known = units(connection)
        for table in ("wide", *TABLES, *VIEWS):
            columns, _ = batches(connection, table)
            numbers = [name for name, kind in columns.items() if kind in (int, float)]
            assert [name for name in numbers if name not in known] == [], table
        assert all(known.values())
        for name in named_queries():
            answer = ask(connection, name, database)
            have_units(known, answer.columns, answer.rows, name)


def test_units_are_those_of_axes_metrics_and_keys() -> None:
    with reading(DATABASES[0]) as connection:
        listed = units(connection)
    assert listed["cas_latency"] == "cycles" and listed["duration_s"] == "s"
    assert listed["cycles_per_pair"] == "cycles/pair" == listed["metric_cycles_per_pair"]
    assert listed["parameter_owner_share"] == "share"
