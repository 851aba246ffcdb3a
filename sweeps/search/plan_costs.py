"""Costs of a plan's runs along an axis or a key, side by side."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from results.errors import LockcrossError
from results.store.queries import condition, values_of_plan
from sweeps.model.axes import LATENCIES
from sweeps.model.cell import Cell, cell_of, option, read_cell, selected, values
from sweeps.model.label import FULL, LockLabel
from sweeps.search.winners import Win, winner

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
        values_of_plan(plan),
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
    """The name of an axis or key that is given as in plans (`cas`) or as its option is called
    (`cas_latency`, `cas-latency`)."""
    name = words.removeprefix("--").replace("-", "_")
    for axis in LATENCIES:
        if name == option(axis).removeprefix("--").replace("-", "_"):
            return axis
    return name


def compare(
    runs: Iterable[PlanRun], by: str, along: str, only: Mapping[str, str] | None = None
) -> Comparison:
    """Compares the costs of runs; `only` has names and the values that runs must have. Raises
    LockcrossError for names that do not differ or are unknown."""
    by, along = axis_name(by), axis_name(along)
    only = {axis_name(name): value for name, value in (only or {}).items()}
    found = [
        (_places(run), run.cost) for run in runs if run.status == "ok" and run.cost is not None
    ]
    if not found:
        raise LockcrossError("none of the plan's runs has a cost per acquire-release pair")
    known = list(dict.fromkeys(name for place, _ in found for name in place))
    for what, name in (("--by", by), ("--along", along), *(("--only", name) for name in only)):
        if name not in known:
            raise LockcrossError(f"{what}: {name!r} is unknown; known are {', '.join(known)}")
    found = [
        (place, cost)
        for place, cost in found
        if all(_word(place.get(name)) == value for name, value in only.items())
    ]
    if not found:
        raise LockcrossError("--only: no run has these values")
    names = _differing([place for place, _ in found], known)
    if by == along or (along not in names and along != LOCK):
        rest = ", ".join(name for name in names if name != by) or "nothing"
        raise LockcrossError(f"--along: {along} is the same in all runs; {rest} differ")
    held = [name for name in names if name not in (by, along, "seed")]
    first = found[0][0]
    same = {name: first.get(name) for name in known if name not in names and name != by}
    return Comparison(by, along, _set(same), _panels(found, by, along, held))


def varied(runs: Iterable[PlanRun]) -> tuple[list[str], list[str]]:
    """What differs among runs with a cost, but for lock and seed: axes and keys of numbers, and
    those of texts. Raises LockcrossError where no run has a cost."""
    found = [_places(run) for run in runs if run.status == "ok" and run.cost is not None]
    if not found:
        raise LockcrossError("none of the plan's runs has a cost per acquire-release pair")
    names = _differing(found, dict.fromkeys(name for place in found for name in place))
    names = [name for name in names if name not in (LOCK, "seed")]
    texts = [name for name in names if any(isinstance(place.get(name), str) for place in found)]
    return [name for name in names if name not in texts], texts


def _places(run: PlanRun) -> dict[str, Value]:
    """Every value of a run, with the whole label as its lock."""
    every = values(run.cell)
    return {name: one for name, one in every.items() if name not in _OF_LABEL} | {
        LOCK: run.cell.label
    }


def _word(value: Value) -> str:
    return "" if value is None else str(value)


def _set(place: Mapping[str, Value]) -> dict[str, Value]:
    return {name: value for name, value in place.items() if value not in (None, "")}


def _differing(places: Sequence[Mapping[str, Value]], known: Iterable[str]) -> list[str]:
    return [name for name in known if len({place.get(name) for place in places}) > 1]


def _panels(
    found: Iterable[tuple[dict[str, Value], float]], by: str, along: str, held: Sequence[str]
) -> list[Panel]:
    costs: dict[tuple[Value, ...], dict[Value, dict[Value, list[float]]]] = {}
    for place, cost in found:
        panel = costs.setdefault(tuple(place.get(name) for name in held), {})
        panel.setdefault(place.get(by), {}).setdefault(place.get(along), []).append(cost)
    return [
        Panel(
            dict(zip(held, place, strict=True)),
            {
                one: {x: Band.of(some) for x, some in sorted(curve.items(), key=_first)}
                for one, curve in sorted(panel.items(), key=_first)
            },
        )
        for place, panel in sorted(costs.items(), key=lambda pair: [order(x) for x in pair[0]])
    ]


def _first(pair: tuple[Value, object]) -> tuple[int, int, str]:
    return order(pair[0])
