"""The memory models of our own checker, and what a lock relies on beyond one of them."""

from enum import StrEnum
from functools import cache

from proofs.files import Entry, registry
from results.paths import ROOT


class Flavour(StrEnum):
    """What a program may rely on: the flavours of lockimpl/arch/model.h."""

    WEAK = "weak"
    TSO = "tso"


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
