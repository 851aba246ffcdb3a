"""Runs of engines, how a process ends, and the line that a program prints."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from results.store.records import StoredRun
from results.store.store import Store
from sweeps.engines.base import ProcessResult
from sweeps.model.cell import Cell
from sweeps.programs import TARGETS
from sweeps.run.runner import Runner
from sweeps.study.calibrate import Setting, calibrate

# What good runs of one thread leave, each file by the name that its engine gives it.
OUTPUTS = Path(__file__).parent / "outputs"
GUEST = json.loads((OUTPUTS / "guest.out").read_text("utf-8"))


def ended(code: int = 0, stdout: str = "", stderr: str = "", exceeded: str = "") -> ProcessResult:
    """Return the end of a process, by default a good one."""
    return ProcessResult(code, stdout, stderr, exceeded, duration_s=1.0)


ENDED = ended()


def runs_of(cells: list[Cell]) -> list[StoredRun]:
    """Run cells anew."""
    with TemporaryDirectory() as folder, Store(Path(folder) / "runs.db") as store:
        return Runner(store, 1).run(cells, "test")


def metrics_of(cells: list[Cell]) -> list[dict[str, float]]:
    """Return the metrics of cells, which are run anew and must all be good."""
    runs = runs_of(cells)
    assert [run.cause for run in runs] == [""] * len(cells)
    return [run.metrics for run in runs]


def set_latencies_are_added(engine: str, machine: str, flavour: str) -> None:
    """Fail unless operations take as much longer as their latencies that are set."""
    ops = ("empty", "store", "cas", "fence", "stop")
    settings = [
        Setting(machine, TARGETS[flavour].isa, flavour, n, n, engine, 10 * n, ops)
        for n in (40, 140)
    ]
    with TemporaryDirectory() as folder, Store(Path(folder) / "runs.db") as store:
        low, high = calibrate(Runner(store, 1), store, settings)
    for op, added in (("cas", 100), ("fence", 100), ("stop", 1000)):
        assert high[op].cycles - low[op].cycles == pytest.approx(added, rel=0.05), op
