"""A database that is opened for reading."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from results.store.database import explained

if TYPE_CHECKING:
    import sqlite3

    from results.store.store import Store


@contextmanager
def reading(db: Path) -> "Iterator[sqlite3.Connection]":
    """The database at `db`, to be read alone."""
    from results.store.store import Store

    with explained(db), Store(db, read_only=True) as store:
        yield store.connection


@contextmanager
def store_to_read(path: Path) -> "Iterator[Store]":
    """The store at `path`, or an empty one if there is none yet: reading creates no file."""
    from results.store.store import Store

    if path.exists():
        with Store(path, read_only=True) as store:
            yield store
        return
    with TemporaryDirectory(prefix="lockcross-") as folder, Store(Path(folder) / "no.db") as store:
        yield store
