"""The searches of the main job: one a pair of locks and line, then again with the other seeds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from results.analysis.crossover import (
    Crossing,
    Crossover,
    Point,
    Repeat,
    RepeatSearch,
    Search,
    check_throughout,
    find_all,
    search,
    search_near,
)
from results.errors import LockcrossError
from results.model.cell import Cell
from results.store.records import CrossoverRecord, CrossoverRun, CrossoverSeed, StoredRun
from sweeps.execution.runner import Runner
from sweeps.experiments.crossover.cells import FIRST_SEED, AxisLine, isa_of
from sweeps.model.locks import cancels

Evaluate = Callable[[Sequence[Cell]], Sequence[Point]]


@dataclass(frozen=True)
class CrossoverTask:
    """One search: a pair of locks along a line, from the coarse values it starts with."""

    line: AxisLine
    lock_a: str
    lock_b: str
    coarse: tuple[int, ...]

    def search(self) -> Search:
        """The search itself, in steps of the line's unit."""
        step = self.line.step
        return search(
            self.lock_a, self.lock_b, [x // step for x in self.coarse], self.line.tolerance // step
        )


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

    def first(wanted: Sequence[tuple[int, str, int]]) -> Sequence[Point]:
        return evaluate([_cell(tasks[number], lock, x) for number, lock, x in wanted])

    found = find_all(first, {number: task.search() for number, task in enumerate(tasks)})
    again = {
        (number, place, seed): _again(tasks[number], one, crossing)
        for number, one in found.items()
        for place, crossing in enumerate(one.crossings or [None])
        for seed in seeds
        if one.verdict != "tie"
    }

    def other(wanted: Sequence[tuple[tuple[int, int, int], str, int]]) -> Sequence[Point]:
        return evaluate([_cell(tasks[key[0]], lock, x, key[2]) for key, lock, x in wanted])

    repeats = find_all(other, again)
    return [
        Searched(
            task, found[number],
            [{seed: repeats[key] for seed in seeds if (key := (number, place, seed)) in repeats}
             for place in range(len(found[number].crossings) or 1)],
        )
        for number, task in enumerate(tasks)
    ]  # fmt: skip


def records(searched: Searched, engine: str) -> list[CrossoverRecord]:
    """What is stored of a search: a record a crossing, or one that says who wins throughout."""
    task, found = searched.task, searched.found
    line, step = task.line, task.line.step
    runs = tuple(_run(FIRST_SEED, x * step, lock, p) for (lock, x), p in found.points.items())
    always = {"a_always": found.lock_a, "b_always": found.lock_b}.get(found.verdict, "")
    crossings: Sequence[Crossing | None] = found.crossings or [None]
    kept = []
    for crossing, repeats in zip(crossings, searched.repeats, strict=True):
        first = _seed(FIRST_SEED, crossing, step)
        seeds = (first, *(_seed(seed, one.crossing, step) for seed, one in repeats.items()))
        every = runs + tuple(
            _run(seed, x * step, lock, point)
            for seed, one in repeats.items()
            for (lock, x), point in one.points.items()
        )
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


def _again(task: CrossoverTask, found: Crossover, first: Crossing | None) -> RepeatSearch:
    if first is None:
        return check_throughout(found)
    line = task.line
    low, high = line.limits
    return search_near(
        first, task.lock_a, task.lock_b, (low // line.step, high // line.step),
        line.tolerance // line.step,
    )  # fmt: skip


def _run(seed: int, x: int, lock: str, point: Point) -> CrossoverRun:
    return CrossoverRun(point.run_id, seed, lock, x, float(point.cost))


def _seed(seed: int, crossing: Crossing | None, step: int) -> CrossoverSeed:
    if crossing is None:
        return CrossoverSeed(seed, None, None, None)
    return CrossoverSeed(
        seed, float(crossing.value * step), crossing.low * step, crossing.high * step
    )
