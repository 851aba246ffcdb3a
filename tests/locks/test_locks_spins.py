"""The locks of the related work and the spin locks beside them, under the engine, where threads
meet however busy the host is."""

import re

import pytest

from sweeps.model.locks import LOCK_ADD, LockLabel, load_locks
from tests.engines.test_engine import FULL_FENCE
from tests.locks.running import passes, simulated
from tests.locks.test_generated_code import probe, text
from tests.native_build import FLAVOURS, fence_kinds

LOCKS = ("dekker", "asym_spin3", "mcs", "ticket", "cilk_the", "meta", "relaxed", "to_lock")
BUILDS = [(n, v, f) for n in LOCKS for v in FLAVOURS for f in fence_kinds(n, v)]


@pytest.mark.parametrize(("lock", "flavour", "fence"), BUILDS)
def test_contended(lock: str, flavour: str, fence: str) -> None:
    """Without work Dekker's threads meet in step: a livelock would show as the limit."""
    limit = {"max_instructions": 10_000_000}
    label = LockLabel.of(lock, fence=fence)
    for threads in sorted({2, min(4, load_locks()[lock].threads or 4)}):
        for critical, think in ((0, 0), (5, 20)):
            keys = {"threads": threads, "iterations": 100, "critical": critical, "think": think}
            result = simulated("threads", label, flavour, limit, **keys).result
            assert (result["ok"], result["pairs"]) == (True, threads * 100)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_dekkers_turn_goes_from_hand_to_hand(flavour: str) -> None:
    """Two threads that always want the lock have it by turns, so they end together; as the figure
    has it, who has the line goes on, and ends long before the other."""

    def apart(label: str) -> float:
        keys = {"threads": 2, "iterations": 200, "critical": 5, "think": 0}
        ends = simulated("threads", label, flavour, **keys).cycles
        return (max(ends) - min(ends)) / max(ends)

    assert apart("dekker:turn") < 0.02 < apart("dekker")


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_known_frequent_locker_makes_no_cas(flavour: str) -> None:
    """Each thread creates a queue; unless it is known, its owner is who comes first, by a CAS."""

    def won(label: str, peek_every: int) -> int:
        keys = {"iterations": 40, "peek_every": peek_every, "critical": 0, "think": 0}
        found = simulated("run_queues", label, flavour, threads=2, **keys)
        return found.total("cas", "won")

    of_runtime = won("asym_spin3:known", 0)
    assert won("asym_spin3", 0) == of_runtime + 2
    assert won("asym_spin3:known", 10) >= of_runtime + 8  # looks; a CAS may be given back


# Of 20 objects, 12 rounds in turns of three, T T T S S S T T T S S S: CAS of T, of S; other atomics
# of each; full fences of T, of S (the second pair: where an atomic is no fence). 120 acquisitions
# each, 60 of each thread's 120 in its first turn; S takes over 20 objects twice, T once.
COUNTS = {
    "dekker": ((0, 0), 0, (120, 120), (120, 120)),
    "asym_spin3": ((20, 120), 0, (120, 0), (120, 120)),  # T owns
    "mcs": ((120, 120), 120, (0, 0), (0, 0)),
    "ticket": ((0, 0), 120, (0, 0), (0, 0)),
    "cilk_the": ((20, 120), 0, (120, 120), (120, 120)),  # T is the worker, S enters L
    "meta": ((240, 240), 0, (0, 0), (0, 0)),
    "relaxed": ((120, 120), 0, (0, 0), (0, 0)),
    # First acquisitions and migrations: 40 each, behind which the owner's fence is not needed.
    "to_lock": ((40, 40), 0, (80, 80), (120, 120)),
}


@pytest.mark.parametrize("flavour", ["lock", "lse"])
@pytest.mark.parametrize("lock", LOCKS)
def test_atomics_and_fences_of_taking_turns(lock: str, flavour: str) -> None:
    kind = FULL_FENCE[flavour].removeprefix("fence_")

    def counts(name: str) -> list[tuple[int, int, int]]:
        found = simulated("rounds", name, flavour, threads=2, objects=20, rounds=12)
        assert found.total("cas", "lost") == 0
        return [(core["cas"]["won"], core["rmw"], core["fences"][kind]) for core in found.cores]

    cas, rmw, fences, weak_fences = COUNTS[lock]
    of_runtime = counts("nop")
    expected = zip(cas, fences if flavour == "lock" else weak_fences, of_runtime, strict=True)
    assert counts(lock) == [
        (won + base[0], rmw + base[1], fence + base[2]) for won, fence, base in expected
    ]


@pytest.mark.parametrize("lock", ["dekker", "asym_spin3", "cilk_the", "to_lock"])
def test_a_locked_addition_stands_between_the_own_flag_and_the_others(lock: str) -> None:
    """The one fence that herd7 cannot judge: the access before it stores, the next one loads."""
    code = [text(one) for one in probe("acquire", "lock", lock, LOCK_ADD)]
    fences = [at for at, shown in enumerate(code) if shown == "lock addl $0x0,(%rsp)"]
    assert fences
    for at in fences:
        before, behind = (
            [shown for shown in part if re.fullmatch(r"(?!lea).*\(%\w+.*", shown)]
            for part in (code[:at], code[at + 1 :])
        )
        assert re.fullmatch(r"(mov\w* .*,|lock .*,|xchg .*,).*\)", before[-1]), before[-1]
        assert re.fullmatch(r"mov .*\),%\w+", behind[0]), behind[0]


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_stranded_monitor_is_found_out(flavour: str) -> None:
    for threads in (2, 4):
        passes("stranding", "relaxed", flavour, threads=threads, iterations=4)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_successor_that_has_lost_its_claim_is_not_let_in(flavour: str) -> None:
    """The owner's byte is full while it waits: inflated, deflated, and another comes first."""
    for fence in fence_kinds("to_lock", flavour):
        label = LockLabel.of("to_lock", fence=fence)
        passes("overtaking", label, flavour, threads=3, cores=1, slice=0, iterations=20)
