"""Commands by which sweeps/run/bench.py measures the embedded engine."""

import json
from pathlib import Path

from sweeps.engines.qemu.engine import REPORT, find_qemu, guest_command, plugin_options
from sweeps.model.cell import Cell, arguments
from sweeps.support.paths import ENGINE_PLUGIN

NULL_PLUGIN = ENGINE_PLUGIN.with_name("liblockcross-null.so")

# A machine for each kind of core.
MODELS = {"out of order": "generic", "in order": "generic_inorder", "pipelined": "gem5_minor"}


def command(cell: Cell, binary: Path, **options: int) -> list[str]:
    """Return the command of a cell, with further options of the plugin."""
    return guest_command(cell, binary, plugin_options(cell) | options)


def without_engine(cell: Cell, binary: Path) -> list[str]:
    """Return a command for the same program under QEMU with empty callbacks; of one thread, since
    threads that wait for each other would wait for time slices."""
    qemu = find_qemu(cell.isa).path
    return [qemu, "-plugin", f"file={NULL_PLUGIN}", str(binary), *arguments(cell)]


def counted(folder: Path) -> tuple[int, int]:
    """Return instructions and hand-overs of the run whose report lies in a folder."""
    document = json.loads((folder / REPORT).read_text(encoding="utf-8"))
    return sum(core["instructions"] for core in document["cores"]), document["handovers"]
