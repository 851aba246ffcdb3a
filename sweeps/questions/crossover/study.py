"""The main job: `lockcross crossover`. Everything it finds is in the database; it continues
where it was stopped, and a second run has nothing to do."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from results.store.records import CrossoverRecord
from results.store.store import Store
from sweeps.model.cell import Cell, usual
from sweeps.model.isa import ISAS, isa_of
from sweeps.model.locks import FULL, LockLabel, cancels
from sweeps.model.machine import load_machine
from sweeps.plans.study import Map, RunLength, StudyPlan, labels, load_study
from sweeps.questions.crossover import processors
from sweeps.questions.crossover.answer import interpolate
from sweeps.run.runner import Runner
from sweeps.search.calibrate import LATENCY_OPS, Setting, calibrate, store_isas, store_machines
from sweeps.search.found import MAP_CHECK, MapCheck, PlanFact
from sweeps.search.found import PLAN as PLAN_FACT
from sweeps.search.lines import (
    FIRST_SEED,
    AxisLine,
    first_values,
    in_parts,
    set_to,
    with_lock,
)
from sweeps.search.searches import (
    Crossing,
    CrossoverTask,
    Evaluate,
    pairs,
    points,
    records,
    search_all,
)
from sweeps.study.leads import winner

PLAN = "crossover"
_LATENCIES = ("cas_latency", "fence_latency")
load = load_study
Place = tuple[int, int]  # set CAS and fence latency
Key = tuple[LockLabel, Place]
Costs = Mapping[LockLabel, float]  # cycles per pair
_MOST_OFF = 0.01  # of a cost: a lock whose model is further off is run at every point


def table_machines(plan: StudyPlan, flavours: list[str]) -> list[tuple[str, str]]:
    """(machine, flavour): the study's machines, and each real one in every flavour it has."""
    isas = {isa_of(flavour) for flavour in flavours}
    real = [
        (name, flavour)
        for name in plan.calibration.machines
        for isa in load_machine(name).isas
        for flavour in ISAS[isa].flavours
        if isa in isas
    ]
    return [*itertools.product(plan.machines, flavours), *real]


class StudyCells:
    """The cells of a plan on one machine in one flavour, and the lines through them."""

    def __init__(self, plan: StudyPlan, machine: str, flavour: str) -> None:
        self.plan = plan
        self.machine = machine
        self.flavour = flavour
        self._labels = labels(flavour, [*plan.locks, *plan.table_locks], plan.fence_kinds)
        self._on_map = self._with(plan.map)

    def series(self, kind: str) -> str:
        """The name of its series of a kind."""
        return f"{kind}/{self.machine}/{isa_of(self.flavour)}/{self.flavour}"

    def _with(self, of: Map | RunLength) -> Cell:
        """A run of lock_sequence at the machine's own latencies."""
        on = {"engine": self.plan.engine, "threads": of.threads}
        return usual(self.machine, self.flavour, "lock_sequence", of.parameters, **on)

    def map_cells(self) -> dict[Key, Cell]:
        """The grid: those of the table alone among them."""
        points = itertools.product(self.plan.map.cas_latency, self.plan.map.fence_latency)
        return {
            (label, (cas, fence)): with_lock(
                replace(self._on_map, cas_latency=cas, fence_latency=fence), label
            )
            for label, (cas, fence) in itertools.product(self._labels, points)
        }

    def cancel_map_cells(self) -> list[Cell]:
        """The grid over CAS and cancellation, with the fences of production; none where these are
        no atomics, so that CAS and fence are two latencies."""
        plan, grid = self.plan, self.plan.map
        if grid.cancel_latency is None or self.flavour not in plan.production:
            return []
        produced = plan.in_production(self.flavour, [*plan.locks, *plan.table_locks])
        points = itertools.product(produced, grid.cas_latency, grid.cancel_latency)
        cells = (
            with_lock(replace(self._on_map, cas_latency=cas, cancel_latency=cancel), label)
            for label, cas, cancel in points
        )
        return list(dict.fromkeys(cells))

    def table_cells(self) -> list[Cell]:
        """Every lock and fence kind on the machine as it is, with the map's workload."""
        return [with_lock(self._on_map, label) for label in self._labels]

    def run_length_cells(self) -> list[Cell]:
        """Every lock at every run length and cancellation cost, by run length."""
        lines = self.run_length_lines()
        values = lines[0].values if lines else ()
        every = itertools.product(values, lines, self.plan.headline(self.flavour))
        return [line.cell(label, x) for x, line, label in every]

    def run_length_lines(self) -> list[AxisLine]:
        """Along the run length at each cost of a cancellation: which length pays for one?"""
        if (of := self.plan.run_length) is None:
            return []
        return [
            self._line("run_length", "run_length", of.values, of, cancel_latency=cancel)
            for cancel in of.cancel_latency
        ]

    def axis_lines(self) -> list[AxisLine]:
        """Every axis with everything else as on the map and at the machine's own latencies."""
        grid = self.plan.map
        return [
            *(self._line(f"axis/{x}", x, values, grid) for x, values in grid.latencies.items()),
            *(
                self._line(f"axis/{name}", name, axis.values, grid, axis.tolerance, axis.step)
                for name, axis in self.plan.axes.items()
            ),
        ]

    @property
    def axis_contests(self) -> list[list[LockLabel]]:
        """The locks that are compared along the axes: those of the headline, and where its fences
        are others, those with full fences beside them."""
        headline = self.plan.headline(self.flavour)
        full = labels(self.flavour, self.plan.locks, [])
        return [headline] if headline == full else [headline, full]

    def line_on_map(self, axis: str, other: int, values: Sequence[int]) -> AxisLine:
        """Between points of the map along CAS or fence latency, the other held at a set value."""
        grid = self.plan.map
        along, held = tuple(grid.latencies)[:: 1 if axis == "cas_latency" else -1]
        line = self._line("map", along, values, grid, **{held: other})
        return replace(line, whole=tuple(grid.latencies[along]))

    def _line(
        self,
        series: str,
        axis: str,
        values: Sequence[float],
        of: Map | RunLength,
        tolerance: float = 0,
        step: float = 1,
        **held: int,
    ) -> AxisLine:
        """`held`: a latency that is set. A latency is set all along its own line, be it at the
        machine's own."""
        setting = {**of.parameters, "threads": of.threads, **held}
        setting.pop(axis, None)
        base = self._with(of)
        for name, value in held.items():
            base = set_to(base, name, value)
        numbers = in_parts(base.workload, axis, (*values, tolerance or of.tolerance, step))
        return AxisLine(
            series, base, axis, numbers[:-2], numbers[-2], numbers[-1], setting, move=set_to
        )


def rounds_cells(plan: StudyPlan) -> list[Cell]:
    """The rounds experiment, a run for each fence kind and lock."""
    if (rounds := plan.rounds) is None:
        return []
    on = {"engine": plan.engine, "threads": 2}
    cell = usual(rounds.machine, rounds.flavour, "rounds", rounds.parameters, **on)
    return [
        replace(cell, lock=lock, fence=fence)
        for fence, lock in itertools.product(rounds.fences, plan.locks)
    ]


class MapCosts:
    """One winner map: cycles per pair of every lock at every point of the plan's grid, once what
    `first_keys` names has been run and added.

    Costs are run at the `nodes` (CAS and fence latencies) and interpolated between them. At
    `check_places` they are run as well: the middle point of each stretch of an axis at least once,
    beside a node where the other axis has nothing between its own. `contests`: the locks that are
    compared, with full fences alone and with every kind.
    """

    def __init__(self, of: StudyCells) -> None:
        self.of = of
        self.costs: dict[Place, dict[LockLabel, float]] = {}
        self._cells = of.map_cells()
        self._labels = list(dict.fromkeys(label for label, _ in self._cells))
        self._places = list(dict.fromkeys(place for _, place in self._cells))
        self._runs: dict[Cell, float] = {}
        self._errors: dict[LockLabel, list[float]] = {}  # at each point of the check, as a share
        self._wrong = 0  # points of the check where the model has another lock as the cheapest
        grid = of.plan.map
        self.nodes = [first_values(values, grid.tolerance) for values in grid.latencies.values()]
        between = [
            [
                inside[len(inside) // 2]
                for low, high in itertools.pairwise(nodes)
                if (inside := [x for x in values if low < x < high])
            ]
            for values, nodes in zip(grid.latencies.values(), self.nodes, strict=True)
        ]
        cas, fence = (some or nodes for some, nodes in zip(between, self.nodes, strict=True))
        self.check_places = [
            (cas[i % len(cas)], fence[i % len(fence)]) for i in range(max(map(len, between)))
        ]
        compared = [label for label in self._labels if label.lock in of.plan.locks]
        self.contests = [[label for label in compared if label.fence == FULL], compared]

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
        cas, fence = self.nodes
        places = [*itertools.product(cas, fence), *self.check_places]
        return list(itertools.product(self._labels, places))

    def unsure_keys(self) -> list[Key]:
        """What is to be run besides: every point of a lock that the check found too far off; and
        where the cheapest of a contest leads by less than a tie and the errors of the model, those
        that are so near to it."""
        tie = self.of.plan.tie_percent / 100
        worst = {label: max(errors, default=0.0) for label, errors in self._errors.items()}
        off = [label for label, error in worst.items() if error > _MOST_OFF]
        keys = list(itertools.product(off, self._places))
        for place, contest in itertools.product(self._places, self.contests):
            costs = self.costs[place]
            best = min(contest, key=costs.__getitem__)
            near = [
                label
                for label in contest
                if label == best
                or costs[label] * (1 - tie - worst[label] - worst[best]) <= costs[best]
            ]
            keys += [(label, place) for label in near if len(near) > 1]
        return [key for key in dict.fromkeys(keys) if not self.is_run(key)]

    def add(self, costs: Mapping[Key, float]) -> None:
        """Takes in what was run, and interpolates the rest."""
        self._runs |= {self._cells[key]: cost for key, cost in costs.items()}
        cas, fence = self.nodes
        xs, ys = (np.array(values, dtype=float) for values in zip(*self._places, strict=True))
        model: dict[Place, dict[LockLabel, float]] = {place: {} for place in self._places}
        for label in self._labels:
            at_nodes = [[self._runs[self._cells[label, (x, y)]] for x in cas] for y in fence]
            between = interpolate(cas, fence, np.array(at_nodes), xs, ys)
            for place, cost in zip(self._places, between, strict=True):
                model[place][label] = float(cost)
        self.costs = {
            place: {
                label: self._runs.get(self._cells[label, place], cost)
                for label, cost in model[place].items()
            }
            for place in self._places
        }
        self._errors = {
            label: [abs(model[at][label] / self.costs[at][label] - 1) for at in self.check_places]
            for label in self._labels
        }
        self._wrong = sum(
            any(
                min(contest, key=model[place].__getitem__)
                != min(contest, key=self.costs[place].__getitem__)
                for contest in self.contests
            )
            for place in self.check_places
        )

    def check(self) -> MapCheck:
        """What is kept of the model: its nodes, and how far it was off where it was checked. Locks
        that are run at every point do not count."""
        of_lock = [some for some in self._errors.values() if max(some, default=0.0) <= _MOST_OFF]
        errors = list(itertools.chain.from_iterable(of_lock))
        return MapCheck(
            cas_latency=self.nodes[0],
            fence_latency=self.nodes[1],
            points=len(self.check_places),
            costs=len(errors),
            mean=float(np.mean(errors)) if errors else 0.0,
            worst=max(errors, default=0.0),
            wrong=self._wrong,
        )

    def border_tasks(self) -> list[CrossoverTask]:
        """Searches between neighbours on the grid that different locks win, in each contest. Each
        begins where the map has the border."""
        tasks = {}
        for contest in self.contests:
            costs = {
                place: {label: every[label] for label in contest}
                for place, every in self.costs.items()
            }
            for first, second, here, there in neighbours(costs):
                along = 0 if here[1] == there[1] else 1
                axis, low, high = _LATENCIES[along], here[along], there[along]
                line = self.of.line_on_map(axis, here[1 - along], [low, high])
                lock_a, lock_b = sorted((first, second))
                lead, lag = (costs[place][second] - costs[place][first] for place in (here, there))
                value = low + (high - low) * Fraction(lead) / Fraction(lead - lag)
                tasks[axis, low, here[1 - along], lock_a, lock_b] = CrossoverTask(
                    line, lock_a, lock_b, (low, high), Crossing(value, low, high, first)
                )
        return list(tasks.values())


def neighbours(costs: Mapping[Place, Costs]) -> list[tuple[LockLabel, LockLabel, Place, Place]]:
    """Pairs of neighbouring grid points with different winners: (lock, lock, point, point).

    Points are (x, y); neighbours share one coordinate and have no grid point between them.
    """
    xs, ys = sorted({x for x, _ in costs}), sorted({y for _, y in costs})
    rows = [[(x, y) for x in xs] for y in ys]
    columns = [[(x, y) for y in ys] for x in xs]
    pairs_of_points = itertools.chain.from_iterable(map(itertools.pairwise, rows + columns))
    return [
        (first, second, here, there)
        for here, there in pairs_of_points
        for first, second in [(winner(costs[here]).lock, winner(costs[there]).lock)]
        if first != second
    ]


def measure_maps(maps: Sequence[MapCosts], evaluate: Evaluate) -> None:
    """Runs what each map needs, all of them at once."""
    wanted = [grid.first_keys() for grid in maps]
    while any(wanted):  # what is run may show another lock to be near
        cells = [grid.cell(key) for grid, keys in zip(maps, wanted, strict=True) for key in keys]
        points_of_cells = iter(evaluate(cells))
        for grid, keys in zip(maps, wanted, strict=True):
            grid.add({key: float(next(points_of_cells).cost) for key in keys})
        wanted = [grid.unsure_keys() for grid in maps]


class Study:
    """Runs a plan for some flavours and stores the results."""

    def __init__(self, plan: StudyPlan, flavours: list[str], store: Store, runner: Runner) -> None:
        self._plan = plan
        self._flavours = flavours
        self._store = store
        self._runner = runner
        self._cells = [StudyCells(plan, *of) for of in itertools.product(plan.machines, flavours)]
        self._tables = [StudyCells(plan, *of) for of in table_machines(plan, flavours)]
        self._processors = processors.cells(plan, flavours)

    def known_cells(self) -> list[Cell]:
        """Every cell that can be named before anything has been run."""
        cells = [cell for setting in self._calibrations() for cell in setting.loops().values()]
        for of in self._cells:
            # The longest first: the shorter ones then fill the gaps at the end.
            cells += of.run_length_cells()[::-1]
            costs = MapCosts(of)
            cells += map(costs.cell, costs.first_keys())
            cells += of.cancel_map_cells()
            cells += [
                line.cell(lock, x)
                for line in of.axis_lines()
                for x in line.first_values
                for lock in itertools.chain.from_iterable(of.axis_contests)
            ]
        for of in self._tables:
            cells += of.table_cells()
        cells += itertools.chain.from_iterable(self._processors.values())
        return cells + rounds_cells(self._plan)

    def run(self) -> None:
        """Runs everything and stores series, calibrations, crossovers and facts.

        Raises LockcrossError (exit code 1) when a run of the job fails.
        """
        plan, store = self._plan, self._store
        self._runner.require(self.known_cells(), PLAN)
        calibrate(self._runner, store, self._calibrations())
        maps = [MapCosts(of) for of in self._cells]
        evaluate = partial(points, self._runner, PLAN)
        measure_maps(maps, evaluate)
        tasks = []
        for costs in maps:
            tasks += costs.border_tasks()
            for contest, line in itertools.product(costs.of.axis_contests, costs.of.axis_lines()):
                tasks += pairs(line, contest)
            for line in costs.of.run_length_lines():
                every = pairs(line, plan.headline(costs.of.flavour))
                tasks += [task for task in every if cancels(task.lock_a) or cancels(task.lock_b)]
        searched = search_all(evaluate, tasks, range(FIRST_SEED + 1, FIRST_SEED + plan.seeds))
        stored = PLAN_FACT.optional(store.connection)
        # Those of earlier databases name the locks that cancel.
        if stored and stored.model_dump(exclude={"cancelling"}) != plan.model_dump():
            store.forget_series()  # another plan's must not be drawn with this one's
            MAP_CHECK.write(store, {})
        by_series: dict[str, list[CrossoverRecord]] = {
            of.series(kind): [] for kind in ("map", "run_length") for of in self._cells
        }
        for search in searched:
            line, base = search.task.line, search.task.line.base
            name = f"{line.series}/{base.machine}/{base.isa}/{base.flavour}"
            by_series.setdefault(name, []).extend(records(search))
        for name, kept in by_series.items():
            store.set_crossovers(kept, name)
        self._store_series(maps)
        checks = {costs.of.series("map"): costs.check() for costs in maps}
        MAP_CHECK.write(store, {**(MAP_CHECK.optional(store.connection) or {}), **checks})
        machines = {of.machine for of in self._tables}
        machines |= {cell.machine for cells in self._processors.values() for cell in cells}
        store_machines(store, machines | ({plan.rounds.machine} if plan.rounds else set()))
        PLAN_FACT.write(store, PlanFact.model_validate(plan.model_dump()))
        store_isas(store)

    def _calibrations(self) -> list[Setting]:
        latencies, engine = self._plan.calibration.latencies, self._plan.engine
        return [
            Setting(of.machine, isa_of(of.flavour), of.flavour, x, x, engine, ops=LATENCY_OPS)
            for of, x in itertools.product(self._cells, latencies)
        ] + [
            Setting(of.machine, isa_of(of.flavour), of.flavour, engine=engine)
            for of in self._tables
        ]

    def _store_series(self, maps: Sequence[MapCosts]) -> None:
        """Which runs the figures and the tables are drawn from. All are stored already."""
        series: dict[str, list[Cell]] = {}
        if rounds := self._plan.rounds:
            series[f"rounds/{rounds.machine}/{rounds.flavour}"] = rounds_cells(self._plan)
        for costs in maps:
            series[costs.of.series("map")] = costs.cells
            series[costs.of.series("run_length")] = costs.of.run_length_cells()
            if cells := costs.of.cancel_map_cells():
                series[costs.of.series("cancel_map")] = cells
        series |= {of.series("table"): of.table_cells() for of in self._tables}
        series |= self._processors
        for name, cells in series.items():
            self._store.set_series(name, [run.id for run in self._runner.require(cells, PLAN)])
