"""The grid behind the report's interactive map: `lockcross explore`."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np

from results.errors import LockcrossError, NoDataError, check_known
from results.store.store import Store
from sweeps.model.axes import LATENCIES
from sweeps.model.cell import Cell
from sweeps.model.isa import ISAS, isa_of
from sweeps.model.locks import LockLabel
from sweeps.model.machine import known_machines, load_machine, machine_named
from sweeps.plans import EXPLORATIONS, study
from sweeps.questions.explore.presentation import AS_IS, CHECK, KIND, PLAN, cost_grid
from sweeps.run.runner import Runner
from sweeps.search import found
from sweeps.search.calibrate import LATENCY_OPS, Setting, calibrate, store_isas, store_machines
from sweeps.search.lines import in_parts, parts, with_lock
from sweeps.study.plan import Plan, load_plan

NAME = "explore"
_SHARE = "owner_share"

Place = tuple[str, str]  # machine and flavour of a map
Point = tuple[int, int, int, float]  # set CAS, fence and cancellation latency, owner's share


def load_exploration() -> Plan:
    """Read the exploration's file. Raises LockcrossError (exit code 2) that names file, key, value
    and what is allowed."""
    return load_plan(NAME, EXPLORATIONS, lambda loaded: check_grid(loaded.plan)).plan


def check_grid(plan: Plan) -> None:
    """Raise ValueError for a plan that the map cannot show: its grid has to lie within the
    calibrations, and to reach what a cancellation costs on each real processor, since who leaves
    one on the page goes on from there."""
    for key in ("calibration", "check"):
        if getattr(plan, key) is None:
            raise ValueError(f"{key}: missing")
    if missing := [name for name in (KIND, AS_IS) if len(plan.named(name)) != 1]:
        raise ValueError(f"cells: one of them has to have the name {missing[0]}")
    grid, (as_is,) = grid_of(plan), plan.named(AS_IS)
    assert plan.calibration is not None
    study.check_reach(plan.calibration.latencies, (grid["cas_latency"], grid["fence_latency"]))
    cancel = grid["cancel_latency"]
    for name in as_is.given("machine"):
        stop = load_machine(name).charges.number("stop")
        if not cancel[0] <= stop <= cancel[-1]:
            raise ValueError(
                f"cells.cancel_latency: must reach {stop}, what a cancellation costs on {name}"
            )


def grid_of(plan: Plan) -> dict[str, list[Any]]:
    """Return the values along the four axes of a map, by name. Raises ValueError where an axis has
    none."""
    (cells,) = plan.named(KIND)
    axes = ("cas_latency", "fence_latency", "cancel_latency")
    grid = {name: sorted(getattr(cells, name) or []) for name in axes}
    grid[_SHARE] = sorted(cells.parameters.get(_SHARE, []))
    for name, values in grid.items():
        if not values:
            raise ValueError(f"cells.{name}: missing")
    return grid


def maps(plan: Plan, machines: Sequence[str], isas: Sequence[str]) -> list[Place]:
    """Return the maps that are asked for; without names, the plan's.

    Raises LockcrossError (exit code 2) for a machine or an ISA that there is no map of.
    """
    machines = [machine_named(name) for name in machines]
    check_known("--machines:", machines, known_machines(machines))
    check_known("--isas:", isas, ISAS)
    (cells,) = plan.named(KIND)
    found = [
        (machine, flavour)
        for machine in machines or cells.given("machine")
        for isa in load_machine(machine).isas
        for flavour in ISAS[isa].flavours
        if isa in (isas or ISAS)
    ]
    if not found:
        raise LockcrossError("none of these machines is of one of these ISAs")
    return found


def cells_at(plan: Plan, kind: str, place: Place) -> list[Cell]:
    """Return the runs of one kind (KIND or AS_IS) on a machine, in one flavour."""
    (cells,), (machine, flavour) = plan.named(kind), place
    return plan.cells_of(cells.model_copy(update={"machine": [machine], "flavour": [flavour],
                                                  "isa": [isa_of(flavour)]}))  # fmt: skip


def drawn_points(plan: Plan, place: Place) -> list[Point]:
    """Return the points of a map's check. Cancellation costs are drawn evenly by their logarithm,
    and shares such that they are exact in the workload's runs."""
    assert plan.check is not None
    grid, (cells,) = grid_of(plan), plan.named(KIND)
    (workload,) = cells.given("workload")
    draw = Random(" ".join((str(plan.check.seed), *place)))
    ends = {name: (values[0], values[-1]) for name, values in grid.items()}
    cancel = [math.log(max(end, 1)) for end in ends["cancel_latency"]]
    low, high = in_parts(workload, _SHARE, ends[_SHARE])
    whole = parts(workload, _SHARE)
    (runs,) = cells.parameters.get("runs", [1])
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
    """Runs a plan's maps and stores them. `asked`: machine and flavour of each."""

    def __init__(self, plan: Plan, asked: Sequence[Place], store: Store, runner: Runner) -> None:
        self._plan, self._store, self._runner, self._asked = plan, store, runner, asked
        (real,) = plan.named(AS_IS)
        on_real = [
            (machine, flavour)
            for machine in real.given("machine")
            for flavour in dict.fromkeys(flavour for _, flavour in asked)
            if isa_of(flavour) in load_machine(machine).isas
        ]
        self._as_is = list(dict.fromkeys([*asked, *on_real]))
        assert plan.calibration is not None
        # Calibrations along both axes of each map, and of each machine as it is.
        settings: list[tuple[Place, int | None]] = [
            (place, x) for place in asked for x in plan.calibration.latencies
        ]
        settings += [(place, None) for place in self._as_is]
        self._settings = [
            Setting(machine, isa_of(flavour), flavour, x, x, ops=LATENCY_OPS)
            for (machine, flavour), x in settings
        ]

    def cells(self) -> list[Cell]:
        """Return every run that is needed."""
        cells = [cell for _, some in self._series() for cell in some]
        cells += [cell for place in self._asked for cell in self._check_cells(place)]
        return cells + [cell for setting in self._settings for cell in setting.loops().values()]

    def run(self) -> None:
        """Run what is missing and store series, calibrations and facts.

        Raises LockcrossError (exit code 1) when a run fails.
        """
        self._runner.require(self.cells(), NAME)
        calibrate(self._runner, self._store, self._settings)
        for series, cells in self._series():
            runs = self._runner.require(cells, NAME)
            self._store.set_series(series, [run.id for run in runs])
        store_machines(self._store, {setting.machine for setting in self._settings})
        store_isas(self._store)
        PLAN.write(self._store, self._plan)
        kept = dict(CHECK.optional(self._store.connection) or {})
        checks = {"/".join(place): self._checked(place) for place in self._asked}
        CHECK.write(self._store, kept | {name: one for name, one in checks.items() if one})

    def _series(self) -> Iterable[tuple[str, list[Cell]]]:
        """The runs of each map, and of each machine as it is, by the name that they are stored
        as."""
        for kind, places in ((KIND, self._asked), (AS_IS, self._as_is)):
            for machine, flavour in places:
                name = "/".join((kind, machine, isa_of(flavour), flavour))
                yield name, cells_at(self._plan, kind, (machine, flavour))

    def _check_cells(self, place: Place) -> list[Cell]:
        """Every lock at each point of a map's check."""
        (like, *_) = cells_at(self._plan, KIND, place)
        return [
            point_cell(like, label, point)
            for point in drawn_points(self._plan, place)
            for label in self._plan.labels(place[1])
        ]

    def _checked(self, place: Place) -> found.Check | None:
        """How far interpolated costs of a map are off from those of the runs."""
        machine, flavour = place
        points, labels = drawn_points(self._plan, place), self._plan.labels(flavour)
        runs = iter(self._runner.require(self._check_cells(place), NAME))
        try:
            name = "/".join((KIND, machine, isa_of(flavour), flavour))
            grid = cost_grid(self._store.connection, name)
        except NoDataError:  # the page says why
            return None
        errors, wrong = [], 0
        for cas, fence, cancel, share in points:
            measured = [
                float(np.interp(x, given, axis))
                for x, given, axis in zip((cas, fence), grid.given, grid.axes, strict=False)
            ]
            guessed = [grid.at(label, (*measured, cancel, share)) for label in labels]
            costs = [next(runs).metrics["cycles_per_pair"] for _ in labels]
            errors += [abs(a / b - 1) for a, b in zip(guessed, costs, strict=True)]
            wrong += int(np.argmin(guessed) != np.argmin(costs))
        if not errors:
            return None
        return found.Check(
            points=len(points),
            costs=len(errors),
            mean=float(np.mean(errors)),
            worst=float(max(errors)),
            wrong=wrong,
        )
