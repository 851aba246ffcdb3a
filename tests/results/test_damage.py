"""Databases that were damaged or changed by something else: one message, with the remedy."""

import json
import shlex
import shutil
import sqlite3
import tomllib
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest.mock import ANY, Mock

import pytest

from results.paths import REFERENCE
from results.store.damage import damage
from results.store.database import VERSION
from results.store.facts import Fact
from results.store.store import Store, StoreError
from sweeps.accuracy.published import Published
from sweeps.questions.explore import presentation as explorer
from sweeps.questions.reproduce import answer, overtake
from sweeps.questions.reproduce.answer import PublishedRow, Reproduction
from sweeps.questions.reproduce.overtake import Border, Case
from sweeps.questions.validate import answer as validation
from sweeps.report.report import render
from sweeps.report.winner_map import draw_map
from sweeps.run.system import SYSTEM
from sweeps.study import results as found
from sweeps.study.job import STUDY
from tests.commands import lockcross
from tests.fakes.study import study
from tests.results.test_queries import run

CASE = Case("Barnes", "p3", "full", 1, 6, 3, (Border("cas_latency", 20, None, "tasuki", 0, 9),))
ROWS = (
    PublishedRow("a", Published(1, 2), 1.0),
    PublishedRow("b", None, missing="failed", mark=Published(3, 3)),
)
ONE = Reproduction("one", "One", "K", "Table 1", "generic", "ns", "all", ROWS)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = study(tmp_path_factory.mktemp("study") / "study.db")
    with Store(path) as store:
        overtake.KEPT.write(store, overtake.Overtaken([CASE]))
        answer.KEPT.of("one").write(store, ONE)
    return path


@pytest.fixture
def database(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(whole, tmp_path / "a.db"))


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in ("PRAGMA ignore_check_constraints = ON", *statements):
            connection.execute(statement)


@pytest.mark.parametrize("path", sorted(REFERENCE.glob("*.db")), ids=lambda path: path.stem)
def test_the_reference_databases_are_whole_and_of_this_schema(path: Path) -> None:
    with Store(path, read_only=True) as store:
        (version,) = store.connection.execute("SELECT max(number) FROM migrations").fetchone()
        (former,) = store.connection.execute("SELECT count(*) FROM runs WHERE lock = 'null'")
        assert (version, former) == (VERSION, (0,))
        assert damage(store.connection) == ""
        facts_are_whole(store, validation.BARS, found.PLAN)


def test_what_lockcross_writes_is_whole(whole: Path) -> None:
    with Store(whole, read_only=True) as store:
        assert damage(store.connection) == ""
        facts_are_whole(store, found.PLAN)


FACTS: tuple[Fact[Any], ...] = (
    found.PLAN,
    found.JOB,
    explorer.PLAN,
    explorer.CHECK,
    validation.BARS,
    validation.JAVA_LOCKS,
    overtake.KEPT,
)
# Of former validations, in databases of simulators that only their owners can run again.
UNREAD = "validation_slopes"
# A fact for each of many names.
MANY: tuple[Fact[Any], ...] = (found.ISA, answer.KEPT, SYSTEM, STUDY)


def facts_are_whole(store: Store, *but: Fact[Any]) -> None:
    """Every fact is of a type, is read by it, and would be written as it stands, except those that
    may lack a value with a default."""
    of_name = {fact.name: fact for fact in FACTS}
    stored = "SELECT name, value FROM facts WHERE name != ?"
    for name, text in store.connection.execute(stored, [UNREAD]):
        fact = of_name.get(name) or next(
            one.of(name.partition("/")[2]) for one in MANY if name.startswith(f"{one.name}/")
        )
        kept = fact.read(store.connection)
        if fact not in but:
            taking = Mock(spec=Store)
            fact.write(taking, kept)
            taking.set_fact.assert_called_once_with(name, ANY)
            assert json.dumps(taking.set_fact.call_args.args[1], sort_keys=True) == text


ODD = tomllib.loads(Path(__file__).with_name("damage.toml").read_text(encoding="utf-8"))["odd"]


@pytest.mark.parametrize(("statement", "words"), ODD, ids=lambda text: str(text)[:60])
def test_values_that_lockcross_does_not_write(database: Path, statement: str, words: str) -> None:
    change(database, statement)
    with pytest.raises(StoreError) as error, Store(database, read_only=True) as store:
        render(store.connection, {})
        draw_map(store.connection, "generic")
    said = error.value.message
    assert words in said and str(database) in said and "move it away" in said


@pytest.mark.parametrize("numbers", ["[1]", '["much",1,1,1,1]', "{}"])
def test_numbers_that_are_none(database: Path, numbers: str) -> None:
    change(database, f"UPDATE run_metrics SET numbers = '{numbers}'")
    with pytest.raises(StoreError, match=r"run_metrics\.numbers is"), Store(database) as store:
        store.find(one for (one,) in store.connection.execute("SELECT identity FROM runs"))


@pytest.mark.parametrize("table", ["runs", "run_metrics", "facts", "series", "machines"])
def test_tables_that_are_missing(database: Path, tmp_path: Path, table: str) -> None:
    change(database, "PRAGMA foreign_keys = OFF", f"DROP TABLE {table}")
    for words in (["report", "--output", tmp_path], ["export", tmp_path / "x.csv"], ["show", 1]):
        said = run(*words, "--db", database, code=2)
        assert f"the table {table} is missing" in said and "\n" not in said


ENDLESS = "AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i AS number FROM n"
FOREIGN = [
    (["DELETE FROM migrations"], "its table migrations is empty"),
    (["DROP TABLE migrations"], "the table migrations is missing"),
    (["DROP TABLE migrations", f"CREATE VIEW migrations {ENDLESS}"], "migrations is a view"),
    (["DROP TABLE facts", f"CREATE VIEW facts {ENDLESS}"], "facts is a view"),
    (["DROP TABLE facts", "CREATE VIRTUAL TABLE facts USING fts5(name, value)"],
     "facts is a virtual table and should be a table"),
    (["DROP VIEW resolved", "CREATE TABLE resolved (run_id, resolved)"], "resolved is a table"),
    (["DROP VIEW metrics", f"CREATE VIEW metrics {ENDLESS}"], "metrics is another"),
    (["CREATE TRIGGER mine AFTER INSERT ON runs BEGIN INSERT INTO facts SELECT i, i FROM "
      "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i FROM n); END"],
     "it has a trigger, mine"),
]  # fmt: skip


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize(("statements", "words"), FOREIGN, ids=lambda value: str(value)[:60])
def test_what_is_not_lockcross_s_is_refused(
    database: Path, read_only: bool, statements: list[str], words: str
) -> None:
    """Before anything of it is read: an endless view would hang a command."""
    change(database, "PRAGMA foreign_keys = OFF", *statements)
    with pytest.raises(StoreError, match="move it away") as error:
        Store(database, read_only)
    assert words in error.value.message


def test_a_user_s_own_tables_and_version_do_no_harm(database: Path) -> None:
    change(database, "CREATE TABLE mine (x)", "CREATE VIEW mine_too AS SELECT x FROM mine")
    change(database, "PRAGMA user_version = 99")
    assert "tasuki" in run("runs", "--db", database)


@pytest.mark.parametrize(
    "line", ["runs", "show 1", "export x.csv", "report --output out", "query 'SELECT * FROM runs'"]
)
def test_pages_that_were_overwritten(
    database: Path, tmp_path: Path, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    data = bytearray(database.read_bytes())
    size = int.from_bytes(data[16:18], "big")
    for page in range(3, len(data) // size):  # the first have what SQLite needs to open it
        data[page * size : (page + 1) * size] = bytes([page % 251]) * size
    database.write_bytes(data)
    said = run(*shlex.split(line), "--db", database, code=2)
    assert "is damaged" in said and "move it away" in said and "\n" not in said
    with pytest.raises(StoreError, match="is damaged"), Store(database) as store:
        store.find(["x"])


def test_a_command_that_writes_says_it_too(database: Path) -> None:
    change(database, "DROP TABLE runs")
    done = lockcross("sweep", "smoke", "--db", str(database))
    assert done.returncode == 2 and "move it away" in done.stderr


def test_a_mistake_of_lockcross_stays_one(database: Path) -> None:
    with pytest.raises(KeyError), Store(database):
        raise KeyError("none of the database's")
