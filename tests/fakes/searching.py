"""One search over an evenly spaced axis, driven as `find_all` drives many."""

from collections.abc import Callable, Sequence
from fractions import Fraction

from sweeps.study.crossings import Crossover, Point, find_all, search

PROBES = 9  # points of an axis where the caller names none
Evaluate = Callable[[Sequence[tuple[str, Fraction]]], Sequence[Point]]


def axis(low: int, high: int, count: int = PROBES, geometric: bool = False) -> list[int]:
    """At most `count` whole numbers from `low` to `high`, both included, evenly spaced in steps
    or (`geometric`, from 1 on) in ratios. Raises ValueError for an empty range."""
    if not low < high or count < 2 or (geometric and low < 1):
        raise ValueError(f"no axis of {count} points from {low} to {high}")
    last = count - 1
    if geometric:
        ratio = high / low
        between = [round(low * ratio ** (i / last)) for i in range(1, last)]
    else:
        between = [low + round(Fraction((high - low) * i, last)) for i in range(1, last)]
    return sorted({low, *between, high})


def find_crossover(
    evaluate: Evaluate,
    lock_a: str,
    lock_b: str,
    low: int,
    high: int,
    tolerance: int,
    geometric: bool = False,
) -> Crossover:
    """Find every crossing that a coarse look at the axis shows, each to `tolerance`.

    Raises ValueError for an empty range or a tolerance below 1.
    """
    started = search(lock_a, lock_b, axis(low, high, geometric=geometric), tolerance)

    def evaluate_one(wanted: Sequence[tuple[None, str, Fraction]]) -> Sequence[Point]:
        return evaluate([(lock, x) for _, lock, x in wanted])

    return find_all(evaluate_one, {None: started})[None]
