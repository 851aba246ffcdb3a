"""How numbers and options are kept: reading gives all back."""

import json
from typing import Any

import pytest

from results.store.queries import show_run
from results.store.store import Store, number_text
from tests.fakes.records import record


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


def test_runs_share_names_and_options(store: Store) -> None:
    other = {"pairs": (2.0, "pairs"), "late": (0.25, "µs")}
    for number in range(9):
        store.add_run(record(f"r{number}", number, resolved={"cas": number % 3, "a": "b"}), "p")
    store.add_run(record("other", metrics=other, resolved={}), "p")
    kept = {"run_metrics": 10, "metric_sets": 2, "option_sets": 2, "resolved_options": 4}
    for table, rows in kept.items():
        counted = store.connection.execute(f"SELECT count(*) FROM {table}").fetchone()
        assert counted == (rows,), table
    assert store.find(["other"])["other"].metrics == {"late": 0.25, "pairs": 2.0}
    shown = show_run(store.connection, 10)
    assert shown.metrics == [("late", 0.25, "µs"), ("pairs", 2.0, "pairs")]
    assert show_run(store.connection, 5).columns["resolved"] == {"a": "b", "cas": 1}
    costs = store.connection.execute("SELECT cycles_per_pair FROM runs WHERE id > 8")
    assert costs.fetchall() == [(8.0,), (None,)]
