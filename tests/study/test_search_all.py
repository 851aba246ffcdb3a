"""Searches with several seeds, against costs in closed form."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from sweeps.model.cell import Cell
from sweeps.study.crossings import CrossoverTask, Point, Searched, records, search_all
from sweeps.study.lines import AxisLine
from tests.fakes.cells import cell_of

SEEDS = (2, 3, 4)


def search_for(
    pairs: Sequence[tuple[str, str]], cost: Callable[[Cell], Fraction]
) -> tuple[list[Searched], list[Cell]]:
    """The crossings of pairs along the latency of a CAS, and the cells that are asked for."""
    base = cell_of("nop", "lock_sequence", parameters={}, threads=2)
    values = tuple(map(Fraction, (0, 50, 100, 200)))
    line = AxisLine("axis/cas_latency", base, "cas_latency", values, Fraction(4))
    asked: list[Cell] = []

    def evaluate(cells: Sequence[Cell]) -> list[Point]:
        asked.extend(cells)
        return [Point(cost(cell), len(asked)) for cell in cells]

    return search_all(evaluate, [CrossoverTask(line, *pair) for pair in pairs], SEEDS), asked


def searched(jump: int = 0, dearer: int = 0) -> tuple[list[Searched], list[Cell]]:
    """tasuki meets thin at a CAS of 80, each seed makes it half a cycle dearer, and it costs 2
    cycles more for each that a CAS does. Seed 2 makes it `jump` cycles cheaper besides, seed 3
    `dearer` cycles dearer."""

    def cost(cell: Cell) -> Fraction:
        if cell.lock == "thin":
            return Fraction(160)
        each = Fraction(cell.seed - 1, 2) - jump * (cell.seed == 2) + dearer * (cell.seed == 3)
        return 160 + 2 * (Fraction(cell.cas_latency or 0) - 80) + Fraction(1, 8) + each

    return search_for([("tasuki", "thin")], cost)


def test_each_seed_has_a_crossing_of_its_own_with_runs_at_both_ends_of_its_bracket() -> None:
    for jump in (0, 60):  # within the first seed's bracket or next to it, and far beyond it
        found, asked = searched(jump)
        ((record,),) = [records(one) for one in found]
        exact = [80 - Fraction(1, 16) - Fraction(seed - 1, 4) for seed in (1, *SEEDS)]
        exact[1] += Fraction(jump, 2)
        assert [seed.value for seed in record.seeds] == [float(value) for value in exact]
        run = {(one.seed, one.lock, one.x) for one in record.runs}
        for seed in record.seeds:
            ends = (seed.bracket_low, seed.bracket_high)
            assert {(seed.seed, lock, x) for lock in ("tasuki", "thin") for x in ends} <= run
        assert len(asked) == len(set(asked))


def test_a_seed_without_the_crossing_has_no_value() -> None:
    found, _ = searched(dearer=200)
    ((record,),) = [records(one) for one in found]
    assert [seed.value is None for seed in record.seeds] == [False, False, True, False]


def test_runs_are_shared_between_searches() -> None:
    """A lock that is compared with two others is run once at each value."""

    def cost(cell: Cell) -> Fraction:
        return Fraction(len(cell.lock) * 100 - (cell.cas_latency or 0))

    _, asked = search_for([("tasuki", "thin"), ("tasuki", "mcs")], cost)
    assert len(asked) == len(set(asked))
    assert {replace(cell, lock="") for cell in asked if cell.lock == "mcs"} <= {
        replace(cell, lock="") for cell in asked if cell.lock == "tasuki"
    }
