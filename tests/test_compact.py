"""How numbers and options are kept: the migration loses nothing, and reading gives all back."""

import json
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from results.paths import REFERENCE
from results.store.compact import number_text
from results.store.database import migrate
from results.store.queries import ask, named_queries, show_run
from results.store.store import Store
from tests.synthetic import record, study

# Of users, of before: they name the metrics as rows.
ROWS = "SELECT run_id, name, value, unit FROM metrics ORDER BY run_id, name"
COSTS = """SELECT lock, fence, cancel, round(value, 1) FROM runs
    JOIN metrics ON run_id = runs.id AND name = 'cycles_per_pair' ORDER BY runs.id"""


def before(path: Path, source: Path) -> sqlite3.Connection:
    """A database of version 5 with what `source` has."""
    connection = sqlite3.connect(path, isolation_level=None)
    migrate(connection, path, upto=5)
    connection.execute("ATTACH ? AS new", (f"file:{source}",))
    shared = [
        name
        for (name,) in connection.execute(
            "SELECT name FROM main.sqlite_master WHERE type = 'table'"
        )
        if name not in ("metrics", "migrations")
    ]
    for table in shared:
        columns = [row[1] for row in connection.execute(f"PRAGMA main.table_info({table})")]
        names = ", ".join(columns)
        place = "new.runs JOIN new.resolved ON run_id = id" if table == "runs" else f"new.{table}"
        connection.execute(f"INSERT INTO main.{table} ({names}) SELECT {names} FROM {place}")
    connection.execute("INSERT INTO main.metrics SELECT * FROM new.metrics")
    connection.execute("DETACH new")
    return connection


def rows(connection: sqlite3.Connection, sql: str) -> list[Any]:
    return connection.execute(sql).fetchall()


@pytest.mark.parametrize("name", ["validation", "native_granite_rapids", "study"])
def test_a_database_of_before_keeps_everything(tmp_path: Path, name: str) -> None:
    source = study(tmp_path / "s.db") if name == "study" else REFERENCE / f"{name}.db"
    old = before(tmp_path / "old.db", source)
    kept = {sql: rows(old, sql) for sql in (ROWS, COSTS, "SELECT * FROM series")}
    options = dict(rows(old, "SELECT id, resolved FROM runs"))
    old.close()
    size = (tmp_path / "old.db").stat().st_size
    with Store(tmp_path / "old.db", read_only=True) as store, Store(source, read_only=True) as its:
        for sql, expected in kept.items():
            assert rows(store.connection, sql) == expected
        found = dict(rows(store.connection, "SELECT run_id, resolved FROM resolved"))
        assert {run: json.loads(text) for run, text in found.items()} == {
            run: json.loads(text) for run, text in options.items()
        }
        for query in named_queries():
            own, other = (ask(one.connection, query, source).rows for one in (store, its))
            assert own == other, query
        assert rows(store.connection, "PRAGMA foreign_key_check") == []
    assert (tmp_path / "old.db").stat().st_size < size * (1 if name == "study" else 0.5), (
        "VACUUM gives the space back"
    )


def test_a_migration_that_fails_leaves_the_database(tmp_path: Path) -> None:
    old = before(tmp_path / "old.db", study(tmp_path / "s.db"))
    old.execute("PRAGMA ignore_check_constraints = ON")
    old.execute("UPDATE runs SET resolved = '{' WHERE id = 5")
    kept = list(old.iterdump())
    with pytest.raises(sqlite3.Error):
        migrate(old, tmp_path / "old.db")
    assert list(old.iterdump()) == kept


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (50.0, "50"), (7, "7"), (0.1, "0.1"), (1 / 3, "0.3333333333333333"),
     (-2.5, "-2.5"), (1e22, "10000000000000000000000"), (1e-7, "1e-07")],
)  # fmt: skip
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
            (8.0,), (None,),
        ]  # fmt: skip


def test_a_run_that_is_made_again_has_its_new_metrics_alone(tmp_path: Path) -> None:
    failed = replace(record("x"), status="failed", metrics={"late": (1.0, "count")})
    with Store(tmp_path / "a.db") as store:
        store.add_run(failed, "p")
        store.add_run(record("x", 5), "p")
        assert "late" not in store.find(["x"])["x"].metrics
        assert rows(store.connection, "SELECT cycles_per_pair FROM runs") == [(5.0,)]
