"""Exports for other programs: every export is read back by the common readers as they read by
default, and nothing is lost; it is written in batches, whole or not at all."""

import csv
import io
import json
import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pytest
from pandas._libs.parsers import STR_NA_VALUES

from results.errors import LockcrossError
from results.paths import REFERENCE, ROOT
from results.store import export as export_module
from results.store.batches import Kinds, batches
from results.store.export import export
from results.store.missing import FIRST_VARIANT, WORDS, why_no_name
from results.store.queries import TABLES, VIEWS
from results.store.store import Store
from sweeps.model import engines
from sweeps.model.axes import AXES
from sweeps.model.isa import FLAVOURS, ISAS
from sweeps.model.locks import FENCE_KINDS, load_locks, parse_locks
from sweeps.model.machine import load_machine, machine_names
from sweeps.model.workloads import WORKLOADS, Choice, parse_workloads
from sweeps.plans import EXPLORATIONS, REPRODUCTIONS, RUNTIMES, STUDIES, SWEEPS, VALIDATIONS
from sweeps.study.plan import load_plan
from tests.commands import lockcross
from tests.fakes.records import record
from tests.fakes.study import study
from tests.fakes.validation import Gem5Data

Table = tuple[list[str], list[tuple[Any, ...]]]  # columns and rows


def by_pandas(path: Path) -> Table:
    frame = pd.read_csv(path)
    values = frame.astype(object).where(frame.notna(), None)
    return list(frame.columns), list(values.itertuples(index=False, name=None))


def by_duckdb(path: Path) -> Table:
    read = duckdb.sql(f"SELECT * FROM read_csv_auto('{path}')")
    return read.columns, read.fetchall()


def by_polars(path: Path) -> Table:
    frame = pl.read_csv(path)
    return frame.columns, frame.rows()


READERS: dict[str, Callable[[Path], Table]] = {
    "pandas": by_pandas,
    "duckdb": by_duckdb,
    "polars": by_polars,
}


def same(read: object, wanted: object) -> bool:
    """Tell whether a reader has a value. It may take a text of digits for a number, and a date for
    a date. Nothing there and an empty text are one thing in CSV."""
    if wanted in (None, ""):
        return read in (None, "")
    if read is None:
        return False
    if isinstance(wanted, int | float):
        return float(str(read)) == wanted
    if hasattr(read, "isoformat"):
        return bool(pd.Timestamp(str(read)) == pd.Timestamp(str(wanted)))
    return str(read) == str(wanted)


def check(read: Table, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    assert read[0] == list(columns)
    assert len(read[1]) == len(rows)
    for number, column in enumerate(columns):
        for mine, theirs in zip(rows, read[1], strict=True):
            assert same(theirs[number], mine[number]), (column, mine[number], theirs[number])


def whole(connection: sqlite3.Connection, name: str) -> tuple[Kinds, list[Sequence[Any]]]:
    kinds, read = batches(connection, name)
    return kinds, [row for batch in read for row in batch.rows()]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study, a validation with the baseline, runs that failed, texts with everything in them."""
    path = study(tmp_path_factory.mktemp("study") / "study.db")
    with Store(path) as store:
        Gem5Data(store).validation()
        for number, output in enumerate(
            ("a\nb", "a\rb", "a\r\nb", 'say "a", b', " a ", "a,b", "é")
        ):
            failed = record(
                f"bad {number}", status="failed", cause=f"lost, {number}", output=output
            )
            store.add_run(failed, "p")
        mixed = {"op": "cas", "iterations": 10}
        store.add_run(record("nop", lock="nop", workload="calibrate", parameters=mixed), "p")
        store.add_run(record("signal", lock="reservation", variant="signal"), "p")
        comma = {"stands": "a, b", "quoted": 'a "b"', "line": "a\nb", "number": 1.5}
        store.add_run(record("comma", resolved=comma), "p")
        store.add_run(record("empty", resolved={}, metrics={}), "p")
    return path


EXPORTED = ("wide", *TABLES, *VIEWS)


@pytest.mark.parametrize("table", EXPORTED)
def test_csv_is_read_back(database: Path, tmp_path: Path, table: str) -> None:
    path = tmp_path / "a.csv"
    with Store(database, read_only=True) as store:
        kinds, rows = whole(store.connection, table)
        assert export(store.connection, table, path) == (len(rows), len(kinds))
    rows = [[v.hex() if isinstance(v, bytes) else v for v in row] for row in rows]
    for reader in READERS.values() if rows else ():
        check(reader(path), list(kinds), rows)


@pytest.mark.parametrize("table", EXPORTED)
def test_parquet_and_json_are_read_back(database: Path, tmp_path: Path, table: str) -> None:
    parquet, text = tmp_path / "a.parquet", tmp_path / "a.json"
    with Store(database, read_only=True) as store:
        kinds, rows = whole(store.connection, table)
        for path in (parquet, text):
            assert export(store.connection, table, path) == (len(rows), len(kinds))
    wanted = [tuple(row) for row in rows]
    assert pl.read_parquet(parquet).rows() == wanted
    assert duckdb.sql(f"SELECT * FROM '{parquet}'").fetchall() == wanted
    frame = pd.read_parquet(parquet)
    assert list(frame.columns) == list(kinds)
    assert len(frame) == len(rows)
    texts = [name for name, kind in kinds.items() if kind is str]
    for name in texts:
        place = list(kinds).index(name)
        assert [v if isinstance(v, str) else None for v in frame[name]] == [r[place] for r in rows]
    read = json.loads(text.read_text(encoding="utf-8"))
    plain = [[v.hex() if isinstance(v, bytes) else v for v in row] for row in rows]
    assert [list(row.values()) for row in read] == plain


def test_what_is_exported_is_what_is_stored(database: Path) -> None:
    with Store(database, read_only=True) as store:
        kinds, rows = whole(store.connection, "wide")
        columns = list(kinds)
        metrics = store.connection.execute("SELECT run_id, name, value FROM metrics").fetchall()
        resolved = store.connection.execute("SELECT run_id, resolved FROM resolved").fetchall()
        stored = {
            row[0]: row[1:]
            for row in store.connection.execute("SELECT id, lock, variant, parameters FROM runs")
        }
    by_id = {row[0]: dict(zip(columns, row, strict=True)) for row in rows}
    assert set(by_id) == set(stored)
    numbers = {
        (run, name.removeprefix("metric_"), value)
        for run, row in by_id.items()
        for name, value in row.items()
        if name.startswith("metric_") and value is not None
    }
    assert numbers == set(metrics)
    assert {run: row["resolved"] for run, row in by_id.items()} == dict(resolved)
    for run, (lock, variant, parameters) in stored.items():
        row = by_id[run]
        assert (row["lock"], row["variant"]) == (lock, variant or FIRST_VARIANT)
        keys = {
            name.removeprefix("parameter_"): value
            for name, value in row.items()
            if name.startswith("parameter_") and value is not None
        }
        assert keys == json.loads(parameters)


def test_no_column_of_texts_has_both_an_empty_one_and_none(database: Path) -> None:
    """CSV has one sign for both."""
    for path in (database, *REFERENCE.glob("*.db")):
        with Store(path, read_only=True) as store:
            for table in EXPORTED:
                kinds, rows = whole(store.connection, table)
                for place, (name, kind) in enumerate(kinds.items()):
                    found = {row[place] for row in rows} if kind is str else set()
                    assert not {None, ""} <= found, (path, table, name)


@pytest.mark.parametrize("path", [*REFERENCE.glob("*.db")], ids=lambda path: path.stem)
def test_every_run_of_the_reference_has_its_lock_in_pandas(path: Path, tmp_path: Path) -> None:
    with Store(path, read_only=True) as store:
        rows, _ = export(store.connection, "wide", tmp_path / "a.csv")
    frame = pd.read_csv(tmp_path / "a.csv", low_memory=False)
    named = [axis.name for axis in AXES if axis.quantity is None]
    assert len(frame) == rows
    assert frame.groupby([*named, "status", "plan"]).size().sum() == rows


COMMANDS = [
    ["query", "winners"],
    ["query", "costs"],
    ["query", "validation"],
    ["query", "SELECT low, high, value, verdict FROM crossovers"],
    ["query", "SELECT lock, count(*) AS runs, avg(cycles_per_pair) AS cost FROM runs GROUP BY 1"],
    ["query", "SELECT id, CASE WHEN id > 200 THEN id + 0.5 ELSE 1 END AS half FROM runs"],
    ["query", "SELECT id, variant, output FROM runs ORDER BY id DESC"],
    ["query", "costs", "--plan", "validate"],
    ["compare", "--plan", "validate", "--along", "threads"],
    ["query", "--list"],
    ["query", "--units"],
    ["runs", "--limit", "100000"],
    ["runs", "--lock", "nop"],
    ["locks"],
    ["locks", "reservation"],
    ["locks", "nop"],
    ["workloads"],
    ["workloads", "micro"],
    ["machines"],
    ["machines", "skylake"],
    ["machines", "--options"],
    ["plans"],
    ["reproduce", "--list"],
    ["footprint", "nop", "thin", "--isa", "x86_64"],
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_rows_of_commands_are_read_back(database: Path, tmp_path: Path, words: list[str]) -> None:
    path = tmp_path / "a.csv"
    if words[0] in ("query", "runs", "footprint", "compare"):
        words = [*words, "--db", str(database)]
    done = lockcross(*words, "--format", "csv")
    assert done.returncode == 0, done.stderr
    path.write_text(done.stdout, encoding="utf-8")
    columns, *rows = csv.reader(io.StringIO(done.stdout))
    assert rows
    lost = {value for row in rows for value in row if value.lower() in WORDS - {""}}
    assert not lost
    for reader in READERS.values():
        read = reader(path)
        assert read[0] == columns
        assert len(read[1]) == len(rows)
        for mine, theirs in zip(rows, read[1], strict=True):
            assert [value in (None, "") for value in theirs] == [value == "" for value in mine]
            texts = zip(mine, theirs, strict=True)
            assert all(a == b for a, b in texts if isinstance(b, str) and b)


def test_what_a_log_shows_is_read_back(tmp_path: Path) -> None:
    log, path = tmp_path / "a.log", tmp_path / "a.csv"
    small = ["--lock", "nop", "--workload", "sync", "iterations=50", "--events", str(log)]
    assert lockcross("run", *small).returncode == 0
    done = lockcross("locality", str(log), "--format", "csv")
    assert done.returncode == 0, done.stderr
    path.write_text(done.stdout, encoding="utf-8")
    columns, *rows = csv.reader(io.StringIO(done.stdout))
    for reader in READERS.values():
        read = reader(path)
        assert (read[0], len(read[1])) == (columns, len(rows))


def test_the_words_are_those_of_the_readers() -> None:
    assert {word.lower() for word in STR_NA_VALUES} <= WORDS
    for word in WORDS - {""}:
        assert why_no_name(word.upper()), word
    for word in ("nop", "nanosleep", "nullable", FIRST_VARIANT):
        assert not why_no_name(word)


def names() -> Iterator[tuple[str, str]]:
    """Return every name that a table can hold, and its kind."""
    for lock in load_locks().values():
        yield "lock", lock.name
        yield from (("variant", name) for name in lock.variants)
    for name, workload in WORKLOADS.items():
        yield "workload", name
        yield from (("key", key) for key in workload.keys)
        yield from (("metric", metric) for metric in workload.metrics)
        for key in workload.keys.values():
            yield from (("choice", word) for word in getattr(key, "choices", ()))
    yield from (("fence", kind) for kind in FENCE_KINDS)
    yield from (("isa", isa) for isa in ISAS)
    yield from (("flavour", flavour) for flavour in FLAVOURS)
    yield from (("engine", label) for label in engines.labels())
    yield from (("machine", name) for name in machine_names())
    yield from (("axis", axis.name) for axis in AXES)
    yield from (("status", status) for status in ("ok", "failed", "refused"))
    yield from (("verdict", one) for one in ("crosses", "a_always", "b_always", "tie"))
    yield "variant", FIRST_VARIANT
    for kind in (EXPLORATIONS, REPRODUCTIONS, RUNTIMES, STUDIES, SWEEPS, VALIDATIONS):
        yield from ((kind.words, name) for name in kind.names())


def test_no_name_is_read_as_a_missing_value() -> None:
    assert [(kind, name) for kind, name in names() if why_no_name(name)] == []
    assert all(FIRST_VARIANT not in lock.variants for lock in load_locks().values())


def test_a_key_is_of_one_type_in_every_workload() -> None:
    """A reader that goes by the first rows of its column would stop at the first text."""
    kinds: dict[str, set[bool]] = {}
    for workload in WORKLOADS.values():
        for name, key in workload.keys.items():
            kinds.setdefault(name, set()).add(isinstance(key, Choice))
    assert [name for name, found in kinds.items() if len(found) > 1] == []


LOCK = 'LOCK({}, "a", "b", TRAIT_NONE, FENCE_FULL, 0, 0, "c")'


@pytest.mark.parametrize("name", ["null", "NaN", "na", "NULL"])
def test_new_names_of_that_kind_are_refused(tmp_path: Path, name: str) -> None:
    words = f"'{name}' cannot be a name: pandas, R and others read it as a missing value"
    with pytest.raises(LockcrossError, match=words):
        parse_locks(LOCK.format(name))
    with pytest.raises(LockcrossError, match=words):
        parse_locks(f'{LOCK.format("a")}\nVARIANT(a, {name}, TRAIT_NONE, "d")')
    workload = f'#ifdef WORKLOAD_{name}\nWORKLOAD({name}, 1, 1, "", ANY_CORES)\n#endif\n'
    with pytest.raises(LockcrossError, match=words):
        parse_workloads(workload)
    choice = f'WORKLOAD(a, 1, 1, "", ANY_CORES)\nCHOICE(op, REQUIRED, b, WORD(b) WORD({name}))\n'
    with pytest.raises(LockcrossError, match=words):
        parse_workloads(f"#ifdef WORKLOAD_a\n{choice}#endif\n")
    machine = tmp_path / "mine.toml"
    machine.write_text(load_machine("generic").as_toml().replace('"generic"', f'"{name}"', 1))
    done = lockcross("run", "--machine", str(machine), "--lock", "thin", "--workload", "sync")
    assert done.returncode == 2
    assert words in done.stderr
    plan = tmp_path / f"{name}.toml"
    plan.write_text((ROOT / "sweeps" / "plans" / "smoke.toml").read_text(encoding="utf-8"))
    with pytest.raises(LockcrossError, match=words):
        load_plan(str(plan))


def many(path: Path, runs: int) -> Path:
    """A database with copies of a run of the reference, by SQL alone."""
    path.write_bytes((REFERENCE / "gem5_minor.db").read_bytes())
    with sqlite3.connect(path) as connection:
        (least,) = connection.execute("SELECT max(id) FROM runs").fetchone()
        columns = [row[1] for row in connection.execute("PRAGMA table_info(runs)")]
        copied = ", ".join(
            {"id": "n.value", "identity": "'r' || n.value"}.get(c, c) for c in columns
        )
        numbers = (
            f"WITH RECURSIVE n(value) AS (SELECT {least + 1} UNION ALL SELECT value + 1 FROM n "
            f"WHERE value < {runs})"
        )
        connection.execute(
            f"{numbers} INSERT INTO runs SELECT {copied} FROM n "
            f"JOIN runs ON id = 1 + value % {least}"
        )
        connection.execute(
            f"{numbers} INSERT INTO run_metrics SELECT n.value, metric_set, numbers FROM n "
            f"JOIN run_metrics ON run_id = 1 + value % {least}"
        )
    return path


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_rows_are_read_as_they_are_written(
    database: Path, tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No batch is read before the one before it is in the file."""
    path, sizes = many(tmp_path / "many.db", 4_000), []
    monkeypatch.setattr("results.store.batches._SIZE", 1_000)

    def watched(connection: sqlite3.Connection, name: str) -> Any:
        kinds, read = batches(connection, name)

        def looked_at() -> Iterator[Any]:
            for batch in read:
                (part,) = tmp_path.glob(".*.a.*")
                sizes.append(part.stat().st_size)
                yield batch

        return kinds, looked_at()

    monkeypatch.setattr(export_module, "batches", watched)
    with Store(path, read_only=True) as store:
        export(store.connection, "wide", tmp_path / f"a.{ending}")
    assert len(sizes) == 4
    assert sizes == sorted(set(sizes))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_what_is_interrupted_leaves_the_file_before(
    tmp_path: Path, ending: str, number: int
) -> None:
    path, file = many(tmp_path / "many.db", 40_000), tmp_path / f"a.{ending}"
    file.write_text("before")
    words = ["./lockcross", "export", str(file), "--db", str(path)]
    with subprocess.Popen(words, cwd=ROOT, stderr=subprocess.PIPE, start_new_session=True) as one:
        end = time.monotonic() + 60
        while not list(tmp_path.glob(".*.a.*")) and one.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        os.killpg(one.pid, number)
        one.communicate(timeout=60)
    assert one.returncode
    assert file.read_text() == "before"
    if number != signal.SIGKILL:
        assert not list(tmp_path.glob(".*.a.*"))
