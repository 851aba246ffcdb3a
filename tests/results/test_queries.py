"""Queries, exports, and the commands that give them."""

import json
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from results.errors import LockcrossError
from results.store.database import explained
from results.store.export import export
from results.store.queries import ask, named_queries, show_run
from results.store.store import Store
from sweeps.cli.main import make_app
from sweeps.questions.read.runs import list_runs
from tests.commands import start
from tests.fakes.records import record
from tests.fakes.study import study
from tests.fakes.validation import Gem5Data


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study, a validation, a run that failed, others of two compilers and of many cores."""
    path = study(tmp_path_factory.mktemp("study") / "study.db")
    with Store(path) as store:
        failed = record("bad", status="failed", cause="time limit", output="[red]half[/red] a line")
        store.add_run(failed, "p")
        Gem5Data(store).validation()
        for number, compiler in enumerate(("gcc 12.2.0", "gcc 14.2.0")):
            store.add_run(record(compiler, cycles=100 + number, compiler=compiler, seed=99), "p")
        store.set_series("many_cores/cores", [store.add_run(record("many", threads=64), "p")])
    return path


def run(*words: object, code: int = 0) -> str:
    """Run a command of the results part and return its output."""
    done = CliRunner().invoke(make_app(), [str(word) for word in words])
    if isinstance(done.exception, LockcrossError):
        assert done.exception.exit_code == code
        return done.exception.message
    assert done.exit_code == code, done.output
    return done.stdout


@pytest.mark.parametrize("name", sorted(named_queries()))
def test_every_named_query_is_described_and_answers(database: Path, name: str) -> None:
    assert len(named_queries()[name]) > 20
    with Store(database, read_only=True) as store:
        answer = ask(store.connection, name, database)
    assert answer.rows
    # Cycles on the host never stand among simulated ones unnamed.
    columns = set(answer.columns)
    if columns & {"cycles_per_pair", "per_pair", "lead_cycles", "reference_cost", "cycles"}:
        assert columns & {"engine", "reference"}


def test_winners_are_the_cheapest_of_all_locks_and_of_those_compared(database: Path) -> None:
    rows = json.loads(run("query", "winners", "--format", "json", "--db", database))
    assert {row["machine"] for row in rows} == {"generic", "narrow", "known", "guessed"}
    assert {
        (row["fences"], row["locks"]): row["winner"] for row in rows if row["machine"] == "known"
    } == {
        ("full", "all"): "thin",
        ("full", "compared"): "reservation",
        ("any", "all"): "asym_tasuki/rmw",
        ("any", "compared"): "asym_tasuki/rmw",
    }


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
def test_queries_only_read(database: Path, tmp_path: Path, sql: str) -> None:
    before = {one.name: one.read_bytes() for one in database.parent.iterdir()}
    said = run("query", sql.format(tmp_path / "made.db"), "--db", database, code=2)
    assert "only reading is allowed" in said or "only queries (SELECT) are allowed" in said
    assert {one.name: one.read_bytes() for one in database.parent.iterdir()} == before
    assert list(tmp_path.iterdir()) == []


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"


@pytest.mark.parametrize("words", [["query", ENDLESS], ["runs", "--where", f"({ENDLESS}) > 1"]])
def test_sql_of_one_s_own_has_a_time_limit(database: Path, words: list[str]) -> None:
    said = run(*words, "--timeout", 0.2, "--db", database, code=1)
    assert "longer than 0.2 s" in said and "--timeout" in said


def test_a_signal_ends_what_lockcross_itself_asks(database: Path) -> None:
    with Store(database, read_only=True) as store:
        threading.Timer(0.5, signal.raise_signal, [signal.SIGINT]).start()
        with pytest.raises(KeyboardInterrupt), explained(database):
            store.connection.execute(ENDLESS)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_long_query_ends_at_once_when_it_is_told_to(database: Path, number: int) -> None:
    process = start("query", ENDLESS, "--db", str(database))
    files, deadline = Path(f"/proc/{process.pid}/fd"), time.monotonic() + 60
    while database.resolve() not in {one.resolve() for one in files.iterdir()}:  # it starts
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
    database: Path, sql: str, shown: str, json_value: object
) -> None:
    def strict(word: str) -> None:
        pytest.fail(f"{word} is no JSON")

    said = run("query", sql, "--format", "json", "--db", database)
    assert json.loads(said, parse_constant=strict) == [{"v": json_value}]
    for form in ("table", "csv"):
        lines = run("query", sql, "--format", form, "--db", database).splitlines()
        assert lines[1].strip(' "') == shown


def test_columns_of_one_name_are_all_in_the_json(database: Path) -> None:
    sql = 'SELECT 1 AS a, 2 AS a, 3 AS "a:1"'
    (row,) = json.loads(run("query", sql, "--format", "json", "--db", database))
    assert row == {"a": 1, "a:1": 2, "a:1:1": 3}


def test_control_characters_do_not_reach_the_terminal(database: Path, tmp_path: Path) -> None:
    sql = "SELECT char(27) || '[31mred' || char(8, 155, 8238) || 'ä' AS \"\x1b[2Jname\""
    said = run("query", sql, "--db", database)
    assert said.splitlines()[0].strip() == r"\x1b[2Jname"
    assert said.splitlines()[1].strip() == r"\x1b[31mred\x08\x9b\u202eä"
    copied = Path(shutil.copy(database, tmp_path / "a.db"))
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
def test_mistakes_are_explained(database: Path, words: list[str], expected: str) -> None:
    assert expected in run(*words, "--db", database, code=2)


def test_runs_are_filtered(database: Path) -> None:
    with Store(database, read_only=True) as store:
        answer = list_runs(store.connection, 1000, lock="reservation", machine="known")
        rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
        assert {(row["lock"], row["machine"]) for row in rows} == {("reservation", "known")}
        assert len(list_runs(store.connection, 2).rows) == 2
    assert "time limit" in run("runs", "--status", "failed", "--db", database)


def test_show_tells_all_of_a_run(database: Path) -> None:
    with Store(database, read_only=True) as store:
        failed = store.find(["bad"])["bad"].id
        (drawn,) = store.connection.execute(
            "SELECT run_id FROM series WHERE name GLOB 'map/*' AND run_id IN "
            "(SELECT run_id FROM crossover_runs)"
        ).fetchone()
        details = show_run(store.connection, drawn)
    assert details.series and details.crossovers
    shown = run("show", failed, "--db", database)
    for said in ("time limit", "[red]half[/red] a line", "./lockcross run bad", "run_length=10"):
        assert said in shown
    assert "cycles_per_pair" in run("show", drawn, "--db", database)


def test_single_tables_are_exported(database: Path, tmp_path: Path) -> None:
    run("export", tmp_path / "c.csv", "--table", "crossovers", "--db", database)
    assert "verdict" in pd.read_csv(tmp_path / "c.csv").columns


def test_an_export_that_cannot_be_written(database: Path, tmp_path: Path) -> None:
    with Store(database, read_only=True) as store, pytest.raises(LockcrossError, match="written"):
        export(store.connection, "runs", tmp_path / "none" / "runs.csv")


def test_queries_use_the_indexes(database: Path) -> None:
    with Store(database, read_only=True) as store:
        for sql, index in (
            ("SELECT * FROM runs WHERE identity = 'x'", "sqlite_autoindex_runs_1"),
            ("SELECT * FROM runs WHERE machine = 'm' AND isa = 'i'", "runs_by_setting"),
            ("SELECT * FROM runs WHERE status != 'ok'", "runs_not_ok"),
            ("SELECT count(*) FROM runs GROUP BY lock", "COVERING INDEX runs_by_setting"),
            ("SELECT * FROM crossovers WHERE series = 'map'", "crossovers_by_series"),
        ):
            plan = store.connection.execute(f"EXPLAIN QUERY PLAN {sql}").fetchall()
            assert index in plan[0][3]
