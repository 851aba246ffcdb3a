"""The reference results: small databases in results/reference/, made with engines that not
everybody has, from which figures and report take what a user's own database does not hold."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from results.paths import REFERENCE
from results.store.queries import compilers_of_study
from results.store.store import Store
from sweeps.model import engines
from sweeps.search.found import PLAN

VALIDATION = "validation.db"  # comes first
OF_STUDIES = "engines"  # the figure of several studies


@dataclass(frozen=True)
class Source:
    """A database with a validation. `name`: its file's in the reference results, empty for the
    user's own database."""

    connection: sqlite3.Connection
    name: str = ""

    @property
    def note(self) -> str:
        """Whose it is, when it is not the database's own."""
        return f"results/reference/{self.name}" if self.name else ""


@dataclass(frozen=True)
class References:
    """Where validations, and studies to compare with, come from.

    `validations`: one or more, the database itself if there is none; `studies`: the database and
    the studies to be drawn over it, by a name for messages, or none; `apart`: why some are not
    among them, or nothing.
    """

    validations: Sequence[Source]
    studies: Mapping[str, sqlite3.Connection]
    apart: str = ""


@contextmanager
def references(connection: sqlite3.Connection, folder: Path = REFERENCE) -> Iterator[References]:
    """What goes with a database: its own validation if it has one, and those of the references that
    are against other engines; and beside a study on the default engine the reference studies of
    others."""
    with ExitStack() as opened:

        def read(path: Path) -> sqlite3.Connection:
            return opened.enter_context(Store(path, read_only=True)).connection

        paths = sorted(folder.glob("*.db"), key=lambda path: (path.name != VALIDATION, path.name))
        others = {path.name: read(path) for path in paths}
        studies: dict[str, sqlite3.Connection] = {}
        foreign: set[str] = set()  # compilers of studies that are not compared with this one
        plan, own = PLAN.optional(connection), compilers_of_study(connection)
        if plan and plan.engine == engines.DEFAULT:
            for name, other in others.items():
                if PLAN.optional(other) and (made_by := compilers_of_study(other)) != own:
                    foreign |= set(made_by)
                elif PLAN.optional(other):
                    studies[name] = other
        words = (
            "the programs of the studies in results/reference are compiled by "
            f"{', '.join(sorted(foreign))}, this one's by {', '.join(own)}; they are not drawn "
            "over one another"
        )
        validated = _validated(connection)
        validations = [Source(connection)] if validated else []
        validations += [
            Source(other, name)
            for name, other in others.items()
            if (theirs := _validated(other)) and not theirs & validated
        ]
        yield References(
            validations or [Source(connection)],
            {"the database": connection, **studies} if studies else {},
            words if foreign else "",
        )


def _validated(connection: sqlite3.Connection) -> set[str]:
    """The families of the engines that a database's validation is against."""
    found = connection.execute(
        "SELECT DISTINCT engine FROM series JOIN runs ON runs.id = series.run_id "
        "WHERE series.name GLOB 'validation/*'"
    )
    return {engines.entry(name).family for (name,) in found} - {engines.DEFAULT}
