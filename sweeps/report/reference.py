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
from sweeps.questions.validate.latency import sweeps
from sweeps.search.found import PLAN

VALIDATION = "validation.db"  # comes first


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

    @property
    def latency(self) -> Source:
        """Where the latency sweeps come from."""
        with_them = (one for one in self.validations if sweeps(one.connection))
        return next(with_them, self.validations[0])


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
        apart = ""
        plan = PLAN.optional(connection)
        if plan and plan.engine == engines.DEFAULT:
            studies = {name: one for name, one in others.items() if PLAN.optional(one)}
            studies, apart = _of_the_same_compiler(connection, studies)
        if studies:
            studies = {"the database": connection, **studies}
        yield References(_validations(connection, others), studies, apart)


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


def _validations(
    connection: sqlite3.Connection, others: Mapping[str, sqlite3.Connection]
) -> list[Source]:
    """The database's own validation, and those of `others` against engines that it lacks; the
    database itself where there is none at all."""
    own = _validated(connection)
    found = [Source(connection)] if own else []
    for name, other in others.items():
        if (theirs := _validated(other)) and not theirs & own:
            found.append(Source(other, name))
    return found or [Source(connection)]


def _validated(connection: sqlite3.Connection) -> set[str]:
    """The families of the engines that a database's validation is against."""
    found = connection.execute(
        "SELECT DISTINCT engine FROM series JOIN runs ON runs.id = series.run_id "
        "WHERE series.name GLOB 'validation/*'"
    )
    return {engines.entry(name).family for (name,) in found} - {engines.DEFAULT}
