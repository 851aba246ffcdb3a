"""The stored proofs: the memory models that they are under, what they say of each lock and on which
ISA, and the documents' matrix, which is made of them."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache, cached_property, partial
from pathlib import Path
from typing import NamedTuple

from proofs.files import Entry, read_rows, registry, write_rows
from proofs.programs import Flavour
from results.paths import REFERENCE, ROOT
from sweeps.model.locks import FULL, LockLabel, load_locks

STORED = REFERENCE / "proofs.csv"
OWN_CHECKER = "lockcross"  # the tool of proofs/checker


class Model(Entry):
    """A model of our own checker; models.toml says what the fields are."""

    flavour: Flavour
    weaker: str = ""
    title: str
    says: str
    isas: tuple[str, ...]


class Other(Entry):
    """A model of another tool."""

    isas: tuple[str, ...]
    compared: tuple[str, ...]


class _Models(Entry):
    own: dict[str, Model]
    other: dict[str, Other]


@cache
def models() -> _Models:
    """By their names. Raises LockcrossError if the file cannot be read."""
    return registry(_Models, ROOT / "proofs" / "models.toml")


class Verdict(StrEnum):
    """What came of a proof.

    `assumed`: it fails under this model, which promises less than the lock relies on; the reason
    says what that is. `refused`: it was not tried, and the reason says why.
    """

    PROVED = "proved"
    FAILED = "failed"
    BOUND = "bound"
    ASSUMED = "assumed"
    REFUSED = "refused"


@dataclass(frozen=True)
class Proof:
    """A row of proofs.csv. `sources` is a digest of what was checked."""

    lock: str
    variant: str
    fence: str
    client: str
    tool: str
    version: str
    model: str
    bound: str
    verdict: Verdict
    executions: int
    seconds: float
    sources: str
    reason: str = ""

    @cached_property
    def label(self) -> LockLabel:
        """The lock, with variant and fence kind."""
        return LockLabel.of(self.lock, self.variant, self.fence)

    @property
    def subject(self) -> tuple[str, str, str, str]:
        """What tells two rows apart."""
        return (self.label, self.client, self.tool, self.model)


read_proofs = partial(read_rows, Proof, STORED)


def merged(stored: Sequence[Proof], new: Iterable[Proof]) -> list[Proof]:
    """Stored proofs, with new ones in the place of those of the same subject, or behind."""
    return list({proof.subject: proof for proof in (*stored, *new)}.values())


def store(new: Iterable[Proof]) -> None:
    """Keeps proofs as the reference, in the registry's order, and renews the documents' matrix."""
    order = list(load_locks())
    kept = sorted(merged(read_proofs(), new), key=lambda proof: order.index(proof.lock))
    write_rows(Proof, kept, STORED)
    for file in DOCUMENTS:
        file.write_text(with_matrix(file, kept), encoding="utf-8")


class Cell(NamedTuple):
    """A lock under a model. `words`: a verdict, and of how many clients; `why`: a reason or the
    bound."""

    verdict: Verdict
    words: str
    why: str


class Standing(NamedTuple):
    """What a lock's correctness on an ISA rests on: `proved`, `argued` (under an assumption that
    the reason names) or `tested`."""

    kind: str
    words: str


def labels(proofs: Iterable[Proof]) -> list[LockLabel]:
    """The locks, with variant and fence kind, in the order stored."""
    return list(dict.fromkeys(proof.label for proof in proofs))


def cell(proofs: Iterable[Proof], label: LockLabel, model: str) -> Cell:
    """A lock under a model of our own checker; never empty. By the worst of the verdicts; what
    reached a bound is not counted beside what is proved."""
    place = model, OWN_CHECKER, label
    rows = [proof for proof in proofs if (proof.model, proof.tool, proof.label) == place]
    tried = [proof for proof in rows if proof.verdict != Verdict.REFUSED]
    for worst in (Verdict.FAILED, Verdict.ASSUMED, Verdict.PROVED, Verdict.BOUND):
        same = [proof for proof in tried if proof.verdict == worst]
        if same and worst == Verdict.PROVED:
            others = any(proof.verdict == Verdict.BOUND for proof in tried)
            words = f"proved, {len(same)}" + f" of {len(tried)}" * others
            met = sum(";" in one.bound for one in same)  # a bound besides the client's size
            words += f", {met} up to a bound" * bool(met)
            return Cell(worst, words, "; ".join(sorted({one.bound for one in same})))
        if same:
            return Cell(worst, worst.value, _reasons(same))
    if name := models().own[model].weaker:  # what is proved under it needs no other proof
        weaker = cell(proofs, label, name)
        if weaker.verdict == Verdict.PROVED:
            return Cell(Verdict.PROVED, f"by {name}", weaker.why)
        if not rows:
            return weaker
    if rows:
        return Cell(Verdict.REFUSED, f"refused: {_reasons(rows)}", _reasons(rows))
    if label.fence != FULL and not model.startswith("tso"):
        return Cell(Verdict.REFUSED, "refused: x86-64 only", "this fence kind is for x86-64 alone")
    return Cell(Verdict.REFUSED, "not tried", "")


def _reasons(proofs: Iterable[Proof]) -> str:
    return "; ".join(dict.fromkeys(proof.reason for proof in proofs))


def standing(proofs: Sequence[Proof], label: LockLabel, isa: str) -> Standing:
    """What a lock's correctness on an ISA rests on: with what other tools have proved, tool by tool
    and model by model."""
    argued = ""
    for model in (name for name, known in models().own.items() if isa in known.isas):
        shown = cell(proofs, label, model)
        if shown.verdict == Verdict.PROVED:
            counts = Counter(
                f"{proof.tool} {proof.version}, {proof.model}"
                for proof in proofs
                if (proof.label, proof.verdict) == (label, Verdict.PROVED)
                and proof.tool != OWN_CHECKER
                and isa in models().other[proof.model].isas
            )
            words = [f"{OWN_CHECKER}, {model}, {shown.why}"]
            words += [f"{by}, {n} client{'s' if n > 1 else ''}" for by, n in counts.items()]
            kind = "argued" if argued and isa == "x86_64" else "proved"
            return Standing(kind, "; ".join([*words, argued] if argued else words))
        if shown.verdict == Verdict.ASSUMED:
            argued = shown.why
    return Standing("argued", argued) if argued else Standing("tested", "")


def matrix(proofs: Sequence[Proof]) -> dict[LockLabel, list[Cell]]:
    """Locks, with variant and fence kind, in the order stored, by the models of our own checker."""
    labels = dict.fromkeys(proof.label for proof in proofs)
    return {label: [cell(proofs, label, model) for model in models().own] for label in labels}


@dataclass
class Agreement:
    """How often two tools say the same of a client; `apart`: where they do not. `alone`: what ours
    has no verdict of; `bounded`: what the other reached a bound with."""

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
    """Our own checker and each other tool, on every client that both took."""
    ours = {proof.subject: proof.verdict for proof in proofs if proof.tool == OWN_CHECKER}
    answers: dict[tuple[str, str, str], Agreement] = {}
    for proof in proofs:
        if proof.tool == OWN_CHECKER:
            continue
        by = proof.tool, proof.version, proof.model
        answer = answers.setdefault(by, Agreement(*by))
        answer.bounded += proof.verdict == Verdict.BOUND
        answer.refused += proof.verdict == Verdict.REFUSED
        if proof.verdict not in _DECIDED:
            continue
        compared = models().other[proof.model].compared
        keys = ((proof.label, proof.client, OWN_CHECKER, same) for same in compared)
        mine = next((ours[key] for key in keys if key in ours), None)
        if mine not in _DECIDED:
            answer.alone += 1
            continue
        answer.compared += 1
        if (proof.verdict == Verdict.PROVED) == (mine == Verdict.PROVED):
            answer.agree += 1
        else:
            what = f"{proof.label.with_full_fences}, {proof.client}"
            answer.apart.append(f"{what}: {proof.verdict}, ours {mine}")
    return list(answers.values())


_BEGIN = "<!-- made by ./lockcross prove --store -->\n"
_END = "<!-- until here -->\n"


def with_matrix(file: Path, proofs: Sequence[Proof]) -> str:
    """The text of one of DOCUMENTS, with the matrix of these proofs between its two marks."""
    before, _, rest = file.read_text(encoding="utf-8").partition(_BEGIN)
    _, _, behind = rest.partition(_END)
    lines = "\n".join(DOCUMENTS[file](proofs))
    return f"{before}{_BEGIN}{lines}\n{_END}{behind}"


def _short(proofs: Sequence[Proof]) -> list[str]:
    """Locks of which the same is known share a row."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for label, cells in matrix(proofs).items():
        alike.setdefault(tuple(cell.verdict for cell in cells), []).append(label)
    return _table(
        [*models().own, "locks"], *([*cells, ", ".join(same)] for cells, same in alike.items())
    )


def crowded(proofs: Iterable[Proof], label: LockLabel) -> str:
    """The models under which three threads that contend for a lock are proved to exclude each
    other."""
    place = label, OWN_CHECKER, Verdict.PROVED
    found = {
        one.model
        for one in proofs
        if (one.label, one.tool, one.verdict) == place and one.client.startswith("exclusion:3x")
    }
    return ", ".join(name for name in models().own if name in found)


def _whole(proofs: Sequence[Proof]) -> list[str]:
    locks = [
        [label, *(one.words for one in cells), crowded(proofs, label)]
        for label, cells in matrix(proofs).items()
    ]
    lines = _table(["lock", *models().own, "3 threads"], *locks)
    if compared := agreements(proofs):
        head = ["tool", "model", "clients compared", "agree", "alone", "out of time", "not taken"]
        rows = (
            (
                f"{pair.tool} {pair.version}",
                pair.model,
                pair.compared,
                pair.agree,
                pair.alone,
                pair.bounded,
                pair.refused,
            )
            for pair in compared
        )
        lines += ["", *_table(head, *rows)]
    return lines


def _table(*rows: Sequence[object]) -> list[str]:
    """The first row is the head."""
    head, *others = (f"| {' | '.join(map(str, cells))} |" for cells in rows)
    return [head, "|" + " --- |" * len(rows[0]), *others]


DOCUMENTS: dict[Path, Callable[[Sequence[Proof]], list[str]]] = {
    ROOT / "docs" / "locks.md": _short,
    ROOT / "proofs" / "README.md": _whole,
}
