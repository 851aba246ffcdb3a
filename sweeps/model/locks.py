"""Locks, as lockimpl/locks.def has them, and their labels: lock, variant and fence kind."""

import ast
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from typing import TypeVar

from results.errors import LockcrossError
from sweeps.model import registry
from sweeps.model.axes import Axes
from sweeps.support.paths import LOCKS_DEF

FULL = Axes.fence  # the default
LOCK_ADD = "lock_add"
MEMBARRIER = "membarrier"
FENCE_KINDS = {
    FULL: "full fences",
    "rmw": "locked RMW",
    LOCK_ADD: "locked addition",
    "store_forward": "store forwarding",
    MEMBARRIER: "process-wide barriers",
}
_SHORT = {"asym_tasuki": "asymmetric"}  # how figures and tables call a lock


class LockLabel(str):
    """A lock label: text that knows its parts, so that it can be stored, sorted and compared as
    text. The variant is left out when it is the lock's first, the fence kind when it is `full`."""

    __slots__ = ()

    @classmethod
    def of(cls, lock: str, variant: str = "", fence: str = FULL) -> "LockLabel":
        """Make the label of a lock as it is built."""
        named = f"{lock}:{variant}" if variant else lock
        return cls(named if fence == FULL else f"{named}/{fence}")

    @property
    def lock(self) -> str:
        return self.partition("/")[0].partition(":")[0]

    @property
    def variant(self) -> str:
        """Return the variant; "" for the lock's first, or only one."""
        return self.partition("/")[0].partition(":")[2]

    @property
    def fence(self) -> str:
        return self.partition("/")[2] or FULL

    @property
    def with_full_fences(self) -> "LockLabel":
        return LockLabel.of(self.lock, self.variant)

    def words(self, separator: str = ", ") -> str:
        """Write it for people: `asymmetric, store forwarding`; a variant stands in brackets."""
        words = _SHORT.get(self.lock, self.lock)
        if self.variant:
            words += f" ({self.variant})"
        if self.fence != FULL:
            words += separator + FENCE_KINDS.get(self.fence, self.fence)
        return words


def labels_words(labels: Iterable[str]) -> str:
    """Say which locks and fence kinds stand in a table."""
    known = [LockLabel(label) for label in labels]
    locks = dict.fromkeys(str(label.partition("/")[0]) for label in known)
    kinds = [
        words for kind, words in FENCE_KINDS.items() if kind in {label.fence for label in known}
    ]
    return f"Compared: {', '.join(locks)}; with {', '.join(kinds)}."


_FILE = "lockimpl/locks.def"
Kind = TypeVar("Kind", bound=str)


class Trait(StrEnum):
    """A mark of a lock or a variant. The head of locks.def explains each."""

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
    number. `words`: 8-byte words of the object header after lock word and flag word. `ships_in`:
    the runtime that uses it, and since when; "" for a lock of a paper. `timed`: the variants that
    read the time or park for a time; the lock's own name stands for the default.
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
    ships_in: str = ""
    timed: frozenset[str] = frozenset()

    @property
    def java(self) -> bool:
        """Tell whether it has wait, notify and notify_all."""
        return self.has(Trait.JAVA)

    @property
    def variants(self) -> tuple[str, ...]:
        """Return the names of its variants, the default first; none for most locks."""
        return tuple(line.name for line in self.variant_lines)

    def has(self, trait: Trait, variant: str = "") -> bool:
        """Say whether the lock in a variant ("": the default) has a trait."""
        of_variant = (line.traits for line in self.variant_lines[1:] if line.name == variant)
        return trait in self.traits.union(*of_variant)

    def reads_time(self, variant: str = "") -> bool:
        """Say whether the lock in a variant ("": the default) reads the time: its programs take the
        key `clock_mhz`."""
        return (variant or self.name) in self.timed

    def variant_invalid_reason(self, variant: str) -> str:
        """Say why this lock has no such variant; "" where it has, as the default ("")."""
        if not variant or variant in self.variants[1:]:
            return ""
        if not self.variants:
            return f"{variant!r}: lock {self.name} has no variants"
        return f"{variant!r}: lock {self.name} has {', '.join(self.variants)} only"

    def stand_ins(self, variant: str) -> dict[str, int | str]:
        """Return the stand-ins for parts of a variant in simulated time, which has no signals: for
        the resolved options of a run."""
        if not self.has(Trait.BY_SIGNAL, variant):
            return {}
        return {"cancellation": f"{self.variants[0]} stands in for {variant}"}


def parse_locks(text: str) -> dict[str, Lock]:
    """Read the text of a registry, in its order. Raises LockcrossError for text that it cannot
    read."""
    try:
        rows = list(registry.parse(text))
    except ValueError as error:
        raise LockcrossError(f"{_FILE}: not an entry: {error}") from None
    locks: dict[str, Lock] = {}
    variants: dict[str, list[Variant]] = {}
    runtimes: dict[str, str] = {}
    timed: dict[str, set[str]] = {}
    for row in rows:
        owner = ast.unparse(row.arguments[0]) if row.arguments else ""
        try:
            match row.name, row.arguments:
                case "LOCK", [_, title, source, traits, fences, threads, words, sentence]:
                    locks[owner] = Lock(
                        registry.word(row.arguments[0]),
                        registry.string(title),
                        registry.string(source),
                        _traits(traits),
                        tuple(_known("FENCE_", fences, FENCE_KINDS)),
                        ast.literal_eval(threads),
                        ast.literal_eval(words),
                        registry.string(sentence),
                    )
                case "VARIANT", [_, variant, traits, sentence]:
                    described = Variant(
                        registry.word(variant), _traits(traits), registry.string(sentence)
                    )
                    variants.setdefault(owner, []).append(described)
                case "SHIPS_IN", [_, runtime]:
                    runtimes[owner] = registry.string(runtime)
                case "READS_TIME", [_, variant]:
                    timed.setdefault(owner, set()).add(registry.word(variant))
                case _:
                    raise LockcrossError(f"{_FILE}: not an entry: {row}")
        except ValueError as error:
            raise LockcrossError(f"{_FILE}: {owner}: {error}") from None
    for name, lines in variants.items():
        if name not in locks:
            raise LockcrossError(f"{_FILE}: variants of {name}, which is no lock")
        if lines[0].traits:
            raise LockcrossError(
                f"{_FILE}: {name}: variant {lines[0].name} is the default, whose traits are the "
                "lock's: it must have TRAIT_NONE"
            )
        locks[name] = replace(locks[name], variant_lines=tuple(lines))
    return _completed(locks, runtimes, timed)


def _completed(
    locks: dict[str, Lock], runtimes: dict[str, str], timed: dict[str, set[str]]
) -> dict[str, Lock]:
    """Add the runtimes that the locks ship in and which of their variants read the time."""
    for name, shipped in runtimes.items():
        if name not in locks:
            raise LockcrossError(f"{_FILE}: {shipped} ships {name}, which is no lock")
        locks[name] = replace(locks[name], ships_in=shipped)
    for name, variants in timed.items():
        if name not in locks or not variants <= {name, *locks[name].variants[1:]}:
            listed = ", ".join(sorted(variants))
            raise LockcrossError(f"{_FILE}: READS_TIME({name}, {listed}): no such lock or variant")
        locks[name] = replace(locks[name], timed=frozenset(variants))
    return locks


def _traits(joined: ast.expr) -> frozenset[Trait]:
    return frozenset(_known("TRAIT_", joined, Trait))


def _known(prefix: str, joined: ast.expr, allowed: Iterable[Kind]) -> list[Kind]:
    """Return the values of words such as FENCE_FULL | FENCE_RMW; TRAIT_NONE has none. Raises
    ValueError."""
    known = {prefix + value.upper(): value for value in allowed}
    words = [word for word in registry.words(joined) if word != "TRAIT_NONE"]
    if unknown := [word for word in words if word not in known]:
        raise ValueError(f"{unknown[0]} is unknown; allowed are {', '.join(known)}")
    return [known[word] for word in words]


@cache
def load_locks() -> dict[str, Lock]:
    """Return all locks by name, in the registry's order. Raises LockcrossError."""
    return parse_locks(registry.read(LOCKS_DEF))


def cancels(label: str) -> bool:
    """Say whether the lock of a label cancels, so that it pays the latency of a cancellation."""
    lock = LockLabel(label)
    return load_locks()[lock.lock].has(Trait.CANCELS, lock.variant)
