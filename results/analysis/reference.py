"""The reference results: small databases in results/reference/, made with engines that not
everybody has, from which figures and report take what a user's own database does not hold."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from results.analysis.study import optional_fact
from results.model import engines
from results.paths import REFERENCE
from results.store.compilers import compilers_of_study
from results.store.store import Store

VALIDATION = "validation.db"


@dataclass(frozen=True)
class References:
    """Where the validation, and studies to compare with, come from.

    `validation`: the connection with the validation and the latency sweeps, and `note`: whose they
    are when they are not the database's own; `studies`: the database and the studies to be drawn
    over it, by a name for messages, or none; `apart`: why some are not among them, or nothing.
    """

    validation: sqlite3.Connection
    note: str
    studies: Mapping[str, sqlite3.Connection]
    apart: str = ""


@contextmanager
def references(connection: sqlite3.Connection, folder: Path = REFERENCE) -> Iterator[References]:
    """What goes with a database: its own validation if it has one, else the reference's; and beside
    a study on the default engine the reference studies of others."""
    with ExitStack() as opened:

        def read(path: Path) -> sqlite3.Connection:
            return opened.enter_context(Store(path, read_only=True)).connection

        validation, note = connection, ""
        if not _has_validation(connection) and (folder / VALIDATION).exists():
            validation, note = read(folder / VALIDATION), f"results/reference/{VALIDATION}"
        studies: dict[str, sqlite3.Connection] = {}
        apart = ""
        plan = optional_fact(connection, "plan")
        if plan and plan.get("engine", engines.DEFAULT) == engines.DEFAULT:
            others = {path.name: read(path) for path in sorted(folder.glob("*.db"))}
            studies = {name: one for name, one in others.items() if optional_fact(one, "plan")}
            studies, apart = _of_the_same_compiler(connection, studies)
        if studies:
            studies = {"the database": connection, **studies}
        yield References(validation, note, studies, apart)


def _of_the_same_compiler(
    connection: sqlite3.Connection, studies: dict[str, sqlite3.Connection]
) -> tuple[dict[str, sqlite3.Connection], str]:
    """The studies whose programs the database's compiler made, and why the others are not among
    them."""
    own = compilers_of_study(connection)
    others = {title: compilers_of_study(one) for title, one in studies.items()}
    apart = sorted({name for found in others.values() if found != own for name in found})
    words = (
        f"the programs of the studies in results/reference are compiled by {', '.join(apart)}, "
        f"this one's by {', '.join(own)}; they are not drawn over one another"
    )
    same = {title: one for title, one in studies.items() if others[title] == own}
    return same, words if apart else ""


def _has_validation(connection: sqlite3.Connection) -> bool:
    found = connection.execute("SELECT 1 FROM series WHERE name GLOB 'validation/*' LIMIT 1")
    return found.fetchone() is not None
