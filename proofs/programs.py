"""What there is to prove: programs, of locks, variants, fence kinds and clients that go together;
and what a lock relies on beyond a model."""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import product
from pathlib import Path

from pydantic import Field, RootModel

from proofs.files import Entry, registry
from results.errors import LockcrossError, check_known
from results.paths import ROOT
from sweeps.model.locks import FULL, LOCK_ADD, MEMBARRIER, Lock, LockLabel, Trait, load_locks
from sweeps.support import tools
from sweeps.support.paths import LOCKS_DEF


class Flavour(StrEnum):
    """What a program may rely on: the flavours of lockimpl/arch/model.h."""

    WEAK = "weak"
    TSO = "tso"


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


_FILE = ROOT / "proofs" / "clients" / "clients.toml"


class Size(Entry):
    """One way to compile a client; clients.toml says what the fields are."""

    name: str
    threads: int = Field(ge=1, le=8)
    rounds: int = Field(1, ge=1)
    first: int = Field(0, ge=0)
    options: tuple[str, ...] = ()
    deep: bool = False
    sc: bool = False
    large: tuple[str, ...] = ()


class _Client(Entry):
    says: str
    needs: tuple[str, ...] = ()
    full: bool = False
    sizes: tuple[Size, ...]


@dataclass(frozen=True)
class Client:
    """A client in one size."""

    name: str
    size: Size
    needs: tuple[str, ...]
    full: bool

    @property
    def label(self) -> str:
        """As --client and the stored results call it."""
        return f"{self.name}:{self.size.name}"

    @property
    def source(self) -> str:
        """Its file, from the root of the tree."""
        return f"proofs/clients/{self.name}.c"

    @property
    def bound(self) -> str:
        """What it bounds, in words."""
        rounds = "1 round" if self.size.rounds == 1 else f"{self.size.rounds} rounds"
        return f"{self.size.threads} threads, {rounds}"


@cache
def clients() -> tuple[Client, ...]:
    """All clients in all their sizes, in the file's order."""
    return tuple(
        Client(name, size, entry.needs, entry.full)
        for name, entry in registry(RootModel[dict[str, _Client]], _FILE).root.items()
        for size in entry.sizes
    )


def named(names: Sequence[str] | None) -> Iterator[Client]:
    """The clients of names, each that of a client or of one of its sizes; all without names."""
    known = clients()
    for name in names or ():
        if not any(name in (lock.name, lock.label) for lock in known):
            listed = ", ".join(dict.fromkeys(lock.name for lock in known))
            raise LockcrossError(
                f"client {name!r} is unknown; known are {listed}, and each with a size, as in "
                f"{known[0].label}"
            )
    yield from (lock for lock in known if not names or lock.name in names or lock.label in names)


INCLUDES = ("-Ilockimpl", "-Iproofs", "-Iproofs/clients")


@dataclass(frozen=True)
class Program:
    """A client for one lock, variant and fence kind, and one flavour of arch/model.h."""

    label: LockLabel
    flavour: Flavour
    client: Client

    def defines(self) -> list[str]:
        """What the sources are told, for any compiler."""
        size = self.client.size
        numbers = {
            "LOCK_MAX_THREADS": max(2, size.threads, size.first),
            "CLIENT_THREADS": size.threads,
            "CLIENT_ROUNDS": size.rounds,
            "CLIENT_FIRST": size.first,
            **{f"CLIENT_{option.upper()}": 1 for option in size.options},
        }
        given = [f"-D{name}={number}" for name, number in numbers.items()]
        return [*_lock_defines(self.label, self.flavour), *given]


def _lock_defines(label: LockLabel, flavour: Flavour) -> list[str]:
    defines = [
        f"-DLOCKCROSS_MODEL=MODEL_{flavour.upper()}",
        f"-DLOCKCROSS_LOCK={label.lock}",
        f"-DLOCKCROSS_FENCE=FENCE_{label.fence.upper()}",
    ]
    if variant := label.variant:
        defines += [f"-DLOCKCROSS_VARIANT={variant}", f"-DLOCKCROSS_VARIANT_{variant.upper()}=1"]
    return defines


def programs(
    locks: Iterable[Lock], clients: Sequence[Client], deep: bool
) -> Iterator[tuple[Program, str]]:
    """Every program that locks.def and clients.toml make possible, and why it is not proved; ""
    where it is."""
    for lock in locks:
        # The other fence kinds need x86-64's memory model.
        anywhere = [fence for fence in (FULL, MEMBARRIER) if fence in lock.fence_kinds]
        built = [(Flavour.WEAK, fence) for fence in anywhere]
        # In a model a locked addition of nothing is the full fence: the same program.
        built += [(Flavour.TSO, fence) for fence in lock.fence_kinds if fence != LOCK_ADD]
        for variant, client in product(("", *lock.variants[1:]), clients):
            if not has(lock, variant, client.needs):
                continue
            for flavour, fence in built:
                named = lock.name, f"{lock.name}/{flavour}", f"{lock.name}/{fence}/{flavour}"
                large = set(named) & set(client.size.large)
                rare = client.size.deep or bool(large) or (client.full and fence != FULL)
                in_default = bool(variant) and fence == MEMBARRIER  # which has all barriers
                if not deep and (rare or in_default):
                    continue
                refusal = stated().refused.get(lock.name, "")
                if not refusal and flavour == Flavour.WEAK and lock.has(Trait.UNORDERED, variant):
                    refusal = "without orders: for one processor of a weakly ordered ISA"
                if not refusal and 0 < lock.threads < client.size.threads:
                    refusal = f"for {lock.threads} threads"
                yield Program(LockLabel.of(lock.name, variant, fence), flavour, client), refusal


def has(lock: Lock, variant: str, needs: Iterable[str]) -> bool:
    """Whether a lock has all that is needed, and of what is joined by | one: traits of locks.def,
    or macros that its header defines."""

    def one(name: str) -> bool:
        if name in tuple(Trait):
            return lock.has(Trait(name), variant)
        return name in _macros(LockLabel.of(lock.name, variant))

    return all(any(map(one, need.split("|"))) for need in needs)


@cache
def _macros(label: LockLabel) -> frozenset[str]:
    """The macros that a lock's header defines."""
    said = _of_header(label, "-dM", "-E")
    return frozenset(re.findall(r"^#define (\w+)", said, flags=re.MULTILINE))


@cache
def headers(label: LockLabel) -> frozenset[str]:
    """The headers that a lock includes, by their paths below lockimpl/."""
    return frozenset(re.findall(r"\blockimpl/(\S+)", _of_header(label, "-MM")))


def _of_header(label: LockLabel, *options: str) -> str:
    defines = _lock_defines(label, Flavour.WEAK)
    return _preprocess(*options, "-x", "c", *defines, "-include", "lock.h", "/dev/null")


@cache
def sources(program: Program, options: tuple[str, ...] = ()) -> str:
    """A short digest of all that a program is made of, token for token, where a tool compiles it
    with these options of its own."""
    said = _preprocess("-E", *program.defines(), *options, program.client.source)
    parts = re.split(r'^# \d+ "(.*?)".*$', said, flags=re.MULTILINE)
    files = zip(
        parts[1::2], parts[2::2], strict=True
    )  # of the system's headers, which differ, none
    own = (
        _own_entries(text, program.label) if Path(name) == LOCKS_DEF.relative_to(ROOT) else text
        for name, text in files
        if name[0] not in "/<"
    )
    return hashlib.sha256(" ".join(" ".join(own).split()).encode()).hexdigest()[:12]


_ENTRY = re.compile(r"enum \{ (\w+)[^}]*\};")  # of locks.def, as a compiler has it
_FENCE_KINDS = re.compile(r"\w+_fence_kinds = [^,]*, ")


def _own_entries(registry: str, label: LockLabel) -> str:
    """What locks.def says of this lock and variant. A program has the numbers of all others and
    uses none of them: a new lock leaves the proofs of the others what they are. So does a new kind
    of fence those of the lock's other kinds."""
    names = {f"{label.lock}_traits", f"{label.lock}_{label.variant}_traits"}
    entries = (entry[0] for entry in _ENTRY.finditer(registry) if entry[1] in names)
    return _FENCE_KINDS.sub("", " ".join(entries))


def _preprocess(*arguments: str) -> str:
    done = tools.run([compiler(), "-std=gnu17", *INCLUDES, *arguments], cwd=ROOT)
    if done.returncode != 0:
        raise LockcrossError(f"a client does not compile: {done.stderr.strip()}", exit_code=1)
    return done.stdout


def compiler() -> str:
    """The host's own compiler, whose sanitizer calls the checker stands in for."""
    return os.environ.get("LOCKCROSS_PROVE_CC") or "gcc"


def known_locks(names: Sequence[str] | None) -> list[Lock]:
    """The locks of names; all without names."""
    known = load_locks()
    check_known("lock", names or (), known)
    return [known[name] for name in names or known]


def assumed(program: Program, model: str) -> Assumption | None:
    """The assumption that a program's proof under a model would need, if there is one."""
    label = program.label
    for assumption in stated().assumption:
        if (
            assumption.model == model
            and assumption.fence == label.fence
            and label.lock in assumption.locks
        ):
            return assumption
    return None
