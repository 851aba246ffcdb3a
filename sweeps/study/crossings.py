"""Where one lock starts to beat another along an axis: one search for each two locks and line, then
again with the other seeds.

A search asks for the costs that it needs in batches, and whoever drives it runs the cells. Costs
are cycles per acquire-release pair, and both they and the values of an axis are exact fractions, so
two costs are equal only when they are. Both ends of each bracket are runs.
"""

import itertools
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, TypeVar

from results.errors import LockcrossError
from results.store.records import CrossoverRecord, CrossoverRun, CrossoverSeed
from results.store.store import Store
from sweeps.model.cell import Cell
from sweeps.model.locks import cancels
from sweeps.run.runner import Runner
from sweeps.study.lines import FIRST_SEED, AxisLine


@dataclass(frozen=True)
class Point:
    """The cost of a lock at one value of the axis (cycles per pair), and the run that shows it."""

    cost: Fraction
    run_id: int


@dataclass(frozen=True)
class Crossing:
    """Equal cost at `value`, interpolated linearly inside the bracket `low` to `high`.

    `below` is the lock that is cheaper just below it.
    """

    value: Fraction
    low: Fraction
    high: Fraction
    below: str


Points = dict[tuple[str, Fraction], Point]  # by lock and value of the axis


@dataclass(frozen=True)
class Crossover:
    """The result of a search: its verdict, the crossings in order, and all points it looked at.

    Verdicts: "crosses"; "a_always" and "b_always" (cheaper everywhere in range, ties aside);
    "tie" (equal everywhere).
    """

    lock_a: str
    lock_b: str
    low: Fraction
    high: Fraction
    verdict: str
    crossings: tuple[Crossing, ...]
    points: Points

    @property
    def always(self) -> str:
        """Return the lock that is cheaper everywhere in range, or nothing."""
        return {"a_always": self.lock_a, "b_always": self.lock_b}.get(self.verdict, "")


@dataclass(frozen=True)
class Repeat:
    """Another seed's view of a crossing: where it is, if it is there, and all points
    that were looked at."""

    crossing: Crossing | None
    points: Points


class Precision(NamedTuple):
    """The width that a bracket may have, and the step of which the values tried are multiples. Of a
    tolerance of one step nothing lies between the ends of a bracket."""

    tolerance: Fraction
    step: Fraction

    @classmethod
    def of(cls, tolerance: float | Fraction, step: float | Fraction = 1) -> "Precision":
        """Return the largest tolerance in whole steps. Raises ValueError for less than a step."""
        if tolerance < step:
            raise ValueError(f"tolerance {tolerance}: the step {step} is the least")
        return cls(Fraction(tolerance // step * step), Fraction(step))


Wanted = list[tuple[str, Fraction]]  # (lock, value of the axis)
Asking = Generator[Wanted, Sequence[Point], None]
Search = Generator[Wanted, Sequence[Point], Crossover]
RepeatSearch = Generator[Wanted, Sequence[Point], Repeat]
Key = TypeVar("Key")
Found = TypeVar("Found")


def find_all(
    evaluate: Callable[[Sequence[tuple[Key, str, Fraction]]], Sequence[Point]],
    searches: Mapping[Key, Generator[Wanted, Sequence[Point], Found]],
) -> dict[Key, Found]:
    """Drive many searches at once: each call of `evaluate` gets the next requests of all."""
    results: dict[Key, Found] = {}
    asked = {key: next(started) for key, started in searches.items()}
    while asked:
        wanted = [(key, lock, x) for key, wanted in asked.items() for lock, x in wanted]
        points = iter(evaluate(wanted))
        answered, asked = asked, {}
        for key, wanted_by_key in answered.items():
            try:
                asked[key] = searches[key].send([next(points) for _ in wanted_by_key])
            except StopIteration as end:
                results[key] = end.value
    return results


def search(
    lock_a: str,
    lock_b: str,
    values: Iterable[float | Fraction],
    tolerance: float | Fraction,
    step: float | Fraction = 1,
) -> Search:
    """Search over some values, refined where the sign changes, at multiples of `step`.

    Crossings that come and go between two of the values are never seen. Raises ValueError for
    fewer than two values or a tolerance below a step.
    """
    if len(xs := sorted({Fraction(x) for x in values})) < 2:
        raise ValueError(f"{len(xs)} values: 2 are the least")
    precision = Precision.of(tolerance, step)
    difference = Difference(lock_a, lock_b)
    yield from difference.ask(xs)
    signed = [x for x in xs if difference.at(x) != 0]
    crossings = []
    for low, high in itertools.pairwise(signed):
        if difference.sign(low) != difference.sign(high):
            crossings.append((yield from refine(difference, low, high, precision)))
    verdict = "crosses" if crossings else "tie"
    if signed and not crossings:
        verdict = "a_always" if difference.sign(signed[0]) < 0 else "b_always"
    return Crossover(lock_a, lock_b, xs[0], xs[-1], verdict, tuple(crossings), difference.points)


class Difference:
    """cost(lock_a) - cost(lock_b) at the values that were asked for."""

    def __init__(self, lock_a: str, lock_b: str, points: Points | None = None) -> None:
        self.lock_a, self.lock_b = lock_a, lock_b
        self.points = dict(points or {})

    def ask(self, values: Sequence[Fraction]) -> Asking:
        """Ask for both costs at the values, except for those that are known."""
        wanted = [(lock, x) for x in values for lock in (self.lock_a, self.lock_b)]
        wanted = [point for point in wanted if point not in self.points]
        if wanted:
            self.points |= zip(wanted, (yield wanted), strict=True)

    def at(self, x: Fraction) -> Fraction:
        """Return the difference in cycles per pair at a value that was looked at."""
        return self.points[self.lock_a, x].cost - self.points[self.lock_b, x].cost

    def sign(self, x: Fraction) -> int:
        """Return -1 where lock_a is cheaper, 1 where lock_b is, 0 where they cost the same."""
        return (self.at(x) > 0) - (self.at(x) < 0)

    def lead(self, x: Fraction) -> Fraction:
        """Return the lead of the cheaper one, as a share of the other's cost."""
        return abs(self.at(x)) / max(self.points[a, x].cost for a in (self.lock_a, self.lock_b))

    def known_between(self, low: Fraction, high: Fraction) -> list[Fraction]:
        """Return the values that were looked at, from `low` to `high`, in order."""
        return sorted({x for _, x in self.points if low <= x <= high})

    def root(self, low: Fraction, high: Fraction) -> Fraction:
        """Return where the line through two points of different sign is zero."""
        return low + (high - low) * self.at(low) / (self.at(low) - self.at(high))

    def expected(self, low: Fraction, high: Fraction) -> Fraction:
        """Return where costs cross between two values of different sign: where the hyperbola
        through them and the nearest third value is zero, or else the line."""
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
    difference: Difference, low: Fraction, high: Fraction, precision: Precision
) -> Generator[Wanted, Sequence[Point], Crossing]:
    """Narrow a bracket whose ends have different signs until it is within the tolerance.

    It looks where the crossing is expected, then as far away as the tolerance allows on the side
    where it must lie; every third look halves the bracket, whatever the costs look like.
    """
    tolerance, step = precision
    below = difference.lock_a if difference.sign(low) < 0 else difference.lock_b
    for look in itertools.count(1):
        low, high = _narrowest(difference, low, high)
        zeros = [x for x in difference.known_between(low, high) if difference.at(x) == 0]
        if zeros:  # equal at a value that was looked at, or over a stretch of them
            return Crossing((zeros[0] + zeros[-1]) / 2, zeros[0], zeros[-1], below)
        if high - low <= tolerance:
            return Crossing(difference.root(low, high), low, high, below)
        expected = difference.expected(low, high)
        if look % 3 == 0:
            at = (low + high) // (2 * step) * step
        elif expected - low < tolerance:
            at = low + tolerance
        else:
            at = high - tolerance if high - expected < tolerance else round(expected / step) * step
        yield from difference.ask([at])
    raise AssertionError("looks are counted without end")


def _narrowest(difference: Difference, low: Fraction, high: Fraction) -> tuple[Fraction, Fraction]:
    """Return the first change of sign between `low` and `high` among the values looked at so
    far."""
    previous = low
    for x in difference.known_between(low, high):
        if difference.sign(x) == -difference.sign(low):
            return previous, x
        if difference.sign(x) != 0:
            previous = x
    raise AssertionError("the ends of a bracket have different signs")


def search_near(
    first: Crossing, difference: Difference, ends: tuple[Fraction, Fraction], precision: Precision
) -> RepeatSearch:
    """Look for a crossing again, with other costs: in its bracket, then beside it, at distances
    that double, up to the ends of the axis. `difference` has the known costs."""
    cheaper_below = -1 if first.below == difference.lock_a else 1  # the sign below the crossing
    low, high = first.low, first.high
    distance = max(high - low, precision.tolerance)
    while True:
        yield from difference.ask(sorted({low, high}))
        if equal := [x for x in (low, high) if difference.sign(x) == 0]:
            x = equal[0]
            return Repeat(Crossing(x, x, x, first.below), difference.points)
        if difference.sign(low) == cheaper_below == -difference.sign(high):
            crossing = yield from refine(difference, low, high, precision)
            return Repeat(crossing, difference.points)
        if difference.sign(low) == cheaper_below:
            low, high = high, min(high + distance, ends[1])
        else:
            low, high = max(low - distance, ends[0]), low
        if low == high:
            return Repeat(None, difference.points)
        distance *= 2


def check_throughout(crossover: Crossover) -> RepeatSearch:
    """Ask whether the lock that wins throughout is the cheaper one with other costs, too, at the
    value where its lead is the smallest. If not, that value stands for a crossing."""
    first = Difference(crossover.lock_a, crossover.lock_b, crossover.points)
    x = min(first.known_between(crossover.low, crossover.high), key=first.lead)
    difference = Difference(crossover.lock_a, crossover.lock_b)
    yield from difference.ask([x])
    cheaper = {-1: crossover.lock_a, 0: crossover.always, 1: crossover.lock_b}[difference.sign(x)]
    crossing = Crossing(x, x, x, crossover.always) if cheaper != crossover.always else None
    return Repeat(crossing, difference.points)


Evaluate = Callable[[Sequence[Cell]], Sequence[Point]]  # gives the costs of cells


@dataclass(frozen=True)
class CrossoverTask:
    """One search: two locks along a line."""

    line: AxisLine
    lock_a: str
    lock_b: str

    @property
    def _precision(self) -> Precision:
        return Precision.of(self.line.tolerance, self.line.step)

    def search(self) -> Search:
        """Search with the first seed."""
        return search(self.lock_a, self.lock_b, self.line.values, *self._precision)

    def repeats(self, crossover: Crossover) -> list[RepeatSearch]:
        """Search with another seed, near each crossing that the first has; or where the lock that
        wins throughout leads least."""
        if not crossover.crossings:
            return [check_throughout(crossover)] if crossover.always else []
        ends = crossover.low, crossover.high
        return [
            search_near(first, Difference(self.lock_a, self.lock_b), ends, self._precision)
            for first in crossover.crossings
        ]


def pairs(line: AxisLine, locks: Iterable[str]) -> list[CrossoverTask]:
    """Return a search along a line for each two of some locks."""
    return [CrossoverTask(line, a, b) for a, b in itertools.combinations(locks, 2)]


@dataclass(frozen=True)
class Searched:
    """The result of a task's search, and the other seeds' view of each crossing, or of the lock
    that wins throughout: a mapping by seed for each record."""

    task: CrossoverTask
    found: Crossover
    repeats: Sequence[Mapping[int, Repeat]]


def search_all(
    evaluate: Evaluate, tasks: Sequence[CrossoverTask], seeds: Sequence[int]
) -> list[Searched]:
    """Drive all searches at once, then those of the other `seeds` near the crossings found."""
    known: dict[Cell, Point] = {}

    def costs(wanted: Sequence[tuple[tuple[int, int, int], str, Fraction]]) -> list[Point]:
        cells = [tasks[number].line.cell(lock, x, seed) for (number, _, seed), lock, x in wanted]
        missing = [cell for cell in dict.fromkeys(cells) if cell not in known]
        known.update(zip(missing, evaluate(missing) if missing else (), strict=True))
        return [known[cell] for cell in cells]

    first = {(number, 0, FIRST_SEED): task.search() for number, task in enumerate(tasks)}
    ended = find_all(costs, first)
    found = [ended[key] for key in first]
    # By the task's number and that of its crossing.
    again = find_all(
        costs,
        {
            (number, place, seed): repeat
            for number, (task, crossover) in enumerate(zip(tasks, found, strict=True))
            for seed in seeds
            for place, repeat in enumerate(task.repeats(crossover))
        },
    )
    repeats: list[list[dict[int, Repeat]]] = [
        [{} for _ in crossover.crossings or [None]] for crossover in found
    ]
    for number, place, seed in sorted(again):
        repeats[number][place][seed] = again[number, place, seed]
    return list(map(Searched, tasks, found, repeats))


def records(searched: Searched) -> list[CrossoverRecord]:
    """Return the records of a search: one record per crossing, or one that says who wins
    throughout."""
    line, crossover = searched.task.line, searched.found
    base, in_unit = line.base, line.in_unit
    stored = []
    crossings: Sequence[Crossing | None] = crossover.crossings or [None]
    for crossing, repeats in zip(crossings, searched.repeats, strict=True):
        by_seed = {FIRST_SEED: Repeat(crossing, crossover.points), **repeats}
        runs = tuple(
            CrossoverRun(point.run_id, seed, lock, in_unit(x), float(point.cost))
            for seed, repeat in by_seed.items()
            for (lock, x), point in repeat.points.items()
        )
        seeds = tuple(
            CrossoverSeed(seed, None, None, None)
            if (there := repeat.crossing) is None
            else CrossoverSeed(seed, float(there.value), in_unit(there.low), in_unit(there.high))
            for seed, repeat in by_seed.items()
        )
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
                low=in_unit(crossover.low),
                high=in_unit(crossover.high),
                tolerance=in_unit(line.tolerance),
                verdict=crossover.verdict,
                below=crossing.below if crossing else crossover.always,
                value=seeds[0].value,
                bracket_low=seeds[0].bracket_low,
                bracket_high=seeds[0].bracket_high,
                runs=runs,
                seeds=seeds,
            )
        )
    return stored


def store_crossovers(
    store: Store, searches: Iterable[Searched], series: Iterable[str] = ()
) -> dict[str, list[CrossoverRecord]]:
    """Store the results of searches by the series of their lines, in place of earlier ones, and
    return them. `series`: those that are to be there even without a search."""
    stored: dict[str, list[CrossoverRecord]] = {name: [] for name in series}
    for searched in searches:
        stored.setdefault(searched.task.line.series, []).extend(records(searched))
    for name, crossovers in stored.items():
        store.set_crossovers(crossovers, name)
    return stored


def points(runner: Runner, plan: str, cells: Sequence[Cell]) -> list[Point]:
    """Return the cost in core cycles per pair, exactly, of each cell. Raises as `Runner.require`
    does, and for a lock that stops threads without its trait."""
    costs = []
    for cell, run in zip(cells, runner.require(cells, plan), strict=True):
        if run.metrics.get("charges_stop", 0) > 0 and not cancels(cell.label):
            raise LockcrossError(
                f"lock {cell.lock} stops threads: give it TRAIT_CANCELS in lockimpl/locks.def"
            )
        cost = Fraction(int(run.metrics["core_cycles"]), int(run.metrics["pairs"]))
        costs.append(Point(cost, run.id))
    return costs
