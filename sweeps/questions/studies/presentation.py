"""Studies of cells on the page, among the figures and in the terminal."""

import sqlite3
from collections.abc import Collection, Iterator
from typing import Any

from results.draw.drawing import Drawing
from results.store.database import file_of
from results.text.rows import Form, Rows, print_parts
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
            "section": f"{_SECTION}/{study}",
            "tables": [written(table) for table in answer.tables(connection, plan)],
            "changes": answer.changes(connection, plan).records,
        }
        for study, plan in studies.items()
    ]
    first = next(iter(studies.values()))
    heading = first.title if len(studies) == 1 else "Studies"
    return Part([Section(_SECTION, heading)], {"studies": parts}, title=first.title)


def written(table: Rows) -> dict[str, Any]:
    """Return a table as the page has it: its title, its heads and its rows, all in words."""
    shown = table.shown or {}
    rows = [[show(record) for show in shown.values()] for record in table.records]  # type: ignore[operator]
    return {"title": table.title, "heads": list(shown), "rows": rows}


def present(connection: sqlite3.Connection) -> None:
    """Print the tables; the least cost of a row, and ties with it, have a *."""
    for plan in answer.studies(connection).values():
        print_parts(Form.TABLE, *answer.tables(connection, plan), fold=False)
        if (changes := answer.changes(connection, plan)).records:
            print_parts(Form.TABLE, changes, fold=False)


PRESENTATION = Presentation(part, figures, present)
