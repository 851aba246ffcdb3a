"""The one rule of leads and ties, at its borders."""

import pytest

from sweeps.accuracy.errors import ATOMIC, error_of, kind_of
from sweeps.model.cell import usual
from sweeps.model.locks import LockLabel
from sweeps.study.leads import Lead, Win, error_in, winner

X, Y, Z = map(LockLabel, "xyz")


@pytest.mark.parametrize(
    ("cost", "next_cost", "error", "verdict"),
    [
        (98.0, 100.0, None, ""),  # 2 % of the dearer one: just a lead
        (98.01, 100.0, None, "tie"),
        (100.0, 102.0, None, "tie"),  # 2 % of the cheaper one alone
        (98.0, 100.0, 0.01, "reliable"),
        (80.0, 100.0, 0.2, "reliable"),
        (80.1, 100.0, 0.2, "tie"),
        (1.0, 100.0, 1.0, "tie"),  # no lead is known to be reliable
        (0.0, 0.0, None, "tie"),
    ],
)
def test_a_lead_is_a_share_of_the_next_cost(
    cost: float, next_cost: float, error: float | None, verdict: str
) -> None:
    lead = Lead(cost, next_cost, 0.02, error)
    assert ("tie" if lead.is_tie else "reliable" if lead.is_reliable else "") == verdict


def test_the_error_makes_a_tie_but_no_equal_costs() -> None:
    lead = Lead(90.0, 100.0, 0.02, 0.2)
    assert lead.is_tie and not lead.is_none and lead.margin == 10


def test_the_winner_names_the_next_one_and_those_that_it_ties_with() -> None:
    assert winner({X: 10.0, Y: 12.5, Z: 30.0}) == Win(X, 10.0, Y, 2.5)
    assert winner({X: 10.0, Y: 12.5}).lead == 0.2
    assert winner({X: 9.9, Y: 10.0, Z: 9.7}, tie=0.021).tied == (X,)
    assert winner({X: 9.9, Y: 10.0, Z: 9.7}, tie=0.04).tied == (X, Y)
    assert winner({X: 1.0, Y: 1.0}).tied == (Y,)
    known = {(X, Y): 0.5, (X, Z): None}
    assert winner({X: 6.0, Y: 10.0, Z: 10.0}, 0.02, lambda *pair: known[pair]).tied == (Y,)


def test_the_error_is_that_of_the_core_the_work_and_the_locks() -> None:
    setting = usual("zen5", "lock", "sync", {})
    thin, tasuki = LockLabel("thin"), LockLabel("tasuki")
    assert kind_of(thin) == kind_of(tasuki) == ATOMIC
    title = "Zen 5 server (Turin)"
    expected = error_of(True, "one thread", {ATOMIC}, title=title).decisive
    assert error_in(setting)(thin, tasuki) == expected
    for engine, cores in (("native", None), ("qemu", 1)):
        other = usual("zen5", "lock", "sync", {}, engine=engine, cores=cores)
        assert error_in(other)(thin, tasuki) is None
