"""What atomics, fences and charges cost as measured, beside what the machine was told."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from results.errors import LockcrossError
from results.records import CalibrationRecord, StoredRun
from results.store import Store
from sweeps.cells import Cell
from sweeps.runner import Runner
from sweeps.workloads import CALIBRATE_OPS

ITERATIONS = 2000
_BASE = {"fence": "store"}  # the loop an operation is compared with, where it is not `empty`


@dataclass(frozen=True)
class Setting:
    """What is calibrated. Latencies are set cycles; None: the machine's own. `ops` must hold the
    loops they are compared with, `empty` and, for `fence`, `store`."""

    machine: str
    isa: str
    flavour: str
    cas: int | None = None
    fence_latency: int | None = None
    engine: str = "qemu"
    cancel: int | None = None
    ops: tuple[str, ...] = CALIBRATE_OPS

    def cell(self, op: str) -> Cell:
        """The run that measures an operation's loop."""
        return Cell(
            engine=self.engine,
            machine=self.machine,
            isa=self.isa,
            flavour=self.flavour,
            lock="null",
            fence="full",
            workload="calibrate",
            parameters={"op": op, "iterations": ITERATIONS},
            cas=self.cas,
            fence_latency=self.fence_latency,
            cancel=self.cancel,
        )


def calibrate(
    runner: Runner, store: Store, settings: Sequence[Setting]
) -> list[dict[str, CalibrationRecord]]:
    """Measures every operation in each setting, stores the calibrations and returns them.

    One dictionary a setting, by operation; costs in cycles. Raises LockcrossError (exit code 1)
    when a run fails.
    """
    cells = [setting.cell(op) for setting in settings for op in setting.ops]
    runs = runner.run(cells, "calibrate")
    for cell, run in zip(cells, runs, strict=True):
        if run.status != "ok":
            raise LockcrossError(
                f"calibration run failed: {run.cause}; to repeat it: {cell.command()}", exit_code=1
            )
    found = []
    left = iter(runs)
    for setting in settings:
        loops = dict(zip(setting.ops, itertools.islice(left, len(setting.ops)), strict=True))
        records = {op: _record(setting, op, loops) for op in setting.ops if op != "empty"}
        for record in records.values():
            store.add_calibration(record)
        found.append(records)
    return found


def _record(setting: Setting, op: str, loops: dict[str, StoredRun]) -> CalibrationRecord:
    run, base = loops[op], loops[_BASE.get(op, "empty")]
    return CalibrationRecord(
        machine=setting.machine,
        isa=setting.isa,
        flavour=setting.flavour,
        engine=setting.engine,
        cas=setting.cas,
        fence_latency=setting.fence_latency,
        op=op,
        cycles=(run.metrics["cycles"] - base.metrics["cycles"]) / ITERATIONS,
        run_id=run.id,
        base_run_id=base.id,
    )
