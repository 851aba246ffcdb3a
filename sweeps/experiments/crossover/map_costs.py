"""The costs of a winner map: some points are run, the others interpolated between them.

Costs are nearly bilinear in the latencies of a CAS and a fence, so the first, the middle and the
last value of each axis make a grid of nodes that says the rest. Each lock is checked at points
between the nodes. Where the check says that the model is too far off, or two locks are too close
for it to say which is cheaper, the points themselves are run.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from results.analysis.winners import interpolate
from results.model.cell import Cell
from results.model.label import FULL, LockLabel
from sweeps.experiments.crossover.cells import Evaluate, StudyCells

Place = tuple[int, int]  # set CAS and fence latency
_MOST_OFF = 0.01  # of a cost: a lock whose model is further off is run at every point


@dataclass
class MapCosts:
    """One winner map. `run` has the points that were run, `costs` those and the interpolated ones,
    in cycles per pair; `errors`: by lock, how far off the model was at each point of the check, as
    a share of the cost."""

    of: StudyCells
    flavour: str
    run: dict[tuple[LockLabel, Place], float] = field(default_factory=dict)
    costs: dict[Place, dict[LockLabel, float]] = field(default_factory=dict)
    errors: dict[LockLabel, list[float]] = field(default_factory=dict)
    wrong: int = 0

    def __post_init__(self) -> None:
        self._cells = {
            (label, (cas, fence)): cell
            for (label, cas, fence), cell in self.of.map_cells(self.flavour).items()
        }
        self._labels = list(dict.fromkeys(label for label, _ in self._cells))
        self._places = list(dict.fromkeys(place for _, place in self._cells))

    @property
    def cells(self) -> list[Cell]:
        """The runs of the map, each once."""
        return list(dict.fromkeys(self._cells[key] for key in self.run))

    def cell(self, key: tuple[LockLabel, Place]) -> Cell:
        """The run of a lock at a point."""
        return self._cells[key]

    def first_keys(self) -> list[tuple[LockLabel, Place]]:
        """What is run before anything is known: the nodes and the points of the check."""
        places = [*itertools.product(*self.of.plan.map.nodes), *self.check_places()]
        return list(itertools.product(self._labels, places))

    def check_places(self) -> list[Place]:
        """Points between the nodes: in the cells of their grid on the diagonal, the middle one."""
        grid = self.of.plan.map
        between = [
            [[x for x in values if low < x < high] for low, high in itertools.pairwise(nodes)]
            for values, nodes in zip((grid.cas, grid.fence_latency), grid.nodes, strict=True)
        ]
        return [
            (cas[len(cas) // 2], fence[len(fence) // 2])
            for cas, fence in zip(*between, strict=False)
            if cas and fence
        ]

    def unsure_keys(self, locks: Sequence[str], kinds: Sequence[bool], tie: float) -> list[
        tuple[LockLabel, Place]
    ]:  # fmt: skip
        """What is to be run besides, once the first keys are: every point of a lock that the check
        found too far off; and where the cheapest of some locks leads by less than a tie and the
        model's error, those that are so near to it. `locks`: those in the contest; `kinds`:
        whether it has every kind of fence, for each contest."""
        far = {label for label, found in self.errors.items() if max(found, default=0) > _MOST_OFF}
        keys = [(label, place) for label in self._labels if label in far for place in self._places]
        worst = {label: max(found, default=0.0) for label, found in self.errors.items()}
        for place, every in itertools.product(self._places, kinds):
            costs = {
                label: cost
                for label, cost in self.costs[place].items()
                if label.lock in locks and (every or label.fence == FULL)
            }
            best = min(costs, key=lambda label: costs[label])
            near = [
                label
                for label, cost in costs.items()
                if cost * (1 - tie - worst[label] - worst[best]) < costs[best]
            ]
            keys += [(label, place) for label in near if len(near) > 1]
        return [key for key in dict.fromkeys(keys) if not self.is_run(key)]

    def is_run(self, key: tuple[LockLabel, Place]) -> bool:
        """Whether the cost at a point is that of a run: the same one serves for all latencies that
        a lock never pays."""
        return self._cells[key] in self._run_cells

    def add(self, found: Mapping[tuple[LockLabel, Place], float]) -> None:
        """Takes in what was run, and interpolates the rest."""
        self.run |= found
        self._run_cells = {self._cells[key] for key in self.run}
        by_cell = {self._cells[key]: cost for key, cost in self.run.items()}
        model = {label: self._model(label, by_cell) for label in self._labels}
        self.costs = {
            place: {
                label: by_cell.get(self._cells[label, place], model[label][place])
                for label in self._labels
            }
            for place in self._places
        }
        check = self.check_places()
        self.errors = {
            label: [abs(model[label][p] / self.costs[p][label] - 1) for p in check]
            for label in self._labels
        }
        self.wrong = sum(
            min(self._labels, key=lambda label: (model[label][p], label))
            != min(self._labels, key=lambda label: (self.costs[p][label], label))
            for p in check
        )

    def _model(self, label: LockLabel, runs: Mapping[Cell, float]) -> dict[Place, float]:
        cas, fence = self.of.plan.map.nodes
        costs = np.array([[runs[self._cells[label, (x, y)]] for x in cas] for y in fence])
        xs, ys = (np.array(values, dtype=float) for values in zip(*self._places, strict=True))
        found = interpolate(cas, fence, costs, xs, ys)
        return dict(zip(self._places, map(float, found), strict=True))

    def fact(self) -> dict[str, Any]:
        """What is kept of the model: its nodes, and how far it was off where it was checked."""
        cas, fence = self.of.plan.map.nodes
        errors = [error for found in self.errors.values() for error in found]
        return {
            "cas": cas, "fence_latency": fence, "points": len(self.check_places()),
            "costs": len(errors), "mean": float(np.mean(errors)) if errors else 0.0,
            "worst": max(errors, default=0.0), "wrong": self.wrong,
        }  # fmt: skip


def measure_maps(
    maps: Iterable[MapCosts], evaluate: Evaluate, locks: Sequence[str],
    ties: Callable[[str], float],
) -> list[MapCosts]:  # fmt: skip
    """Runs what each map needs, all of them at once."""
    found = list(maps)

    def run(wanted: Sequence[tuple[MapCosts, list[tuple[LockLabel, Place]]]]) -> None:
        cells = [one.cell(key) for one, keys in wanted for key in keys]
        points = iter(evaluate(cells))
        for one, keys in wanted:
            one.add({key: float(next(points).cost) for key in keys})

    run([(one, one.first_keys()) for one in found])
    run([(one, one.unsure_keys(locks, (False, True), ties(one.of.machine))) for one in found])
    return found
