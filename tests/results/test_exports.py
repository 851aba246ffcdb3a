"""Exports for other programs: every export is read back by the common readers as they read by
default, and nothing is lost; it is written in batches, whole or not at all."""

import json
import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import ceil
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
from sweeps.model.machine import load_machine
from sweeps.model.workloads import WORKLOADS, Choice, parse_workloads
from sweeps.plans import EXPLORATIONS, REPRODUCTIONS, RUNTIMES, STUDIES, SWEEPS, VALIDATIONS
from sweeps.questions.bench import large
from sweeps.study.plan import load_plan
from tests.commands import lockcross

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


READERS: tuple[Callable[[Path], Table], ...] = (by_pandas, by_duckdb, by_polars)


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


EXPORTED = ("wide", *TABLES, *VIEWS)


@pytest.mark.parametrize("table", EXPORTED)
def test_every_form_is_read_back(
    connection: sqlite3.Connection, tmp_path: Path, table: str
) -> None:
    lines, parquet, text = (tmp_path / f"a.{ending}" for ending in ("csv", "parquet", "json"))
    kinds, rows = whole(connection, table)
    for path in (lines, parquet, text):
        assert export(connection, table, path) == (len(rows), len(kinds))
    plain = [[v.hex() if isinstance(v, bytes) else v for v in row] for row in rows]
    for reader in READERS if rows else ():
        check(reader(lines), list(kinds), plain)
    wanted = [tuple(row) for row in rows]
    assert pl.read_parquet(parquet).rows() == wanted
    assert duckdb.sql(f"SELECT * FROM '{parquet}'").fetchall() == wanted
    frame = pd.read_parquet(parquet)
    assert (list(frame.columns), len(frame)) == (list(kinds), len(rows))
    for place, (name, kind) in enumerate(kinds.items()):
        if kind is str:
            texts = [v if isinstance(v, str) else None for v in frame[name]]
            assert texts == [row[place] for row in rows]
    read = json.loads(text.read_text(encoding="utf-8"))
    assert [list(row.values()) for row in read] == plain


def under(prefix: str, row: Mapping[str, object]) -> dict[str, object]:
    """What a row has in the columns of a prefix, by their names without it."""
    there = {name: value for name, value in row.items() if value is not None}
    return {name.removeprefix(prefix): there[name] for name in there if name.startswith(prefix)}


def test_what_is_exported_is_what_is_stored(connection: sqlite3.Connection) -> None:
    kinds, rows = whole(connection, "wide")
    metrics = connection.execute("SELECT run_id, name, value FROM metrics").fetchall()
    resolved = connection.execute("SELECT run_id, resolved FROM resolved").fetchall()
    sql = "SELECT id, lock, variant, parameters FROM runs"
    stored = {run: rest for run, *rest in connection.execute(sql)}
    by_id = {row[0]: dict(zip(kinds, row, strict=True)) for row in rows}
    assert set(by_id) == set(stored)
    numbers = {
        (run, *metric) for run, row in by_id.items() for metric in under("metric_", row).items()
    }
    assert numbers == set(metrics)
    assert {run: row["resolved"] for run, row in by_id.items()} == dict(resolved)
    for run, (lock, variant, parameters) in stored.items():
        row = by_id[run]
        assert (row["lock"], row["variant"]) == (lock, variant or FIRST_VARIANT)
        assert under("parameter_", row) == json.loads(parameters)


def test_texts_are_neither_lost_nor_both_empty_and_none(filled: Path) -> None:
    """CSV has one sign for an empty text and for none; readers take some words for none."""
    named = {"status", "plan", *(axis.name for axis in AXES if axis.quantity is None)}
    for path in (filled, *REFERENCE.glob("*.db")):
        with Store(path, read_only=True) as store:
            for table in EXPORTED:
                kinds, rows = whole(store.connection, table)
                for place, (name, kind) in enumerate(kinds.items()):
                    found = {row[place] for row in rows} if kind is str else set()
                    assert not {None, ""} <= found, (path, table, name)
                    if table == "wide" and name in named:
                        assert None not in found, (path, name)
                        assert not {word.lower() for word in found} & WORDS, (path, name)


def test_the_words_are_those_of_the_readers() -> None:
    assert {word.lower() for word in STR_NA_VALUES} <= WORDS
    for word in WORDS - {""}:
        assert why_no_name(word.upper()), word
    for word in ("nop", "nanosleep", "nullable", FIRST_VARIANT):
        assert not why_no_name(word)


def test_no_name_is_read_as_a_missing_value() -> None:
    """Beside those of locks, workloads and machines, whose readers refuse such names."""
    names = [FIRST_VARIANT, *FENCE_KINDS, *ISAS, *FLAVOURS, *engines.labels()]
    names += ["ok", "failed", "refused", "crosses", "a_always", "b_always", "tie"]
    names += [axis.name for axis in AXES]
    for documents in (EXPLORATIONS, REPRODUCTIONS, RUNTIMES, STUDIES, SWEEPS, VALIDATIONS):
        names += documents.names()
    for workload in WORKLOADS.values():
        names += [*workload.keys, *workload.metrics]
    assert [name for name in names if why_no_name(name)] == []
    assert all(FIRST_VARIANT not in lock.variants for lock in load_locks().values())


def test_a_key_is_of_one_type_in_every_workload() -> None:
    """A reader that goes by the first rows of its column would stop at the first text."""
    kinds: dict[str, set[bool]] = {}
    for workload in WORKLOADS.values():
        for name, key in workload.keys.items():
            kinds.setdefault(name, set()).add(isinstance(key, Choice))
    assert [name for name, found in kinds.items() if len(found) > 1] == []


LOCK = 'LOCK({}, "a", "b", TRAIT_NONE, FENCE_FULL, 0, 0, "c")'
WORKLOAD = 'WORKLOAD({}, 1, 1, "", ANY_CORES)'


@pytest.mark.parametrize("name", ["null", "NaN", "na", "NULL"])
def test_new_names_of_that_kind_are_refused(tmp_path: Path, name: str) -> None:
    words = f"'{name}' cannot be a name: pandas, R and others read it as a missing value"
    plan = tmp_path / f"{name}.toml"
    plan.write_text((ROOT / "sweeps" / "plans" / "smoke.toml").read_text(encoding="utf-8"))
    choice = f"{WORKLOAD.format('a')}\nCHOICE(op, REQUIRED, b, WORD(b) WORD({name}))\n"
    for read, text in (
        (parse_locks, LOCK.format(name)),
        (parse_locks, f'{LOCK.format("a")}\nVARIANT(a, {name}, TRAIT_NONE, "d")'),
        (parse_workloads, f"#ifdef WORKLOAD_{name}\n{WORKLOAD.format(name)}\n#endif\n"),
        (parse_workloads, f"#ifdef WORKLOAD_a\n{choice}#endif\n"),
        (load_plan, str(plan)),
    ):
        with pytest.raises(LockcrossError, match=words):
            read(text)
    machine = tmp_path / "mine.toml"
    machine.write_text(load_machine("generic").as_toml().replace('"generic"', f'"{name}"', 1))
    done = lockcross("run", "--machine", str(machine), "--lock", "thin", "--workload", "sync")
    assert done.returncode == 2
    assert words in done.stderr


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_rows_are_read_as_they_are_written(
    tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No batch is read before the one before it is in the file."""
    sizes: list[int] = []
    large.fill(tmp_path / "many.db", 4_000)
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
    with Store(tmp_path / "many.db", read_only=True) as store:
        rows, _ = export(store.connection, "wide", tmp_path / f"a.{ending}")
    assert len(sizes) == ceil(rows / 1_000) >= 4
    assert sizes == sorted(set(sizes))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_what_is_interrupted_leaves_the_file_before(
    tmp_path: Path, ending: str, number: int
) -> None:
    path, file = tmp_path / "many.db", tmp_path / f"a.{ending}"
    large.fill(path, 40_000)
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
