"""The store: every run, metric, calibration and crossover in one SQLite file.

A context manager. One transaction a result, so that a driver may be killed at any moment. Only
one Store writes a file at a time; readers are not disturbed. All failures are StoreError.

Data that many runs share is kept once, and a run's numbers as an array. Names and units of the
metrics are a set (`metric_sets`, `metric_names`), the numbers a JSON array (`run_metrics`); the
names of resolved options are a set too (`option_sets`), and runs with equal options share their
settings (`resolved_options`). The views `metrics` and `resolved` have them as a row for each
number, and as JSON objects.
"""

import hashlib
import json
import math
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self, TextIO, get_type_hints

from results.errors import LockcrossError
from results.store.database import (
    StoreError,
    code_of,
    damaged,
    explained,
    lock_for_writing,
    open_reader,
    open_writer,
)
from results.store.records import (
    CalibrationRecord,
    CrossoverRecord,
    MachineRecord,
    RunRecord,
    StoredRun,
)

__all__ = ["MisfitError", "Store", "StoreError"]

_COST = "cycles_per_pair"  # a metric that is a column too
_ELSEWHERE = ("metrics", "resolved", "place")  # no columns of runs
_PARTS = ("runs", "seeds")  # of a crossover
# A crossover as its tables have it: its row, and by part the rows of that.
_Crossover = tuple[dict[str, object], dict[str, set[tuple[object, ...]]]]


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
        self._lock: TextIO | None = None
        self._kinds: set[type[RunRecord]] = set()  # of records for which there are columns
        if read_only:
            self.connection = open_reader(path)
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"{path.parent}: cannot be created ({error.strerror}); name another place with --db"
            ) from None
        self._lock = lock_for_writing(path)
        try:
            self.connection = open_writer(path)
        except BaseException:
            self._lock.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        """Raises StoreError where `error` comes from a database that is not as it was written."""
        wrong = ""
        interrupted = isinstance(error, sqlite3.Error) and (
            code_of(error) == sqlite3.SQLITE_INTERRUPT
        )
        ours = isinstance(error, LockcrossError | OSError) or interrupted
        if isinstance(error, Exception) and not ours:
            from results.store.damage import damage

            wrong = damage(self.connection)
            if isinstance(error, MisfitError):
                wrong = wrong or str(error)
        self.close()
        if wrong:
            raise damaged(self.path, wrong) from error

    def close(self) -> None:
        """Close the file; all additions are already safe."""
        if self._lock is not None:
            # A file at rest has no log: reading one that has leaves files beside it.
            with suppress(sqlite3.Error):  # somebody reads it, or the disk is full: the log stays
                self.connection.execute("PRAGMA busy_timeout = 0")
                self.connection.execute("PRAGMA journal_mode = DELETE")
        self.connection.close()
        if self._lock is not None:
            self._lock.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with explained(self.path):
            self.connection.execute("PRAGMA journal_mode = WAL")  # readers are not disturbed
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
        """Return the stored runs among `identities`, by identity, failed and refused ones too."""
        sets: dict[int | None, list[str]] = {None: []}
        runs = {}
        with explained(self.path):
            for run_id, identity, status, cause, metric_set, numbers in self.connection.execute(
                "SELECT runs.id, identity, status, cause, metric_set, ifnull(numbers, '[]') "
                "FROM json_each(?) AS wanted JOIN runs ON identity = wanted.value "
                "LEFT JOIN run_metrics ON run_id = runs.id",
                (json.dumps([*identities]),),
            ):
                if metric_set not in sets:
                    sets[metric_set] = metric_names(self.connection, metric_set)
                metrics = zip(sets[metric_set], map(float, json.loads(numbers)), strict=True)
                runs[identity] = StoredRun(run_id, identity, status, cause, dict(metrics))
        return runs

    def add_run(self, record: RunRecord, plan: str) -> int:
        return self.add_runs([record], plan)[0]

    def add_runs(self, records: Iterable[RunRecord], plan: str) -> list[int]:
        """Store runs with their metrics in one transaction and return their ids.

        A run takes the place of a failed or refused one of the same identity (same id, attempts
        added up); one that is ok stays as it is.
        """
        added = list(records)
        kinds = {type(record) for record in added}
        with self._transaction() as connection:
            for kind in kinds - self._kinds:
                _add_columns(connection, kind)
            ids = [self._add_run(connection, record, plan) for record in added]
        self._kinds |= kinds  # behind the transaction, which takes columns back if it fails
        return ids

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
        """Store measured costs, each in place of an earlier one of the same setting."""
        self._replace("calibrations", map(vars, records))

    def set_crossovers(self, records: Iterable[CrossoverRecord], series: str) -> None:
        """Make `records` all the crossovers of a series, in one transaction."""
        wanted: list[_Crossover] = []
        for record in records:
            row = {**vars(record), "series": series, "setting": _json(dict(record.setting))}
            parts = {
                part: {tuple(vars(row_of_part).values()) for row_of_part in row.pop(part)}
                for part in _PARTS
            }
            wanted.append((row, parts))
        with explained(self.path):
            if _stored_crossovers(self.connection, series) == wanted:
                return
        with self._transaction() as connection:
            connection.execute("DELETE FROM crossovers WHERE series = ?", (series,))
            for row, parts in wanted:
                number = connection.execute(_insert("crossovers", row), row).lastrowid
                for part, rows in parts.items():
                    for values in rows:
                        sql = f"INSERT INTO crossover_{part} VALUES ({number}{', ?' * len(values)})"
                        connection.execute(sql, values)

    def set_series(
        self,
        name: str,
        run_ids: Iterable[int],
        latencies: Mapping[int, Mapping[str, Sequence[int]]] | None = None,
    ) -> None:
        """Make `run_ids` all the runs of a series, in one transaction. `latencies`: of runs, by
        axis, those at which the series has them."""
        of = latencies or {}
        wanted = {run_id: _json(of.get(run_id, {})) for run_id in run_ids}
        with explained(self.path):
            rows = self.connection.execute(
                "SELECT run_id, latencies FROM series WHERE name = ?", (name,)
            )
            if dict(rows) == wanted:
                return
        with self._transaction() as connection:
            connection.execute("DELETE FROM series WHERE name = ?", (name,))
            connection.executemany(
                "INSERT INTO series (name, run_id, latencies) VALUES (?, ?, ?)",
                [(name, *of_run) for of_run in wanted.items()],
            )

    def forget_series(self) -> None:
        """Remove a study's series and crossovers, in one transaction; the runs and the results of
        `lockcross sweep`, `validate`, `reproduce` and `explore` stay, as do the crossovers that
        users asked for."""
        with self._transaction() as connection:
            for table, column, kept in (
                ("series", "name", ("validation", "roi", "reproduce", "explore", "plan")),
                ("crossovers", "series", ("asked", "advise")),
            ):
                others = " AND ".join(f"{column} NOT GLOB '{kind}/*'" for kind in kept)
                connection.execute(f"DELETE FROM {table} WHERE {others}")

    def set_machine(self, record: MachineRecord) -> None:
        """Keep a machine's description, in place of an earlier one."""
        self._replace("machines", [vars(record) | {"description": _json(record.description)}])

    def set_fact(self, name: str, value: Mapping[str, object]) -> None:
        """Keep a fact of a study (a JSON object), in place of an earlier one of that name. Each has
        a type: results.store.facts."""
        self._replace("facts", [{"name": name, "value": _json(value)}])

    def _replace(self, table: str, rows: Iterable[Mapping[str, object]]) -> None:
        """Put rows in the places of those with their keys, in one transaction, but for rows that
        are there already."""
        new = []
        with explained(self.path):
            for row in rows:
                same = " AND ".join(f"{name} IS :{name}" for name in row)
                sql = f"SELECT 1 FROM {table} WHERE {same}"
                if self.connection.execute(sql, row).fetchone() is None:
                    new.append(row)
        if new:
            with self._transaction() as connection:
                sql = _insert(table, new[0]).replace("INSERT", "INSERT OR REPLACE", 1)
                connection.executemany(sql, new)


def _add_columns(connection: sqlite3.Connection, kind: type[RunRecord]) -> None:
    """Add the missing columns of the table runs: axes that were added since the schema was written.
    Runs from before have its default."""
    stored = {column[1] for column in connection.execute("PRAGMA table_info(runs)")}
    types = get_type_hints(kind)
    for field in fields(kind):
        if field.name not in stored and field.name not in _ELSEWHERE:
            sql = "TEXT" if types[field.name] is str else "INTEGER"
            if field.default is not None:
                sql += f" NOT NULL DEFAULT {field.default!r}"
            connection.execute(f"ALTER TABLE runs ADD COLUMN {field.name} {sql}")


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def _insert(table: str, columns: Iterable[str]) -> str:
    names = list(columns)
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES (:{', :'.join(names)})"


def _shared(
    connection: sqlite3.Connection, table: str, key: Mapping[str, object], **more: object
) -> tuple[int, bool]:
    """Return the number of a row that many runs share, by its key; made with `more` if it is
    new, and whether it is."""
    same = " AND ".join(f"{name} = :{name}" for name in key)
    row = connection.execute(f"SELECT id FROM {table} WHERE {same}", key).fetchone()
    values = {**key, **more}
    made = row or connection.execute(f"{_insert(table, values)} RETURNING id", values).fetchone()
    return int(made[0]), row is None


def _as_sqlite(value: object) -> str:
    """JSON as SQLite writes it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def options_id(connection: sqlite3.Connection, resolved: Mapping[str, int | str]) -> int:
    """Return the number of these resolved options, which are stored if they are new."""
    names = sorted(resolved)
    key = {"digest": hashlib.sha256(_json(resolved).encode()).digest()[:16]}
    option_set, _ = _shared(connection, "option_sets", {"names": _as_sqlite(names)})
    settings = _as_sqlite([resolved[name] for name in names])
    return _shared(connection, "resolved_options", key, option_set=option_set, settings=settings)[0]


def number_text(value: float) -> str:
    """Return the shortest JSON number that is read as the same value; whole ones without a point.

    Raises ValueError for any other text.
    """
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r} is not a number")
    return str(int(value)) if value == int(value) else repr(value)


def _set_metrics(
    connection: sqlite3.Connection, run_id: int, metrics: Mapping[str, tuple[float, str]]
) -> None:
    """Make these all the metrics of a run (name -> (value, unit)), inside a transaction."""
    connection.execute("DELETE FROM run_metrics WHERE run_id = ?", (run_id,))
    if not metrics:
        return
    names = sorted(metrics)
    layout = _as_sqlite([(name, metrics[name][1]) for name in names])
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


def metric_names(connection: sqlite3.Connection, metric_set: int) -> list[str]:
    """Return the names of a set, in the order of its numbers."""
    rows = connection.execute(
        "SELECT name FROM metric_names WHERE metric_set = ? ORDER BY position", (metric_set,)
    )
    return [name for (name,) in rows]


def _stored_crossovers(connection: sqlite3.Connection, series: str) -> list[_Crossover]:
    """Return the crossovers of a series as they stand, in order."""
    cursor = connection.execute("SELECT * FROM crossovers WHERE series = ? ORDER BY id", (series,))
    names = [column[0] for column in cursor.description]
    stored: dict[object, _Crossover] = {}
    for values in cursor:
        row = dict(zip(names, values, strict=True))
        stored[row.pop("id")] = (row, {part: set() for part in _PARTS})
    for part in _PARTS:
        for number, *values in connection.execute(
            f"SELECT part.* FROM crossover_{part} AS part JOIN crossovers ON id = crossover_id "
            "WHERE series = ?",
            (series,),
        ):
            stored[number][1][part].add(tuple(values))
    return list(stored.values())


@contextmanager
def reading(db: Path) -> Iterator[sqlite3.Connection]:
    """Yield a connection to the database at `db`, for reading alone."""
    with explained(db), Store(db, read_only=True) as store:
        yield store.connection


@contextmanager
def store_to_read(path: Path) -> Iterator[Store]:
    """Yield the store at `path`, or an empty one if there is none yet: reading creates no file."""
    if path.exists():
        with Store(path, read_only=True) as store:
            yield store
    else:
        with TemporaryDirectory(prefix="lockcross-") as folder, Store(Path(folder, "no.db")) as new:
            yield new
