"""The command of a run, its cores at their nodes, and the file that sst-configs/run.py reads."""

import json
import re
from pathlib import Path

from results.errors import LockcrossError
from sweeps.engines.base import Limits
from sweeps.engines.qemu.engine import guest_command, plugin_options
from sweeps.engines.sst.find import SCRIPT, Sst, element
from sweeps.engines.sst.output import GUEST_ERR, GUEST_OUT, RECORD, STATISTICS
from sweeps.model.cell import Cell
from sweeps.model.machine import MemorySystem, load_machine

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


INPUT = "sst.json"

_DESCRIPTOR = "@FD@"  # the element puts the number of the shared region's descriptor there

_OLDEST_REQUEST = 10_000_000  # cycles that a request may take until the run counts as hung

# What only the plugin's own memory system needs.
REPLACED = (
    "l2_size", "l2_ways", "lat_l2", "lat_memory", "lat_dirty", "lat_upgrade", "lat_invalidate",
    "warm",
)  # fmt: skip


def command(sst: Sst) -> list[str]:
    """The command that runs sst-configs/run.py on INPUT in the working directory."""
    return [sst.path, f"--add-lib-path={element(sst)}", str(SCRIPT), "--", INPUT]


def own_options(cell: Cell) -> dict[str, int | str]:
    """The plugin's options for a cell, without those of its own memory system."""
    return {name: n for name, n in plugin_options(cell).items() if name not in REPLACED}


def refused_figures(cell: Cell) -> list[str]:
    """The machine's figures that SST takes the place of."""
    return [name for name in plugin_options(cell) if name in REPLACED]


def system_of(cell: Cell) -> MemorySystem:
    """The table [sst] of a cell's machine, which must have one."""
    system = load_machine(cell.machine).sst
    assert system is not None  # cells without are refused
    return system


def document(cell: Cell, place: list[int], binary: Path, limits: Limits) -> str:
    """The content of INPUT. `place`: the node of each core."""
    machine, system = load_machine(cell.machine), system_of(cell)
    options = own_options(cell) | {"max_instructions": limits.instructions, "link": _DESCRIPTOR}
    found = {
        "clock_mhz": machine.clock_mhz.number,
        "line": machine.memory.line.number,
        "cores": len(place),
        "lat_l1": machine.memory.lat_l1.number,
        "l1_size": machine.memory.l1_size.number,
        "l1_ways": machine.memory.l1_ways.number,
        "sst": system.settings(),
        "guest": guest_command(cell, binary, options),
        "guest_stdout": GUEST_OUT,
        "guest_stderr": GUEST_ERR,
        "statistics": STATISTICS,
        "record": RECORD,
        "oldest_request": _OLDEST_REQUEST,
    }
    if system.topology != "bus":
        found["place"] = place
    return json.dumps(found, indent=1)
