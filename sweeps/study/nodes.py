"""Two cores on a machine's network: core 0 at node 0, core 1 at the node that the engine's label
says."""

from dataclasses import replace

from sweeps.model.cell import Cell
from sweeps.model.machine import MemorySystem, load_machine

_AT = "/at-"  # of an engine's label


def network(machine: str) -> MemorySystem:
    """Return the mesh of a machine. Raises ValueError for one that has none."""
    system = load_machine(machine).sst
    if system is None or system.topology != "mesh":
        raise ValueError(f"machine: {machine!r} has no mesh")
    return system


def check(machine: str, node: int) -> None:
    """Raise ValueError for a node that a machine does not have."""
    if node >= (there := network(machine).nodes):
        raise ValueError(f"node: {node}: the nodes of {machine} are 0 to {there - 1}")


def placed(engine: str, node: int) -> str:
    """Return the engine label under which core 1 is at a node."""
    return f"{engine}{_AT}{node}"


def values(cell: Cell) -> dict[str, int]:
    """Return where core 1 of a cell is: how many links from core 0, in which row and column;
    nothing where its engine's label names no node."""
    _, at, node = cell.engine.partition(_AT)
    if not at:
        return {}
    mesh = network(cell.machine)
    row, column = divmod(int(node), mesh.number("columns"))
    return {"links": mesh.links(0, int(node)), "row": row, "column": column}


def moved(cell: Cell, links: int) -> Cell:
    """Return the cell with core 1 at the first node so many links away. Raises ValueError where
    there is none."""
    mesh = network(cell.machine)
    for node in range(mesh.nodes):
        if mesh.links(0, node) == links:
            return replace(cell, engine=placed(cell.engine.partition(_AT)[0], node))
    raise ValueError(f"links: {links}: no node of {cell.machine} is so far from node 0")
