"""The published numbers beside ours on the page and among the figures."""

import sqlite3
from collections.abc import Collection, Iterator

from results.draw.drawing import Drawing
from sweeps.questions.reproduce import answer, overtake
from sweeps.report.presentation import Part, Presentation, References, Section
from sweeps.study.results import PLAN


def figures(connection: sqlite3.Connection, _: References) -> Iterator[Drawing]:
    """Yield the figure of each reproduction that has one."""
    for reproduction in answer.KEPT.every(connection):
        if reproduction.plot.kind:
            yield Drawing(
                f"reproduction_{reproduction.name}",
                "published",
                reproduction.title,
                f"{__package__}.figure.draw_reproduction",
                reproduction,
                said=True,
            )


def part(connection: sqlite3.Connection, _: References, drawn: Collection[Drawing]) -> Part | None:
    """Return every reproduction, and when asymmetric locks overtake reservation locks. Without a
    study of its own they come first on the page."""
    by_name = {drawing.name: drawing for drawing in drawn}
    reproductions = [
        {
            "found": reproduction,
            "rows": [(row, answer.cells(row)) for row in answer.table_rows(reproduction)],
            "figure": by_name.get(f"reproduction_{reproduction.name}"),
        }
        for reproduction in answer.KEPT.every(connection)
    ]
    cases = overtake.load(connection)
    if not (reproductions or cases):
        return None
    early = PLAN.optional(connection) is None
    published = Section("published", "The published numbers", early=early, folded=not early)
    overtaken = "When asymmetric locks overtake reservation locks"
    return Part(
        [published] * bool(reproductions)
        + [Section("overtake", overtaken, early=early, folded=not early)] * bool(cases),
        {"reproductions": reproductions, "overtake": cases, "overtake_axes": overtake.AXES},
        title="Published and simulated numbers",
    )


PRESENTATION = Presentation(part, figures)
