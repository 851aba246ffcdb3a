"""The programs to prove: of locks, variants, fence kinds and clients that go together;
and a lock's assumptions beyond a model."""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

from pydantic import Field, RootModel

from results.errors import LockcrossError, check_known
from results.paths import ROOT
from sweeps.model.locks import FULL, LOCK_ADD, MEMBARRIER, Lock, LockLabel, Trait, load_locks
from sweeps.support import tools
from sweeps.support.paths import LOCKS_DEF
from sweeps.support.toml import Entry, read_registry
from sweeps.verdicts import Flavour

PROOFS = ROOT / "proofs"
_CLIENTS = PROOFS / "clients" / "clients.toml"
INCLUDES = ("-Ilockimpl", "-Iproofs", "-Iproofs/clients")


class Assumption(Entry):
    """Locks that fail under a model and are proved under one that promises more; assumptions.toml
    explains the fields."""

    model: str
    instead: str
    fence: str
    locks: tuple[str, ...]
    witness: str
    says: str


class Assumptions(Entry):
    """The file assumptions.toml. `refused`: locks of which nothing is proved, and why."""

    assumption: tuple[Assumption, ...]
    refused: dict[str, str]


@cache
def assumptions() -> Assumptions:
    return read_registry(Assumptions, PROOFS / "assumptions.toml")


class Size(Entry):
    """One way to compile a client; clients.toml explains the fields."""

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
    name: str
    size: Size
    needs: tuple[str, ...]
    full: bool

    @property
    def label(self) -> str:
        """Return its name and size, as --clients and the stored proofs have them."""
        return f"{self.name}:{self.size.name}"

    @property
    def source(self) -> str:
        return f"proofs/clients/{self.name}.c"

    @property
    def bound(self) -> str:
        rounds = "1 round" if self.size.rounds == 1 else f"{self.size.rounds} rounds"
        return f"{self.size.threads} threads, {rounds}"


@cache
def clients() -> tuple[Client, ...]:
    """Return all clients in all their sizes, in the file's order."""
    return tuple(
        Client(name, size, entry.needs, entry.full)
        for name, entry in read_registry(RootModel[dict[str, _Client]], _CLIENTS).root.items()
        for size in entry.sizes
    )


def known_clients(names: Sequence[str] | None) -> list[Client]:
    """Return the clients of names, each that of a client or of one of its sizes; all without names.
    Raises LockcrossError for an unknown one."""
    known = clients()
    for name in names or ():
        if not any(name in (client.name, client.label) for client in known):
            listed = ", ".join(dict.fromkeys(client.name for client in known))
            raise LockcrossError(
                f"client {name!r} is unknown; known are {listed}, and each with a size, as in "
                f"{known[0].label}"
            )
    return [client for client in known if not names or {client.name, client.label} & {*names}]


def known_locks(names: Sequence[str] | None) -> list[Lock]:
    """Return the locks of names; all without names. Raises LockcrossError for an unknown one."""
    known = load_locks()
    check_known("lock", names or (), known)
    return [known[name] for name in names or known]


@dataclass(frozen=True)
class Program:
    """A client for one lock, variant and fence kind, and one flavour of arch/model.h."""

    label: LockLabel
    flavour: Flavour
    client: Client

    def defines(self) -> list[str]:
        size = self.client.size
        macros = {
            "LOCK_MAX_THREADS": max(2, size.threads, size.first),
            "CLIENT_THREADS": size.threads,
            "CLIENT_ROUNDS": size.rounds,
            "CLIENT_FIRST": size.first,
            **{f"CLIENT_{option.upper()}": 1 for option in size.options},
        }
        of_client = [f"-D{name}={number}" for name, number in macros.items()]
        return [*_lock_defines(self.label, self.flavour), *of_client]

    def assumption(self, model: str) -> Assumption | None:
        """Return the assumption that its proof under a model would need, if there is one."""
        key = model, self.label.fence
        stated = (one for one in assumptions().assumption if (one.model, one.fence) == key)
        return next((one for one in stated if self.label.lock in one.locks), None)


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
    """Yield every program that locks.def and clients.toml make possible, and why it is not proved;
    "" where it is."""
    for lock in locks:
        # The other fence kinds need x86-64's memory model.
        anywhere = [fence for fence in (FULL, MEMBARRIER) if fence in lock.fence_kinds]
        builds = [(Flavour.WEAK, fence) for fence in anywhere]
        # In a model a locked addition of nothing is the full fence: the same program.
        builds += [(Flavour.TSO, fence) for fence in lock.fence_kinds if fence != LOCK_ADD]
        for variant, client in product(("", *lock.variants[1:]), clients):
            if not has(lock, variant, client.needs):
                continue
            for flavour, fence in builds:
                names = lock.name, f"{lock.name}/{flavour}", f"{lock.name}/{fence}/{flavour}"
                large = not {*names}.isdisjoint(client.size.large)
                rare = client.size.deep or large or (client.full and fence != FULL)
                in_default = bool(variant) and fence == MEMBARRIER  # which has all barriers
                if deep or not (rare or in_default):
                    label = LockLabel.of(lock.name, variant, fence)
                    refusal = _refusal(lock, variant, flavour, client)
                    yield Program(label, flavour, client), refusal


def _refusal(lock: Lock, variant: str, flavour: Flavour, client: Client) -> str:
    if refusal := assumptions().refused.get(lock.name):
        return refusal
    if flavour == Flavour.WEAK and lock.has(Trait.UNORDERED, variant):
        return "without orders: for one processor of a weakly ordered ISA"
    return f"for {lock.threads} threads" if 0 < lock.threads < client.size.threads else ""


def has(lock: Lock, variant: str, needs: Iterable[str]) -> bool:
    """Say whether a lock has all that is needed, each one of several names joined by |: traits of
    locks.def, or macros that its header defines."""

    def has_one(name: str) -> bool:
        if name in tuple(Trait):
            return lock.has(Trait(name), variant)
        return name in _macros(LockLabel.of(lock.name, variant))

    return all(any(map(has_one, need.split("|"))) for need in needs)


@cache
def _macros(label: LockLabel) -> frozenset[str]:
    output = _preprocess_header(label, "-dM", "-E")
    return frozenset(re.findall(r"^#define (\w+)", output, flags=re.MULTILINE))


@cache
def headers(label: LockLabel) -> frozenset[str]:
    """Return the headers that a lock includes, by their paths below lockimpl/."""
    return frozenset(re.findall(r"\blockimpl/(\S+)", _preprocess_header(label, "-MM")))


def _preprocess_header(label: LockLabel, *options: str) -> str:
    defines = _lock_defines(label, Flavour.WEAK)
    return _preprocess(*options, "-x", "c", *defines, "-include", "lock.h", "/dev/null")


@cache
def sources_digest(program: Program, options: tuple[str, ...] = ()) -> str:
    """Return a short digest of all that a program is made of, token for token, where a tool
    compiles it with these options of its own."""
    output = _preprocess("-E", *program.defines(), *options, program.client.source)
    parts = re.split(r'^# \d+ "(.*?)".*$', output, flags=re.MULTILINE)
    texts = (
        _entries_of(text, program.label) if Path(name) == LOCKS_DEF.relative_to(ROOT) else text
        for name, text in zip(parts[1::2], parts[2::2], strict=True)
        if name[0] not in "/<"  # the system's headers differ between systems
    )
    return hashlib.sha256(" ".join(" ".join(texts).split()).encode()).hexdigest()[:12]


_ENTRY = re.compile(r"enum \{ (\w+)[^}]*\};")  # of locks.def, as a compiler has it
_FENCE_KINDS = re.compile(r"\w+_fence_kinds = [^,]*, ")


def _entries_of(registry: str, label: LockLabel) -> str:
    """Return the entries of this lock and variant in locks.def. A program has the numbers of all
    others and uses none of them: a new lock leaves the proofs of the others as they are. So does a
    new kind of fence those of the lock's other kinds."""
    names = {f"{label.lock}_traits", f"{label.lock}_{label.variant}_traits"}
    entries = (entry[0] for entry in _ENTRY.finditer(registry) if entry[1] in names)
    return _FENCE_KINDS.sub("", " ".join(entries))


def _preprocess(*arguments: str) -> str:
    done = tools.run([compiler(), "-std=gnu17", *INCLUDES, *arguments], cwd=ROOT)
    if done.returncode != 0:
        raise LockcrossError(f"a client does not compile: {done.stderr.strip()}", exit_code=1)
    return done.stdout


def compiler() -> str:
    """Name the host's own compiler, whose sanitizer calls the checker stands in for."""
    return os.environ.get("LOCKCROSS_PROVE_CC") or "gcc"
