"""How numbers and options are kept: reading gives all back."""

import json
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from results.store.queries import show_run
from results.store.store import Store, number_text
from tests.fakes.records import record


def rows(connection: sqlite3.Connection, sql: str) -> list[Any]:
    return connection.execute(sql).fetchall()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (50.0, "50"),
        (7, "7"),
        (0.1, "0.1"),
        (1 / 3, "0.3333333333333333"),
        (-2.5, "-2.5"),
        (1e22, "10000000000000000000000"),
        (1e-7, "1e-07"),
    ],
)
def test_numbers_are_short_and_exact(value: float, text: str) -> None:
    assert number_text(value) == text and float(json.loads(text)) == value


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None, "7"])
def test_what_is_no_number_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="is not a number"):
        number_text(value)


def test_runs_share_names_and_options(tmp_path: Path) -> None:
    other = {"pairs": (2.0, "pairs"), "late": (0.25, "µs")}
    with Store(tmp_path / "a.db") as store:
        for number in range(9):
            store.add_run(record(f"r{number}", number, resolved={"cas": number % 3, "a": "b"}), "p")
        store.add_run(replace(record("other"), metrics=other, resolved={}), "p")
        counts = [
            rows(store.connection, f"SELECT count(*) FROM {table}")[0][0]
            for table in ("run_metrics", "metric_sets", "option_sets", "resolved_options")
        ]
        assert counts == [10, 2, 2, 4]
        assert store.find(["other"])["other"].metrics == {"late": 0.25, "pairs": 2.0}
        shown = show_run(store.connection, 10)
        assert shown.metrics == [("late", 0.25, "µs"), ("pairs", 2.0, "pairs")]
        assert show_run(store.connection, 5).columns["resolved"] == {"a": "b", "cas": 1}
        assert rows(store.connection, "SELECT cycles_per_pair FROM runs WHERE id > 8") == [
            (8.0,),
            (None,),
        ]


def test_a_run_that_is_made_again_has_its_new_metrics_alone(tmp_path: Path) -> None:
    failed = replace(record("x"), status="failed", metrics={"late": (1.0, "count")})
    with Store(tmp_path / "a.db") as store:
        store.add_run(failed, "p")
        store.add_run(record("x", 5), "p")
        assert "late" not in store.find(["x"])["x"].metrics
        assert rows(store.connection, "SELECT cycles_per_pair FROM runs") == [(5.0,)]
