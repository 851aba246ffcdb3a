"""Validations and latency mechanisms on the page and among the figures."""

import sqlite3
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from results.draw.drawing import Drawing
from results.store.database import file_of
from sweeps.model import engines
from sweeps.questions.validate import latency
from sweeps.questions.validate.answer import ALL_ISAS, CLEAR, percent, signed, speeds, summarize
from sweeps.report.presentation import Part, Presentation, References, Section, Source
from sweeps.search.found import PLAN, isa_title

_VALIDATION = "validation"


def of_latency(others: References) -> Source:
    """Where the latency sweeps come from."""
    with_them = (
        validation for validation in others.validations if latency.sweeps(validation.connection)
    )
    return next(with_them, others.validations[0])


def figures(_: sqlite3.Connection, others: References) -> Iterator[Drawing]:
    """The latency sweeps, and each validation; the further ones are named after their files."""
    yield Drawing(
        "latency_calibration",
        "latency",
        "Latency mechanisms: set against measured latency",
        f"{__package__}.figure.draw_latency",
        file_of(of_latency(others).connection),
        "Measured latency of a CAS, of a full fence and of a cancellation against the latency that "
        "was set, a column for each engine, a line for each instruction set and mechanism, "
        "labelled with its line of least squares; brackets distinguish engines that use the same "
        "mechanism. The grey line has slope 1.",
        paged=False,
    )
    for place, source in enumerate(others.validations):
        yield Drawing(
            _figure(source, place),
            _VALIDATION,
            "The candidate engine against the reference",
            f"{__package__}.figure.draw_validation",
            file_of(source.connection),
            "Cycles per acquire-release pair on the engine that is judged, relative to its "
            "reference, over the cost on the reference, a panel for each validation set: colours "
            "distinguish instruction sets, markers locks. The grey band is 10 % on either side; "
            "each panel's worst cell is named.",
        )


def _figure(source: Source, place: int) -> str:
    """The name of a validation's figure, the first at place 0."""
    stem = Path(source.name).stem
    further = f"{_VALIDATION}_{stem if stem != _VALIDATION else 'reference'}"
    return further if place else _VALIDATION


def part(connection: sqlite3.Connection, others: References, drawn: Collection[Drawing]) -> Part:
    """Each validation, and the latency mechanisms; beside a study folded."""
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
    source, mechanisms = of_latency(others), dict[str, Any]()
    sweeps, regions = latency.sweeps(source.connection), latency.regions(source.connection)
    if isas := {measured.isa for measured in sweeps} | {measured.isa for measured in regions}:
        mechanisms = {
            "sweeps": sweeps,
            "agreements": latency.agreements(sweeps),
            "regions": regions,
            "methods": sorted({method for region in regions for method in region.costs}),
            "isas": {name: isa_title(source.connection, name) for name in isas},
            "slopes": latency.slope_checks(source.connection),
        }
    return Part(
        [Section(_VALIDATION, "Validation", folded=folded)] * bool(validations)
        + [Section("latency", "Latency mechanisms", folded=folded)] * bool(mechanisms),
        {
            "validations": validations,
            "latency": mechanisms,
            "latency_note": source.note,
            "ops": latency.OPS,
            "clear": CLEAR,
            "percent": percent,
            "signed": signed,
        },
    )


PRESENTATION = Presentation(part, figures)
