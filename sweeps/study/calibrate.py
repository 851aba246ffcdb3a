"""The machines of a database: their descriptions, and the cost of their operations."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from results.store.records import CalibrationRecord
from results.store.store import Store
from sweeps.model import engines
from sweeps.model.axes import LATENCIES
from sweeps.model.cell import Cell, usual
from sweeps.model.isa import ISAS
from sweeps.model.machine import HOST
from sweeps.model.workloads import choices
from sweeps.run.runner import Runner, record_of
from sweeps.study.results import ISA, Isa

ITERATIONS = 2000
# A charge may be thousands of cycles, and takes the same each time: a few are enough.
CHARGE_ITERATIONS = 100
LATENCY_OPS = ("empty", "store", "cas", "fence")  # what turns set latencies into measured ones
_CHARGES = ("stop", "park", "unpark", "wake")
_BASE = {"fence": "store"}  # the loop an operation is compared with, where it is not `empty`


def store_isas(store: Store) -> None:
    """Store the titles of the ISAs and the mnemonics of their full fences."""
    for isa in ISAS.values():
        mnemonic = isa.full_fence.removeprefix("fence_")
        ISA.of(isa.name).write(store, Isa(title=isa.title, full_fence=mnemonic))


def store_machines(store: Store, names: Iterable[str]) -> None:
    """Store machines as they are described now."""
    for name in sorted(set(names) - {HOST}):
        store.set_machine(record_of(name))


@dataclass(frozen=True)
class Setting:
    """A setting to calibrate. Latencies are set cycles; None: the machine's. `ops` must hold the
    loops they are compared with, `empty` and, for `fence`, `store`."""

    machine: str
    isa: str
    flavour: str
    cas_latency: int | None = None
    fence_latency: int | None = None
    engine: str = engines.DEFAULT
    cancel_latency: int | None = None
    ops: tuple[str, ...] = choices("calibrate", "op")
    membarrier_latency: int | None = None

    def loops(self) -> dict[tuple[str, int], Cell]:
        """Return the run of every loop, by its operation and iterations."""
        loops = [(op, iterations(op)) for op in self.ops]
        loops += [("empty", CHARGE_ITERATIONS)] if set(_CHARGES) & set(self.ops) else []
        axes = {name: getattr(self, name) for name in ("engine", *LATENCIES)}
        cell = usual(self.machine, self.flavour, "calibrate", {}, **axes)
        return {
            (op, turns): replace(cell, parameters={"op": op, "iterations": turns})
            for op, turns in loops
        }


def iterations(op: str) -> int:
    """Return how many turns an operation's loop has."""
    return CHARGE_ITERATIONS if op in _CHARGES else ITERATIONS


def calibrate(
    runner: Runner, store: Store, settings: Sequence[Setting]
) -> list[dict[str, CalibrationRecord]]:
    """Measure as `measure` does, and store the calibrations."""
    calibrated = measure(runner, settings)
    store.add_calibrations(record for records in calibrated for record in records.values())
    return calibrated


def measure(runner: Runner, settings: Sequence[Setting]) -> list[dict[str, CalibrationRecord]]:
    """Measure every operation in each setting: one dictionary per setting, by operation; costs in
    cycles. Raises LockcrossError (exit code 1) when a run fails."""
    loops = [setting.loops() for setting in settings]
    cells = list(itertools.chain.from_iterable(of_setting.values() for of_setting in loops))
    left = iter(runner.require(cells, "calibrate"))
    calibrated = []
    for setting, of_setting in zip(settings, loops, strict=True):
        runs = {loop: next(left) for loop in of_setting}
        records = {}
        for op in setting.ops:
            turns = iterations(op)
            run, base = runs[op, turns], runs[_BASE.get(op, "empty"), turns]
            records[op] = CalibrationRecord(
                machine=setting.machine,
                isa=setting.isa,
                flavour=setting.flavour,
                engine=setting.engine,
                cas_latency=setting.cas_latency,
                fence_latency=setting.fence_latency,
                op=op,
                cycles=(run.metrics["cycles"] - base.metrics["cycles"]) / turns,
                run_id=run.id,
                base_run_id=base.id,
            )
        records.pop("empty", None)
        calibrated.append(records)
    return calibrated
