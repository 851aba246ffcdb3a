"""The grid behind the report's interactive map: `lockcross explore`."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Annotated, Any, Self

import numpy as np
from pydantic import Field, model_validator

from results.errors import LockcrossError, NoDataError, check_known
from results.store.store import Store
from sweeps.model.cell import Cell, usual
from sweeps.model.isa import FLAVOURS, ISAS, isa_of
from sweeps.model.locks import LockLabel, load_locks
from sweeps.model.machine import known_machines, load_machine, machine_named, machine_names
from sweeps.plans import EXPLORATIONS, study
from sweeps.questions.explore.presentation import AS_IS, CHECK, PLAN, ExploreFact, cost_grid
from sweeps.run.runner import Runner
from sweeps.search import found
from sweeps.search.calibrate import LATENCY_OPS, Setting, calibrate, store_isas, store_machines
from sweeps.search.lines import in_parts, parts, with_lock
from sweeps.support.toml import Document

NAME = "explore"
WORKLOAD = "lock_sequence"

Point = tuple[int, int, int, float]  # set CAS, fence and cancellation latency, owner's share
SET_LATENCIES = ("cas_latency", "fence_latency", "cancel_latency")  # of a point


class Grid(Document):
    """Set latencies in cycles, and shares."""

    cas_latency: study.Latencies
    fence_latency: study.Latencies
    cancel_latency: Annotated[list[study.Latency], study.Some, study.RISING]
    owner_share: Annotated[list[study.Share], study.Some, study.RISING]


class Workload(Document):
    """Threads and parameters of the workload, but for the owner's share."""

    threads: study.Threads
    parameters: Annotated[dict[str, int], study.keys_of(WORKLOAD, "owner_share")]


class Calibration(study.Calibration):
    """`owner_share`: that of the runs on machines as they are."""

    owner_share: study.Share


class Check(Document):
    """Points between those of the grid that are run on each map, drawn with a seed."""

    points: Annotated[int, Field(ge=0, le=1000)]
    seed: int


class ExplorePlan(Document):
    """A file of sweeps/plans/explorations."""

    title: study.Text
    machines: Annotated[list[str], study.Some]
    flavours: Annotated[list[str], study.Some]
    locks: study.Locks
    aside: list[str] = []
    fence_kinds: list[str] = []
    tie_percent: study.Percent = 2.0
    limits: dict[str, str] = {}
    workload: Workload
    grid: Grid
    check: Check
    calibration: Calibration

    @model_validator(mode="after")
    def _known_names(self) -> Self:
        study.check_known(
            (
                ("machines", self.machines, machine_names()),
                ("flavours", self.flavours, FLAVOURS),
                ("locks", [*self.locks, *self.aside], load_locks()),
                ("fence_kinds", self.fence_kinds, study.OTHER_FENCES),
                ("limits", self.limits, self.aside),
                ("calibration.machines", self.calibration.machines, machine_names()),
            )
        )
        grid = self.grid
        study.check_reach(self.calibration.latencies, (grid.cas_latency, grid.fence_latency))
        # Who leaves a processor on the page goes on from its cancellation on the map.
        for name in self.calibration.machines:
            stop = load_machine(name).charges.number("stop")
            if not grid.cancel_latency[0] <= stop <= grid.cancel_latency[-1]:
                raise ValueError(
                    f"grid.cancel_latency: must reach {stop}, what a cancellation costs on {name} "
                    "of calibration.machines"
                )
        return self


def load_exploration() -> ExplorePlan:
    """Reads the exploration's file. Raises LockcrossError (exit code 2) that names file, key, value
    and what is allowed."""
    return EXPLORATIONS.load(ExplorePlan, NAME)


def labels(plan: ExplorePlan, flavour: str) -> list[LockLabel]:
    """Every lock of the plan with every fence kind that it and the ISA allow."""
    return study.labels(flavour, [*plan.locks, *plan.aside], plan.fence_kinds)


def _base(plan: ExplorePlan, machine: str, flavour: str, share: float) -> Cell:
    """A run at the machine's own latencies; its lock is still to be named."""
    parameters = {**plan.workload.parameters, "owner_share": share}
    return usual(machine, flavour, WORKLOAD, parameters, threads=plan.workload.threads)


def map_cells(plan: ExplorePlan, machine: str, flavour: str) -> list[Cell]:
    """The runs of one map, each once."""
    grid = plan.grid
    points = itertools.product(
        labels(plan, flavour),
        itertools.product(
            grid.cas_latency, grid.fence_latency, grid.cancel_latency, grid.owner_share
        ),
    )
    return list(dict.fromkeys(point_cell(plan, machine, flavour, *point) for point in points))


def point_cell(
    plan: ExplorePlan, machine: str, flavour: str, label: LockLabel, point: Point
) -> Cell:
    """The run of a lock at a point."""
    *latencies, share = point
    changes: dict[str, Any] = dict(zip(SET_LATENCIES, latencies, strict=True))
    return with_lock(replace(_base(plan, machine, flavour, share), **changes), label)


def as_is_cells(plan: ExplorePlan, machine: str, flavour: str) -> list[Cell]:
    """Every lock on a machine as it is, a run each: nothing is set but the workload."""
    base = _base(plan, machine, flavour, plan.calibration.owner_share)
    return [with_lock(base, label) for label in labels(plan, flavour)]


def drawn_points(plan: ExplorePlan, machine: str, flavour: str) -> list[Point]:
    """The points of a map's check. Cancellation costs are drawn evenly by their logarithm, and
    shares such that they are exact in the workload's runs."""
    grid, draw = plan.grid, Random(f"{plan.check.seed} {machine} {flavour}")
    least = math.log(max(grid.cancel_latency[0], 1))
    whole = parts(WORKLOAD, "owner_share")
    ends = grid.owner_share[0], grid.owner_share[-1]
    low, high = in_parts(WORKLOAD, "owner_share", ends)
    step = whole // int(plan.workload.parameters.get("runs", 1))
    return [
        (
            draw.randint(grid.cas_latency[0], grid.cas_latency[-1]),
            draw.randint(grid.fence_latency[0], grid.fence_latency[-1]),
            round(math.exp(draw.uniform(least, math.log(max(grid.cancel_latency[-1], 1))))),
            draw.randrange(low, high + 1, step) / whole,
        )
        for _ in range(plan.check.points)
    ]


def maps(plan: ExplorePlan, machines: Sequence[str], isas: Sequence[str]) -> list[tuple[str, str]]:
    """(machine, flavour) of every map asked for; without names, the plan's.

    Raises LockcrossError (exit code 2) for a machine or an ISA that there is no map of.
    """
    machines = [machine_named(name) for name in machines]
    check_known("--machines:", machines, known_machines(machines))
    check_known("--isas:", isas, ISAS)
    maps = [
        (machine, flavour)
        for machine in machines or plan.machines
        for flavour in plan.flavours
        if isa_of(flavour) in load_machine(machine).isas and isa_of(flavour) in (isas or ISAS)
    ]
    if not maps:
        raise LockcrossError("none of these machines is of one of these ISAs")
    return maps


class Exploration:
    """Runs a plan's maps and stores them. `asked`: machine and flavour of each."""

    def __init__(
        self, plan: ExplorePlan, asked: Sequence[tuple[str, str]], store: Store, runner: Runner
    ) -> None:
        self._plan = plan
        self._store = store
        self._runner = runner
        self._asked = asked
        flavours = dict.fromkeys(flavour for _, flavour in asked)
        real = [
            (machine, flavour)
            for machine in plan.calibration.machines
            for flavour in flavours
            if isa_of(flavour) in load_machine(machine).isas
        ]
        self._as_is = list(dict.fromkeys([*asked, *real]))  # the maps' machines and the real ones
        # Calibrations along both axes of each map, and of each machine as it is.
        self._settings = [
            Setting(machine, isa_of(flavour), flavour, latency, latency, ops=LATENCY_OPS)
            for machine, flavour in asked
            for latency in plan.calibration.latencies
        ] + [Setting(m, isa_of(f), f, ops=LATENCY_OPS) for m, f in self._as_is]

    def cells(self) -> list[Cell]:
        """Every run that is needed."""
        cells = [cell for place in self._asked for cell in map_cells(self._plan, *place)]
        cells += [cell for place in self._asked for cell in self._check_cells(*place)]
        cells += [cell for place in self._as_is for cell in as_is_cells(self._plan, *place)]
        return cells + [cell for setting in self._settings for cell in setting.loops().values()]

    def run(self) -> None:
        """Runs what is missing and stores series, calibrations and facts.

        Raises LockcrossError (exit code 1) when a run fails.
        """
        self._runner.require(self.cells(), NAME)
        calibrate(self._runner, self._store, self._settings)
        series = [(NAME, place, map_cells) for place in self._asked]
        series += [(AS_IS, place, as_is_cells) for place in self._as_is]
        for kind, (machine, flavour), cells in series:
            runs = self._runner.require(cells(self._plan, machine, flavour), NAME)
            name = f"{kind}/{machine}/{isa_of(flavour)}/{flavour}"
            self._store.set_series(name, [run.id for run in runs])
        store_machines(self._store, {setting.machine for setting in self._settings})
        store_isas(self._store)
        PLAN.write(self._store, ExploreFact.model_validate(self._plan.model_dump()))
        self._store_check()

    def _check_cells(self, machine: str, flavour: str) -> list[Cell]:
        """Every lock at each point of a map's check."""
        return [
            point_cell(self._plan, machine, flavour, label, point)
            for point in drawn_points(self._plan, machine, flavour)
            for label in labels(self._plan, flavour)
        ]

    def _store_check(self) -> None:
        """How far interpolated costs are off from those of the runs, by map."""
        kept = dict(CHECK.optional(self._store.connection) or {})
        for machine, flavour in self._asked:
            points = drawn_points(self._plan, machine, flavour)
            kinds = labels(self._plan, flavour)
            runs = iter(self._runner.require(self._check_cells(machine, flavour), NAME))
            name = f"{NAME}/{machine}/{isa_of(flavour)}/{flavour}"
            try:
                grid = cost_grid(self._store.connection, name)
            except NoDataError:  # the page says why
                continue
            errors, wrong = [], 0
            for *latencies, share in points:
                point = [
                    float(np.interp(latencies[n], grid.given[n], grid.axes[n])) for n in (0, 1)
                ]
                point += latencies[2], share
                guessed = [grid.at(label, point) for label in kinds]
                measured = [next(runs).metrics["cycles_per_pair"] for _ in kinds]
                errors += [abs(a / b - 1) for a, b in zip(guessed, measured, strict=True)]
                wrong += int(np.argmin(guessed) != np.argmin(measured))
            if errors:
                kept[f"{machine}/{flavour}"] = found.Check(
                    points=len(points),
                    costs=len(errors),
                    mean=float(np.mean(errors)),
                    worst=float(max(errors)),
                    wrong=wrong,
                )
        CHECK.write(self._store, kept)
