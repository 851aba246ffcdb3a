"""The clients of proofs/clients: which there are, and which are for a lock."""

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from results.errors import LockcrossError
from results.paths import ROOT

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
