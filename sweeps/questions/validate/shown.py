"""Validations and latency mechanisms on the page and among the figures."""

import sqlite3
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from results.draw.drawing import Drawing
from results.store.database import file_of
from sweeps.model import engines
from sweeps.questions.validate import latency, table
from sweeps.questions.validate.answer import ALL_ISAS, CLEAR, speeds, summarize
from sweeps.report.reference import References, Source
from sweeps.report.shown import Part, Section, Shown
from sweeps.search.found import isa_title

_VALIDATION = "validation"


def of_latency(others: References) -> Source:
    """Where the latency sweeps come from."""
    with_them = (one for one in others.validations if latency.sweeps(one.connection))
    return next(with_them, others.validations[0])


def figures(_: sqlite3.Connection, others: References) -> Iterator[Drawing]:
    """The latency sweeps, and each validation; the further ones are named after their files."""
    yield Drawing(
        "latency_calibration", "latency", "Latency mechanisms: set against measured latency",
        f"{__package__}.figure.draw_latency", file_of(of_latency(others).connection),
        "Measured latency of a CAS, of a full fence and of a cancellation against the latency that "
        "was set, a column for each engine, a line for each instruction set and mechanism, "
        "labelled with its line of least squares; brackets distinguish engines that use the same "
        "mechanism. The grey line has slope 1.",
    )  # fmt: skip
    for place, source in enumerate(others.validations):
        yield Drawing(
            _figure(source, place), _VALIDATION, "The candidate engine against the reference",
            f"{__package__}.figure.draw_validation", file_of(source.connection),
            "Cycles per acquire-release pair on the engine that is judged, relative to its "
            "reference, over the cost on the reference, a panel for each validation set: colours "
            "distinguish instruction sets, markers locks. The grey band is 10 % on either side; "
            "each panel's worst cell is named.",
        )  # fmt: skip


def _figure(source: Source, place: int) -> str:
    """The name of a validation's figure, the first at place 0."""
    stem = Path(source.name).stem
    further = f"{_VALIDATION}_{stem if stem != _VALIDATION else 'reference'}"
    return further if place else _VALIDATION


def part(_: sqlite3.Connection, others: References, drawn: Collection[Drawing]) -> Part:
    """Each validation, and the latency mechanisms."""
    by_name = {one.name: one for one in drawn}
    found = [
        {**one, "figure": by_name.get(_figure(source, place)), "note": source.note}
        for place, source in enumerate(others.validations)
        if (one := _validation(source.connection))
    ]
    source = of_latency(others)
    mechanisms = _latency(source.connection)
    sections = [Section(_VALIDATION, "Validation")] if found else []
    sections += [Section("latency", "Latency mechanisms")] if mechanisms else []
    return Part(
        sections,
        {
            "validations": found, "latency": mechanisms, "latency_note": source.note,
            "ops": latency.OPS, "clear": CLEAR, "percent": table.percent, "signed": table.signed,
            "verdict": table.verdict, "reasons": table.reasons, "why_missed": table.why_missed,
        },
    )  # fmt: skip


def _validation(connection: sqlite3.Connection) -> dict[str, Any]:
    """What the page shows of a validation; empty where there is none."""
    sets = summarize(connection)
    machines = connection.execute(
        "SELECT DISTINCT machines.title FROM series JOIN runs ON runs.id = series.run_id "
        "JOIN machines ON machines.name = runs.machine WHERE series.name GLOB 'validation/*' "
        "ORDER BY machines.name"
    )
    return (
        {}
        if not sets
        else {
            "sets": sets,
            "speeds": speeds(connection),
            "isas": {one.isa: isa_title(connection, one.isa) for one in sets}
            | {ALL_ISAS: ALL_ISAS},
            "machines": [title for (title,) in machines],
            "against": ", ".join(dict.fromkeys(engines.entry(one.reference).title for one in sets)),
        }
    )


def _latency(connection: sqlite3.Connection) -> dict[str, Any]:
    """What the page shows of latency mechanisms; empty where nothing is known of them."""
    sweeps, regions = latency.sweeps(connection), latency.regions(connection)
    names = {one.isa for one in sweeps} | {one.isa for one in regions}
    return (
        {}
        if not names
        else {
            "sweeps": sweeps,
            "agreements": latency.agreements(sweeps),
            "regions": regions,
            "methods": sorted({method for one in regions for method in one.costs}),
            "isas": {name: isa_title(connection, name) for name in names},
            "slopes": latency.slope_checks(connection),
        }
    )


SHOWN = Shown(part, figures)
