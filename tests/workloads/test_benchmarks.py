"""The benchmarks of the sources force the intended events: counts of the engine, exactly."""

import itertools
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sweeps.engines.qemu.engine import own_options
from sweeps.model.cell import unsupported_reason
from sweeps.model.machine import STOPS
from sweeps.model.workloads import WORKLOADS, Share, with_defaults
from sweeps.model.workloads import unsupported_reason as workload_unsupported_reason
from sweeps.programs import TARGETS, Program
from sweeps.study.plan import load_plan
from tests.engines.test_engine import Options, invoke, run
from tests.native_build import EACH_ISA, FLAVOURS, build_kernel
from tests.native_build import run as run_natively

SHORT: dict[str, tuple[dict[str, Any], int]] = {  # arguments, pairs
    "multi_sync": ({"threads": 1, "objects": 5, "iterations": 20}, 100),
    "call": ({"threads": 2, "iterations": 50}, 100),
    "call_sync": ({"threads": 2, "iterations": 50}, 100),
    "nested_call_sync": ({"threads": 2, "iterations": 50}, 102),
    "primitive": (
        {"threads": 2, "objects": 4, "iterations": 9, "state": "flat", "level": "recursive"}, 40,
    ),
    "transition": ({"threads": 2, "objects": 10, "owner": "running"}, 50),
    "long_locker": ({"threads": 3, "hold": 1000}, 3),
    "flat_fat": ({"threads": 3, "iterations": 20, "sections": 4}, 240),
    "thrashing": ({"threads": 2, "iterations": 20, "hold": 100}, 40),
    "fat_sections": ({"threads": 2, "sections": 3, "flat": 5, "fat": 4, "hold": 100}, 32),
    "lock_trace": ({"threads": 2, "sequence": "0x12,1x3,0x5/1x2", "objects": 3}, 42),
    "lock_mix": (
        {"threads": 3, "objects": 10, "acquisitions": 1003, "owner_share": 600000,
         "return_share": 100000, "recursive": 200000, "shared_objects": 4}, 1003,
    ),
}  # fmt: skip


# A lock that parks, on every instruction set; one that cancels, and one that spins.
@pytest.mark.parametrize(
    ("lock", "flavour"),
    [*(("tasuki", isa) for isa in EACH_ISA), ("reservation", "lock"), ("cas_spin", "lock")],
)
@pytest.mark.parametrize("workload", SHORT)
def test_benchmarks_verify_themselves(workload: str, lock: str, flavour: str) -> None:
    arguments, pairs = SHORT[workload]
    outcome = run_natively(build_kernel(workload, lock, flavour, "full"), flavour, **arguments)
    assert (outcome.code, outcome.result["error"]) == (0, "")
    assert outcome.result["pairs"] == pairs


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_an_object_of_multi_sync_is_as_long_as_in_the_source(flavour: str) -> None:
    """A header of three words and an integer: 16 bytes, and no line of its own."""
    binary = build_kernel("multi_sync", "thin", flavour, "full")
    command = [TARGETS[flavour].binutils + "nm", "-S", str(binary)]
    table = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    (size,) = (int(line.split()[1], 16) for line in table.splitlines() if line.endswith(" objects"))
    assert size == 16 * WORKLOADS["multi_sync"].keys["objects"].high


def total(document: dict[str, Any], table: str, kind: str) -> int:
    return sum(core[table].get(kind, 0) for core in document["cores"])


def atomics_by_phase(document: dict[str, Any]) -> list[int]:
    """Compare-and-swaps that won in each phase whose beginning and end one core reports."""
    marks = sorted(document["phases"], key=lambda mark: int(mark["phase"]))
    return [
        end["cas"]["won"] - begin["cas"]["won"]
        for begin, end in itertools.pairwise(marks)
        if begin["core"] == end["core"]
    ]


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
    lock: str, state: str, level: str, atomics: list[int], tmp_path: Path
) -> None:
    arguments: Options = {
        "threads": 2,
        "objects": 4,
        "iterations": 10,
        "state": state,
        "level": level,
    }
    document = run(Program("primitive", lock, "full", "lock"), arguments, {}, tmp_path)
    pair, acquisition, release = atomics
    assert atomics_by_phase(document) == [40 * pair, 4 * acquisition, 4 * release]


OWNERS = {"waiting": "blocked", "running": "running", "parked": "blocked", "ended": "ended"}


@pytest.mark.parametrize("owner", OWNERS)
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_transition_cancels_every_reservation_once(
    flavour: str, owner: str, tmp_path: Path
) -> None:
    """Each revocation takes as long as stopping an owner in that state, and no other figure."""
    arguments: Options = {"threads": 2, "objects": 30, "owner": owner}
    costs = []
    for stop in (1000, 2000):
        program = Program("transition", "reservation", "full", flavour)
        options = dict.fromkeys([f"charge_{name}" for name in STOPS], 500)
        options[f"charge_stop_{OWNERS[owner]}"] = stop
        document = run(program, arguments, options, tmp_path)
        (first, second) = (core["charges"] for core in document["cores"])
        assert (first["stop"], second["stop"]) == (0, 30)
        assert second.get(f"stop_{OWNERS[owner]}", second["stop"]) == 30
        starts = {mark["phase"]: mark["cycle"] for mark in document["phases"]}
        costs.append((starts[5] - starts[4]) - (starts[6] - starts[5]))
        # First acquisitions have the one atomic that makes a reservation specific.
        assert atomics_by_phase(document)[:2] == [30, 0]
    if owner != "running":  # which takes an answer, from a loop that is anywhere
        assert costs[1] - costs[0] == 30 * 1000
    assert costs[1] - costs[0] == pytest.approx(30 * 1000, rel=0.02)
    assert costs[0] > 30 * 1000


@pytest.mark.parametrize("lock", ["reservation", "biased"])
def test_the_owners_state_is_told_to_its_lock(lock: str, tmp_path: Path) -> None:
    program = Program("transition", lock, "full", "lock")
    for owner, state in OWNERS.items():
        arguments: Options = {"threads": 2, "objects": 8, "owner": owner}
        charges = run(program, arguments, {}, tmp_path)["cores"][1]["charges"]
        told = {name: charges[name] for name in ("stop_blocked", "stop_ended") if name in charges}
        assert charges["stop"] == 8
        assert told == ({} if state == "running" else {f"stop_{state}": 8})


def test_an_owner_at_a_turn_waits(tmp_path: Path) -> None:
    arguments: Options = {"threads": 2, "objects": 8, "rounds": 12}
    document = run(Program("rounds", "reservation", "full", "lock"), arguments, {}, tmp_path)
    assert total(document, "charges", "stop_blocked") == total(document, "charges", "stop") == 8


def test_transition_without_transitions_costs_what_acquiring_costs(tmp_path: Path) -> None:
    program = Program("transition", "tasuki", "full", "lock")
    arguments: Options = {"threads": 2, "objects": 30, "owner": "waiting"}
    document = run(program, arguments, {}, tmp_path)
    starts = {mark["phase"]: mark["cycle"] for mark in document["phases"]}
    for known, new in ((2, 1), (5, 4)):
        difference = (starts[new + 1] - starts[new]) - (starts[known + 1] - starts[known])
        assert abs(difference) < 30  # a cycle an object: caches and branches are warm


@pytest.mark.parametrize("lock", ["tasuki", "reservation", "asym_tasuki"])
def test_thrashing_inflates_in_every_iteration(lock: str, tmp_path: Path) -> None:
    """A lock that was deflated is found flat and held, and a contender parks until it is released;
    the thin lock's first contender spins, and finds it inflated from then on."""
    arguments: Options = {"threads": 2, "iterations": 12, "hold": 2000}  # longer than a stop
    parks = {
        name: total(
            run(Program("thrashing", name, "full", "lock"), arguments, {}, tmp_path),
            "charges",
            "park",
        )
        for name in (lock, "thin")
    }
    assert parks == {lock: 12, "thin": 11}


@pytest.mark.parametrize(
    ("lock", "inflated", "inflations", "deflations"),
    [("tasuki", 3 * 3, 3, 3), ("thin", 32 - 5 - 1, 1, 0), ("cas_spin", 0, 0, 0)],
)
def test_fat_sections_count_modes(
    lock: str, inflated: int, inflations: int, deflations: int, tmp_path: Path
) -> None:
    """Tasuki is flat again behind each fat section; thin is not, from the first contender on."""
    arguments: Options = {"threads": 2, "sections": 3, "flat": 5, "fat": 4, "hold": 2000}
    done = invoke(
        Program("fat_sections", lock, "full", "lock"), arguments, {}, tmp_path / "report.json"
    )
    extra = json.loads(done.stdout)["extra"]
    counted = [extra[name] for name in ("inflated", "inflations", "deflations")]
    assert counted == [inflated, inflations, deflations]


def test_a_holder_does_not_wait_for_ever_for_a_release_that_needs_the_lock(tmp_path: Path) -> None:
    """The second thread has inflated the lock while the first is in its release, which then has to
    enter the monitor."""
    arguments: Options = {"threads": 2, "sections": 2, "flat": 10, "fat": 3, "hold": 100}
    options = dict(own_options("generic", "x86_64"))
    fat = Program("fat_sections", "reservation", "full", "lock")
    done = invoke(fat, arguments, options, tmp_path / "report.json")
    assert (done.returncode, json.loads(done.stdout)["pairs"]) == (0, 2 * (10 + 3) + 10)


def test_flat_sections_cost_the_same_after_contention_only_with_deflation(tmp_path: Path) -> None:
    arguments: Options = {"threads": 4, "iterations": 20, "sections": 4}
    for lock, later in (("tasuki", 80), ("thin", 160)):  # a monitor has two atomics a pair
        document = run(Program("flat_fat", lock, "full", "lock"), arguments, {}, tmp_path)
        first, _, third = atomics_by_phase(document)
        assert (first, third) == (80, later)


def test_long_locker_holds_the_lock_all_the_time(tmp_path: Path) -> None:
    """Waiters with cores of their own take nothing from the holder, whether they spin or park."""
    for lock, parks in (("tasuki", 3), ("cas_spin", 0)):
        document = run(
            Program("long_locker", lock, "full", "lock"),
            {"threads": 4, "hold": 20000},
            {},
            tmp_path,
        )
        assert total(document, "charges", "park") >= parks
        starts = {mark["phase"]: mark["cycle"] for mark in document["phases"]}
        assert 20000 < starts[2] - starts[1] < 20000 * 8


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
def test_lock_mix_has_the_hits_asked_for(
    threads: int, lock: str, won: int, stops: int, tmp_path: Path
) -> None:
    arguments: Options = {
        "threads": threads,
        "objects": 10,
        "acquisitions": 1000,
        "owner_share": 600000,
        "return_share": 100000,
        "recursive": 200000,
        "shared_objects": 4,
    }
    document = run(Program("lock_mix", lock, "full", "lock"), arguments, {}, tmp_path)
    assert (total(document, "cas", "won"), total(document, "cas", "lost")) == (won, 0)
    assert total(document, "charges", "stop") == stops


def test_lock_trace_replays_its_sequences(tmp_path: Path) -> None:
    """Two objects of 0x12,1x3,0x5, one of 1x2: the owner hits until another thread comes."""
    arguments: Options = {"threads": 2, "sequence": "0x12,1x3,0x5/1x2", "objects": 3}
    document = run(Program("lock_trace", "reservation", "full", "lock"), arguments, {}, tmp_path)
    assert [core["charges"]["stop"] for core in document["cores"]] == [0, 2]
    assert total(document, "cas", "won") == 3 + 2 * (2 + 3 + 5)
    assert [mark["phase"] for mark in document["phases"]] == [1, 2, 3]


@pytest.mark.parametrize(
    "sequence", ["", "0x", "0x0", "x3", "0x3,", "0x3;1x2", "2x1", "0x99999999999", "0x1/"]
)
def test_a_faulty_sequence_is_refused(sequence: str) -> None:
    outcome = run_natively(
        build_kernel("lock_trace", "thin", "lock", "full"),
        "lock",
        sequence=sequence,
        objects=1,
        threads=2,
    )
    assert outcome.code == 2
    assert "sequence" in outcome.stderr
    key = WORKLOADS["lock_trace"].keys["sequence"]
    assert key.invalid_reason(sequence) or workload_unsupported_reason(
        "lock_trace", "thin", 2, None, with_defaults("lock_trace", {"sequence": sequence})
    )


MIX = {
    "objects": 10,
    "acquisitions": 1000,
    "owner_share": 600000,
    "return_share": 0,
    "recursive": 0,
    "shared_objects": 4,
    "owners": 0,
    "critical": 0,
    "think": 0,
}


@pytest.mark.parametrize(
    ("changes", "threads", "reason"),
    [
        ({}, 2, ""),
        ({"owner_share": 1000001}, 2, ""),
        ({"recursive": 500000}, 2, "recursive are more than 1"),
        ({"shared_objects": 11}, 2, "more than"),
        ({}, 1, "threads"),
        ({"owners": 3}, 2, "threads"),
        ({"owner_share": 5000}, 2, "less than one acquisition"),
        ({"shared_objects": 0}, 2, "does not go with"),
        ({"owner_share": 999000}, 2, "does not go with"),
    ],
)
def test_the_driver_refuses_the_mixes_that_the_program_refuses(
    changes: dict[str, int], threads: int, reason: str
) -> None:
    arguments: dict[str, Any] = MIX | changes
    keys = WORKLOADS["lock_mix"].keys
    given = {  # as users give them
        name: value / key.parts if isinstance(key := keys[name], Share) else value
        for name, value in arguments.items()
    }
    wrong = [name for name, value in given.items() if keys[name].invalid_reason(value)]
    refusal = wrong or workload_unsupported_reason("lock_mix", "thin", threads, None, given)
    assert reason in str(refusal)
    binary = build_kernel("lock_mix", "thin", "lock", "full")
    outcome = run_natively(binary, "lock", threads=threads, **arguments)
    assert (outcome.code == 2) == bool(refusal)
    assert reason in outcome.stderr


def test_the_small_plan_has_every_benchmark() -> None:
    cells = load_plan("small").cells
    no_benchmarks = {
        "conformance", "calibrate", "transfer", "micro", "sharing", "interrupts", "footprint",
    }  # fmt: skip
    assert {cell.workload for cell in cells} == set(WORKLOADS) - no_benchmarks
    assert all(
        "state inflated needs a lock with wait" in why
        for why in map(unsupported_reason, cells)
        if why
    )
