"""What the stored proofs say of each lock: under which models, and on which ISA."""

import csv
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from pathlib import Path

from results.errors import LockcrossError
from results.paths import REFERENCE
from sweeps.model.label import FULL, LockLabel

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

    @property
    def label(self) -> str:
        """The lock, with its variant if that is not the default."""
        return LockLabel.of(self.lock, self.variant)

    @property
    def subject(self) -> tuple[str, str, str, str, str, str]:
        """What tells two rows apart."""
        return (self.lock, self.variant, self.fence, self.client, self.tool, self.model)


COLUMNS = tuple(field.name for field in fields(Proof))


def read_proofs(path: Path = STORED) -> list[Proof]:
    """The stored proofs; none where there is no file. Raises LockcrossError for any other text."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        if tuple(rows.fieldnames or ()) != COLUMNS:
            raise LockcrossError(f"{path.name}: its columns must be {', '.join(COLUMNS)}")
        try:
            return [_proof(row) for row in rows]
        except (TypeError, ValueError) as error:
            raise LockcrossError(f"{path.name}: {error}") from None


def _proof(row: dict[str, str]) -> Proof:
    return Proof(
        row["lock"], row["variant"], row["fence"], row["client"], row["tool"], row["version"],
        row["model"], row["bound"], Verdict(row["verdict"]), int(row["executions"]),
        float(row["seconds"]), row["sources"], row["reason"],
    )  # fmt: skip


def write_proofs(proofs: Iterable[Proof], path: Path = STORED) -> None:
    """Writes proofs, in the order given."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for proof in proofs:
            writer.writerow(asdict(proof) | {"seconds": f"{proof.seconds:.1f}"})


def merged(stored: Sequence[Proof], new: Iterable[Proof]) -> list[Proof]:
    """Stored proofs, with new ones in the place of those of the same subject, or behind."""
    found = {proof.subject: proof for proof in stored}
    found.update({proof.subject: proof for proof in new})
    return list(found.values())


# Our own checker's models, and which promises at least as much: what is proved under the first
# needs no proof under the second.
SHOWN_MODELS = {
    "tso": "TSO",
    "tso-wait": "TSO, wide loads wait",
    "weak": "weak",
    "weak-si": "weak, whole accesses",
}
_WEAKER = {"tso-wait": "tso", "weak-si": "weak"}
# By ISA: the models that stand for it, the least promising first.
_OF_ISA = {
    "x86_64": ("tso", "tso-wait"),
    "ppc64le": ("weak",),
    "aarch64": ("weak", "weak-si"),
}
# By ISA: the models of other tools that stand for it.
_OTHERS = {
    "x86_64": ("tso",),
    "ppc64le": ("rc11", "imm", "power"),
    "aarch64": ("rc11", "imm", "armv8"),
}
_ORDER = (Verdict.FAILED, Verdict.ASSUMED, Verdict.BOUND, Verdict.PROVED, Verdict.REFUSED)


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
    return list(dict.fromkeys(LockLabel.of(one.lock, one.variant, one.fence) for one in proofs))


def cell(proofs: Sequence[Proof], label: LockLabel, model: str, tool: str = OWN_CHECKER) -> Cell:
    """A lock under a model of a tool; never empty."""
    found = [
        one
        for one in proofs
        if (one.tool, one.model) == (tool, model)
        and LockLabel.of(one.lock, one.variant, one.fence) == label
    ]
    tried = [one for one in found if one.verdict != Verdict.REFUSED]
    if tried:
        return _of_tried(tried)
    if model in _WEAKER and tool == OWN_CHECKER:
        weaker = cell(proofs, label, _WEAKER[model])
        if weaker.verdict == Verdict.PROVED:
            return Cell(Verdict.PROVED, f"by {_WEAKER[model]}", weaker.why)
        if not found:
            return weaker
    if found:
        reasons = "; ".join(dict.fromkeys(one.reason for one in found))
        return Cell(Verdict.REFUSED, f"refused: {reasons}", reasons)
    if label.fence != FULL and not model.startswith("tso"):
        return Cell(Verdict.REFUSED, "refused: x86-64 only", "this fence kind is for x86-64 alone")
    return Cell(Verdict.REFUSED, "not tried", "")


def _of_tried(tried: Sequence[Proof]) -> Cell:
    worst = min((one.verdict for one in tried), key=_ORDER.index)
    same = [one for one in tried if one.verdict == worst]
    if worst == Verdict.PROVED:
        return Cell(worst, f"proved, {len(same)}", bounds(same))
    why = "; ".join(dict.fromkeys(one.reason for one in same))
    if worst == Verdict.BOUND:
        proved = [one for one in tried if one.verdict == Verdict.PROVED]
        if proved:
            return Cell(Verdict.PROVED, f"proved, {len(proved)} of {len(tried)}", bounds(proved))
    return Cell(worst, worst.value, why)


def bounds(proofs: Iterable[Proof]) -> str:
    """The bounds of proofs, the largest last."""
    return "; ".join(sorted({one.bound for one in proofs}))


def standing(proofs: Sequence[Proof], label: LockLabel, isa: str) -> Standing:
    """What a lock's correctness on an ISA rests on."""
    argued = ""
    for model in _OF_ISA[isa]:
        found = cell(proofs, label, model)
        if found.verdict == Verdict.PROVED:
            words = [f"{OWN_CHECKER}, {model}, {found.why}", *_others(proofs, label, isa)]
            kind = "argued" if argued and isa == "x86_64" else "proved"
            return Standing(kind, "; ".join([*words, *filter(None, [argued])]))
        if found.verdict == Verdict.ASSUMED:
            argued = found.why
    return Standing("argued", argued) if argued else Standing("tested", "")


def _others(proofs: Sequence[Proof], label: LockLabel, isa: str) -> list[str]:
    """What other tools have proved, tool by tool and model by model."""
    found = Counter(
        (one.tool, one.version, one.model)
        for one in proofs
        if one.tool != OWN_CHECKER and one.verdict == Verdict.PROVED and one.model in _OTHERS[isa]
        and LockLabel.of(one.lock, one.variant, one.fence) == label
    )  # fmt: skip
    return [
        f"{tool} {version}, {model}, {count} client{'s' if count > 1 else ''}"
        for (tool, version, model), count in found.items()
    ]


@dataclass(frozen=True)
class Row:
    """A row of the matrix."""

    label: LockLabel
    cells: Sequence[Cell]


def matrix(proofs: Sequence[Proof]) -> list[Row]:
    """Locks by the models of our own checker."""
    return [
        Row(one, [cell(proofs, one, model) for model in SHOWN_MODELS]) for one in labels(proofs)
    ]


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


# The model of ours that a tool's model is compared with.
_COMPARED = {"tso": ("tso", "tso-wait"), "power": ("weak",), "armv8": ("weak-si", "weak"),
             "rc11": ("weak", "weak-si"), "imm": ("weak", "weak-si")}  # fmt: skip


def agreements(proofs: Sequence[Proof]) -> list[Agreement]:
    """Our own checker and each other tool, on every client that both took."""
    ours = {one.subject: one for one in proofs if one.tool == OWN_CHECKER}
    found = []
    for tool, version, model in dict.fromkeys(
        (one.tool, one.version, one.model) for one in proofs if one.tool != OWN_CHECKER
    ):
        theirs = [one for one in proofs if (one.tool, one.model) == (tool, model)]
        verdicts = Counter(one.verdict for one in theirs)
        pairs = [(one, _ours(ours, one)) for one in theirs if one.verdict in _DECIDED]
        both = [(one, mine) for one, mine in pairs if mine and mine.verdict in _DECIDED]
        apart = [
            f"{one.label}, {one.client}: {one.verdict}, ours {mine.verdict}"
            for one, mine in both
            if mine and (one.verdict == Verdict.PROVED) != (mine.verdict == Verdict.PROVED)
        ]
        found.append(
            Agreement(
                tool, version, model, len(both), len(both) - len(apart), len(pairs) - len(both),
                verdicts[Verdict.BOUND], verdicts[Verdict.REFUSED], apart,
            )
        )  # fmt: skip
    return found


_DECIDED = (Verdict.PROVED, Verdict.FAILED, Verdict.ASSUMED)


def _ours(ours: Mapping[tuple[str, str, str, str, str, str], Proof], other: Proof) -> Proof | None:
    for model in _COMPARED[other.model]:
        subject = (other.lock, other.variant, other.fence, other.client, OWN_CHECKER, model)
        if subject in ours:
            return ours[subject]
    return None
