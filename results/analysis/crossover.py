"""Where one lock starts to beat another along an axis of whole numbers.

Pure analysis: a search asks for the costs it needs in batches, and whoever drives it runs the
cells. Costs are cycles per acquire-release pair, exact fractions of exact cycle counts, so two
costs are equal only when they are.
"""

import itertools
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import TypeVar


@dataclass(frozen=True)
class Point:
    """What a lock costs at one value of the axis (cycles per pair), and the run that shows it."""

    cost: Fraction
    run_id: int


@dataclass(frozen=True)
class Crossing:
    """Equal cost at `value`, interpolated linearly inside the bracket `low` to `high`.

    `below` is the lock that is cheaper just below it.
    """

    value: Fraction
    low: int
    high: int
    below: str


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


@dataclass(frozen=True)
class Repeat:
    """What another seed's costs show of a crossing: where it is, if it is there, and all points
    that were looked at."""

    crossing: Crossing | None
    points: dict[tuple[str, int], Point]


Wanted = list[tuple[str, int]]  # (lock, value of the axis)
Search = Generator[Wanted, Sequence[Point], Crossover]
RepeatSearch = Generator[Wanted, Sequence[Point], Repeat]
Key = TypeVar("Key")
Found = TypeVar("Found")


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


def search(lock_a: str, lock_b: str, coarse: Sequence[int], tolerance: int) -> Search:
    """A search over the values `coarse`, refined between those where the sign changes.

    Crossings that come and go between two coarse values are not seen. Raises ValueError for less
    than two values or a tolerance below 1.
    """
    if tolerance < 1 or len(set(coarse)) < 2:
        raise ValueError(f"tolerance {tolerance}, {len(set(coarse))} values: 1 and 2 are the least")
    return _search(_Difference(lock_a, lock_b), sorted(set(coarse)), tolerance)


def search_near(
    first: Crossing, lock_a: str, lock_b: str, limits: tuple[int, int], tolerance: int
) -> RepeatSearch:
    """Looks for a crossing again, with other costs: in its bracket, then beside it, in steps that
    double, up to the `limits` of the axis."""
    difference = _Difference(lock_a, lock_b)
    cheaper_below = -1 if first.below == lock_a else 1  # the difference's sign below the crossing
    low, high = first.low, first.high
    step = max(high - low, tolerance)
    while True:
        yield from difference.ask(sorted({low, high}))
        if crossing := (yield from _inside(difference, low, high, first.below, tolerance)):
            return Repeat(crossing, difference.points)
        if difference.sign(low) == cheaper_below:
            low, high = high, min(high + step, limits[1])
        else:
            low, high = max(low - step, limits[0]), low
        if low == high:
            return Repeat(None, difference.points)
        step *= 2


def check_throughout(found: Crossover) -> RepeatSearch:
    """Whether the lock that wins throughout is the cheaper one with other costs, too, at the value
    where its lead is the smallest. If not, that value stands for a crossing."""
    first = _Difference(found.lock_a, found.lock_b, found.points)
    x = min(first.known_between(found.low, found.high), key=first.share)
    difference = _Difference(found.lock_a, found.lock_b)
    yield from difference.ask([x])
    wins = -1 if found.verdict == "a_always" else 1
    below = found.lock_a if wins < 0 else found.lock_b
    crossing = Crossing(Fraction(x), x, x, below) if difference.sign(x) == -wins else None
    return Repeat(crossing, difference.points)


def _inside(
    difference: "_Difference", low: int, high: int, below: str, tolerance: int
) -> Generator[Wanted, Sequence[Point], Crossing | None]:
    """The crossing between two values that were looked at, if the costs change places there."""
    for x in (low, high):
        if difference.sign(x) == 0:
            return Crossing(Fraction(x), x, x, below)
    cheaper = difference.lock_a if difference.sign(low) < 0 else difference.lock_b
    if cheaper == below and difference.sign(low) != difference.sign(high):
        return (yield from _refine(difference, low, high, tolerance))
    return None


def _search(difference: "_Difference", coarse: list[int], tolerance: int) -> Search:
    yield from difference.ask(coarse)
    signed = [x for x in coarse if difference.at(x) != 0]
    crossings = []
    for low, high in itertools.pairwise(signed):
        if difference.sign(low) != difference.sign(high):
            crossings.append((yield from _refine(difference, low, high, tolerance)))
    if crossings:
        verdict = "crosses"
    elif not signed:
        verdict = "tie"
    else:
        verdict = "a_always" if difference.sign(signed[0]) < 0 else "b_always"
    return Crossover(
        difference.lock_a, difference.lock_b, coarse[0], coarse[-1], tolerance, verdict,
        tuple(crossings), difference.points,
    )  # fmt: skip


class _Difference:
    """cost(lock_a) - cost(lock_b) at the values that were asked for."""

    def __init__(
        self,
        lock_a: str,
        lock_b: str,
        points: Mapping[tuple[str, int], Point] = MappingProxyType({}),
    ) -> None:
        self.lock_a, self.lock_b = lock_a, lock_b
        self.points = dict(points)

    def ask(self, values: Sequence[int]) -> Generator[Wanted, Sequence[Point], None]:
        wanted = [(lock, x) for x in values for lock in (self.lock_a, self.lock_b)]
        wanted = [one for one in wanted if one not in self.points]
        if wanted:
            self.points |= zip(wanted, (yield wanted), strict=True)

    def at(self, x: int) -> Fraction:
        return self.points[self.lock_a, x].cost - self.points[self.lock_b, x].cost

    def sign(self, x: int) -> int:
        return (self.at(x) > 0) - (self.at(x) < 0)

    def share(self, x: int) -> Fraction:
        """The lead of the cheaper one, as a share of what the other costs."""
        return abs(self.at(x)) / max(
            self.points[lock, x].cost for lock in (self.lock_a, self.lock_b)
        )

    def known_between(self, low: int, high: int) -> list[int]:
        return sorted({x for _, x in self.points if low <= x <= high})

    def root(self, low: int, high: int) -> Fraction:
        """Where the line through two points of different sign is zero."""
        at_low, at_high = self.at(low), self.at(high)
        return low + (high - low) * at_low / (at_low - at_high)


def _refine(
    difference: _Difference, low: int, high: int, tolerance: int
) -> Generator[Wanted, Sequence[Point], Crossing]:
    """Narrows a bracket whose ends have different signs until it is within the tolerance.

    Costs are nearly straight lines, so a window around the interpolated crossing is tried first;
    every other step halves the bracket, whatever the costs look like.
    """
    below = difference.lock_a if difference.sign(low) < 0 else difference.lock_b
    halve = False
    while True:
        low, high = _narrowest(difference, low, high)
        zeros = [x for x in difference.known_between(low, high) if difference.at(x) == 0]
        if zeros:  # equal at a value that was looked at, or over a stretch of them
            return Crossing(Fraction(zeros[0] + zeros[-1], 2), zeros[0], zeros[-1], below)
        if high - low <= tolerance:
            return Crossing(difference.root(low, high), low, high, below)
        if halve:
            probes = [(low + high) // 2]
        else:
            begin = int(difference.root(low, high)) - (tolerance - 1) // 2
            probes = [x for x in (begin, begin + tolerance) if low < x < high]
        halve = not halve
        yield from difference.ask(probes)


def _narrowest(difference: _Difference, low: int, high: int) -> tuple[int, int]:
    """The first change of sign between `low` and `high` among the values looked at so far."""
    previous = low
    for x in difference.known_between(low, high):
        if difference.sign(x) == -difference.sign(low):
            return previous, x
        if difference.sign(x) != 0:
            previous = x
    raise AssertionError("the ends of a bracket have different signs")
