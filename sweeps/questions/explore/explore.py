"""The grid behind the report's interactive map: `lockcross explore`."""

import math
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np

from results.errors import LockcrossError, NoDataError, check_known
from results.store.store import Store
from sweeps.model.axes import LATENCIES
from sweeps.model.cell import Cell
from sweeps.model.isa import ISAS
from sweeps.model.locks import LockLabel
from sweeps.model.machine import isas_of, known_machines, load_machine, machine_named
from sweeps.plans import EXPLORATIONS
from sweeps.questions.explore.presentation import AS_IS, CHECK, KIND, PLAN, Check, cost_grid
from sweeps.run.runner import Runner
from sweeps.study.job import Job, check
from sweeps.study.lines import parts, with_lock
from sweeps.study.plan import LoadedPlan, Plan, load_plan
from sweeps.study.results import StudyResults

NAME = "explore"
_SHARE = "owner_share"

Point = tuple[int, int, int, float]  # set CAS, fence and cancellation latency, owner's share


def load_exploration() -> Plan:
    """Read the exploration's file. Raises LockcrossError (exit code 2) that names file, key, value
    and the allowed ones."""
    return load_plan(NAME, EXPLORATIONS, lambda loaded: check_grid(loaded.plan)).plan


def check_grid(plan: Plan) -> None:
    """Raise ValueError for a plan that the map cannot show: its grid has to lie within the
    calibrations, and to reach the cost of a revocation on each real processor, since a reader who
    leaves one on the page continues from there."""
    if plan.calibration is None or plan.check is None:
        raise ValueError(f"{'check' if plan.calibration else 'calibration'}: missing")
    if missing := [name for name in (KIND, AS_IS) if len(plan.named(name)) != 1]:
        raise ValueError(f"cells: one of them has to have the name {missing[0]}")
    check(plan)
    grid, (as_is,) = grid_of(plan), plan.named(AS_IS)
    cancel = grid["cancel_latency"]
    for name in as_is.given("machine"):
        stop = load_machine(name).charges.number("stop_blocked")
        if not cancel[0] <= stop <= cancel[-1]:
            raise ValueError(
                f"cells.cancel_latency: must reach {stop}, what a cancellation costs on {name}"
            )


def grid_of(plan: Plan) -> dict[str, list[Any]]:
    """Return the values along the four axes of a map, by name. Raises ValueError where an axis has
    none."""
    (cells,) = plan.named(KIND)
    grid = {name: sorted(cells.given(name)) for name in LATENCIES[:3]}
    grid[_SHARE] = sorted(cells.parameters.get(_SHARE, []))
    for name, values in grid.items():
        if not values:
            raise ValueError(f"cells.{name}: missing")
    return grid


def asked_of(plan: Plan, machines: Sequence[str], isas: Sequence[str]) -> Plan:
    """Return the plan with the maps that are asked for; without names, its own. With them come
    their machines as they are, and the real processors of the same ISAs.

    Raises LockcrossError (exit code 2) for a machine or an ISA that there is no map of.
    """
    machines = [machine_named(name) for name in machines]
    check_known("--machines:", machines, known_machines(machines))
    check_known("--isas:", isas, ISAS)
    (grid,), (as_is,) = plan.named(KIND), plan.named(AS_IS)
    machines = machines or grid.given("machine")
    isas = [isa for isa in isas or ISAS if any(isa in isas_of(name) for name in machines)]
    if not isas:
        raise LockcrossError("none of these machines is of one of these ISAs")
    real = list(dict.fromkeys([*machines, *as_is.given("machine")]))
    cells = [
        of.model_copy(update={"machine": names, "isa": isas})
        for of, names in ((grid, machines), (as_is, real))
    ]
    return plan.model_copy(update={"cells": cells})


def drawn_points(plan: Plan, machine: str, flavour: str) -> list[Point]:
    """Return the points of a map's check. Cancellation costs are drawn evenly by their logarithm,
    and shares such that they are exact in the workload's runs."""
    assert plan.check is not None
    (cells,) = plan.named(KIND)
    (workload,), (runs,) = cells.given("workload"), cells.parameters.get("runs", [1])
    draw = Random(f"{plan.check.seed} {machine} {flavour}")
    ends = {name: (values[0], values[-1]) for name, values in grid_of(plan).items()}
    cancel = [math.log(max(end, 1)) for end in ends["cancel_latency"]]
    whole = parts(workload, _SHARE)
    low, high = (round(end * whole) for end in ends[_SHARE])
    return [
        (
            draw.randint(*ends["cas_latency"]),
            draw.randint(*ends["fence_latency"]),
            round(math.exp(draw.uniform(*cancel))),
            draw.randrange(low, high + 1, whole // int(runs)) / whole,
        )
        for _ in range(plan.check.points)
    ]


def point_cell(like: Cell, label: LockLabel, point: Point) -> Cell:
    """Return the run of a lock at a point of the map of a cell."""
    *latencies, share = point
    changes: dict[str, Any] = dict(zip(LATENCIES, latencies, strict=False))
    cell = replace(like, parameters={**like.parameters, _SHARE: share}, **changes)
    return with_lock(cell, label)


class Exploration:
    """Runs the maps that are asked for and stores them. `maps`: their cells, by series."""

    def __init__(
        self,
        plan: Plan,
        machines: Sequence[str],
        isas: Sequence[str],
        store: Store,
        runner: Runner,
    ) -> None:
        self._plan, self._store, self._runner = plan, store, runner
        self._job = Job(LoadedPlan(NAME, asked_of(plan, machines, isas), []), store, runner)
        self.maps = {
            name: cells for name, cells in self._job.series.items() if not name.startswith(AS_IS)
        }

    def cells(self) -> list[Cell]:
        """Return every run that is needed."""
        checks = (
            cell for cells in self.maps.values() for cell in self._check_cells(next(iter(cells)))
        )
        return [*self._job.known_cells(), *checks]

    def run(self) -> None:
        """Run the missing cells and store series, calibrations and facts.

        Raises LockcrossError (exit code 1) when a run fails.
        """
        self._runner.require(self.cells(), NAME)
        self._job.run()
        PLAN.write(self._store, self._plan)
        kept = dict(CHECK.optional(self._store.connection) or {})
        for name, (like, *_) in self.maps.items():
            if check := self._checked(name, like):
                kept[f"{like.machine}/{like.flavour}"] = check
        CHECK.write(self._store, kept)

    def _check_cells(self, like: Cell) -> list[Cell]:
        """Return every lock at each point of the check of a cell's map."""
        return [
            point_cell(like, label, point)
            for point in drawn_points(self._plan, like.machine, like.flavour)
            for label in self._plan.labels(like.flavour)
        ]

    def _checked(self, name: str, like: Cell) -> Check | None:
        """Return how far interpolated costs of a map are off from those of the runs."""
        try:
            grid = cost_grid(StudyResults(self._store.connection), name)
        except NoDataError:  # the page says why
            return None
        runs = iter(self._runner.require(self._check_cells(like), NAME))
        points = drawn_points(self._plan, like.machine, like.flavour)
        labels = self._plan.labels(like.flavour)
        errors, wrong = [], 0
        for *set_to, cancel, share in points:
            measured = [
                float(np.interp(x, given, axis))
                for x, given, axis in zip(set_to, grid.given, grid.axes, strict=False)
            ]
            guessed = [grid.at(label, (*measured, cancel, share)) for label in labels]
            costs = [next(runs).metrics["cycles_per_pair"] for _ in labels]
            errors += [abs(a / b - 1) for a, b in zip(guessed, costs, strict=True)]
            wrong += int(np.argmin(guessed) != np.argmin(costs))
        if not errors:
            return None
        return Check(
            points=len(points),
            costs=len(errors),
            mean=float(np.mean(errors)),
            worst=float(max(errors)),
            wrong=wrong,
        )
