"""A database that is opened for reading."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from results.store.database import explained

if TYPE_CHECKING:
    import sqlite3


@contextmanager
def reading(db: Path) -> "Iterator[sqlite3.Connection]":
    """The database at `db`, to be read alone."""
    from results.store.store import Store

    with explained(db), Store(db, read_only=True) as store:
        yield store.connection
