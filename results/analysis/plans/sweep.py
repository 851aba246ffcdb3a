"""The runs of a plan: what each lock costs in each setting, and who wins there."""

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from results.analysis.winners import Win, winner
from results.model.cell import Cell, cell_of, read_cell, selected, values
from results.model.label import FULL, LockLabel
from results.store.plans import bound, condition

TIE_PERCENT = 2.0  # a smaller lead of one lock over another is a tie
Value = int | str | None  # of an axis or a key
_OF_LOCK = {"lock": "", "variant": "", "fence": FULL}


@dataclass(frozen=True)
class PlanRun:
    """A run of a plan. `cost`: cycles per acquire-release pair, None where it has none."""

    id: int
    cell: Cell
    status: str
    cause: str
    cost: float | None


@dataclass(frozen=True)
class Band:
    """Costs of several seeds, in cycles per pair."""

    median: float
    least: float
    most: float
    seeds: int

    @classmethod
    def of(cls, costs: Sequence[float]) -> "Band":
        """The band of some costs, one at least."""
        return cls(median(costs), min(costs), max(costs), len(costs))


@dataclass(frozen=True)
class Group:
    """One setting: the cell that its runs share but for lock and seed, the cost of every lock that
    ran, cheapest first, and the locks that did not."""

    setting: Cell
    costs: dict[LockLabel, Band]
    absent: tuple[LockLabel, ...]

    def contests(self, tie: float) -> list[tuple[str, Win | None]]:
        """The winner with full fences, and the one with any kind where there are others; None
        where there is one lock alone."""
        kinds = {label.fence for label in self.costs}
        found = []
        for fences, labels in (
            (FULL, [label for label in self.costs if label.fence == FULL]),
            ("any", list(self.costs) if kinds - {FULL} else []),
        ):
            costs = {label: self.costs[label].median for label in labels}
            if costs:
                found.append((fences, winner(costs, tie) if len(costs) > 1 else None))
        return found


def runs_of_plan(connection: sqlite3.Connection, plan: str) -> list[PlanRun]:
    """The runs of a plan, given by its name or its path. Raises LockcrossError if there are
    none."""
    rows = connection.execute(
        f"SELECT runs.id, status, cause, cycles_per_pair, {selected()} FROM runs "
        f"WHERE {condition(connection, plan)} ORDER BY runs.id",
        bound(plan),
    )
    return [
        PlanRun(run_id, read_cell(cell), status, cause, cost)
        for run_id, status, cause, cost, *cell in rows
    ]


def groups(runs: Iterable[PlanRun]) -> list[Group]:
    """The settings in which a lock has a cost, in the order of their values."""
    found: dict[tuple[tuple[str, Value], ...], tuple[Cell, dict[LockLabel, list[float]]]] = {}
    for run in runs:
        setting = cell_of(run.cell, seed=1, **_OF_LOCK)
        key = tuple(values(setting).items())
        costs = found.setdefault(key, (setting, {}))[1].setdefault(run.cell.label, [])
        if run.status == "ok" and run.cost is not None:
            costs.append(run.cost)
    ordered = sorted(found.items(), key=lambda pair: [order(value) for _, value in pair[0]])
    return [
        Group(
            setting,
            dict(
                sorted(
                    ((label, Band.of(some)) for label, some in costs.items() if some),
                    key=lambda pair: (pair[1].median, pair[0]),
                )
            ),
            tuple(sorted(label for label, some in costs.items() if not some)),
        )
        for _, (setting, costs) in ordered
        if any(costs.values())
    ]


def order(value: Value) -> tuple[int, int, str]:
    """What values are sorted by: none, then numbers, then texts."""
    if value is None:
        return (0, 0, "")
    return (1, value, "") if isinstance(value, int) else (2, 0, value)
