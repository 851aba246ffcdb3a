"""Runs of engines, and the line that a program prints."""

from pathlib import Path

from results.store.store import Store
from sweeps.engines.base import Limits
from sweeps.model.cell import Cell
from sweeps.run.runner import Runner

GUEST = {
    "workload": "sync",
    "lock": "thin",
    "isa": "x86_64",
    "flavour": "lock",
    "fence": "full",
    "threads": 1,
    "pairs": 10,
    "ok": True,
    "error": "",
    "ticks": 0,
}


def metrics_of(
    folder: Path, cells: list[Cell], limits: Limits | None = None
) -> list[dict[str, float]]:
    """Return the metrics of cells that must all be good."""
    with Store(folder / "runs.db") as store:
        runs = Runner(store, 1, None, limits).run(cells, "test")
    assert [run.cause for run in runs] == [""] * len(cells)
    return [run.metrics for run in runs]
