"""Reproductions before they have run, whatever form their definition has, and running them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sweeps.model.cell import Cell
from sweeps.model.label import FENCE_KINDS, FULL
from sweeps.model.machine import load_machine
from sweeps.questions.reproduce.answer import KEPT, Reproduction, Row

if TYPE_CHECKING:
    from results.store.store import Store
    from sweeps.run.runner import Runner

PLAN = "reproduce"  # what the runs are stored under
CLOCK = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}  # names of a cycle's time, in nanoseconds
Look = Callable[[str, str], float]  # (a cell's name, a metric), or (a name in CLOCK, "")


@dataclass(frozen=True)
class PlannedRow:
    """A row without a number of ours, and what gives it. `if_not_positive`: what is shown instead
    of a number that means something only above zero."""

    row: Row
    ours: Callable[[Look], float]
    if_not_positive: str = ""


@dataclass(frozen=True)
class PlannedReproduction:
    """A reproduction before anything has been run: its `outline`, which has no rows yet, its cells
    by their names, and the rows that they will give."""

    outline: Reproduction
    cells: Mapping[str, Cell]
    rows: tuple[PlannedRow, ...]


class _MissingError(Exception):
    """Why a number of ours is missing."""


def run(
    planned: PlannedReproduction, runner: "Runner", store: "Store", keep: bool = True
) -> Reproduction:
    """Runs what is missing and returns the result; `keep`: stores it, for figures and report."""
    done = runner.run(list(planned.cells.values()), PLAN)
    runs = dict(zip(planned.cells, done, strict=True))
    cycle = 1000 / load_machine(planned.outline.machine).clock_mhz.number  # in nanoseconds

    def look(name: str, metric: str) -> float:
        if name in CLOCK:
            return cycle / CLOCK[name]
        if runs[name].status != "ok":
            raise _MissingError(f"{runs[name].status}: {runs[name].cause}")
        if metric not in runs[name].metrics:
            raise _MissingError(f"a run has no metric {metric!r}")
        return runs[name].metrics[metric]

    result = replace(planned.outline, rows=tuple(_row(row, look) for row in planned.rows))
    if keep:
        KEPT.of(result.name).write(store, result)
        store.set_series(f"{PLAN}/{result.name}", [one.id for one in done])
    return result


def _row(planned: PlannedRow, look: Look) -> Row:
    try:
        ours = planned.ours(look)
    except _MissingError as error:
        return replace(planned.row, missing=str(error))
    except ZeroDivisionError:
        return replace(planned.row, missing="a division by zero")
    if ours <= 0 and planned.if_not_positive:
        return replace(planned.row, missing=planned.if_not_positive, no_number=True)
    return replace(planned.row, ours=ours)


def in_words(text: str) -> str:
    """`tasuki/rmw` as `tasuki, locked RMW`."""
    for kind, words in FENCE_KINDS.items():
        if kind != FULL:
            text = text.replace(f"/{kind}", f", {words}")
    return text
