"""Studies of cells on the page, among the figures and in the terminal: what their plans show."""

import sqlite3
from collections.abc import Collection, Iterator

from rich.table import Table

from results.draw.drawing import Drawing
from results.store.database import file_of
from results.text.terminal import console
from sweeps.model import engines
from sweeps.questions.studies import answer
from sweeps.report.presentation import Part, Presentation, References, Section

_SECTION = "studies"


def figures(connection: sqlite3.Connection, _: References) -> Iterator[Drawing]:
    """Yield each figure that a study's plan shows."""
    for study, plan in answer.studies(connection).items():
        for show in plan.show:
            kind = "draw_lines" if show.lines else "draw_map"
            yield Drawing(
                show.name,
                f"{_SECTION}/{study}",
                show.title,
                f"{__package__}.figures.{kind}",
                {f"{study}/{show.name}": file_of(connection)},
                show.caption,
            )


def part(connection: sqlite3.Connection, _: References, __: Collection[Drawing]) -> Part | None:
    """Return the tables of each study, and where two locks change places."""
    studies = answer.studies(connection)
    if not studies:
        return None
    parts = [
        {
            "title": plan.title,
            "engines": ", ".join(map(engines.title, dict.fromkeys(plan.engines))),
            "tie_percent": plan.tie_percent,
            "section": f"{_SECTION}/{study}",
            "tables": answer.tables(connection, plan),
            "changes": answer.changes(connection, plan),
        }
        for study, plan in studies.items()
    ]
    first = next(iter(studies.values()))
    heading = first.title if len(studies) == 1 else "Studies"
    return Part([Section(_SECTION, heading)], {"studies": parts}, title=first.title)


def present(connection: sqlite3.Connection) -> None:
    """Print the tables; the least cost of a row, and ties with it, have a *."""
    out = console(fold=False)
    for plan in answer.studies(connection).values():
        for title, unit, axis, labels, rows in answer.tables(connection, plan):
            heads = (label.words() for label in labels)
            table = Table(axis, *heads, title=f"{title} ({unit})", box=None)
            for place, cells, least in rows:
                marked = (cell + "*" * mark for cell, mark in zip(cells, least, strict=True))
                table.add_row(place, *marked)
            out.print(table)
        if changing := answer.changes(connection, plan):
            table = Table("two locks", "along", "held at", "cheaper", box=None)
            for row in changing:
                table.add_row(*(row[name] for name in ("pair", "axis", "held", "words")))
            out.print(table)


PRESENTATION = Presentation(part, figures, present)
