"""The matrix in the documents: locks by models, and how far other tools agree."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from rich.table import Table

from proofs.models import MODELS
from proofs.proving import Outcome, Step
from proofs.stored import SHOWN_MODELS, Proof, Verdict, agreements, matrix
from results.paths import ROOT

_ORDER = (Verdict.FAILED, Verdict.BOUND, Verdict.PROVED, Verdict.ASSUMED, Verdict.REFUSED)


def by_client(outcomes: Sequence[Outcome]) -> Table:
    """A row for each proof."""
    table = Table("lock", "client", "model", "verdict", "bound", "states", "seconds", "reason",
                  box=None)  # fmt: skip
    for one in outcomes:
        proof = one.proof
        ran = proof.verdict != Verdict.REFUSED
        table.add_row(
            one.job.program.label, proof.client, proof.model, proof.verdict, proof.bound,
            str(one.found.states or one.found.executions) if ran else "",
            f"{proof.seconds:.1f}" if ran else "", proof.reason,
        )  # fmt: skip
    return table


def by_lock(outcomes: Sequence[Outcome]) -> Table:
    """A row for each lock and model: what came of all its clients together."""
    table = Table("lock", "model", "verdict", "clients", "bound", "states", "seconds", "reason",
                  box=None)  # fmt: skip
    for (label, model), group in groupby(sorted(outcomes, key=_place), key=_place):
        found = list(group)
        verdict = min((one.proof.verdict for one in found), key=_ORDER.index)
        same = [one for one in found if one.proof.verdict == verdict]
        reasons = dict.fromkeys(one.proof.reason for one in same if one.proof.reason)
        table.add_row(
            label, model, verdict, f"{len(same)} of {len(found)}", _bounds(found),
            str(sum(one.found.states or one.found.executions for one in found)),
            f"{sum(one.proof.seconds for one in found):.1f}", "; ".join(reasons),
        )  # fmt: skip
    return table


def _place(one: Outcome) -> tuple[str, str]:
    return one.job.program.label, one.proof.model


def _bounds(outcomes: Iterable[Outcome]) -> str:
    return "; ".join(sorted({one.proof.bound for one in outcomes if one.proof.bound}))


def legend(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """What the models are."""
    for name in dict.fromkeys(one.proof.model for one in outcomes):
        if name in MODELS:
            yield f"{name}: {MODELS[name].says}"


def interleaving(steps: Sequence[Step]) -> Table:
    """A counterexample, step by step. What is in a buffer has not become visible to others."""
    table = Table("", "thread", "line", "function", "access", "object", "value", "buffered",
                  box=None)  # fmt: skip
    for number, step in enumerate(steps, 1):
        table.add_row(
            str(number), str(step.thread), step.place, step.function, step.access, step.object,
            step.value, step.buffer,
        )  # fmt: skip
    return table


def headline(outcomes: Sequence[Outcome]) -> str:
    """How many of each verdict."""
    proofs: list[Proof] = [one.proof for one in outcomes]
    counts = [(verdict, sum(one.verdict == verdict for one in proofs)) for verdict in Verdict]
    return ", ".join(f"{count} {verdict}" for verdict, count in counts if count)


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
        [*SHOWN_MODELS, "locks"], [[*cells, ", ".join(found)] for cells, found in alike.items()]
    )


def _whole(proofs: Sequence[Proof]) -> list[str]:
    lines = _table(["lock", *SHOWN_MODELS], [[row.label, *(one.words for one in row.cells)]
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
