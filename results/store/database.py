"""Opening a Lockcross database: its lock, its schema, messages for SQLite's errors."""

import fcntl
import os
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple, TextIO

from results.errors import LockcrossError
from results.store import former, former_study

SCHEMA = Path(__file__).with_name("schema.sql")
VERSION = 12  # of the schema
_MODELLED = 10  # the last whose crossovers may rest on a model, which crossover_seeds.error tells
_READABLE = (former.SCHEMA, _MODELLED, former_study.SCHEMA, VERSION)
APPLICATION_ID = 0x4C584442  # as the schema sets it
BUSY_SECONDS = 30
_STEPS = 10_000  # of SQLite's machine between two looks for a signal: some tenths of a millisecond


class StoreError(LockcrossError):
    """The database cannot be used; it was left as it is."""


def damaged(path: Path, what: str) -> StoreError:
    """Return the error for a database that is not as Lockcross has written it."""
    return StoreError(
        f"{path}: is damaged, or another program has changed it ({what}); restore it from a copy, "
        "or move it away and run again"
    )


_MEANINGS = {
    sqlite3.SQLITE_NOTADB: "is not a SQLite database; name another file with --db, or move it",
    sqlite3.SQLITE_READONLY: "cannot be written; check its permissions and its folder's, or name "
    "another file with --db",
    sqlite3.SQLITE_PERM: "may not be opened; check its permissions",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; check that it is a file, and its permissions and "
    "its folder's",
    sqlite3.SQLITE_BUSY: "is in use by another program; wait for it to end",
}


def code_of(error: Exception) -> int:
    """Return the primary code of an error of SQLite, its low byte (SQLite, "Result and Error
    Codes"); 0 where Python has found it."""
    return (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF


def explain(error: sqlite3.Error, path: Path) -> StoreError:
    """Return the meaning of an error of SQLite for the user."""
    code = code_of(error)
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        return StoreError(
            f"{path}: the database cannot be written (disk full or at its limit? {error}); "
            "what was stored before is intact: free some space and start again",
            exit_code=1,
        )
    # Lockcross's own SQL is right: a table or column is missing, or a text is not text (no code).
    wrong = code in (0, sqlite3.SQLITE_ERROR) and isinstance(error, sqlite3.OperationalError)
    if wrong or code == sqlite3.SQLITE_CORRUPT:
        return damaged(path, str(error))
    return StoreError(f"{path}: {_MEANINGS.get(code, f'the database reports: {error}')}")


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn SQLite's exceptions into StoreError, and the one of a signal into KeyboardInterrupt."""
    try:
        yield
    except sqlite3.Error as error:
        if code_of(error) == sqlite3.SQLITE_INTERRUPT:
            raise KeyboardInterrupt from None
        raise explain(error, path) from None


def see_signals(connection: sqlite3.Connection, ends: Callable[[], bool] = lambda: False) -> None:
    """Let a signal end the running SQL, and `ends` when it is true. Python raises a signal's
    exception inside the handler, and SQLite says SQLITE_INTERRUPT for it."""
    connection.set_progress_handler(ends, _STEPS)


class _Object(NamedTuple):
    """A table or view of the schema. `sql`: of a view, all of it; a table may have got columns."""

    kind: str
    sql: str


def _objects(connection: sqlite3.Connection) -> dict[str, _Object]:
    """Return the objects of a database, by name, as SQLite has read them."""
    texts = dict(connection.execute("SELECT name, sql FROM sqlite_master"))
    return {
        name: _Object(kind, texts.get(name, "") if kind == "view" else "")
        for _, name, kind, *_ in connection.execute("PRAGMA main.table_list")
        if not name.startswith("sqlite_")
    }


@cache
def _schema() -> dict[str, _Object]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(SCHEMA.read_text(encoding="utf-8"))
        return _objects(connection)


def _foreign(connection: sqlite3.Connection, names: Iterable[str]) -> str:
    """Return the first of the schema's objects that is missing or another than Lockcross makes, in
    words; empty if there is none. A view in a table's place can be without end, a trigger do
    anything."""
    there = _objects(connection)
    for name in names:
        wanted = _schema()[name]
        if name not in there:
            return f"the {wanted.kind} {name} is missing"
        if (kind := there[name].kind) != wanted.kind:
            kind = "virtual table" if kind == "virtual" else kind
            return f"{name} is a {kind} and should be a {wanted.kind}"
        if there[name].sql != wanted.sql:
            return f"the {wanted.kind} {name} is another than this program's"
    trigger = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchone()
    return f"it has a trigger, {trigger[0]}" if trigger else ""


def _version(connection: sqlite3.Connection, path: Path) -> int:
    """Return the version of a file's schema; 0 if it is empty.

    Raises StoreError for another program's database, one of another version, or one with a foreign
    object in the place of one of Lockcross.
    """
    if connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None:
        return 0
    if connection.execute("PRAGMA application_id").fetchone() != (APPLICATION_ID,):
        raise StoreError(
            f"{path}: is a SQLite database, but not one of Lockcross; name another file with --db"
        )
    if wrong := _foreign(connection, ["migrations"]):
        raise damaged(path, wrong)
    (version,) = connection.execute("SELECT max(number) FROM migrations").fetchone()
    if version is None:
        raise damaged(path, "its table migrations is empty")
    if version not in _READABLE:
        raise StoreError(
            f"{path}: was written by another version of Lockcross (its schema is {version}, this "
            f"program's {VERSION}); move it away and run again, or name another file with --db"
        )
    if wrong := _foreign(connection, _schema()):
        raise damaged(path, wrong)
    return int(version)


def migrate(connection: sqlite3.Connection) -> None:
    """Bring a database of Lockcross to this version, whole or not at all."""
    (version,) = connection.execute("SELECT max(number) FROM migrations").fetchone()
    if version == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    done = []
    if version == former.SCHEMA:
        former.rename(connection)
        done.append((_MODELLED, f"lock {former.FORMER} is {former.NAME}"))
    if version <= _MODELLED:
        _drop_errors(connection)
        connection.execute("DELETE FROM facts WHERE name = 'map/check'")  # of modelled maps
    plan = former_study.as_now(connection, "value")
    connection.execute(f"UPDATE facts SET value = {plan} WHERE name = 'plan'")
    former_study.rename_series(connection)
    connection.execute(f"ALTER TABLE series ADD COLUMN {_LATENCIES}")
    former_study.add_latencies(connection)
    done.append((VERSION, "one plan document"))
    connection.executemany("INSERT INTO migrations VALUES (?, ?, datetime('now'))", done)
    connection.execute("COMMIT")


_LATENCIES = "latencies TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(latencies))"  # of series
_SEEDS = "SELECT crossover_id, seed, value, bracket_low, bracket_high FROM "  # without error


def _drop_errors(connection: sqlite3.Connection) -> None:
    """Make the table crossover_seeds anew: dropping its column would leave half a comment."""
    with closing(sqlite3.connect(":memory:")) as fresh:
        fresh.executescript(SCHEMA.read_text(encoding="utf-8"))
        (table,) = fresh.execute(
            "SELECT sql FROM sqlite_master WHERE name = 'crossover_seeds'"
        ).fetchone()
    connection.execute("ALTER TABLE crossover_seeds RENAME TO replaced")
    connection.execute(table)
    connection.execute(f"INSERT INTO crossover_seeds {_SEEDS} replaced")
    connection.execute("DROP TABLE replaced")


def _shadow(connection: sqlite3.Connection, version: int) -> None:
    """Has a database of an earlier version read as one of this, and leaves the file as it is."""
    if version == VERSION:
        return
    changed = dict(former.CHANGED if version == former.SCHEMA else {})
    value = changed.get("facts", {}).get("value", "{0}")
    former.shadow(
        connection, changed | {"facts": {"value": former_study.as_now(connection, value)}}
    )
    columns = f"name TEXT, run_id INTEGER, {_LATENCIES}, PRIMARY KEY (name, run_id)"
    connection.execute(f"CREATE TEMP TABLE series ({columns}) WITHOUT ROWID")
    connection.execute("INSERT INTO series (name, run_id) SELECT name, run_id FROM main.series")
    former_study.add_latencies(connection)
    if version <= _MODELLED:
        connection.execute(f"CREATE TEMP VIEW crossover_seeds AS {_SEEDS} main.crossover_seeds")


def real_file(path: Path) -> Path:
    """Return the file behind links: SQLite's log and the lock lie beside it."""
    return Path(os.path.realpath(path))


class Drivers:
    """How a driver fares where another one writes its database: it waits, or is refused."""

    wait = False


def lock_for_writing(path: Path) -> TextIO:
    """Only one driver writes a database: the lock that it holds until it closes this file. The
    kernel drops the lock when its holder dies. The file stays: removing it would let two drivers
    lock two files. Raises StoreError."""
    real = real_file(path)
    if real.exists() and real.stat().st_nlink > 1 and not real.is_dir():
        raise StoreError(
            f"{path}: the file has {real.stat().st_nlink} names (hard links), and SQLite keeps "
            "its log by name: writing it under two names would lose data; copy it, and name "
            "the copy with --db"
        )
    try:
        # The words of a command line may be no UTF-8.
        lock = real.with_name(real.name + ".lock")
        file = lock.open("a+", encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise StoreError(
            f"{real.parent}: cannot be written ({error.strerror}); check its permissions, or "
            "name a database elsewhere with --db"
        ) from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.seek(0)
        holder = (
            f"{path}: another driver is writing it (process {file.read().strip() or 'unknown'})"
        )
        if not Drivers.wait:
            file.close()
            raise StoreError(
                f"{holder}; --wait waits until it ends, or name another file with --db"
            ) from None
        print(f"{holder}; waiting until it ends", file=sys.stderr, flush=True)
        fcntl.flock(file, fcntl.LOCK_EX)
    with suppress(OSError):  # a full disk: the lock holds, only nobody learns who has it
        file.truncate(0)
        file.write(f"{os.getpid()}: {Path(sys.argv[0]).name} {' '.join(sys.argv[1:])}\n")
        file.flush()
    return file


def open_writer(path: Path) -> sqlite3.Connection:
    """Open for writing, for a caller with the lock: make the tables of an empty file, and bring
    one of an earlier version to this one."""
    with explained(path), ExitStack() as on_error:
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
        on_error.callback(connection.close)
        # NORMAL: a killed process loses nothing; only a power cut may lose the last results.
        connection.executescript("PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;")
        if _version(connection, path):
            migrate(connection)
        else:
            connection.executescript(
                f"BEGIN IMMEDIATE;\n{SCHEMA.read_text(encoding='utf-8')}\n"
                f"INSERT INTO migrations VALUES ({VERSION}, 'schema', datetime('now'));\n"
                "COMMIT;"
            )
        on_error.pop_all()
    return connection


def file_of(connection: sqlite3.Connection) -> Path:
    return Path(connection.execute("PRAGMA database_list").fetchone()[2])


def log_of(path: Path) -> Path:
    """Return the file of writes that are not yet in the database file, if there is one."""
    real = real_file(path)
    return real.with_name(real.name + "-wal")


def open_reader(path: Path) -> sqlite3.Connection:
    """Open for reading only: no statement can write. A file of an earlier version is left so, and
    read as one of this. Raises StoreError when there is no file, or an empty one."""
    with explained(path), ExitStack() as on_error:
        if path.exists():
            connection = _connect_reader(path)
            on_error.callback(connection.close)
            if version := _version(connection, path):
                _shadow(connection, version)
                connection.execute("PRAGMA query_only = ON")
                on_error.pop_all()
                return connection
        raise StoreError(
            f"{path}: there is no such database; ./lockcross crossover makes one, or name another "
            "file with --db"
        )


def _connect_reader(path: Path) -> sqlite3.Connection:
    # In a folder that cannot be written SQLite cannot make the files that share a write-ahead log.
    # Where there is no log either, nobody writes, and a file whose header says that it has one
    # (SQLite, "Database File Format", 1.3.4; copied from beside its log) can be read as it stands.
    real, still = real_file(path), False
    if not os.access(real.parent, os.W_OK) and not log_of(path).exists():
        with suppress(OSError), real.open("rb") as file:
            still = file.read(20)[18:] == b"\2\2"
    uri = f"{real.as_uri()}?mode=ro{'&immutable=1' if still else ''}"
    connection = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    see_signals(connection)
    return connection
