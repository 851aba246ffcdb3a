"""The costs of a winner map: some points are run, the others interpolated between them.

Costs are nearly bilinear in the latencies of a CAS and a fence, so the first, the middle and the
last value of each axis make a grid of nodes that says the rest. Each lock is checked at points
between the nodes. Where the check says that the model is too far off, or two locks are too close
for it to say which is cheaper, the points themselves are run.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from results.analysis.grid import interpolate
from results.model.cell import Cell
from results.model.label import FULL, LockLabel
from sweeps.experiments.crossover.cells import Evaluate, StudyCells

Place = tuple[int, int]  # set CAS and fence latency
Key = tuple[LockLabel, Place]
_MOST_OFF = 0.01  # of a cost: a lock whose model is further off is run at every point


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
        places = [*itertools.product(*self.of.plan.map.nodes), *self.check_places()]
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
            for values, nodes in zip((grid.cas, grid.fence_latency), grid.nodes, strict=True)
        ]
        cas, fence = (found or nodes for found, nodes in zip(between, grid.nodes, strict=True))
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
        cas, fence = self.of.plan.map.nodes
        costs = np.array([[self._runs[self._cells[label, (x, y)]] for x in cas] for y in fence])
        xs, ys = (np.array(values, dtype=float) for values in zip(*self._places, strict=True))
        found = interpolate(cas, fence, costs, xs, ys)
        return dict(zip(self._places, map(float, found), strict=True))

    def fact(self) -> dict[str, Any]:
        """What is kept of the model: its nodes, and how far it was off where it was checked."""
        cas, fence = self.of.plan.map.nodes
        errors = [
            error
            for found in self._errors.values()
            if max(found, default=0.0) <= _MOST_OFF  # the others are run at every point
            for error in found
        ]
        return {
            "cas": cas, "fence_latency": fence, "points": len(self.check_places()),
            "costs": len(errors), "mean": float(np.mean(errors)) if errors else 0.0,
            "worst": max(errors, default=0.0), "wrong": self._wrong,
        }  # fmt: skip


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
