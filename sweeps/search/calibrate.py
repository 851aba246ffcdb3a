"""Measures what atomics, fences and charges cost on a machine."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from results.store.records import CalibrationRecord
from results.store.store import Store
from sweeps.model import engines
from sweeps.model.cell import Cell
from sweeps.model.workloads import choices
from sweeps.run.runner import Runner

ITERATIONS = 2000
# A charge may be thousands of cycles, and takes the same each time: a few are enough.
CHARGE_ITERATIONS = 100
LATENCY_OPS = ("empty", "store", "cas", "fence")  # what turns set latencies into measured ones
_CHARGES = ("stop", "park", "unpark", "wake")
_BASE = {"fence": "store"}  # the loop an operation is compared with, where it is not `empty`


@dataclass(frozen=True)
class Setting:
    """What is calibrated. Latencies are set cycles; None: the machine's own. `ops` must hold the
    loops they are compared with, `empty` and, for `fence`, `store`."""

    machine: str
    isa: str
    flavour: str
    cas_latency: int | None = None
    fence_latency: int | None = None
    engine: str = engines.DEFAULT
    cancel_latency: int | None = None
    ops: tuple[str, ...] = choices("calibrate", "op")

    def loops(self) -> list[tuple[str, int]]:
        """Every loop that is run, as operation and iterations."""
        few = [("empty", CHARGE_ITERATIONS)] if set(_CHARGES) & set(self.ops) else []
        return [(op, iterations(op)) for op in self.ops] + few

    def cell(self, op: str, turns: int) -> Cell:
        """The run that measures an operation's loop of so many turns."""
        return Cell(
            engine=self.engine, machine=self.machine, isa=self.isa, flavour=self.flavour,
            lock="null", workload="calibrate", parameters={"op": op, "iterations": turns},
            cas_latency=self.cas_latency, fence_latency=self.fence_latency,
            cancel_latency=self.cancel_latency,
        )  # fmt: skip


def iterations(op: str) -> int:
    """How many turns an operation's loop has."""
    return CHARGE_ITERATIONS if op in _CHARGES else ITERATIONS


def calibrate(
    runner: Runner, store: Store, settings: Sequence[Setting]
) -> list[dict[str, CalibrationRecord]]:
    """Measures as `measure` does, and stores the calibrations."""
    found = measure(runner, settings)
    store.add_calibrations(record for records in found for record in records.values())
    return found


def measure(runner: Runner, settings: Sequence[Setting]) -> list[dict[str, CalibrationRecord]]:
    """Measures every operation in each setting.

    One dictionary a setting, by operation; costs in cycles. Raises LockcrossError (exit code 1)
    when a run fails.
    """
    cells = [setting.cell(*loop) for setting in settings for loop in setting.loops()]
    runs = runner.require(cells, "calibrate")
    found = []
    left = iter(runs)
    for setting in settings:
        wanted = setting.loops()
        loops = dict(zip(wanted, itertools.islice(left, len(wanted)), strict=True))
        calibrated = {}
        for op in setting.ops:
            turns = iterations(op)
            run, base = loops[op, turns], loops[_BASE.get(op, "empty"), turns]
            calibrated[op] = CalibrationRecord(
                machine=setting.machine, isa=setting.isa, flavour=setting.flavour,
                engine=setting.engine, cas_latency=setting.cas_latency,
                fence_latency=setting.fence_latency, op=op,
                cycles=(run.metrics["cycles"] - base.metrics["cycles"]) / turns, run_id=run.id,
                base_run_id=base.id,
            )  # fmt: skip
        found.append({op: one for op, one in calibrated.items() if op != "empty"})
    return found
