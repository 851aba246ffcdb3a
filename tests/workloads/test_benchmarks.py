"""The benchmarks of the sources force the intended events: counts of the engine, exactly."""

import itertools
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from sweeps.engines.qemu.engine import own_options
from sweeps.model.cell import unsupported_reason
from sweeps.model.machine import STOPS
from sweeps.model.workloads import WORKLOADS
from sweeps.programs import TARGETS
from sweeps.study.plan import load_plan
from tests.locks.running import Simulated, bare, simulated
from tests.native_build import EACH_ISA, FLAVOURS, build_kernel

RUNS = tomllib.loads(Path(__file__).with_name("short_runs.toml").read_text(encoding="utf-8"))
KERNELS: dict[str, dict[str, Any]] = RUNS["kernels"]
BENCHMARKS: dict[str, dict[str, Any]] = RUNS["benchmarks"]
SHORT = KERNELS | BENCHMARKS


# A lock that parks, on every instruction set; one that cancels, one asymmetric and one that spins.
@pytest.mark.parametrize(
    ("workload", "lock", "flavour"),
    [
        *((workload, "tasuki", flavour) for workload in SHORT for flavour in EACH_ISA),
        *((workload, "reservation", "lock") for workload in SHORT),
        *((workload, "asym_tasuki", "lock") for workload in KERNELS),
        *((workload, "cas_spin", "lock") for workload in BENCHMARKS),
    ],
)
def test_programs_verify_themselves(workload: str, lock: str, flavour: str) -> None:
    arguments = dict(SHORT[workload])
    expected = {"lock": lock, "flavour": flavour, "fence": "full", "error": ""}
    expected["pairs"] = arguments.pop("pairs")
    outcome = bare(workload, lock, flavour, **arguments)
    assert (outcome.code, {key: outcome.result[key] for key in expected}) == (0, expected)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_an_object_of_multi_sync_is_as_long_as_in_the_source(flavour: str) -> None:
    """A header of three words and an integer: 16 bytes, and no line of its own."""
    binary = build_kernel("multi_sync", "thin", flavour, "full")
    command = [TARGETS[flavour].binutils + "nm", "-S", str(binary)]
    table = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    (size,) = (int(line.split()[1], 16) for line in table.splitlines() if line.endswith(" objects"))
    assert size == 16 * WORKLOADS["multi_sync"].keys["objects"].high


def atomics_by_phase(found: Simulated) -> list[int]:
    """Compare-and-swaps that won in each phase whose beginning and end one core reports."""
    marks = sorted(found.report["phases"], key=lambda mark: int(mark["phase"]))
    return [
        end["cas"]["won"] - begin["cas"]["won"]
        for begin, end in itertools.pairwise(marks)
        if begin["core"] == end["core"]
    ]


def phase_lengths(found: Simulated) -> dict[int, int]:
    """Cycles between the mark of each phase and the next one's."""
    starts = {mark["phase"]: mark["cycle"] for mark in found.report["phases"]}
    return {n: starts[n + 1] - start for n, start in starts.items() if n + 1 in starts}


@pytest.mark.parametrize(
    ("lock", "state", "level", "atomics"),
    [
        ("tasuki", "reserved", "outermost", [1, 1, 0]),  # a pair, an acquisition, a release
        ("tasuki", "flat", "recursive", [0, 0, 0]),
        ("tasuki", "inflated", "outermost", [2, 1, 1]),
        ("tasuki", "inflated", "recursive", [0, 0, 0]),
        ("reservation", "reserved", "outermost", [0, 0, 0]),
        ("reservation", "reserved", "recursive", [0, 0, 0]),
        ("reservation", "flat", "outermost", [1, 1, 0]),
        ("reservation", "flat", "recursive", [0, 0, 0]),
        ("reservation", "foreign", "outermost", [1, 1, 0]),
        ("reservation", "inflated", "outermost", [2, 1, 1]),
        ("asym_tasuki", "reserved", "outermost", [0, 0, 0]),
        ("asym_tasuki", "flat", "outermost", [0, 0, 0]),
        ("asym_tasuki", "foreign", "outermost", [1, 1, 0]),
        ("thin", "inflated", "outermost", [2, 1, 1]),
    ],
)
def test_primitive_is_in_the_state_asked_for(
    lock: str, state: str, level: str, atomics: list[int]
) -> None:
    keys = {"threads": 2, "objects": 4, "iterations": 10}
    found = simulated("primitive", lock, state=state, level=level, **keys)
    pair, acquisition, release = atomics
    assert atomics_by_phase(found) == [40 * pair, 4 * acquisition, 4 * release]


OWNERS = {"waiting": "blocked", "running": "running", "parked": "blocked", "ended": "ended"}


@pytest.mark.parametrize("owner", OWNERS)
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_transition_cancels_every_reservation_once(flavour: str, owner: str) -> None:
    """Each revocation takes as long as stopping an owner in that state, and no other figure."""
    keys: dict[str, int | str] = {"threads": 2, "objects": 30, "owner": owner}
    costs = []
    for stop in (1000, 2000):
        options = dict.fromkeys([f"charge_{name}" for name in STOPS], 500)
        options[f"charge_stop_{OWNERS[owner]}"] = stop
        found = simulated("transition", "reservation", flavour, options, **keys)
        first, second = (core["charges"] for core in found.cores)
        assert (first["stop"], second["stop"]) == (0, 30)
        assert second.get(f"stop_{OWNERS[owner]}", second["stop"]) == 30
        lengths = phase_lengths(found)
        costs.append(lengths[4] - lengths[5])
        # First acquisitions have the one atomic that makes a reservation specific.
        assert atomics_by_phase(found)[:2] == [30, 0]
    if owner != "running":  # which takes an answer, from a loop that is anywhere
        assert costs[1] - costs[0] == 30 * 1000
    assert costs[1] - costs[0] == pytest.approx(30 * 1000, rel=0.02)
    assert costs[0] > 30 * 1000


def test_the_owners_state_is_told_to_its_lock() -> None:
    for owner, state in OWNERS.items():
        found = simulated("transition", "biased", threads=2, objects=8, owner=owner)
        charges = found.cores[1]["charges"]
        told = {name: charges[name] for name in ("stop_blocked", "stop_ended") if name in charges}
        assert charges["stop"] == 8
        assert told == ({} if state == "running" else {f"stop_{state}": 8})


def test_an_owner_at_a_turn_waits() -> None:
    found = simulated("rounds", "reservation", threads=2, objects=8, rounds=12)
    assert found.total("charges", "stop_blocked") == found.total("charges", "stop") == 8


def test_transition_without_transitions_costs_what_acquiring_costs() -> None:
    found = simulated("transition", "tasuki", threads=2, objects=30, owner="waiting")
    lengths = phase_lengths(found)
    for known, new in ((2, 1), (5, 4)):
        assert abs(lengths[new] - lengths[known]) < 30  # a cycle an object: all is warm


@pytest.mark.parametrize(
    ("lock", "parks"), [("tasuki", 12), ("reservation", 12), ("asym_tasuki", 12), ("thin", 11)]
)
def test_thrashing_inflates_in_every_iteration(lock: str, parks: int) -> None:
    """A lock that was deflated is found flat and held, and a contender parks until it is released;
    the thin lock's first contender spins, and finds it inflated from then on."""
    keys = {"threads": 2, "iterations": 12, "hold": 2000}  # longer than a stop
    assert simulated("thrashing", lock, **keys).total("charges", "park") == parks


@pytest.mark.parametrize(
    ("lock", "inflated", "inflations", "deflations"),
    [("tasuki", 3 * 3, 3, 3), ("thin", 32 - 5 - 1, 1, 0), ("cas_spin", 0, 0, 0)],
)
def test_fat_sections_count_modes(
    lock: str, inflated: int, inflations: int, deflations: int
) -> None:
    """Tasuki is flat again behind each fat section; thin is not, from the first contender on."""
    keys = {"threads": 2, "sections": 3, "flat": 5, "fat": 4, "hold": 2000}
    extra = simulated("fat_sections", lock, **keys).extra
    counted = [extra[name] for name in ("inflated", "inflations", "deflations")]
    assert counted == [inflated, inflations, deflations]


def test_a_holder_does_not_wait_for_ever_for_a_release_that_needs_the_lock() -> None:
    """The second inflates the lock while the first is in its release, which enters the monitor."""
    keys = {"threads": 2, "sections": 2, "flat": 10, "fat": 3, "hold": 100}
    options = own_options("generic", "x86_64")
    found = simulated("fat_sections", "reservation", options=options, **keys)
    assert found.result["pairs"] == 2 * (10 + 3) + 10


def test_flat_sections_cost_the_same_after_contention_only_with_deflation() -> None:
    for lock, later in (("tasuki", 80), ("thin", 160)):  # a monitor has two atomics a pair
        found = simulated("flat_fat", lock, threads=4, iterations=20, sections=4)
        first, _, third = atomics_by_phase(found)
        assert (first, third) == (80, later)


def test_long_locker_holds_the_lock_all_the_time() -> None:
    """Waiters with cores of their own take nothing from the holder, whether they spin or park."""
    for lock, parks in (("tasuki", 3), ("cas_spin", 0)):
        found = simulated("long_locker", lock, threads=4, hold=20000)
        assert found.total("charges", "park") >= parks
        assert 20000 < phase_lengths(found)[1] < 20000 * 8


@pytest.mark.parametrize(
    ("lock", "won", "stops"),
    [
        # Of 1,000: 600 hits, 100 returns, 200 nested, 100 by others; 10 objects, 4 shared.
        ("tasuki", 800, 0),
        ("reservation", 10 + 100 + 100 + 2 * 4, 4),  # two a cancellation: requester and word
        ("asym_tasuki", 10 + 100, 0),
    ],
)
@pytest.mark.parametrize("threads", [2, 3])
def test_lock_mix_has_the_hits_asked_for(threads: int, lock: str, won: int, stops: int) -> None:
    keys = {"acquisitions": 1000, "objects": 10, "shared_objects": 4}
    keys |= {"owner_share": 600_000, "return_share": 100_000, "recursive": 200_000}
    found = simulated("lock_mix", lock, threads=threads, **keys)
    assert (found.total("cas", "won"), found.total("cas", "lost")) == (won, 0)
    assert found.total("charges", "stop") == stops


def test_lock_trace_replays_its_sequences() -> None:
    """Two objects of 0x12,1x3,0x5, one of 1x2: the owner hits until another thread comes."""
    keys = {"threads": 2, "sequence": "0x12,1x3,0x5/1x2", "objects": 3}
    found = simulated("lock_trace", "reservation", **keys)
    assert [core["charges"]["stop"] for core in found.cores] == [0, 2]
    assert found.total("cas", "won") == 3 + 2 * (2 + 3 + 5)
    assert [mark["phase"] for mark in found.report["phases"]] == [1, 2, 3]


def test_the_small_plan_has_every_benchmark() -> None:
    cells = load_plan("small").cells
    others = "conformance calibrate transfer micro sharing interrupts footprint".split()
    assert {cell.workload for cell in cells} == set(WORKLOADS) - set(others)
    for cell in cells:
        why = unsupported_reason(cell)
        assert not why or "state inflated needs a lock with wait" in why
