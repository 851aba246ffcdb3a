"""Cells that say no more than a test's subject."""

from typing import Any

from sweeps.model.cell import Cell
from sweeps.programs import TARGETS


def cell_of(lock: str = "thin", workload: str = "sync", **changes: Any) -> Cell:
    """Return a cell of machine generic on x86-64. A flavour implies its ISA."""
    flavour = changes.get("flavour", "lock")
    usual = {"machine": "generic", "isa": TARGETS[flavour].isa, "flavour": flavour}
    usual |= {"parameters": {"iterations": 1}, "lock": lock, "workload": workload}
    return Cell(**usual | changes)
