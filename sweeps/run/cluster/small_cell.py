"""A small cell, and what comes of it on this machine: what nodes are compared with."""

from results.errors import LockcrossError
from sweeps.engines import load_engine
from sweeps.engines.base import Limits
from sweeps.model import engines
from sweeps.model.cell import Cell
from sweeps.programs import Builder
from sweeps.run.pool import LocalPool
from sweeps.run.work import Done, Work

SMALL_CELL = Cell(
    engine=engines.DEFAULT, machine="generic", isa="x86_64", flavour="lock", lock="tasuki",
    variant="", fence="full", workload="sync", parameters={"iterations": 200}, threads=1,
    cores=None, cas=None, fence_latency=None, cancel=None, seed=1,
)  # fmt: skip


def run_here(identity: str) -> tuple[Work, Done]:
    """The cell as work of that identity, and what came of it. Raises LockcrossError where it
    fails."""
    engine = load_engine(SMALL_CELL.engine)
    program = engine.program(SMALL_CELL)
    binary = Builder().build([program])[program]
    version = engine.provenance(SMALL_CELL.isa)
    work = Work(SMALL_CELL, identity, version, binary, Limits(60.0), None, keep=False)
    (done,) = [one for chunk in LocalPool(1).run([work]) for one in chunk]
    if done.outcome.cause:
        raise LockcrossError(f"a small cell fails on this machine: {done.outcome.cause}", 1)
    return work, done
