"""The reference results: small databases in results/reference/, made with a real gem5, from which
figures and report take what a database of the user's own does not hold."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from results.data import EMBEDDED, optional_fact
from results.store import Store

REFERENCE = Path(__file__).parent / "reference"
VALIDATION = "validation.db"


@dataclass(frozen=True)
class References:
    """Where the parts about gem5 come from.

    `validation`: the connection with the validation and the latency sweeps, and `note`: whose they
    are when they are not the database's own; `studies`: the database and the studies to be drawn
    over it, by a name for messages, or none.
    """

    validation: sqlite3.Connection
    note: str
    studies: Mapping[str, sqlite3.Connection]


@contextmanager
def references(connection: sqlite3.Connection, folder: Path = REFERENCE) -> Iterator[References]:
    """What goes with a database: its own validation if it has one, else the reference's; and beside
    a study on the embedded engine the reference studies of gem5."""
    with ExitStack() as opened:

        def read(path: Path) -> sqlite3.Connection:
            return opened.enter_context(Store(path, read_only=True)).connection

        validation, note = connection, ""
        if not _has_validation(connection) and (folder / VALIDATION).exists():
            validation, note = read(folder / VALIDATION), f"results/reference/{VALIDATION}"
        studies: dict[str, sqlite3.Connection] = {}
        plan = optional_fact(connection, "plan")
        if plan and plan.get("engine", EMBEDDED) == EMBEDDED:
            studies = {path.name: read(path) for path in sorted(folder.glob("gem5_*.db"))}
        if studies:
            studies = {"the database": connection, **studies}
        yield References(validation, note, studies)


def _has_validation(connection: sqlite3.Connection) -> bool:
    found = connection.execute("SELECT 1 FROM series WHERE name GLOB 'validation/*' LIMIT 1")
    return found.fetchone() is not None
