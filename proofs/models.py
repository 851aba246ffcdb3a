"""The memory models of our own checker, and what a lock relies on beyond one of them."""

from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from proofs.files import Entry, registry
from results.paths import ROOT


class Flavour(StrEnum):
    """What a program may rely on: the flavours of lockimpl/arch/model.h."""

    WEAK = "weak"
    TSO = "tso"


@dataclass(frozen=True)
class Model:
    """A model of our own checker. `isas`: those that promise at least as much; `title`: of a column
    of the matrix."""

    name: str
    flavour: Flavour
    title: str
    says: str
    isas: tuple[str, ...]


# Of a flavour each promises at least as much as the one before it: what is proved under one need
# not be tried under the next.
MODELS = {
    one.name: one
    for one in (
        Model("tso", Flavour.TSO, "TSO", "total store order; a load may take bytes from the store "
              "buffer and others from memory", ("x86_64",)),
        Model("tso-wait", Flavour.TSO, "TSO, wide loads wait", "total store order where a load "
              "that is wider than a buffered store waits until that is in memory", ("x86_64",)),
        Model("weak", Flavour.WEAK, "weak", "C11's acquire, release and fences, without load "
              "buffering; each byte of an access by itself", ("ppc64le", "aarch64")),
        Model("weak-si", Flavour.WEAK, "weak, whole accesses", "as weak, and the bytes of one "
              "access are read and written together", ("aarch64",)),
    )
}  # fmt: skip


class Assumption(Entry):
    """Locks that fail under a model and are proved under one that promises more; assumptions.toml
    says what the fields are."""

    model: str
    instead: str
    fence: str
    locks: tuple[str, ...]
    witness: str
    says: str


class Stated(Entry):
    """What assumptions.toml says. `refused`: locks of which nothing is proved, and why."""

    assumption: tuple[Assumption, ...]
    refused: dict[str, str]


@cache
def stated() -> Stated:
    """All of it. Raises LockcrossError if the file cannot be read."""
    return registry(Stated, ROOT / "proofs" / "assumptions.toml")
