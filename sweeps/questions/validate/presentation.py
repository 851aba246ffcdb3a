"""Show validations on the page and among the figures."""

import sqlite3
from collections.abc import Collection, Iterator
from pathlib import Path

from results.draw.drawing import Drawing
from results.store.database import file_of
from sweeps.model import engines
from sweeps.questions.validate.answer import ALL_ISAS, CLEAR, percent, signed, speeds, summarize
from sweeps.report.presentation import Part, Presentation, References, Section, Source
from sweeps.study.results import PLAN, isa_title

_VALIDATION = "validation"


def figures(_: sqlite3.Connection, others: References) -> Iterator[Drawing]:
    """Draw each validation; the further ones are named after their files."""
    for place, source in enumerate(others.validations):
        yield Drawing(
            _figure(source, place),
            _VALIDATION,
            "The candidate engine against the reference",
            f"{__package__}.figure.draw_validation",
            file_of(source.connection),
            "Cycles per acquire-release pair on the engine that is judged, as a multiple of the "
            "reference's, over the cost on the reference, a panel for each validation set: markers "
            "distinguish locks, colours instruction sets where there are several. In the grey band "
            "an error is a factor of 1.1 at most. Each panel's worst cell is ringed and named, by "
            "its factor: a cost of a hundredth is as far off as one of a hundred times.",
        )


def _figure(source: Source, place: int) -> str:
    """Return the name of a validation's figure, the first at place 0."""
    stem = Path(source.name).stem
    further = f"{_VALIDATION}_{stem if stem != _VALIDATION else 'reference'}"
    return further if place else _VALIDATION


def part(connection: sqlite3.Connection, others: References, drawn: Collection[Drawing]) -> Part:
    """Show each validation; beside a study folded."""
    folded = PLAN.optional(connection) is not None
    by_name = {drawing.name: drawing for drawing in drawn}
    validations = []
    for place, source in enumerate(others.validations):
        if sets := summarize(source.connection):
            titles = {summary.isa: isa_title(source.connection, summary.isa) for summary in sets}
            machines = source.connection.execute(
                "SELECT DISTINCT machines.title FROM series JOIN runs ON runs.id = series.run_id "
                "JOIN machines ON machines.name = runs.machine "
                "WHERE series.name GLOB 'validation/*' ORDER BY machines.name"
            )
            against = dict.fromkeys(engines.entry(summary.reference).title for summary in sets)
            validations.append(
                {
                    "sets": sets,
                    "speeds": speeds(source.connection),
                    "isas": titles | {ALL_ISAS: ALL_ISAS},
                    "machines": [title for (title,) in machines],
                    "against": ", ".join(against),
                    "figure": by_name.get(_figure(source, place)),
                    "note": source.note,
                }
            )
    return Part(
        [Section(_VALIDATION, "Validation", folded=folded)] * bool(validations),
        {
            "validations": validations,
            "clear": CLEAR,
            "percent": percent,
            "signed": signed,
        },
    )


PRESENTATION = Presentation(part, figures)
