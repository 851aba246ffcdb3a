"""The command of a run, and the file that sst-configs/run.py reads."""

import json
from pathlib import Path

from results.model.cell import Cell
from sweeps.engines.base import Limits
from sweeps.engines.qemu.engine import guest_command, plugin_options
from sweeps.engines.sst.element import element
from sweeps.engines.sst.find import SCRIPT, Sst
from sweeps.engines.sst.output import GUEST_ERR, GUEST_OUT, RECORD
from sweeps.engines.sst.statistics import STATISTICS
from sweeps.model.machine import load_machine
from sweeps.model.memory_system import MemorySystem

INPUT = "sst.json"
_DESCRIPTOR = "@FD@"  # the element puts the number of the shared region's descriptor there
_OLDEST_REQUEST = 10_000_000  # cycles that a request may take until the run counts as hung
# What only the plugin's own memory system needs.
_REPLACED = (
    "l2_size", "l2_ways", "lat_l2", "lat_memory", "lat_dirty", "lat_upgrade", "lat_invalidate",
    "warm",
)  # fmt: skip


def command(sst: Sst) -> list[str]:
    """The command that runs sst-configs/run.py on INPUT in the working directory."""
    return [sst.path, f"--add-lib-path={element(sst)}", str(SCRIPT), "--", INPUT]


def own_options(cell: Cell) -> dict[str, int | str]:
    """The plugin's options for a cell, without those of its own memory system."""
    return {name: n for name, n in plugin_options(cell).items() if name not in _REPLACED}


def refused_figures(cell: Cell) -> list[str]:
    """The machine's figures that SST takes the place of."""
    return [name for name in plugin_options(cell) if name in _REPLACED]


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
