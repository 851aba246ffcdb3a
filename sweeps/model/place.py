"""The axis `place` of a cell: which node of the network each core is at."""

import re
from collections.abc import Callable
from itertools import pairwise

from sweeps.model.memory_system import MemorySystem

# "" is the order of the nodes, row by row; other words than these are the nodes themselves.
NAMED = ("near", "far", "spread")
_NODES = re.compile(r"\d{1,4}(-\d{1,4})*")


def invalid_reason(place: str) -> str:
    """Why a text says no place, or nothing."""
    if not place or place in NAMED or _NODES.fullmatch(place):
        return ""
    return f"allowed are {', '.join(NAMED)}, or the node of each core, as in 0-27"


def unsupported_reason(place: str, cores: int) -> str:
    """Why so many cores cannot be placed so in any network, or nothing."""
    if place in ("near", "far"):
        return f"{place}: one core has nothing to be {place} of" if cores == 1 else ""
    nodes = _listed(place)
    if nodes and len(nodes) != cores:
        return f"{place}: {len(nodes)} nodes for {cores} cores"
    if twice := [node for node, other in pairwise(sorted(nodes)) if node == other]:
        return f"{place}: two cores at node {twice[0]}"
    return ""


def misplaced(place: str, system: MemorySystem) -> str:
    """Why cores cannot be placed so in this memory system, or nothing."""
    if place and system.topology == "bus":
        return f"{place}: on a bus all cores are as near"
    if max(_listed(place), default=0) >= system.nodes:
        return f"{place}: the nodes are 0 to {system.nodes - 1}"
    return ""


def places(place: str, system: MemorySystem, cores: int) -> list[int]:
    """The node of each core; core 0 is at node 0, a corner of a mesh, unless nodes are listed.

    "": the order of the nodes. near, far: the others as near to core 0, or as far from it, as there
    is room; nodes of one distance are taken by number. spread: evenly over the nodes by number.
    """
    if place == "spread":
        return [core * system.nodes // cores for core in range(cores)]
    others = list(range(1, system.nodes))
    if place in ("near", "far"):
        hops, sign = distance(system), 1 if place == "near" else -1
        others.sort(key=lambda node: (sign * hops(0, node), node))
    return _listed(place) or [0, *others][:cores]


def distance(system: MemorySystem) -> Callable[[int, int], int]:
    """How many links lie between two nodes of a ring or a mesh."""
    assert system.columns is not None
    columns = system.columns.number

    def in_mesh(a: int, b: int) -> int:
        return abs(a % columns - b % columns) + abs(a // columns - b // columns)

    def in_ring(a: int, b: int) -> int:
        return min(abs(a - b), columns - abs(a - b))

    return in_ring if system.topology == "ring" else in_mesh


def _listed(place: str) -> list[int]:
    """The nodes that a place lists; none where it is a word."""
    return [int(node) for node in place.split("-")] if place[:1].isdigit() else []
