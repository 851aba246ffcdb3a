"""Opening a Lockcross database: its lock, its schema, messages for SQLite's errors."""

import fcntl
import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from results.errors import LockcrossError

SCHEMA = Path(__file__).with_name("schema.sql")
VERSION = 9  # of the schema
APPLICATION_ID = 0x4C584442  # as the schema sets it
BUSY_SECONDS = 30


class StoreError(LockcrossError):
    """The database cannot be used; it was left as it is."""


def damaged(path: Path, what: str) -> StoreError:
    """The error for a database that is not as Lockcross has written it."""
    return StoreError(
        f"{path}: is damaged, or another program has changed it ({what}); restore it from a copy, "
        "or move it away and run again"
    )


def explain(error: sqlite3.Error, path: Path) -> StoreError:
    """What an error of SQLite means for the user."""
    # The low byte is the primary code (SQLite, "Result and Error Codes").
    code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
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
    words = {
        sqlite3.SQLITE_NOTADB: "is not a SQLite database; name another file with --db, or move it",
        sqlite3.SQLITE_READONLY: "cannot be written; check its permissions and its folder's, or "
        "name another file with --db",
        sqlite3.SQLITE_PERM: "may not be opened; check its permissions",
        sqlite3.SQLITE_CANTOPEN: "cannot be opened; check that it is a file, and its permissions "
        "and its folder's",
        sqlite3.SQLITE_BUSY: "is in use by another program; wait for it to end",
    }
    return StoreError(f"{path}: {words.get(code, f'the database reports: {error}')}")


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turns SQLite's exceptions into StoreError."""
    try:
        yield
    except sqlite3.Error as error:
        raise explain(error, path) from None


def _is_made(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether a file has the schema; not, if it is empty.

    Raises StoreError for another program's database, or one of another version.
    """
    if connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None:
        return False
    (application_id,) = connection.execute("PRAGMA application_id").fetchone()
    if application_id != APPLICATION_ID:
        raise StoreError(
            f"{path}: is a SQLite database, but not one of Lockcross; name another file with --db"
        )
    (version,) = connection.execute("SELECT max(number) FROM migrations").fetchone()
    if version is None:
        raise damaged(path, "its table migrations is empty")
    if version != VERSION:
        raise StoreError(
            f"{path}: was written by another version of Lockcross (its schema is {version}, this "
            f"program's {VERSION}); move it away and run again, or name another file with --db"
        )
    return True


def real_file(path: Path) -> Path:
    """The file behind links: SQLite's log and the lock lie beside it."""
    return Path(os.path.realpath(path))


class WriterLock:
    """Only one driver writes a database. The kernel drops the lock when its holder ends or dies."""

    def __init__(self, path: Path) -> None:
        self._file: TextIO | None = None
        real = real_file(path)
        if real.exists() and real.stat().st_nlink > 1 and not real.is_dir():
            raise StoreError(
                f"{path}: the file has {real.stat().st_nlink} names (hard links), and SQLite keeps "
                "its log by name: writing it under two names would lose data; copy it, and name "
                "the copy with --db"
            )
        place = real.with_name(real.name + ".lock")
        try:
            file = place.open("a+", encoding="utf-8")
        except OSError as error:
            raise StoreError(
                f"{real.parent}: cannot be written ({error.strerror}); check its permissions, or "
                "name a database elsewhere with --db"
            ) from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            file.close()
            raise StoreError(
                f"{path}: another driver is writing it (process {holder}); wait until it ends, "
                "or name another file with --db"
            ) from None
        try:
            file.truncate(0)
            file.write(f"{os.getpid()}: {Path(sys.argv[0]).name} {' '.join(sys.argv[1:])}\n")
            file.flush()
        except OSError:  # a full disk: the lock holds, only nobody learns who has it
            pass
        self._file = file

    def release(self) -> None:
        """Gives the lock up. The file stays: removing it would let two drivers lock two files."""
        if self._file is not None:
            self._file.close()
            self._file = None


def open_writer(path: Path) -> sqlite3.Connection:
    """Opens for writing (the caller holds the WriterLock), and makes the tables of an empty file.
    Each transaction must follow `write_ahead`, and `close_writer` the last."""
    with explained(path):
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
        try:
            # NORMAL: a killed process loses nothing; only a power cut may lose the last results.
            connection.executescript("PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;")
            if not _is_made(connection, path):
                connection.executescript(
                    f"BEGIN IMMEDIATE;\n{SCHEMA.read_text(encoding='utf-8')}\n"
                    f"INSERT INTO migrations VALUES ({VERSION}, 'schema', datetime('now'));\n"
                    "COMMIT;"
                )
        except BaseException:
            connection.close()
            raise
    return connection


def write_ahead(connection: sqlite3.Connection) -> None:
    """Writes go to a log from now on, so that readers are not disturbed."""
    connection.execute("PRAGMA journal_mode = WAL")


def close_writer(connection: sqlite3.Connection) -> None:
    """Closes a database that was opened for writing. A file at rest has no log: reading one that
    has leaves files beside it."""
    with suppress(sqlite3.Error):  # somebody reads it, or the disk is full: the log stays
        connection.execute("PRAGMA busy_timeout = 0")
        connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()


def file_of(connection: sqlite3.Connection) -> Path:
    """The file of a database that is open."""
    return Path(connection.execute("PRAGMA database_list").fetchone()[2])


def log_of(path: Path) -> Path:
    """The file with what is written and not yet in the database's own, if there is any."""
    real = real_file(path)
    return real.with_name(real.name + "-wal")


def open_reader(path: Path) -> sqlite3.Connection:
    """Opens for reading only: no statement can write. Raises StoreError when there is no file, or
    an empty one."""
    with explained(path):
        connection = _connect_reader(path) if path.exists() else None
        try:
            if connection is None or not _is_made(connection, path):
                raise StoreError(
                    f"{path}: there is no such database; ./lockcross crossover makes one, or name "
                    "another file with --db"
                )
        except BaseException:
            if connection is not None:
                connection.close()
            raise
    return connection


def _marked_for_log(file: Path) -> bool:
    """By its header (SQLite, "Database File Format", 1.3.4): reading it makes files beside it."""
    with suppress(OSError), file.open("rb") as opened:
        return opened.read(20)[18:] == b"\2\2"
    return False


def _connect_reader(path: Path) -> sqlite3.Connection:
    # In a folder that cannot be written SQLite cannot make the files that share a write-ahead
    # log. Where there is no log either, nobody writes, and a file that is marked for one (copied
    # from beside its log) can be read as it stands.
    real = real_file(path)
    still = (
        not os.access(real.parent, os.W_OK) and not log_of(path).exists() and _marked_for_log(real)
    )
    uri = f"{real.as_uri()}?mode=ro{'&immutable=1' if still else ''}"
    connection = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    connection.execute("PRAGMA query_only = ON")
    return connection
