"""Machine descriptions: sweeps/machines/*.toml, each figure with a source or marked as assumed."""

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator

from results.errors import LockcrossError
from sweeps.model.axes import MAX_LATENCY
from sweeps.model.isa import ISAS, host_isa
from sweeps.model.options import options
from sweeps.support import toml
from sweeps.support.paths import MACHINES, OWN_MACHINES
from sweeps.support.text import shown
from sweeps.support.toml import Document, is_path, load, names


class Figure(Document):
    """One number: measured or documented (`value`, `source`), or assumed (`assumption`, `why`)."""

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
        """The figure itself, measured or assumed."""
        number = self.value if self.value is not None else self.assumption
        assert number is not None  # _one_of_two saw to it
        return number


class Behaviour(Document):
    """How a core orders memory, by name: known (`value`, `source`), or assumed (`assumption`,
    `why`)."""

    value: str | None = None
    source: str | None = Field(None, min_length=1)
    assumption: str | None = None
    why: str | None = Field(None, min_length=1)

    def as_figure(self, allowed: Iterable[str]) -> Figure:
        """Its number among those allowed. Raises ValueError if it is none of them."""
        known = list(allowed)
        name = self.value if self.value is not None else self.assumption
        if name not in known:
            raise ValueError(f"{shown(name)} is unknown; allowed are {', '.join(known)}")
        number = known.index(name)
        if self.value is not None:
            return Figure(value=number, source=self.source and f"{name}: {self.source}")
        return Figure(assumption=number, why=self.why and f"{name}: {self.why}")


def _figure(
    low: int, high: int, unit: str, meaning: str, *, power_of_two: bool = False, default: Any = ...
) -> Any:
    """A field for a figure with these bounds, both allowed."""
    about: Any = {"low": low, "high": high, "unit": unit, "power_of_two": power_of_two}
    return Field(default, description=meaning, json_schema_extra=about)


def _cycles(high: int, meaning: str, low: int = 0, default: Any = ...) -> Any:
    return _figure(low, high, "cycles", meaning, default=default)


def _option(unit: str, meaning: str, default: Any = ...) -> Any:
    """A field for one of the plugin's options, which has its bounds."""
    return Field(default, description=meaning, json_schema_extra={"unit": unit})


def _network(low: int, high: int, unit: str, meaning: str, power_of_two: bool = False) -> Any:
    """A field for a figure of a ring or a mesh alone."""
    meaning += ", of a ring or mesh"
    return _figure(low, high, unit, meaning, power_of_two=power_of_two, default=None)


def _behaviour(meaning: str, **names: str) -> Any:
    """A field for a behaviour. `names`: what may be said, in the order in which the plugin numbers
    it, and what each means."""
    said: Any = {"names": names}
    return Field(description=meaning, json_schema_extra=said)


def _checked(figure: Figure, low: int, high: int, power_of_two: bool = False) -> Figure:
    number = figure.number
    if power_of_two and number and number.bit_count() != 1:
        raise ValueError(f"{shown(number)} is not a power of two")
    if not low <= number <= high:
        raise ValueError(f"{shown(number)} is not from {low} to {high}")
    return figure


def about(model: type[Document], field: str) -> Mapping[str, Any]:
    """What is said of a field of a figure or a behaviour; nothing of another. The plugin's options
    have their bounds from its own table (options.py)."""
    said = model.model_fields[field].json_schema_extra
    if not isinstance(said, dict):
        return {}
    prefix = getattr(model, "of_plugin", None)
    if prefix is None:
        return said
    option = options()[prefix + field]
    assert tuple(said.get("names", ())) == option.names, field  # type: ignore[arg-type]
    bounds = {"low": option.low, "high": option.high, "power_of_two": option.power_of_two}
    return {**said, **bounds}


class Figures(Document):
    """A table of figures and behaviours, whose fields say what each means and may be. `of_plugin`:
    what stands before their names in the plugin's table of options; None where they are none of
    those."""

    of_plugin: ClassVar[str | None] = None

    @field_validator("*")
    @classmethod
    def _as_allowed(cls, given: Any, info: ValidationInfo) -> Any:
        said = about(cls, str(info.field_name))
        if isinstance(given, Figure):
            _checked(given, said["low"], said["high"], said["power_of_two"])
        elif isinstance(given, Behaviour):
            given.as_figure(said["names"])
        return given


MOST_ON_A_BUS = 32  # cores: a bus passes about one message a cycle

_NETWORK = (
    "columns", "rows", "memory_controllers", "lat_directory", "link_bytes", "lat_link", "lat_router"
)  # fmt: skip
_OF_TOPOLOGY = {"bus": ("bus_latency",), "ring": _NETWORK, "mesh": _NETWORK}


class MemorySystem(Figures):
    """A shared cache in slices, inclusive and kept coherent by MESI, the memory behind it, and what
    connects them with the cores.

    A bus has one slice and one memory. In a ring or a mesh each node has a router, a core, and its
    share of the slices, over which lines are interleaved; at the edge are memory controllers, each
    with a directory.
    """

    topology: Literal["bus", "ring", "mesh"] = Field(
        description="what connects cores, slices and memory; a bus has room for 32 cores and no "
        "queues"
    )
    columns: Figure | None = _network(1, 64, "nodes", "a row")
    rows: Figure | None = _network(1, 64, "rows", "of nodes; a ring has one")
    slices: Figure = _figure(
        1, 1024, "slices", "of the shared cache, as many at each node; a bus has one"
    )
    slice_size: Figure = _figure(64, 2**30, "bytes", "of each slice")
    slice_ways: Figure = _figure(1, 64, "ways", "of each slice")
    lat_slice: Figure = _cycles(1000, "of an access to a slice", low=1)
    memory_controllers: Figure | None = _network(1, 1024, "controllers", "at nodes of the edge")
    lat_directory: Figure | None = _network(1, 1000, "cycles", "of each controller's directory")
    lat_memory_access: Figure = _cycles(MAX_LATENCY, "of memory itself", low=1)
    bus_latency: Figure | None = _cycles(1000, "of a transfer on a bus", low=1, default=None)
    link_bytes: Figure | None = _network(1, 256, "bytes", "a cycle of a link", power_of_two=True)
    lat_link: Figure | None = _network(1, 1000, "cycles", "from router to router")
    lat_router: Figure | None = _network(1, 1000, "cycles", "through each router on the way")
    l1_mshrs: Figure = _figure(2, 1024, "misses", "at a time of each L1, which is [memory]'s")
    slice_mshrs: Figure = _figure(2, 1024, "misses", "at a time of each slice")

    @model_validator(mode="after")
    def _what_the_topology_uses(self) -> Self:
        uses = _OF_TOPOLOGY[self.topology]
        given = [n for n in (*_NETWORK, "bus_latency") if getattr(self, n) is not None]
        if unused := [name for name in given if name not in uses]:
            raise ValueError(f"{unused[0]}: a {self.topology} does not use it")
        if missing := [name for name in uses if name not in given]:
            raise ValueError(f"{missing[0]}: missing; a {self.topology} needs it")
        return self

    @model_validator(mode="after")
    def _parts_fit_the_nodes(self) -> Self:
        slices = self.slices.number
        if self.topology == "bus":
            if slices != 1:
                raise ValueError(f"slices: {slices}: a bus has one")
            return self
        assert self.columns and self.rows and self.memory_controllers
        wide, high = self.columns.number, self.rows.number
        if self.topology == "ring" and high != 1:
            raise ValueError(f"rows: {high}: a ring has one row")
        if self.nodes < 2:
            raise ValueError("columns: a network has at least two nodes")
        if self.nodes % slices:
            raise ValueError(f"slices: {slices} cannot be spread evenly over {self.nodes} nodes")
        # At the edge are all nodes of a ring, or of a mesh of one row.
        edge = self.nodes - max(0, wide - 2) * max(0, high - 2)
        if (controllers := self.memory_controllers.number) > edge:
            raise ValueError(
                f"memory_controllers: {controllers}: only {edge} nodes are at the edge"
            )
        return self

    def links(self, a: int, b: int) -> int:
        """How many links lie between two nodes of a ring or a mesh."""
        assert self.columns is not None
        columns = self.columns.number
        if self.topology == "ring":
            return min(abs(a - b), columns - abs(a - b))
        return abs(a % columns - b % columns) + abs(a // columns - b // columns)

    @property
    def nodes(self) -> int:
        """How many cores it has room for."""
        if self.columns is None or self.rows is None:
            return MOST_ON_A_BUS
        return self.columns.number * self.rows.number

    def figures(self) -> dict[str, Figure]:
        """Every figure that the topology uses, by name."""
        return {name: one for name, one in self if isinstance(one, Figure)}

    def settings(self) -> dict[str, int | str]:
        """The topology and every number, by name."""
        numbers = {name: figure.number for name, figure in self.figures().items()}
        return {"topology": self.topology, **numbers}


HOST = "host"  # the machine of runs on a host that no description has
_WIDEST_IN_ORDER = 2
IN_ORDER, SIMULATED, MEASURED = "in order", "simulators' own cores", "measured on a host"
GROUPS = ("contemporary, out of order", "older, out of order", IN_ORDER, SIMULATED, MEASURED)


class Core(Figures):
    """The core."""

    of_plugin = ""

    width: Figure = _option(
        "instructions",
        "issued a cycle; of an out-of-order core, that enter its window; in order 2 at most",
    )
    lat_alu: Figure = _option("cycles", "to the result of a simple operation")
    lat_mul: Figure = _option("cycles", "to the result of a multiplication")
    lat_div: Figure = _option("cycles", "to the result of a division")
    taken_branch: Figure = _option(
        "cycles", "added by a taken branch; with pipeline, of fetching a line"
    )
    mispredict: Figure = _option(
        "cycles",
        "added by a mispredicted branch; out of order, from its execution to the fetch of the "
        "right path: a published penalty is front_end + 1 + mispredict + lat_alu",
    )
    predictor_entries: Figure = _option("counters", "of two bits, of the predictor")
    blocking: Figure = _option("switch", "1: every access holds the core until it is done")
    fetch_bytes: Figure = _option("bytes", "of the chunk fetched in a cycle; 0: it takes no time")
    pipeline: Figure = _option(
        "switch", "1: stages, queues and units of gem5's MinorCPU; 0: a static schedule"
    )
    micro_operations: Figure = _option(
        "switch", "1: cracked as gem5 does; not with a static schedule"
    )
    offset_max: Figure = _option("cycles", "that a core starts late at most, by the seed")


class OutOfOrder(Figures):
    """The instruction window of a core that has one; without this table the core is in order."""

    of_plugin = ""

    fetch_width: Figure = _option("micro-operations", "fetched a cycle")
    fetch_line: Figure = _option(
        "cycles", "from fetching in one line until fetching in the next; 0: at once"
    )
    front_end: Figure = _option("cycles", "from fetch to the window")
    predictor_history: Figure = _option(
        "branches", "of history that a second table uses; 0: there is none"
    )
    fuse_branches: Figure = _option(
        "switch", "1: a comparison and the branch behind it are one operation"
    )
    rob: Figure = _option("entries", "of the reorder buffer")
    scheduler: Figure = _option("entries", "for what waits for operands")
    load_queue: Figure = _option("entries", "for loads until they retire")
    miss_buffers: Figure = _option("misses", "of the L1 at a time")
    retire_delay: Figure = _option("cycles", "from a result to retirement")
    retire_width: Figure = _option("micro-operations", "retired a cycle")
    squash_width: Figure = _option(
        "micro-operations", "that leave the window in a cycle when squashed; 0: all"
    )
    alu_ports: Figure = _option("operations", "that are simple, a cycle")
    load_ports: Figure = _option("loads", "a cycle")
    store_ports: Figure = _option("stores", "executed a cycle")
    lat_issue: Figure = _option("cycles", "from issue of an access to the L1, beside lat_l1")
    lat_forward: Figure = _option(
        "cycles", "of a load of just what a store wrote; 0: memory is renamed"
    )
    lat_forward_part: Figure = _option("cycles", "of a load of a part of what a store wrote")
    forward_fail: Figure = _option(
        "cycles", "added to a load that a store covers in part, once drained"
    )
    lat_drain: Figure = _option(
        "cycles", "of a store from its access to an own line until all see it"
    )
    lat_pause: Figure = _option(
        "cycles", "that x86's pause holds up what follows; 0: it does nothing"
    )
    alias_bytes: Figure = _option(
        "bytes",
        "of an aligned block: a load waits for an older store to the same one; 1: for one that "
        "overlaps",
    )
    unpredicted_stores: Figure = _option("switch",
        "1: a load behind an unfinished fence or atomic does not wait for older stores to "
        "execute; if one aliases, it is fetched again",
    )  # fmt: skip
    atomic_micro_ops: Figure = _option("micro-operations", "of an atomic in the window")
    atomic_tail: Figure = _option(
        "cycles", "from an atomic's end until the cache is free for what follows"
    )
    lat_oldest: Figure = _option("cycles", "until that starts which waits until it is the oldest")


class Ordering(Figures):
    """What an out-of-order core lets pass what, on one ISA: named behaviours."""

    of_plugin = ""

    atomic_start: Behaviour = _behaviour(
        "when an atomic starts",
        at_once="", when_oldest="", when_drained="as the oldest and after all stores",
    )  # fmt: skip
    atomic_loads: Behaviour = _behaviour(
        "loads behind an atomic", **{"wait": "for its end", "pass": "it"}
    )
    full_fence: Behaviour = _behaviour(
        "what a full fence holds up",
        barrier="loads and stores behind it", serializing="everything behind it",
    )  # fmt: skip
    store_order: Behaviour = _behaviour(
        "in which order stores drain",
        any="", in_order="", one_by_one="each begins when the one before it has ended",
    )  # fmt: skip
    acquire_load: Behaviour = _behaviour(
        "whether it waits for older release stores", waits="", does_not_wait=""
    )


BEHAVIOURS = {name: tuple(about(Ordering, name)["names"]) for name in Ordering.model_fields}


class Memory(Figures):
    """Caches, and the store buffer. Fills and transfers are added to lat_l1."""

    of_plugin = ""

    line: Figure = _option("bytes", "of a cache line")
    l1_size: Figure = _option("bytes", "of a core's own L1 data cache")
    l1_ways: Figure = _option("ways", "of the L1")
    lat_l1: Figure = _option("cycles", "from load to use of an L1 hit")
    l2_size: Figure = _option("bytes", "of the shared L2")
    l2_ways: Figure = _option("ways", "of the L2")
    lat_l2: Figure = _option("cycles", "of a clean fill from the L2")
    lat_memory: Figure = _option("cycles", "of a fill from memory")
    lat_dirty: Figure = _option("cycles", "to take a line from another core's E or M copy")
    lat_upgrade: Figure = _option("cycles", "of an upgrade from S to M")
    lat_invalidate: Figure = _option("cycles", "added when other copies must be invalidated")
    store_buffer: Figure = _option(
        "entries", "of the store buffer; 0: a store holds the core until done"
    )
    warm: Figure | None = _option(
        "switch",
        "1: lines are in the caches when the region begins; left out: they are not",
        default=None,
    )


class Charges(Figures):
    """Costs that need an operating system or a thread library."""

    of_plugin = "charge_"

    stop: Figure = _option("cycles", "to stop another thread")
    park: Figure = _option("cycles", "to suspend oneself")
    unpark: Figure = _option("cycles", "to wake another thread")
    wake: Figure = _option("cycles", "of being woken")
    switch: Figure = _option("cycles", "of a core to take up a thread")


ATOMICS = {  # of a table [latency.ISA], beside the ISA's fences
    "cas_success": "of a CAS that wins, the whole operation with its access, on a line of the core",
    "cas_failure": "of a CAS that loses, the same",
    "rmw": "of any other atomic, the same",
}
LATENCY = {"low": 0, "high": MAX_LATENCY, "unit": "cycles"}
_Latency = Annotated[Figure, AfterValidator(lambda figure: _checked(figure, 0, MAX_LATENCY))]


class Measured(Document):
    """A figure that was measured beside those that engines read. `spread`: between the quartiles,
    in the same unit."""

    value: float
    spread: Annotated[float, Field(ge=0)]
    unit: str = "cycles"
    meaning: str = Field(min_length=1)


class Machine(Figures):
    """One machine."""

    name: str = Field(min_length=1, description="its name, which is its file's")
    title: str = Field(min_length=1, description="what it is, in words")
    like: str | None = Field(
        None, exclude=True, description="the machine that figures are taken from which this file "
        "does not state; that one states all of its own",
    )  # fmt: skip
    isas: list[str] = Field(min_length=1, description=f"its ISAs, of {', '.join(ISAS)}")
    era: Literal["contemporary", "older"] = Field(
        "contemporary", description="contemporary (if left out) or older: groups it in listings"
    )
    simulator: bool = Field(False, description="true: the core is a simulator's own")
    clock_mhz: Figure = _figure(1, 100000, "MHz", "the clock")
    core: Core
    out_of_order: OutOfOrder | None = Field(
        None,
        description="the table of this name; false: the core is in order, though like's is not",
    )
    ordering: dict[str, Ordering] = {}
    memory: Memory
    sst: MemorySystem | None = None
    latency: dict[str, dict[str, _Latency]]
    charges: Charges
    processor: str | None = Field(
        None, min_length=1, description="the kind of processor on which it was measured, as the "
        "kernel names it",
    )  # fmt: skip
    measured_on: datetime | None = Field(None, description="when it was measured")
    measured: dict[str, Measured] = Field(
        {}, description="what else was measured there: value, spread between the quartiles, unit "
        "(cycles if left out) and meaning",
    )  # fmt: skip
    processors: list[str] = Field(
        [], description="of a machine that was not measured: the kinds of processor that it "
        "describes, by parts of what the kernel calls them",
    )  # fmt: skip

    @model_validator(mode="before")
    @classmethod
    def _with_figures_of_another(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        if isinstance(given.get("like"), str):
            own = {key: value for key, value in given.items() if key != "like"}
            given = _filled(own, _complete(given["like"]))
        return given | ({"out_of_order": None} if given.get("out_of_order") is False else {})

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
            wanted = {*ATOMICS, *ISAS[isa].fences}
            if missing := sorted(wanted - set(figures)):
                raise ValueError(f"latency.{isa}: {', '.join(missing)} missing")
            if unknown := sorted(set(figures) - wanted):
                raise ValueError(
                    f"latency.{isa}: {', '.join(unknown)} unknown; "
                    f"allowed are {', '.join(sorted(wanted))}"
                )
            for name in ATOMICS:
                if figures[name].number < self.memory.lat_l1.number:
                    raise ValueError(
                        f"latency.{isa}.{name}: {figures[name].number} is less than memory.lat_l1, "
                        f"{self.memory.lat_l1.number}; an atomic's figure covers the whole "
                        "operation, including its access"
                    )
        return self

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        wanted = self.isas if self.out_of_order is not None else []
        if set(self.ordering) != set(wanted):
            raise ValueError(
                f"ordering: {'one table for each of isas' if wanted else 'no table'} "
                f"({', '.join(wanted) or 'the core is in order'}) is expected, "
                f"not {', '.join(self.ordering) or 'none'}"
            )
        if self.sst is not None:
            size, ways = self.sst.slice_size.number, self.sst.slice_ways.number
            if size % (ways * self.memory.line.number):
                raise ValueError(
                    f"sst.slice_size: {size}: no whole number of sets of {ways} lines of "
                    f"{self.memory.line.number} bytes"
                )
        if self.core.width.number > _WIDEST_IN_ORDER and self.out_of_order is None:
            raise ValueError(
                f"core.width: {self.core.width.number}: a core without a table out_of_order has "
                f"{_WIDEST_IN_ORDER} at most"
            )
        return self

    @property
    def group(self) -> str:
        """What it is listed under, one of GROUPS."""
        if self.simulator:
            return SIMULATED
        if self.processor is not None:
            return MEASURED
        return IN_ORDER if self.out_of_order is None else f"{self.era}, out of order"

    def figures(self, isa: str) -> dict[str, Figure]:
        """Every figure that bears on runs of `isa`, by its engine option's name (interfaces, 6)."""
        found = {**dict(self.core), **dict(self.memory)}
        if self.out_of_order is not None:
            found["out_of_order"] = Figure(assumption=1, why="the machine has such a table")
            found |= dict(self.out_of_order)
        found |= self.of_isa(isa)
        found |= {f"charge_{name}": charge for name, charge in self.charges}
        return {name: figure for name, figure in found.items() if figure is not None}

    def of_isa(self, isa: str) -> dict[str, Figure]:
        """The figures that may differ between ISAs: ordering, atomics and fences."""
        order = self.ordering.get(isa) or ()
        return {name: how.as_figure(BEHAVIOURS[name]) for name, how in order} | self.latency[isa]

    def as_toml(self) -> str:
        """A file of this machine, which states every figure."""
        said = self.model_dump(exclude_defaults=True)
        tables = {key: said.pop(key) for key, value in self if key in said and _is_table(value)}
        lines = toml.pairs(said)
        for name, table in tables.items():
            of_isas = name in ("ordering", "latency")
            parts = {f"{name}.{isa}": table[isa] for isa in table} if of_isas else {name: table}
            for head, figures in parts.items():
                lines += ["", f"[{head}]", *toml.pairs(figures)]
        return "\n".join(lines) + "\n"


def _is_table(value: object) -> bool:
    return isinstance(value, dict | Document) and not isinstance(value, Figure)


@cache
def _tables(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def _complete(name: str) -> dict[str, Any]:
    """What the file of a machine says that takes no figure from another. Raises ValueError."""
    if known := name in machine_names():
        tables = _tables(MACHINES / f"{name}.toml")
        if "like" not in tables:
            return tables
    why = f"takes figures from {shown(tables['like'])} itself" if known else "is unknown"
    whole = [one for one in machine_names() if "like" not in _tables(MACHINES / f"{one}.toml")]
    raise ValueError(f"like: {shown(name)} {why}; allowed are {', '.join(whole)}")


def _filled(own: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """A machine's tables with the figures of another where it states none: those of its ISAs and,
    of a memory system, of its topology."""
    isas = own["isas"] if isinstance(own.get("isas"), list) else []
    of_topologies = {name for names in _OF_TOPOLOGY.values() for name in names}

    def both(mine: Any, others: Mapping[str, Any]) -> Any:
        if not isinstance(mine, dict):
            return mine  # what is no table is refused
        topology = str(mine.get("topology", others.get("topology")))
        unused = of_topologies.difference(_OF_TOPOLOGY.get(topology, ()))
        return {name: one for name, one in others.items() if name not in unused} | mine

    found = {"clock_mhz": other["clock_mhz"], **own}
    in_order = own.get("out_of_order") is False
    for table, field in Machine.model_fields.items():
        others, mine = other.get(table), own.get(table, {})
        if not isinstance(others, dict) or field.annotation is Figure or table == "measured":
            continue
        if table not in ("ordering", "latency"):
            found[table] = both(mine, others)
        elif isinstance(mine, dict) and not (in_order and table == "ordering"):
            shared = [isa for isa in others if isa in isas]
            found[table] = mine | {isa: both(mine.get(isa, {}), others[isa]) for isa in shared}
    return found


def machine_names() -> list[str]:
    """The names of all machines, sorted."""
    return names(MACHINES)


def machines_of(processor: str) -> list[str]:
    """The names of the machines that were measured on a kind of processor, the latest first."""
    measured = [one for one in map(load_machine, machine_names()) if one.processor == processor]
    measured.sort(key=lambda one: str(one.measured_on or ""), reverse=True)
    return [one.name for one in measured]


def machines_like(processor: str) -> list[tuple[str, bool]]:
    """The machines that name a kind of processor, and whether they name all of it; without any,
    the one that names most of it."""
    own = set(processor.split(", "))
    kinds = {
        machine.name: [set(kind.split(", ")) for kind in machine.processors]
        for machine in map(load_machine, machine_names())
        if machine.processor is None
    }
    whole = [name for name, named in kinds.items() if any(parts <= own for parts in named)]
    if whole:
        return [(name, True) for name in whole]
    shared = {
        name: max((len(own & parts) for parts in named), default=0) for name, named in kinds.items()
    }
    nearest = max(shared, key=lambda name: shared[name])
    return [(nearest, False)] if shared[nearest] else []


def isas_of(name: str) -> list[str]:
    """The ISAs of a machine, or of the host. Raises LockcrossError as load_machine does."""
    return [host_isa()] if name == HOST else load_machine(name).isas


@cache
def load_machine(name: str) -> Machine:
    """Reads sweeps/machines/<name>.toml, or what is kept of a file of the user's own.

    Raises LockcrossError (exit code 2) for an unknown machine or a faulty description.
    """
    if is_own(name):
        return load(Machine, OWN_MACHINES, name, "machine").model_copy(update={"name": name})
    machine = load(Machine, MACHINES, name, "machine")
    if machine.name != name:
        raise LockcrossError(
            f"sweeps/machines/{name}.toml: name: {machine.name!r} does not match the file's name"
        )
    return machine


def machine_named(given: str) -> str:
    """The name under which a machine is known and stored: a machine of the tree has its own, a file
    of the user's one that stands for its content. What it says is kept, with the figures that it
    takes from another, so that what was run with it can be run again after a file has changed.
    Raises LockcrossError."""
    if not is_path(given):
        return given
    machine = load(Machine, MACHINES, given, "machine")
    if not re.fullmatch(r"\w[\w-]*", machine.name, re.ASCII):
        raise LockcrossError(
            f"{given}: name: {shown(machine.name)}: letters, digits, _ and - are allowed"
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
    """Whether a name is that of a file of the user's own, of which there is a copy."""
    return "@" in name and not is_path(name) and (OWN_MACHINES / f"{name}.toml").exists()


def known_machines(given: Iterable[str]) -> list[str]:
    """All machines of the tree, and those of the given names that are users' own."""
    return [*machine_names(), *filter(is_own, given)]


MachineName = Annotated[str, AfterValidator(machine_named)]  # in plans: a name or a path
