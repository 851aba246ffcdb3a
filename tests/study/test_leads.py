"""The one rule of leads and ties, at its borders."""

from dataclasses import replace

import pytest

from sweeps.accuracy.errors import ATOMIC, EngineError, error_of, kind_of
from sweeps.model.cell import usual
from sweeps.model.locks import LockLabel
from sweeps.study.leads import Lead, Rule, Win

X, Y, Z = map(LockLabel, "xyz")


def known(least: float | None) -> EngineError | None:
    """An engine's error whose leads are reliable from a share on; 1: none is."""
    if least is None:
        return None
    error = error_of(True, "one thread", {ATOMIC})
    return replace(error, decisive=None if least == 1 else least)


@pytest.mark.parametrize(
    ("cost", "next_cost", "least", "verdict"),
    [
        (98.0, 100.0, None, ""),  # 2 % of the dearer one: just a lead
        (98.01, 100.0, None, "tie"),
        (100.0, 102.0, None, "tie"),  # 2 % of the cheaper one alone
        (98.0, 100.0, 0.01, "reliable"),
        (80.0, 100.0, 0.2, "reliable"),
        (80.1, 100.0, 0.2, "tie"),
        (1.0, 100.0, 1.0, "tie"),  # no lead is known to be reliable
        (0.0, 0.0, None, "tie"),
        (-2.0, -1.0, None, "tie"),  # beside work that hides all of it
    ],
)
def test_a_lead_is_a_share_of_the_next_cost(
    cost: float, next_cost: float, least: float | None, verdict: str
) -> None:
    lead = Lead(cost, next_cost, 0.02, known(least))
    assert ("tie" if lead.is_tie else "reliable" if lead.right else "") == verdict


def test_costs_of_seeds_that_meet_are_a_tie() -> None:
    rule, costs = Rule(lambda *_: None), {X: 10.0, Y: 20.0}
    assert rule.winner(costs, {X: (9.0, 15.0), Y: (15.0, 21.0)}).tied == (Y,)
    assert not rule.winner(costs, {X: (9.0, 14.9), Y: (15.0, 21.0)}).tied


def test_the_winner_names_the_next_one_and_those_that_it_ties_with() -> None:
    def rule(tie: float) -> Rule:
        return Rule(lambda *_: None, tie)

    assert rule(0.0).winner({X: 10.0, Y: 12.5, Z: 30.0}) == Win(X, 10.0, Y, 2.5)
    assert rule(0.0).winner({X: 10.0, Y: 12.5}).lead == 0.2
    assert rule(0.021).winner({X: 9.9, Y: 10.0, Z: 9.7}).tied == (X,)
    assert rule(0.04).winner({X: 9.9, Y: 10.0, Z: 9.7}).tied == (X, Y)
    assert rule(0.0).winner({X: 1.0, Y: 1.0}).tied == (Y,)
    errors = {(X, Y): known(0.5), (X, Z): None}
    win = Rule(lambda *pair: errors[pair]).winner({X: 6.0, Y: 10.0, Z: 10.0})
    assert (win.tied, win.words) == ((Y,), "in a tie with y")


def test_the_error_is_that_of_the_core_the_work_and_the_locks() -> None:
    setting = usual("zen5", "lock", "sync", {})
    thin, tasuki = LockLabel("thin"), LockLabel("tasuki")
    assert kind_of(thin) == kind_of(tasuki) == ATOMIC
    expected = error_of(True, "one thread", {ATOMIC}, title="Zen 5 server (Turin)")
    assert Rule.of(setting).known(thin, tasuki) == expected
    win = Rule.of(setting).winner({thin: 10.0, tasuki: 90.0})
    assert win.words == f"reliable: {expected.reliability(80 / 90).words}"
    for engine, cores in (("native", None), ("qemu", 1)):
        rule = Rule.of(usual("zen5", "lock", "sync", {}, engine=engine, cores=cores))
        assert rule.known(thin, tasuki) is None
        assert rule.winner({thin: 10.0, tasuki: 90.0}).words == "reliability unknown"
