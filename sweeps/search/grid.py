"""The winner map as a grid: each lock's cost at each CAS and fence latency, and between them."""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from results.errors import NoDataError
from sweeps.model.locks import FULL, LockLabel
from sweeps.search.found import (
    PLAN,
    Accuracy,
    Isa,
    MapCrossing,
    Mark,
    accuracy,
    isa,
    map_check,
    map_crossings,
    marks,
    measured,
    series,
    tie_share,
)

Surface = NDArray[np.float64]


@dataclass(frozen=True)
class Marks:
    """Which real processors a map speaks of. `cancel`: the cycles of a cancellation that the map is
    of, if the engine says so; `here`: those whose own it is; `apart`: the others."""

    cancel: int | None
    here: tuple[Mark, ...]
    apart: tuple[Mark, ...]


@dataclass(frozen=True)
class Grid:
    """The winner map of one machine and flavour. Axes are measured cycles; costs by lock label,
    cycles per pair, each of shape (len(fence), len(cas)); `run`, of the same shape, says which of
    them are those of runs: the others are interpolated. `aside`: the labels of locks that the plan
    shows beside those it compares. `tie`: the lead, as a share, below which two locks tie. `check`:
    how far interpolated costs are off, if some are."""

    isa: Isa
    flavour: str
    cas: tuple[float, ...]
    fence: tuple[float, ...]
    costs: Mapping[LockLabel, Surface]
    crossings: tuple[MapCrossing, ...]
    marks: Marks
    aside: tuple[LockLabel, ...] = ()
    tie: float = 0.0
    run: Mapping[LockLabel, NDArray[np.bool_]] = field(default_factory=dict)
    check: Accuracy | None = None

    def cost_at(self, label: LockLabel, cas: Surface, fence: Surface) -> Surface:
        """Interpolated cost of a lock at measured latencies."""
        return interpolate(self.cas, self.fence, self.costs[label], cas, fence)


def map_marks(connection: sqlite3.Connection, machine: str, isa_name: str, flavour: str) -> Marks:
    """The real processors and the winner map of a machine and flavour; none on a map of a machine
    that stands beside the study's own. Raises NoDataError."""
    stored = series(connection, f"map/{machine}/{isa_name}/{flavour}")
    cancel = stored[0].latency("cancel_latency", "charge_stop") if stored else None
    own = PLAN.read(connection).machine
    real = marks(connection, isa_name, flavour) if machine == own else []
    tie = tie_share(connection)
    here = tuple(mark for mark in real if mark.has_cancellation(cancel, tie))
    return Marks(cancel, here, tuple(mark for mark in real if mark not in here))


def grid(connection: sqlite3.Connection, machine: str, isa_name: str, flavour: str) -> Grid:
    """The winner map of a machine and flavour: the costs of runs, and between the nodes that the
    fact `map/check` names interpolated ones. Raises NoDataError when runs of it are missing."""
    own_isa, plan = isa(connection, isa_name), PLAN.read(connection)
    name = f"map/{machine}/{isa_name}/{flavour}"
    places: dict[LockLabel, dict[tuple[int, int], float]] = {}
    for run in series(connection, name):
        # A run without full fences serves for all latencies of one: it was left unset there.
        own = run.latency("fence_latency", f"fence_{own_isa.full_fence}")
        cas, fence = (
            run.latency("cas_latency", "cas_success"),
            own if run.label.fence == FULL else -1,
        )
        if cas is None or fence is None:
            raise NoDataError(f"run {run.id} of the winner map does not say its latencies")
        places.setdefault(run.label, {})[cas, fence] = run.cost
    xs = sorted({x for found in places.values() for x, _ in found})
    ys = sorted({y for found in places.values() for _, y in found if y >= 0})
    check = map_check(connection, name)
    node_xs, node_ys = (check.cas_latency, check.fence_latency) if check else (xs, ys)
    if check:
        xs, ys = plan.map.cas_latency, plan.map.fence_latency
    x, y = np.meshgrid(xs, ys)
    costs, are_runs = {}, {}
    for label, found in places.items():

        def at(own_xs: Sequence[int], own_ys: Sequence[int], found: Any = found) -> Surface:
            rows = [[found.get((x, y), found.get((x, -1), np.nan)) for x in own_xs] for y in own_ys]
            return np.array(rows, dtype=float)

        known = at(node_xs, node_ys)
        if np.isnan(known).any():
            raise NoDataError(
                f"the winner map of {isa_name} lacks runs of {label}; run ./lockcross crossover"
            )
        runs = at(xs, ys)
        are_runs[label] = ~np.isnan(runs)
        model = interpolate(node_xs, node_ys, known, x, y)
        costs[label] = np.where(are_runs[label], runs, model)
    measured_cas = measured(connection, machine, isa_name, flavour, "cas_latency")
    measured_fence = measured(connection, machine, isa_name, flavour, "fence_latency")
    return Grid(
        own_isa, flavour, tuple(map(measured_cas, xs)), tuple(map(measured_fence, ys)), costs,
        tuple(map_crossings(connection, name, measured_cas, measured_fence)),
        map_marks(connection, machine, isa_name, flavour),
        tuple(label for label in costs if label.lock not in plan.locks),
        tie_share(connection), are_runs, accuracy([check] if check else []),
    )  # fmt: skip


def interpolate(
    xs: Sequence[float], ys: Sequence[float], costs: Surface, x: Surface, y: Surface
) -> Surface:
    """Costs of a grid (shape: len(ys) rows, len(xs) columns) at the points x, y: bilinear inside
    each cell of the grid, the cells at the edge carried on outside."""
    grid_x, grid_y = np.asarray(xs, dtype=float), np.asarray(ys, dtype=float)
    column = np.clip(np.searchsorted(grid_x, x) - 1, 0, len(grid_x) - 2)
    row = np.clip(np.searchsorted(grid_y, y) - 1, 0, len(grid_y) - 2)
    u = (x - grid_x[column]) / (grid_x[column + 1] - grid_x[column])
    v = (y - grid_y[row]) / (grid_y[row + 1] - grid_y[row])
    low = costs[row, column] * (1 - u) + costs[row, column + 1] * u
    high = costs[row + 1, column] * (1 - u) + costs[row + 1, column + 1] * u
    surface: Surface = low * (1 - v) + high * v
    return surface
