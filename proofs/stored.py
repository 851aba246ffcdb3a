"""The stored proofs: what they say of each lock, under which models and on which ISA, and the
documents' matrix, which is made of them."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, partial
from pathlib import Path

from proofs.files import read_rows, write_rows
from proofs.models import MODELS
from results.paths import REFERENCE, ROOT
from sweeps.model.label import FULL, LockLabel
from sweeps.model.locks import load_locks

STORED = REFERENCE / "proofs.csv"
OWN_CHECKER = "lockcross"  # the tool of proofs/checker


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


def read_proofs(path: Path = STORED) -> list[Proof]:
    """The stored proofs; none where there is no file. Raises LockcrossError for any other text."""
    return read_rows(Proof, path)


write_proofs = partial(write_rows, Proof)


def merged(stored: Sequence[Proof], new: Iterable[Proof]) -> list[Proof]:
    """Stored proofs, with new ones in the place of those of the same subject, or behind."""
    return list({proof.subject: proof for proof in (*stored, *new)}.values())


def store(new: Iterable[Proof]) -> None:
    """Keeps proofs as the reference, in the registry's order, and renews the documents' matrix."""
    order = list(load_locks())
    kept = sorted(merged(read_proofs(), new), key=lambda one: order.index(one.lock))
    write_proofs(kept, STORED)
    for file in DOCUMENTS:
        file.write_text(with_matrix(file, kept), encoding="utf-8")


SHOWN_MODELS = {one.name: one.title for one in MODELS.values()}
# Of our own models, that which promises less: what is proved under it needs no other proof.
_WEAKER = {"tso-wait": "tso", "weak-si": "weak"}
# By ISA: the models of other tools that stand for it.
_OTHERS = {
    "x86_64": ("tso",),
    "ppc64le": ("rc11", "imm", "power"),
    "aarch64": ("rc11", "imm", "armv8"),
}


@dataclass(frozen=True)
class Cell:
    """A lock under a model. `words`: a verdict, and of how many clients; `why`: a reason or the
    bound."""

    verdict: Verdict
    words: str
    why: str


@dataclass(frozen=True)
class Standing:
    """What a lock's correctness on an ISA rests on: `proved`, `argued` (under an assumption that
    the reason names) or `tested`."""

    kind: str
    words: str


def labels(proofs: Iterable[Proof]) -> list[LockLabel]:
    """The locks, with variant and fence kind, in the order stored."""
    return list(dict.fromkeys(one.label for one in proofs))


def cell(proofs: Sequence[Proof], label: LockLabel, model: str) -> Cell:
    """A lock under a model of our own checker; never empty."""
    rows = [
        one
        for one in proofs
        if one.model == model and one.tool == OWN_CHECKER and one.label == label
    ]
    tried = [one for one in rows if one.verdict != Verdict.REFUSED]
    if tried:
        return _of_tried(tried)
    if model in _WEAKER:
        weaker = cell(proofs, label, _WEAKER[model])
        if weaker.verdict == Verdict.PROVED:
            return Cell(Verdict.PROVED, f"by {_WEAKER[model]}", weaker.why)
        if not rows:
            return weaker
    if rows:
        reasons = "; ".join(dict.fromkeys(one.reason for one in rows))
        return Cell(Verdict.REFUSED, f"refused: {reasons}", reasons)
    if label.fence != FULL and not model.startswith("tso"):
        return Cell(Verdict.REFUSED, "refused: x86-64 only", "this fence kind is for x86-64 alone")
    return Cell(Verdict.REFUSED, "not tried", "")


def _of_tried(tried: Sequence[Proof]) -> Cell:
    """By the worst of the verdicts; what reached a bound is not counted beside what is proved."""
    counts = Counter(one.verdict for one in tried)
    for worst in (Verdict.FAILED, Verdict.ASSUMED, Verdict.PROVED, Verdict.BOUND):
        same = [one for one in tried if one.verdict == worst]
        if same and worst == Verdict.PROVED:
            of_all = f" of {len(tried)}" if counts[Verdict.BOUND] else ""
            bounds = "; ".join(sorted({one.bound for one in same}))  # the largest last
            return Cell(worst, f"proved, {len(same)}{of_all}", bounds)
        if same:
            break
    return Cell(worst, worst.value, "; ".join(dict.fromkeys(one.reason for one in same)))


def standing(proofs: Sequence[Proof], label: LockLabel, isa: str) -> Standing:
    """What a lock's correctness on an ISA rests on."""
    argued = ""
    for model in (name for name, one in MODELS.items() if isa in one.isas):
        shown = cell(proofs, label, model)
        if shown.verdict == Verdict.PROVED:
            words = [f"{OWN_CHECKER}, {model}, {shown.why}", *_others(proofs, label, isa)]
            kind = "argued" if argued and isa == "x86_64" else "proved"
            return Standing(kind, "; ".join([*words, *filter(None, [argued])]))
        if shown.verdict == Verdict.ASSUMED:
            argued = shown.why
    return Standing("argued", argued) if argued else Standing("tested", "")


def _others(proofs: Sequence[Proof], label: LockLabel, isa: str) -> list[str]:
    """What other tools have proved, tool by tool and model by model."""
    counts = Counter(
        f"{one.tool} {one.version}, {one.model}"
        for one in proofs
        if one.tool != OWN_CHECKER and one.verdict == Verdict.PROVED
        and one.model in _OTHERS[isa] and one.label == label
    )  # fmt: skip
    return [f"{by}, {count} client{'s' if count > 1 else ''}" for by, count in counts.items()]


@dataclass(frozen=True)
class Row:
    """A row of the matrix."""

    label: LockLabel
    cells: Sequence[Cell]


def matrix(proofs: Sequence[Proof]) -> list[Row]:
    """Locks by the models of our own checker."""
    return [Row(one, [cell(proofs, one, model) for model in MODELS]) for one in labels(proofs)]


@dataclass(frozen=True)
class Agreement:
    """How often two tools say the same of a client; `apart`: where they do not. `alone`: what ours
    has no verdict of; `bounded`: what the other reached a bound with."""

    tool: str
    version: str
    model: str
    compared: int
    agree: int
    alone: int
    bounded: int
    refused: int
    apart: Sequence[str]


_DECIDED = (Verdict.PROVED, Verdict.FAILED, Verdict.ASSUMED)
# The model of ours that a tool's model is compared with.
_COMPARED = {
    "tso": ("tso", "tso-wait"),
    "power": ("weak",),
    "armv8": ("weak-si", "weak"),
    "rc11": ("weak", "weak-si"),
    "imm": ("weak", "weak-si"),
}


def agreements(proofs: Sequence[Proof]) -> list[Agreement]:
    """Our own checker and each other tool, on every client that both took."""
    ours = {one.subject: one for one in proofs if one.tool == OWN_CHECKER}
    groups: dict[tuple[str, str, str], list[Proof]] = {}
    for one in proofs:
        if one.tool != OWN_CHECKER:
            groups.setdefault((one.tool, one.version, one.model), []).append(one)
    answers = []
    for (tool, version, model), theirs in groups.items():
        counts: Counter[str] = Counter(one.verdict for one in theirs)
        apart = []
        for one in (one for one in theirs if one.verdict in _DECIDED):
            keys = ((one.label, one.client, OWN_CHECKER, same) for same in _COMPARED[model])
            mine = next((ours[key] for key in keys if key in ours), None)
            if mine is None or mine.verdict not in _DECIDED:
                counts["alone"] += 1
                continue
            counts["compared"] += 1
            if (one.verdict == Verdict.PROVED) != (mine.verdict == Verdict.PROVED):
                what = f"{one.label.with_full_fences}, {one.client}"
                apart.append(f"{what}: {one.verdict}, ours {mine.verdict}")
        compared = counts["compared"]
        answers.append(
            Agreement(
                tool, version, model, compared, compared - len(apart), counts["alone"],
                counts[Verdict.BOUND], counts[Verdict.REFUSED], apart,
            )
        )  # fmt: skip
    return answers


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
    for row in matrix(proofs):
        alike.setdefault(tuple(one.verdict for one in row.cells), []).append(row.label)
    rows = [[*cells, ", ".join(names)] for cells, names in alike.items()]
    return _table([*MODELS, "locks"], rows)


def _whole(proofs: Sequence[Proof]) -> list[str]:
    rows = [[row.label, *(one.words for one in row.cells)] for row in matrix(proofs)]
    head = ["tool", "model", "clients compared", "agree", "alone", "out of time", "not taken"]
    compared = [
        [f"{one.tool} {one.version}", one.model,
         *map(str, (one.compared, one.agree, one.alone, one.bounded, one.refused))]
        for one in agreements(proofs)
    ]  # fmt: skip
    return [*_table(["lock", *MODELS], rows), *(["", *_table(head, compared)] if compared else [])]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    rule = ["---"] * len(head)
    return [f"| {' | '.join(cells)} |" for cells in (head, rule, *rows)]


DOCUMENTS: dict[Path, Callable[[Sequence[Proof]], list[str]]] = {
    ROOT / "README.md": _short,
    ROOT / "proofs" / "README.md": _whole,
}
