"""The searches of the main job: one a pair of locks and line, then again with the other seeds."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from results.analysis.crossover import (
    Crossing,
    Crossover,
    Difference,
    Point,
    Search,
    find_all,
    search,
)
from results.errors import LockcrossError
from results.model.cell import Cell
from results.store.records import CrossoverRecord, CrossoverRun, CrossoverSeed, StoredRun
from sweeps.execution.runner import Runner
from sweeps.experiments.crossover.cells import FIRST_SEED, AxisLine, Evaluate, isa_of
from sweeps.experiments.crossover.seed_costs import SeedCosts
from sweeps.experiments.crossover.seeds import (
    Axis,
    Repeat,
    RepeatSearch,
    check_throughout,
    search_near,
    shifted,
)
from sweeps.model.locks import cancels

_Key = tuple[int, int, int]  # of a task, a crossing of it, a seed
_MOST_OFF = Fraction(1, 4)  # of the tolerance: a model that is further off is not used


@dataclass(frozen=True)
class CrossoverTask:
    """One search: a pair of locks along a line, from the coarse values it starts with, or from
    where the crossing is `expected`, in steps of the line."""

    line: AxisLine
    lock_a: str
    lock_b: str
    coarse: tuple[int, ...]
    expected: Crossing | None = None

    def search(self) -> Search:
        """The search itself, in steps of the line's unit."""
        step = self.line.step
        return search(
            self.lock_a, self.lock_b, [x // step for x in self.coarse],
            self.line.tolerance // step, self.expected, self.line.follows_model,
        )  # fmt: skip


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
        return costs.run([_cell(tasks[number], lock, x) for number, lock, x in wanted])

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
        wins = [
            (number, 0, seed)
            for number, one in self._found.items()
            for seed in seeds
            if not one.crossings and one.verdict != "tie"
        ]
        crossings = [
            (number, place, seed)
            for number, one in self._found.items()
            for place in range(len(one.crossings))
            for seed in seeds
        ]
        repeats = self._run(
            {key: check_throughout(self._found[key[0]]) for key in wins}, self._costs.run
        )
        guessed = self._run(
            {
                key: shifted(self._found[key[0]], self._first(key), self._axis(key))
                for key in crossings
                if self._first(key).low < self._first(key).high
                and _two_threads(self._tasks[key[0]].line)
            },
            self._costs.find,
        )
        guessed = self._check(guessed)
        return repeats | guessed | self._search([k for k in crossings if k not in guessed])

    def _check(self, guessed: Mapping[_Key, Repeat]) -> dict[_Key, Repeat]:
        """Those that are sure and whose check has not failed, with its error."""
        groups: dict[object, list[_Key]] = {}
        for key, one in guessed.items():
            if one.crossing is not None:
                groups.setdefault(self._group(key), []).append(key)
        # Farthest from what was run, the model is the least sure.
        checks = {max(keys, key=lambda key: self._reach(key, guessed)): keys for keys in
                  groups.values()}  # fmt: skip
        checked = self._search(checks)
        right: dict[_Key, Repeat] = {}
        for key, keys in checks.items():
            value, there = guessed[key].crossing, checked[key].crossing
            assert value is not None  # only crossings are checked
            off = None if there is None else abs(there.value - value.value)
            if off is not None and off <= self._axis(key).tolerance * _MOST_OFF:
                right |= {one: _with_error(guessed[one], off) for one in keys}
        return right | checked

    def _search(self, keys: Iterable[_Key]) -> dict[_Key, Repeat]:
        """Searches at both ends of a bracket."""
        tasks = self._tasks
        searches = {
            key: search_near(
                self._first(key),
                Difference(tasks[key[0]].lock_a, tasks[key[0]].lock_b),
                self._axis(key),
            )
            for key in keys
        }
        return self._run(searches, self._costs.run)

    def _run(self, searches: Mapping[_Key, RepeatSearch], evaluate: Evaluate) -> dict[_Key, Repeat]:
        def costs(wanted: Sequence[tuple[_Key, str, int]]) -> Sequence[Point]:
            return evaluate(
                [_cell(self._tasks[key[0]], lock, x, key[2]) for key, lock, x in wanted]
            )

        return find_all(costs, searches)

    def _axis(self, key: _Key) -> Axis:
        return _axis(self._tasks[key[0]])

    def _first(self, key: _Key) -> Crossing:
        return self._found[key[0]].crossings[key[1]]

    def _group(self, key: _Key) -> object:
        """What one check is for: a pair of locks along an axis, on one machine in one flavour."""
        task = self._tasks[key[0]]
        line = task.line
        return line.series, line.machine, line.flavour, line.axis, task.lock_a, task.lock_b

    def _reach(self, key: _Key, repeats: Mapping[_Key, Repeat]) -> tuple[Fraction, Fraction, _Key]:
        """How far a value lies from the nearest one that was looked at, and how far it has moved
        from the first seed's; in tolerances."""
        crossing, tolerance = repeats[key].crossing, self._axis(key).tolerance
        assert crossing is not None
        reach = min(abs(crossing.value - x) for _, x in repeats[key].points)
        return reach / tolerance, abs(crossing.value - self._first(key).value) / tolerance, key


def _two_threads(line: AxisLine) -> bool:
    """Whether a seed says when the cores start and no more. With three threads it says who takes an
    object, too, which is other work."""
    return int(line.setting.get("threads", 3)) <= 2


def _with_error(repeat: Repeat, error: Fraction) -> Repeat:
    assert repeat.crossing is not None
    return replace(repeat, crossing=replace(repeat.crossing, error=error))


def _axis(task: CrossoverTask) -> Axis:
    """The axis of a task, in steps."""
    line = task.line
    low, high = line.limits
    return Axis(low // line.step, high // line.step, line.tolerance // line.step)


def records(searched: Searched, engine: str) -> list[CrossoverRecord]:
    """What is stored of a search: a record a crossing, or one that says who wins throughout."""
    task, found = searched.task, searched.found
    line, step = task.line, task.line.step
    runs = _runs(FIRST_SEED, found.points, step)
    always = {"a_always": found.lock_a, "b_always": found.lock_b}.get(found.verdict, "")
    crossings: Sequence[Crossing | None] = found.crossings or [None]
    kept = []
    for crossing, repeats in zip(crossings, searched.repeats, strict=True):
        first = _seed(FIRST_SEED, crossing, step)
        seeds = (first, *(_seed(seed, one.crossing, step) for seed, one in repeats.items()))
        others = (_runs(seed, one.points, step) for seed, one in repeats.items())
        every = tuple(itertools.chain(runs, *others))
        kept.append(
            CrossoverRecord(
                machine=line.machine, isa=isa_of(line.flavour), flavour=line.flavour,
                engine=engine, workload=line.workload, setting=line.setting, unit=line.unit,
                lock_a=found.lock_a, lock_b=found.lock_b, low=min(task.coarse),
                high=max(task.coarse), tolerance=line.tolerance, axis=line.axis,
                verdict=found.verdict, below=crossing.below if crossing else always,
                value=first.value, bracket_low=first.bracket_low,
                bracket_high=first.bracket_high, runs=every, seeds=seeds,
            )
        )  # fmt: skip
    return kept


def points(runner: Runner, cells: Sequence[Cell], plan: str) -> list[Point]:
    """The cost in core cycles per pair, exactly, of each cell. Raises as `Runner.require` does."""
    return [_point(cell, run) for cell, run in zip(cells, runner.require(cells, plan), strict=True)]


def _point(cell: Cell, run: StoredRun) -> Point:
    if run.metrics.get("charges_stop", 0) > 0 and not cancels(cell.label):
        raise LockcrossError(
            f"lock {cell.lock} stops threads: give it TRAIT_CANCELS in lockimpl/locks.def"
        )
    cycles, pairs = int(run.metrics["core_cycles"]), int(run.metrics["pairs"])
    return Point(Fraction(cycles, pairs), run.id)


def _cell(task: CrossoverTask, lock: str, x: int, seed: int = FIRST_SEED) -> Cell:
    return task.line.cell(lock, x * task.line.step, seed)


def _runs(seed: int, points: Mapping[tuple[str, int], Point], step: int) -> list[CrossoverRun]:
    """Those of the points that were run."""
    return [
        CrossoverRun(point.run_id, seed, lock, x * step, float(point.cost))
        for (lock, x), point in points.items()
        if point.run_id is not None
    ]


def _seed(seed: int, crossing: Crossing | None, step: int) -> CrossoverSeed:
    if crossing is None:
        return CrossoverSeed(seed, None, None, None)
    error = None if crossing.error is None else float(crossing.error * step)
    return CrossoverSeed(
        seed, float(crossing.value * step), crossing.low * step, crossing.high * step, error
    )
