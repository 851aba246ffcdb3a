"""The matrix in the documents: locks by models, and how far other tools agree."""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from proofs.models import MODELS
from proofs.proving import Outcome, Step
from proofs.stored import SHOWN_MODELS, Proof, Verdict, agreements, matrix
from results.paths import ROOT
from results.text.rows import Rows

_ORDER = (Verdict.FAILED, Verdict.BOUND, Verdict.PROVED, Verdict.ASSUMED, Verdict.REFUSED)


def by_client(outcomes: Sequence[Outcome]) -> Rows:
    """A row for each proof."""
    return _rows([
        {
            "lock": one.job.program.label, "client": one.proof.client, "model": one.proof.model,
            "verdict": one.proof.verdict, "bound": one.proof.bound,
            "states": one.found.states or one.found.executions if ran else None,
            "seconds": one.proof.seconds if ran else None, "reason": one.proof.reason,
        }
        for one in outcomes
        for ran in [one.proof.verdict != Verdict.REFUSED]
    ])  # fmt: skip


def _rows(records: Sequence[dict[str, Any]]) -> Rows:
    shown: dict[str, Any] = {
        name: lambda one, name=name: "" if one[name] is None else str(one[name])
        for name in (records[0] if records else ())
    }
    if records:
        shown["seconds"] = lambda one: "" if one["seconds"] is None else f"{one['seconds']:.1f}"
    return Rows(records, shown)


def by_lock(outcomes: Sequence[Outcome]) -> Rows:
    """A row for each lock and model: what came of all its clients together."""
    records = []
    for (label, model), group in groupby(sorted(outcomes, key=_place), key=_place):
        found = list(group)
        verdict = min((one.proof.verdict for one in found), key=_ORDER.index)
        same = [one for one in found if one.proof.verdict == verdict]
        reasons = dict.fromkeys(one.proof.reason for one in same if one.proof.reason)
        records.append({
            "lock": label, "model": model, "verdict": verdict,
            "clients": f"{len(same)} of {len(found)}",
            "bound": "; ".join(sorted({one.proof.bound for one in found if one.proof.bound})),
            "states": sum(one.found.states or one.found.executions for one in found),
            "seconds": sum(one.proof.seconds for one in found), "reason": "; ".join(reasons),
        })  # fmt: skip
    return _rows(records)


def _place(one: Outcome) -> tuple[str, str]:
    return one.job.program.label, one.proof.model


def legend(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """What the models are."""
    for name in dict.fromkeys(one.proof.model for one in outcomes):
        if name in MODELS:
            yield f"{name}: {MODELS[name].says}"


def interleaving(steps: Sequence[Step]) -> Rows:
    """A counterexample, step by step. What is in a buffer has not become visible to others."""
    return Rows([
        {"": number, "thread": step.thread, "line": step.place, "function": step.function,
         "access": step.access, "object": step.object, "value": step.value,
         "buffered": step.buffer}
        for number, step in enumerate(steps, 1)
    ])  # fmt: skip


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
