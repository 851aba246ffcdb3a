"""The arithmetic of tests/java_programs: against_jvm.py and owners.py, on samples made up."""

import pytest

from sweeps.model.machine import load_machine
from tests.java_programs import owners
from tests.java_programs.against_jvm import measured_difference, predicted_difference

ADVICE = {
    "locks": [{"label": "hotspot_stack/rmw", "cost": 40.0}, {"label": "biased/rmw", "cost": 10.0}],
    "contended": None,
    "error": {"low": 0.5, "high": 1.5},
}


@pytest.mark.parametrize(("size", "cut"), [(2, 0), (5, 0), (8, 0), (9, 1), (12, 2), (40, 13)])
def test_the_interval_of_a_median_leaves_out_what_chance_may(size: int, cut: int) -> None:
    """By the tables of the sign test at 5 %, both sides; below six values none is left out."""
    pairs = [(1.0, 1.0 + number) for number in range(1, size + 1)]
    value, low, high = measured_difference(pairs, 10**9)
    assert (value, low, high) == ((size + 1) / 2, 1 + cut, size - cut)


def test_a_prediction_is_the_difference_of_the_costs_and_of_their_ends() -> None:
    found = predicted_difference(ADVICE, "biased", "hotspot_stack", 2000)
    assert found == (15, (20 - 15) / 2, (60 - 5) / 2)
    assert predicted_difference(ADVICE, "hotspot_stack", "biased", 2000).value == -15
    half = ADVICE | {"contended": {"share": 0.5}, "error": None}
    assert predicted_difference(half, "biased", "hotspot_stack", 2000) == (7.5, 7.5, 7.5)


def test_a_prediction_of_owners_has_the_ends_of_a_cancellation() -> None:
    biased, stack = (dict(row) for row in reversed(ADVICE["locks"]))
    advice = {"locks": [biased | {"cancelling": [5.0, 90.0]}, stack | {"cancelling": None}]}
    own = 300 * 16 * 22  # acquisitions of what is handed over
    assert owners.predicted(advice, 2000, own) == (-15, -17.5, 25)
    assert owners.predicted(advice, 2000, 2 * own) == (-30, -35, 50)
    advice["locks"][0]["cancelling"] = None
    assert owners.predicted(advice, 2000, own) == (-15, -15, -15)


@pytest.mark.parametrize("cpus", [2, 16])
def test_what_runs_costs_what_it_does_with_so_many_cpus(
    cpus: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: cpus)
    zen4 = load_machine("zen4")
    running = zen4.charges.figure("stop_running")
    states = {"running": 0.25, "untold": 0.25, "blocked": 0.5, "ended": 0.0}
    stop = running.interval[1] if cpus == 2 else running.number
    blocked = zen4.charges.number("stop_blocked")
    assert owners.here(zen4, states) == round(stop / 2 + blocked / 2)
    assert running.interval[1] > running.number
