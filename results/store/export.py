"""Exports: a table, or a row for each run with all its numbers, written as it is read."""

import csv
import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from results.store.queries import TABLES, VIEWS, QueryError
from results.store.store import metric_names

_BATCH = 5_000  # rows in memory at a time
_TYPES = {"INTEGER": pa.int64(), "REAL": pa.float64(), "TEXT": pa.string(), "BLOB": pa.binary()}
_VIEW_TYPES = {"run_id": "INTEGER", "value": "REAL"}  # of expressions SQLite does not know it

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Rows:
    """Columns with their types, and the rows, which are read once and in batches."""

    columns: list[tuple[str, pa.DataType]]
    batches: Iterator[list[Row]]

    @property
    def names(self) -> list[str]:
        """Of the columns."""
        return [name for name, _ in self.columns]


def rows(connection: sqlite3.Connection, name: str) -> Rows:
    """A table as it is, or `wide`: a row a run, with its parameters and metrics as columns.

    Raises QueryError for an unknown table.
    """
    if name == "wide":
        return _wide(connection)
    if name not in TABLES + VIEWS:
        known = ", ".join(TABLES + VIEWS)
        raise QueryError(f"table {name!r} is unknown; allowed are wide, {known}")
    cursor = connection.execute(f"SELECT * FROM {name}")
    return Rows(_columns(connection, name), _batches(cursor))


def table(connection: sqlite3.Connection, name: str) -> pd.DataFrame:
    """The same, as a whole in memory."""
    found = rows(connection, name)
    kinds = {pa.int64(): pd.Int64Dtype()}  # whole numbers, some of them unset
    frames = [_arrow(found, batch).to_pandas(types_mapper=kinds.get) for batch in found.batches]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=found.names)


def _columns(connection: sqlite3.Connection, name: str) -> list[tuple[str, pa.DataType]]:
    return [
        (column, _TYPES[type_ or _VIEW_TYPES.get(column, "TEXT")])
        for _, column, type_, *_ in connection.execute(f"PRAGMA table_info({name})")
    ]


def _batches(cursor: sqlite3.Cursor) -> Iterator[list[Row]]:
    while batch := cursor.fetchmany(_BATCH):
        yield batch


def _wide(connection: sqlite3.Connection) -> Rows:
    kept = [
        (name, type_)
        for name, type_ in _columns(connection, "runs")
        if name not in ("parameters", "resolved_id", "place_id", "cycles_per_pair")
    ]
    parameters = _parameters(connection)
    metrics = [
        name for (name,) in connection.execute("SELECT DISTINCT name FROM metric_names ORDER BY 1")
    ]
    columns = [*kept, ("resolved", pa.string())]
    columns += [(f"parameter_{name}", type_) for name, type_ in parameters.items()]
    columns += [(f"metric_{name}", pa.float64()) for name in metrics]
    return Rows(columns, _wide_batches(connection, [name for name, _ in kept], parameters, metrics))


def _parameters(connection: sqlite3.Connection) -> dict[str, pa.DataType]:
    """The names of all parameters in order of their first use, and their types: whole numbers,
    or text where any is text."""
    found: dict[str, pa.DataType] = {}
    for (text,) in connection.execute("SELECT parameters FROM runs GROUP BY parameters"):
        for name, value in json.loads(text).items():
            if isinstance(value, str) or name not in found:
                found[name] = pa.string() if isinstance(value, str) else pa.int64()
    return found


def _wide_batches(
    connection: sqlite3.Connection,
    kept: Sequence[str],
    parameters: dict[str, pa.DataType],
    metrics: Sequence[str],
) -> Iterator[list[Row]]:
    sets: dict[int, list[int | None]] = {}
    text = {name for name, type_ in parameters.items() if type_ == pa.string()}
    cursor = connection.execute(
        f"SELECT {', '.join(f'runs.{name}' for name in kept)}, resolved, parameters, metric_set, "
        "numbers FROM runs JOIN resolved ON resolved.run_id = runs.id "
        "LEFT JOIN run_metrics ON run_metrics.run_id = runs.id ORDER BY runs.id"
    )
    for batch in _batches(cursor):
        done: list[Row] = []
        for *columns, given, metric_set, numbers in batch:
            if metric_set is not None and metric_set not in sets:
                places = {name: n for n, name in enumerate(metric_names(connection, metric_set))}
                sets[metric_set] = [places.get(name) for name in metrics]
            own = json.loads(given)
            values = json.loads(numbers) if numbers else []
            where = sets.get(metric_set, [None] * len(metrics))
            done.append((
                *columns,
                *(str(own[n]) if n in own and n in text else own.get(n) for n in parameters),
                *(None if place is None else float(values[place]) for place in where),
            ))  # fmt: skip
        yield done


def export(connection: sqlite3.Connection, name: str, path: Path) -> tuple[int, int]:
    """Writes what `rows` gives as CSV, JSON or Parquet, by the file's ending, and returns the
    numbers of rows and columns. Raises QueryError."""
    writers = {".csv": _write_csv, ".json": _write_json, ".parquet": _write_parquet}
    if path.suffix not in writers:
        raise QueryError(
            f"{path}: the file's ending gives the format; allowed are {', '.join(writers)}"
        )
    found = rows(connection, name)
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
    return written, len(found.columns)


def _write_csv(found: Rows, path: Path) -> int:
    written = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(found.names)
        for batch in found.batches:
            writer.writerows(batch)
            written += len(batch)
    return written


def _write_json(found: Rows, path: Path) -> int:
    """An array with an object a line."""
    written = 0
    with path.open("w", encoding="utf-8") as file:
        for batch in found.batches:
            for row in batch:
                file.write(",\n" if written else "[\n")
                file.write(json.dumps(dict(zip(found.names, row, strict=True)), default=bytes.hex))
                written += 1
        file.write("\n]\n" if written else "[]\n")
    return written


def _write_parquet(found: Rows, path: Path) -> int:
    written = 0
    with pq.ParquetWriter(path, pa.schema(found.columns)) as writer:
        for batch in found.batches:
            writer.write_batch(_arrow(found, batch))
            written += len(batch)
    return written


def _arrow(found: Rows, batch: Sequence[Row]) -> pa.RecordBatch:
    columns = zip(*batch, strict=True)
    arrays = [
        pa.array(values, type_) for (_, type_), values in zip(found.columns, columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(found.columns))
