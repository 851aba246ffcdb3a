"""Where the other seeds have a crossing that was searched with the first.

A seed decides when the cores start. Near a crossing it shifts the difference of two locks' costs by
a constant, as a rule: then the costs at one end of the first seed's bracket say where the crossing
lies, by the first seed's slope. Whoever drives the searches checks some of these values by
`search_near`, which looks at both ends of a bracket.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from results.analysis.crossover import Crossing, Crossover, Difference, Point, Wanted, refine

_LOOKS = 2  # at a shifted crossing: where the first seed has it, and where that one says it is


@dataclass(frozen=True)
class Repeat:
    """What another seed's costs show of a crossing: where it is, if it is there, and all points
    that were looked at."""

    crossing: Crossing | None
    points: Mapping[tuple[str, int], Point]


RepeatSearch = Generator[Wanted, Sequence[Point], Repeat]


@dataclass(frozen=True)
class Axis:
    """Where a crossing is looked for: the ends of the axis and the tolerance, in its steps. With a
    tolerance of one step nothing lies between the ends of a bracket."""

    low: int
    high: int
    tolerance: int


def shifted(found: Crossover, first: Crossing, axis: Axis) -> RepeatSearch:
    """The crossing by the first seed's slope and the costs at a value that lies no further away
    than half the tolerance. Where that is not sure, no crossing is named: it is to be searched. The
    first seed's bracket must have a width."""
    known = Difference(found.lock_a, found.lock_b, found.points)
    difference = Difference(found.lock_a, found.lock_b)
    at = min(first.low, first.high, key=lambda x: abs(known.at(x)))
    for _ in range(_LOOKS if axis.tolerance > 1 else 1):
        yield from difference.ask([at])
        shift = difference.at(at) - known.line(first.low, first.high, at)
        value = _root(known, first, shift)
        if axis.tolerance == 1:
            low, high = first.low, first.high
            sure = _is_sure(known, first, shift)
        else:
            low, high = sorted((at, at + (axis.tolerance if value >= at else -axis.tolerance)))
            low, high = max(low, axis.low), min(high, axis.high)
            sure = 2 * abs(value - at) <= axis.tolerance and low <= value <= high
        if sure:
            crossing = Crossing(value, low, high, first.below, Fraction(0))
            return Repeat(crossing, difference.points)
        at = min(max(round(value), axis.low), axis.high)
    return Repeat(None, difference.points)


def _root(known: Difference, first: Crossing, shift: Fraction) -> Fraction:
    """Where the first seed's line through its bracket is zero once it is shifted."""
    slope = (known.at(first.high) - known.at(first.low)) / (first.high - first.low)
    return first.low - (known.at(first.low) + shift) / slope


def _is_sure(known: Difference, first: Crossing, shift: Fraction) -> bool:
    """Whether twice the shift would leave the signs at both ends as they are."""
    return all(
        abs(2 * shift) < abs(known.at(x)) or shift * known.at(x) > 0
        for x in (first.low, first.high)
    )


def search_near(first: Crossing, difference: Difference, axis: Axis) -> RepeatSearch:
    """Looks for a crossing again, with other costs: in its bracket, then beside it, in steps that
    double, up to the ends of the axis. `difference` has what is known of these costs."""
    cheaper_below = -1 if first.below == difference.lock_a else 1  # the sign below the crossing
    low, high = first.low, first.high
    step = max(high - low, axis.tolerance)
    while True:
        yield from difference.ask(sorted({low, high}))
        if crossing := (yield from _inside(difference, low, high, first.below, axis.tolerance)):
            return Repeat(crossing, difference.points)
        if difference.sign(low) == cheaper_below:
            low, high = high, min(high + step, axis.high)
        else:
            low, high = max(low - step, axis.low), low
        if low == high:
            return Repeat(None, difference.points)
        step *= 2


def _inside(
    difference: Difference, low: int, high: int, below: str, tolerance: int
) -> Generator[Wanted, Sequence[Point], Crossing | None]:
    """The crossing between two values that were looked at, if the costs change places there."""
    for x in (low, high):
        if difference.sign(x) == 0:
            return Crossing(Fraction(x), x, x, below)
    cheaper = difference.lock_a if difference.sign(low) < 0 else difference.lock_b
    if cheaper == below and difference.sign(low) != difference.sign(high):
        return (yield from refine(difference, low, high, tolerance))
    return None


def check_throughout(found: Crossover) -> RepeatSearch:
    """Whether the lock that wins throughout is the cheaper one with other costs, too, at the value
    where its lead is the smallest. If not, that value stands for a crossing."""
    first = Difference(found.lock_a, found.lock_b, found.points)
    x = min(first.known_between(found.low, found.high), key=first.share)
    difference = Difference(found.lock_a, found.lock_b)
    yield from difference.ask([x])
    wins = -1 if found.verdict == "a_always" else 1
    below = found.lock_a if wins < 0 else found.lock_b
    crossing = Crossing(Fraction(x), x, x, below) if difference.sign(x) == -wins else None
    return Repeat(crossing, difference.points)
