"""One search over an evenly spaced axis, driven as `find_all` drives many."""

from collections.abc import Callable, Sequence
from fractions import Fraction

from sweeps.study.crossings import Crossover, Point, find_all, search

PARTS = 8  # of an axis, between the values looked at first
Evaluate = Callable[[Sequence[tuple[str, Fraction]]], Sequence[Point]]


def find_crossover(
    evaluate: Evaluate,
    lock_a: str,
    lock_b: str,
    low: int,
    high: int,
    tolerance: int,
    geometric: bool = False,
) -> Crossover:
    """Find every crossing that a coarse look at the axis shows, each to `tolerance`. The look is at
    whole numbers, evenly spaced in steps or (`geometric`, from 1 on) in ratios."""
    shares = [Fraction(part, PARTS) for part in range(PARTS + 1)]
    if geometric:
        values = [round(low * (high / low) ** float(share)) for share in shares]
    else:
        values = [low + round((high - low) * share) for share in shares]

    def evaluate_one(wanted: Sequence[tuple[None, str, Fraction]]) -> Sequence[Point]:
        return evaluate([(lock, x) for _, lock, x in wanted])

    return find_all(evaluate_one, {None: search(lock_a, lock_b, values, tolerance)})[None]
