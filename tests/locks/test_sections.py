"""Declared properties of sections: elided, io_spin, lifted, revocable, and their workloads."""

import pytest

from tests.locks.running import Simulated, bare, passes, simulated
from tests.native_build import EACH_ISA


def puts(label: str, flavour: str, **keys: int | str) -> Simulated:
    usual = {"threads": 1, "iterations": 1000, "mode": "single", "stream": "file"}
    return simulated("io_put", label, flavour, **usual | keys)


@pytest.mark.parametrize("flavour", EACH_ISA)
@pytest.mark.parametrize(
    ("name", "lock", "threads"),
    [
        ("revocation", "revocable", 3),  # what is rolled back, and what is not
        ("lifting", "lifted", 1),  # what is in a handler, and what a throw releases
        ("elision", "elided", 1),  # the empty functions
        ("elision", "elided", 3),  # the real ones
    ],
)
def test_from_inside(name: str, lock: str, threads: int, flavour: str) -> None:
    passes(name, lock, flavour, threads=threads)


@pytest.mark.parametrize("flavour", EACH_ISA)
@pytest.mark.parametrize("blocks", ["lock", "own_handler"])
@pytest.mark.parametrize("label", ["lifted", "lifted:explicit", "thin"])
def test_blocks_that_throw(label: str, blocks: str, flavour: str) -> None:
    """Also with more monitors than a handler has room for."""
    keys = {"threads": 2, "locks": 5, "throw_every": 3, "iterations": 20}
    outcome = bare("structured", label, flavour, test="throw", blocks=blocks, **keys)
    assert (outcome.code, outcome.result["error"], outcome.result["pairs"]) == (0, "", 200)


@pytest.mark.parametrize("flavour", EACH_ISA)
def test_elision_pays_for_one_thread(flavour: str) -> None:
    """The order of Serrano and Grande's first table: no lock, an empty function, a mutex."""
    none, elided, mutex = (
        max(puts(label, flavour, stream="socket").cycles) for label in ("nop", "elided", "io_spin")
    )
    assert none < elided < mutex


@pytest.mark.parametrize("flavour", EACH_ISA)
def test_glibc_leaves_out_atomics_while_there_is_one_thread(flavour: str) -> None:
    """And no more: it stores to the lock word all the same."""
    two = {"threads": 2, "mode": "multi"}
    alone = puts("elided:glibc", flavour).cores[-1]
    assert alone["cas"] == {"won": 0, "lost": 0} and alone["rmw"] == 0
    assert alone["stores"] >= puts("nop", flavour).cores[-1]["stores"] + 2 * 1000
    glibc, elided = (
        puts(label, flavour, **two).cores[-1]["cas"]["won"] for label in ("elided:glibc", "elided")
    )
    assert glibc == elided >= 2 * 1000


@pytest.mark.parametrize("flavour", EACH_ISA)
def test_short_sections_spin_and_others_park(flavour: str) -> None:
    short, explicit = (
        max(puts("io_spin", flavour, threads=2, mode=mode).cycles) for mode in ("multi", "flock")
    )
    assert short < explicit
    for stream, parks in (("file", False), ("socket", True)):
        keys = {"threads": 4, "iterations": 200, "mode": "multi", "stream": stream}
        found = puts("io_spin", flavour, **keys)
        assert (found.total("charges", "park") > 0) == parks


@pytest.mark.parametrize("flavour", EACH_ISA)
def test_a_handler_a_block_costs_more_than_lifting(flavour: str) -> None:
    """Figure 2: lifted blocks cost as much as explicit locking where they cannot throw, push and
    pop where they can, and less than a handler each."""

    def cycles(label: str, **keys: int | str) -> int:
        usual = {"threads": 1, "iterations": 1000, "locks": 2, "blocks": "lock"}
        return max(simulated("structured", label, flavour, **usual | keys).cycles)

    throws: dict[str, int | str] = {"test": "throw", "throw_every": 1000}
    sync = cycles("lifted", test="sync", throw_every=0)
    explicit = cycles("lifted:explicit", test="sync", throw_every=0)
    throw = cycles("lifted", **throws)
    own_handler = cycles("lifted:explicit", blocks="own_handler", **throws)
    assert sync == pytest.approx(explicit, rel=0.03)
    assert sync < throw < own_handler


MIX = {"threads": 5, "high": 2, "run_queue": "round_robin"}


@pytest.mark.parametrize("flavour", EACH_ISA)
@pytest.mark.parametrize("label", ["revocable", "revocable:unmodified"])
def test_roll_backs_leave_no_trace(label: str, flavour: str) -> None:
    """The sum over all writes is right, though threads are switched inside sections."""
    keys = MIX | {"sections": 6, "high_iterations": 500, "low_iterations": 10000}
    keys |= {"writes": 700_000, "pause": 2000, "slice": 20_000}
    for cores in (1, 2):
        outcome = bare("priority_mix", label, flavour, cores=cores, **keys)
        assert (outcome.code, outcome.result["error"], outcome.result["pairs"]) == (0, "", 30)
        assert label == "revocable" or outcome.result["extra"]["roll_backs"] == 0


@pytest.mark.parametrize("flavour", EACH_ISA)
def test_roll_back_is_for_high_priorities(flavour: str) -> None:
    """On one core all threads together pay for the gain of high-priority threads."""
    keys = MIX | {"sections": 8, "high_iterations": 200, "low_iterations": 1000}
    keys |= {"cores": 1, "writes": 500_000, "pause": 4000, "slice": 16_000}
    revocable, unmodified = (
        simulated("priority_mix", label, flavour, **keys).extra
        for label in ("revocable", "revocable:unmodified")
    )
    assert revocable["roll_backs"] > 0
    assert unmodified["roll_backs"] == 0
    assert revocable["high_elapsed"] < unmodified["high_elapsed"]
    assert revocable["elapsed"] > unmodified["elapsed"]
