"""The main job: `lockcross crossover`. Everything it finds is in the database; it continues
where it was stopped, and a second run has nothing to do."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from results.store.records import CrossoverRecord
from results.store.store import Store
from sweeps.model.cell import Cell
from sweeps.model.label import FULL, LockLabel
from sweeps.model.locks import cancels
from sweeps.plans.study import Map, StudyPlan, load_study
from sweeps.run.runner import Runner
from sweeps.search.calibrate import LATENCY_OPS, Setting, calibrate
from sweeps.search.crossing import Crossing, Point, first_values
from sweeps.search.facts import store_isas, store_machines
from sweeps.search.found import MAP_CHECK, MapCheck, PlanFact
from sweeps.search.found import PLAN as PLAN_FACT
from sweeps.search.lines import FIRST_SEED, AxisLine, Evaluate, StudyCells, isa_of, table_machines
from sweeps.search.searches import CrossoverTask, Searched, points, records, search_all
from sweeps.search.winners import interpolate, neighbours

load = load_study  # as of every question that has studies
Place = tuple[int, int]  # set CAS and fence latency
Key = tuple[LockLabel, Place]
_MOST_OFF = 0.01  # of a cost: a lock whose model is further off is run at every point


def nodes_of(grid: Map) -> tuple[list[int], list[int]]:
    """CAS and fence latencies of the points of a map from which the others are interpolated."""
    return (
        first_values(grid.cas, grid.tolerance), first_values(grid.fence_latency, grid.tolerance)
    )  # fmt: skip


class MapCosts:
    """One winner map, of a machine's `cells` in one flavour: cycles per pair of every lock at every
    point of the plan's grid, once what `first_keys` names has been run and added."""

    def __init__(self, of: StudyCells, flavour: str) -> None:
        self.of = of
        self.flavour = flavour
        self.costs: dict[Place, dict[LockLabel, float]] = {}
        self._cells: dict[Key, Cell] = {
            (label, (cas, fence)): cell
            for (label, cas, fence), cell in of.map_cells(flavour).items()
        }
        self._labels = list(dict.fromkeys(label for label, _ in self._cells))
        self._places = list(dict.fromkeys(place for _, place in self._cells))
        self._runs: dict[Cell, float] = {}
        self._errors: dict[LockLabel, list[float]] = {}  # at each point of the check, as a share
        self._wrong = 0  # points of the check where the model has another lock as the cheapest

    @property
    def cells(self) -> list[Cell]:
        """What was run."""
        return list(self._runs)

    def cell(self, key: Key) -> Cell:
        """The run of a lock at a point: the same one for all latencies that the lock never pays."""
        return self._cells[key]

    def is_run(self, key: Key) -> bool:
        """Whether the cost of a lock at a point is that of a run."""
        return self._cells[key] in self._runs

    def first_keys(self) -> list[Key]:
        """What is run before anything is known: the nodes and the points of the check."""
        places = [*itertools.product(*nodes_of(self.of.plan.map)), *self.check_places()]
        return list(itertools.product(self._labels, places))

    def check_places(self) -> list[Place]:
        """Points between the nodes: the middle one of each stretch of an axis at least once; beside
        a node where the other axis has nothing between its own."""
        grid = self.of.plan.map
        between = [
            [
                inside[len(inside) // 2]
                for low, high in itertools.pairwise(nodes)
                if (inside := [x for x in values if low < x < high])
            ]
            for values, nodes in zip((grid.cas, grid.fence_latency), nodes_of(grid), strict=True)
        ]
        cas, fence = (found or nodes for found, nodes in zip(between, nodes_of(grid), strict=True))
        return [(cas[i % len(cas)], fence[i % len(fence)]) for i in range(max(map(len, between)))]

    def unsure_keys(self, locks: Sequence[str], tie: float) -> list[Key]:
        """What is to be run besides: every point of a lock that the check found too far off; and
        where the cheapest of `locks` leads by less than a tie and the errors of the model, those
        that are so near to it, with full fences alone and with every kind."""
        worst = {label: max(found, default=0.0) for label, found in self._errors.items()}
        keys = [
            (label, place)
            for label, error in worst.items()
            for place in self._places
            if error > _MOST_OFF
        ]
        for place, every in itertools.product(self._places, (False, True)):
            costs = {
                label: cost
                for label, cost in self.costs[place].items()
                if label.lock in locks and (every or label.fence == FULL)
            }
            best = min(costs, key=lambda label: costs[label])
            near = [
                label
                for label, cost in costs.items()
                if label == best or cost * (1 - tie - worst[label] - worst[best]) <= costs[best]
            ]
            keys += [(label, place) for label in near if len(near) > 1]
        return [key for key in dict.fromkeys(keys) if not self.is_run(key)]

    def add(self, found: Mapping[Key, float]) -> None:
        """Takes in what was run, and interpolates the rest."""
        self._runs |= {self._cells[key]: cost for key, cost in found.items()}
        model = {label: self._model(label) for label in self._labels}
        self.costs = {
            place: {
                label: self._runs.get(self._cells[label, place], model[label][place])
                for label in self._labels
            }
            for place in self._places
        }
        check = self.check_places()
        self._errors = {
            label: [abs(model[label][place] / self.costs[place][label] - 1) for place in check]
            for label in self._labels
        }
        self._wrong = sum(
            any(
                _cheapest(contest, {label: model[label][place] for label in contest})
                != _cheapest(contest, self.costs[place])
                for contest in self._contests()
            )
            for place in check
        )

    def _contests(self) -> list[list[LockLabel]]:
        """The plan's locks with full fences alone, and with every kind."""
        every = [label for label in self._labels if label.lock in self.of.plan.locks]
        return [[label for label in every if label.fence == FULL], every]

    def _model(self, label: LockLabel) -> dict[Place, float]:
        """A lock's costs at every point, interpolated between the nodes."""
        cas, fence = nodes_of(self.of.plan.map)
        costs = np.array([[self._runs[self._cells[label, (x, y)]] for x in cas] for y in fence])
        xs, ys = (np.array(values, dtype=float) for values in zip(*self._places, strict=True))
        found = interpolate(cas, fence, costs, xs, ys)
        return dict(zip(self._places, map(float, found), strict=True))

    def check(self) -> MapCheck:
        """What is kept of the model: its nodes, and how far it was off where it was checked."""
        cas, fence = nodes_of(self.of.plan.map)
        errors = [
            error
            for found in self._errors.values()
            if max(found, default=0.0) <= _MOST_OFF  # the others are run at every point
            for error in found
        ]
        return MapCheck(
            cas=cas,
            fence_latency=fence,
            points=len(self.check_places()),
            costs=len(errors),
            mean=float(np.mean(errors)) if errors else 0.0,
            worst=max(errors, default=0.0),
            wrong=self._wrong,
        )


def _cheapest(contest: Sequence[LockLabel], costs: Mapping[LockLabel, float]) -> LockLabel:
    return min(contest, key=lambda label: costs[label])


def measure_maps(
    maps: Iterable[MapCosts],
    evaluate: Evaluate,
    locks: Sequence[str],
    tie: float,
) -> list[MapCosts]:
    """Runs what each map needs, all of them at once. `locks`: those in the contest; `tie`: the
    share of a lead below which it is one."""
    found = list(maps)

    def run(wanted: Sequence[list[Key]]) -> None:
        cells = [one.cell(key) for one, keys in zip(found, wanted, strict=True) for key in keys]
        points = iter(evaluate(cells))
        for one, keys in zip(found, wanted, strict=True):
            one.add({key: float(next(points).cost) for key in keys})

    wanted = [one.first_keys() for one in found]
    while any(wanted):  # what is run may show another lock to be near
        run(wanted)
        wanted = [one.unsure_keys(locks, tie) for one in found]
    return found


PLAN = "crossover"


class Study:
    """Runs a plan for some flavours and stores the results."""

    def __init__(self, plan: StudyPlan, flavours: list[str], store: Store, runner: Runner) -> None:
        self._plan = plan
        self._flavours = flavours
        self._store = store
        self._runner = runner
        self._cells = [StudyCells(plan, machine) for machine in plan.machines]
        self._tables = table_machines(plan, flavours)

    def known_cells(self) -> list[Cell]:
        """Every cell that can be named before anything has been run."""
        cells = [s.cell(*loop) for s in self._calibrations() for loop in s.loops()]
        for of, flavour in itertools.product(self._cells, self._flavours):
            # The longest first: the shorter ones then fill the gaps at the end.
            cells += of.run_length_cells(flavour)[::-1]
            one = MapCosts(of, flavour)
            cells += map(one.cell, one.first_keys())
            for line in of.axis_lines(flavour):
                cells += [
                    line.cell(lock, x, FIRST_SEED)
                    for x in line.first_values
                    for lock in self._plan.locks
                ]
        for machine, flavour in self._tables:
            cells += StudyCells(self._plan, machine).table_cells(flavour)
        return cells + self._cells[0].rounds_cells()

    def run(self) -> None:
        """Runs everything and stores series, calibrations, crossovers and facts.

        Raises LockcrossError (exit code 1) when a run of the job fails.
        """
        self._runner.require(self.known_cells(), PLAN)
        calibrate(self._runner, self._store, self._calibrations())
        maps = measure_maps(
            itertools.starmap(MapCosts, itertools.product(self._cells, self._flavours)),
            self._evaluate, self._plan.locks, self._plan.tie_percent / 100,
        )  # fmt: skip
        tasks = [task for one in maps for task in self._tasks(one)]
        seeds = range(FIRST_SEED + 1, FIRST_SEED + self._plan.seeds)
        searched = search_all(self._evaluate, tasks, seeds)
        if not _is_plan(PLAN_FACT.optional(self._store.connection), self._plan):
            self._store.forget_series()  # another plan's must not be drawn with this one's
            MAP_CHECK.write(self._store, {})
        self._store_crossovers(searched)
        self._store_series(maps)
        self._store_facts(maps)

    def _calibrations(self) -> list[Setting]:
        given = self._plan.calibration
        settings = [
            Setting(
                machine,
                isa_of(flavour),
                flavour,
                latency,
                latency,
                self._plan.engine,
                ops=LATENCY_OPS,
            )
            for machine in self._plan.machines
            for flavour in self._flavours
            for latency in given.latencies
        ]
        settings += [
            Setting(machine, isa_of(flavour), flavour, None, None, self._plan.engine)
            for machine, flavour in self._tables
        ]
        return settings

    def _tasks(self, one: MapCosts) -> list[CrossoverTask]:
        of, flavour = one.of, one.flavour
        tasks = self._map_tasks(one)
        for line in of.axis_lines(flavour):
            tasks += self._pair_tasks(line)
        for cancel in self._plan.run_length.cancel if self._plan.run_length else []:
            tasks += [
                task
                for task in self._pair_tasks(of.run_length_line(flavour, cancel))
                if cancels(task.lock_a) or cancels(task.lock_b)
            ]
        return tasks

    def _pair_tasks(self, line: AxisLine) -> list[CrossoverTask]:
        return [
            CrossoverTask(line, a, b, line.values)
            for a, b in itertools.combinations(self._plan.locks, 2)
        ]

    def _map_tasks(self, one: MapCosts) -> list[CrossoverTask]:
        """Between neighbours on the grid that different locks win: with full fences alone, and
        with every fence kind in the contest. Each search begins where the map has the border."""
        costs = {
            place: {label: cost for label, cost in found.items() if label.lock in self._plan.locks}
            for place, found in one.costs.items()
        }
        full = {
            place: {label: cost for label, cost in found.items() if label.fence == FULL}
            for place, found in costs.items()
        }
        tasks = {}
        for first, second, here, there in [*neighbours(full), *neighbours(costs)]:
            axis, low, high, other = (
                ("cas", here[0], there[0], here[1])
                if here[1] == there[1]
                else ("fence_latency", here[1], there[1], here[0])
            )
            line = one.of.latency_line(one.flavour, axis, other, [low, high])
            lock_a, lock_b = sorted((first, second))
            lead, lag = (costs[place][second] - costs[place][first] for place in (here, there))
            value = low + (high - low) * Fraction(lead) / Fraction(lead - lag)
            tasks[axis, low, other, lock_a, lock_b] = CrossoverTask(
                line, lock_a, lock_b, (low, high), Crossing(value, low, high, first)
            )
        return list(tasks.values())

    def _evaluate(self, cells: Iterable[Cell]) -> list[Point]:
        return points(self._runner, list(cells), PLAN)

    def _store_crossovers(self, found: Sequence[Searched]) -> None:
        by_series: dict[str, list[CrossoverRecord]] = {
            series_name(series, machine, flavour): []
            for series in ("map", "run_length")
            for machine in self._plan.machines
            for flavour in self._flavours
        }
        for one in found:
            line = one.task.line
            name = series_name(line.series, line.machine, line.flavour)
            by_series.setdefault(name, []).extend(records(one, self._plan.engine))
        for name, kept in by_series.items():
            self._store.set_crossovers(kept, name)

    def _store_series(self, maps: Sequence[MapCosts]) -> None:
        """Which runs the figures and the tables are drawn from. All are stored already."""
        series: dict[str, list[Cell]] = {}
        if rounds := self._plan.rounds:
            series[f"rounds/{rounds.machine}/{rounds.flavour}"] = self._cells[0].rounds_cells()
        for one in maps:
            of, flavour = one.of, one.flavour
            series[series_name("map", of.machine, flavour)] = one.cells
            series[series_name("run_length", of.machine, flavour)] = of.run_length_cells(flavour)
        for machine, flavour in self._tables:
            cells = StudyCells(self._plan, machine).table_cells(flavour)
            series[series_name("table", machine, flavour)] = cells
        for name, cells in series.items():
            self._store.set_series(name, [run.id for run in self._runner.require(cells, PLAN)])

    def _store_facts(self, maps: Sequence[MapCosts]) -> None:
        machines = {machine for machine, _ in self._tables}
        if self._plan.rounds:
            machines.add(self._plan.rounds.machine)
        store_machines(self._store, machines)
        checks = {series_name("map", one.of.machine, one.flavour): one.check() for one in maps}
        earlier = MAP_CHECK.optional(self._store.connection) or {}
        MAP_CHECK.write(self._store, {**earlier, **checks})
        PLAN_FACT.write(self._store, PlanFact.model_validate(self._plan.model_dump()))
        store_isas(self._store)


def _is_plan(stored: PlanFact | None, plan: StudyPlan) -> bool:
    """Whether a stored plan, if there is one, is this. Older ones name the locks that cancel."""
    return stored is None or stored.model_dump(exclude={"cancelling"}) == plan.model_dump()


def series_name(kind: str, machine: str, flavour: str) -> str:
    """The name of a machine's series."""
    return f"{kind}/{machine}/{isa_of(flavour)}/{flavour}"
