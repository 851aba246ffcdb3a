"""The store: every run, metric, calibration and crossover in one SQLite file.

A context manager. One transaction a result, so that a driver may be killed at any moment. Only
one Store writes a file at a time; readers are not disturbed. All failures are StoreError.

What many runs share is kept once, and a run's numbers as an array. Names and units of the metrics
are a set (`metric_sets`, `metric_names`), the numbers a JSON array (`run_metrics`); the names of
resolved options are a set too (`option_sets`), and runs with equal options share their settings
(`resolved_options`). The views `metrics` and `resolved` have them as a row for each number, and as
JSON objects.
"""

import hashlib
import json
import math
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Self

from results.errors import LockcrossError
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

__all__ = ["MisfitError", "Store", "StoreError"]

_BATCH = 500  # identities in one statement; SQLite allows some thousands
_COST = "cycles_per_pair"  # a metric that is a column too
_ELSEWHERE = ("metrics", "resolved", "place")  # no columns of runs
_PARTS = {  # of a crossover: their tables, and their columns behind the crossover's number
    "runs": ("crossover_runs", tuple(CrossoverRun.__dataclass_fields__)),
    "seeds": ("crossover_seeds", tuple(CrossoverSeed.__dataclass_fields__)),
}
_OF_CROSSOVER = tuple(name for name in CrossoverRecord.__dataclass_fields__ if name not in _PARTS)

# A crossover as its tables have it: its row, and by part the rows of that, as a set in order.
_Crossover = tuple[dict[str, object], dict[str, dict[tuple[object, ...], None]]]


class MisfitError(Exception):
    """Something in the database is not of the type that its reader knows. A Store that is left with
    it says so as StoreError."""


class Store:
    """The database at `path`; created, with its folder, unless `read_only`.

    Raises StoreError for a file that is no database, damaged, of another version, in a place that
    cannot be written, or being written by another driver.
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
        wrong = ""
        if isinstance(error, Exception) and not isinstance(error, LockcrossError | OSError):
            from results.store.damage import damage

            wrong = damage(self.connection)
            if isinstance(error, MisfitError):
                wrong = wrong or str(error)
        self.close()
        if wrong:
            raise damaged(self.path, wrong) from error

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
                metrics = _metrics_of(self.connection, [row[0] for row in rows])
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
        values = {
            name: _json(value) if isinstance(value, Mapping) else value
            for name, value in vars(record).items()
            if name not in _ELSEWHERE
        }
        values |= {
            "plan": plan,
            "resolved_id": options_id(connection, record.resolved),
            "place_id": record.place and _shared(connection, "places", vars(record.place))[0],
            _COST: record.metrics.get(_COST, (None, ""))[0],
        }
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
            _set_metrics(connection, run_id, record.metrics)
        except ValueError as error:
            raise StoreError(f"{self.path}: a metric of the run is wrong: {error}", 1) from None
        return run_id

    def add_calibrations(self, records: Iterable[CalibrationRecord]) -> None:
        """Stores measured costs, each in place of an earlier one of the same setting, in one
        transaction."""
        with explained(self.path):
            new = [vars(one) for one in records if not self._has("calibrations", vars(one))]
        if not new:
            return
        with self._transaction() as connection:
            for values in new:
                connection.execute(
                    "DELETE FROM calibrations WHERE machine = :machine AND isa = :isa "
                    "AND flavour = :flavour AND engine = :engine AND cas_latency IS :cas_latency "
                    "AND fence_latency IS :fence_latency AND op = :op",
                    values,
                )
                connection.execute(_insert("calibrations", values), values)

    def set_crossovers(self, records: Iterable[CrossoverRecord], series: str) -> None:
        """Makes `records` all the crossovers of a series, in one transaction."""
        wanted = [_as_rows(record, series) for record in records]
        with explained(self.path):
            if _stored_crossovers(self.connection, series) == wanted:
                return
        with self._transaction() as connection:
            connection.execute("DELETE FROM crossovers WHERE series = ?", (series,))
            for values, parts in wanted:
                number = connection.execute(_insert("crossovers", values), values).lastrowid
                for part, (table, columns) in _PARTS.items():
                    connection.executemany(
                        f"INSERT INTO {table} (crossover_id, {', '.join(columns)}) "
                        f"VALUES ({number}{', ?' * len(columns)})",
                        parts[part],
                    )

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
            for table, column, kept in (
                ("series", "name", ("validation", "roi", "reproduce", "explore", "plan")),
                ("crossovers", "series", ("asked", "advise")),
            ):
                others = " AND ".join(f"{column} NOT GLOB '{kind}/*'" for kind in kept)
                connection.execute(f"DELETE FROM {table} WHERE {others}")

    def set_machine(self, record: MachineRecord) -> None:
        """Keeps a machine's description, in place of an earlier one."""
        self._replace("machines", vars(record) | {"description": _json(record.description)})

    def set_fact(self, name: str, value: Mapping[str, object]) -> None:
        """Keeps a fact of a study (a JSON object), in place of an earlier one of that name. What
        they hold is of a type each: results.store.facts."""
        self._replace("facts", {"name": name, "value": _json(value)})

    def _replace(self, table: str, values: Mapping[str, str]) -> None:
        """Puts a row in the place of the one with its key, unless that is the same."""
        with explained(self.path):
            if self._has(table, values):
                return
        with self._transaction() as connection:
            connection.execute(
                _insert(table, values).replace("INSERT", "INSERT OR REPLACE", 1), values
            )

    def _has(self, table: str, values: Mapping[str, object]) -> bool:
        """Whether a row with these values is there."""
        same = " AND ".join(f"{name} IS :{name}" for name in values)
        sql = f"SELECT 1 FROM {table} WHERE {same}"
        return self.connection.execute(sql, values).fetchone() is not None


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def _insert(table: str, columns: Iterable[str]) -> str:
    names = list(columns)
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES (:{', :'.join(names)})"


def _shared(
    connection: sqlite3.Connection,
    table: str,
    key: Mapping[str, object],
    more: Mapping[str, object] | None = None,
) -> tuple[int, bool]:
    """The number of a row that many runs share, by its key; made with `more` if it is new, and
    whether it is."""
    same = " AND ".join(f"{name} = :{name}" for name in key)
    row = connection.execute(f"SELECT id FROM {table} WHERE {same}", key).fetchone()
    if row is not None:
        return int(row[0]), False
    values = {**key, **(more or {})}
    number = connection.execute(_insert(table, values), values).lastrowid
    assert number is not None
    return number, True


def _as_sqlite(value: object) -> str:
    """JSON as SQLite writes it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def options_id(connection: sqlite3.Connection, resolved: Mapping[str, int | str]) -> int:
    """The number of these resolved options, which are stored if they are new."""
    whole = hashlib.sha256(_json(resolved).encode()).digest()[:16]
    row = connection.execute(
        "SELECT id FROM resolved_options WHERE digest = ?", (whole,)
    ).fetchone()
    if row is not None:
        return int(row[0])
    names = sorted(resolved)
    option_set, _ = _shared(connection, "option_sets", {"names": _as_sqlite(names)})
    settings = _as_sqlite([resolved[name] for name in names])
    more = {"option_set": option_set, "settings": settings}
    return _shared(connection, "resolved_options", {"digest": whole}, more)[0]


def number_text(value: float) -> str:
    """The shortest JSON number that is read as the same value; whole ones without a point.

    Raises ValueError for what is no number.
    """
    if type(value) is int:  # most of a run's numbers
        return str(value)
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r} is not a number")
    return str(int(value)) if value == int(value) else repr(value)


def _set_metrics(
    connection: sqlite3.Connection, run_id: int, metrics: Mapping[str, tuple[float, str]]
) -> None:
    """Makes these all the metrics of a run (name -> (value, unit)), inside a transaction."""
    connection.execute("DELETE FROM run_metrics WHERE run_id = ?", (run_id,))
    if not metrics:
        return
    names = sorted(metrics)
    layout = _layout(tuple((name, metrics[name][1]) for name in names))
    numbers = f"[{','.join(number_text(metrics[name][0]) for name in names)}]"
    metric_set, new = _shared(connection, "metric_sets", {"layout": layout})
    if new:
        connection.executemany(
            "INSERT INTO metric_names (metric_set, name, unit, position) VALUES (?, ?, ?, ?)",
            [(metric_set, name, metrics[name][1], number) for number, name in enumerate(names)],
        )
    connection.execute(
        "INSERT INTO run_metrics (run_id, metric_set, numbers) VALUES (?, ?, ?)",
        (run_id, metric_set, numbers),
    )


@lru_cache(maxsize=100)  # the runs of a study have a few sets of metrics
def _layout(names: tuple[tuple[str, str], ...]) -> str:
    """The names and units of a set as one text."""
    return _as_sqlite(names)


def _metrics_of(connection: sqlite3.Connection, run_ids: list[int]) -> dict[int, dict[str, float]]:
    """The metrics of some runs (a few thousand at most), by run and name."""
    metrics: dict[int, dict[str, float]] = {run_id: {} for run_id in run_ids}
    sets: dict[int, list[str]] = {}
    for run_id, metric_set, numbers in connection.execute(
        "SELECT run_id, metric_set, numbers FROM run_metrics "
        f"WHERE run_id IN ({', '.join('?' * len(run_ids))})",
        run_ids,
    ).fetchall():
        if metric_set not in sets:
            sets[metric_set] = metric_names(connection, metric_set)
        metrics[run_id] = dict(zip(sets[metric_set], map(float, json.loads(numbers)), strict=True))
    return metrics


def metric_names(connection: sqlite3.Connection, metric_set: int) -> list[str]:
    """The names of a set, in the order of its numbers."""
    rows = connection.execute(
        "SELECT name FROM metric_names WHERE metric_set = ? ORDER BY position", (metric_set,)
    )
    return [name for (name,) in rows]


def _as_rows(record: CrossoverRecord, series: str) -> _Crossover:
    """A crossover that is to be stored."""
    values = {name: getattr(record, name) for name in _OF_CROSSOVER}
    values |= {"series": series, "setting": _json(dict(record.setting))}
    return values, {
        part: dict.fromkeys(map(attrgetter(*columns), getattr(record, part)))
        for part, (_, columns) in _PARTS.items()
    }


def _stored_crossovers(connection: sqlite3.Connection, series: str) -> list[_Crossover]:
    """The crossovers of a series as they stand, in order."""
    names = [*_OF_CROSSOVER, "series"]
    stored: dict[int, _Crossover] = {
        number: (dict(zip(names, values, strict=True)), {part: {} for part in _PARTS})
        for number, *values in connection.execute(
            f"SELECT id, {', '.join(names)} FROM crossovers WHERE series = ? ORDER BY id", (series,)
        )
    }
    for part, (table, columns) in _PARTS.items():
        for number, *values in connection.execute(
            f"SELECT crossover_id, {', '.join(columns)} FROM {table} "
            "WHERE crossover_id IN (SELECT id FROM crossovers WHERE series = ?)",
            (series,),
        ):
            stored[number][1][part][tuple(values)] = None
    return list(stored.values())
