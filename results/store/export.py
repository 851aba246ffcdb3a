"""Exports: a table, or a row for each run with all its numbers, written as it is read."""

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from results.store.queries import TABLES, VIEWS, QueryError
from results.store.store import metric_names

_BATCH = 5_000  # rows in memory at a time
# What columns are declared as: pandas' types, of which whole numbers may be missing, and Arrow's.
_KINDS = {"INTEGER": "Int64", "REAL": "float64", "TEXT": "str", "BLOB": "object"}
_ARROW = {"Int64": pa.int64(), "float64": pa.float64(), "str": pa.string(), "object": pa.binary()}
_OF_VIEWS = {"run_id": "INTEGER", "value": "REAL"}  # of expressions SQLite does not know it
_ELSEWHERE = ("parameters", "resolved_id", "place_id", "cycles_per_pair")  # in a wide row

Frames = tuple[dict[str, str], Iterator[pd.DataFrame]]  # columns with their types, and the batches


def frames(connection: sqlite3.Connection, name: str) -> Frames:
    """A table as it is, or `wide`: a row a run, with its parameters and metrics as columns. There
    is one batch at least.

    Raises QueryError for an unknown table.
    """
    if name == "wide":
        return _wide(connection)
    if name not in TABLES + VIEWS:
        known = ", ".join(TABLES + VIEWS)
        raise QueryError(f"table {name!r} is unknown; allowed are wide, {known}")
    kinds = _kinds(connection, name)
    return kinds, _batches(connection, f"SELECT * FROM {name}", kinds)


def table(connection: sqlite3.Connection, name: str) -> pd.DataFrame:
    """The same, as a whole in memory."""
    return pd.concat(frames(connection, name)[1], ignore_index=True)


def _kinds(connection: sqlite3.Connection, name: str) -> dict[str, str]:
    return {
        column: _KINDS[type_ or _OF_VIEWS.get(column, "TEXT")]
        for _, column, type_, *_ in connection.execute(f"PRAGMA table_info({name})")
    }


def _batches(
    connection: sqlite3.Connection, sql: str, kinds: dict[str, str]
) -> Iterator[pd.DataFrame]:
    try:
        yield from pd.read_sql_query(sql, connection, dtype=kinds, chunksize=_BATCH)
    except pd.errors.DatabaseError as error:  # has SQLite's own inside
        raise error.__cause__ or error from None


def _wide(connection: sqlite3.Connection) -> Frames:
    kept = {
        name: kind for name, kind in _kinds(connection, "runs").items() if name not in _ELSEWHERE
    } | {"resolved": "str"}
    # In order of their first use; whole numbers, or text where any is text.
    parameters: dict[str, str] = {}
    for (text,) in connection.execute("SELECT parameters FROM runs GROUP BY parameters"):
        for name, value in json.loads(text).items():
            if isinstance(value, str) or name not in parameters:
                parameters[name] = "str" if isinstance(value, str) else "Int64"
    metrics = [
        name for (name,) in connection.execute("SELECT DISTINCT name FROM metric_names ORDER BY 1")
    ]
    names = {
        number: metric_names(connection, number)
        for (number,) in connection.execute("SELECT id FROM metric_sets")
    }
    read = _batches(
        connection,
        f"SELECT {', '.join(f'runs.{name}' for name in kept if name != 'resolved')}, resolved, "
        "parameters, ifnull(metric_set, 0) AS metric_set, ifnull(numbers, '[]') AS numbers "
        "FROM runs JOIN resolved ON resolved.run_id = runs.id "
        "LEFT JOIN run_metrics ON run_metrics.run_id = runs.id ORDER BY runs.id",
        kept,
    )

    def widened(batch: pd.DataFrame) -> pd.DataFrame:
        given = pd.DataFrame(map(json.loads, batch.parameters), batch.index, [*parameters], object)
        numbers = [
            dict(zip(names.get(number, []), json.loads(text), strict=True))
            for number, text in zip(batch.metric_set, batch.numbers, strict=True)
        ]
        measured = pd.DataFrame(numbers, batch.index, metrics, float)
        return pd.concat(
            [
                batch[[*kept]],
                given.astype(parameters).add_prefix("parameter_"),
                measured.add_prefix("metric_"),
            ],
            axis=1,
        )

    kinds = kept | {f"parameter_{name}": kind for name, kind in parameters.items()}
    return kinds | {f"metric_{name}": "float64" for name in metrics}, map(widened, read)


def export(connection: sqlite3.Connection, name: str, path: Path) -> tuple[int, int]:
    """Writes what `frames` gives as CSV, JSON or Parquet, by the file's ending, and returns the
    numbers of rows and columns. Raises QueryError."""
    writers: dict[str, Callable[[Frames, Path], int]] = {
        ".csv": _write_csv, ".json": _write_json, ".parquet": _write_parquet,
    }  # fmt: skip
    if path.suffix not in writers:
        raise QueryError(
            f"{path}: the file's ending gives the format; allowed are {', '.join(writers)}"
        )
    found = frames(connection, name)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        try:
            written = writers[path.suffix](found, part)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise QueryError(
            f"{path}: cannot be written ({error.strerror or error}); name another file", 1
        ) from None
    return written, len(found[0])


def _write_csv(found: Frames, path: Path) -> int:
    written = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        for number, batch in enumerate(found[1]):
            batch.to_csv(file, index=False, header=number == 0, lineterminator="\n")
            written += len(batch)
    return written


def _write_json(found: Frames, path: Path) -> int:
    """An array with an object a line."""
    written = 0
    with path.open("w", encoding="utf-8") as file:
        for batch in found[1]:
            values = batch.astype(object).where(batch.notna(), None)
            for row in values.itertuples(index=False, name=None):
                file.write(",\n" if written else "[\n")
                file.write(json.dumps(dict(zip(found[0], row, strict=True)), default=bytes.hex))
                written += 1
        file.write("\n]\n" if written else "[]\n")
    return written


def _write_parquet(found: Frames, path: Path) -> int:
    written = 0
    schema = pa.schema([(name, _ARROW[kind]) for name, kind in found[0].items()])
    with pq.ParquetWriter(path, schema) as writer:
        for batch in found[1]:
            arrow = pa.Table.from_pandas(batch, schema, preserve_index=False)
            writer.write_table(arrow.replace_schema_metadata())
            written += len(batch)
    return written
