"""Planned reproductions: what is to be run and compared, whatever form its definition has."""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from results.published import Published
from sweeps.model.cell import Cell
from sweeps.model.label import FENCE_KINDS, FULL
from sweeps.questions.reproduce.answer import Reproduction
from sweeps.questions.reproduce.expression import evaluate, names

CLOCK = ("ns", "us", "ms", "s")  # names in expressions: a cycle of the machine in that unit


@dataclass(frozen=True)
class Measured:
    """A cell of a reproduction, and what its plain name stands for."""

    cell: Cell
    metric: str = "cycles_per_pair"


@dataclass(frozen=True)
class PlannedRow:
    """A row before anything has been run. `if_not_positive`: what is shown instead of a
    number that means something only above zero."""

    label: str
    ours: str
    published: Published | None = None
    tolerance: float | None = None
    series: str = ""
    x: str = ""
    group: str = ""
    note: str = ""
    mark: Published | None = None
    if_not_positive: str = ""


@dataclass(frozen=True)
class PlannedReproduction:
    """A reproduction before anything has been run: its `outline`, which has no rows yet, its cells
    by their names, and the rows that they will give."""

    outline: Reproduction
    cells: Mapping[str, Measured]
    rows: tuple[PlannedRow, ...]


def check(row: PlannedRow, cells: Mapping[str, Measured]) -> None:
    """Raises ValueError for an expression that cannot be evaluated, or that names no cell."""
    for used, part in names(row.ours):
        if used not in cells and (used not in CLOCK or part):
            raise ValueError(f"row {row.label!r}: no cell is named {used!r}")
    with suppress(ZeroDivisionError):
        evaluate(row.ours, lambda _name, _part: 1.0)


def identifier(text: str) -> str:
    """A name that can stand in an expression."""
    return re.sub(r"\W", "_", text)


def in_words(text: str) -> str:
    """`tasuki/rmw` as `tasuki, locked RMW`."""
    for kind, words in FENCE_KINDS.items():
        if kind != FULL:
            text = text.replace(f"/{kind}", f", {words}")
    return text
