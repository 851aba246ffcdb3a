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
from sweeps.model.cell import Cell
from sweeps.model.isa import ISAS
from sweeps.model.locks import FULL, LockLabel, cancels
from sweeps.model.machine import load_machine
from sweeps.model.workloads import with_defaults
from sweeps.plans.study import Map, RunLength, StudyPlan, isa_of, labels, load_study
from sweeps.run.runner import Runner
from sweeps.search.calibrate import LATENCY_OPS, Setting, calibrate
from sweeps.search.crossing import Crossing, first_values
from sweeps.search.facts import store_isas, store_machines
from sweeps.search.found import MAP_CHECK, MapCheck, PlanFact
from sweeps.search.found import PLAN as PLAN_FACT
from sweeps.search.grid import interpolate
from sweeps.search.lines import FIRST_SEED, NO_LOCK, AxisLine, in_parts, set_to, with_lock
from sweeps.search.searches import (
    CrossoverTask,
    Evaluate,
    Searched,
    pairs,
    points,
    records,
    search_all,
)
from sweeps.search.winners import neighbours

PLAN = "crossover"
load = load_study
Place = tuple[int, int]  # set CAS and fence latency
Key = tuple[LockLabel, Place]
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

    def _with(self, of: Map | RunLength) -> Cell:
        """A run of lock_sequence at the machine's own latencies."""
        return Cell(
            engine=self.plan.engine, machine=self.machine, isa=isa_of(self.flavour),
            flavour=self.flavour, lock=NO_LOCK, workload="lock_sequence", threads=of.threads,
            parameters=with_defaults("lock_sequence", of.parameters),
        )  # fmt: skip

    def map_cells(self) -> dict[Key, Cell]:
        """The grid: those of the table alone among them."""
        points = itertools.product(self.plan.map.cas_latency, self.plan.map.fence_latency)
        return {
            (label, (cas, fence)): with_lock(
                replace(self._on_map, cas_latency=cas, fence_latency=fence), label
            )
            for label, (cas, fence) in itertools.product(self._labels, points)
        }

    def table_cells(self) -> list[Cell]:
        """Every lock and fence kind on the machine as it is, with the map's workload."""
        return [with_lock(self._on_map, label) for label in self._labels]

    def run_length_cells(self) -> list[Cell]:
        """Every lock at every run length and cancellation cost."""
        lines = self.run_length_lines()
        return [
            line.cell(label, x)
            for x in (lines[0].values if lines else ())
            for line in lines
            for label in self.plan.locks
        ]

    def run_length_lines(self) -> list[AxisLine]:
        """Along the run length at each cost of a cancellation: which length pays for one?"""
        given = self.plan.run_length
        return [] if given is None else [
            self._line("run_length", "run_length", given.values, given, cancel_latency=cancel)
            for cancel in given.cancel_latency
        ]  # fmt: skip

    def axis_lines(self) -> list[AxisLine]:
        """Every axis with everything else as on the map and at the machine's own latencies."""
        grid = self.plan.map
        return [
            self._line("axis/cas_latency", "cas_latency", grid.cas_latency, grid),
            self._line("axis/fence_latency", "fence_latency", grid.fence_latency, grid),
            *(
                self._line(f"axis/{name}", name, axis.values, grid, axis.tolerance, axis.step)
                for name, axis in self.plan.axes.items()
            ),
        ]  # fmt: skip

    def line_on_map(self, axis: str, other: int, values: Sequence[int]) -> AxisLine:
        """Between points of the map along CAS or fence latency, the other held at a set value."""
        grid = self.plan.map
        along, held = tuple(grid.latencies)[:: 1 if axis == "cas_latency" else -1]
        line = self._line("map", along, values, grid, **{held: other})
        return replace(line, whole=tuple(grid.latencies[along]))

    def _line(
        self, series: str, axis: str, values: Sequence[float], of: Map | RunLength,
        tolerance: float = 0, step: float = 1, **held: int,
    ) -> AxisLine:  # fmt: skip
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
    given = plan.rounds
    return [] if given is None else [
        Cell(
            engine=plan.engine, machine=given.machine, isa=isa_of(given.flavour),
            flavour=given.flavour, lock=lock, fence=fence, workload="rounds",
            parameters=with_defaults("rounds", given.parameters), threads=2,
        )
        for fence in given.fences
        for lock in plan.locks
    ]  # fmt: skip


def nodes_of(grid: Map) -> tuple[list[int], list[int]]:
    """CAS and fence latencies of the points of a map from which the others are interpolated."""
    cas, fence = (first_values(values, grid.tolerance) for values in grid.latencies.values())
    return cas, fence


class MapCosts:
    """One winner map: cycles per pair of every lock at every point of the plan's grid, once what
    `first_keys` names has been run and added."""

    def __init__(self, of: StudyCells) -> None:
        self.of = of
        self.costs: dict[Place, dict[LockLabel, float]] = {}
        self._cells = of.map_cells()
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
            for values, nodes in zip(grid.latencies.values(), nodes_of(grid), strict=True)
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
        cas, fence = nodes_of(self.of.plan.map)
        xs, ys = (np.array(values, dtype=float) for values in zip(*self._places, strict=True))
        model = {}
        for label in self._labels:
            at_nodes = [[self._runs[self._cells[label, (x, y)]] for x in cas] for y in fence]
            between = interpolate(cas, fence, np.array(at_nodes), xs, ys)
            model[label] = dict(zip(self._places, map(float, between), strict=True))
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
        every = [label for label in self._labels if label.lock in self.of.plan.locks]
        contests = [[label for label in every if label.fence == FULL], every]
        self._wrong = sum(
            any(
                min(contest, key=lambda label: model[label][place])
                != min(contest, key=lambda label: self.costs[place][label])
                for contest in contests
            )
            for place in check
        )

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
            cas_latency=cas,
            fence_latency=fence,
            points=len(self.check_places()),
            costs=len(errors),
            mean=float(np.mean(errors)) if errors else 0.0,
            worst=max(errors, default=0.0),
            wrong=self._wrong,
        )


def measure_maps(
    maps: Sequence[MapCosts], evaluate: Evaluate, locks: Sequence[str], tie: float
) -> None:
    """Runs what each map needs, all of them at once. `locks`: those in the contest; `tie`: the
    share of a lead below which it is one."""
    wanted = [one.first_keys() for one in maps]
    while any(wanted):  # what is run may show another lock to be near
        cells = [one.cell(key) for one, keys in zip(maps, wanted, strict=True) for key in keys]
        found = iter(evaluate(cells))
        for one, keys in zip(maps, wanted, strict=True):
            one.add({key: float(next(found).cost) for key in keys})
        wanted = [one.unsure_keys(locks, tie) for one in maps]


class Study:
    """Runs a plan for some flavours and stores the results."""

    def __init__(self, plan: StudyPlan, flavours: list[str], store: Store, runner: Runner) -> None:
        self._plan = plan
        self._flavours = flavours
        self._store = store
        self._runner = runner
        self._cells = [StudyCells(plan, *of) for of in itertools.product(plan.machines, flavours)]
        self._tables = [StudyCells(plan, *of) for of in table_machines(plan, flavours)]

    def known_cells(self) -> list[Cell]:
        """Every cell that can be named before anything has been run."""
        cells = [s.cell(*loop) for s in self._calibrations() for loop in s.loops()]
        for of in self._cells:
            # The longest first: the shorter ones then fill the gaps at the end.
            cells += of.run_length_cells()[::-1]
            costs = MapCosts(of)
            cells += map(costs.cell, costs.first_keys())
            cells += [
                line.cell(lock, x)
                for line in of.axis_lines()
                for x in line.first_values
                for lock in self._plan.locks
            ]
        for of in self._tables:
            cells += of.table_cells()
        return cells + rounds_cells(self._plan)

    def run(self) -> None:
        """Runs everything and stores series, calibrations, crossovers and facts.

        Raises LockcrossError (exit code 1) when a run of the job fails.
        """
        plan = self._plan
        self._runner.require(self.known_cells(), PLAN)
        calibrate(self._runner, self._store, self._calibrations())
        maps = [MapCosts(of) for of in self._cells]
        evaluate = partial(points, self._runner, PLAN)
        measure_maps(maps, evaluate, plan.locks, plan.tie_percent / 100)
        tasks = []
        for costs in maps:
            tasks += self._map_tasks(costs)
            for line in costs.of.axis_lines():
                tasks += pairs(line, plan.locks)
            for line in costs.of.run_length_lines():
                found = pairs(line, plan.locks)
                tasks += [task for task in found if cancels(task.lock_a) or cancels(task.lock_b)]
        seeds = range(FIRST_SEED + 1, FIRST_SEED + plan.seeds)
        searched = search_all(evaluate, tasks, seeds)
        if not _is_plan(PLAN_FACT.optional(self._store.connection), plan):
            self._store.forget_series()  # another plan's must not be drawn with this one's
            MAP_CHECK.write(self._store, {})
        self._store_crossovers(searched)
        self._store_series(maps)
        checks = {series_name("map", costs.of): costs.check() for costs in maps}
        earlier = MAP_CHECK.optional(self._store.connection) or {}
        MAP_CHECK.write(self._store, {**earlier, **checks})
        machines = {of.machine for of in self._tables}
        store_machines(self._store, machines | ({plan.rounds.machine} if plan.rounds else set()))
        PLAN_FACT.write(self._store, PlanFact.model_validate(plan.model_dump()))
        store_isas(self._store)

    def _calibrations(self) -> list[Setting]:
        return [
            *(
                Setting(
                    of.machine, isa_of(of.flavour), of.flavour, latency, latency,
                    self._plan.engine, ops=LATENCY_OPS,
                )
                for of in self._cells
                for latency in self._plan.calibration.latencies
            ),
            *(
                Setting(of.machine, isa_of(of.flavour), of.flavour, engine=self._plan.engine)
                for of in self._tables
            ),
        ]  # fmt: skip

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
            along = 0 if here[1] == there[1] else 1
            axis, low, high = ("cas_latency", "fence_latency")[along], here[along], there[along]
            line = one.of.line_on_map(axis, here[1 - along], [low, high])
            lock_a, lock_b = sorted((first, second))
            lead, lag = (costs[place][second] - costs[place][first] for place in (here, there))
            value = low + (high - low) * Fraction(lead) / Fraction(lead - lag)
            tasks[axis, low, here[1 - along], lock_a, lock_b] = CrossoverTask(
                line, lock_a, lock_b, (low, high), Crossing(value, low, high, first)
            )
        return list(tasks.values())

    def _store_crossovers(self, found: Sequence[Searched]) -> None:
        by_series: dict[str, list[CrossoverRecord]] = {
            series_name(series, of): [] for series in ("map", "run_length") for of in self._cells
        }
        for one in found:
            base = one.task.line.base
            name = f"{one.task.line.series}/{base.machine}/{base.isa}/{base.flavour}"
            by_series.setdefault(name, []).extend(records(one))
        for name, kept in by_series.items():
            self._store.set_crossovers(kept, name)

    def _store_series(self, maps: Sequence[MapCosts]) -> None:
        """Which runs the figures and the tables are drawn from. All are stored already."""
        series: dict[str, list[Cell]] = {}
        if rounds := self._plan.rounds:
            series[f"rounds/{rounds.machine}/{rounds.flavour}"] = rounds_cells(self._plan)
        for costs in maps:
            series[series_name("map", costs.of)] = costs.cells
            series[series_name("run_length", costs.of)] = costs.of.run_length_cells()
        series |= {series_name("table", of): of.table_cells() for of in self._tables}
        for name, cells in series.items():
            self._store.set_series(name, [run.id for run in self._runner.require(cells, PLAN)])


def _is_plan(stored: PlanFact | None, plan: StudyPlan) -> bool:
    """Whether a stored plan, if there is one, is this. Those of earlier databases name the locks
    that cancel."""
    return stored is None or stored.model_dump(exclude={"cancelling"}) == plan.model_dump()


def series_name(kind: str, of: StudyCells) -> str:
    """The name of a machine's series."""
    return f"{kind}/{of.machine}/{isa_of(of.flavour)}/{of.flavour}"
