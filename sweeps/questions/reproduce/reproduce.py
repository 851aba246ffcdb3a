"""`lockcross reproduce`: published and simulated numbers side by side."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from sweeps.model.machine import load_machine
from sweeps.questions.reproduce.answer import KEPT, Reproduction, Row
from sweeps.questions.reproduce.expression import evaluate, names
from sweeps.questions.reproduce.planned import CLOCK, PlannedReproduction, PlannedRow

if TYPE_CHECKING:
    from results.store.records import StoredRun
    from results.store.store import Store
    from sweeps.run.runner import Runner

PLAN = "reproduce"  # what the runs are stored under
_INSTRUCTIONS = 2_000_000_000  # a run may execute, over all cores
_NANOSECONDS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}


def run(
    planned: PlannedReproduction, runner: "Runner", store: "Store", keep: bool = True
) -> Reproduction:
    """Runs what is missing and returns the result; `keep`: stores it, for figures and report."""
    wanted = [measured.cell for measured in planned.cells.values()]
    runs = dict(zip(planned.cells, runner.run(wanted, PLAN), strict=True))
    found = result(planned, runs)
    if keep:
        KEPT.of(planned.outline.name).write(store, found)
        store.set_series(f"{PLAN}/{planned.outline.name}", [one.id for one in runs.values()])
    return found


def result(planned: PlannedReproduction, runs: Mapping[str, "StoredRun"]) -> Reproduction:
    """The rows from the runs of its cells, by their names."""
    rows = tuple(_row(planned, row, runs) for row in planned.rows)
    return replace(planned.outline, rows=rows)


def _row(planned: PlannedReproduction, row: PlannedRow, runs: Mapping[str, "StoredRun"]) -> Row:
    def look(name: str, part: str) -> float:
        if name in runs:
            return runs[name].metrics[part or planned.cells[name].metric]
        return 1000 / load_machine(planned.outline.machine).clock_mhz.number / _NANOSECONDS[name]

    used = [name for name, _ in names(row.ours) if name not in CLOCK]
    bad = next((runs[name] for name in used if runs[name].status != "ok"), None)
    ours, missing = None, ""
    if bad is not None:
        missing = f"{bad.status}: {bad.cause}"
    else:
        try:
            ours = evaluate(row.ours, look)
        except KeyError as error:
            missing = f"a run has no metric {error}"
        except ZeroDivisionError:
            missing = "a division by zero"
    no_number = ours is not None and ours <= 0 and bool(row.if_not_positive)
    if no_number:
        ours, missing = None, row.if_not_positive
    return Row(
        row.label, row.published, ours, row.tolerance, row.series, row.x, row.group, row.note,
        missing, no_number, row.mark,
    )  # fmt: skip
