"""Where one lock starts to beat another along an axis of whole numbers: one search a pair of locks
and line, then again with the other seeds.

A search asks for the costs it needs in batches, and whoever drives it runs the cells. Costs are
cycles per acquire-release pair, exact fractions of exact cycle counts, so two costs are equal only
when they are. Both ends of each bracket are runs.
"""

import itertools
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, TypeVar

from results.errors import LockcrossError
from results.store.records import CrossoverRecord, CrossoverRun, CrossoverSeed
from sweeps.model.cell import Cell
from sweeps.model.locks import cancels
from sweeps.run.runner import Runner
from sweeps.search.lines import FIRST_SEED, AxisLine


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
    verdict: str
    crossings: tuple[Crossing, ...]
    points: dict[tuple[str, int], Point]


Wanted = list[tuple[str, int]]  # (lock, value of the axis)
Search = Generator[Wanted, Sequence[Point], Crossover]
Key = TypeVar("Key")
Found = TypeVar("Found")


def find_all(
    evaluate: Callable[[Sequence[tuple[Key, str, int]]], Sequence[Point]],
    searches: Mapping[Key, Generator[Wanted, Sequence[Point], Found]],
) -> dict[Key, Found]:
    """Drives many searches at once: each call of `evaluate` gets what all of them ask for next."""
    answers: dict[Key, Found] = {}
    asked = {key: next(started) for key, started in searches.items()}
    while asked:
        wanted = [(key, lock, x) for key, looks in asked.items() for lock, x in looks]
        points = iter(evaluate(wanted))
        answered, asked = asked, {}
        for key, looks in answered.items():
            try:
                asked[key] = searches[key].send([next(points) for _ in looks])
            except StopIteration as end:
                answers[key] = end.value
    return answers


def search(lock_a: str, lock_b: str, coarse: Sequence[int], tolerance: int) -> Search:
    """Search over the values `coarse`, refined between those where the sign changes.

    Crossings that come and go between two values of `coarse` are never seen. Raises ValueError for
    less than two values or a tolerance below 1.
    """
    if tolerance < 1 or len(set(coarse)) < 2:
        raise ValueError(f"tolerance {tolerance}, {len(set(coarse))} values: 1 and 2 are the least")
    coarse = sorted(set(coarse))
    difference = Difference(lock_a, lock_b)
    yield from difference.ask(coarse)
    signed = [x for x in coarse if difference.at(x) != 0]
    crossings = []
    for low, high in itertools.pairwise(signed):
        if difference.sign(low) != difference.sign(high):
            crossings.append((yield from refine(difference, low, high, tolerance)))
    verdict = "crosses" if crossings else "tie"
    if signed and not crossings:
        verdict = "a_always" if difference.sign(signed[0]) < 0 else "b_always"
    ends = coarse[0], coarse[-1]
    return Crossover(lock_a, lock_b, *ends, verdict, tuple(crossings), difference.points)


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
        wanted = [point for point in wanted if point not in self.points]
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
        return low + (high - low) * self.at(low) / (self.at(low) - self.at(high))

    def expected(self, low: int, high: int) -> Fraction:
        """Where costs cross between two values of different sign: where the hyperbola through them
        and the nearest third value is zero, or else the line."""
        line = self.root(low, high)
        others = {x for _, x in self.points if not low <= x <= high}
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
        value = (low * (third - high) - ratio * high * (third - low)) / below
        return value if low < value < high else line


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


Evaluate = Callable[[Sequence[Cell]], Sequence[Point]]  # what cells cost


@dataclass(frozen=True)
class Repeat:
    """What another seed's costs show of a crossing: where it is, if it is there, and all points
    that were looked at."""

    crossing: Crossing | None
    points: Mapping[tuple[str, int], Point]


RepeatSearch = Generator[Wanted, Sequence[Point], Repeat]


class Axis(NamedTuple):
    """Where a crossing is looked for: the ends of the axis and the tolerance, in its steps. With a
    tolerance of one step nothing lies between the ends of a bracket."""

    low: int
    high: int
    tolerance: int


def search_near(first: Crossing, difference: Difference, axis: Axis) -> RepeatSearch:
    """Looks for a crossing again, with other costs: in its bracket, then beside it, in steps that
    double, up to the ends of the axis. `difference` has what is known of these costs."""
    cheaper_below = -1 if first.below == difference.lock_a else 1  # the sign below the crossing
    low, high = first.low, first.high
    step = max(high - low, axis.tolerance)
    while True:
        yield from difference.ask(sorted({low, high}))
        if equal := [x for x in (low, high) if difference.sign(x) == 0]:
            x = equal[0]
            return Repeat(Crossing(Fraction(x), x, x, first.below), difference.points)
        if difference.sign(low) == cheaper_below == -difference.sign(high):
            crossing = yield from refine(difference, low, high, axis.tolerance)
            return Repeat(crossing, difference.points)
        if difference.sign(low) == cheaper_below:
            low, high = high, min(high + step, axis.high)
        else:
            low, high = max(low - step, axis.low), low
        if low == high:
            return Repeat(None, difference.points)
        step *= 2


def check_throughout(crossover: Crossover) -> RepeatSearch:
    """Whether the lock that wins throughout is the cheaper one with other costs, too, at the value
    where its lead is the smallest. If not, that value stands for a crossing."""
    first = Difference(crossover.lock_a, crossover.lock_b, crossover.points)
    x = min(first.known_between(crossover.low, crossover.high), key=first.share)
    difference = Difference(crossover.lock_a, crossover.lock_b)
    yield from difference.ask([x])
    wins = -1 if crossover.verdict == "a_always" else 1
    below = crossover.lock_a if wins < 0 else crossover.lock_b
    crossing = Crossing(Fraction(x), x, x, below) if difference.sign(x) == -wins else None
    return Repeat(crossing, difference.points)


@dataclass(frozen=True)
class CrossoverTask:
    """One search: a pair of locks along a line, from the coarse values it starts with. It has the
    line's steps as its unit."""

    line: AxisLine
    lock_a: str
    lock_b: str
    coarse: tuple[int, ...]

    @property
    def axis(self) -> Axis:
        """The axis, in steps."""
        step = self.line.step
        low, high = self.line.limits
        return Axis(low // step, high // step, self.line.tolerance // step)

    def cell(self, lock: str, x: int, seed: int = FIRST_SEED) -> Cell:
        """The run of a lock at so many steps."""
        return self.line.cell(lock, x * self.line.step, seed)

    def search(self) -> Search:
        """Search with the first seed."""
        coarse = [x // self.line.step for x in self.coarse]
        return search(self.lock_a, self.lock_b, coarse, self.axis.tolerance)

    def repeats(self, crossover: Crossover) -> list[RepeatSearch]:
        """Search with another seed, near each crossing that the first has; or where the lock that
        wins throughout leads least."""
        if not crossover.crossings:
            return [] if crossover.verdict == "tie" else [check_throughout(crossover)]
        pair = self.lock_a, self.lock_b
        return [search_near(first, Difference(*pair), self.axis) for first in crossover.crossings]


def pairs(line: AxisLine, locks: Iterable[str]) -> list[CrossoverTask]:
    """A search along a line for each two of some locks."""
    return [CrossoverTask(line, a, b, line.values) for a, b in itertools.combinations(locks, 2)]


@dataclass(frozen=True)
class Searched:
    """What a task's search found, and of each crossing what the other seeds show of it; or of the
    lock that wins throughout, whether it does."""

    task: CrossoverTask
    found: Crossover
    repeats: Sequence[Mapping[int, Repeat]]  # by seed, a mapping for each record


def search_all(
    evaluate: Evaluate, tasks: Sequence[CrossoverTask], seeds: Sequence[int]
) -> list[Searched]:
    """Drive all searches at once, then those of the other `seeds` near the crossings found."""
    known: dict[Cell, Point] = {}

    def costs(cells: Sequence[Cell]) -> list[Point]:
        missing = [cell for cell in dict.fromkeys(cells) if cell not in known]
        known.update(zip(missing, evaluate(missing) if missing else (), strict=True))
        return [known[cell] for cell in cells]

    def first(wanted: Sequence[tuple[int, str, int]]) -> list[Point]:
        return costs([tasks[number].cell(lock, x) for number, lock, x in wanted])

    def again(wanted: Sequence[tuple[tuple[int, int, int], str, int]]) -> list[Point]:
        return costs([tasks[number].cell(lock, x, seed) for (number, _, seed), lock, x in wanted])

    found = find_all(first, {number: task.search() for number, task in enumerate(tasks)})
    repeats = find_all(
        again,
        {
            (number, place, seed): repeat
            for number, task in enumerate(tasks)
            for seed in seeds
            for place, repeat in enumerate(task.repeats(found[number]))
        },
    )
    return [
        Searched(
            task,
            found[number],
            [
                {seed: repeats[key] for seed in seeds if (key := (number, place, seed)) in repeats}
                for place in range(len(found[number].crossings) or 1)
            ],
        )
        for number, task in enumerate(tasks)
    ]


def records(searched: Searched) -> list[CrossoverRecord]:
    """What is stored of a search: a record a crossing, or one that says who wins throughout."""
    task, crossover = searched.task, searched.found
    line, base, step = task.line, task.line.base, task.line.step
    always = {"a_always": crossover.lock_a, "b_always": crossover.lock_b}.get(crossover.verdict, "")
    stored = []
    crossings: Sequence[Crossing | None] = crossover.crossings or [None]
    for crossing, repeats in zip(crossings, searched.repeats, strict=True):
        every = {FIRST_SEED: Repeat(crossing, crossover.points), **repeats}
        runs = tuple(
            CrossoverRun(point.run_id, seed, lock, line.own(x * step), float(point.cost))
            for seed, repeat in every.items()
            for (lock, x), point in repeat.points.items()
        )
        seeds = []
        for seed, repeat in every.items():
            if (there := repeat.crossing) is None:
                seeds.append(CrossoverSeed(seed, None, None, None))
                continue
            low, high = (line.own(x * step) for x in (there.low, there.high))
            seeds.append(CrossoverSeed(seed, float(line.own(there.value * step)), low, high))
        stored.append(
            CrossoverRecord(
                machine=base.machine,
                isa=base.isa,
                flavour=base.flavour,
                engine=base.engine,
                workload=base.workload,
                setting=line.setting,
                unit=line.unit,
                axis=line.axis,
                lock_a=crossover.lock_a,
                lock_b=crossover.lock_b,
                low=line.own(min(task.coarse)),
                high=line.own(max(task.coarse)),
                tolerance=line.own(line.tolerance),
                verdict=crossover.verdict,
                below=crossing.below if crossing else always,
                value=seeds[0].value,
                bracket_low=seeds[0].bracket_low,
                bracket_high=seeds[0].bracket_high,
                runs=runs,
                seeds=tuple(seeds),
            )
        )
    return stored


def points(runner: Runner, plan: str, cells: Sequence[Cell]) -> list[Point]:
    """The cost in core cycles per pair, exactly, of each cell. Raises as `Runner.require` does, and
    for a lock that stops threads without its trait."""
    costs = []
    for cell, run in zip(cells, runner.require(cells, plan), strict=True):
        if run.metrics.get("charges_stop", 0) > 0 and not cancels(cell.label):
            raise LockcrossError(
                f"lock {cell.lock} stops threads: give it TRAIT_CANCELS in lockimpl/locks.def"
            )
        cost = Fraction(int(run.metrics["core_cycles"]), int(run.metrics["pairs"]))
        costs.append(Point(cost, run.id))
    return costs
