"""Where one lock starts to beat another along an axis of whole numbers: one search a pair of locks
and line, then again with the other seeds.

A search asks for the costs it needs in batches, and whoever drives it runs the cells. Costs are
cycles per acquire-release pair, exact fractions of exact cycle counts, so two costs are equal only
when they are.

A search has a model: over latencies costs are nearly straight lines, over run lengths hyperbolas.
It looks where the model expects the crossing, and everywhere if the model turns out to be wrong.
"""

import itertools
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import median
from typing import NamedTuple, TypeVar

from results.errors import LockcrossError
from results.store.records import CrossoverRecord, CrossoverRun, CrossoverSeed
from sweeps.model.cell import Cell
from sweeps.model.locks import cancels
from sweeps.run.runner import Runner
from sweeps.search.lines import FIRST_SEED, AxisLine, first_values


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
    difference = Difference(lock_a, lock_b)
    if expected is not None:
        known = yield from _as_expected(difference, coarse, tolerance, expected)
    else:
        begin = first_values(coarse, tolerance) if modelled else coarse
        yield from difference.ask(begin)
        known = len(begin) == len(coarse) or (yield from _explained(difference, begin, tolerance))
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
    ends = coarse[0], coarse[-1]
    return Crossover(lock_a, lock_b, *ends, verdict, tuple(crossings), difference.points)


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
    crossing = yield from refine(difference, *ends, tolerance)
    return abs(crossing.value - expected) <= max(tolerance, (high - low) // _PART)


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
_LOOKS = 2  # at a shifted crossing: where the first seed has it, and where that one says it is


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


def shifted(crossover: Crossover, first: Crossing, axis: Axis) -> RepeatSearch:
    """The crossing by the first seed's slope and the costs at a value that lies no further away
    than half the tolerance. Where that is not sure, no crossing is named: it is to be searched. The
    first seed's bracket must have a width."""
    known = Difference(crossover.lock_a, crossover.lock_b, crossover.points)
    difference = Difference(crossover.lock_a, crossover.lock_b)
    at = min(first.low, first.high, key=lambda x: abs(known.at(x)))
    for _ in range(_LOOKS if axis.tolerance > 1 else 1):
        yield from difference.ask([at])
        shift = difference.at(at) - known.line(first.low, first.high, at)
        # Where the first seed's line through its bracket is zero once it is shifted.
        slope = (known.at(first.high) - known.at(first.low)) / (first.high - first.low)
        value = first.low - (known.at(first.low) + shift) / slope
        if axis.tolerance == 1:
            low, high = first.low, first.high
            # Twice the shift would leave the signs at both ends as they are.
            ends = [known.at(x) for x in (low, high)]
            sure = all(abs(2 * shift) < abs(end) or shift * end > 0 for end in ends)
        else:
            low, high = sorted((at, at + (axis.tolerance if value >= at else -axis.tolerance)))
            low, high = max(low, axis.low), min(high, axis.high)
            sure = 2 * abs(value - at) <= axis.tolerance and low <= value <= high
        if sure:
            crossing = Crossing(value, low, high, first.below, Fraction(0))
            return Repeat(crossing, difference.points)
        at = min(max(round(value), axis.low), axis.high)
    return Repeat(None, difference.points)


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


_ENOUGH = 4  # runs that a seed's shift of a lock's cost is taken from
_STEADY = Fraction(1, 500)  # of the cost: a shift that varies by more is no constant
_ALIKE = 8  # runs, of two locks at least, that two seeds must agree on, exactly, to be the same


_Shared = defaultdict[tuple[object, int], dict[Cell, Fraction]]


class SeedCosts:
    """Answers what cells cost, from runs where their shift is not known."""

    def __init__(self, evaluate: Evaluate) -> None:
        self._evaluate = evaluate
        self._runs: dict[Cell, Point] = {}
        # By what the cells have in common and their seed; each by its cell with the first seed.
        self._shifts: _Shared = defaultdict(dict)
        self._by_seed: _Shared = defaultdict(dict)

    def run(self, cells: Sequence[Cell]) -> list[Point]:
        """The cells' costs, all of them from runs."""
        missing = [cell for cell in dict.fromkeys(cells) if cell not in self._runs]
        for cell, point in zip(missing, self._evaluate(missing) if missing else (), strict=True):
            self._runs[cell] = point
            plain = replace(cell, seed=FIRST_SEED)
            self._by_seed[_scope(cell), cell.seed][plain] = point.cost
            if cell.seed != FIRST_SEED and plain in self._runs:
                shift = point.cost - self._runs[plain].cost
                self._shifts[_plane(cell), cell.seed][plain] = shift
        return [self._runs[cell] for cell in cells]

    def find(self, cells: Sequence[Cell]) -> list[Point]:
        """The cells' costs; those without a run follow from other runs."""
        wanted = dict.fromkeys(cells)
        self.run(self._samples(wanted))
        costs: dict[Cell, Point] = {}
        for cell in wanted:
            if cell in self._runs:
                costs[cell] = self._runs[cell]
            elif (steady := self._steady(cell)) is not None:
                costs[cell] = Point(steady, None)
        left = [cell for cell in wanted if cell not in costs]
        alike = {
            cell: other
            for cell in left
            if (other := self._alike(cell)) is not None and other in wanted
        }
        own = [cell for cell in left if cell not in alike]
        costs |= zip(own, self.run(own), strict=True)
        for cell in sorted(alike, key=lambda same: same.seed):  # another may be alike itself
            costs[cell] = Point(costs[alike[cell]].cost, None)
        return [costs[cell] for cell in cells]

    def _samples(self, cells: Iterable[Cell]) -> list[Cell]:
        """Those that are run first, evenly drawn, if others can follow from their shift."""
        groups: dict[tuple[Cell, int], list[Cell]] = {}
        for cell in cells:
            if cell not in self._runs:
                groups.setdefault((_plane(cell), cell.seed), []).append(cell)
        samples = []
        for key, group in groups.items():
            few = _ENOUGH - len(self._shifts[key])
            if 0 < few < len(group):
                samples += group[:: max(len(group) // few, 1)][:few]
        return samples

    def _steady(self, cell: Cell) -> Fraction | None:
        """The first seed's cost and the shift, where that is known and the same everywhere."""
        shifts = self._shifts[_plane(cell), cell.seed].values()
        first = self._runs.get(replace(cell, seed=FIRST_SEED))
        if first is None or len(shifts) < _ENOUGH:
            return None
        middle = median(shifts)
        if max(abs(shift - middle) for shift in shifts) > _STEADY * first.cost:
            return None
        return first.cost + middle

    def _alike(self, cell: Cell) -> Cell | None:
        """The cell with the first of the seeds that agree with its own in all that both have."""
        own = self._by_seed[_scope(cell), cell.seed]
        for seed in range(FIRST_SEED + 1, cell.seed):
            other = self._by_seed[_scope(cell), seed]
            both = own.keys() & other.keys()
            enough = len(both) >= _ALIKE and len({shared.label for shared in both}) > 1
            if enough and all(own[shared] == other[shared] for shared in both):
                return replace(cell, seed=seed)
        return None


def _plane(cell: Cell) -> Cell:
    """What cells have in common over which a shift may be constant."""
    return replace(cell, cas_latency=None, fence_latency=None, seed=FIRST_SEED)


def _scope(cell: Cell) -> object:
    """What cells have in common in which two seeds may be alike."""
    return cell.engine, cell.machine, cell.isa, cell.flavour, cell.workload, cell.threads


_Key = tuple[int, int, int]  # of a task, a crossing of it, a seed
_MOST_OFF = Fraction(1, 4)  # of the tolerance: a model that is further off is not used


@dataclass(frozen=True)
class CrossoverTask:
    """One search: a pair of locks along a line, from the coarse values it starts with, or from
    where the crossing is `expected`. It has the line's steps as its unit."""

    line: AxisLine
    lock_a: str
    lock_b: str
    coarse: tuple[int, ...]
    expected: Crossing | None = None

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
        """The search itself."""
        return search(
            self.lock_a,
            self.lock_b,
            [x // self.line.step for x in self.coarse],
            self.axis.tolerance,
            self.expected,
            self.line.follows_model,
        )


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
    """Drives all searches at once, then those of the other `seeds` near the crossings found."""
    costs = SeedCosts(evaluate)

    def first(wanted: Sequence[tuple[int, str, int]]) -> Sequence[Point]:
        return costs.run([tasks[number].cell(lock, x) for number, lock, x in wanted])

    crossovers = find_all(first, {number: task.search() for number, task in enumerate(tasks)})
    repeats = _OtherSeeds(costs, tasks, crossovers).find(seeds)
    return [
        Searched(
            task,
            crossovers[number],
            [
                {seed: repeats[key] for seed in seeds if (key := (number, place, seed)) in repeats}
                for place in range(len(crossovers[number].crossings) or 1)
            ],
        )
        for number, task in enumerate(tasks)
    ]


@dataclass(frozen=True)
class _OtherSeeds:
    """The searches of the other seeds: by the first seed's slope, checked once for each pair of
    locks along each axis, and without it where it is not sure or the check fails."""

    costs: SeedCosts
    tasks: Sequence[CrossoverTask]
    found: Mapping[int, Crossover]

    def find(self, seeds: Sequence[int]) -> dict[_Key, Repeat]:
        """What each seed shows of each crossing, or of the lock that wins throughout."""
        wins: dict[_Key, RepeatSearch] = {}
        guesses: dict[_Key, RepeatSearch] = {}
        crossings: list[_Key] = []
        for number, crossover in self.found.items():
            task = self.tasks[number]
            if not crossover.crossings and crossover.verdict != "tie":
                wins |= {(number, 0, seed): check_throughout(crossover) for seed in seeds}
            for (place, first), seed in itertools.product(enumerate(crossover.crossings), seeds):
                crossings.append((number, place, seed))
                # A seed says when the cores start and no more: with three threads it says who takes
                # an object, too, which is other work.
                if first.low < first.high and int(task.line.setting.get("threads", 3)) <= 2:
                    guesses[number, place, seed] = shifted(crossover, first, task.axis)
        repeats = self._run(wins, self.costs.run)
        sure = self._check(self._run(guesses, self.costs.find))
        return repeats | sure | self._search(key for key in crossings if key not in sure)

    def _check(self, guessed: Mapping[_Key, Repeat]) -> dict[_Key, Repeat]:
        """Those that are sure and whose check has not failed, with its error. A check is for a pair
        of locks along an axis, on one machine in one flavour."""
        crossings = {
            key: repeat.crossing for key, repeat in guessed.items() if repeat.crossing is not None
        }
        groups = defaultdict(list)
        for key in crossings:
            task = self.tasks[key[0]]
            of = task.line.series, task.line.base.machine, task.line.base.flavour, task.line.axis
            groups[*of, task.lock_a, task.lock_b].append(key)

        def reach(key: _Key) -> tuple[Fraction, Fraction, _Key]:
            """How far a value lies from the nearest one that was looked at, and how far it has
            moved from the first seed's; in tolerances."""
            value, tolerance = crossings[key].value, self.tasks[key[0]].axis.tolerance
            nearest = min(abs(value - x) for _, x in guessed[key].points)
            return nearest / tolerance, abs(value - self._first(key).value) / tolerance, key

        # Farthest from what was run, the model is the least sure.
        checks = {max(keys, key=reach): keys for keys in groups.values()}
        checked = self._search(checks)
        right: dict[_Key, Repeat] = {}
        for key, keys in checks.items():
            if (there := checked[key].crossing) is None:
                continue
            off = abs(there.value - crossings[key].value)
            if off <= self.tasks[key[0]].axis.tolerance * _MOST_OFF:
                for agreeing in keys:
                    right[agreeing] = Repeat(
                        replace(crossings[agreeing], error=off), guessed[agreeing].points
                    )
        return right | checked

    def _search(self, keys: Iterable[_Key]) -> dict[_Key, Repeat]:
        """Searches at both ends of a bracket."""
        searches = {}
        for key in keys:
            task = self.tasks[key[0]]
            difference = Difference(task.lock_a, task.lock_b)
            searches[key] = search_near(self._first(key), difference, task.axis)
        return self._run(searches, self.costs.run)

    def _run(self, searches: Mapping[_Key, RepeatSearch], evaluate: Evaluate) -> dict[_Key, Repeat]:
        def costs(wanted: Sequence[tuple[_Key, str, int]]) -> Sequence[Point]:
            return evaluate([self.tasks[key[0]].cell(lock, x, key[2]) for key, lock, x in wanted])

        return find_all(costs, searches)

    def _first(self, key: _Key) -> Crossing:
        return self.found[key[0]].crossings[key[1]]


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
            if point.run_id is not None
        )
        seeds = []
        for seed, repeat in every.items():
            if (there := repeat.crossing) is None:
                seeds.append(CrossoverSeed(seed, None, None, None))
                continue
            low, high = (line.own(x * step) for x in (there.low, there.high))
            error = None if there.error is None else float(line.own(there.error * step))
            seeds.append(CrossoverSeed(seed, float(line.own(there.value * step)), low, high, error))
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
