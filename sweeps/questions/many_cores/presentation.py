"""The study of many cores on the page, among the figures and in the terminal."""

import sqlite3
from collections.abc import Collection, Iterator

from rich.table import Table

from results.draw.drawing import Drawing
from results.store.database import file_of
from results.text.terminal import console
from sweeps.questions.many_cores import answer
from sweeps.report.presentation import Part, Presentation, References, Section

_FIGURES = {  # name: title, the function that draws it, text
    "many_cores": (
        "Many cores that contend for one lock",
        "draw_cores",
        "Cost of an acquire-release pair, the time from one section to the next, what a pair sends "
        "over the network, and how busy the busiest home of lines is, each against the number of "
        "cores that contend, for every lock. Bands are the least and the greatest of all seeds.",
    ),
    "many_cores_distance": (
        "An owner and one contender, by the way between them",
        "draw_distance",
        "Cost of a pair, and messages on the network, against the number of links between the "
        "owner's node and the contender's, a column for each share of the acquisitions that is the "
        "owner's. Bands are the least and the greatest of all seeds.",
    ),
    "many_cores_map": (
        "What it takes to cancel a reservation, from each node of the mesh",
        "draw_cancellation",
        "The mesh with, at each node, the cycles that a contender there takes to cancel a "
        "reservation of the owner's, without the charge for stopping a thread, which is the same "
        "from everywhere. The owner is in the corner. The homes of the lines that they exchange "
        "are where their addresses put them, and the way to those counts too.",
    ),
}


def figures(connection: sqlite3.Connection, _: References) -> Iterator[Drawing]:
    """Curves by cores and by distance, and the map of cancellations."""
    for name, (title, draw, text) in _FIGURES.items():
        function = f"{__package__}.figures.{draw}"
        yield Drawing(name, answer.NAME, title, function, file_of(connection), text)


def part(connection: sqlite3.Connection, _: References, __: Collection[Drawing]) -> Part | None:
    """Tables of every quantity, and where two locks change places."""
    plan = answer.PLAN.optional(connection)
    if plan is None:
        return None
    answers = {"tables": answer.tables(connection), "crossovers": answer.changing(connection)}
    many = dict(plan) | answers
    return Part([Section("many_cores", "Many cores")], {"many": many}, title=plan.title)


def present(connection: sqlite3.Connection) -> None:
    """Prints the tables; the least cost of a row, and ties with it, have a *."""
    if answer.PLAN.optional(connection) is None:
        return
    for title, unit, axis, labels, rows in answer.tables(connection):
        heads = (label.words() for label in labels)
        table = Table(axis, *heads, title=f"{title} ({unit})", box=None)
        for place, cells, least in rows:
            marked = (cell + "*" * mark for cell, mark in zip(cells, least, strict=True))
            table.add_row(place, *marked)
        console(fold=False).print(table)
    if changing := answer.changing(connection):
        table = Table("two locks", "along", "held at", "cheaper", box=None)
        for row in changing:
            table.add_row(*(row[name] for name in ("pair", "axis", "held", "words")))
        console(fold=False).print(table)


PRESENTATION = Presentation(part, figures, present)
