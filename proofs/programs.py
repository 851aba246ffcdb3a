"""Which programs there are to prove: locks, variants, fence kinds and clients that go together."""

import hashlib
import os
import re
import subprocess
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from proofs.models import Flavour
from results.errors import LockcrossError
from results.paths import ROOT
from sweeps.model.label import LockLabel
from sweeps.model.locks import Lock, Trait, load_locks

FOLDER = ROOT / "proofs" / "clients"
_FILE = FOLDER / "clients.toml"


class Size(BaseModel):
    """One way to compile a client; clients.toml says what the fields are."""

    model_config = ConfigDict(extra="forbid", frozen=True)

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


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid")

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
    try:
        entries = TypeAdapter(dict[str, _Entry]).validate_python(
            tomllib.loads(_FILE.read_text(encoding="utf-8"))
        )
    except (OSError, ValueError, ValidationError) as error:
        raise LockcrossError(f"proofs/clients/clients.toml: {error}", exit_code=1) from None
    return tuple(
        Client(name, size, entry.says, entry.needs)
        for name, entry in entries.items()
        for size in entry.sizes
    )


def named(names: Sequence[str] | None) -> Iterator[Client]:
    """The clients of names, each that of a client or of one of its sizes; all without names."""
    known = clients()
    for name in names or ():
        if name not in {one.name for one in known} | {one.label for one in known}:
            listed = ", ".join(dict.fromkeys(one.name for one in known))
            raise LockcrossError(
                f"client {name!r} is unknown; known are {listed}, and each with a size, as in "
                f"{known[0].label}"
            )
    for one in known:
        if not names or one.name in names or one.label in names:
            yield one


def smallest(chosen: Sequence[Client]) -> tuple[Client, ...]:
    """Of each client the first of its sizes."""
    first: dict[str, Client] = {}
    for one in chosen:
        first.setdefault(one.name, one)
    return tuple(first.values())


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
        return [*lock_defines(self.lock, self.variant, self.fence, self.flavour),
                *self.client.size.flags()]  # fmt: skip


def lock_defines(lock: str, variant: str, fence: str, flavour: Flavour) -> list[str]:
    """The lock that a program is compiled for."""
    return [
        f"-DLOCKCROSS_MODEL=MODEL_{flavour.upper()}",
        f"-DLOCKCROSS_LOCK={lock}",
        f"-DLOCKCROSS_FENCE=FENCE_{fence.upper()}",
        *([f"-DLOCKCROSS_VARIANT={variant}", f"-DLOCKCROSS_VARIANT_{variant.upper()}=1"]
          if variant else []),
    ]  # fmt: skip


def programs(
    locks: Iterable[Lock], clients: Sequence[Client], deep: bool
) -> Iterator[tuple[Program, str]]:
    """Every program that locks.def and clients.toml make possible, and why it is not proved; ""
    where it is."""
    for lock in locks:
        for variant in ("", *lock.variants[1:]):
            for client in clients:
                later = client.size.deep or lock.name in client.size.large
                if (later and not deep) or not is_for(client, lock, variant):
                    continue
                for flavour, fence in _built(lock):
                    program = Program(lock.name, variant, fence, flavour, client)
                    yield program, refusal(lock, variant, flavour, client)


def _built(lock: Lock) -> Iterator[tuple[Flavour, str]]:
    """The other fence kinds need x86-64's memory model."""
    yield Flavour.WEAK, "full"
    yield from ((Flavour.TSO, fence) for fence in lock.fence_kinds)


def refusal(lock: Lock, variant: str, flavour: Flavour, client: Client) -> str:
    """Why a lock is not proved with a client, or nothing."""
    if lock.name == "null":
        return "no synchronization: there is nothing to prove"
    if lock.has(Trait.UNORDERED, variant) and flavour == Flavour.WEAK:
        return "without orders: for one processor of a weakly ordered ISA"
    if lock.threads and client.size.threads > lock.threads:
        return f"for {lock.threads} threads"
    return ""


def is_for(client: Client, lock: Lock, variant: str) -> bool:
    """Whether a lock has what a client needs."""
    return all(any(_has(lock, variant, name) for name in need.split("|")) for need in client.needs)


def _has(lock: Lock, variant: str, name: str) -> bool:
    """Whether a lock has a trait, or its header defines a macro."""
    if name in tuple(Trait):
        return lock.has(Trait(name), variant)
    return name in _macros(lock.name, variant)


@cache
def _macros(lock: str, variant: str) -> frozenset[str]:
    """The macros that a lock's header defines."""
    said = _preprocess(
        ["-dM", "-E", "-x", "c", *lock_defines(lock, variant, "full", Flavour.WEAK), "-include",
         "lock.h", "/dev/null"]
    )  # fmt: skip
    return frozenset(re.findall(r"^#define (\w+)", said, flags=re.MULTILINE))


@cache
def sources(program: Program) -> str:
    """A short digest of all that a program is made of, but for comments."""
    said = _preprocess(["-MM", *program.defines(), program.client.source])
    total = hashlib.sha256("\0".join(program.defines()).encode())
    for name in sorted(said.replace("\\\n", " ").split()[1:]):
        total.update(f"{name}\0{_bare(name)}".encode())
    return total.hexdigest()[:12]


@cache
def _bare(name: str) -> str:
    return _NO_COMMENT.sub(" ", (ROOT / name).read_text(encoding="utf-8"))


def _preprocess(arguments: Sequence[str]) -> str:
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


def known_locks(names: "Sequence[str] | None") -> list[Lock]:
    """The locks of names; all without names."""
    known = load_locks()
    for name in names or ():
        if name not in known:
            raise LockcrossError(f"lock {name!r} is unknown; known are {', '.join(known)}")
    return [known[name] for name in names or known]
