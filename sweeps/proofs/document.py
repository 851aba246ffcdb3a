"""The matrix in proofs/README.md: locks by models, and how far other tools agree."""

from collections.abc import Sequence

from results.analysis.proofs import MODELS, agreements, matrix
from results.model.proof import Proof
from results.paths import ROOT

FILE = ROOT / "proofs" / "README.md"
BEGIN = "<!-- made by ./lockcross prove --store -->\n"
END = "<!-- until here -->\n"


def with_matrix(text: str, proofs: Sequence[Proof]) -> str:
    """The document with the matrix of these proofs between its two marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, behind = rest.partition(END)
    return f"{before}{BEGIN}{_tables(proofs)}{END}{behind}"


def _tables(proofs: Sequence[Proof]) -> str:
    lines = _table(["lock", *MODELS], [[row.label, *(one.words for one in row.cells)]
                                       for row in matrix(proofs)])  # fmt: skip
    compared = agreements(proofs)
    if compared:
        head = ["tool", "model", "clients compared", "agree", "not taken"]
        rows = [
            [f"{one.tool} {one.version}", one.model, str(one.compared), str(one.agree),
             str(one.refused)]
            for one in compared
        ]  # fmt: skip
        lines += ["", *_table(head, rows)]
    return "\n".join(lines) + "\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    rule = ["---"] * len(head)
    return [f"| {' | '.join(cells)} |" for cells in (head, rule, *rows)]
