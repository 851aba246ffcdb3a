"""The stored proofs on the page."""

import sqlite3
from collections.abc import Collection

from results.draw.drawing import Drawing
from sweeps.questions.prove.proofs import documents
from sweeps.report.presentation import Part, Presentation, References, Section
from sweeps.verdicts import models, read_proofs


def part(_: sqlite3.Connection, __: References, ___: Collection[Drawing]) -> Part | None:
    """Show every lock under every model, and how far other tools agree."""
    proofs = read_proofs()
    if not (rows := documents.matrix(proofs)):
        return None
    titles = [model.title for model in models().own.values()]
    data = {"models": titles, "rows": rows, "agreements": documents.agreements(proofs)}
    return Part([Section("proofs", "Proofs", folded=True)], {"proofs": data})


PRESENTATION = Presentation(part)
