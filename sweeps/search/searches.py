"""The searches of the main job: one a pair of locks and line, then again with the other seeds."""

import itertools
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import median

from results.errors import LockcrossError
from results.store.records import CrossoverRecord, CrossoverRun, CrossoverSeed
from sweeps.model.cell import Cell
from sweeps.model.locks import cancels
from sweeps.run.runner import Runner
from sweeps.search.crossing import (
    Crossing,
    Crossover,
    Difference,
    Point,
    Search,
    Wanted,
    find_all,
    refine,
    search,
)
from sweeps.search.lines import FIRST_SEED, AxisLine

Evaluate = Callable[[Sequence[Cell]], Sequence[Point]]  # what cells cost
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


_ENOUGH = 4  # runs that a seed's shift of a lock's cost is taken from
_STEADY = Fraction(1, 500)  # of the cost: a shift that varies by more is no constant
_ALIKE = 8  # runs, of two locks at least, that two seeds must agree on, exactly, to be the same


class SeedCosts:
    """Answers what cells cost, from runs where their shift is not known."""

    def __init__(self, evaluate: Evaluate) -> None:
        self._evaluate = evaluate
        self._runs: dict[Cell, Point] = {}
        self._shifts: dict[tuple[Cell, int], dict[Cell, Fraction]] = {}
        self._by_seed: dict[tuple[object, int], dict[Cell, Fraction]] = {}

    def run(self, cells: Sequence[Cell]) -> list[Point]:
        """The cells' costs, all of them from runs."""
        missing = [cell for cell in dict.fromkeys(cells) if cell not in self._runs]
        for cell, point in zip(missing, self._evaluate(missing) if missing else (), strict=True):
            self._runs[cell] = point
            plain = replace(cell, seed=FIRST_SEED)
            self._by_seed.setdefault((_scope(cell), cell.seed), {})[plain] = point.cost
            if cell.seed != FIRST_SEED and plain in self._runs:
                shift = point.cost - self._runs[plain].cost
                self._shifts.setdefault((_plane(cell), cell.seed), {})[plain] = shift
        return [self._runs[cell] for cell in cells]

    def find(self, cells: Sequence[Cell]) -> list[Point]:
        """The cells' costs; those without a run follow from other runs."""
        found: dict[Cell, Point] = {}
        self.run(self._samples(cells))
        for cell in dict.fromkeys(cells):
            if cell in self._runs:
                found[cell] = self._runs[cell]
            elif (cost := self._steady(cell)) is not None:
                found[cell] = Point(cost, None)
        left = {cell for cell in cells if cell not in found}
        alike = {
            cell: other
            for cell in left
            if (other := self._alike(cell)) is not None and (other in left or other in found)
        }
        own = [cell for cell in dict.fromkeys(cells) if cell in left and cell not in alike]
        found |= zip(own, self.run(own), strict=True)
        for cell in sorted(alike, key=lambda one: one.seed):  # another may be alike itself
            found[cell] = Point(found[alike[cell]].cost, None)
        return [found[cell] for cell in cells]

    def _samples(self, cells: Iterable[Cell]) -> list[Cell]:
        """Those that are run first, evenly drawn, if others can follow from their shift."""
        groups: dict[tuple[Cell, int], list[Cell]] = {}
        for cell in dict.fromkeys(cells):
            if cell not in self._runs:
                groups.setdefault((_plane(cell), cell.seed), []).append(cell)
        found = []
        for key, group in groups.items():
            few = _ENOUGH - len(self._shifts.get(key, ()))
            if 0 < few < len(group):
                found += group[:: max(len(group) // few, 1)][:few]
        return found

    def _steady(self, cell: Cell) -> Fraction | None:
        """The first seed's cost and the shift, where that is known and the same everywhere."""
        shifts = self._shifts.get((_plane(cell), cell.seed), {}).values()
        first = self._runs.get(replace(cell, seed=FIRST_SEED))
        if first is None or len(shifts) < _ENOUGH:
            return None
        middle = median(shifts)
        if max(abs(shift - middle) for shift in shifts) > _STEADY * first.cost:
            return None
        return first.cost + middle

    def _alike(self, cell: Cell) -> Cell | None:
        """The cell with the first of the seeds that agree with its own in all that both have."""
        own = self._by_seed.get((_scope(cell), cell.seed), {})
        for scope, seed in sorted(self._by_seed, key=lambda key: key[1]):
            if scope == _scope(cell) and FIRST_SEED < seed < cell.seed:
                other = self._by_seed[scope, seed]
                both = own.keys() & other.keys()
                enough = len(both) >= _ALIKE and len({one.label for one in both}) > 1
                if enough and all(own[one] == other[one] for one in both):
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
            self.lock_a, self.lock_b, [x // self.line.step for x in self.coarse],
            self.axis.tolerance, self.expected, self.line.follows_model,
        )  # fmt: skip


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

    found = find_all(first, {number: task.search() for number, task in enumerate(tasks)})
    repeats = _OtherSeeds(costs, tasks, found).find(seeds)
    return [
        Searched(
            task, found[number],
            [{seed: repeats[key] for seed in seeds if (key := (number, place, seed)) in repeats}
             for place in range(len(found[number].crossings) or 1)],
        )
        for number, task in enumerate(tasks)
    ]  # fmt: skip


class _OtherSeeds:
    """The searches of the other seeds: by the first seed's slope, checked once for each pair of
    locks along each axis, and without it where it is not sure or the check fails."""

    def __init__(
        self, costs: SeedCosts, tasks: Sequence[CrossoverTask], found: Mapping[int, Crossover]
    ) -> None:
        self._costs = costs
        self._tasks = tasks
        self._found = found

    def find(self, seeds: Sequence[int]) -> dict[_Key, Repeat]:
        """What each seed shows of each crossing, or of the lock that wins throughout."""
        wins = {
            (number, 0, seed): check_throughout(found)
            for number, found in self._found.items()
            for seed in seeds
            if not found.crossings and found.verdict != "tie"
        }
        crossings = [
            (number, place, seed)
            for number, found in self._found.items()
            for place in range(len(found.crossings))
            for seed in seeds
        ]
        repeats = self._run(wins, self._costs.run)
        guesses = {}
        for key in crossings:
            task, first = self._tasks[key[0]], self._first(key)
            # A seed says when the cores start and no more: with three threads it says who takes an
            # object, too, which is other work.
            two_threads = int(task.line.setting.get("threads", 3)) <= 2
            if first.low < first.high and two_threads:
                guesses[key] = shifted(self._found[key[0]], first, task.axis)
        sure = self._check(self._run(guesses, self._costs.find))
        return repeats | sure | self._search([key for key in crossings if key not in sure])

    def _check(self, guessed: Mapping[_Key, Repeat]) -> dict[_Key, Repeat]:
        """Those that are sure and whose check has not failed, with its error. A check is for a pair
        of locks along an axis, on one machine in one flavour."""
        crossings = {key: one.crossing for key, one in guessed.items() if one.crossing is not None}
        groups: dict[object, list[_Key]] = {}
        for key in crossings:
            task = self._tasks[key[0]]
            line = task.line
            of = line.series, line.base.machine, line.base.flavour, line.axis
            groups.setdefault((*of, task.lock_a, task.lock_b), []).append(key)

        def reach(key: _Key) -> tuple[Fraction, Fraction, _Key]:
            """How far a value lies from the nearest one that was looked at, and how far it has
            moved from the first seed's; in tolerances."""
            value, tolerance = crossings[key].value, self._tasks[key[0]].axis.tolerance
            nearest = min(abs(value - x) for _, x in guessed[key].points)
            return nearest / tolerance, abs(value - self._first(key).value) / tolerance, key

        # Farthest from what was run, the model is the least sure.
        checks = {max(keys, key=reach): keys for keys in groups.values()}
        checked = self._search(checks)
        right: dict[_Key, Repeat] = {}
        for key, keys in checks.items():
            there = checked[key].crossing
            off = None if there is None else abs(there.value - crossings[key].value)
            if off is not None and off <= self._tasks[key[0]].axis.tolerance * _MOST_OFF:
                right |= {
                    one: replace(guessed[one], crossing=replace(crossings[one], error=off))
                    for one in keys
                }
        return right | checked

    def _search(self, keys: Iterable[_Key]) -> dict[_Key, Repeat]:
        """Searches at both ends of a bracket."""
        searches = {}
        for key in keys:
            task = self._tasks[key[0]]
            difference = Difference(task.lock_a, task.lock_b)
            searches[key] = search_near(self._first(key), difference, task.axis)
        return self._run(searches, self._costs.run)

    def _run(self, searches: Mapping[_Key, RepeatSearch], evaluate: Evaluate) -> dict[_Key, Repeat]:
        def costs(wanted: Sequence[tuple[_Key, str, int]]) -> Sequence[Point]:
            return evaluate([self._tasks[key[0]].cell(lock, x, key[2]) for key, lock, x in wanted])

        return find_all(costs, searches)

    def _first(self, key: _Key) -> Crossing:
        return self._found[key[0]].crossings[key[1]]


def records(searched: Searched) -> list[CrossoverRecord]:
    """What is stored of a search: a record a crossing, or one that says who wins throughout."""
    task, found = searched.task, searched.found
    line, base, step = task.line, task.line.base, task.line.step
    always = {"a_always": found.lock_a, "b_always": found.lock_b}.get(found.verdict, "")
    crossings: Sequence[Crossing | None] = found.crossings or [None]
    kept = []
    for crossing, repeats in zip(crossings, searched.repeats, strict=True):
        every = {FIRST_SEED: Repeat(crossing, found.points), **repeats}
        runs = tuple(
            CrossoverRun(point.run_id, seed, lock, line.own(x * step), float(point.cost))
            for seed, one in every.items()
            for (lock, x), point in one.points.items()
            if point.run_id is not None
        )
        seeds = tuple(_seed(seed, one.crossing, line) for seed, one in every.items())
        first = seeds[0]
        kept.append(
            CrossoverRecord(
                machine=base.machine, isa=base.isa, flavour=base.flavour, engine=base.engine,
                workload=base.workload, setting=line.setting, unit=line.unit, axis=line.axis,
                lock_a=found.lock_a, lock_b=found.lock_b, low=line.own(min(task.coarse)),
                high=line.own(max(task.coarse)), tolerance=line.own(line.tolerance),
                verdict=found.verdict,
                below=crossing.below if crossing else always, value=first.value,
                bracket_low=first.bracket_low, bracket_high=first.bracket_high, runs=runs,
                seeds=seeds,
            )
        )  # fmt: skip
    return kept


def _seed(seed: int, crossing: Crossing | None, line: AxisLine) -> CrossoverSeed:
    if crossing is None:
        return CrossoverSeed(seed, None, None, None)
    low, high = (line.own(x * line.step) for x in (crossing.low, crossing.high))
    error = None if crossing.error is None else float(line.own(crossing.error * line.step))
    return CrossoverSeed(seed, float(line.own(crossing.value * line.step)), low, high, error)


def points(runner: Runner, plan: str, cells: Sequence[Cell]) -> list[Point]:
    """The cost in core cycles per pair, exactly, of each cell. Raises as `Runner.require` does, and
    for a lock that stops threads without its trait."""
    found = []
    for cell, run in zip(cells, runner.require(cells, plan), strict=True):
        if run.metrics.get("charges_stop", 0) > 0 and not cancels(cell.label):
            raise LockcrossError(
                f"lock {cell.lock} stops threads: give it TRAIT_CANCELS in lockimpl/locks.def"
            )
        cost = Fraction(int(run.metrics["core_cycles"]), int(run.metrics["pairs"]))
        found.append(Point(cost, run.id))
    return found
