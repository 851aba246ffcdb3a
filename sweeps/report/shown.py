"""What each question has to show, found by the questions' folders, and in which order it stands."""

import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from results.draw.painter import Drawing
from results.paths import ROOT
from sweeps.report.reference import References

# What is not named here comes last: the questions, whose figures are drawn in this order and of
# which the first gives the page its title; and the sections of the page.
QUESTIONS = ("crossover", "many_cores", "explore", "validate", "reproduce")
SECTIONS = (
    "explorer", "figures", "answer", "many_cores", "validation", "latency", "published", "overtake",
    "proofs", "calibration", "crossovers", "failures", "provenance",
)  # fmt: skip


@dataclass(frozen=True)
class Section:
    """A part of the page: its anchor, and its heading. What stands below that is the template of
    the anchor's name. `top`: it comes before the contents; `early`: before all that is neither."""

    id: str
    title: str
    top: bool = False
    early: bool = False

    @property
    def template(self) -> str:
        """In the folder `templates` of the question, or of this room."""
        return f"{self.id}.html"

    @property
    def place(self) -> tuple[bool, int]:
        """What sections are sorted by."""
        known = self.id in SECTIONS
        return not self.early, SECTIONS.index(self.id) if known else len(SECTIONS)


@dataclass(frozen=True)
class Part:
    """What the page has of a question: its sections, and what their templates take, by names that
    no other question gives. `title`: what the page may be called; `head` and `style`: templates of
    what stands below the title, and of what is added to the page's style."""

    sections: Sequence[Section]
    data: Mapping[str, Any]
    title: str = ""
    head: str = ""
    style: str = ""


@dataclass(frozen=True)
class Shown:
    """What a question has to show; its module `shown` has it as SHOWN.

    Everything takes a database. `figures`: those that may be drawn of it, or of what goes with it;
    `part`: what the page has, given the figures that were drawn, None where there is nothing;
    `present`: prints what the terminal has at the end of a job; `alone`: whether there is a page
    of it without any figure.
    """

    part: Callable[[sqlite3.Connection, References, Collection[Drawing]], Part | None]
    figures: Callable[[sqlite3.Connection, References], Iterable[Drawing]] = lambda *_: ()
    present: Callable[[sqlite3.Connection], None] = lambda _: None
    alone: Callable[[sqlite3.Connection], bool] = lambda _: False


@cache
def questions() -> Mapping[Path, Shown]:
    """What each question shows, in their order, by its folder of templates."""
    folder = ROOT / "sweeps" / "questions"
    names = [one.name for one in iter_modules([str(folder)])]
    names.sort(key=lambda name: QUESTIONS.index(name) if name in QUESTIONS else len(QUESTIONS))
    packages = {f"sweeps.questions.{name}": folder / name for name in names}
    packages["proofs"] = ROOT / "proofs"
    return {
        path / "templates": import_module(f"{package}.shown").SHOWN
        for package, path in packages.items()
        if find_spec(f"{package}.shown")
    }


def drawings(connection: sqlite3.Connection, others: References) -> list[Drawing]:
    """Every figure that may be drawn of a database and of what goes with it."""
    return [one for shown in questions().values() for one in shown.figures(connection, others)]
