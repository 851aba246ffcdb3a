"""Which programs there are to prove: locks, variants, fence kinds and clients that go together, and
the models that each is checked under."""

import hashlib
import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from pydantic import Field, RootModel

from proofs.files import Entry, registry
from proofs.models import MODELS, Assumption, Flavour, Model, assumptions, nothing_to_prove
from results.errors import LockcrossError
from results.paths import ROOT
from sweeps.model.label import FULL, LockLabel
from sweeps.model.locks import Lock, Trait, load_locks

_FILE = ROOT / "proofs" / "clients" / "clients.toml"


class Size(Entry):
    """One way to compile a client; clients.toml says what the fields are."""

    name: str
    threads: int = Field(ge=1, le=8)
    rounds: int = Field(1, ge=1)
    first: int = Field(0, ge=0)
    options: tuple[str, ...] = ()
    deep: bool = False
    large: tuple[str, ...] = ()

    def flags(self) -> list[str]:
        """For the compiler."""
        return [
            f"-DLOCK_MAX_THREADS={max(2, self.threads, self.first)}",
            f"-DCLIENT_THREADS={self.threads}",
            f"-DCLIENT_ROUNDS={self.rounds}",
            f"-DCLIENT_FIRST={self.first}",
            *(f"-DCLIENT_{option.upper()}=1" for option in self.options),
        ]


class _Client(Entry):
    says: str
    needs: tuple[str, ...] = ()
    sizes: tuple[Size, ...]


@dataclass(frozen=True)
class Client:
    """A client in one size."""

    name: str
    size: Size
    says: str
    needs: tuple[str, ...]

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
        Client(name, size, entry.says, entry.needs)
        for name, entry in registry(RootModel[dict[str, _Client]], _FILE).root.items()
        for size in entry.sizes
    )


def named(names: Sequence[str] | None) -> Iterator[Client]:
    """The clients of names, each that of a client or of one of its sizes; all without names."""
    known = clients()
    for name in names or ():
        if not any(name in (one.name, one.label) for one in known):
            listed = ", ".join(dict.fromkeys(one.name for one in known))
            raise LockcrossError(
                f"client {name!r} is unknown; known are {listed}, and each with a size, as in "
                f"{known[0].label}"
            )
    yield from (one for one in known if not names or one.name in names or one.label in names)


INCLUDES = ("-Ilockimpl", "-Iproofs", "-Iproofs/clients")
_NO_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|\s+", re.DOTALL)


@dataclass(frozen=True)
class Program:
    """A client for one lock, variant, fence kind and flavour of arch/model.h."""

    lock: str
    variant: str
    fence: str
    flavour: Flavour
    client: Client

    @property
    def label(self) -> LockLabel:
        """The lock, its variant and its fence kind."""
        return LockLabel.of(self.lock, self.variant, self.fence)

    def defines(self) -> list[str]:
        """What the sources are told, for any compiler."""
        return [*_lock_defines(self.label, self.flavour), *self.client.size.flags()]


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
        built = [(Flavour.WEAK, FULL), *((Flavour.TSO, fence) for fence in lock.fence_kinds)]
        for variant in ("", *lock.variants[1:]):
            for client in clients:
                later = client.size.deep or lock.name in client.size.large
                if (later and not deep) or not has(lock, variant, client.needs):
                    continue
                for flavour, fence in built:
                    program = Program(lock.name, variant, fence, flavour, client)
                    yield program, _refusal(lock, program)


def _refusal(lock: Lock, program: Program) -> str:
    """Why a lock is not proved with a client, or nothing."""
    if why := nothing_to_prove(lock.name):
        return why
    if lock.has(Trait.UNORDERED, program.variant) and program.flavour == Flavour.WEAK:
        return "without orders: for one processor of a weakly ordered ISA"
    if lock.threads and program.client.size.threads > lock.threads:
        return f"for {lock.threads} threads"
    return ""


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
    said = _preprocess("-dM", "-E", *_header(label))
    return frozenset(re.findall(r"^#define (\w+)", said, flags=re.MULTILINE))


@cache
def headers(label: LockLabel) -> frozenset[str]:
    """The headers that a lock includes, by their paths below lockimpl/."""
    said = _preprocess("-MM", *_header(label))
    return frozenset(re.findall(r"\blockimpl/(\S+)", said))


def _header(label: LockLabel) -> list[str]:
    return ["-x", "c", *_lock_defines(label, Flavour.WEAK), "-include", "lock.h", "/dev/null"]


@cache
def sources(program: Program) -> str:
    """A short digest of all that a program is made of, but for comments."""
    said = _preprocess("-MM", *program.defines(), program.client.source)
    total = hashlib.sha256("\0".join(program.defines()).encode())
    for name in sorted(said.replace("\\\n", " ").split()[1:]):
        total.update(f"{name}\0{_bare(name)}".encode())
    return total.hexdigest()[:12]


@cache
def _bare(name: str) -> str:
    return _NO_COMMENT.sub(" ", (ROOT / name).read_text(encoding="utf-8"))


def _preprocess(*arguments: str) -> str:
    done = subprocess.run(
        [compiler(), *INCLUDES, *arguments], cwd=ROOT, capture_output=True, text=True, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if done.returncode != 0:
        raise LockcrossError(f"a client does not compile: {done.stderr.strip()}", exit_code=1)
    return done.stdout


def compiler() -> str:
    """The host's own compiler, whose sanitizer calls the checker stands in for."""
    return os.environ.get("LOCKCROSS_PROVE_CC") or "gcc"


def known_locks(names: Sequence[str] | None) -> list[Lock]:
    """The locks of names; all without names."""
    known = load_locks()
    for name in names or ():
        if name not in known:
            raise LockcrossError(f"lock {name!r} is unknown; known are {', '.join(known)}")
    return [known[name] for name in names or known]


def assumed(program: Program, model: str) -> Assumption | None:
    """The assumption that a program's proof under a model would need, if there is one."""
    for one in assumptions():
        if one.model == model and one.fence == program.fence and program.lock in one.locks:
            return one
    return None


def models_of(program: Program) -> list[Model]:
    """Those that a program is checked under: the first of its flavour. Where that needs an
    assumption, it is tried with one client alone, which has to fail: else the assumption would not
    be needed."""
    first = next(one for one in MODELS.values() if one.flavour == program.flavour)
    if (needed := assumed(program, first.name)) is None:
        return [first]
    tried = [first] if program.client.label == needed.witness else []
    return [*tried, MODELS[needed.instead]]
