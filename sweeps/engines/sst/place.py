"""Which node of the network each core is at."""

import re

from results.errors import LockcrossError
from sweeps.model.memory_system import MemorySystem

# As the options of an engine label name it; "" is the order of the nodes, row by row.
NAMED = ("near", "far")
_AT = re.compile(r"at-(\d{1,4})")


def check(name: str, label: str) -> None:
    """Raises LockcrossError (2) for an option of an engine label that places no cores."""
    if name not in ("", *NAMED) and not _AT.fullmatch(name):
        raise LockcrossError(
            f"engine {label!r}: {name!r} is unknown; allowed are {', '.join(NAMED)} and at-N"
        )


def places(name: str, system: MemorySystem, cores: int) -> list[int]:
    """The node of each core. Core 0 is at node 0, a corner of a mesh.

    near, far: the others as near to it, or as far from it, as there is room. at-N: core 1 at node
    N, the others row by row. Nodes of one distance are taken by number.
    """
    others = list(range(1, system.nodes))
    if at := _AT.fullmatch(name):
        chosen = int(at[1])
        others = [chosen, *(node for node in others if node != chosen)]
    elif name:
        sign = 1 if name == "near" else -1
        others.sort(key=lambda node: (sign * system.links(0, node), node))
    return [0, *others][:cores]


def misplaced(name: str, system: MemorySystem, cores: int) -> str:
    """Why cores cannot be placed so, or nothing."""
    if not name:
        return ""
    if system.topology == "bus":
        return f"{name}: on a bus all cores are as near"
    if (at := _AT.fullmatch(name)) and not 0 < int(at[1]) < system.nodes:
        return f"{name}: allowed is a node from 1 to {system.nodes - 1}"
    return f"{name}: one core has nothing to be {name} of" if cores == 1 else ""
