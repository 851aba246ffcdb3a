"""Exports: a table, or a row for each run with all its numbers, written as it is read."""

import json
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from results.errors import writing
from results.store.queries import TABLES, VIEWS, QueryError
from results.store.store import metric_names

_BATCH = 5_000  # rows in memory at a time
# What columns are declared as: pandas' types, of which whole numbers may be missing, and Arrow's.
_KINDS = {"INTEGER": "Int64", "TEXT": "str", "BLOB": "object"}
_KINDS |= dict.fromkeys(("REAL", "NUMERIC"), "float64")
_ARROW = {"Int64": pa.int64(), "float64": pa.float64(), "str": pa.string(), "object": pa.binary()}
_OF_VIEWS = {"run_id": "INTEGER", "value": "REAL"}  # of expressions SQLite does not know it
_ELSEWHERE = ("parameters", "resolved_id", "place_id", "cycles_per_pair")  # in a wide row

Kinds = dict[str, str]  # pandas' types of columns
Frames = tuple[Kinds, Iterator[pd.DataFrame]]


def frames(connection: sqlite3.Connection, name: str) -> Frames:
    """The columns and batches, one at least, of a table as it is, or of `wide`: a row a run, with
    its parameters and metrics as columns.

    Raises QueryError for an unknown table.
    """
    if name == "wide":
        return _wide(connection)
    if name not in TABLES + VIEWS:
        known = ", ".join(TABLES + VIEWS)
        raise QueryError(f"table {name!r} is unknown; allowed are wide, {known}")
    kinds = _kinds(connection, name)
    return kinds, _batches(connection, f"SELECT * FROM {name}", kinds)


def _kinds(connection: sqlite3.Connection, name: str) -> Kinds:
    return {
        column: _KINDS[type_ or _OF_VIEWS.get(column, "TEXT")]
        for _, column, type_, *_ in connection.execute(f"PRAGMA table_info({name})")
    }


def _batches(connection: sqlite3.Connection, sql: str, kinds: Kinds) -> Iterator[pd.DataFrame]:
    try:
        yield from pd.read_sql_query(sql, connection, dtype=kinds, chunksize=_BATCH)
    except pd.errors.DatabaseError as error:  # has SQLite's own inside
        raise error.__cause__ or error from None


def _wide(connection: sqlite3.Connection) -> Frames:
    kept = {
        name: kind for name, kind in _kinds(connection, "runs").items() if name not in _ELSEWHERE
    } | {"resolved": "str"}
    # In order of their first use; whole numbers, numbers where any is a share, or text.
    parameters: dict[str, str] = {}
    for (text,) in connection.execute("SELECT parameters FROM runs GROUP BY parameters"):
        for name, value in json.loads(text).items():
            kind = "str" if isinstance(value, str) else _KINDS["REAL"]
            if not isinstance(value, int) or name not in parameters:
                parameters[name] = "Int64" if isinstance(value, int) else kind
    sets: dict[int, list[str]] = {0: []}
    for (number,) in connection.execute("SELECT id FROM metric_sets"):
        sets[number] = metric_names(connection, number)
    metrics = sorted(set().union(*sets.values()))
    read = _batches(
        connection,
        f"SELECT {', '.join(f'runs.{name}' for name in kept if name != 'resolved')}, resolved, "
        "parameters, ifnull(metric_set, 0) AS metric_set, ifnull(numbers, '[]') AS numbers "
        "FROM runs JOIN resolved ON resolved.run_id = runs.id "
        "LEFT JOIN run_metrics ON run_metrics.run_id = runs.id ORDER BY runs.id",
        kept,
    )

    def widened(batch: pd.DataFrame) -> pd.DataFrame:
        keys = pd.DataFrame(map(json.loads, batch.parameters), batch.index, [*parameters], object)
        numbers = [
            dict(zip(sets[number], json.loads(text), strict=True))
            for number, text in zip(batch.metric_set, batch.numbers, strict=True)
        ]
        measured = pd.DataFrame(numbers, batch.index, metrics, float).add_prefix("metric_")
        parts = [batch[[*kept]], keys.astype(parameters).add_prefix("parameter_"), measured]
        return pd.concat(parts, axis=1)

    kinds = kept | {f"parameter_{name}": kind for name, kind in parameters.items()}
    return kinds | {f"metric_{name}": "float64" for name in metrics}, map(widened, read)


def export(connection: sqlite3.Connection, name: str, path: Path) -> tuple[int, int]:
    """Writes what `frames` gives as CSV, JSON or Parquet, by the file's ending, and returns the
    numbers of rows and columns. Raises LockcrossError."""
    writers = {".csv": _write_csv, ".json": _write_json, ".parquet": _write_parquet}
    if path.suffix not in writers:
        raise QueryError(
            f"{path}: the file's ending gives the format; allowed are {', '.join(writers)}"
        )
    columns, batches = frames(connection, name)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    with writing(path):
        try:
            written = sum(writers[path.suffix](columns, batches, part))
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    return written, len(columns)


def _write_csv(_: Kinds, batches: Iterator[pd.DataFrame], path: Path) -> Iterator[int]:
    """Writes batches and yields how many rows they have; so do the others."""
    with path.open("w", encoding="utf-8", newline="") as file:
        for number, batch in enumerate(batches):
            batch.to_csv(file, index=False, header=number == 0, lineterminator="\n")
            yield len(batch)


def _write_json(columns: Kinds, batches: Iterator[pd.DataFrame], path: Path) -> Iterator[int]:
    """An array with an object a line."""
    before = "[\n"
    with path.open("w", encoding="utf-8") as file:
        for batch in batches:
            values = batch.astype(object).where(batch.notna(), None)
            for row in values.itertuples(index=False, name=None):
                record = dict(zip(columns, row, strict=True))
                file.write(before + json.dumps(record, default=bytes.hex))
                before = ",\n"
            yield len(batch)
        file.write("[]\n" if before == "[\n" else "\n]\n")


def _write_parquet(columns: Kinds, batches: Iterator[pd.DataFrame], path: Path) -> Iterator[int]:
    schema = pa.schema([(name, _ARROW[kind]) for name, kind in columns.items()])
    with pq.ParquetWriter(path, schema) as writer:
        for batch in batches:
            arrow = pa.Table.from_pandas(batch, schema, preserve_index=False)
            writer.write_table(arrow.replace_schema_metadata())
            yield len(batch)
