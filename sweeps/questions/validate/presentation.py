"""Show a validation on the page and among the figures; beside a study, the engine's error."""

import sqlite3
from collections.abc import Collection, Iterator

from results.draw.drawing import Drawing
from results.store.database import file_of
from sweeps.accuracy.errors import ANY, read_rows
from sweeps.model import engines
from sweeps.questions.validate.answer import (
    ALL_ISAS,
    CLEAR,
    SetSummary,
    percent,
    signed,
    speeds,
    summarize,
)
from sweeps.questions.validate.table import error_rows
from sweeps.report.presentation import Part, Presentation, References, Section
from sweeps.study.results import PLAN, isa_title

_VALIDATION = "validation"


def figures(connection: sqlite3.Connection, _: References) -> Iterator[Drawing]:
    """Draw the database's validation."""
    yield Drawing(
        _VALIDATION,
        _VALIDATION,
        "The candidate engine against the reference",
        f"{__package__}.figure.draw_validation",
        file_of(connection),
        "Cycles per acquire-release pair on the engine that is judged, as a multiple of the "
        "reference's, over the cost on the reference, a panel for each validation set: markers "
        "distinguish locks, colours instruction sets where there are several. In the grey band an "
        "error is a factor of 1.1 at most. Each panel's worst cell is ringed and named, by its "
        "factor: a cost of a hundredth is as far off as one of a hundred times.",
    )


def part(connection: sqlite3.Connection, _: References, drawn: Collection[Drawing]) -> Part | None:
    """Show the database's validation; or beside a study the counted errors of all validations."""
    if sets := summarize(connection):
        return _validation(connection, sets, drawn)
    if PLAN.optional(connection) is None:
        return None
    errors = error_rows([row for row in read_rows() if row.kind == ANY]).texts()
    return Part([Section("errors", "How far the engine is off", folded=True)], {"errors": errors})


def _validation(
    connection: sqlite3.Connection, sets: list[SetSummary], drawn: Collection[Drawing]
) -> Part:
    titles = {summary.isa: isa_title(connection, summary.isa) for summary in sets}
    machines = connection.execute(
        "SELECT DISTINCT machines.title FROM series JOIN runs ON runs.id = series.run_id "
        "JOIN machines ON machines.name = runs.machine "
        "WHERE series.name GLOB 'validation/*' ORDER BY machines.name"
    )
    against = dict.fromkeys(engines.entry(summary.reference).title for summary in sets)
    folded = PLAN.optional(connection) is not None
    return Part(
        [Section(_VALIDATION, "Validation", folded=folded)],
        {
            "validation": {
                "sets": sets,
                "speeds": speeds(connection),
                "isas": titles | {ALL_ISAS: ALL_ISAS},
                "machines": [title for (title,) in machines],
                "against": ", ".join(against),
                "figure": next((one for one in drawn if one.name == _VALIDATION), None),
            },
            "clear": CLEAR,
            "percent": percent,
            "signed": signed,
        },
    )


PRESENTATION = Presentation(part, figures)
