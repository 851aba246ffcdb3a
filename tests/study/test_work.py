"""From which work between two sections on an atomic is free."""

import pytest

from sweeps.accuracy.errors import ATOMIC, NO_ATOMIC, ONE_THREAD, error_of
from sweeps.model.locks import LockLabel
from sweeps.model.machine import load_machine
from sweeps.study.costs import Band, Group
from sweeps.study.work import below_from, free_from
from tests.fakes.cells import cell_of

LOOP = 10  # cycles that the loop takes without a lock


def group(work: int, machine: str = "zen5", **costs: float) -> Group:
    """A setting with this work, with costs beside it: these and those of the loop."""
    keys = {"objects": 1, "first": 100, "critical": 0, "think": work}
    setting = cell_of("", "lock_use", machine=machine, parameters=keys)
    every = {"nop": 0.0, **costs}
    bands = {LockLabel(lock): Band.of([LOOP + work + cost]) for lock, cost in every.items()}
    ordered = dict(sorted(bands.items(), key=lambda pair: pair[1].median))
    return Group(setting, ordered, (), work).beside_work()


def test_what_the_program_takes_without_a_lock_is_taken_off() -> None:
    found = group(100, thin=20, mcs=30)
    assert {label: band.median for label, band in found.costs.items()} == {"thin": 30, "mcs": 40}
    assert found.beside_work() == found


def test_an_atomic_is_free_where_the_lead_over_it_is_a_tie() -> None:
    """The least lead is a share of the cost of a pair with its loop, and without the work."""
    title = load_machine("zen5").title
    share = error_of(True, ONE_THREAD, {ATOMIC, NO_ATOMIC}, title=title).decisive
    assert share is not None
    lead = {0: 45.0, 100: 45 * share / (1 - share), 200: 0.0}  # 30 shares beyond, 15 below
    works = [group(x, j9_flat=5 + more, reservation=5) for x, more in lead.items()]
    assert free_from(works[::-1]) == pytest.approx(100 + 100 * 2 / 3)
    assert free_from(works[:2]) is None


def test_only_an_atomic_that_ships_counts() -> None:
    works = [group(x, thin=5, hotspot_light=45, reservation=5) for x in (0, 100)]
    assert free_from(works) is None
    assert free_from([group(x, thin=5, j9_flat=5, reservation=5) for x in (0, 100)]) == 0


def test_without_locks_of_both_kinds_nothing_is_said() -> None:
    assert free_from([group(x, j9_flat=5, thin=5) for x in (0, 100)]) is None
    assert free_from([]) is None


def test_it_is_the_last_crossing_that_counts() -> None:
    assert below_from([(0, 2), (10, -2), (20, 2), (40, -2)]) == 30
    assert below_from([(0, -1), (10, -2)]) == 0
    assert below_from([(0, -1), (10, 0)]) is None
