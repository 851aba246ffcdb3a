"""Runs a plan: its cells, then the searches along its axes and on its maps; and stores series,
crossovers and the plan itself. A second run has nothing to do, one that was stopped goes on."""

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from results.store.facts import Fact
from results.store.store import Store
from sweeps.model.axes import AXES, LATENCIES
from sweeps.model.cell import Cell, unsupported_reason
from sweeps.model.isa import ISAS
from sweeps.model.locks import FULL, LockLabel, cancels
from sweeps.model.machine import isas_of
from sweeps.plans import STUDIES
from sweeps.run.runner import Runner
from sweeps.study import nodes
from sweeps.study.calibrate import LATENCY_OPS, Setting, calibrate, store_isas, store_machines
from sweeps.study.crossings import (
    CrossoverTask,
    Evaluate,
    pairs,
    points,
    search_all,
    store_crossovers,
)
from sweeps.study.leads import cheapest
from sweeps.study.lines import FIRST_SEED, AxisLine, exact, set_to, with_lock
from sweeps.study.plan import MAP, Along, Borders, Cells, LoadedPlan, Plan, load_plan
from sweeps.study.results import PLAN
from sweeps.study.runs import Value, coordinates

STUDY: Fact[Plan] = Fact("study", Plan)  # by the name of the plan
_COLUMNS = ("engine", "machine", "isa", "flavour", "workload")  # of a crossover, beside its setting
Place = tuple[int, int]  # on the two axes of a map, as set
Costs = Mapping[LockLabel, float]  # cycles per pair


@dataclass(frozen=True)
class Search:
    """A line, and the contests: locks of which each two are searched for along it. `cancels`: of
    each two one has to cancel."""

    line: AxisLine
    contests: Sequence[Sequence[LockLabel]]
    cancels: bool = False

    def tasks(self) -> list[CrossoverTask]:
        """Return the search of each two locks."""
        every = [task for contest in self.contests for task in pairs(self.line, contest)]
        return [
            task
            for task in every
            if not self.cancels or cancels(task.lock_a) or cancels(task.lock_b)
        ]


def searches(plan: Plan) -> list[Search]:
    """Return every search of a plan. Raises ValueError for cells that do not make lines."""
    return [search for along in plan.along for search in _searches_along(plan, along)]


def _series(of: Cells, at: Mapping[str, Value], kind: str = "") -> str:
    """Return the name of a series: that of some cells, or another kind, and the values of the axes
    that they are apart in."""
    return "/".join((kind or of.name, *(str(at[axis]) for axis in of.apart)))


def _settings(of: Cells) -> list[Cell]:
    """Return the cells without their locks, on the machines that have their ISA and flavour."""
    return [
        cell
        for cell in of.settings()
        if cell.isa in isas_of(cell.machine) and cell.flavour in ISAS[cell.isa].flavours
    ]


def _without_axes(of: Cells) -> Cells:
    """Return cells with the machine's own figure on each axis that they vary."""
    varied = [axis.name for axis in AXES if axis.optional and len(of.given(axis.name)) > 1]
    return of.model_copy(update=dict.fromkeys(varied))


def _searches_along(plan: Plan, along: Along) -> list[Search]:
    if along.tolerance < along.step:
        raise ValueError(f"along: tolerance {along.tolerance:g} is less than step {along.step:g}")
    blocks = plan.named(along.cells)
    # A line has one cell for each value of the axis; its locks and seeds are still to be named.
    lines: dict[tuple[str, tuple[Value, ...]], dict[float, Cell]] = {}
    for block in blocks:
        for cell in _settings(_without_axes(block) if along.values else block):
            at = coordinates(cell)
            if missing := [name for name in (along.axis, *along.by) if name not in at]:
                raise ValueError(f"along: {missing[0]}: unknown; {along.cells} has {', '.join(at)}")
            series = _series(block, at, f"axis/{along.axis}" if along.values else "")
            of_line = lines.setdefault((series, tuple(at[name] for name in along.by)), {})
            first, x = replace(cell, seed=FIRST_SEED), float(at[along.axis] or 0)
            if of_line.setdefault(0.0 if along.values else x, first) != first:
                raise ValueError(
                    f"along: {along.cells}: two cells have {along.axis} = {x:g}; "
                    "`by` names what else differs"
                )
    found = []
    for (series, by), cells in lines.items():
        held = dict(zip(along.by, by, strict=True))
        line = _line(series, cells, held, along, blocks[0].totals)
        found.append(Search(line, _contests(plan, along, line.base.flavour), along.cancels))
    return found


def _contests(plan: Plan, along: Along, flavour: str) -> list[list[LockLabel]]:
    if not along.fences:
        cells = (cell for block in plan.named(along.cells) for cell in plan.cells_of(block))
        return [list(dict.fromkeys(cell.label for cell in cells if cell.flavour == flavour))]
    every = [plan.contest(flavour, fences) for fences in along.fences]
    return [one for number, one in enumerate(every) if one not in every[:number]]


def _line(
    series: str,
    cells: dict[float, Cell],
    held: dict[str, Any],
    along: Along,
    totals: Mapping[str, int] | None = None,
) -> AxisLine:
    """Return the line through some cells, by their values on the axis, or through one of them with
    the values of the search. `held`: the values that tell the line from others."""
    base = cells[min(cells)]

    def move(_: Cell, axis: str, x: Any) -> Cell:
        if x in cells and not along.values:
            return cells[x]
        # As the cell of the next value: its machine has room.
        like = cells[min((value for value in cells if value > x), default=max(cells))]
        if axis == "links":
            return nodes.moved(like, x)
        parts = {key: -(-n // x) for key, n in (totals or {}).items() if axis == "threads"}
        return set_to(replace(like, parameters={**like.parameters, **parts}), axis, x)

    same = {
        key: value
        for key, value in {"threads": base.threads, **base.parameters}.items()
        if all(value == coordinates(cell).get(key) for cell in cells.values())
    }
    same.pop(along.axis, None)
    values = tuple(map(exact, along.values or sorted(cells)))
    numbers = values, exact(along.tolerance), exact(along.step)
    setting = {**same, **(totals or {}), **held}
    return AxisLine(series, base, along.axis, *numbers, setting, along.unit, move=move)


def border_tasks(plan: Plan, series: Collection[str], evaluate: Evaluate) -> list[CrossoverTask]:
    """Return the searches between neighbours on maps that different locks win, on those of some
    series. `evaluate` gives the costs of cells."""
    tasks = []
    for borders in plan.borders:
        maps: dict[str, dict[Place, Cell]] = {}
        for block in plan.named(borders.cells):
            for cell in _settings(block):
                at = coordinates(cell)
                x, y = (at[axis] for axis in borders.axes)
                maps.setdefault(_series(block, at), {})[x, y] = cell  # type: ignore[index]
        for name, grid in maps.items():
            if name in series:
                tasks += _tasks_on_map(plan, borders, name, grid, evaluate)
    return tasks


def _tasks_on_map(
    plan: Plan, borders: Borders, series: str, grid: Mapping[Place, Cell], evaluate: Evaluate
) -> list[CrossoverTask]:
    (flavour,) = {cell.flavour for cell in grid.values()}
    labels = [label for label in plan.labels(flavour) if label.lock in plan.locks]
    every = list(itertools.product(grid, labels))
    costs: dict[Place, dict[LockLabel, float]] = {}
    cells = [with_lock(grid[place], label) for place, label in every]
    for (place, label), point in zip(every, evaluate(cells), strict=True):
        costs.setdefault(place, {})[label] = float(point.cost)
    tasks: dict[tuple[object, ...], CrossoverTask] = {}
    for contest in ([label for label in labels if label.fence == FULL], labels):
        of_contest = {
            place: {label: at_place[label] for label in contest}
            for place, at_place in costs.items()
        }
        for first, second, here, there in neighbours(of_contest):
            moves = 0 if here[1] == there[1] else 1  # the axis between them
            lock_a, lock_b = sorted((first, second))
            ends = {float(place[moves]): grid[place] for place in (here, there)}
            held = {borders.axes[1 - moves]: here[1 - moves]}
            along = Along(cells=series, axis=borders.axes[moves], tolerance=borders.tolerance)
            line = _line(series, ends, held, along)
            tasks[here, there, lock_a, lock_b] = CrossoverTask(line, lock_a, lock_b)
    return list(tasks.values())


def neighbours(costs: Mapping[Place, Costs]) -> list[tuple[LockLabel, LockLabel, Place, Place]]:
    """Return pairs of neighbouring grid points with different winners: (lock, lock, point, point).

    Points are (x, y); neighbours share one coordinate and have no grid point between them.
    """
    xs, ys = sorted({x for x, _ in costs}), sorted({y for _, y in costs})
    rows = [[(x, y) for x in xs] for y in ys]
    columns = [[(x, y) for y in ys] for x in xs]
    pairs_of_points = itertools.chain.from_iterable(map(itertools.pairwise, rows + columns))
    return [
        (first, second, here, there)
        for here, there in pairs_of_points
        for first, second in [(cheapest(costs[here]), cheapest(costs[there]))]
        if first != second
    ]


class Job:
    """Runs a plan and stores the results; of the ISAs named alone, if some are."""

    def __init__(
        self, loaded: LoadedPlan, store: Store, runner: Runner, isas: Collection[str] = ()
    ) -> None:
        self._name, self._plan = loaded.name, loaded.plan
        self._store, self._runner = store, runner
        # The cells of each series, and at which latencies it has them.
        self.series: dict[str, dict[Cell, dict[str, set[int]]]] = {}

        def chosen(cell: Cell) -> bool:
            return not isas or cell.isa in isas

        for block in self._plan.blocks.values():
            for point, cell in self._plan.points_of(block):
                if chosen(cell) and not (block.skip_unsupported and unsupported_reason(cell)):
                    of_series = self.series.setdefault(_series(block, coordinates(cell)), {})
                    latencies = of_series.setdefault(cell, {})
                    for axis in LATENCIES:
                        if (cycles := getattr(point, axis)) is not None:
                            latencies.setdefault(axis, set()).add(cycles)
        self._searches = [one for one in searches(self._plan) if chosen(one.line.base)]

    def known_cells(self) -> list[Cell]:
        """Return every cell that can be named before anything has been run."""
        cells = [cell for some in self.series.values() for cell in some]
        cells += [cell for setting in self._settings() for cell in setting.loops().values()]
        return cells + [
            search.line.cell(label, x)
            for search in self._searches
            for x in search.line.values
            for label in itertools.chain.from_iterable(search.contests)
        ]

    def run(self) -> None:
        """Run everything and store series, crossovers and facts.

        Raises LockcrossError (exit code 1) when a run fails.
        """
        plan, runner, store = self._plan, self._runner, self._store
        runner.require(self.known_cells(), self._name)
        calibrate(runner, store, self._settings())
        evaluate = partial(points, runner, self._name)
        borders, tasks = border_tasks(plan, self.series, evaluate), list[CrossoverTask]()
        for one in self._searches:
            tasks += one.tasks()
        seeds = range(FIRST_SEED + 1, FIRST_SEED + plan.seeds)
        # A map is the first seed's, and so are its borders.
        found = search_all(evaluate, borders, ()) + search_all(evaluate, tasks, seeds)
        fact = PLAN if plan.named(MAP) else STUDY.of(self._name)
        if fact is PLAN and PLAN.optional(store.connection) not in (None, plan):
            store.forget_series()  # another plan's must not be drawn with this one's
        names = {search.line.series for search in self._searches}
        on_maps = tuple(f"{one.cells}/" for one in plan.borders)
        names.update(name for name in self.series if f"{name}/".startswith(on_maps))
        store_crossovers(store, found, sorted(names))
        self._store_series()
        store_machines(store, {cell.machine for cell in self.known_cells()})
        store_isas(store)
        fact.write(store, plan)

    def _store_series(self) -> None:
        for name, cells in self.series.items():
            ids = [run.id for run in self._runner.require(list(cells), self._name)]
            latencies: dict[int, dict[str, list[int]]] = {}
            for run_id, of_run in zip(ids, cells.values(), strict=True):
                latencies[run_id] = {axis: sorted(cycles) for axis, cycles in of_run.items()}
            self._store.set_series(name, ids, latencies)

    def _settings(self) -> list[Setting]:
        """Return the settings to calibrate: every operation of each machine as it is, and CAS and
        fence of those whose latencies are set at those of the plan."""
        if (calibration := self._plan.calibration) is None:
            return []
        settings: dict[Setting, None] = {}  # a set, in order
        of = tuple(f"{name}/" for name in calibration.cells)
        for name, cells in self.series.items():
            for cell in cells if f"{name}/".startswith(of or "") else ():
                on = cell.machine, cell.isa, cell.flavour
                settings[Setting(*on, engine=cell.engine)] = None
                for x in calibration.latencies if cell.cas_latency is not None else ():
                    settings[Setting(*on, x, x, cell.engine, ops=LATENCY_OPS)] = None
        return list(settings)


def load_study(name: str) -> LoadedPlan:
    """Read a study by its name or its path. Raises LockcrossError (exit code 2)."""
    return load_plan(name, STUDIES, lambda loaded: check(loaded.plan))


def check(plan: Plan) -> None:
    """Raise ValueError for names of axes that the cells do not have, for cells that do not make
    lines, and for calibrations that do not reach as far as the latencies that are set."""
    searches(plan)
    asked = [(where, cells, cells.apart) for where, cells in plan.blocks.items()]
    asked += [
        (f"show.{number}", cells, [*([one.along] if one.along else []), *one.by])
        for number, one in enumerate(plan.show)
        for cells in plan.named(one.lines or one.map)
    ]
    asked += [
        (f"borders.{number}", cells, one.axes)
        for number, one in enumerate(plan.borders)
        for cells in plan.named(one.cells)
    ]
    for where, cells, axes in asked:
        known = coordinates(next(cells.cells()))
        if unknown := [axis for axis in axes if axis not in known]:
            raise ValueError(
                f"{where}: axis {unknown[0]!r} is unknown; known are {', '.join(known)}"
            )
    if plan.calibration is None:
        return
    least, *_, most = plan.calibration.latencies
    for where, cells in plan.blocks.items():
        for axis in LATENCIES[:2]:
            if any(not least <= x <= most for x in cells.given(axis)):
                raise ValueError(
                    f"calibration.latencies: must reach all of {where}.{axis}, which is shown as "
                    "measured"
                )
