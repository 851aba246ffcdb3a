"""Where one lock starts to beat another along an axis of whole numbers.

Pure analysis: a search asks for the costs it needs in batches, and whoever drives it runs the
cells. Costs are cycles per acquire-release pair, exact fractions of exact cycle counts, so two
costs are equal only when they are.

A search has a model: over latencies costs are nearly straight lines, over run lengths hyperbolas.
It looks where the model expects the crossing, and everywhere if the model turns out to be wrong.
"""

import itertools
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar


@dataclass(frozen=True)
class Point:
    """What a lock costs at one value of the axis (cycles per pair), and the run that shows it; None
    if it was not run, and the cost follows from that of other runs."""

    cost: Fraction
    run_id: int | None


@dataclass(frozen=True)
class Crossing:
    """Equal cost at `value`, interpolated linearly inside the bracket `low` to `high`.

    `below` is the lock that is cheaper just below it. `error`: None if both ends of the bracket
    were looked at; else the value is a model's, which was off by so much where it was checked.
    """

    value: Fraction
    low: int
    high: int
    below: str
    error: Fraction | None = None


@dataclass(frozen=True)
class Crossover:
    """What a search found: its verdict, the crossings in order, and all points it looked at.

    Verdicts: "crosses"; "a_always" and "b_always" (cheaper everywhere in range, ties aside);
    "tie" (equal everywhere).
    """

    lock_a: str
    lock_b: str
    low: int
    high: int
    tolerance: int
    verdict: str
    crossings: tuple[Crossing, ...]
    points: dict[tuple[str, int], Point]


Wanted = list[tuple[str, int]]  # (lock, value of the axis)
Search = Generator[Wanted, Sequence[Point], Crossover]
Key = TypeVar("Key")
Found = TypeVar("Found")
_PART = 50  # of an axis: how far a model may be off


def find_all(
    evaluate: Callable[[Sequence[tuple[Key, str, int]]], Sequence[Point]],
    searches: Mapping[Key, Generator[Wanted, Sequence[Point], Found]],
) -> dict[Key, Found]:
    """Drives many searches at once: each call of `evaluate` gets what all of them ask for next."""
    found: dict[Key, Found] = {}
    asked = {key: next(started) for key, started in searches.items()}
    while asked:
        points = iter(
            evaluate([(key, lock, x) for key, wanted in asked.items() for lock, x in wanted])
        )
        answered, asked = asked, {}
        for key, wanted in answered.items():
            try:
                asked[key] = searches[key].send([next(points) for _ in wanted])
            except StopIteration as end:
                found[key] = end.value
    return found


def first_values(coarse: Sequence[int], tolerance: int) -> list[int]:
    """The values that a search over `coarse` begins with: all that lie no further apart than the
    tolerance, since nothing is interpolated there; else the ends and the middle one."""
    values = sorted(set(coarse))
    if all(high - low <= tolerance for low, high in itertools.pairwise(values)):
        return values
    return sorted({values[0], values[(len(values) - 1) // 2], values[-1]})


def search(
    lock_a: str,
    lock_b: str,
    coarse: Sequence[int],
    tolerance: int,
    expected: Crossing | None = None,
    modelled: bool = False,
) -> Search:
    """A search over the values `coarse`, refined between those where the sign changes.

    Where costs are known to follow a hyperbola along the axis (`modelled`) it begins with three of
    them, and asks for the others unless the hyperbola says what is found; then crossings that come
    and go between two of the three are not seen. If somebody knows where the crossing is
    `expected`, it begins there, and asks for the others unless it is found. Crossings that come and
    go between two values of `coarse` are never seen. Raises ValueError for less than two values or
    a tolerance below 1.
    """
    if tolerance < 1 or len(set(coarse)) < 2:
        raise ValueError(f"tolerance {tolerance}, {len(set(coarse))} values: 1 and 2 are the least")
    coarse = sorted(set(coarse))
    begin = first_values(coarse, tolerance) if modelled else coarse
    return _search(Difference(lock_a, lock_b), coarse, begin, tolerance, expected)


def _search(
    difference: "Difference", coarse: Sequence[int], begin: Sequence[int], tolerance: int,
    expected: Crossing | None,
) -> Search:  # fmt: skip
    if expected is None:
        yield from difference.ask(begin)
        known = len(begin) == len(coarse) or (yield from _explained(difference, begin, tolerance))
    else:
        known = yield from _as_expected(difference, coarse, tolerance, expected)
    if not known:
        yield from difference.ask(coarse)
    signed = [x for x in difference.known_between(coarse[0], coarse[-1]) if difference.at(x) != 0]
    crossings = []
    for low, high in itertools.pairwise(signed):
        if difference.sign(low) != difference.sign(high):
            crossings.append((yield from refine(difference, low, high, tolerance)))
    verdict = "crosses" if crossings else "tie"
    if signed and not crossings:
        verdict = "a_always" if difference.sign(signed[0]) < 0 else "b_always"
    return Crossover(
        difference.lock_a, difference.lock_b, coarse[0], coarse[-1], tolerance, verdict,
        tuple(crossings), difference.points,
    )  # fmt: skip


def _as_expected(
    difference: "Difference", coarse: Sequence[int], tolerance: int, expected: Crossing
) -> Generator[Wanted, Sequence[Point], bool]:
    """Whether costs cross within the tolerance of the value that is expected, on the side of it
    that the costs there point to."""
    at = min(max(round(expected.value), coarse[0]), coarse[-1])
    yield from difference.ask([at])
    cheaper_below = -1 if expected.below == difference.lock_a else 1
    side = tolerance if difference.sign(at) == cheaper_below else -tolerance
    beside = min(max(at + side, coarse[0]), coarse[-1])
    yield from difference.ask([beside])
    return difference.sign(at) * difference.sign(beside) < 0


def _explained(
    difference: "Difference", begin: Sequence[int], tolerance: int
) -> Generator[Wanted, Sequence[Point], bool]:
    """Whether a model says what the first values show. With a crossing: a hyperbola through them
    has it where it is found, to within the tolerance or a part of the axis. Without: a straight
    line through the ends is off in the middle by less than the smallest lead."""
    low, middle, high = begin[0], begin[len(begin) // 2], begin[-1]
    if 0 in (signs := [difference.sign(x) for x in begin]):
        return False
    if signs[0] == signs[-1]:
        line = difference.line(low, high, middle)
        leads = [abs(difference.at(x)) for x in begin]
        return signs[0] == signs[len(begin) // 2] and abs(difference.at(middle) - line) < min(leads)
    ends = (low, middle) if signs[0] != signs[len(begin) // 2] else (middle, high)
    expected = difference.expected(*ends)
    found = yield from refine(difference, *ends, tolerance)
    return abs(found.value - expected) <= max(tolerance, (high - low) // _PART)


class Difference:
    """cost(lock_a) - cost(lock_b) at the values that were asked for."""

    def __init__(
        self, lock_a: str, lock_b: str, points: Mapping[tuple[str, int], Point] | None = None
    ) -> None:
        self.lock_a, self.lock_b = lock_a, lock_b
        self.points = dict(points or {})

    def ask(self, values: Sequence[int]) -> Generator[Wanted, Sequence[Point], None]:
        """Asks for both costs at the values, but for those that are known."""
        wanted = [(lock, x) for x in values for lock in (self.lock_a, self.lock_b)]
        wanted = [one for one in wanted if one not in self.points]
        if wanted:
            self.points |= zip(wanted, (yield wanted), strict=True)

    def at(self, x: int) -> Fraction:
        """The difference in cycles per pair at a value that was looked at."""
        return self.points[self.lock_a, x].cost - self.points[self.lock_b, x].cost

    def sign(self, x: int) -> int:
        """-1: lock_a is cheaper at `x`; 1: lock_b is; 0: they cost the same."""
        return (self.at(x) > 0) - (self.at(x) < 0)

    def share(self, x: int) -> Fraction:
        """The lead of the cheaper one, as a share of what the other costs."""
        return abs(self.at(x)) / max(self.points[a, x].cost for a in (self.lock_a, self.lock_b))

    def known_between(self, low: int, high: int) -> list[int]:
        """The values that were looked at, from `low` to `high`, in order."""
        return sorted({x for _, x in self.points if low <= x <= high})

    def line(self, low: int, high: int, x: int | Fraction) -> Fraction:
        """The straight line through two points, at `x`."""
        return self.at(low) + (self.at(high) - self.at(low)) * Fraction(x - low, high - low)

    def root(self, low: int, high: int) -> Fraction:
        """Where the line through two points of different sign is zero."""
        at_low, at_high = self.at(low), self.at(high)
        return low + (high - low) * at_low / (at_low - at_high)

    def expected(self, low: int, high: int) -> Fraction:
        """Where costs cross between two values of different sign: where the hyperbola through them
        and the nearest third value is zero, or else the line."""
        line = self.root(low, high)
        others = [x for x in {x for _, x in self.points} if not low <= x <= high]
        if not others:
            return line
        third = min(others, key=lambda x: (abs(x - line), x))
        d1, d2, d3 = (self.at(x) for x in (third, low, high))
        if d1 == d2:
            return line
        # A hyperbola keeps cross-ratios: those of the values are those of the differences.
        ratio = d2 * (d1 - d3) / (d3 * (d1 - d2))
        below = (third - high) - ratio * (third - low)
        if below == 0:
            return line
        found = (low * (third - high) - ratio * high * (third - low)) / below
        return found if low < found < high else line


def refine(
    difference: Difference, low: int, high: int, tolerance: int
) -> Generator[Wanted, Sequence[Point], Crossing]:
    """Narrows a bracket whose ends have different signs until it is within the tolerance.

    It looks where the crossing is expected, then as far away as the tolerance allows on the side
    where it must lie; every third look halves the bracket, whatever the costs look like.
    """
    below = difference.lock_a if difference.sign(low) < 0 else difference.lock_b
    for look in itertools.count(1):
        low, high = _narrowest(difference, low, high)
        zeros = [x for x in difference.known_between(low, high) if difference.at(x) == 0]
        if zeros:  # equal at a value that was looked at, or over a stretch of them
            return Crossing(Fraction(zeros[0] + zeros[-1], 2), zeros[0], zeros[-1], below)
        if high - low <= tolerance:
            return Crossing(difference.root(low, high), low, high, below)
        expected = difference.expected(low, high)
        if look % 3 == 0:
            at = (low + high) // 2
        elif expected - low < tolerance:
            at = low + tolerance
        else:
            at = high - tolerance if high - expected < tolerance else round(expected)
        yield from difference.ask([at])
    raise AssertionError("looks are counted without end")


def _narrowest(difference: Difference, low: int, high: int) -> tuple[int, int]:
    """The first change of sign between `low` and `high` among the values looked at so far."""
    previous = low
    for x in difference.known_between(low, high):
        if difference.sign(x) == -difference.sign(low):
            return previous, x
        if difference.sign(x) != 0:
            previous = x
    raise AssertionError("the ends of a bracket have different signs")
