"""Engines: a folder each. sweeps/model/engines.py is their registry; the module `engine` of a
folder makes the adapter for a label."""

from functools import cache
from importlib import import_module

from results.errors import LockcrossError
from sweeps.engines.base import Engine
from sweeps.model import engines
from sweeps.model.axes import LATENCIES
from sweeps.model.cell import Cell
from sweeps.model.machine import HOST


@cache
def load_engine(label: str) -> Engine:
    """The adapter of an engine label. Raises LockcrossError for an unknown one."""
    known = engines.entry(label)
    if known not in engines.ENGINES:
        labels = ", ".join(engines.labels())
        raise LockcrossError(f"engine {label!r} is unknown; known are {labels}")
    adapter: Engine = import_module(f"sweeps.engines.{known.family}.engine").make(label)
    return adapter


def refusal(cell: Cell) -> str:
    """Why the engine of a cell cannot answer it honestly, or nothing. Raises LockcrossError when
    that is unknown because the engine is missing."""
    engine = load_engine(cell.engine)
    can = engine.capabilities()
    if cell.isa not in can.isas:
        return f"isa: {cell.isa}: engine {cell.engine} simulates {', '.join(can.isas)} only"
    if can.host_machines is None and cell.machine == HOST:
        return f"machine: {HOST}: engine {cell.engine} simulates machines of sweeps/machines only"
    if can.host_machines is not None and cell.machine not in can.host_machines:
        return (
            f"machine: {cell.machine}: engine {cell.engine} runs on this host, which is "
            f"{' or '.join(can.host_machines)} (./lockcross measure NAME describes it anew)"
        )
    if cell.cores is not None and not can.shared_cores:
        return f"cores: {cell.cores}: engine {cell.engine} lets no threads share cores"
    if (cell.cores or cell.threads) > can.max_cores:
        return f"threads: {cell.threads}: engine {cell.engine} has {can.max_cores} cores at most"
    for axis in LATENCIES:
        if getattr(cell, axis) is not None and axis not in can.latencies:
            return f"{axis}: {getattr(cell, axis)}: engine {cell.engine} cannot set it"
    return engine.refuses(cell)
