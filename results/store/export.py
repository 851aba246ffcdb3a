"""Exports: a table, or a row for each run with all its numbers, written as it is read."""

import gc
import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from results.errors import writing_whole
from results.store.batches import Batch, Kinds, Row, batches
from results.store.csv_lines import csv_writer
from results.store.queries import QueryError

_ARROW = {int: pa.int64(), float: pa.float64(), str: pa.string(), bytes: pa.binary()}


def export(connection: sqlite3.Connection, name: str, path: Path) -> tuple[int, int]:
    """Write the rows of `batches` as CSV, JSON or Parquet, by the file's ending, and return the
    numbers of rows and columns. The file is there whole or not at all. Raises LockcrossError."""
    writers = {".csv": _write_csv, ".json": _write_json, ".parquet": _write_parquet}
    if path.suffix not in writers:
        raise QueryError(
            f"{path}: the file's ending gives the format; allowed are {', '.join(writers)}"
        )
    columns, read = batches(connection, name)
    with writing_whole(path) as part, _no_cycles():
        written = sum(writers[path.suffix](columns, read, part))
    return written, len(columns)


@contextmanager
def _no_cycles() -> Iterator[None]:
    """Look for no cycles: rows refer to nothing that refers to them; looking for it takes a quarter
    of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _write_csv(columns: Kinds, read: Iterable[Batch], path: Path) -> Iterator[int]:
    """Write batches and yield how many rows they have; so do the others. A number has a point in
    all rows of a column or in none: readers go by the first rows."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv_writer(file)
        writer.writerow(columns)
        binary = [place for place, kind in enumerate(columns.values()) if kind is bytes]
        for batch in read:
            rows = batch.rows()
            writer.writerows(_in_hex(rows, binary) if binary else rows)
            yield len(batch)


def _in_hex(rows: Iterable[Row], places: Sequence[int]) -> Iterator[list[Any]]:
    for row in map(list, rows):
        for place in places:
            row[place] = row[place] and row[place].hex()
        yield row


def _write_json(columns: Kinds, read: Iterable[Batch], path: Path) -> Iterator[int]:
    """Write an array with an object per line."""
    before, dumped = "[\n", json.JSONEncoder(default=bytes.hex).encode
    with path.open("w", encoding="utf-8") as file:
        for batch in read:
            for row in batch.rows():
                file.write(before + dumped(dict(zip(columns, row, strict=True))))
                before = ",\n"
            yield len(batch)
        file.write("[]\n" if before == "[\n" else "\n]\n")


def _write_parquet(columns: Kinds, read: Iterable[Batch], path: Path) -> Iterator[int]:
    schema = pa.schema([(name, _ARROW[kind]) for name, kind in columns.items()])
    with pq.ParquetWriter(path, schema) as writer:
        for batch in read:
            arrays = [
                pa.array(values, kind, from_pandas=True)  # NaN: there is no number
                for values, kind in zip(batch.columns(), schema.types, strict=True)
            ]
            writer.write_batch(pa.record_batch(arrays, schema=schema))
            yield len(batch)
