"""Who wins at each point of a grid of latencies, and the lines between the winners."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sweeps.model.locks import LockLabel


@dataclass(frozen=True)
class Win:
    """The cheapest lock and its cost, the next one, and how many cycles per pair lie between them.
    `tied`: the locks over which the lead is a tie, cheapest first."""

    lock: LockLabel
    cost: float
    runner_up: LockLabel
    margin: float
    tied: tuple[LockLabel, ...] = ()

    @property
    def lead(self) -> float:
        """The margin as a share of the next lock's cost."""
        return self.margin / (self.cost + self.margin)


def winner(costs: Mapping[LockLabel, float], tie: float = 0.0) -> Win:
    """The winner among two locks or more (cycles per pair); of equal ones the first by name. A lead
    below the share `tie` of the other's cost is a tie, and so are equal costs."""
    first, second, *others = sorted(costs, key=lambda lock: (costs[lock], lock))
    best = costs[first]
    tied = tuple(
        lock
        for lock in (second, *others)
        if costs[lock] == best or costs[lock] - best < tie * costs[lock]
    )
    return Win(first, best, second, costs[second] - best, tied)


def neighbours(
    costs: Mapping[tuple[int, int], Mapping[LockLabel, float]],
) -> list[tuple[LockLabel, LockLabel, tuple[int, int], tuple[int, int]]]:
    """Pairs of neighbouring grid points with different winners: (lock, lock, point, point).

    Points are (x, y); neighbours share one coordinate and have no grid point between them.
    """
    xs, ys = sorted({x for x, _ in costs}), sorted({y for _, y in costs})
    rows = [[(x, y) for x in xs] for y in ys]
    columns = [[(x, y) for y in ys] for x in xs]
    found = []
    for line in rows + columns:
        for here, there in itertools.pairwise(line):
            first, second = winner(costs[here]).lock, winner(costs[there]).lock
            if first != second:
                found.append((first, second, here, there))
    return found


def polyline(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points of one boundary in order, along the direction in which they spread most."""
    spread_x = max(x for x, _ in points) - min(x for x, _ in points)
    spread_y = max(y for _, y in points) - min(y for _, y in points)
    along = 0 if spread_x >= spread_y else 1
    return sorted(set(points), key=lambda point: (point[along], point[1 - along]))
