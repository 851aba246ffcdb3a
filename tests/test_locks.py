"""Every lock, on every ISA and flavour, in every fence kind, with threads that really run at the
same time: bare QEMU, no engine."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from sweeps.build import Program
from sweeps.locks import load_locks
from sweeps.workloads import WORKLOADS
from tests.native_build import (
    FLAVOURS,
    all_variants,
    build_kernel,
    build_native,
    fence_kinds,
    run,
)
from tests.test_engine import Options, invoke

VARIANTS = all_variants()
REAL = [v for v in VARIANTS if v[0] != "null"]
CONCURRENT = [v for v in REAL if v[2] != "store_forward"]
COLLOCATED = [v for v in REAL if v[2] == "store_forward"]
DEFLATING = [v for v in CONCURRENT if v[0] in ("tasuki", "reservation", "asym_tasuki")]
SHORT: dict[str, dict[str, Any]] = {
    "nosync": {"iterations": 50},
    "sync": {"iterations": 50},
    "nested_sync": {"iterations": 50},
    "mixed_sync": {"iterations": 50},
    "threads": {"iterations": 200, "critical": 5, "think": 20},
    "rounds": {"objects": 20, "rounds": 12},
    "lock_sequence": {
        "objects": 20, "runs": 6, "run_length": 5, "owner_share": 300000, "critical": 2, "think": 3,
    },
}  # fmt: skip


@pytest.mark.parametrize(("lock", "flavour", "fence"), VARIANTS)
def test_every_kernel_builds_without_a_warning(lock: str, flavour: str, fence: str) -> None:
    for workload in WORKLOADS:
        assert build_kernel(workload, lock, flavour, fence).stat().st_size > 0


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize(("lock", "flavour", "fence"), CONCURRENT)
def test_conformance(lock: str, flavour: str, fence: str, threads: int) -> None:
    binary = build_kernel("conformance", lock, flavour, fence)
    outcome = run(binary, flavour, threads=threads, iterations=1, seed=threads)
    assert (outcome.code, outcome.result["error"]) == (0, "")


@pytest.mark.parametrize(("lock", "flavour", "fence"), COLLOCATED)
def test_conformance_of_store_forward_on_one_cpu(lock: str, flavour: str, fence: str) -> None:
    """Not every x86-64 processor holds the wide load back until the store is in the cache (see
    lockimpl/README.md), so what is tested here is all but that: threads that share one CPU."""
    binary = build_kernel("conformance", lock, flavour, fence)
    cpu = {min(os.sched_getaffinity(0))}
    for threads in (1, 2):
        outcome = run(binary, flavour, cpus=cpu, threads=threads, iterations=1)
        assert (outcome.code, outcome.result["error"]) == (0, "")


@pytest.mark.parametrize("workload", SHORT)
@pytest.mark.parametrize(("lock", "flavour", "fence"), CONCURRENT)
def test_kernels_verify_themselves(workload: str, lock: str, flavour: str, fence: str) -> None:
    outcome = run(
        build_kernel(workload, lock, flavour, fence), flavour, threads=2, **SHORT[workload]
    )
    assert (outcome.code, outcome.result["error"]) == (0, "")
    assert outcome.result["lock"] == lock
    assert outcome.result["flavour"] == flavour
    assert outcome.result["fence"] == fence
    pairs = {"nested_sync": 102, "mixed_sync": 300, "threads": 400, "rounds": 240,
             "lock_sequence": 600}  # fmt: skip
    assert outcome.result["pairs"] == pairs.get(workload, 100)


@pytest.mark.parametrize("op", WORKLOADS["calibrate"].keys["op"].choices)
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_calibrate(flavour: str, op: str) -> None:
    binary = build_kernel("calibrate", "null", flavour, "full")
    outcome = run(binary, flavour, op=op, iterations=100)
    assert (outcome.code, outcome.result["pairs"]) == (0, 100)


@pytest.mark.parametrize(("lock", "flavour", "fence"), DEFLATING)
def test_deflation_keeps_the_owner(lock: str, flavour: str, fence: str) -> None:
    binary = build_native("transitions", lock, flavour, fence)
    for threads in (2, 3):
        outcome = run(binary, flavour, threads=threads, iterations=20)
        assert (outcome.code, outcome.result["error"]) == (0, "")


@pytest.mark.parametrize(
    ("flavour", "fence"),
    [(v, f) for v in FLAVOURS for f in fence_kinds("asym_tasuki", v) if f != "store_forward"],
)
def test_store_then_load_is_in_order(flavour: str, fence: str) -> None:
    binary = build_native("store_load", "asym_tasuki", flavour, fence)
    outcome = run(binary, flavour, threads=2, iterations=2)
    assert (outcome.code, outcome.result["error"]) == (0, "")


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_no_lock_is_caught(flavour: str, tmp_path: Path) -> None:
    """The self-checks see what a lock is for: the null lock passes neither kernel."""
    outcome = run(build_kernel("conformance", "null", flavour, "full"), flavour, iterations=1)
    assert outcome.code == 1
    assert outcome.result["ok"] is False
    assert outcome.result["error"] == "a release by a non-holder succeeded"
    # Under the engine, where threads run at the same time however busy the host is.
    program = Program("threads", "null", "full", flavour)
    arguments: Options = {"threads": 4, "iterations": 50, "critical": 20, "think": 0}
    done = invoke(program, arguments, {}, tmp_path / "report.json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"] in (
        "two threads were in one critical section",
        "the protected counter is wrong",
    )


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
        ({"iterations": 5, "threads": 65}, "too large"),
        ({"iterations": 5, "marker": "loud"}, "not one of the allowed words"),
    ],
)
def test_bad_arguments(flavour: str, arguments: dict[str, Any], reason: str) -> None:
    outcome = run(build_kernel("sync", "thin", flavour, "full"), flavour, **arguments)
    assert outcome.code == 2
    assert reason in outcome.stderr
    assert outcome.stderr.count("\n") == 1
    assert outcome.result == {}


def test_locks_with_wait_are_the_java_locks() -> None:
    java = [name for name, lock in load_locks().items() if lock.java]
    assert java == ["thin", "tasuki", "reservation", "asym_tasuki"]
