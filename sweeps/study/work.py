"""A program that works between two sections: from which work on its core hides the cost of an
atomic."""

from collections.abc import Sequence

from sweeps.accuracy.errors import ATOMIC, NO_ATOMIC, kind_of
from sweeps.model.locks import LockLabel, load_locks
from sweeps.study.costs import Group
from sweeps.study.leads import Rule

THINK = "think"  # a workload's key: cycles of work between two sections


def think(group: Group) -> int:
    """Return the work between two sections, in cycles of a core that does nothing else."""
    return int(group.setting.parameters[THINK])


def free_from(groups: Sequence[Group]) -> float | None:
    """Return from how many cycles of work between two sections on an atomic is free; None: not up
    to the most that was run.

    Free: the cheapest lock that takes one, of those that runtimes ship, is in a tie with the
    cheapest without one, or cheaper. `groups`: the settings of one machine, with costs beside the
    work, which lie on straight lines between two.
    """
    beyond = []
    for group in sorted(groups, key=think):  # in each the cheapest lock is first
        atomic = next((label for label in group.costs if _ships(label, ATOMIC)), None)
        without = next((label for label in group.costs if kind_of(label) == NO_ATOMIC), None)
        if atomic is None or without is None:
            continue
        cost, other = (group.costs[label].median for label in (atomic, without))
        least = Rule.of(group.setting).least(without, atomic)
        beyond.append((think(group), cost * (1 - least) - other))
    return below_from(beyond) if beyond else None


def _ships(label: LockLabel, kind: str) -> bool:
    return bool(load_locks()[label.lock].ships_in) and kind_of(label) == kind


def below_from(points: Sequence[tuple[float, float]]) -> float | None:
    """Return the place from which on a line, given by its points in order, lies below zero; None:
    nowhere."""
    above = [n for n, (_, height) in enumerate(points) if height >= 0]
    if not above:
        return points[0][0]
    if above[-1] == len(points) - 1:
        return None
    (x, height), (further, depth) = points[above[-1]], points[above[-1] + 1]
    return x + (further - x) * height / (height - depth)
