"""A program that works between two sections: from which work on its core hides what an atomic
costs."""

from collections.abc import Sequence

from sweeps.accuracy.errors import ATOMIC, NO_ATOMIC, kind_of
from sweeps.model.locks import load_locks
from sweeps.study.costs import Group
from sweeps.study.leads import TIE_PERCENT, error_in

THINK = "think"  # a workload's key: cycles of work between two sections


def think(group: Group) -> int:
    """Return the work between two sections, in cycles of a core that does nothing else."""
    return int(group.setting.parameters[THINK])


def free_from(groups: Sequence[Group]) -> float | None:
    """Return from how many cycles of work between two sections on an atomic is free; None: not up
    to the most that was run.

    Free: the cheapest lock that takes one, of those that runtimes ship, costs more than the
    cheapest without one by no more than the engine is off where nothing lies between two sections,
    where most was measured. A share of what a lock costs beside the work would call a cycle a lead,
    one of the pair with its work would hide any atomic behind enough of it. `groups`: the settings
    of one machine, of which costs lie on straight lines between two.
    """
    ordered = sorted(groups, key=think)
    beyond = []
    for group in ordered:
        costs = {label: band.median for label, band in group.costs.items()}
        shipped = [one for one in costs if load_locks()[one.lock].ships_in]
        atomic = min((one for one in shipped if kind_of(one) == ATOMIC), key=lambda x: costs[x])
        without = min((one for one in costs if kind_of(one) == NO_ATOMIC), key=lambda x: costs[x])
        if group is ordered[0]:
            error = error_in(group.setting)(atomic, without)
            off = (TIE_PERCENT / 100 if error is None else error) * (costs[atomic] + group.floor)
        beyond.append((float(think(group)), costs[atomic] - costs[without] - off))
    return below_from(beyond)


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
