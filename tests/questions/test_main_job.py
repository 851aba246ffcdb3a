"""The searches against the main job's costs from when every value of its axes was run, and every
crossing bisected with every seed (tests/reference/main_job.json): what two locks cost at each value
that was looked at, by seed. Between these values the costs are taken as straight lines; over run
lengths those of a whole run are.
"""

import json
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import pytest

from results.paths import ROOT
from results.store.records import CrossoverRecord
from sweeps.model.cell import Cell
from sweeps.plans.study import load_study
from sweeps.questions.crossover.study import StudyCells
from sweeps.search.lines import AxisLine
from sweeps.search.searches import CrossoverTask, Point, records, search_all

PLAN = load_study("crossover")
STORED = json.loads((ROOT / "tests" / "reference" / "main_job.json").read_text("utf-8"))
SEEDS = range(1, 1 + PLAN.seeds)


@dataclass
class Search:
    """Two locks along a line: who is cheaper below and where each seed has the crossing (value,
    bracket; or None), for each crossing; and by seed the costs of both, by value."""

    line: AxisLine
    locks: tuple[str, str]
    verdict: str
    crossings: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    costs: dict[int, dict[float, tuple[float, float]]] = field(default_factory=dict)

    def cost(self, lock: str, at: float, seed: int) -> Fraction:
        """Along straight lines, the outer ones carried on."""
        known = {Fraction(str(value)): both for value, both in self.costs[seed].items()}
        x, place = Fraction(str(at)), self.locks.index(lock)
        xs = sorted(known)
        if len(xs) == 1:
            return Fraction(known[xs[0]][place])
        upper = min(max(bisect(xs, x), 1), len(xs) - 1)
        low, high = xs[upper - 1], xs[upper]
        weight = {v: v if self.line.axis == "run_length" else 1 for v in (low, high, x)}
        ends = [Fraction(known[v][place]) * weight[v] for v in (low, high)]
        return (ends[0] + (ends[1] - ends[0]) * (x - low) / (high - low)) / weight[x]


def line_of(series: str, axis: str, held: dict[str, int]) -> AxisLine:
    """A line of the plan."""
    *kind, machine, _, flavour = series.split("/")
    cells = StudyCells(PLAN, machine, flavour)
    if kind == ["run_length"]:
        lines = cells.run_length_lines()
        return next(line for line in lines if line.base.cancel_latency == held["cancel_latency"])
    return next(line for line in cells.axis_lines() if line.axis == axis)


def searches(kind: str) -> list[Search]:
    """Those of the series of a kind."""
    found: dict[str, Search] = {}
    for series, axis, held, a, b, verdict, below, _, seeds, costs in STORED["crossovers"]:
        if series.split("/")[0] == kind:
            one = found.setdefault(
                json.dumps([series, held, a, b]),
                Search(line_of(series, axis, held), (a, b), verdict),
            )
            one.crossings.append((below, seeds))
            for seed, rows in costs.items():
                one.costs.setdefault(int(seed), {}).update({x: (p, q) for x, p, q in rows})
    return list(found.values())


def search_again(kept: Sequence[Search]) -> tuple[list[list[CrossoverRecord]], int]:
    """The records of each search, and how many values were asked for."""
    asked = set()

    def evaluate(cells: Sequence[Cell]) -> list[Point]:
        found = []
        for cell in cells:
            number, x = int(cell.machine), cell.parameters["x"]
            asked.add((number, cell.label, x, cell.seed))
            found.append(Point(kept[number].cost(cell.label, x, cell.seed), 0))
        return found

    def task(number: int, one: Search) -> CrossoverTask:
        base = replace(one.line.base, machine=str(number), parameters={})

        def move(cell: Cell, _: str, x: float) -> Cell:
            return replace(cell, parameters={"x": x})

        return CrossoverTask(replace(one.line, base=base, move=move), *one.locks, one.line.values)

    tasks = [task(number, one) for number, one in enumerate(kept)]
    return [records(one) for one in search_all(evaluate, tasks, SEEDS[1:])], len(asked)


@pytest.mark.parametrize("kind", ["axis", "run_length"])
def test_every_crossover_of_the_main_job_stays_in_its_bracket_and_band(kind: str) -> None:
    kept = searches(kind)
    found, asked = search_again(kept)
    assert asked < 0.8 * sum(2 * len(xs) for one in kept for xs in one.costs.values())
    for one, rows in zip(kept, found, strict=True):
        assert [row.below for row in rows] == [below for below, _ in one.crossings]
        for row, (_, seeds) in zip(rows, one.crossings, strict=True):
            assert row.verdict == one.verdict
            for seed in row.seeds:
                before = seeds[str(seed.seed)]
                if before is None:
                    assert seed.value is None
                    continue
                value, low, high = before
                assert seed.value == pytest.approx(value, abs=one.line.own(one.line.tolerance) / 4)
                if seed.seed == 1:
                    assert low <= seed.value <= high
                if one.line.unit in ("share", "threads"):  # only values that were tried are shown
                    assert seed.bracket_high == high
