"""Opening a Lockcross database: its lock, its migrations, messages for SQLite's errors."""

import fcntl
import os
import re
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from results.errors import LockcrossError
from results.store import compact

MIGRATIONS = Path(__file__).parent / "migrations"
APPLICATION_ID = 0x4C584442  # set by migration 1
BUSY_SECONDS = 30
_TAKES_LONG = 50_000_000  # bytes that take seconds to migrate


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


def migrations(folder: Path = MIGRATIONS) -> dict[int, Path]:
    """The numbered migrations, in order."""
    found = {}
    for path in sorted(folder.glob("*.sql")):
        match = re.match(r"(\d{4})_", path.name)
        assert match, path
        found[int(match[1])] = path
    return found


def version_of(connection: sqlite3.Connection, path: Path) -> int:
    """The number of the last migration; 0 for an empty file.

    Raises StoreError for another program's database or a newer one.
    """
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    if not tables:
        return 0
    (application_id,) = connection.execute("PRAGMA application_id").fetchone()
    if application_id != APPLICATION_ID:
        raise StoreError(
            f"{path}: is a SQLite database, but not one of Lockcross; name another file with --db"
        )
    (version,) = connection.execute("SELECT max(number) FROM migrations").fetchone()
    if version is None:
        raise damaged(path, "its table migrations is empty")
    newest = max(migrations())
    if version > newest:
        raise StoreError(
            f"{path}: was written by a newer Lockcross (its version is {version}, this program "
            f"knows {newest}); update this program, or name another file with --db"
        )
    assert isinstance(version, int)
    return version


def migrate(connection: sqlite3.Connection, path: Path, upto: int | None = None) -> None:
    """Applies the missing migrations, each in a transaction of its own (up to number `upto`)."""
    version = version_of(connection, path)
    compact.register(connection)
    for number, file in migrations().items():
        if number <= version or (upto is not None and number > upto):
            continue
        script = file.read_text(encoding="utf-8")
        if number == 1:
            script += (
                "CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, "
                "applied TEXT NOT NULL);"
            )
        try:
            connection.executescript(
                f"BEGIN IMMEDIATE;\n{script}\n"
                f"INSERT INTO migrations VALUES ({number}, '{file.stem}', datetime('now'));\n"
                "COMMIT;"
            )
        except sqlite3.Error:
            if connection.in_transaction:
                connection.rollback()
            raise


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
    """Opens for writing (the caller holds the WriterLock), makes and migrates what is missing. Each
    transaction must follow `write_ahead`, and `close_writer` the last."""
    with explained(path):
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
        try:
            # NORMAL: a killed process loses nothing; only a power cut may lose the last results.
            connection.executescript("PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;")
            old = 0 < version_of(connection, path) < max(migrations())
            if old and path.stat().st_size > _TAKES_LONG:
                print(f"lockcross: {path}: is brought up to date, once", file=sys.stderr)
            migrate(connection, path)
            if old:  # what a migration frees
                with suppress(sqlite3.Error):  # no space for the copy: it stays as big as it is
                    connection.execute("VACUUM")
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
    """Opens for reading only: no statement can write. Raises StoreError when there is no file."""
    if not path.exists():
        raise StoreError(
            f"{path}: there is no such database; ./lockcross crossover makes one, or name another "
            "file with --db"
        )
    with explained(path):
        connection = _connect_reader(path)
        try:
            version = version_of(connection, path)
        except BaseException:
            connection.close()
            raise
        if version < max(migrations()):
            connection.close()
            _bring_up_to_date(path)
            connection = _connect_reader(path)
    return connection


def _marked_for_log(file: Path) -> bool:
    """By its header (SQLite, "Database File Format", 1.3.4): reading it makes files beside it."""
    with suppress(OSError), file.open("rb") as opened:
        return opened.read(20)[18:] == b"\2\2"
    return False


def _connect_reader(path: Path) -> sqlite3.Connection:
    # In a folder that cannot be written SQLite cannot make the files that share a write-ahead
    # log. Where there is no log either, nobody writes, and a file that is marked for one (by
    # earlier versions) can be read as it stands.
    real = real_file(path)
    still = (
        not os.access(real.parent, os.W_OK) and not log_of(path).exists() and _marked_for_log(real)
    )
    uri = f"{real.as_uri()}?mode=ro{'&immutable=1' if still else ''}"
    connection = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    connection.execute("PRAGMA query_only = ON")
    return connection


def _bring_up_to_date(path: Path) -> None:
    lock = WriterLock(path)
    try:
        close_writer(open_writer(path))
    finally:
        lock.release()
