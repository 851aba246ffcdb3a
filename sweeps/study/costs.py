"""The costs of a plan's runs: who wins in each setting, and costs along an axis or a key."""

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import nan
from statistics import median

from results.errors import LockcrossError, check_known
from results.store.queries import condition
from sweeps.model.axes import AXES, LATENCIES
from sweeps.model.cell import NO_LOCK, Cell, cell_of, read_cell, selected, values
from sweeps.model.locks import FULL, LockLabel
from sweeps.study.baseline import WORK_KEYS, Baseline
from sweeps.study.leads import TIE_PERCENT, Rule, Win
from sweeps.study.runs import LOCK, StudyRun, Value, coordinates

_OF_LOCK = {"lock": "", "variant": "", "fence": FULL}
_NOTHING = LockLabel(NO_LOCK)


@dataclass(frozen=True)
class Band:
    """Costs of several seeds, in cycles per pair."""

    median: float
    least: float
    most: float
    seeds: int

    @classmethod
    def of(cls, costs: Sequence[float]) -> "Band":
        """Return the band of some costs, one at least."""
        return cls(median(costs), min(costs), max(costs), len(costs))

    def beside(self, work: float | None) -> "Band":
        """Return the costs without the program's own work, as far as that is known."""
        own = work or 0.0
        return replace(self, median=self.median - own, least=self.least - own, most=self.most - own)


@dataclass(frozen=True)
class Group:
    """One setting: the cell that its runs share but for lock and seed, the cost of every lock that
    ran, cheapest first, and the locks that did not. `work`: the cycles of each cost that are the
    program's own; None where that is not known."""

    setting: Cell
    costs: dict[LockLabel, Band]
    absent: tuple[LockLabel, ...]
    work: float | None = 0.0

    def beside_work(self) -> "Group":
        """Return the same with the cost of each lock beside the work, as far as that is known, and
        without the baseline."""
        costs = {
            label: band.beside(self.work) for label, band in self.costs.items() if label != _NOTHING
        }
        return replace(self, costs=costs, work=0.0)

    @property
    def seeds(self) -> dict[LockLabel, tuple[float, float]]:
        """Return the least and the greatest cost of each lock over its seeds."""
        return {label: (band.least, band.most) for label, band in self.costs.items()}

    def contests(self) -> list[tuple[str, Win | None]]:
        """Return the winner with full fences, and the one with any kind where there are others, by
        costs beside the work; None where there is one lock alone."""
        beside = self.beside_work()
        every = {label: band.median for label, band in beside.costs.items()}
        full = {label: cost for label, cost in every.items() if label.fence == FULL}
        contests = {FULL: full, "any": every if len(full) < len(every) else {}}
        rule = Rule.of(self.setting)
        return [
            (fences, rule.winner(costs, beside.seeds) if len(costs) > 1 else None)
            for fences, costs in contests.items()
            if costs
        ]


def runs_of_plan(connection: sqlite3.Connection, plan: str) -> list[StudyRun]:
    """Return the runs of a plan, given by its name or its path. Raises LockcrossError if there are
    none."""
    test, bound = condition(connection, plan)
    rows = connection.execute(
        f"SELECT runs.id, status, cause, cycles_per_pair, {selected(connection)} FROM runs "
        f"WHERE {test} ORDER BY runs.id",
        bound,
    )
    baseline, runs = Baseline(connection), []
    for run_id, status, cause, cost, *columns in rows:
        cell, known = read_cell(columns), nan if cost is None else cost
        runs.append(StudyRun(run_id, cell, known, status, cause, work=baseline.work(cell)))
    return runs


def groups(runs: Iterable[StudyRun]) -> list[Group]:
    """Return the settings in which a lock has a cost, in the order of their values."""
    settings: dict[tuple[tuple[str, Value], ...], tuple[Cell, dict[LockLabel, list[float]]]] = {}
    works: dict[tuple[tuple[str, Value], ...], float | None] = {}
    for run in runs:
        setting = cell_of(run.cell, seed=1, **_OF_LOCK)
        key = tuple(values(setting).items())
        works[key] = run.work
        _, costs = settings.setdefault(key, (setting, {}))
        costs.setdefault(run.cell.label, []).extend(run.costs)
    ordered = []
    for key in sorted(settings, key=lambda key: [order(value) for _, value in key]):
        setting, costs = settings[key]
        bands = {label: Band.of(some) for label, some in costs.items() if some}
        cheapest_first = sorted(bands.items(), key=lambda pair: (pair[1].median, pair[0]))
        absent = tuple(sorted(costs.keys() - bands.keys()))
        if bands:
            ordered.append(Group(setting, dict(cheapest_first), absent, works[key]))
    return ordered


def order(value: Value) -> tuple[int, float, str]:
    """Return the key that values are sorted by: none, then numbers, then texts."""
    if value is None:
        return (0, 0, "")
    return (2, 0, value) if isinstance(value, str) else (1, value, "")


# Every value of a run, its cost, and how much of that is the program's own work.
Placed = tuple[dict[str, Value], float, float | None]


@dataclass(frozen=True)
class Panel:
    """One setting of all that is neither compared, nor the axis, nor a seed: its differences from
    the other panels, and a curve for each compared name: its cost by value of the axis; and how
    much of these costs is the program's own work."""

    place: dict[str, Value]
    curves: dict[Value, dict[Value, Band]]
    work: Mapping[Value, float | None] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """Return its differences, in words."""
        return ", ".join(f"{name}={value}" for name, value in self.place.items())

    @property
    def points(self) -> list[Value]:
        """Return every value of the axis that a curve has."""
        return sorted({x for curve in self.curves.values() for x in curve}, key=order)


@dataclass(frozen=True)
class Comparison:
    """Costs by `by` along `along`, a panel for each setting of the rest. `same`: the values that
    are the same in all of them."""

    by: str
    along: str
    same: Mapping[str, Value]
    panels: list[Panel]


def hidden(comparison: Comparison) -> str:
    """Return in words that work around the lock hides the axis, where it is there and no cost moves
    along a latency by as much as a tie; else nothing."""
    if comparison.along not in LATENCIES:
        return ""
    work, moves = dict[str, None](), False
    for panel in comparison.panels:
        known = {**comparison.same, **panel.place}
        work |= {f"{key}={known[key]}": None for key in WORK_KEYS if known.get(key)}
        for curve in panel.curves.values():
            costs = [band.median for band in curve.values()]
            moves |= max(costs) > min(costs) * (1 + TIE_PERCENT / 100)
    if moves or not work:
        return ""
    return (
        f"No cost moves along {comparison.along}: work around the lock hides it ({', '.join(work)} "
        f"turns of a delay loop); {' '.join(f'{key}=0' for key in WORK_KEYS)} shows what it is "
        "without."
    )


def axis_name(words: str) -> str:
    """Return the name of an axis or key, which may be given as its option is called
    (`--cas-latency`)."""
    return words.removeprefix("--").replace("-", "_")


def compare(
    runs: Iterable[StudyRun], by: str, along: str, only: Mapping[str, str] | None = None
) -> Comparison:
    """Compare the costs of runs; `only` has names and the values that runs must have. Raises
    LockcrossError for names that do not differ or are unknown."""
    by, along = axis_name(by), axis_name(along)
    only = {axis_name(name): value for name, value in (only or {}).items()}
    places = _with_cost(runs)
    known = list(dict.fromkeys(name for place, *_ in places for name in place))
    check_known("--by:", [by], known)
    check_known("--along:", [along], known)
    check_known("--only:", only, known)
    for name, words in only.items():
        places = [
            (place, cost, work)
            for place, cost, work in places
            if words == ("" if place.get(name) is None else str(place[name]))
        ]
    if not places:
        raise LockcrossError("--only: no run has these values")
    names = _differing(places)
    if by == along or (along not in names and along != LOCK):
        rest = ", ".join(name for name in names if name != by)
        others = f"these differ: {rest}" if rest else "nothing else differs"
        raise LockcrossError(f"--along: {along} is the same in all runs; {others}")
    panels = panels_of(places, by, along, [n for n in names if n not in (by, along, "seed")])
    first = places[0][0]
    same = {name: x for name in known if (x := first.get(name)) not in (None, "")}
    same = {name: x for name, x in same.items() if name not in (*names, by)}
    return Comparison(by, along, same, panels)


def wins(panel: Panel, rule: Callable[[Value], Rule]) -> dict[Value, Win]:
    """Return the winner at each value of the axis where two locks ran, in a panel of locks, beside
    the work. `rule`: of leads at a value."""
    found = {}
    for x in panel.points:
        bands = {
            LockLabel(str(name)): curve[x].beside(panel.work.get(x))
            for name, curve in panel.curves.items()
            if x in curve and name != _NOTHING
        }
        if len(bands) > 1:
            costs = {label: band.median for label, band in bands.items()}
            seeds = {label: (band.least, band.most) for label, band in bands.items()}
            found[x] = rule(x).winner(costs, seeds)
    return found


def wins_of(comparison: Comparison, panel: Panel) -> dict[Value, Win]:
    """Return the winner at each value of the axis, where locks are compared."""

    def rule(x: Value) -> Rule:
        known = {**comparison.same, **panel.place, comparison.along: x}
        axes = {axis.name: known.get(axis.name) or axis.default for axis in AXES}
        return Rule.of(Cell(**{**axes, "lock": "", "parameters": {}}))  # type: ignore[arg-type]

    return wins(panel, rule) if comparison.by == LOCK else {}


def panels_of(places: Iterable[Placed], by: str, along: str, held: Sequence[str]) -> list[Panel]:
    """Return a panel for each combination of the values that `held` names."""
    costs: dict[tuple[Value, ...], dict[Value, dict[Value, list[float]]]] = {}
    works: dict[tuple[Value, ...], dict[Value, float | None]] = {}
    for place, cost, work in places:
        here = tuple(place.get(name) for name in held)
        works.setdefault(here, {})[place.get(along)] = work
        curves = costs.setdefault(here, {})
        curves.setdefault(place.get(by), {}).setdefault(place.get(along), []).append(cost)
    return [
        Panel(
            dict(zip(held, setting, strict=True)),
            {
                compared: {x: Band.of(curves[compared][x]) for x in sorted(curve, key=order)}
                for compared in sorted(curves, key=order)
                for curve in [curves[compared]]
            },
            works[setting],
        )
        for setting in sorted(costs, key=lambda setting: [order(value) for value in setting])
        for curves in [costs[setting]]
    ]


def varied(runs: Iterable[StudyRun]) -> tuple[list[str], list[str]]:
    """Return the differences among the runs with a cost, except lock and seed: axes and keys of
    numbers, and those of texts. Raises LockcrossError where no run has a cost."""
    places = _with_cost(runs)
    names = [name for name in _differing(places) if name not in (LOCK, "seed")]
    texts = [name for name in names if any(isinstance(p.get(name), str) for p, *_ in places)]
    return [name for name in names if name not in texts], texts


def _with_cost(runs: Iterable[StudyRun]) -> list[Placed]:
    """Return the runs with a cost, with the whole label as their lock. Raises LockcrossError where
    no run has one."""
    places: list[Placed] = []
    for run in runs:
        places += [(coordinates(run.cell), cost, run.work) for cost in run.costs]
    if not places:
        raise LockcrossError("none of the plan's runs has a cost per acquire-release pair")
    return places


def _differing(places: Sequence[Placed]) -> list[str]:
    """Return the names whose values differ, in order."""
    names = dict.fromkeys(name for place, *_ in places for name in place)
    return [name for name in names if len({place.get(name) for place, *_ in places}) > 1]
