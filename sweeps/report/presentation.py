"""The figures and parts of the page that each question gives, found by the questions' folders, and
their order; and the reference results: small databases in results/reference/, made with engines
that not everybody has, whose studies are drawn over a user's own."""

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules, resolve_name
from typing import Any

from results.draw.drawing import Drawing
from results.paths import REFERENCE, ROOT
from results.store.queries import compilers_of_study
from results.store.store import Store
from sweeps.model import engines
from sweeps.study.results import PLAN

OF_STUDIES = "engines"  # the figure of several studies


@dataclass(frozen=True)
class References:
    """The database and the studies to be drawn over it, by a name for messages, or none. `apart`:
    why some are not among them, or nothing."""

    studies: Mapping[str, sqlite3.Connection]
    apart: str = ""


@contextmanager
def references(connection: sqlite3.Connection, folder: Path = REFERENCE) -> Iterator[References]:
    """Yield the databases that go with one: beside a study on the default engine the reference
    studies of others."""
    studies: dict[str, sqlite3.Connection] = {}
    foreign: set[str] = set()  # compilers of studies that are not compared with this one
    with ExitStack() as opened:
        plan, own = PLAN.optional(connection), compilers_of_study(connection)
        of_default = plan is not None and plan.engine == engines.DEFAULT
        for path in sorted(folder.glob("*.db")) if of_default else ():
            other = opened.enter_context(Store(path, read_only=True)).connection
            if PLAN.optional(other) and (made_by := compilers_of_study(other)) != own:
                foreign |= set(made_by)
            elif PLAN.optional(other):
                studies[path.name] = other
        words = (
            "the programs of the studies in results/reference are compiled by "
            f"{', '.join(sorted(foreign))}, this one's by {', '.join(own)}; they are not drawn "
            "over one another"
        )
        yield References(
            {"the database": connection, **studies} if studies else {},
            words if foreign else "",
        )


# What is not named here comes last: the questions, whose figures are drawn in this order and of
# which the first gives the page its title; and the sections of the page.
QUESTIONS = ("crossover", "studies", "explore", "validate", "reproduce")
SECTIONS = tuple(
    (
        "answer figures explorer studies validation errors latency published overtake proofs "
        "calibration crossovers failures provenance"
    ).split()
)


@dataclass(frozen=True)
class Section:
    """A part of the page: its anchor, and its heading. The content below that is the template of
    the anchor's name. `top`: it comes before the contents; `early`: before all that is neither;
    `folded`: only its heading is seen until a reader opens it, or follows a link into it."""

    id: str
    title: str
    top: bool = False
    early: bool = False
    folded: bool = False

    @property
    def template(self) -> str:
        """Return its template, in the folder `templates` of the question, or of this room."""
        return f"{self.id}.html"

    @property
    def sort_key(self) -> tuple[bool, int]:
        """Return the key by which sections are sorted."""
        known = self.id in SECTIONS
        return not self.early, SECTIONS.index(self.id) if known else len(SECTIONS)


@dataclass(frozen=True)
class Part:
    """A question's part of the page: its sections, and the data for their templates, by names that
    no other question gives. `title`: a title that the page may have; `head` and `style`: templates
    of the content below the title, and of an addition to the page's style."""

    sections: Sequence[Section]
    data: Mapping[str, Any]
    title: str = ""
    head: str = ""
    style: str = ""


@dataclass(frozen=True)
class Presentation:
    """The figures and other results that a question shows; PRESENTATION in its module
    `presentation`.

    Everything takes a database. `figures`: those that may be drawn of it, or of the databases that
    go with it; `part`: the question's part of the page, given the figures that were drawn, None
    where there is nothing; `present`: prints the results on the terminal at the end of a job;
    `alone`: whether there is a page of it without any figure.
    """

    part: Callable[[sqlite3.Connection, References, Collection[Drawing]], Part | None]
    figures: Callable[[sqlite3.Connection, References], Iterable[Drawing]] = lambda *_: ()
    present: Callable[[sqlite3.Connection], None] = lambda _: None
    alone: Callable[[sqlite3.Connection], bool] = lambda _: False


@cache
def packages() -> Mapping[str, Path]:
    """Return the folders with something to show, in their order, by their packages."""
    folder = ROOT / "sweeps" / "questions"
    names = [module.name for module in iter_modules([str(folder)])]
    names.sort(key=lambda name: QUESTIONS.index(name) if name in QUESTIONS else len(QUESTIONS))
    every = {f"sweeps.questions.{name}": folder / name for name in names}
    return {name: path for name, path in every.items() if find_spec(f"{name}.presentation")}


def questions(connection: sqlite3.Connection) -> list[Presentation]:
    """Return the presentation of each question, except where the database has none of the
    question's FACTS (names in its `__init__`)."""
    facts = {name.partition("/")[0] for (name,) in connection.execute("SELECT name FROM facts")}
    needed = {package: getattr(resolve_name(package), "FACTS", None) for package in packages()}
    there = [package for package, of in needed.items() if of is None or of & facts]
    return [resolve_name(f"{package}.presentation:PRESENTATION") for package in there]


def drawings(connection: sqlite3.Connection, others: References) -> list[Drawing]:
    """Return every figure that may be drawn of a database and of those that go with it."""
    return [
        drawing for shown in questions(connection) for drawing in shown.figures(connection, others)
    ]
