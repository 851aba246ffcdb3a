"""Winner maps from some points: against costs in closed form, and against those of every point of
the main job (tests/reference/main_job.json)."""

import itertools
import json
from collections.abc import Callable, Sequence
from fractions import Fraction

import pytest

from results.paths import ROOT
from sweeps.model.cell import Cell
from sweeps.model.locks import FULL, LockLabel
from sweeps.plans.study import load_study
from sweeps.questions.crossover.study import MapCosts, StudyCells, measure_maps
from sweeps.search.searches import Point
from sweeps.study.leads import winner

# With the kinds of fence that the kept costs have.
PLAN = load_study("crossover").model_copy(update={"fence_kinds": ["rmw", "store_forward"]})
TIE = PLAN.tie_percent / 100
Cost = Callable[[Cell], float]


def measured(cost: Cost, flavour: str = "larx", machine: str = "generic") -> MapCosts:
    def evaluate(cells: Sequence[Cell]) -> list[Point]:
        return [Point(Fraction(cost(cell)), 0) for cell in cells]

    made = MapCosts(StudyCells(PLAN, machine, flavour))
    measure_maps([made], evaluate)
    return made


def plane(cell: Cell) -> float:
    """Costs that are bilinear in both latencies."""
    cas, fence = cell.cas_latency or 0, cell.fence_latency or 0
    return {
        "thin": 30.0 + cas,
        "tasuki": 40.0 + cas + fence,
        "asym_tasuki": 50.0 + 2 * fence,
        "reservation": 90 + fence / 4 + cas * fence / 1000,
    }[cell.lock]


def test_what_is_bilinear_is_exact_everywhere() -> None:
    found = measured(plane)
    assert found.check().worst == pytest.approx(0, abs=1e-12) and found.check().wrong == 0
    for place, costs in found.costs.items():
        for label, cost in costs.items():
            assert cost == pytest.approx(plane(found.cell((label, place))))


def test_only_nodes_checks_and_near_ties_are_run() -> None:
    found = measured(plane)
    first, every = set(found.first_keys()), itertools.product(found.costs[0, 0], found.costs)
    assert len(first) == 4 * (9 + len(found.check_places))
    more = {key for key in every if found.is_run(key)} - first
    assert {label for label, _ in more} >= {"tasuki", "asym_tasuki"}  # where cas = fence + 10
    for label, place in more:
        costs = {lock: cost for lock, cost in found.costs[place].items() if lock.lock != "thin"}
        assert costs[label] * (1 - TIE) < min(costs.values())
    assert len(found.cells) < len(found.costs) * 4 / 2


def test_a_lock_that_the_model_does_not_fit_is_run_at_every_point() -> None:
    def bent(cell: Cell) -> float:
        dear = cell.lock == "reservation" and 20 < (cell.cas_latency or 0) < 150
        return plane(cell) * (1.05 if dear else 1)

    found = measured(bent)
    runs = {
        label: sum(found.is_run((LockLabel(label), place)) for place in found.costs)
        for label in ("reservation", "thin")
    }
    assert runs["reservation"] == len(found.costs) > 2 * runs["thin"]
    for place, costs in found.costs.items():
        label = LockLabel("reservation")
        assert costs[label] == pytest.approx(bent(found.cell((label, place))))


def test_a_point_is_run_once_for_all_latencies_that_a_lock_never_pays() -> None:
    found = measured(lambda cell: plane(cell) + 5 * (cell.fence != FULL), "lock")
    assert all(
        found.is_run((LockLabel("tasuki/rmw"), (0, fence))) for fence in PLAN.map.fence_latency
    )


STORED = json.loads((ROOT / "tests" / "reference" / "main_job.json").read_text("utf-8"))["maps"]


@pytest.mark.parametrize("name", STORED)
def test_the_model_names_the_winners_that_every_point_of_the_main_job_has(name: str) -> None:
    """On no map is there another winner than with all of its points run, nor another tie, nor is a
    cost further off than half a tie."""
    machine, _, flavour = name.split("/")
    every = STORED[name]

    def stored(cell: Cell) -> float:
        fence = (
            0 if cell.fence_latency is None else PLAN.map.fence_latency.index(cell.fence_latency)
        )
        assert cell.cas_latency is not None
        return float(every[cell.label][fence][PLAN.map.cas_latency.index(cell.cas_latency)])

    found = measured(stored, flavour, machine)
    assert len(found.cells) < sum(len(rows) * len(rows[0]) for rows in every.values()) / 2
    for place, costs in found.costs.items():
        exact = {label: stored(found.cell((label, place))) for label in costs}
        for label, cost in costs.items():
            assert cost == pytest.approx(exact[label], rel=TIE / 2)
        for kinds in (True, False):
            contests = [
                winner(
                    {
                        one: cost
                        for one, cost in known.items()
                        if one.lock in PLAN.locks and (kinds or one.fence == FULL)
                    },
                    TIE,
                )
                for known in (costs, exact)
            ]
            assert contests[0].lock == contests[1].lock
            assert contests[0].tied == contests[1].tied
