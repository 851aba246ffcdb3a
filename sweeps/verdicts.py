"""The stored proofs of the locks: under which memory models they were made, the result of each, and
the basis of a lock's correctness on an ISA."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property, partial
from typing import NamedTuple

from results.paths import REFERENCE, ROOT
from sweeps.model.locks import FULL, LockLabel
from sweeps.support.csv_rows import read_rows
from sweeps.support.toml import Entry, read_registry

STORED = REFERENCE / "proofs.csv"
OWN_CHECKER = "lockcross"  # the tool of proofs/checker


class Flavour(StrEnum):
    """The assumptions of a proved program: the flavours of lockimpl/arch/model.h."""

    WEAK = "weak"
    TSO = "tso"


class Model(Entry):
    """A model of our own checker; models.toml explains the fields."""

    flavour: Flavour
    weaker: str = ""
    title: str
    says: str
    isas: tuple[str, ...]


class OtherModel(Entry):
    """A model of another tool."""

    isas: tuple[str, ...]
    compared: tuple[str, ...]


class _Models(Entry):
    own: dict[str, Model]
    other: dict[str, OtherModel]


@cache
def models() -> _Models:
    """Return the memory models by name. Raises LockcrossError for a file that cannot be read."""
    return read_registry(_Models, ROOT / "proofs" / "models.toml")


class Verdict(StrEnum):
    """The result of a proof.

    `assumed`: it fails under this model, which promises less than the lock relies on; the reason
    names it. `refused`: it was not tried, and the reason says why.
    """

    PROVED = "proved"
    FAILED = "failed"
    BOUND = "bound"
    ASSUMED = "assumed"
    REFUSED = "refused"


@dataclass(frozen=True)
class Proof:
    """A row of proofs.csv. `sources` is a digest of the program that was checked."""

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
        """Return the lock, with variant and fence kind."""
        return LockLabel.of(self.lock, self.variant, self.fence)


read_proofs = partial(read_rows, Proof, STORED)


class Cell(NamedTuple):
    """A lock under a model. `words`: a verdict, and of how many clients; `why`: a reason or the
    bound."""

    verdict: Verdict
    words: str
    why: str


def cell(proofs: Iterable[Proof], label: LockLabel, model: str) -> Cell:
    """Return the worst verdict of our own checker on a lock's clients under a model; never an empty
    cell. Clients that reached a bound do not count as worse than proved ones."""
    key = model, OWN_CHECKER, label
    rows = [proof for proof in proofs if (proof.model, proof.tool, proof.label) == key]
    tried = [proof for proof in rows if proof.verdict != Verdict.REFUSED]
    for worst in (Verdict.FAILED, Verdict.ASSUMED, Verdict.PROVED, Verdict.BOUND):
        same = [proof for proof in tried if proof.verdict == worst]
        if same and worst == Verdict.PROVED:
            others = any(proof.verdict == Verdict.BOUND for proof in tried)
            words = f"proved, {len(same)}" + f" of {len(tried)}" * others
            bounded = sum(";" in proof.bound for proof in same)  # beyond the client's size
            words += f", {bounded} up to a bound" * bool(bounded)
            return Cell(worst, words, "; ".join(sorted({proof.bound for proof in same})))
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


class Standing(NamedTuple):
    """The standing of a lock on an ISA: `proved`, `argued` (under an assumption that
    the words name) or `not proved`. Nothing stored says that a lock was tested."""

    kind: str
    words: str


def standing(proofs: Sequence[Proof], label: LockLabel, isa: str) -> Standing:
    """Return the basis of a lock's correctness on an ISA, with the proofs of other tools counted
    by tool and model."""
    argued = ""
    for model in (name for name, known in models().own.items() if isa in known.isas):
        own = cell(proofs, label, model)
        if own.verdict == Verdict.ASSUMED:
            argued = own.why
        if own.verdict != Verdict.PROVED:
            continue
        others = Counter(
            f"{proof.tool} {proof.version}, {proof.model}"
            for proof in proofs
            if (proof.label, proof.verdict) == (label, Verdict.PROVED)
            and proof.tool != OWN_CHECKER
            and isa in models().other[proof.model].isas
        )
        words = [f"{OWN_CHECKER}, {model}, {own.why}"]
        words += [f"{tool}, {n} client{'s' if n > 1 else ''}" for tool, n in others.items()]
        kind = "argued" if argued and isa == "x86_64" else "proved"
        return Standing(kind, "; ".join([*words, argued] if argued else words))
    return Standing("argued", argued) if argued else Standing("not proved", "")
