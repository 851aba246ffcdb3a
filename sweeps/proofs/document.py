"""The matrix in the documents: locks by models, and how far other tools agree."""

from collections.abc import Callable, Sequence
from pathlib import Path

from results.analysis.proofs import MODELS, agreements, matrix
from results.model.proof import Proof
from results.paths import ROOT

BEGIN = "<!-- made by ./lockcross prove --store -->\n"
END = "<!-- until here -->\n"


def with_matrix(file: Path, proofs: Sequence[Proof]) -> str:
    """The text of one of DOCUMENTS, with the matrix of these proofs between its two marks."""
    before, _, rest = file.read_text(encoding="utf-8").partition(BEGIN)
    _, _, behind = rest.partition(END)
    lines = "\n".join(DOCUMENTS[file](proofs))
    return f"{before}{BEGIN}{lines}\n{END}{behind}"


def _short(proofs: Sequence[Proof]) -> list[str]:
    """Locks of which the same is known share a row."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for row in matrix(proofs):
        alike.setdefault(tuple(one.verdict for one in row.cells), []).append(row.label)
    return _table(
        [*MODELS, "locks"], [[*cells, ", ".join(found)] for cells, found in alike.items()]
    )


def _whole(proofs: Sequence[Proof]) -> list[str]:
    lines = _table(["lock", *MODELS], [[row.label, *(one.words for one in row.cells)]
                                       for row in matrix(proofs)])  # fmt: skip
    compared = agreements(proofs)
    if compared:
        head = ["tool", "model", "clients compared", "agree", "alone", "out of time", "not taken"]
        rows = [
            [f"{one.tool} {one.version}", one.model, str(one.compared), str(one.agree),
             str(one.alone), str(one.bounded), str(one.refused)]
            for one in compared
        ]  # fmt: skip
        lines += ["", *_table(head, rows)]
    return lines


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    rule = ["---"] * len(head)
    return [f"| {' | '.join(cells)} |" for cells in (head, rule, *rows)]


DOCUMENTS: dict[Path, Callable[[Sequence[Proof]], list[str]]] = {
    ROOT / "README.md": _short,
    ROOT / "proofs" / "README.md": _whole,
}
