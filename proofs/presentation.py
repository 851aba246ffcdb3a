"""The stored proofs on the page."""

import sqlite3
from collections.abc import Collection

from proofs import stored
from results.draw.drawing import Drawing
from sweeps.report.presentation import Part, Presentation, References, Section


def part(_: sqlite3.Connection, __: References, ___: Collection[Drawing]) -> Part | None:
    """Every lock under every model, and how far other tools agree."""
    proofs = stored.read_proofs()
    if not (rows := stored.matrix(proofs)):
        return None
    titles = [model.title for model in stored.models().own.values()]
    data = {"models": titles, "rows": rows, "agreements": stored.agreements(proofs)}
    return Part([Section("proofs", "Proofs", folded=True)], {"proofs": data})


PRESENTATION = Presentation(part)
