"""The crossover search against cost functions whose crossings are known."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeps.study.crossings import (
    Crossing,
    Crossover,
    Difference,
    Point,
    Precision,
    Repeat,
    RepeatSearch,
    Search,
    check_throughout,
    find_all,
    search,
    search_near,
)
from tests.fakes.searching import find_crossover

Cost = Callable[[Fraction], Fraction]


def evaluator(a: Cost, b: Cost) -> Callable[[Sequence[Any]], list[Point]]:
    """Answers the costs of two locks, whatever comes with a lock and its value."""
    costs = {"a": a, "b": b}

    def evaluate(wanted: Sequence[Any]) -> list[Point]:
        assert wanted
        return [Point(costs[lock](x), 1) for *_, lock, x in wanted]

    return evaluate


def run(a: Cost, b: Cost, low: int, high: int, tolerance: int, **kwargs: bool) -> Crossover:
    return find_crossover(evaluator(a, b), "a", "b", low, high, tolerance, **kwargs)


def driven(started: Search | RepeatSearch, a: Cost, b: Cost) -> Any:
    """What a single search finds."""
    return find_all(evaluator(a, b), {None: started})[None]


@settings(deadline=None)
@given(st.integers(1, 50), st.integers(1, 50), st.integers(1, 999), st.integers(1, 20))
def test_straight_lines_cross_where_algebra_says(
    slope: int, other: int, crossing: int, tolerance: int
) -> None:
    def line(rise: int) -> Cost:
        return lambda x: Fraction(rise * (x - crossing))

    found = run(line(slope + other), line(other), 0, 1000, tolerance)
    (only,) = found.crossings
    assert only.value == crossing
    assert only.low <= crossing <= only.high <= only.low + tolerance
    assert only.below == "a"
    assert found.verdict == "crosses"


@settings(deadline=None)
@given(st.integers(1, 100), st.integers(3, 97), st.integers(1, 10))
def test_saturating_costs_are_bracketed(scale: int, percent: int, tolerance: int) -> None:
    """a rises towards 100, b is flat at `percent`: equal where 100 x / (x + scale) = percent."""
    exact = Fraction(percent * scale, 100 - percent)
    found = run(
        lambda x: Fraction(100 * x, x + scale), lambda _: Fraction(percent), 0, 4000, tolerance
    )
    (only,) = found.crossings
    assert only.low <= exact <= only.high
    assert only.high - only.low <= tolerance


def test_both_crossings_of_a_valley_are_found() -> None:
    found = run(lambda x: Fraction((x - 500) ** 2), lambda _: Fraction(90_000), 0, 1000, 3)
    assert [c.below for c in found.crossings] == ["b", "a"]
    for crossing, exact in zip(found.crossings, (200, 800), strict=True):
        assert crossing.low <= exact <= crossing.high
        assert abs(crossing.value - exact) < 1


@pytest.mark.parametrize(
    ("a", "b", "verdict"),
    [
        (lambda x: x - 1, Fraction, "a_always"),
        (lambda x: x + 1, Fraction, "b_always"),
        (Fraction, Fraction, "tie"),
        (Fraction, lambda _: Fraction(0), "b_always"),
    ],
    ids=["below", "above", "equal", "touching"],
)
def test_locks_that_never_cross(a: Cost, b: Cost, verdict: str) -> None:
    found = run(a, b, 0, 100, 2)
    assert (found.verdict, found.crossings) == (verdict, ())


def test_a_jump_is_bracketed_to_one_step() -> None:
    found = run(lambda x: Fraction(0 if x < 617 else 1000), lambda _: Fraction(1), 0, 4096, 1)
    (only,) = found.crossings
    assert (only.low, only.high) == (616, 617)


def test_a_stretch_of_equal_costs_is_one_crossing() -> None:
    found = run(lambda x: min(x - 30, 0) + max(x - 70, 0), lambda _: Fraction(0), 0, 100, 2)
    (only,) = found.crossings
    assert 30 <= only.low <= only.value <= only.high <= 70


@settings(deadline=None)
@given(st.integers(200, 50_000), st.integers(5, 200))
def test_break_even_run_length_matches_the_closed_form(cancel: int, saved: int) -> None:
    """The owner saves `saved` cycles in each of R acquisitions; one cancellation costs `cancel`;
    then the other thread makes R more. Equal at R = cancel / saved."""
    base = Fraction(100)
    exact = Fraction(cancel, saved)

    def reserving(r: Fraction) -> Fraction:
        return (r * (base - saved) + cancel + r * base) / (2 * r)

    found = run(reserving, lambda _: base, 1, 100_000, 1, geometric=True)
    if exact <= 1:
        assert found.verdict == "a_always"
        return
    (only,) = found.crossings
    assert only.low <= exact <= only.high <= only.low + 1
    assert only.below == "b"


def test_searches_run_together_in_few_batches() -> None:
    batches = []

    def evaluate(wanted: Sequence[tuple[int, str, Fraction]]) -> list[Point]:
        batches.append(len(wanted))
        return [Point(Fraction(x if lock == "a" else key), 0) for key, lock, x in wanted]

    keys = [11, 37, 73]
    found = find_all(evaluate, {key: search("a", "b", [0, 50, 100], 2) for key in keys})
    assert [found[key].crossings[0].value for key in keys] == keys
    assert batches[0] == 3 * 2 * 3
    assert len(batches) <= 4


def test_no_value_is_asked_for_twice() -> None:
    asked: list[tuple[str, Fraction]] = []

    def evaluate(wanted: Sequence[tuple[str, Fraction]]) -> list[Point]:
        asked.extend(wanted)
        return [Point(Fraction(x**2 if lock == "a" else 5000), 0) for lock, x in wanted]

    find_crossover(evaluate, "a", "b", 0, 1000, 1)
    assert len(asked) == len(set(asked))


@pytest.mark.parametrize(
    ("values", "tolerance", "why"),
    [([0, 10], 0, "tolerance 0"), ([0, 10], -1, "tolerance -1"), ([0], 1, "1 values")],
)
def test_a_search_without_sense_is_refused(values: list[float], tolerance: int, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        driven(search("a", "b", values, tolerance), Fraction, Fraction)


def crossing_at(value: int, either_side: int = 1) -> Crossing:
    """A crossing in the middle of its bracket, a being cheaper below it."""
    middle = Fraction(value)
    return Crossing(middle, middle - either_side, middle + either_side, "a")


def near(first: Crossing, exact: int, limits: tuple[int, int] = (0, 1000)) -> Repeat:
    """A search near a crossing, of costs that cross at `exact`, a being cheaper below it."""
    ends = Fraction(limits[0]), Fraction(limits[1])
    started = search_near(first, Difference("a", "b"), ends, Precision.of(2))
    return driven(started, Fraction, lambda _: Fraction(exact))


@settings(deadline=None)
@given(st.integers(1, 999), st.integers(1, 999))
def test_another_seeds_crossing_is_found_wherever_it_lies(first: int, exact: int) -> None:
    found = near(crossing_at(first), exact)
    assert found.crossing is not None
    assert found.crossing.value == exact
    assert found.crossing.high - found.crossing.low <= 2
    assert found.crossing.below == "a"


def test_a_crossing_that_stays_takes_one_look_at_its_bracket() -> None:
    assert len(near(crossing_at(50), 50).points) == 4
    assert len(near(crossing_at(50, 0), 50).points) == 2


def test_a_seed_may_have_no_crossing() -> None:
    first = crossing_at(50)
    assert near(first, 200, (0, 100)).crossing is None
    assert near(first, -7).crossing is None
    assert near(replace(first, below="b"), 50).crossing is None


def test_costs_that_cross_more_than_once_are_all_found() -> None:
    """As over the number of threads, where each value is other work."""
    lead: dict[float | Fraction, int] = {2: 1, 3: -4, 4: 1, 5: -7, 6: -7, 7: -8, 8: -9}
    started = search("a", "b", [2, 3, 4, 6, 8], 1)
    found = driven(started, lambda x: Fraction(lead[x]), lambda _: Fraction(0))
    assert [(one.low, one.high) for one in found.crossings] == [(2, 3), (3, 4), (4, 5)]


@pytest.mark.parametrize(("dearer", "there"), [(2, None), (3, None), (4, 100)])
def test_a_lock_that_wins_throughout_is_asked_where_it_leads_least(
    dearer: int, there: int | None
) -> None:
    """a leads by 100 at 0 and by 3 at 100; other costs have it `dearer` cycles dearer."""
    found = run(Fraction, lambda x: Fraction(10_000 + 3 * x, 100), 0, 100, 2)
    assert found.verdict == "a_always"

    def again(lock: str) -> Cost:
        return lambda x: found.points[lock, x].cost + dearer * (lock == "a")

    crossing = driven(check_throughout(found), again("a"), again("b")).crossing
    assert (crossing.value if crossing else None) == there


@settings(deadline=None)
@given(st.integers(1, 50), st.integers(1, 50), st.integers(1, 999), st.integers(1, 20))
def test_a_share_is_searched_as_whole_numbers_of_its_steps_are(
    slope: int, other: int, crossing: int, tolerance: int
) -> None:
    """The same costs along 0 to 1000, and along 0 to 1 in thousandths."""

    def a(x: Fraction) -> Fraction:
        return 10 * x + slope * x / (x + other)

    def b(x: Fraction) -> Fraction:
        return 10 * x + Fraction(slope * crossing, crossing + other)

    def along(unit: Fraction) -> Crossover:
        values = [unit * x for x in (0, 250, 500, 1000)]
        started = search("a", "b", values, unit * tolerance, unit)
        return driven(started, lambda x: a(x / unit), lambda x: b(x / unit))

    whole, share = along(Fraction(1)), along(Fraction(1, 1000))
    assert share.points == {(lock, x / 1000): point for (lock, x), point in whole.points.items()}
    assert [one.value * 1000 for one in share.crossings] == [one.value for one in whole.crossings]
