"""Machines: sweeps/machines/*.toml; and the options of the engine, with bounds, of options.def."""

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, Self, TypeVar

from pydantic import AfterValidator, Field, create_model, field_validator, model_validator

from results.errors import LockcrossError
from results.store.missing import why_no_name
from sweeps.model import registry
from sweeps.model.axes import MAX_LATENCY
from sweeps.model.isa import ISAS, host_isa
from sweeps.support import toml
from sweeps.support.paths import MACHINES, OPTIONS_DEF, OWN_MACHINES
from sweeps.support.text import quoted
from sweeps.support.toml import Document, Documents, is_path

_ENTRY = re.compile(r'^([A-Z_]+)\(((?:[^"()]|"[^"]*")*)\)', re.MULTILINE)
_MEANING = re.compile('"[^"]*"')


@dataclass(frozen=True)
class Option:
    """One option: its default and bounds, both allowed. `names`: of its values from 0 on, where
    machine files use names. `power_of_two`: it must be one, or 0 where that is allowed."""

    name: str
    default: int
    low: int
    high: int
    names: tuple[str, ...] = ()
    power_of_two: bool = False


@cache
def options() -> dict[str, Option]:
    """Return every option by name, in the table's order. Raises LockcrossError (1)."""
    bounds = {"SWITCH": [0, 1]}
    known: dict[str, Option] = {}
    for kind, arguments in _ENTRY.findall(registry.read(OPTIONS_DEF)):
        name, *values = re.findall(r"[\w']+", _MEANING.sub("", arguments))
        if kind == "CHOICE":
            default, *names = values
            known[name] = Option(name, names.index(default), 0, len(names) - 1, tuple(names))
            continue
        numbers = [int(value.replace("'", "")) for value in values]  # C++ has marks in them
        if kind == "BOUND":
            bounds["LATENCY"] = [0, *numbers]
        else:
            default, low, high = [*numbers, *bounds.get(kind, [])]
            known[name] = Option(name, default, low, high, power_of_two=kind == "POWER_OF_TWO")
    return known


Value = TypeVar("Value", int, str)


class _Stated(Document, Generic[Value]):
    """Something measured or documented (`value`, `source`), derived from a figure of another
    machine (`derived`, `source`), or assumed (`assumption`, `why`)."""

    value: Value | None = None
    derived: Value | None = None
    source: str | None = Field(None, min_length=1)
    assumption: Value | None = None
    why: str | None = Field(None, min_length=1)

    @model_validator(mode="after")
    def _one_of_three(self) -> Self:
        numbers = (self.value, self.derived, self.assumption)
        known, derived, assumed = (number is not None for number in numbers)
        sourced, reasoned = (words is not None for words in (self.source, self.why))
        if known + derived + assumed != 1 or (sourced, reasoned) != (not assumed, assumed):
            raise ValueError(
                "either { value = N, source = '...' }, { derived = N, source = '...' } or "
                "{ assumption = N, why = '...' } is expected"
            )
        return self

    @property
    def stated(self) -> Value:
        """Return the value, measured, documented, derived or assumed."""
        known = [one for one in (self.value, self.derived, self.assumption) if one is not None]
        return known[0]  # _one_of_three saw to it


class Figure(_Stated[Annotated[int, Field(ge=0)]]):
    """One number. `low` and `high`: the interval that the sources leave open."""

    low: Annotated[int, Field(ge=0)] | None = None
    high: Annotated[int, Field(ge=0)] | None = None

    @model_validator(mode="after")
    def _within_its_interval(self) -> Self:
        low, high = self.interval
        if not low <= self.number <= high:
            raise ValueError(f"{self.number} is not from low, {low}, to high, {high}")
        return self

    @property
    def number(self) -> int:
        return self.stated

    @property
    def interval(self) -> tuple[int, int]:
        """Return the least and the most that it may be; twice the figure where nothing is said."""
        low, high = (self.number if end is None else end for end in (self.low, self.high))
        return low, high


class Behaviour(_Stated[str]):
    def as_figure(self, allowed: Iterable[str]) -> Figure:
        """Return its number among those allowed. Raises ValueError if it is none of them."""
        known, name = list(allowed), self.stated
        if name not in known:
            raise ValueError(f"{quoted(name)} is unknown; allowed are {', '.join(known)}")
        number = known.index(name)
        if self.source is None:
            return Figure(assumption=number, why=f"{name}: {self.why}")
        return Figure(value=number, source=f"{name}: {self.source}")


def _checked(figure: Figure, low: int, high: int, power_of_two: bool = False) -> Figure:
    for number in (figure.number, *figure.interval):
        if power_of_two and number and number.bit_count() != 1:
            raise ValueError(f"{quoted(number)} is not a power of two")
        if not low <= number <= high:
            raise ValueError(f"{quoted(number)} is not from {low} to {high}")
    return figure


def about(model: type[Document], field: str) -> Mapping[str, Any]:
    """Return the facts of a field: a figure's `unit`, `low` and `high`, both allowed, and
    whether it must be a `power_of_two`; a behaviour's `names`, in the order in which the plugin
    numbers them, with their meanings; nothing for another field."""
    extra = model.model_fields[field].json_schema_extra
    return extra if isinstance(extra, dict) else {}


class Figures(Document):
    @field_validator("*")
    @classmethod
    def _as_allowed(cls, stated: Any, info: Any) -> Any:
        bounds = about(cls, info.field_name)
        if isinstance(stated, Figure):
            _checked(stated, bounds["low"], bounds["high"], bounds["power_of_two"])
        elif isinstance(stated, Behaviour):
            stated.as_figure(bounds["names"])
        return stated

    def figure(self, name: str) -> Figure:
        figure: Figure = getattr(self, name)
        return figure

    def number(self, name: str) -> int:
        return self.figure(name).number


_SAID = tomllib.loads(Path(__file__).with_name("figures.toml").read_text(encoding="utf-8"))


def _fields(table: str, prefix: str = "") -> dict[str, Any]:
    """Return the fields of a table of figures.toml, as pydantic takes them: with the type and the
    facts of each. `prefix`: before their names among the plugin's options."""
    fields: dict[str, Any] = {}
    for name, meaning_or_row in _SAID[table].items():
        row = meaning_or_row if isinstance(meaning_or_row, dict) else {"meaning": meaning_or_row}
        option = None if "high" in row else options()[prefix + name]
        bounds = vars(option) if option else {"low": 1, "power_of_two": False, **row}
        extra: Any = {key: bounds[key] for key in ("low", "high", "power_of_two")}
        meaning = row["meaning"] + ", of a ring or mesh" * (row.get("of") == "network")
        if option and option.names:
            extra["names"] = {value: row.get("names", {}).get(value, "") for value in option.names}
        else:
            extra["unit"], _, meaning = meaning.partition(" ")
        kind = Behaviour if "names" in extra else Figure
        field = partial(Field, description=meaning, json_schema_extra=extra)
        optional = "of" in row or "optional" in row
        fields[name] = (kind | None, field(None)) if optional else (kind, field())
    return fields


def _said(name: str, default: Any = ..., **limits: Any) -> Any:
    """Declare a field that is no figure, or stands at the head of the file."""
    return Field(default, description=_SAID["head"][name], **limits)


MOST_ON_A_BUS = 32  # cores: a bus passes about one message a cycle
_NETWORK, _BUS = (
    tuple(name for name, said in _SAID["memory_system"].items() if said.get("of") == kind)
    for kind in ("network", "bus")
)
_OF_TOPOLOGY = {"bus": _BUS, "ring": _NETWORK, "mesh": _NETWORK}


class _Topology(Figures):
    topology: Literal["bus", "ring", "mesh"] = _said("topology")


_System = create_model("_System", __base__=_Topology, **_fields("memory_system"))


class MemorySystem(_System):
    """A shared cache in slices, inclusive and kept coherent by MESI, the memory behind it, and
    their connection with the cores.

    A bus has one slice and one memory. In a ring or a mesh each node has a router, a core, and its
    share of the slices, over which lines are interleaved; at the edge are memory controllers, each
    with a directory.
    """

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        uses = _OF_TOPOLOGY[self.topology]
        stated = [name for name in (*_NETWORK, *_BUS) if name in self.figures()]
        if unused := [name for name in stated if name not in uses]:
            raise ValueError(f"{unused[0]}: a {self.topology} does not use it")
        if missing := [name for name in uses if name not in stated]:
            raise ValueError(f"{missing[0]}: missing; a {self.topology} needs it")
        slices = self.number("slices")
        if self.topology == "bus":
            if slices != 1:
                raise ValueError(f"slices: {slices}: a bus has one")
            return self
        wide, high = self.number("columns"), self.number("rows")
        if self.topology == "ring" and high != 1:
            raise ValueError(f"rows: {high}: a ring has one row")
        if self.nodes < 2:
            raise ValueError("columns: a network has at least two nodes")
        if self.nodes % slices:
            raise ValueError(f"slices: {slices} cannot be spread evenly over {self.nodes} nodes")
        # At the edge are all nodes of a ring, or of a mesh of one row.
        edge = self.nodes - max(0, wide - 2) * max(0, high - 2)
        if (controllers := self.number("memory_controllers")) > edge:
            raise ValueError(
                f"memory_controllers: {controllers}: only {edge} nodes are at the edge"
            )
        return self

    def links(self, a: int, b: int) -> int:
        """Return how many links lie between two nodes of a ring or a mesh."""
        columns = self.number("columns")
        if self.topology == "ring":
            return min(abs(a - b), columns - abs(a - b))
        return abs(a % columns - b % columns) + abs(a // columns - b // columns)

    @property
    def nodes(self) -> int:
        """Return how many cores it has room for."""
        if self.topology == "bus":
            return MOST_ON_A_BUS
        return self.number("columns") * self.number("rows")

    def figures(self) -> dict[str, Figure]:
        """Return every figure that the topology uses, by name."""
        return {name: value for name, value in self if isinstance(value, Figure)}

    def settings(self) -> dict[str, int | str]:
        """Return the topology and every number, by name."""
        numbers = {name: figure.number for name, figure in self.figures().items()}
        return {"topology": self.topology, **numbers}


HOST = "host"  # the machine of runs on a host that no description has
_WIDEST_IN_ORDER = 2
IN_ORDER, SIMULATED, MEASURED = "in order", "simulators' own cores", "measured on a host"
GROUPS = ("contemporary, out of order", "older, out of order", IN_ORDER, SIMULATED, MEASURED)

Core = create_model("Core", __base__=Figures, **_fields("core"))
OutOfOrder = create_model("OutOfOrder", __base__=Figures, **_fields("out_of_order"))
Ordering = create_model("Ordering", __base__=Figures, **_fields("ordering"))
Memory = create_model("Memory", __base__=Figures, **_fields("memory"))

# What stopping the owner of a reservation takes, by the state in which it is.
STOPS = ("stop_running", "stop_blocked", "stop_ended")


class _Charges(Figures):
    @model_validator(mode="before")
    @classmethod
    def _of_every_state(cls, table: Any) -> Any:
        """Users' files of former versions have one figure, `stop`, for all states."""
        if not isinstance(table, dict) or "stop" not in table:
            return table
        others = {name: figure for name, figure in table.items() if name != "stop"}
        return others | dict.fromkeys(STOPS, table["stop"])


Charges = create_model("Charges", __base__=_Charges, **_fields("charges", "charge_"))
# A table, and figures that say something only together.
_TOGETHER = (
    ("memory", ("cluster", "lat_dirty_far", "lat_upgrade_far")),
    ("memory", ("lat_far_atomic", "far_atomic_every")),
    ("charges", ("falls_asleep", "unpark_awake", "wake_awake")),
    ("charges", ("sleeps_long", "unpark_long", "wake_long")),
    ("charges", ("barrier", "barrier_core", "interrupt")),
)
_PLACES = ("returning_atomics", "store_atomics")
BEHAVIOURS = {name: tuple(about(Ordering, name)["names"]) for name in Ordering.model_fields}


ATOMICS: dict[str, str] = _SAID["latency"]  # of a table [latency.ISA], beside the ISA's fences
LATENCY = {"low": 0, "high": MAX_LATENCY, "unit": "cycles"}
_Latency = Annotated[Figure, AfterValidator(lambda figure: _checked(figure, 0, MAX_LATENCY))]


class Measured(Document):
    """A figure that was measured beside those that engines read. `spread`: between the quartiles,
    in the same unit."""

    value: float
    spread: Annotated[float, Field(ge=0)]
    unit: str = "cycles"
    meaning: str = Field(min_length=1)


_CLOCK = {"low": 1, "high": 100_000, "power_of_two": False, "unit": "MHz"}


class Machine(Figures):
    name: str = _said("name", min_length=1)
    title: str = _said("title", min_length=1)
    like: str | None = _said("like", None, exclude=True)
    interconnect: str | None = _said("interconnect", None, exclude=True)
    isas: list[str] = Field(min_length=1, description=f"its ISAs, of {', '.join(ISAS)}")
    era: Literal["contemporary", "older"] = _said("era", "contemporary")
    simulator: bool = _said("simulator", False)
    clock_mhz: Figure = _said("clock_mhz", json_schema_extra=_CLOCK)
    core: Core
    out_of_order: OutOfOrder | None = _said("out_of_order", None)
    ordering: dict[str, Ordering] = {}
    memory: Memory
    sst: MemorySystem | None = None
    latency: dict[str, dict[str, _Latency]]
    charges: Charges
    processor: str | None = _said("processor", None, min_length=1)
    measured_on: datetime | None = _said("measured_on", None)
    measured: dict[str, Measured] = _said("measured", {})
    processors: list[str] = _said("processors", [])

    @model_validator(mode="before")
    @classmethod
    def _with_figures_of_another(cls, tables: Any) -> Any:
        if not isinstance(tables, dict):
            return tables
        tables = _whole(tables)
        return tables | ({"out_of_order": None} if tables.get("out_of_order") is False else {})

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        if why := why_no_name(self.name):
            raise ValueError(f"name: {why}")
        if unknown := [isa for isa in self.isas if isa not in ISAS]:
            raise ValueError(f"isas: {unknown[0]!r} is unknown; known are {', '.join(ISAS)}")
        ordered = self.isas if self.out_of_order is not None else []
        tables: tuple[tuple[str, Mapping[str, Any], list[str]], ...] = (
            ("latency", self.latency, self.isas),
            ("ordering", self.ordering, ordered),
        )
        for table, stated, isas in tables:
            if set(stated) != set(isas):
                raise ValueError(
                    f"{table}: {'one table for each of isas' if isas else 'no table'} "
                    f"({', '.join(isas) or 'the core is in order'}) is expected, "
                    f"not {', '.join(stated) or 'none'}"
                )
        for table, together in _TOGETHER:
            named = [name for name in together if getattr(getattr(self, table), name) is not None]
            if named and (missing := [name for name in together if name not in named]):
                raise ValueError(f"{table}.{missing[0]}: missing; {named[0]} needs it")
        for isa, order in self.ordering.items():
            self._check_places(isa, order)
        line, width = self.memory.number("line"), self.core.number("width")
        for isa, figures in self.latency.items():
            self._check_latencies(isa, figures)
        if self.sst is not None:
            size, ways = self.sst.number("slice_size"), self.sst.number("slice_ways")
            if size % (ways * line):
                raise ValueError(
                    f"sst.slice_size: {size}: no whole number of sets of {ways} lines of {line} "
                    "bytes"
                )
        if width > _WIDEST_IN_ORDER and self.out_of_order is None:
            raise ValueError(
                f"core.width: {width}: a core without a table out_of_order has "
                f"{_WIDEST_IN_ORDER} at most"
            )
        return self

    def _check_places(self, isa: str, order: Figures) -> None:
        for name in _PLACES:
            place = getattr(order, name)
            if place is None or place.stated == "near":
                continue
            if isa != "aarch64":
                raise ValueError(f"ordering.{isa}.{name}: only AArch64 has such atomics")
            if dict(self.memory)["lat_far_atomic"] is None:
                raise ValueError(f"memory.lat_far_atomic: missing; ordering.{isa}.{name} needs it")
            if not self.memory.number("time_of_flight") or self.core.number("micro_operations"):
                raise ValueError(
                    f"ordering.{isa}.{name}: atomics that run far need memory.time_of_flight = 1 "
                    "and core.micro_operations = 0"
                )

    def runs_far(self, isa: str) -> bool:
        """Return whether atomics of `isa` may run at a line's home."""
        stated = dict(self.ordering.get(isa, ()))
        return any(stated.get(name) and stated[name].stated != "near" for name in _PLACES)

    def _check_latencies(self, isa: str, figures: Mapping[str, Figure]) -> None:
        wanted = {*ATOMICS, *ISAS[isa].fences}
        missing = ", ".join(sorted(wanted - set(figures)))
        unknown = ", ".join(sorted(set(figures) - wanted))
        if missing or unknown:
            wrong = [f"{unknown} unknown"] * bool(unknown) + [f"{missing} missing"] * bool(missing)
            allowed = f"; allowed are {', '.join(sorted(wanted))}" * (not missing)
            raise ValueError(f"latency.{isa}: {', '.join(wrong)}{allowed}")
        access = self.memory.number("lat_l1")
        for name in ATOMICS:
            if figures[name].number < access:
                raise ValueError(
                    f"latency.{isa}.{name}: {figures[name].number} is less than memory.lat_l1, "
                    f"{access}; an atomic's figure covers the whole operation, including its access"
                )

    @property
    def group(self) -> str:
        """Return its heading in lists, one of GROUPS."""
        if self.simulator:
            return SIMULATED
        if self.processor is not None:
            return MEASURED
        return IN_ORDER if self.out_of_order is None else f"{self.era}, out of order"

    def figures(self, isa: str) -> dict[str, Figure]:
        """Return every figure that bears on runs of `isa`, by its engine option's name (interfaces,
        6)."""
        figures = dict(self.core) | dict(self.memory)
        if self.out_of_order is not None:
            figures["out_of_order"] = Figure(assumption=1, why="the machine has such a table")
            figures |= dict(self.out_of_order)
        figures |= self.of_isa(isa) | {f"charge_{name}": charge for name, charge in self.charges}
        return {name: figure for name, figure in figures.items() if figure is not None}

    def of_isa(self, isa: str) -> dict[str, Figure]:
        """Return the figures that may differ between ISAs: ordering, atomics and fences."""
        order = {name: how for name, how in self.ordering.get(isa, ()) if how is not None}
        stated = {name: how.as_figure(BEHAVIOURS[name]) for name, how in order.items()}
        return stated | self.latency[isa]

    def as_toml(self) -> str:
        """Return a file of this machine, which states every figure."""
        dumped = self.model_dump(exclude_defaults=True)
        tables = {
            key: dumped.pop(key)
            for key, value in self
            if key in dumped and isinstance(value, dict | Figures)
        }
        lines = toml.pairs(dumped)
        for name, table in tables.items():
            of_isas = name in ("ordering", "latency")
            parts = {f"{name}.{isa}": table[isa] for isa in table} if of_isas else {name: table}
            for head, figures in parts.items():
                lines += ["", f"[{head}]", *toml.pairs(figures)]
        return "\n".join(lines) + "\n"


FILES = Documents("machine", MACHINES)
INTERCONNECTS = Documents("interconnect", MACHINES / "interconnects")


class Interconnect(Document):
    """The connections between the cores of a chip, at its clock. Its figures are of machine files'
    tables and are checked with the machine's."""

    name: str = _said("name", min_length=1)
    title: str = _said("title", min_length=1)
    clock_mhz: dict[str, Any]
    memory: dict[str, Any]
    ordering: dict[str, dict[str, Any]] = {}

    @model_validator(mode="after")
    def _nothing_of_the_core(self) -> Self:
        for table, stated in (("memory", self.memory), *self.ordering.items()):
            allowed = _SAID["interconnect"]["memory" if table == "memory" else "ordering"]
            if others := [name for name in stated if name not in allowed]:
                raise ValueError(
                    f"{table}.{others[0]}: belongs to a core, not to an interconnect; allowed are "
                    f"{', '.join(allowed)}"
                )
        return self


@cache
def _tables(name: str) -> dict[str, Any]:
    return tomllib.loads(FILES.path(name).read_text(encoding="utf-8"))


def _whole(tables: dict[str, Any], through: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return a machine's tables with the figures that it does not state: its interconnect's, then
    those of the machine that it is like. `through`: the machines that led to it, each like the
    next. Raises ValueError."""
    part, like = (tables.get(key) for key in ("interconnect", "like"))
    stated = {
        key: value
        for key, value in tables.items()
        if key not in ("interconnect", "like") or not isinstance(value, str)
    }
    if isinstance(part, str):
        if part not in INTERCONNECTS.names():
            known = ", ".join(INTERCONNECTS.names())
            raise ValueError(f"interconnect: {quoted(part)} is unknown; allowed are {known}")
        stated = _filled(stated, INTERCONNECTS.load(Interconnect, part).model_dump())
    if isinstance(like, str):
        if like in through or like not in machine_names():
            why = "takes figures from this one" if like in through else "is unknown"
            known = ", ".join(name for name in machine_names() if name not in through)
            raise ValueError(f"like: {quoted(like)} {why}; allowed are {known}")
        stated = _filled(stated, _whole(_tables(like), (*through, like)))
    return stated


def _filled(own: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return a machine's tables with the figures of another where it states none: those of its ISAs
    and, of a memory system, of its topology."""
    isas = own["isas"] if isinstance(own.get("isas"), list) else []

    def both(mine: Any, others: Mapping[str, Any]) -> Any:
        if not isinstance(mine, dict):
            return mine  # what is no table is refused
        uses = _OF_TOPOLOGY.get(str(mine.get("topology", others.get("topology"))), ())
        unused = {*_NETWORK, *_BUS}.difference(uses)
        return {name: option for name, option in others.items() if name not in unused} | mine

    filled = {"clock_mhz": other["clock_mhz"], **own}
    in_order = own.get("out_of_order") is False
    for table in Machine.model_fields:
        others, mine = other.get(table), own.get(table, {})
        if not isinstance(others, dict) or table in ("clock_mhz", "measured"):
            continue
        if table not in ("ordering", "latency"):
            filled[table] = both(mine, others)
        elif isinstance(mine, dict) and not (table == "ordering" and in_order):
            shared = [isa for isa in others if isa in isas]
            filled[table] = mine | {isa: both(mine.get(isa, {}), others[isa]) for isa in shared}
    return filled


def machine_names() -> list[str]:
    return FILES.names()


def machines_of(processor: str) -> list[str]:
    """Return the names of the machines measured on a kind of processor, the latest first."""
    measured = [
        machine for machine in map(load_machine, machine_names()) if machine.processor == processor
    ]
    measured.sort(key=lambda machine: str(machine.measured_on or ""), reverse=True)
    return [machine.name for machine in measured]


def machines_like(processor: str) -> list[tuple[str, bool]]:
    """Return the machines that name a kind of processor, and whether they name all of it; without
    any, the one that names most of it."""
    parts_of_it = set(processor.split(", "))
    kinds = {
        machine.name: [set(kind.split(", ")) for kind in machine.processors]
        for machine in map(load_machine, machine_names())
        if machine.processor is None
    }
    if named_in_full := [
        name for name, named in kinds.items() if any(parts <= parts_of_it for parts in named)
    ]:
        return [(name, True) for name in named_in_full]
    shared = {
        name: max([0, *(len(parts_of_it & parts) for parts in kinds[name])]) for name in kinds
    }
    nearest = max(shared, key=lambda name: shared[name])
    return [(nearest, False)] if shared[nearest] else []


def isas_of(name: str) -> list[str]:
    """Return the ISAs of a machine, or of the host. Raises LockcrossError as load_machine does."""
    return [host_isa()] if name == HOST else load_machine(name).isas


@cache
def load_machine(name: str) -> Machine:
    """Read sweeps/machines/<name>.toml, or the kept copy of a user's file.

    Raises LockcrossError (exit code 2) for an unknown machine or a faulty description.
    """
    if is_own(name):
        own = Documents("machine", OWN_MACHINES).load(Machine, name)
        return own.model_copy(update={"name": name})
    machine = FILES.load(Machine, name)
    if machine.name != name:
        raise LockcrossError(
            f"sweeps/machines/{name}.toml: name: {machine.name!r} does not match the file's name"
        )
    return machine


def machine_named(name_or_path: str) -> str:
    """Return the name under which a machine is known and stored: its own in the tree; for a user's
    file one that stands for its content, of which a copy is kept with the figures that it takes
    from another, so that it can be run again after the file has changed. Raises LockcrossError."""
    if not is_path(name_or_path):
        return name_or_path
    machine = FILES.load(Machine, name_or_path)
    if not re.fullmatch(r"\w[\w-]*", machine.name, re.ASCII):
        raise LockcrossError(
            f"{name_or_path}: name: {quoted(machine.name)}: letters, digits, _ and - are allowed"
        )
    content = json.dumps(machine.model_dump(mode="json"), sort_keys=True)
    name = f"{machine.name}@{hashlib.sha256(content.encode()).hexdigest()[:10]}"
    place = OWN_MACHINES / f"{name}.toml"
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        new = place.with_suffix(f".{os.getpid()}")
        new.write_text(machine.as_toml(), encoding="utf-8")
        new.rename(place)
    return name


def is_own(name: str) -> bool:
    """Return whether a name is that of a file of the user's own, of which there is a copy."""
    return "@" in name and not is_path(name) and (OWN_MACHINES / f"{name}.toml").exists()


def known_machines(names: Iterable[str]) -> list[str]:
    """Return all machines of the tree, and those of the given names that are users' own."""
    return [*machine_names(), *filter(is_own, names)]


MachineName = Annotated[str, AfterValidator(machine_named)]  # in plans: a name or a path
