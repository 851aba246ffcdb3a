"""The table [sst] of a machine: the memory system behind the first-level caches."""

from typing import Annotated, Literal, Self

from pydantic import model_validator

from results.model.cell import MAX_LATENCY
from results.model.schema import Document
from sweeps.model.figure import Figure, PowerOfTwo, within

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
