"""What the runs of a plan cost: who wins in each setting, and costs along an axis or a key."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from results.errors import LockcrossError
from results.store.queries import condition
from sweeps.model.cell import Cell, cell_of, read_cell, selected, values
from sweeps.model.locks import FULL, LockLabel
from sweeps.search.winners import Win, winner

TIE_PERCENT = 2.0  # a smaller lead of one lock over another is a tie
Value = int | float | str | None  # of an axis or a key
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
        every = {label: band.median for label, band in self.costs.items()}
        full = {label: cost for label, cost in every.items() if label.fence == FULL}
        contests = {FULL: full, "any": every if len(full) < len(every) else {}}
        return [
            (fences, winner(costs, tie) if len(costs) > 1 else None)
            for fences, costs in contests.items()
            if costs
        ]


def runs_of_plan(connection: sqlite3.Connection, plan: str) -> list[PlanRun]:
    """The runs of a plan, given by its name or its path. Raises LockcrossError if there are
    none."""
    test, bound = condition(connection, plan)
    rows = connection.execute(
        f"SELECT runs.id, status, cause, cycles_per_pair, {selected()} FROM runs "
        f"WHERE {test} ORDER BY runs.id",
        bound,
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


def order(value: Value) -> tuple[int, float, str]:
    """What values are sorted by: none, then numbers, then texts."""
    if value is None:
        return (0, 0, "")
    return (2, 0, value) if isinstance(value, str) else (1, value, "")


LOCK = "lock"  # stands for the whole lock label, variant and fence kind included
_OF_LABEL = ("variant", "fence")


@dataclass(frozen=True)
class Panel:
    """One setting of all that is neither compared, nor the axis, nor a seed: what it differs in
    from the other panels, and a curve for each of what is compared: its cost by value of the
    axis."""

    place: dict[str, Value]
    curves: dict[Value, dict[Value, Band]]

    @property
    def title(self) -> str:
        """What it differs in, in words."""
        return ", ".join(f"{name}={value}" for name, value in self.place.items())

    @property
    def points(self) -> list[Value]:
        """Every value of the axis that a curve has."""
        return sorted({x for curve in self.curves.values() for x in curve}, key=order)


@dataclass(frozen=True)
class Comparison:
    """Costs by `by` along `along`, a panel for each setting of the rest. `same`: what is the same
    in all of them."""

    by: str
    along: str
    same: dict[str, Value]
    panels: list[Panel]


def axis_name(words: str) -> str:
    """The name of an axis or key, which may be given as its option is called (`--cas-latency`)."""
    return words.removeprefix("--").replace("-", "_")


def compare(
    runs: Iterable[PlanRun], by: str, along: str, only: Mapping[str, str] | None = None
) -> Comparison:
    """Compares the costs of runs; `only` has names and the values that runs must have. Raises
    LockcrossError for names that do not differ or are unknown."""
    by, along = axis_name(by), axis_name(along)
    only = {axis_name(name): value for name, value in (only or {}).items()}
    found = _with_cost(runs)
    known = list(dict.fromkeys(name for place, _ in found for name in place))
    for what, name in (("--by", by), ("--along", along), *(("--only", name) for name in only)):
        if name not in known:
            raise LockcrossError(f"{what}: {name!r} is unknown; known are {', '.join(known)}")

    def chosen(place: Mapping[str, Value]) -> bool:
        words = {name: "" if place.get(name) is None else str(place[name]) for name in only}
        return words == only

    found = [(place, cost) for place, cost in found if chosen(place)]
    if not found:
        raise LockcrossError("--only: no run has these values")
    names = _differing([place for place, _ in found], known)
    if by == along or (along not in names and along != LOCK):
        rest = ", ".join(name for name in names if name != by) or "nothing"
        raise LockcrossError(f"--along: {along} is the same in all runs; {rest} differ")
    held = [name for name in names if name not in (by, along, "seed")]
    costs: dict[tuple[Value, ...], dict[Value, dict[Value, list[float]]]] = {}
    for place, cost in found:
        curves = costs.setdefault(tuple(place.get(name) for name in held), {})
        curves.setdefault(place.get(by), {}).setdefault(place.get(along), []).append(cost)
    panels = [
        Panel(
            dict(zip(held, place, strict=True)),
            {
                compared: {x: Band.of(curve[x]) for x in sorted(curve, key=order)}
                for compared, curve in sorted(curves.items(), key=lambda pair: order(pair[0]))
            },
        )
        for place, curves in sorted(costs.items(), key=lambda pair: [order(x) for x in pair[0]])
    ]
    first = found[0][0]
    same: dict[str, Value] = {
        name: value
        for name in known
        if name not in names and name != by and (value := first.get(name)) not in (None, "")
    }
    return Comparison(by, along, same, panels)


def varied(runs: Iterable[PlanRun]) -> tuple[list[str], list[str]]:
    """What differs among runs with a cost, but for lock and seed: axes and keys of numbers, and
    those of texts. Raises LockcrossError where no run has a cost."""
    found = [place for place, _ in _with_cost(runs)]
    names = _differing(found, dict.fromkeys(name for place in found for name in place))
    names = [name for name in names if name not in (LOCK, "seed")]
    texts = [name for name in names if any(isinstance(place.get(name), str) for place in found)]
    return [name for name in names if name not in texts], texts


def _with_cost(runs: Iterable[PlanRun]) -> list[tuple[dict[str, Value], float]]:
    """Every value of each run with a cost, with the whole label as its lock; and the cost. Raises
    LockcrossError where no run has one."""
    found = []
    for run in runs:
        if run.status == "ok" and run.cost is not None:
            every = {k: v for k, v in values(run.cell).items() if k not in _OF_LABEL}
            found.append((every | {LOCK: run.cell.label}, run.cost))
    if not found:
        raise LockcrossError("none of the plan's runs has a cost per acquire-release pair")
    return found


def _differing(places: Sequence[Mapping[str, Value]], known: Iterable[str]) -> list[str]:
    return [name for name in known if len({place.get(name) for place in places}) > 1]
