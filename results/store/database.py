"""Opening a Lockcross database: its lock, its schema, messages for SQLite's errors."""

import fcntl
import os
import re
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TextIO

from results.errors import LockcrossError

SCHEMA = Path(__file__).with_name("schema.sql")
VERSION = 12  # of the schema
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


@cache
def _schema() -> dict[str, str]:
    """Return the tables and views of the schema by name, each with what it is."""
    made = re.findall(r"^CREATE (TABLE|VIEW) (\w+)", SCHEMA.read_text("utf-8"), re.MULTILINE)
    return {name: kind.lower() for kind, name in made}


def _missing(connection: sqlite3.Connection, names: set[str]) -> str:
    """Return the first of the schema's tables and views that is missing, in words, or nothing."""
    there = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    return next((f"the {_schema()[name]} {name} is missing" for name in sorted(names - there)), "")


def damage(connection: sqlite3.Connection) -> str:
    """Return the first damage that SQLite finds itself, in words, or nothing."""
    try:
        (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.Error as error:
        return str(error)
    return "" if found == "ok" else str(found)


def _is_empty(connection: sqlite3.Connection, path: Path) -> bool:
    """Tell whether a file has no tables yet.

    Raises StoreError for another program's database, one of another version, or one that lacks a
    table or a view.
    """
    if connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None:
        return True
    if connection.execute("PRAGMA application_id").fetchone() != (APPLICATION_ID,):
        raise StoreError(
            f"{path}: is a SQLite database, but not one of Lockcross; name another file with --db"
        )
    if wrong := _missing(connection, {"migrations"}):
        raise damaged(path, wrong)
    (version,) = connection.execute("SELECT max(number) FROM migrations").fetchone()
    if version is None:
        raise damaged(path, "its table migrations is empty")
    if version != VERSION:
        raise StoreError(
            f"{path}: was written by another version of Lockcross (its schema is {version}, this "
            f"program's {VERSION}); move it away and run again, or name another file with --db"
        )
    if wrong := _missing(connection, {*_schema()}):
        raise damaged(path, wrong)
    return False


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
    """Open for writing, for a caller with the lock, and make the tables of an empty file."""
    with explained(path), ExitStack() as on_error:
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
        on_error.callback(connection.close)
        # NORMAL: a killed process loses nothing; only a power cut may lose the last results.
        connection.executescript("PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;")
        if _is_empty(connection, path):
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
    """Open for reading only: no statement can write. Raises StoreError when there is no file, or an
    empty one."""
    with explained(path), ExitStack() as on_error:
        if path.exists():
            connection = _connect_reader(path)
            on_error.callback(connection.close)
            if not _is_empty(connection, path):
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
