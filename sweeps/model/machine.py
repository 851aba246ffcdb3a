"""Machine descriptions: sweeps/machines/*.toml, each figure with a source or marked as assumed."""

import hashlib
import json
import os
import re
from collections.abc import Iterable
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from results.errors import LockcrossError
from sweeps.model.cell import MAX_LATENCY
from sweeps.model.isa import ISAS, host_isa
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


def _power_of_two(figure: Figure) -> Figure:
    if figure.number.bit_count() != 1:
        raise ValueError(f"{shown(figure.number)} is not a power of two")
    return figure


def _power_of_two_or_none(figure: Figure) -> Figure:
    return figure if figure.number == 0 else _power_of_two(figure)


def within(low: int, high: int) -> AfterValidator:
    """Bounds of a figure, both allowed."""

    def check(figure: Figure) -> Figure:
        if not low <= figure.number <= high:
            raise ValueError(f"{shown(figure.number)} is not from {low} to {high}")
        return figure

    return AfterValidator(check)


PowerOfTwo = Annotated[Figure, AfterValidator(_power_of_two)]
PowerOfTwoOrNone = Annotated[Figure, AfterValidator(_power_of_two_or_none)]
Switch = Annotated[Figure, within(0, 1)]
Latency = Annotated[Figure, within(0, MAX_LATENCY)]
Short = Annotated[Figure, within(0, 1000)]  # a latency within the core


MOST_ON_A_BUS = 32  # cores: a bus passes about one message a cycle

_NETWORK = (
    "columns", "rows", "memory_controllers", "lat_directory", "link_bytes", "lat_link", "lat_router"
)  # fmt: skip
_OF_TOPOLOGY = {"bus": ("bus_latency",), "ring": _NETWORK, "mesh": _NETWORK}
_Count = Annotated[Figure, within(1, 1024)]
_Cycles = Annotated[Figure, within(1, 1000)]


class MemorySystem(Document):
    """A shared cache in slices, inclusive and kept coherent by MESI, the memory behind it, and what
    connects them with the cores. Sizes in bytes, latencies in cycles of the cores.

    A bus has one slice and one memory. In a ring or a mesh each node has a router, a core, and its
    share of the slices, over which lines are interleaved; at the edge are memory controllers, each
    with a directory. `lat_link`: of a link between two routers, `link_bytes` a cycle; `lat_router`:
    of each router on the way. `l1_mshrs`, `slice_mshrs`: misses at a time.
    """

    topology: Literal["bus", "ring", "mesh"]
    columns: Annotated[Figure, within(1, 64)] | None = None
    rows: Annotated[Figure, within(1, 64)] | None = None
    slices: _Count
    slice_size: Annotated[Figure, within(64, 2**30)]
    slice_ways: Annotated[Figure, within(1, 64)]
    lat_slice: _Cycles
    memory_controllers: _Count | None = None
    lat_directory: _Cycles | None = None
    lat_memory_access: Annotated[Figure, within(1, MAX_LATENCY)]
    bus_latency: _Cycles | None = None
    link_bytes: Annotated[PowerOfTwo, within(1, 256)] | None = None
    lat_link: _Cycles | None = None
    lat_router: _Cycles | None = None
    l1_mshrs: Annotated[Figure, within(2, 1024)]
    slice_mshrs: Annotated[Figure, within(2, 1024)]

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
        assert self.rows is not None and self.memory_controllers is not None
        if self.topology == "ring" and self.rows.number != 1:
            raise ValueError(f"rows: {self.rows.number}: a ring has one row")
        if self.nodes < 2:
            raise ValueError("columns: a network has at least two nodes")
        if self.nodes % slices:
            raise ValueError(f"slices: {slices} cannot be spread evenly over {self.nodes} nodes")
        if self.memory_controllers.number > self._edge:
            raise ValueError(
                f"memory_controllers: {self.memory_controllers.number}: only {self._edge} nodes "
                "are at the edge"
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

    @property
    def _edge(self) -> int:
        """How many nodes are at the edge: all of a ring's, or of a mesh of one row."""
        assert self.columns is not None and self.rows is not None
        wide, high = self.columns.number, self.rows.number
        return self.nodes - max(0, wide - 2) * max(0, high - 2)

    def figures(self) -> dict[str, Figure]:
        """Every figure that the topology uses, by name."""
        found = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: one for name, one in found.items() if isinstance(one, Figure)}

    def settings(self) -> dict[str, int | str]:
        """The topology and every number, by name."""
        numbers = {name: figure.number for name, figure in self.figures().items()}
        return {"topology": self.topology, **numbers}


HOST = "host"  # the machine of runs on a host that no description has
_WIDEST_IN_ORDER = 2
IN_ORDER, SIMULATED, MEASURED = "in order", "simulators' own cores", "measured on a host"
GROUPS = ("contemporary, out of order", "older, out of order", IN_ORDER, SIMULATED, MEASURED)
ATOMICS = ("cas_success", "cas_failure", "rmw")


class Core(Document):
    """The core: width in instructions, fetch in bytes, the rest in cycles and entries. Bounds are
    those of the plugin (qemu-timing/src/base/options.cc), here and below."""

    width: Annotated[Figure, within(1, 16)]
    lat_alu: Annotated[Figure, within(1, 100)]
    lat_mul: Annotated[Figure, within(1, 1000)]
    lat_div: Annotated[Figure, within(1, 1000)]
    taken_branch: Short
    mispredict: Short
    predictor_entries: Annotated[PowerOfTwo, within(1, 2**20)]
    blocking: Switch
    fetch_bytes: Annotated[PowerOfTwoOrNone, within(0, 64)]
    pipeline: Switch
    micro_operations: Switch
    offset_max: Latency


class OutOfOrder(Document):
    """The instruction window of a core that has one: widths in instructions a cycle, entries,
    latencies in cycles; what each means: the plugin's table of options."""

    fetch_width: Annotated[Figure, within(1, 64)]
    fetch_line: Short
    front_end: Annotated[Figure, within(0, 100)]
    predictor_history: Annotated[Figure, within(0, 32)]
    fuse_branches: Switch
    rob: Annotated[Figure, within(1, 4096)]
    scheduler: Annotated[Figure, within(1, 4096)]
    load_queue: Annotated[Figure, within(1, 4096)]
    miss_buffers: Annotated[Figure, within(1, 4096)]
    retire_delay: Annotated[Figure, within(0, 100)]
    retire_width: Annotated[Figure, within(1, 64)]
    squash_width: Annotated[Figure, within(0, 64)]
    alu_ports: Annotated[Figure, within(1, 16)]
    load_ports: Annotated[Figure, within(1, 16)]
    store_ports: Annotated[Figure, within(1, 16)]
    lat_issue: Annotated[Figure, within(0, 100)]
    lat_forward: Short
    lat_forward_part: Short
    forward_fail: Short
    lat_drain: Short
    lat_pause: Short
    alias_bytes: Annotated[PowerOfTwo, within(1, 4096)]
    unpredicted_stores: Switch
    atomic_micro_ops: Annotated[Figure, within(1, 64)]
    atomic_tail: Short
    lat_oldest: Annotated[Figure, within(0, 100)]


# What an out-of-order core lets pass what, and the names of each behaviour as the plugin numbers
# them, from 0 (qemu-timing/src/base/options.cc).
BEHAVIOURS = {
    "atomic_start": ("at_once", "when_oldest", "when_drained"),
    "atomic_loads": ("wait", "pass"),
    "full_fence": ("barrier", "serializing"),
    "store_order": ("any", "in_order", "one_by_one"),
    "acquire_load": ("waits", "does_not_wait"),
}


class Behaviour(Document):
    """How a core orders memory, by name: known (`value`, `source`), or assumed (`assumption`,
    `why`)."""

    value: str | None = None
    source: str | None = Field(None, min_length=1)
    assumption: str | None = None
    why: str | None = Field(None, min_length=1)

    def as_figure(self, allowed: tuple[str, ...]) -> Figure:
        """Its number among those allowed. Raises ValueError if it is none of them."""
        name = self.value if self.value is not None else self.assumption
        if name not in allowed:
            raise ValueError(f"{shown(name)} is unknown; allowed are {', '.join(allowed)}")
        number = allowed.index(name)
        if self.value is not None:
            return Figure(value=number, source=self.source and f"{name}: {self.source}")
        return Figure(assumption=number, why=self.why and f"{name}: {self.why}")


def _known(name: str) -> AfterValidator:
    def check(behaviour: Behaviour) -> Behaviour:
        behaviour.as_figure(BEHAVIOURS[name])
        return behaviour

    return AfterValidator(check)


class Ordering(Document):
    """What an out-of-order core lets pass what, on one ISA.

    atomic_start: when an atomic starts; when_drained: as the oldest and after all stores.
    atomic_loads: whether loads behind an atomic wait for its end.
    full_fence: a barrier holds up loads and stores, a serializing one everything behind it.
    store_order: in which stores drain; one_by_one: each begins when the one before it has ended.
    acquire_load: whether it waits for older release stores.
    """

    atomic_start: Annotated[Behaviour, _known("atomic_start")]
    atomic_loads: Annotated[Behaviour, _known("atomic_loads")]
    full_fence: Annotated[Behaviour, _known("full_fence")]
    store_order: Annotated[Behaviour, _known("store_order")]
    acquire_load: Annotated[Behaviour, _known("acquire_load")]


class Memory(Document):
    """Caches: sizes in bytes, latencies in cycles, the store buffer in entries. `warm`: 1, lines
    are in the caches when the region of interest begins; left out, they are not."""

    line: Annotated[PowerOfTwo, within(16, 1024)]
    l1_size: Annotated[Figure, within(64, 2**26)]
    l1_ways: Annotated[Figure, within(1, 64)]
    lat_l1: Short
    l2_size: Annotated[Figure, within(64, 2**30)]
    l2_ways: Annotated[Figure, within(1, 64)]
    lat_l2: Latency
    lat_memory: Latency
    lat_dirty: Latency
    lat_upgrade: Latency
    lat_invalidate: Latency
    store_buffer: Annotated[Figure, within(0, 1024)]
    warm: Switch | None = None


class Charges(Document):
    """Costs that need an operating system or a thread library, in cycles."""

    stop: Latency
    park: Latency
    unpark: Latency
    wake: Latency
    switch: Latency


class Measured(Document):
    """A figure that was measured beside those that engines read. `spread`: between the quartiles,
    in the same unit."""

    value: float
    spread: Annotated[float, Field(ge=0)]
    unit: str = "cycles"
    meaning: str = Field(min_length=1)


class Machine(Document):
    """One machine. `out_of_order`: of a core that is; others are in order. `ordering` maps an ISA
    to what such a core lets pass what, `latency` to its atomics and fences, in cycles. `sst`: the
    memory system behind its first-level caches, for the engine that simulates one. `era` and
    `simulator` group processors in listings. `processor`: the kind on which it was measured, as
    the kernel names it, `measured_on` when; `measured`: what else was measured there. `processors`:
    of one that was not measured, the kinds that it describes, by parts of what the kernel calls
    them."""

    name: str = Field(min_length=1)
    title: str = Field(min_length=1)
    isas: list[str] = Field(min_length=1)
    era: Literal["contemporary", "older"] = "contemporary"
    simulator: bool = False  # its core is a simulator's own, no processor's
    clock_mhz: Annotated[Figure, within(1, 100_000)]
    core: Core
    out_of_order: OutOfOrder | None = None
    ordering: dict[str, Ordering] = {}
    memory: Memory
    sst: MemorySystem | None = None
    latency: dict[str, dict[str, Latency]]
    charges: Charges
    processor: str | None = Field(None, min_length=1)
    measured_on: datetime | None = None
    measured: dict[str, Measured] = {}
    processors: list[str] = []

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
    def _ordering_of_each_isa(self) -> Self:
        wanted = self.isas if self.out_of_order is not None else []
        if set(self.ordering) != set(wanted):
            raise ValueError(
                f"ordering: {'one table for each of isas' if wanted else 'no table'} "
                f"({', '.join(wanted) or 'the core is in order'}) is expected, "
                f"not {', '.join(self.ordering) or 'none'}"
            )
        return self

    @model_validator(mode="after")
    def _slices_of_whole_sets(self) -> Self:
        if self.sst is None:
            return self
        size, ways = self.sst.slice_size.number, self.sst.slice_ways.number
        if size % (ways * self.memory.line.number):
            raise ValueError(
                f"sst.slice_size: {size}: no whole number of sets of {ways} lines of "
                f"{self.memory.line.number} bytes"
            )
        return self

    @model_validator(mode="after")
    def _narrow_in_order(self) -> Self:
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
        found: dict[str, Figure] = {}
        for table in (self.core, self.memory):
            figures = {name: getattr(table, name) for name in type(table).model_fields}
            found |= {name: figure for name, figure in figures.items() if figure is not None}
        if self.out_of_order is not None:
            found["out_of_order"] = Figure(assumption=1, why="the machine has such a table")
            found |= {name: getattr(self.out_of_order, name) for name in OutOfOrder.model_fields}
        found |= self.of_isa(isa)
        found |= {f"charge_{name}": getattr(self.charges, name) for name in Charges.model_fields}
        return found

    def of_isa(self, isa: str) -> dict[str, Figure]:
        """The figures that may differ between ISAs: ordering, atomics and fences."""
        order = self.ordering.get(isa)
        found = {} if order is None else {
            name: getattr(order, name).as_figure(allowed) for name, allowed in BEHAVIOURS.items()
        }  # fmt: skip
        return found | self.latency[isa]


def machine_names() -> list[str]:
    """The names of all machines, sorted."""
    return names(MACHINES)


def machines_of(processor: str) -> list[str]:
    """The names of the machines that were measured on a kind of processor, the latest first."""
    found = [one for one in map(load_machine, machine_names()) if one.processor == processor]
    found.sort(key=lambda one: str(one.measured_on or ""), reverse=True)
    return [one.name for one in found]


def machines_like(processor: str) -> list[tuple[str, bool]]:
    """The machines that name a kind of processor, and whether they name all of it; without any,
    the one that names most of it."""
    own = set(processor.split(", "))
    shared = {
        machine.name: max(
            (len(own & parts) + (parts <= own) for kind in machine.processors
             if (parts := set(kind.split(", "))) & own),
            default=0,
        )
        for machine in map(load_machine, machine_names())
        if machine.processor is None
    }  # fmt: skip
    whole = [
        name for name in shared
        if any(set(kind.split(", ")) <= own for kind in load_machine(name).processors)
    ]  # fmt: skip
    if whole:
        return [(name, True) for name in whole]
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
    of the user's one that stands for its content. A copy of the file is kept, so that what was run
    with it can be run again after the file has changed. Raises LockcrossError."""
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
        new.write_bytes(Path(given).read_bytes())
        new.rename(place)
    return name


def is_own(name: str) -> bool:
    """Whether a name is that of a file of the user's own, of which there is a copy."""
    return "@" in name and not is_path(name) and (OWN_MACHINES / f"{name}.toml").exists()


def known_machines(given: Iterable[str]) -> list[str]:
    """All machines of the tree, and those of the given names that are users' own."""
    return [*machine_names(), *filter(is_own, given)]


MachineName = Annotated[str, AfterValidator(machine_named)]  # in plans: a name or a path
