"""The proofs as they are kept: results/reference/proofs.csv, and the tables of documents that are
made from it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from results.paths import ROOT
from sweeps.model.locks import LockLabel, load_locks
from sweeps.support.csv_rows import write_rows
from sweeps.verdicts import (
    OWN_CHECKER,
    STORED,
    Cell,
    Proof,
    Verdict,
    cell,
    models,
    read_proofs,
)


def _key(proof: Proof, tool: str = "", model: str = "") -> tuple[str, str, str, str]:
    """Return a key that tells a proof from others (or from that by another tool, under another
    model)."""
    return proof.label, proof.client, tool or proof.tool, model or proof.model


def merged(stored: Sequence[Proof], new: Iterable[Proof]) -> list[Proof]:
    """Return stored proofs and new ones, each in the place of the one that it repeats."""
    return list({_key(proof): proof for proof in (*stored, *new)}.values())


def store(new: Iterable[Proof]) -> None:
    """Keep proofs as the reference, in the registry's order, and renew the documents' tables."""
    order = list(load_locks())
    proofs = sorted(merged(read_proofs(), new), key=lambda proof: order.index(proof.lock))
    write_rows(Proof, proofs, STORED)
    for file in DOCUMENTS:
        file.write_text(with_matrix(file, proofs), encoding="utf-8")


def matrix(proofs: Sequence[Proof]) -> dict[LockLabel, list[Cell]]:
    """Return the cells of each lock, with variant and fence kind, in the order stored: one per
    model of our own checker."""
    by_label: dict[LockLabel, list[Proof]] = {}
    for proof in proofs:
        by_label.setdefault(proof.label, []).append(proof)
    return {
        label: [cell(theirs, label, model) for model in models().own]
        for label, theirs in by_label.items()
    }


@dataclass
class Agreement:
    """How often two tools say the same of a client; `apart`: where they do not. `alone`: clients
    without a verdict of ours; `bounded`: those with which the other tool reached a bound."""

    tool: str
    version: str
    model: str
    compared: int = 0
    agree: int = 0
    alone: int = 0
    bounded: int = 0
    refused: int = 0
    apart: list[str] = field(default_factory=list)


_DECIDED = (Verdict.PROVED, Verdict.FAILED, Verdict.ASSUMED)


def agreements(proofs: Iterable[Proof]) -> list[Agreement]:
    """Compare our own checker with each other tool, on every client that both took."""
    own = {_key(proof): proof.verdict for proof in proofs if proof.tool == OWN_CHECKER}
    found: dict[tuple[str, str, str], Agreement] = {}
    for proof in proofs:
        if proof.tool == OWN_CHECKER:
            continue
        columns = proof.tool, proof.version, proof.model
        agreement = found.setdefault(columns, Agreement(*columns))
        agreement.bounded += proof.verdict == Verdict.BOUND
        agreement.refused += proof.verdict == Verdict.REFUSED
        if proof.verdict not in _DECIDED:
            continue
        keys = (_key(proof, OWN_CHECKER, name) for name in models().other[proof.model].compared)
        ours = next((own[key] for key in keys if key in own), None)
        if ours not in _DECIDED:
            agreement.alone += 1
            continue
        agreement.compared += 1
        if (proof.verdict == Verdict.PROVED) == (ours == Verdict.PROVED):
            agreement.agree += 1
        else:
            place = f"{proof.label.with_full_fences}, {proof.client}"
            agreement.apart.append(f"{place}: {proof.verdict}, ours {ours}")
    return list(found.values())


def contended_models(proofs: Iterable[Proof], label: LockLabel) -> str:
    """Name the models under which three threads that contend for a lock are proved to exclude each
    other."""
    proved = {
        proof.model
        for proof in proofs
        if (proof.label, proof.tool, proof.verdict) == (label, OWN_CHECKER, Verdict.PROVED)
        and proof.client.startswith("exclusion:3x")
    }
    return ", ".join(name for name in models().own if name in proved)


_BEGIN = "<!-- made by ./lockcross prove --store -->\n"
_END = "<!-- until here -->\n"


def with_matrix(file: Path, proofs: Sequence[Proof]) -> str:
    """Return the text of one of DOCUMENTS, with the tables of these proofs between its marks."""
    before, _, rest = file.read_text(encoding="utf-8").partition(_BEGIN)
    _, _, after = rest.partition(_END)
    lines = "\n".join(DOCUMENTS[file](proofs))
    return f"{before}{_BEGIN}{lines}\n{_END}{after}"


def _short_table(proofs: Sequence[Proof]) -> list[str]:
    """Draw the matrix with one row for all locks that have the same verdicts."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for label, cells in matrix(proofs).items():
        alike.setdefault(tuple(cell.verdict for cell in cells), []).append(label)
    rows = ([*verdicts, ", ".join(labels)] for verdicts, labels in alike.items())
    return _table([*models().own, "locks"], *rows)


def _long_tables(proofs: Sequence[Proof]) -> list[str]:
    """Draw the matrix with one row per lock, and how far other tools agree."""
    locks = [
        [label, *(cell.words for cell in cells), contended_models(proofs, label)]
        for label, cells in matrix(proofs).items()
    ]
    lines = _table(["lock", *models().own, "3 threads"], *locks)
    heads = ["tool", "model", "clients compared", "agree", "alone", "out of time", "not taken"]
    tools = [
        [f"{a.tool} {a.version}", a.model, a.compared, a.agree, a.alone, a.bounded, a.refused]
        for a in agreements(proofs)
    ]
    return [*lines, "", *_table(heads, *tools)] if tools else lines


def _table(*rows: Sequence[object]) -> list[str]:
    """Draw a table in Markdown, whose first row is the head."""
    head, *others = (f"| {' | '.join(map(str, cells))} |" for cells in rows)
    return [head, "|" + " --- |" * len(rows[0]), *others]


DOCUMENTS: dict[Path, Callable[[Sequence[Proof]], list[str]]] = {
    ROOT / "docs" / "locks.md": _short_table,
    ROOT / "proofs" / "README.md": _long_tables,
}
