"""Lock nop by the name that it had: on command lines, in plans, in SQL, in databases."""

import shutil
import sqlite3
from pathlib import Path

import pytest

from results.store import database as schema
from results.store.export import export
from results.store.former import current, current_in_document, current_sql
from results.store.queries import TABLES, VIEWS
from results.store.store import Store, StoreError
from sweeps.questions.reproduce import definition
from sweeps.study.plan import expand, parse_plan
from tests.commands import SMALL, lockcross
from tests.fakes.records import record
from tests.fakes.study import study


@pytest.fixture
def before(tmp_path: Path) -> Path:
    """A database as the program before wrote it."""
    path = study(tmp_path / "before.db")
    with Store(path) as store:
        for seed in (1, 2):
            made = record(f"nop {seed}", lock="nop", seed=seed, command="x --lock nop --fence full")
            store.add_run(made, "p")
        refused = "workload micro is built with lock null only"
        store.add_run(record("refused", status="refused", cause=refused, metrics={}), "p")
        micro = {"op": "empty", "stores": "none"}
        store.add_run(record("micro", lock="nop", workload="micro", parameters=micro), "p")
        store.set_fact("mine", {"lock": "null", "nothing": None, "text": 'so "null" is'})
    with sqlite3.connect(path) as connection:
        connection.executescript("""
            UPDATE runs SET lock = 'null' WHERE lock = 'nop';
            UPDATE runs SET command = replace(command, '--lock nop', '--lock null');
            UPDATE crossovers SET lock_a = 'null' WHERE lock_a = 'thin';
            UPDATE crossovers SET below = 'null' WHERE below = 'thin';
            UPDATE crossover_runs SET lock = 'null' WHERE lock = 'thin';
            ALTER TABLE crossover_seeds ADD COLUMN error REAL;
            ALTER TABLE series DROP COLUMN latencies;
            DELETE FROM migrations;
            INSERT INTO migrations VALUES (9, 'schema', datetime('now'));
            """)
    return path


def everything(path: Path) -> dict[str, list[tuple[object, ...]]]:
    with Store(path, read_only=True) as store:
        return {
            table: store.connection.execute(f"SELECT * FROM {table}").fetchall()
            for table in (*TABLES, *VIEWS)
            if table != "migrations"
        }


def test_a_reader_sees_the_new_name_and_leaves_the_file(before: Path) -> None:
    files = {one.name: one.read_bytes() for one in before.parent.iterdir()}
    seen = everything(before)
    assert {one.name: one.read_bytes() for one in before.parent.iterdir()} == files
    with Store(before, read_only=True) as store:
        nop = store.connection.execute("SELECT 1 FROM runs WHERE lock = 'nop'").fetchall()
        texts = store.connection.execute("SELECT cause, command, parameters FROM runs").fetchall()
        (fact,) = store.connection.execute("SELECT value FROM facts WHERE name = 'mine'").fetchone()
        with pytest.raises(sqlite3.OperationalError):
            store.connection.execute("DELETE FROM main.runs")
    assert len(nop) == 6
    said = str(texts)
    assert "workload micro is built with lock nop only" in said
    assert "--lock nop --fence" in said and "lock null" not in said
    assert '"stores": "zero"' in said and '"none"' not in said
    assert fact == '{"lock": "nop", "nothing": null, "text": "so \\"null\\" is"}'
    copied = Path(shutil.copy(before, before.with_name("copied.db")))
    with Store(copied) as store:
        numbers = store.connection.execute("SELECT number FROM migrations").fetchall()
    assert numbers == [(9,), (10,), (schema.VERSION,)]
    assert everything(copied) == seen


def test_old_runs_are_known_again_and_new_ones_stored(before: Path) -> None:
    with Store(before) as store:
        assert len(store.find(["nop 1", "nop 2"])) == 2
        store.add_run(record("nop 3", lock="nop", seed=3), "p")
    with Store(before, read_only=True) as store:
        locks = dict(store.connection.execute("SELECT lock, count(*) FROM runs GROUP BY lock"))
    assert locks["nop"] == 7 and "null" not in locks


def test_a_migration_is_whole_or_not_at_all(before: Path) -> None:
    with sqlite3.connect(before) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("UPDATE facts SET value = '{\"null\"' WHERE name = 'mine'")
    content = before.read_bytes()
    with pytest.raises(StoreError):
        Store(before)
    assert before.read_bytes() == content


def test_a_database_whose_crossovers_rest_on_a_model_is_read_as_one_without(tmp_path: Path) -> None:
    path = study(tmp_path / "modelled.db")
    wanted = everything(path)
    with Store(path) as store:
        store.set_fact("map/check", {"map/generic/x86_64/lock": {"points": 2}})
    with sqlite3.connect(path) as connection:
        connection.executescript("""
            ALTER TABLE crossover_seeds ADD COLUMN error REAL;
            ALTER TABLE series DROP COLUMN latencies;
            UPDATE crossover_seeds SET error = 0.5 WHERE seed > 1;
            UPDATE migrations SET number = 10;
            """)
    assert everything(path)["crossover_seeds"] == wanted["crossover_seeds"]
    del wanted["series"]  # in which these runs do not say their latencies
    with Store(path) as store:
        numbers = store.connection.execute("SELECT number FROM migrations").fetchall()
    assert numbers == [(10,), (schema.VERSION,)]
    assert wanted.items() <= everything(path).items()


def test_commands_on_a_database_from_before(before: Path, tmp_path: Path) -> None:
    db = ["--db", str(before)]
    for words in (
        ["runs", "--lock", "null"],
        ["runs", "--lock", "nop"],
        ["runs", "--where", "lock = 'null'"],
        ["runs", "--where", "seed < 3 AND runs.lock IN ('null', 'mcs')"],
    ):
        done = lockcross(*words, *db, "--format", "csv")
        assert done.returncode == 0, done.stderr
        assert len(done.stdout.splitlines()) == 7, words
        assert ",nop," in done.stdout
    done = lockcross("query", "SELECT DISTINCT lock FROM runs WHERE lock = 'null'", *db)
    assert done.stdout.split() == ["lock", "nop"]
    with Store(before, read_only=True) as store:
        rows, _ = export(store.connection, "wide", tmp_path / "a.csv")
    text = (tmp_path / "a.csv").read_text(encoding="utf-8")
    assert rows > 3 and ",null," not in text and ",nop," in text
    for words in (["query", "crossovers"], ["show", "1"]):
        assert lockcross(*words, *db).returncode == 0


def test_labels() -> None:
    for word in ("null", "not null", "null/full", "null:x/rmw"):
        assert current(word) == word.replace("null", "nop")
    for word in ("nullable", "not nullable", "a null", ""):
        assert current(word) == word


def test_sql() -> None:
    for sql in (
        "lock = 'null'",
        "LOCK != 'null' AND seed = 1",
        "r.lock IS NOT 'null'",
        "'null' = r.lock",
        "lock NOT IN ('thin','null')",
        "lock_a='null' or below == 'null'",
    ):
        assert current_sql(sql) == sql.replace("null", "nop")
    for sql in ("typeof(cores) = 'null'", "block = 'null'", "lock IS NULL", "cause = 'lock null'"):
        assert current_sql(sql) == sql


def test_documents() -> None:
    given = {
        "title": "null",
        "sweep": [{"lock": ["null", "thin"], "machine": "null"}],
        "limits": {"null": "a"},
        "cell": [{"lock": "{lock}", "each": {"lock": ["null"]}}],
    }
    assert current_in_document(given) == given | {
        "sweep": [{"lock": ["nop", "thin"], "machine": "null"}],
        "limits": {"nop": "a"},
    }


PLAN = """
title = "a"
[[sweep]]
machine = "generic"
isa = "x86_64"
lock = {}
workload = "sync"
parameters = {{ iterations = 10 }}
"""


def test_plans() -> None:
    def cells(locks: str) -> list[str]:
        return [cell.lock for cell in expand(parse_plan(PLAN.format(locks)))]

    assert cells('"null"') == ["nop"]
    assert cells('["null", "thin"]') == ["nop", "thin"]
    assert cells('["all", "not null"]') == cells('["all", "not nop"]')


def test_definitions_of_reproductions() -> None:
    """Their cells keep the names that expressions call them by."""
    text = (definition.REPRODUCTIONS.path("b_figure_6")).read_text(encoding="utf-8")
    before = text.replace('"nop"', '"null"').replace("nop_", "null_")
    assert before != text
    now, then = (definition.parse("b_figure_6", one) for one in (text, before))
    assert {name.replace("null", "nop"): cell for name, cell in then.cells.items()} == now.cells


def test_options() -> None:
    assert "speed of light" in lockcross("locks", "null").stdout
    words = ["null" if word == "cas_spin" else word for word in SMALL]
    done = lockcross("run", *words, "--format", "json")
    assert done.returncode == 0, done.stderr
    done = lockcross("crossovers", "--locks", "null,thin", "--along", "cas_latency", "--dry-run")
    assert "unknown" not in done.stderr
