"""The store: every run, metric, calibration and crossover in one SQLite file.

A context manager. One transaction a result, so that a driver may be killed at any moment. Only
one Store writes a file at a time; readers are not disturbed. All failures are StoreError.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from operator import attrgetter
from pathlib import Path
from typing import Self

from results.errors import LockcrossError
from results.store import compact
from results.store.database import (
    StoreError,
    WriterLock,
    close_writer,
    damaged,
    explained,
    open_reader,
    open_writer,
    write_ahead,
)
from results.store.records import (
    CalibrationRecord,
    CrossoverRecord,
    CrossoverRun,
    CrossoverSeed,
    MachineRecord,
    RunRecord,
    StoredRun,
)

_OF_CROSSOVER = tuple(
    name for name in CrossoverRecord.__dataclass_fields__ if name not in ("runs", "seeds")
)
_OF_RUN = tuple(CrossoverRun.__dataclass_fields__)
_OF_SEED = tuple(CrossoverSeed.__dataclass_fields__)


@dataclass(frozen=True)
class CrossoverRows:
    """A crossover as its tables have it: its row, and those of its runs and seeds."""

    values: dict[str, object]
    runs: dict[tuple[object, ...], None]  # as a set, but in order
    seeds: dict[tuple[object, ...], None]

    @classmethod
    def of(cls, record: CrossoverRecord, series: str) -> Self:
        """The rows of a record."""
        values = {name: getattr(record, name) for name in _OF_CROSSOVER}
        values |= {"series": series, "setting": json.dumps(dict(record.setting), sort_keys=True)}
        return cls(
            values,
            dict.fromkeys(map(attrgetter(*_OF_RUN), record.runs)),
            dict.fromkeys(map(attrgetter(*_OF_SEED), record.seeds)),
        )


def stored_crossovers(connection: sqlite3.Connection, series: str) -> list[CrossoverRows]:
    """The crossovers of a series as they stand, in order."""
    names = [*_OF_CROSSOVER, "series"]
    of_series = "SELECT id FROM crossovers WHERE series = ?"
    found = {
        number: CrossoverRows(dict(zip(names, values, strict=True)), {}, {})
        for number, *values in connection.execute(
            f"SELECT id, {', '.join(names)} FROM crossovers WHERE series = ? ORDER BY id", (series,)
        )
    }
    for table, columns in (("crossover_runs", _OF_RUN), ("crossover_seeds", _OF_SEED)):
        for number, *values in connection.execute(
            f"SELECT crossover_id, {', '.join(columns)} FROM {table} "
            f"WHERE crossover_id IN ({of_series})",
            (series,),
        ):
            one = found[number]
            (one.runs if columns == _OF_RUN else one.seeds)[tuple(values)] = None
    return list(found.values())


def add_crossover(connection: sqlite3.Connection, rows: CrossoverRows) -> None:
    """Adds a crossover, inside a transaction."""
    names = list(rows.values)
    number = connection.execute(
        f"INSERT INTO crossovers ({', '.join(names)}) VALUES (:{', :'.join(names)})", rows.values
    ).lastrowid
    for table, columns, found in (
        ("crossover_runs", _OF_RUN, rows.runs),
        ("crossover_seeds", _OF_SEED, rows.seeds),
    ):
        marks = ", ".join("?" * (1 + len(columns)))
        connection.executemany(
            f"INSERT INTO {table} (crossover_id, {', '.join(columns)}) VALUES ({marks})",
            [(number, *values) for values in found],
        )


__all__ = ["Store", "StoreError"]

_BATCH = 500  # identities in one statement; SQLite allows some thousands

_ELSEWHERE = ("metrics", "resolved", "place")  # not columns of runs: results/store/compact.py
_RUN_COLUMNS = [name for name in RunRecord.__dataclass_fields__ if name not in _ELSEWHERE]
_COST = "cycles_per_pair"  # a column too


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def _insert(table: str, columns: Iterable[str]) -> str:
    names = list(columns)
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES (:{', :'.join(names)})"


class Store:
    """The database at `path`; created, with its folder, unless `read_only`.

    Raises StoreError for a file that is no database, damaged, newer than the program, in a place
    that cannot be written, or being written by another driver.
    """

    def __init__(self, path: Path, read_only: bool = False) -> None:
        self.path = path
        self._lock: WriterLock | None = None
        if read_only:
            self.connection = open_reader(path)
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"{path.parent}: cannot be created ({error.strerror}); name another place with --db"
            ) from None
        self._lock = WriterLock(path)
        try:
            self.connection = open_writer(path)
        except BaseException:
            self._lock.release()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        """Raises StoreError where `error` comes from a database that is not as it was written."""
        found = ""
        if isinstance(error, Exception) and not isinstance(error, LockcrossError | OSError):
            from results.store.damage import damage

            found = damage(self.connection)
        self.close()
        if found:
            raise damaged(self.path, found) from error

    def close(self) -> None:
        """Closes the file; what was added is already safe."""
        if self._lock is None:
            self.connection.close()
        else:
            close_writer(self.connection)
            self._lock.release()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with explained(self.path):
            write_ahead(self.connection)
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:
                # A full disk may have ended the transaction already.
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise

    def find(self, identities: Iterable[str]) -> dict[str, StoredRun]:
        """The stored runs among `identities`, by identity, failed and refused ones too."""
        wanted = list(dict.fromkeys(identities))
        found: dict[str, StoredRun] = {}
        with explained(self.path):
            for begin in range(0, len(wanted), _BATCH):
                batch = wanted[begin : begin + _BATCH]
                rows = self.connection.execute(
                    "SELECT id, identity, status, cause FROM runs "
                    f"WHERE identity IN ({', '.join('?' * len(batch))})",
                    batch,
                ).fetchall()
                metrics = compact.metrics_of(self.connection, (row[0] for row in rows))
                found |= {
                    identity: StoredRun(run_id, identity, status, cause, metrics[run_id])
                    for run_id, identity, status, cause in rows
                }
        return found

    def add_run(self, record: RunRecord, plan: str) -> int:
        """Stores a run with its metrics in one transaction and returns its id.

        Takes the place of a failed or refused run of the same identity (same id, attempts added
        up); a run that is ok stays as it is.
        """
        return self.add_runs([record], plan)[0]

    def add_runs(self, records: Iterable[RunRecord], plan: str) -> list[int]:
        """Stores runs as `add_run` does, all of them in one transaction."""
        with self._transaction() as connection:
            return [self._add_run(connection, record, plan) for record in records]

    def _add_run(self, connection: sqlite3.Connection, record: RunRecord, plan: str) -> int:
        values = {name: getattr(record, name) for name in _RUN_COLUMNS} | {
            "plan": plan, "parameters": _json(record.parameters),
            "resolved_id": compact.options_id(connection, record.resolved),
            "place_id": compact.place_id(connection, record.place),
            _COST: record.metrics.get(_COST, (None, ""))[0],
        }  # fmt: skip
        changes = ", ".join(
            f"{name} = excluded.{name}" for name in values if name not in ("identity", "attempts")
        )
        done = connection.execute(
            f"{_insert('runs', values)} ON CONFLICT (identity) DO UPDATE SET {changes}, "
            "attempts = runs.attempts + excluded.attempts WHERE runs.status != 'ok' "
            "RETURNING id",
            values,
        ).fetchone()
        if done is None:  # it is stored already, and ok
            (kept,) = connection.execute(
                "SELECT id FROM runs WHERE identity = ?", (record.identity,)
            ).fetchone()
            return int(kept)
        run_id = int(done[0])
        try:
            compact.set_metrics(connection, run_id, record.metrics)
        except ValueError as error:
            raise StoreError(f"{self.path}: a metric of the run is wrong: {error}", 1) from None
        return run_id

    def add_calibrations(self, records: Iterable[CalibrationRecord]) -> None:
        """Stores measured costs, each in place of an earlier one of the same setting, in one
        transaction."""
        same = " AND ".join(f"{name} IS :{name}" for name in CalibrationRecord.__dataclass_fields__)
        with explained(self.path):
            new = [
                values
                for values in map(asdict, records)
                if not self._has(f"SELECT 1 FROM calibrations WHERE {same}", values)
            ]
        if not new:
            return
        with self._transaction() as connection:
            for values in new:
                connection.execute(
                    "DELETE FROM calibrations WHERE machine = :machine AND isa = :isa "
                    "AND flavour = :flavour AND engine = :engine AND cas IS :cas "
                    "AND fence_latency IS :fence_latency AND op = :op",
                    values,
                )
                connection.execute(_insert("calibrations", values), values)

    def set_crossovers(self, records: Iterable[CrossoverRecord], series: str) -> None:
        """Makes `records` all the crossovers of a series, in one transaction."""
        wanted = [CrossoverRows.of(record, series) for record in records]
        with explained(self.path):
            if stored_crossovers(self.connection, series) == wanted:
                return
        with self._transaction() as connection:
            connection.execute("DELETE FROM crossovers WHERE series = ?", (series,))
            for one in wanted:
                add_crossover(connection, one)

    def set_series(self, name: str, run_ids: Iterable[int]) -> None:
        """Makes `run_ids` all the runs of a series, in one transaction."""
        wanted = dict.fromkeys(run_ids)
        with explained(self.path):
            rows = self.connection.execute("SELECT run_id FROM series WHERE name = ?", (name,))
            if {run_id for (run_id,) in rows} == set(wanted):
                return
        with self._transaction() as connection:
            connection.execute("DELETE FROM series WHERE name = ?", (name,))
            connection.executemany(
                "INSERT INTO series (name, run_id) VALUES (?, ?)",
                [(name, run_id) for run_id in wanted],
            )

    def forget_series(self) -> None:
        """Removes a study's series and crossovers, in one transaction; the runs and what
        `lockcross sweep`, `validate`, `reproduce` and `explore` have left stay, as do the
        crossovers that users asked for."""
        with self._transaction() as connection:
            connection.execute(
                "DELETE FROM series WHERE name NOT GLOB 'validation/*' AND name NOT GLOB 'roi/*' "
                "AND name NOT GLOB 'reproduce/*' AND name NOT GLOB 'explore/*' "
                "AND name NOT GLOB 'plan/*'"
            )
            connection.execute(
                "DELETE FROM crossovers WHERE series NOT GLOB 'asked/*' "
                "AND series NOT GLOB 'advise/*'"
            )

    def fact(self, name: str) -> dict[str, object] | None:
        """A fact of a study, or None."""
        with explained(self.path):
            row = self.connection.execute(
                "SELECT value FROM facts WHERE name = ?", (name,)
            ).fetchone()
        return None if row is None else json.loads(row[0])

    def set_machine(self, record: MachineRecord) -> None:
        """Keeps a machine's description, in place of an earlier one."""
        values = {
            "name": record.name, "title": record.title, "description": _json(record.description),
        }  # fmt: skip
        self._replace("machines", values)

    def set_fact(self, name: str, value: Mapping[str, object]) -> None:
        """Keeps a fact of a study (a JSON object), in place of an earlier one of that name."""
        self._replace("facts", {"name": name, "value": _json(value)})

    def _replace(self, table: str, values: Mapping[str, str]) -> None:
        """Puts a row in the place of the one with its key, unless that is the same."""
        same = " AND ".join(f"{name} = :{name}" for name in values)
        with explained(self.path):
            if self._has(f"SELECT 1 FROM {table} WHERE {same}", values):
                return
        with self._transaction() as connection:
            connection.execute(
                _insert(table, values).replace("INSERT", "INSERT OR REPLACE", 1), values
            )

    def _has(self, sql: str, values: Mapping[str, object]) -> bool:
        return self.connection.execute(sql, values).fetchone() is not None
