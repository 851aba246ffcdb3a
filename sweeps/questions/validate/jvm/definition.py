"""What is run against a JVM: its file in sweeps/plans/validations."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from results.errors import check_known
from sweeps.model.locks import load_locks
from sweeps.support.toml import Document

# What is held against a program's difference.
SIGN, MAGNITUDE = "sign", "magnitude"
_NAMES_PROGRAMS = re.compile(r"^\s*\[\[\s*program\s*\]\]", re.MULTILINE)


class Mode(Document):
    """A locking mode of a JVM: its name for people, the JVM's options, and the lock that it is."""

    title: str = Field(min_length=1)
    options: list[str] = Field(min_length=1)
    lock: str

    @model_validator(mode="after")
    def _known(self) -> Self:
        if self.lock not in load_locks():
            raise ValueError(f"lock: {self.lock!r} is unknown")
        return self


class Modes(Document):
    """Two modes, which a JVM has if it has the flag."""

    flag: str = Field(pattern=r"^\w+$")
    first: Mode
    second: Mode


@dataclass(frozen=True)
class Known:
    """Bars that are known to be missed, and why."""

    bars: tuple[str, ...]
    why: str


class Program(Document):
    """A program: its class with arguments. `libraries`: it needs some from Maven Central;
    `only_named`: it is run only where it is named. `known`: what is missed, by the flag of the
    modes; `missed`: why."""

    name: str = Field(pattern=r"^\w+$")
    title: str = Field(min_length=1)
    words: list[str] = Field(min_length=1)
    libraries: bool = False
    microbenchmark: bool = False
    only_named: bool = False
    known: dict[str, list[Literal["sign", "magnitude"]]] = {}
    missed: str = ""

    @model_validator(mode="after")
    def _explained(self) -> Self:
        if self.known and not self.missed:
            raise ValueError("known: say in `missed` why these bars are missed")
        return self


class JvmDefinition(Document):
    """The file. `host`: the engine whose machines describe this host; `magnitude`: by how much a
    predicted difference may be off, as a share of the measured one; `kept`: options with which the
    JVM leaves out no lock; `seconds` of CPU time for a program, about; `fewest` and `most` runs of
    it in each mode."""

    title: str = Field(min_length=1)
    host: str
    magnitude: Annotated[float, Field(gt=0)]
    kept: list[str]
    seconds: Annotated[float, Field(gt=0)]
    fewest: Annotated[int, Field(ge=2)]
    most: Annotated[int, Field(ge=2)]
    modes: list[Modes] = Field(min_length=1)
    program: list[Program] = Field(min_length=1)

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        if len({program.name for program in self.program}) != len(self.program):
            raise ValueError("program: two programs have one name")
        flags = {modes.flag for modes in self.modes}
        unknown = [flag for one in self.program for flag in one.known if flag not in flags]
        if unknown:
            raise ValueError(f"known: there are no modes by the flag {unknown[0]!r}")
        return self

    def known(self, flag: str, program: str) -> "Known":
        """What is known to be missed of a program under the modes of a flag."""
        for one in self.program:
            if one.name == program and flag in one.known:
                return Known(tuple(one.known[flag]), one.missed)
        return Known((), "")


def is_of_jvm(text: str) -> bool:
    """Whether a file of validations is one against a JVM: it names programs."""
    return _NAMES_PROGRAMS.search(text) is not None


def chosen_programs(definition: JvmDefinition, wanted: Sequence[str]) -> list[Program]:
    """The programs of these names; for none those that need not be named. Raises LockcrossError for
    an unknown one."""
    check_known("set", wanted, [program.name for program in definition.program])
    return [
        program
        for program in definition.program
        if (program.name in wanted if wanted else not program.only_named)
    ]
