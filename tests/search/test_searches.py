"""Searches with several seeds, against costs in closed form: what follows from one pair of runs,
and what is searched because the check fails."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from sweeps.model.cell import Cell
from sweeps.search.lines import AxisLine
from sweeps.search.searches import CrossoverTask, Point, Searched, records, search_all

SEEDS = (2, 3, 4)


def line(flavour: str, axis: str = "cas_latency", threads: int = 2) -> AxisLine:
    """Values are those of a CAS, whatever the axis is called."""
    base = Cell(
        machine="generic",
        isa="x86_64",
        flavour=flavour,
        lock="nop",
        workload="lock_sequence",
        parameters={},
        threads=threads,
    )
    return AxisLine(
        f"axis/{axis}",
        base,
        axis,
        (0, 50, 100, 200),
        4,
        move=lambda cell, _, x: replace(cell, cas_latency=x),
    )


def searched(
    slope: str = "2", axis: str = "cas_latency", threads: int = 2, far: int = 0
) -> tuple[list[Searched], list[Cell]]:
    """tasuki meets thin at 80; each seed makes it half a cycle dearer. It costs 2 cycles more for
    each that a CAS does, with seed 4 so many as `slope` says. Seed 2 makes it `far` cycles cheaper
    besides."""
    asked: list[Cell] = []

    def evaluate(cells: Sequence[Cell]) -> list[Point]:
        asked.extend(cells)
        return [Point(cost(one), len(asked)) for one in cells]

    def cost(one: Cell) -> Fraction:
        x = one.cas_latency or 0
        if one.lock == "thin":
            return Fraction(160)
        each = Fraction(slope) if one.seed == 4 else 2
        moved = far if one.seed == 2 else 0
        return 160 + each * (x - 80) + Fraction(one.seed - 1, 2) + Fraction(1, 8) - moved

    tasks = [CrossoverTask(line("lock", axis, threads), "tasuki", "thin", (0, 50, 100, 200))]
    return search_all(evaluate, tasks, SEEDS), asked


def errors(found: Sequence[Searched]) -> dict[int, float | None]:
    ((record,),) = [records(one) for one in found]
    return {seed.seed: seed.error for seed in record.seeds}


def test_seeds_that_shift_a_crossing_take_one_pair_each_and_a_check() -> None:
    found, asked = searched()
    assert errors(found) == {1: None, 2: 0, 3: 0, 4: None}  # the fourth moves it most: the check
    assert [len([one for one in asked if one.seed == seed]) for seed in SEEDS] == [2, 2, 4]
    ((record,),) = [records(one) for one in found]
    exact = [80 - Fraction(1, 16) - Fraction(seed - 1, 4) for seed in (1, *SEEDS)]
    assert [seed.value for seed in record.seeds] == [float(value) for value in exact]


def test_all_are_searched_where_the_check_fails() -> None:
    found, asked = searched("2/5")
    assert errors(found) == dict.fromkeys((1, *SEEDS))
    assert len(asked) == len(set(asked))  # what was known is not asked for again


def test_a_model_that_is_a_little_off_says_by_how_much() -> None:
    found, _ = searched("3/2")
    assert errors(found) == {1: None, 2: (off := errors(found)[2]), 3: off, 4: None}
    assert off is not None and 0 < off < 1  # a quarter of the tolerance


def test_threads_are_always_searched() -> None:
    for found, _ in (searched(axis="threads"), searched(threads=3)):
        assert errors(found) == dict.fromkeys((1, *SEEDS))


def test_the_value_that_rests_on_the_slope_most_is_checked() -> None:
    """Seed 2 has moved most, but a second pair of runs lies beside it; seed 4's own slope shows."""
    found, _ = searched("1/2", far=40)
    assert errors(found)[4] is None
