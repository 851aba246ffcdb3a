"""The winner map of a study as a grid of costs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from results.errors import NoDataError
from sweeps.model import engines
from sweeps.model.locks import LockLabel
from sweeps.study.results import Isa, MapCrossing, Mark, StudyResults
from sweeps.study.runs import StudyRun

Surface = NDArray[np.float64]


class Marks(NamedTuple):
    """Which real processors a map speaks of. `cancel`: the cycles of a cancellation that the map is
    of, if the engine says so; `here`: those whose own it is; `apart`: the others."""

    cancel: int | None
    here: tuple[Mark, ...]
    apart: tuple[Mark, ...]


class Spot(NamedTuple):
    """Where a real processor stands on a map, and how it is named there."""

    words: str
    x: float
    y: float


@dataclass(frozen=True)
class Grid:
    """The winner map of one machine and flavour, over CAS and full fence. Axes are measured cycles;
    costs by lock label, cycles per pair, each of shape (len(ys), len(xs)). `aside`: the labels of
    locks that the plan shows beside those it compares. `tie`: the lead, as a share, below which two
    locks tie."""

    isa: Isa
    flavour: str
    xs: tuple[float, ...]
    ys: tuple[float, ...]
    costs: Mapping[LockLabel, Surface]
    crossings: tuple[MapCrossing, ...]
    marks: Marks
    aside: tuple[LockLabel, ...] = ()
    tie: float = 0.0

    @property
    def axes(self) -> tuple[str, str]:
        """Return the axes in words."""
        return "measured CAS latency", f"measured {self.isa.full_fence} latency"

    @property
    def spots(self) -> list[Spot]:
        """Return the processors that the map speaks of."""
        return [Spot(mark.name, mark.cas, mark.fence) for mark in self.marks.here]

    def cost_at(self, label: LockLabel, x: Surface, y: Surface) -> Surface:
        """Return the interpolated cost of a lock at a place of the map."""
        return interpolate(self.xs, self.ys, self.costs[label], x, y)


class CancelGrid(Grid):
    """A map over CAS and the cost of a cancellation, as set, where the fence is an atomic: so these
    two are all the latencies that decide, and every processor of the ISA has its place whose CAS
    takes as long as its other atomics."""

    @property
    def axes(self) -> tuple[str, str]:
        """Return the axes in words."""
        return "measured latency of a locked operation", "cost of a cancellation"

    @property
    def spots(self) -> list[Spot]:
        """Return the processors that the map speaks of."""
        marks = [*self.marks.here, *self.marks.apart]
        return [
            Spot(one.name, one.cas, one.cancel)
            for one in marks
            if one.cancel is not None and one.locked_alike
        ]


def map_marks(results: StudyResults, machine: str, isa_name: str, flavour: str) -> Marks:
    """Return the real processors and the winner map of a machine and flavour; none on a map of a
    machine that stands beside the study's own. Raises NoDataError."""
    plan = results.plan
    stored = results.series(f"map/{machine}/{isa_name}/{flavour}")
    cancel = stored[0].cancel if stored else None
    # An engine with costs of its own has its core model's CAS and fence, not the processor's.
    if machine != plan.machine or engines.entry(plan.engine).own_costs:
        return Marks(cancel, (), ())
    real = [mark for mark in results.marks(isa_name, flavour) if mark.machine not in plan.machines]
    here = tuple(
        mark
        for mark in real
        if cancel is not None
        and mark.cancel is not None
        and abs(mark.cancel - cancel) <= plan.tie * cancel
    )
    return Marks(cancel, here, tuple(mark for mark in real if mark not in here))


def grid(results: StudyResults, machine: str, isa_name: str, flavour: str) -> Grid:
    """Return the winner map of a machine and flavour. Raises NoDataError when runs of it are
    missing."""
    place = machine, isa_name, flavour
    runs = results.series("/".join(("map", *place)))
    cas, fence = (results.measured(*place, axis) for axis in ("cas_latency", "fence_latency"))
    xs, ys, surfaces = _surfaces(f"the winner map of {isa_name}", runs, "fence_latency")
    return Grid(
        results.isa(isa_name),
        flavour,
        tuple(map(cas, xs)),
        tuple(map(fence, ys)),
        surfaces,
        tuple(results.map_crossings("/".join(("map", *place)), cas, fence)),
        map_marks(results, *place),
        tuple(label for label in surfaces if label.lock not in results.plan.locks),
        results.plan.tie,
    )


def cancel_grid(
    results: StudyResults, machine: str, isa_name: str, flavour: str
) -> CancelGrid | None:
    """Return the map over CAS and cancellation of a machine and flavour; None where the study has
    none. Raises NoDataError when runs of it are missing."""
    place = machine, isa_name, flavour
    runs = results.series("/".join(("cancel_map", *place)))
    if not runs:
        return None
    cas = results.measured(*place, "cas_latency")
    title = f"the map over CAS and cancellation of {isa_name}"
    xs, ys, surfaces = _surfaces(title, runs, "cancel_latency")
    return CancelGrid(
        results.isa(isa_name),
        flavour,
        tuple(map(cas, xs)),
        tuple(ys),
        surfaces,
        (),
        map_marks(results, *place),
        tuple(label for label in surfaces if label.lock not in results.plan.locks),
        results.plan.tie,
    )


def _surfaces(
    title: str, runs: Sequence[StudyRun], axis: str
) -> tuple[list[float], list[float], dict[LockLabel, Surface]]:
    """Arrange the costs of a map over CAS and another latency by lock, with the values of both
    axes. Raises NoDataError where a lock lacks points of the `title`."""
    costs: dict[LockLabel, dict[tuple[float, float], float]] = {}
    for run in runs:
        costs.setdefault(run.label, {}).update(
            dict.fromkeys(run.points("cas_latency", axis), run.cost)
        )
    xs, ys = (
        sorted({place[n] for of_label in costs.values() for place in of_label}) for n in (0, 1)
    )
    surfaces = {
        label: np.array([[of.get((x, y), np.nan) for x in xs] for y in ys])
        for label, of in costs.items()
    }
    lacking = [label for label, of in surfaces.items() if not of.size or np.isnan(of).any()]
    if lacking:
        raise NoDataError(f"{title} lacks runs of {lacking[0]}; run ./lockcross crossover")
    return xs, ys, surfaces


def interpolate(
    xs: Sequence[float], ys: Sequence[float], costs: Surface, x: Surface, y: Surface
) -> Surface:
    """Return costs of a grid (shape: len(ys) rows, len(xs) columns) at the points x, y: bilinear
    inside each cell of the grid, the cells at the edge carried on outside."""
    grid_x, grid_y = np.asarray(xs, dtype=float), np.asarray(ys, dtype=float)
    column = np.clip(np.searchsorted(grid_x, x) - 1, 0, len(grid_x) - 2)
    row = np.clip(np.searchsorted(grid_y, y) - 1, 0, len(grid_y) - 2)
    u = (x - grid_x[column]) / (grid_x[column + 1] - grid_x[column])
    v = (y - grid_y[row]) / (grid_y[row + 1] - grid_y[row])
    low = costs[row, column] * (1 - u) + costs[row, column + 1] * u
    high = costs[row + 1, column] * (1 - u) + costs[row + 1, column + 1] * u
    surface: Surface = low * (1 - v) + high * v
    return surface
