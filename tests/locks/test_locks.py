"""Every lock on every ISA, and in every variant and every fence kind, with threads that really run
at the same time: QEMU, no engine."""

import json
import os
import platform
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sweeps.engines.qemu.engine import find_qemu
from sweeps.model.cell import unsupported_reason
from sweeps.model.isa import ISAS
from sweeps.model.locks import LockLabel, Trait, load_locks
from sweeps.model.workloads import WORKLOADS
from sweeps.programs import TARGETS, USUAL_THREADS, Builder, Program
from tests.commands import lockcross
from tests.engines.test_engine import Options, execute, invoke
from tests.fakes.cells import cell_of
from tests.locks.running import bare, passes, program_of, simulated
from tests.native_build import (
    FLAVOURS,
    all_variants,
    build_kernel,
    build_native,
    fence_kinds,
    one_instruction_at_a_time,
    run,
    sampled,
)

LABELS = [
    (name, variant)
    for name, lock in load_locks().items()
    for variant in ("", *lock.variants[1:])
    if name != "nop"
]
DEFLATING = [
    (LockLabel.of(lock, fence=fence), flavour)
    for lock, flavour, fence in all_variants()
    if lock in ("tasuki", "reservation", "asym_tasuki") and fence != "store_forward"
]
RESERVATION = load_locks()["reservation"]
BY_SIGNAL = [one for one in RESERVATION.variants if RESERVATION.has(Trait.BY_SIGNAL, one)]
BROKEN = ("-iquote", "tests/native/broken")


@pytest.mark.parametrize("flavour", ["lock", "larx", "lse"])
def test_every_kernel_builds_without_a_warning(flavour: str) -> None:
    programs = [
        Program(name, lock, "full", flavour, scheduled=workload.needs_cores)
        for name, workload in WORKLOADS.items()
        for lock in workload.locks or ("tasuki",)
    ]
    assert len(Builder().build(programs)) == len(programs)


def conformance_programs(lock: str, variant: str) -> Iterator[Program]:
    for flavour in FLAVOURS:
        for fence in fence_kinds(lock, flavour) if not variant else ("full",):
            if sampled(lock, variant, fence, flavour):
                yield Program("conformance", lock, fence, flavour, variant=variant)


def conformance_threads(program: Program) -> Iterable[int]:
    """As many as there may be, up to four; of variants, one too: some are another lock then."""
    most = min(4, load_locks()[program.lock].threads or 4)
    axes = {name: getattr(program, name) for name in ("flavour", "fence", "variant")}
    wanted = (1, most) if program.variant else (most,)
    cells = (cell_of(program.lock, "conformance", threads=number, **axes) for number in wanted)
    return [cell.threads for cell in cells if not unsupported_reason(cell)] or [1]


@pytest.mark.parametrize(("lock", "variant"), LABELS)
def test_conformance(lock: str, variant: str) -> None:
    """With store forwarding threads share one CPU. Not every x86-64 processor holds the wide load
    back until the store is in the cache (lockimpl/README.md), so all but that is tested here."""
    for program, binary in Builder().build(conformance_programs(lock, variant)).items():
        one_cpu = {min(os.sched_getaffinity(0))} if program.fence == "store_forward" else None
        for threads in conformance_threads(program):
            keys = {"threads": threads, "iterations": 1, "seed": threads}
            outcome = run(binary.path, program.flavour, cpus=one_cpu, **keys)
            assert (outcome.code, outcome.result["error"]) == (0, ""), (program, threads)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_calibrate_and_sharing(flavour: str) -> None:
    for workload, keys, pairs in (
        ("calibrate", {"iterations": 100}, 100),
        ("sharing", {"threads": 2, "rounds": 3, "times": 7}, 21),
    ):
        binary = build_kernel(workload, "nop", flavour, "full")
        for op in WORKLOADS[workload].keys["op"].choices:
            outcome = run(binary, flavour, op=op, **keys)
            assert (outcome.code, outcome.result["pairs"]) == (0, pairs), op


@pytest.mark.parametrize("stores", WORKLOADS["micro"].keys["stores"].choices)
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_micro(flavour: str, stores: str) -> None:
    """Every operation comes to the result that it should; a fence that there is not is refused."""
    binary = build_kernel("micro", "nop", flavour, "full")
    fences = len(ISAS[TARGETS[flavour].isa].fences)
    for op in WORKLOADS["micro"].keys["op"].choices:
        outcome = run(binary, flavour, op=op, stores=stores, kib=4, iterations=50)
        if op.startswith("fence_") and op[-1].isdigit() and int(op[-1]) >= fences:
            assert (outcome.code, "fewer fences" in outcome.stderr) == (2, True)
        else:
            assert (outcome.code, outcome.result["pairs"]) == (0, 50), (op, outcome)
    outcome = run(binary, flavour, op="chase", kib=2048, iterations=1)
    assert "takes the host itself" in outcome.stderr


@pytest.mark.parametrize(("label", "flavour"), DEFLATING)
def test_deflation_keeps_the_owner(label: str, flavour: str) -> None:
    for threads in (2, 3):
        passes("transitions", label, flavour, threads=threads, iterations=20)


@pytest.mark.parametrize(
    ("label", "flavour"), [one for one in DEFLATING if one[0].lock == "asym_tasuki"]
)
def test_store_then_load_is_in_order(label: str, flavour: str) -> None:
    """QEMU alone: both threads run at the same moment, and neither gives its CPU up."""
    alone = (find_qemu(TARGETS[flavour].isa).path,)
    passes("store_load", label, flavour, launcher=alone, threads=2, iterations=2)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_no_lock_is_caught(flavour: str, tmp_path: Path) -> None:
    """The self-checks notice a missing lock: the nop lock passes neither kernel."""
    outcome = bare("conformance", "nop", flavour, iterations=1)
    assert (outcome.code, outcome.result["ok"]) == (1, False)
    assert outcome.result["error"] == "a release by a non-holder succeeded"
    # Under the engine, where threads run at the same time however busy the host is.
    keys: Options = {"threads": 4, "iterations": 50, "critical": 20, "think": 0}
    done = invoke(program_of("threads", "nop", flavour), keys, {}, tmp_path / "report.json")
    noticed = "two threads were in one critical section", "the protected counter is wrong"
    assert done.returncode == 1 and json.loads(done.stdout)["error"] in noticed


# What the kernel says of a lock with one defect; empty: it waits for ever.
DEFECTS = {
    "EXCLUSION": r"a release by the holder did not succeed|two threads .*|the protected counter .*",
    "RECURSION": r"a release by the holder did not succeed",
    "OVERFLOW": r"a release by the holder did not succeed",
    "HOLDER": r"a release by a non-holder succeeded",
    "WAKE_UP": "",
    "MISC": r"misc bits of a lock word were changed",
    "WAITER": r"a wait by a non-holder succeeded",
    "PATIENCE": r"a wait ended before its turn",
    "DEPTH": r"a release by the holder did not succeed",
    "ORDER": r"a wait ended before its turn",
    "NOTIFY": r"a wait ended before its turn",
    "NOTIFY_ALL": "",
}


@pytest.mark.parametrize("defect", ["", *DEFECTS])
def test_conformance_catches_a_broken_lock(defect: str, tmp_path: Path) -> None:
    """Under the engine, where a thread that waits for ever is seen at a limit of instructions."""
    registry = ("traits=TRAIT_JAVA", "fence_kinds=1", "max_threads=0", "extra_words=0")
    options = [f"-DBROKEN_{defect}=1", *(f"-Dbroken_{entry}" for entry in registry)]
    binary = build_native("broken", "broken", "lock", "full", *BROKEN, *options)
    threads = 3 if not defect or defect in ("ORDER", "NOTIFY", "NOTIFY_ALL") else 2
    arguments: Options = {"threads": threads, "iterations": 1}
    limit: Options = {"max_instructions": 10_000_000}
    done = execute(binary, "lock", arguments, limit, tmp_path / "report.json")
    found = json.loads(done.stdout)["error"] if done.stdout else ""
    said = DEFECTS.get(defect, "")
    assert done.returncode == (0 if not defect else 1 if said else 3)
    assert re.fullmatch(said, found), found


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("variant", BY_SIGNAL)
def test_a_cancellation_takes_the_owner_out_of_its_unsafe_region(
    variant: str, flavour: str
) -> None:
    """One instruction at a time the signal arrives anywhere; on the host as it happens. The same
    program without the repair shows that it does arrive in unsafe regions."""
    emulator = find_qemu(TARGETS[flavour].isa).path
    stepping = (emulator, one_instruction_at_a_time(emulator))
    on_the_host = [()] if platform.machine() == TARGETS[flavour].isa else []
    for launcher in ((emulator,), stepping, *on_the_host):
        label = f"reservation:{variant}"
        passes("restart", label, flavour, launcher=launcher, threads=2, iterations=100)
    broken = build_native("restart", "reservation", flavour, "full", *BROKEN, variant=variant)
    assert run(broken, flavour, launcher=stepping, threads=2, iterations=1000).code == 1


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_an_owner_has_no_atomics(flavour: str) -> None:
    """Ten objects, three rounds: ten reservations, in every variant; and where the creator has the
    reservation, none."""

    def atomics(label: str) -> int:
        found = simulated("rounds", label, flavour, threads=2, objects=10, rounds=3)
        owner = found.cores[0]
        return int(owner["cas"]["won"] + owner["rmw"])

    others = atomics("reservation:creator")
    labels = ["reservation", *(f"reservation:{variant}" for variant in BY_SIGNAL)]
    assert [atomics(label) - others for label in labels] == [10] * 4


@pytest.mark.parametrize("variant", BY_SIGNAL)
def test_a_simulated_run_says_that_the_handshake_stands_in(variant: str) -> None:
    chosen = ("--lock", "reservation", "--variant", variant, "--workload", "rounds")
    done = lockcross("run", *chosen, "--threads", "2", "objects=2", "rounds=6")
    assert done.returncode == 0, done.stderr
    assert f"cancellation: handshake stands in for {variant}" in done.stdout


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"iterations": 5, "colour": 1}, "unknown key"),
        ({}, "must be given"),
        ({"iterations": "x"}, "not a whole number"),
        ({"iterations": ""}, "the value is missing"),
        ({"iterations": 0}, "too small"),
        ({"iterations": 2**64}, "too large"),
        ({"iterations": 5, "threads": USUAL_THREADS + 1}, "too large"),
        ({"iterations": 5, "marker": "loud"}, "not one of the allowed words"),
    ],
)
def test_bad_arguments(flavour: str, arguments: dict[str, Any], reason: str) -> None:
    outcome = bare("sync", "thin", flavour, **arguments)
    assert (outcome.code, outcome.result, outcome.stderr.count("\n")) == (2, {}, 1)
    assert reason in outcome.stderr
