"""Machine descriptions: sweeps/machines/*.toml, each figure with a source or marked as assumed."""

import tomllib
from functools import cache
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from results.errors import LockcrossError
from sweeps.isa import ISAS
from sweeps.paths import MACHINES, ROOT
from sweeps.toml import explain


class Figure(BaseModel):
    """One number: measured or documented (`value`, `source`), or assumed (`assumption`, `why`)."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    value: int | None = Field(None, ge=0)
    source: str | None = Field(None, min_length=1)
    assumption: int | None = Field(None, ge=0)
    why: str | None = Field(None, min_length=1)

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        known = (self.value is not None, self.source is not None)
        assumed = (self.assumption is not None, self.why is not None)
        if sorted((known, assumed)) != [(False, False), (True, True)]:
            raise ValueError(
                "either { value = N, source = '...' } or "
                "{ assumption = N, why = '...' } is expected"
            )
        return self

    @property
    def number(self) -> int:
        """The figure itself, whichever way it is known."""
        number = self.value if self.value is not None else self.assumption
        assert number is not None  # _one_of_two saw to it
        return number


def _power_of_two(figure: Figure) -> Figure:
    if figure.number.bit_count() != 1:
        raise ValueError(f"{figure.number} is not a power of two")
    return figure


def _positive(figure: Figure) -> Figure:
    if figure.number < 1:
        raise ValueError("must be 1 or more")
    return figure


def _power_of_two_or_none(figure: Figure) -> Figure:
    return figure if figure.number == 0 else _power_of_two(figure)


def _switch(figure: Figure) -> Figure:
    if figure.number > 1:
        raise ValueError("must be 0 or 1")
    return figure


PowerOfTwo = Annotated[Figure, AfterValidator(_power_of_two)]
PowerOfTwoOrNone = Annotated[Figure, AfterValidator(_power_of_two_or_none)]
Positive = Annotated[Figure, AfterValidator(_positive)]
Switch = Annotated[Figure, AfterValidator(_switch)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Core(_Table):
    """The core: width in instructions, fetch in bytes, the rest in cycles and entries."""

    width: Positive
    lat_alu: Positive
    lat_mul: Positive
    lat_div: Positive
    taken_branch: Figure
    mispredict: Figure
    predictor_entries: PowerOfTwo
    blocking: Switch
    fetch_bytes: PowerOfTwoOrNone
    pipeline: Switch
    micro_operations: Switch
    offset_max: Figure


class Memory(_Table):
    """Caches: sizes in bytes, latencies in cycles, the store buffer in entries."""

    line: PowerOfTwo
    l1_size: Positive
    l1_ways: Positive
    lat_l1: Figure
    l2_size: Positive
    l2_ways: Positive
    lat_l2: Figure
    lat_memory: Figure
    lat_dirty: Figure
    lat_upgrade: Figure
    lat_invalidate: Figure
    store_buffer: Figure


class Charges(_Table):
    """Costs that need an operating system or a thread library, in cycles."""

    stop: Figure
    park: Figure
    unpark: Figure
    wake: Figure
    switch: Figure


class Machine(_Table):
    """One machine. `latency` maps an ISA to its atomics and fences, in cycles."""

    name: str = Field(min_length=1)
    title: str = Field(min_length=1)
    isas: list[str] = Field(min_length=1)
    clock_mhz: Positive
    core: Core
    memory: Memory
    latency: dict[str, dict[str, Figure]]
    charges: Charges

    @model_validator(mode="after")
    def _latencies_of_each_isa(self) -> Self:
        for isa in self.isas:
            if isa not in ISAS:
                raise ValueError(f"isas: {isa!r} is unknown; known are {', '.join(ISAS)}")
        if set(self.latency) != set(self.isas):
            raise ValueError(
                f"latency: one table for each of isas ({', '.join(self.isas)}) is expected, "
                f"not {', '.join(self.latency) or 'none'}"
            )
        for isa, figures in self.latency.items():
            wanted = {"cas_success", "cas_failure", "rmw", *ISAS[isa].fences}
            if missing := sorted(wanted - set(figures)):
                raise ValueError(f"latency.{isa}: {', '.join(missing)} missing")
            if unknown := sorted(set(figures) - wanted):
                raise ValueError(
                    f"latency.{isa}: {', '.join(unknown)} unknown; "
                    f"allowed are {', '.join(sorted(wanted))}"
                )
        return self

    def figures(self, isa: str) -> dict[str, Figure]:
        """Every figure that bears on runs of `isa`, by its engine option's name (interfaces, 6)."""
        found: dict[str, Figure] = {}
        for table in (self.core, self.memory):
            found |= {name: getattr(table, name) for name in type(table).model_fields}
        found |= self.latency[isa]
        found |= {f"charge_{name}": getattr(self.charges, name) for name in Charges.model_fields}
        return found


def machine_names() -> list[str]:
    """The names of all machines, sorted."""
    return sorted(path.stem for path in MACHINES.glob("*.toml"))


@cache
def load_machine(name: str) -> Machine:
    """Reads sweeps/machines/<name>.toml.

    Raises LockcrossError (exit code 2) for an unknown machine or a faulty description.
    """
    if name not in machine_names():
        raise LockcrossError(f"machine {name!r} is unknown; known are {', '.join(machine_names())}")
    path = MACHINES / f"{name}.toml"
    try:
        machine = parse_machine(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise LockcrossError(f"{path.relative_to(ROOT)}: {error}") from None
    if machine.name != name:
        raise LockcrossError(
            f"{path.relative_to(ROOT)}: name: {machine.name!r} does not match the file's name"
        )
    return machine


def parse_machine(text: str) -> Machine:
    """Reads a description from TOML. Raises ValueError that names the key and what is allowed."""
    try:
        return Machine.model_validate(tomllib.loads(text))
    except ValidationError as error:
        raise ValueError(explain(error)) from None
