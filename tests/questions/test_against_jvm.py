"""tests/java_programs/against_jvm.py: its arithmetic, on samples that are made up."""

import pytest

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
