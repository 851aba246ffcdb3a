"""What locks cost with other seeds than the first, run only where that does not follow.

A seed decides when the cores start, and no more than that with two threads. Over the latencies of
a CAS and a fence it then shifts what most locks cost by the same cycles everywhere; and two seeds
with which the cores start equally far apart are the same experiment. Both are looked for in the
runs that there are, never assumed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from statistics import median

from results.analysis.crossover import Point
from results.model.cell import Cell
from sweeps.experiments.crossover.cells import FIRST_SEED, Evaluate

_ENOUGH = 4  # runs that a seed's shift of a lock's cost is taken from
_STEADY = Fraction(1, 500)  # of the cost: a shift that varies by more is no constant
_ALIKE = 8  # runs, of two locks at least, that two seeds must agree on, exactly, to be the same


class SeedCosts:
    """Answers what cells cost, from runs where their shift is not known."""

    def __init__(self, evaluate: Evaluate) -> None:
        self._evaluate = evaluate
        self._runs: dict[Cell, Point] = {}
        self._shifts: dict[tuple[Cell, int], dict[Cell, Fraction]] = {}
        self._by_seed: dict[tuple[object, int], dict[Cell, Fraction]] = {}

    def run(self, cells: Sequence[Cell]) -> list[Point]:
        """The cells' costs, all of them from runs."""
        missing = [cell for cell in dict.fromkeys(cells) if cell not in self._runs]
        for cell, point in zip(missing, self._evaluate(missing) if missing else (), strict=True):
            self._keep(cell, point)
        return [self._runs[cell] for cell in cells]

    def find(self, cells: Sequence[Cell]) -> list[Point]:
        """The cells' costs; those without a run follow from other runs."""
        found: dict[Cell, Point] = {}
        self.run(self._samples(cells))
        for cell in dict.fromkeys(cells):
            if cell in self._runs:
                found[cell] = self._runs[cell]
            elif (cost := self._steady(cell)) is not None:
                found[cell] = Point(cost, None)
        left = {cell for cell in cells if cell not in found}
        alike = {
            cell: other
            for cell in left
            if (other := self._alike(cell)) is not None and (other in left or other in found)
        }
        own = [cell for cell in dict.fromkeys(cells) if cell in left and cell not in alike]
        found |= zip(own, self.run(own), strict=True)
        for cell in sorted(alike, key=lambda one: one.seed):  # another may be alike itself
            found[cell] = Point(found[alike[cell]].cost, None)
        return [found[cell] for cell in cells]

    def _keep(self, cell: Cell, point: Point) -> None:
        self._runs[cell] = point
        plain = replace(cell, seed=FIRST_SEED)
        self._by_seed.setdefault((_scope(cell), cell.seed), {})[plain] = point.cost
        if cell.seed != FIRST_SEED and plain in self._runs:
            shift = point.cost - self._runs[plain].cost
            self._shifts.setdefault((_plane(cell), cell.seed), {})[plain] = shift

    def _samples(self, cells: Iterable[Cell]) -> list[Cell]:
        """Those that are run first, evenly drawn, if others can follow from their shift."""
        groups: dict[tuple[Cell, int], list[Cell]] = {}
        for cell in dict.fromkeys(cells):
            if cell not in self._runs:
                groups.setdefault((_plane(cell), cell.seed), []).append(cell)
        found = []
        for key, group in groups.items():
            few = _ENOUGH - len(self._shifts.get(key, ()))
            if 0 < few < len(group):
                found += group[:: max(len(group) // few, 1)][:few]
        return found

    def _steady(self, cell: Cell) -> Fraction | None:
        """The first seed's cost and the shift, where that is known and the same everywhere."""
        shifts = self._shifts.get((_plane(cell), cell.seed), {}).values()
        first = self._runs.get(replace(cell, seed=FIRST_SEED))
        if first is None or len(shifts) < _ENOUGH:
            return None
        middle = median(shifts)
        if max(abs(shift - middle) for shift in shifts) > _STEADY * first.cost:
            return None
        return first.cost + middle

    def _alike(self, cell: Cell) -> Cell | None:
        """The cell with the first of the seeds that agree with its own in all that both have."""
        own = self._by_seed.get((_scope(cell), cell.seed), {})
        for scope, seed in sorted(self._by_seed, key=lambda key: key[1]):
            if scope == _scope(cell) and FIRST_SEED < seed < cell.seed:
                other = self._by_seed[scope, seed]
                both = own.keys() & other.keys()
                enough = len(both) >= _ALIKE and len({one.label for one in both}) > 1
                if enough and all(own[one] == other[one] for one in both):
                    return replace(cell, seed=seed)
        return None


def _plane(cell: Cell) -> Cell:
    """What cells have in common over which a shift may be constant."""
    return replace(cell, cas=None, fence_latency=None, seed=FIRST_SEED)


def _scope(cell: Cell) -> object:
    """What cells have in common in which two seeds may be alike."""
    return cell.engine, cell.machine, cell.isa, cell.flavour, cell.workload, cell.threads
