"""The cost of a revocation by the state of the owner: options, machines' charges, logs."""

import json
from pathlib import Path

import pytest

from results.errors import LockcrossError
from sweeps.lock_logs.log import Kind
from sweeps.lock_logs.owners import owners
from sweeps.model.machine import FILES, Machine
from sweeps.questions.advise.owner import cancellation, states_of
from tests.commands import lockcross
from tests.lock_logs.test_log import Event, read

OWN = str(Path(__file__).with_name("own_machine.toml"))


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ({"ended": 1.0}, (700, 700, 700)),
        ({"running": 1.0}, (10_000, 1_000, 90_000)),
        ({"running": 0.1, "ended": 0.9}, (1_630, 730, 9_630)),
        # From an owner that is blocked, at its cheapest, to one that runs, at its dearest.
        ({"untold": 1.0}, (10_000, 40, 90_000)),
        ({"blocked": 0.5, "untold": 0.5}, (6_500, 40, 47_500)),
        ({}, (10_000, 40, 90_000)),  # any state
    ],
)
def test_a_cancellation_costs_what_the_owners_states_do(
    states: dict[str, float], expected: tuple[int, int, int]
) -> None:
    found = cancellation(FILES.load(Machine, OWN), states)
    assert (found.cycles, found.low, found.high) == expected


def test_states_are_read() -> None:
    assert states_of("ended") == {"ended": 1}
    assert states_of("running=0.2,blocked=0.8") == {"running": 0.2, "blocked": 0.8}
    for wrong in ("dead", "running,ended", "running=0.5", "running=x", "running=-1,ended=2", ""):
        with pytest.raises(LockcrossError, match=r"--owner") as caught:
            states_of(wrong)
        assert caught.value.exit_code == 2


def test_the_answer_has_both_ends(tmp_path: Path) -> None:
    """One revocation in 22 acquisitions: the cost of stopping a thread, at both ends."""
    line = "advise --locks reservation,thin --owner running --ranking --format json"
    line += " --shared-objects 1 --acquisitions 22 --owner-share 0.909090909 --run-length 2"
    line += " --class-objects 16"
    done = lockcross(line, "--machines", OWN, "--db", str(tmp_path / "a.db"))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    costs = {row["label"]: row for row in found["locks"]}
    low, high = costs["reservation/rmw"]["cancelling"]
    assert high - low == pytest.approx(89_000 / 22, rel=0.01)
    assert costs["thin"]["cancelling"] is None
    (stop,) = (entry for entry in found["inputs"] if entry["name"] == "cancel_latency")
    assert (stop["kind"], stop["low"], stop["high"]) == ("measured", 1_000, 90_000)


def pair(time: int, object: int) -> list[Event]:
    return [(time, Kind.ACQUIRED, object), (time + 1_000, Kind.RELEASE, object)]


@pytest.mark.parametrize(
    ("behind", "state"),
    [
        ([(50_000, Kind.END, 0)], "ended"),
        ([(50_000, Kind.PARK, 0)], "blocked"),
        ([(50_000, Kind.PARK, 0), (60_000, Kind.PARKED, 0)], "untold"),
        ([(50_000, Kind.PARK, 0), (500_000, Kind.PARKED, 0)], "blocked"),
        ([(49_000, Kind.ACQUIRED, 7), (50_000, Kind.WAIT, 7)], "blocked"),
        ([(50_000, Kind.ACQUIRE, 7)], "blocked"),
        ([(98_000, Kind.ACQUIRED, 7), (104_000, Kind.RELEASE, 7)], "running"),
        ([(98_000, Kind.ACQUIRED, 7), (140_000, Kind.RELEASE, 7)], "untold"),
        ([(50_000, Kind.END, 0), *pair(52_000, 7)], "ended"),  # its group's monitor
        ([(200_000, Kind.END, 0)], "untold"),
    ],
)
def test_a_log_says_in_which_state_an_owner_is(
    behind: list[Event], state: str, tmp_path: Path
) -> None:
    """Its thread has object 5 first, and another one comes at 100 us."""
    other = [*pair(100_000, 5), *pair(200_000, 5)]
    found = owners(read(tmp_path, [*pair(10_000, 5), *behind], other))
    assert found == {"running": 0, "blocked": 0, "ended": 0, "untold": 0} | {state: 1}


def test_of_objects_that_stay_with_their_thread_nothing_is_said(tmp_path: Path) -> None:
    assert owners(read(tmp_path, pair(10_000, 5), pair(20_000, 6))) == {}
