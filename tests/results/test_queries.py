"""Queries, exports, and the commands that give them."""

import json
import shutil
import signal
import sqlite3
import subprocess
import threading
import time
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from results.errors import LockcrossError
from results.store.database import explained
from results.store.queries import ask, named_queries, show_run
from results.store.store import Store
from sweeps.cli.main import make_app
from sweeps.questions.read.runs import list_runs
from tests.commands import start
from tests.fakes.records import record


def run(*words: object, code: int = 0) -> str:
    """Run a command of the results part and return its output."""
    done = CliRunner().invoke(make_app(), [str(word) for word in words])
    if isinstance(done.exception, LockcrossError):
        assert done.exception.exit_code == code
        return done.exception.message
    assert done.exit_code == code, done.output
    return done.stdout


@pytest.mark.parametrize("name", sorted(named_queries()))
def test_every_named_query_is_described_and_answers(
    connection: sqlite3.Connection, filled: Path, name: str
) -> None:
    assert len(named_queries()[name]) > 20
    answer = ask(connection, name, filled)
    assert answer.rows
    # Cycles on the host never stand among simulated ones unnamed.
    columns = set(answer.columns)
    if columns & {"cycles_per_pair", "per_pair", "lead_cycles", "reference_cost", "cycles"}:
        assert columns & {"engine", "reference"}


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM runs",
        "DROP VIEW metrics",
        "INSERT INTO facts VALUES ('a', '{{}}')",
        "UPDATE runs SET status = 'ok'",
        "CREATE TABLE mine (x)",
        "PRAGMA user_version = 7",
        "DELETE FROM runs RETURNING id",
        "ATTACH '{}' AS other",
        "VACUUM INTO '{}'",
        "VACUUM main INTO '{}'",
    ],
)
def test_queries_only_read(filled: Path, tmp_path: Path, sql: str) -> None:
    before = {one.name: one.read_bytes() for one in filled.parent.iterdir()}
    said = run("query", sql.format(tmp_path / "made.db"), "--db", filled, code=2)
    assert "only reading is allowed" in said or "only queries (SELECT) are allowed" in said
    assert {one.name: one.read_bytes() for one in filled.parent.iterdir()} == before
    assert list(tmp_path.iterdir()) == []


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"


@pytest.mark.parametrize("words", [["query", ENDLESS], ["runs", "--where", f"({ENDLESS}) > 1"]])
def test_sql_of_one_s_own_has_a_time_limit(filled: Path, words: list[str]) -> None:
    said = run(*words, "--timeout", 0.2, "--db", filled, code=1)
    assert "longer than 0.2 s" in said and "--timeout" in said


def test_a_signal_ends_what_lockcross_itself_asks(
    connection: sqlite3.Connection, filled: Path
) -> None:
    threading.Timer(0.5, signal.raise_signal, [signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt), explained(filled):
        connection.execute(ENDLESS)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_long_query_ends_at_once_when_it_is_told_to(filled: Path, number: int) -> None:
    process = start("query", ENDLESS, "--db", str(filled))
    files, deadline = Path(f"/proc/{process.pid}/fd"), time.monotonic() + 60
    while filled.resolve() not in {one.resolve() for one in files.iterdir()}:  # it starts
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1)
    process.send_signal(number)
    out, err = process.communicate(timeout=5)
    assert process.returncode == 128 + number
    assert out == "" and err.count("\n") == 1 and "interrupted" in err


@pytest.mark.parametrize(
    ("sql", "shown", "json_value"),
    [
        ("SELECT x'00ff' AS v", "x'00ff'", "x'00ff'"),
        ("SELECT 9e999 AS v", "inf", None),
        ("SELECT -9e999 AS v", "-inf", None),
        ("SELECT CAST(x'61ff' AS TEXT) AS v", r"a\xff", r"a\xff"),
        ("SELECT NULL AS v", "", None),
    ],
)
def test_every_value_of_sqlite_is_shown(
    filled: Path, sql: str, shown: str, json_value: object
) -> None:
    def strict(word: str) -> None:
        pytest.fail(f"{word} is no JSON")

    said = run("query", sql, "--format", "json", "--db", filled)
    assert json.loads(said, parse_constant=strict) == [{"v": json_value}]
    for form in ("table", "csv"):
        lines = run("query", sql, "--format", form, "--db", filled).splitlines()
        assert lines[1].strip(' "') == shown


def test_columns_of_one_name_are_all_in_the_json(filled: Path) -> None:
    sql = 'SELECT 1 AS a, 2 AS a, 3 AS "a:1"'
    (row,) = json.loads(run("query", sql, "--format", "json", "--db", filled))
    assert row == {"a": 1, "a:1": 2, "a:1:1": 3}


def test_control_characters_do_not_reach_the_terminal(filled: Path, tmp_path: Path) -> None:
    sql = "SELECT char(27) || '[31mred' || char(8, 155, 8238) || 'ä' AS \"\x1b[2Jname\""
    said = run("query", sql, "--db", filled)
    assert said.splitlines()[0].strip() == r"\x1b[2Jname"
    assert said.splitlines()[1].strip() == r"\x1b[31mred\x08\x9b\u202eä"
    copied = Path(shutil.copy(filled, tmp_path / "a.db"))
    with Store(copied) as store:
        number = store.add_run(record("e", status="failed", cause="\x1b[1m", output="\x1b[2J"), "p")
    assert "\x1b" not in run("show", number, "--db", copied)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["query", "SELECT colour FROM runs"], "no such column"),
        (["query", "SELEC x"], "syntax error"),
        (["query", "no_such"], "named ones are"),
        (["query", "SELECT '\udcff'"], "not UTF-8"),
        (["query"], "--list"),
        (["runs", "--plan", "nonesuch"], "no runs of plan 'nonesuch'"),
        (["runs", "--where", "colour = 1"], "no such column: colour"),
        (["runs", "--where", "1) --"], "--where"),
        (["runs", "--status", "fine"], "allowed are ok, failed, refused"),
        (["show", "99999"], "no run 99999"),
        (["export", "runs.xls"], "allowed are .csv, .json, .parquet"),
        (["export", "runs.csv", "--table", "mine"], "allowed are wide, runs"),
    ],
)
def test_mistakes_are_explained(filled: Path, words: list[str], expected: str) -> None:
    assert expected in run(*words, "--db", filled, code=2)


def test_runs_are_filtered(connection: sqlite3.Connection, filled: Path) -> None:
    answer = list_runs(connection, 1000, lock="reservation", machine="known")
    rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
    assert {(row["lock"], row["machine"]) for row in rows} == {("reservation", "known")}
    assert len(list_runs(connection, 2).rows) == 2
    assert "lost, then" in run("runs", "--status", "failed", "--db", filled)


def test_show_tells_all_of_a_run(connection: sqlite3.Connection, filled: Path) -> None:
    (failed,) = connection.execute("SELECT id FROM runs WHERE output LIKE '[red]%'").fetchone()
    (drawn,) = connection.execute(
        "SELECT run_id FROM series WHERE name GLOB 'map/*' AND run_id IN "
        "(SELECT run_id FROM crossover_runs)"
    ).fetchone()
    details = show_run(connection, drawn)
    assert details.series and details.crossovers
    shown = run("show", failed, "--db", filled)
    for said in ("lost, then", "[red]a[/red] b", "./lockcross run bad", "run_length=10"):
        assert said in shown
    assert "cycles_per_pair" in run("show", drawn, "--db", filled)


def test_single_tables_are_exported_where_a_file_can_be_written(
    filled: Path, tmp_path: Path
) -> None:
    words = ("export", "--table", "crossovers", "--db", filled)
    run(*words, tmp_path / "c.csv")
    assert "verdict" in pd.read_csv(tmp_path / "c.csv").columns
    assert "written" in run(*words, tmp_path / "none" / "c.csv", code=2)


@pytest.mark.parametrize(
    ("sql", "index"),
    [
        ("SELECT * FROM runs WHERE identity = 'x'", "sqlite_autoindex_runs_1"),
        ("SELECT * FROM runs WHERE machine = 'm' AND isa = 'i'", "runs_by_setting"),
        ("SELECT * FROM runs WHERE status != 'ok'", "runs_not_ok"),
        ("SELECT count(*) FROM runs GROUP BY lock", "COVERING INDEX runs_by_setting"),
        ("SELECT * FROM crossovers WHERE series = 'map'", "crossovers_by_series"),
    ],
)
def test_queries_use_the_indexes(connection: sqlite3.Connection, sql: str, index: str) -> None:
    assert index in connection.execute(f"EXPLAIN QUERY PLAN {sql}").fetchone()[3]
