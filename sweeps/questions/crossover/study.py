"""The main job: `lockcross crossover`. Everything it finds is in the database; it continues
where it was stopped, and a second run has nothing to do."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from results.store.store import Store
from sweeps.model.cell import Cell, usual
from sweeps.model.isa import ISAS, isa_of
from sweeps.model.locks import FULL, LockLabel, cancels
from sweeps.model.machine import load_machine
from sweeps.plans.study import Map, RunLength, StudyPlan, labels, load_study
from sweeps.questions.crossover import processors
from sweeps.run.runner import Runner
from sweeps.study.calibrate import LATENCY_OPS, Setting, calibrate, store_isas, store_machines
from sweeps.study.crossings import CrossoverTask, pairs, points, search_all, store_crossovers
from sweeps.study.job import store_series
from sweeps.study.leads import winner
from sweeps.study.lines import FIRST_SEED, AxisLine, exact, set_to, with_lock
from sweeps.study.results import PLAN as PLAN_FACT
from sweeps.study.results import PlanFact

PLAN = "crossover"
_LATENCIES = ("cas_latency", "fence_latency")
load = load_study
Place = tuple[int, int]  # set CAS and fence latency
Key = tuple[LockLabel, Place]
Costs = Mapping[LockLabel, float]  # cycles per pair


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
        """Return the name of its series of a kind."""
        return f"{kind}/{self.machine}/{isa_of(self.flavour)}/{self.flavour}"

    def _with(self, of: Map | RunLength) -> Cell:
        """Return a run of lock_sequence at the machine's own latencies."""
        on = {"engine": self.plan.engine, "threads": of.threads}
        return usual(self.machine, self.flavour, "lock_sequence", of.parameters, **on)

    def map_cells(self) -> dict[Key, Cell]:
        """Return the grid: those of the table alone among them."""
        points = itertools.product(self.plan.map.cas_latency, self.plan.map.fence_latency)
        return {
            (label, (cas, fence)): with_lock(
                replace(self._on_map, cas_latency=cas, fence_latency=fence), label
            )
            for label, (cas, fence) in itertools.product(self._labels, points)
        }

    def cancel_map_cells(self) -> list[Cell]:
        """Return the grid over CAS and cancellation, with the fences of production; none where
        these are no atomics, so that CAS and fence are two latencies."""
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
        """Return every lock and fence kind on the machine as it is, with the map's workload."""
        return [with_lock(self._on_map, label) for label in self._labels]

    def run_length_cells(self) -> list[Cell]:
        """Return every lock at every run length and cancellation cost, by run length."""
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
        """Return the locks that are compared along the axes: those of the headline, and where
        its fences are others, those with full fences beside them."""
        headline = self.plan.headline(self.flavour)
        full = labels(self.flavour, self.plan.locks, [])
        return [headline] if headline == full else [headline, full]

    def border_tasks(self, costs: Mapping[Place, Costs]) -> list[CrossoverTask]:
        """Search between neighbours on the grid that different locks win: with full fences alone,
        and with every kind. `costs`: those of the grid."""
        compared = [label for label in self._labels if label.lock in self.plan.locks]
        tasks = {}
        for contest in ([label for label in compared if label.fence == FULL], compared):
            costs_of_contest = {
                place: {label: at_place[label] for label in contest}
                for place, at_place in costs.items()
            }
            for first, second, here, there in neighbours(costs_of_contest):
                along = 0 if here[1] == there[1] else 1
                axis, ends, other = _LATENCIES[along], (here[along], there[along]), here[1 - along]
                lock_a, lock_b = sorted((first, second))
                line = self.line_on_map(axis, other, ends)
                tasks[axis, ends, other, lock_a, lock_b] = CrossoverTask(line, lock_a, lock_b)
        return list(tasks.values())

    def line_on_map(self, axis: str, other: int, values: Sequence[int]) -> AxisLine:
        """Between points of the map along CAS or fence latency, the other held at a set value."""
        grid = self.plan.map
        along, held = tuple(grid.latencies)[:: 1 if axis == "cas_latency" else -1]
        return self._line("map", along, values, grid, **{held: other})

    def _line(
        self,
        kind: str,
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
        numbers = tuple(map(exact, values)), exact(tolerance or of.tolerance), exact(step)
        return AxisLine(self.series(kind), base, axis, *numbers, setting, move=set_to)


def rounds_cells(plan: StudyPlan) -> list[Cell]:
    """Return the cells of the rounds experiment, one for each fence kind and lock."""
    if (rounds := plan.rounds) is None:
        return []
    on = {"engine": plan.engine, "threads": 2}
    cell = usual(rounds.machine, rounds.flavour, "rounds", rounds.parameters, **on)
    return [
        replace(cell, lock=lock, fence=fence)
        for fence, lock in itertools.product(rounds.fences, plan.locks)
    ]


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
        """Return every cell that can be named before anything has been run."""
        cells = [cell for setting in self._calibrations() for cell in setting.loops().values()]
        for of in self._cells:
            # The longest first: the shorter ones then fill the gaps at the end.
            cells += of.run_length_cells()[::-1]
            cells += of.map_cells().values()
            cells += of.cancel_map_cells()
            cells += [
                line.cell(lock, x)
                for line in of.axis_lines()
                for x in line.values
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
        evaluate = partial(points, self._runner, PLAN)
        borders, tasks = [], []
        for of in self._cells:
            costs: dict[Place, dict[LockLabel, float]] = {}
            of_map = of.map_cells()
            for (label, place), point in zip(of_map, evaluate(list(of_map.values())), strict=True):
                costs.setdefault(place, {})[label] = float(point.cost)
            borders += of.border_tasks(costs)
            for contest, line in itertools.product(of.axis_contests, of.axis_lines()):
                tasks += pairs(line, contest)
            for line in of.run_length_lines():
                every = pairs(line, plan.headline(of.flavour))
                tasks += [task for task in every if cancels(task.lock_a) or cancels(task.lock_b)]
        seeds = range(FIRST_SEED + 1, FIRST_SEED + plan.seeds)
        # A map is the first seed's, and so are its borders.
        searched = search_all(evaluate, borders, ()) + search_all(evaluate, tasks, seeds)
        stored = PLAN_FACT.optional(store.connection)
        # Those of earlier databases name the locks that cancel.
        if stored and stored.model_dump(exclude={"cancelling"}) != plan.model_dump():
            store.forget_series()  # another plan's must not be drawn with this one's
        series = [of.series(kind) for kind in ("map", "run_length") for of in self._cells]
        store_crossovers(store, searched, series)
        store_series(store, self._runner, PLAN, self._series())
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

    def _series(self) -> dict[str, list[Cell]]:
        """Return the cells that figures and tables are drawn from, by their series."""
        series: dict[str, list[Cell]] = {}
        if rounds := self._plan.rounds:
            series[f"rounds/{rounds.machine}/{rounds.flavour}"] = rounds_cells(self._plan)
        for of in self._cells:
            series[of.series("map")] = list(dict.fromkeys(of.map_cells().values()))
            series[of.series("run_length")] = of.run_length_cells()
            if cells := of.cancel_map_cells():
                series[of.series("cancel_map")] = cells
        series |= {of.series("table"): of.table_cells() for of in self._tables}
        return series | self._processors
