"""The winner map of a study as a grid of costs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from results.errors import NoDataError
from sweeps.model import engines
from sweeps.model.locks import LockLabel
from sweeps.study.leads import Rule
from sweeps.study.results import Isa, MapCrossing, Mark, StudyResults
from sweeps.study.runs import StudyRun

_STOPS, _PAIRS = "charges_stop", "pairs"  # metrics of a run
Surface = NDArray[np.float64]
_NOTHING_KNOWN = Rule(lambda *_: None)


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
    """The winner map of one machine and flavour, over CAS and full fence. Axes are observed cycles;
    costs by lock label, cycles per pair, each of shape (len(ys), len(xs)). `aside`: the labels of
    locks that the plan shows beside those it compares. `rule`: of leads there."""

    isa: Isa
    flavour: str
    xs: tuple[float, ...]
    ys: tuple[float, ...]
    costs: Mapping[LockLabel, Surface]
    crossings: tuple[MapCrossing, ...]
    marks: Marks
    aside: tuple[LockLabel, ...] = ()
    rule: Rule = _NOTHING_KNOWN

    @property
    def axes(self) -> tuple[str, str]:
        """Return the axes in words."""
        return "observed CAS latency", f"observed {self.isa.full_fence} latency"

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
        return "observed latency of a locked operation", "cost of a cancellation"

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
        Rule.of(runs[0].cell, results.plan.tie),
    )


def own_grids(results: StudyResults, machine: str, isa_name: str, flavour: str) -> list[Grid]:
    """Return the winner map at each cost of a cancellation that real processors have; the map as it
    was run where there are none. A cycle more for stopping an owner is a cycle more for each stop
    in a run, and changes nothing else, so that the runs made tell those not made. Raises
    NoDataError when runs are missing."""
    place = machine, isa_name, flavour
    run = grid(results, *place)
    runs = results.series("/".join(("map", *place)))
    stops = {one.id: results.metrics(one.id).get(_STOPS, 0) for one in runs}
    pairs = {one.id: results.metrics(one.id).get(_PAIRS, 1) for one in runs}
    *_, a_pair = _surfaces("", runs, "fence_latency", lambda one: stops[one.id] / pairs[one.id])
    by_cancel: dict[int, list[Mark]] = {}
    for mark in (*run.marks.here, *run.marks.apart):
        if mark.cancel is not None:
            by_cancel.setdefault(mark.cancel, []).append(mark)
    return [
        replace(
            run,
            costs={
                label: costs + a_pair[label] * (cancel - (run.marks.cancel or 0))
                for label, costs in run.costs.items()
            },
            crossings=(),
            marks=Marks(cancel, tuple(marks), ()),
        )
        for cancel, marks in by_cancel.items()
    ] or [run]


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
        Rule.of(runs[0].cell, results.plan.tie),
    )


def _surfaces(
    title: str,
    runs: Sequence[StudyRun],
    axis: str,
    value: Callable[[StudyRun], float] = attrgetter("cost"),
) -> tuple[list[float], list[float], dict[LockLabel, Surface]]:
    """Arrange the costs of a map over CAS and another latency, or another `value` of its runs, by
    lock, with the values of both axes. Raises NoDataError where a lock lacks points of `title`."""
    costs: dict[LockLabel, dict[tuple[float, float], float]] = {}
    for run in runs:
        costs.setdefault(run.label, {}).update(
            dict.fromkeys(run.points("cas_latency", axis), value(run))
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
