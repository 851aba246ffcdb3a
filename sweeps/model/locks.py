"""The locks of the study, read from lockimpl/locks.def, their only registry."""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from results.errors import LockcrossError
from sweeps.model.isa import FENCE_KINDS
from sweeps.model.label import LockLabel
from sweeps.support.paths import LOCKS_DEF

_NAME = r"\s*(\w+)\s*"
_TEXT = r'\s*"([^"]*)"\s*'
_NUMBER = r"\s*(\d+)\s*"
_JOINED = r"\s*(\w+(?:\s*\|\s*\w+)*)\s*"  # words with | between them
_LOCK = re.compile(
    rf"\bLOCK\({_NAME},{_TEXT},{_TEXT},{_JOINED},{_JOINED},{_NUMBER},{_NUMBER},{_TEXT}\)"
)
_VARIANT = re.compile(rf"\bVARIANT\({_NAME},{_NAME},{_JOINED},{_TEXT}\)")
_FILE = "lockimpl/locks.def"


class Trait(StrEnum):
    """What marks a lock or a variant. The head of locks.def says what each means."""

    JAVA = "java"
    CANCELS = "cancels"
    BY_SIGNAL = "by_signal"
    UNORDERED = "unordered"
    AT_START = "at_start"


@dataclass(frozen=True)
class Variant:
    """A VARIANT line of locks.def."""

    name: str
    traits: frozenset[Trait]
    summary: str


@dataclass(frozen=True)
class Lock:
    """A LOCK entry of locks.def with its VARIANT lines, the default variant first.

    `fence_kinds`: those it is built with. `threads`: the most that can use an object, 0 for any
    number. `words`: 8-byte words of the object header behind lock word and flag word.
    """

    name: str
    paper_name: str
    source: str
    traits: frozenset[Trait]
    fence_kinds: tuple[str, ...]
    threads: int
    words: int
    summary: str
    variant_lines: tuple[Variant, ...] = ()

    @property
    def java(self) -> bool:
        """Whether it has wait, notify and notify_all."""
        return self.has(Trait.JAVA)

    @property
    def variants(self) -> tuple[str, ...]:
        """The names of its variants, the default first; none for most locks."""
        return tuple(line.name for line in self.variant_lines)

    def has(self, trait: Trait, variant: str = "") -> bool:
        """Whether the lock in a variant ("": the default) has a trait."""
        of_variant = [line.traits for line in self.variant_lines[1:] if line.name == variant]
        return any(trait in traits for traits in (self.traits, *of_variant))

    def variant_invalid_reason(self, variant: str) -> str:
        """Why this lock has no such variant ("": the default), or nothing."""
        if not variant or variant in self.variants[1:]:
            return ""
        if not self.variants:
            return f"{variant!r}: lock {self.name} has no variants"
        return f"{variant!r}: lock {self.name} has {', '.join(self.variants)} only"

    def stand_ins(self, variant: str) -> dict[str, int | str]:
        """What stands in for parts of a variant in simulated time, which has no signals: for the
        resolved options of a run."""
        if not self.has(Trait.BY_SIGNAL, variant):
            return {}
        return {"cancellation": f"{self.variants[0]} stands in for {variant}"}


def parse_locks(text: str) -> dict[str, Lock]:
    """Reads the text of a registry, in its order. Raises LockcrossError for what it cannot read."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r'"\s*\n\s*"', "", text)  # strings that were broken over lines
    if rest := _LOCK.sub("", _VARIANT.sub("", text)).strip():
        raise LockcrossError(f"{_FILE}: not an entry: {rest.splitlines()[0]}")
    variants: dict[str, list[Variant]] = {}
    for lock, name, traits, summary in _VARIANT.findall(text):
        variants.setdefault(lock, []).append(Variant(name, _traits(lock, traits), summary))
    locks = {}
    for name, paper_name, source, traits, fences, threads, words, summary in _LOCK.findall(text):
        lines = tuple(variants.pop(name, ()))
        if lines and lines[0].traits:
            raise LockcrossError(
                f"{_FILE}: {name}: variant {lines[0].name} is the default, whose traits are the "
                "lock's: it must have TRAIT_NONE"
            )
        locks[name] = Lock(
            name, paper_name, source, _traits(name, traits),
            tuple(_known(name, "FENCE_", fences, FENCE_KINDS)), int(threads), int(words), summary,
            lines,
        )  # fmt: skip
    if variants:
        raise LockcrossError(f"{_FILE}: variants of {next(iter(variants))}, which is no lock")
    return locks


def _traits(name: str, joined: str) -> frozenset[Trait]:
    words = [] if joined == "TRAIT_NONE" else _known(name, "TRAIT_", joined, tuple(Trait))
    return frozenset(map(Trait, words))


def _known(name: str, prefix: str, joined: str, allowed: tuple[str, ...]) -> list[str]:
    """The words of a list such as FENCE_FULL | FENCE_RMW, without their prefix."""
    words = [word.strip() for word in joined.split("|")]
    found = [word.removeprefix(prefix).lower() for word in words]
    for word, value in zip(words, found, strict=True):
        if value not in allowed or word != prefix + value.upper():
            names = ", ".join(prefix + one.upper() for one in allowed)
            raise LockcrossError(f"{_FILE}: {name}: {word} is unknown; allowed are {names}")
    return found


@cache
def load_locks() -> dict[str, Lock]:
    """All locks by name, in the registry's order. Raises LockcrossError if it cannot be read."""
    try:
        return parse_locks(LOCKS_DEF.read_text(encoding="utf-8"))
    except OSError as error:
        raise LockcrossError(f"{_FILE}: {error.strerror}", exit_code=1) from None


def cancels(label: str) -> bool:
    """Whether the lock of a label cancels, so that it pays the latency of a cancellation."""
    built = LockLabel(label)
    return load_locks()[built.lock].has(Trait.CANCELS, built.variant)
