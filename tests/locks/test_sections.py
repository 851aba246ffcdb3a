"""The declared properties of critical sections: locks elided, io_spin, lifted and revocable, and
the workloads that are about them."""

import json
from pathlib import Path
from typing import Any

import pytest

from sweeps.programs import Builder, Program
from tests.engines.test_engine import Options, invoke, run
from tests.native_build import EACH_ISA, Outcome, build_native
from tests.native_build import run as run_natively

BUILDER = Builder()
PUTS: Options = {"iterations": 1000}
TURNS: Options = {"threads": 1, "iterations": 1000, "locks": 2}


def program(workload: str, lock: str, flavour: str, variant: str = "") -> Program:
    return Program(workload, lock, "full", flavour, variant=variant)


def natively(program: Program, **arguments: Any) -> Outcome:
    binary = BUILDER.build([program])[program].path
    return run_natively(binary, program.flavour, **arguments)


def cycles(document: dict[str, Any]) -> int:
    longest: int = max(core["cycles"] for core in document["cores"])
    return longest


def reported(program: Program, arguments: Options, folder: Path) -> dict[str, int]:
    """Return the workload's report under the engine."""
    done = invoke(program, arguments, {}, folder / "report.json")
    assert done.returncode == 0, done.stdout + done.stderr
    extra: dict[str, int] = json.loads(done.stdout)["extra"]
    return extra


def parks(document: dict[str, Any]) -> int:
    total: int = sum(core["charges"]["park"] for core in document["cores"])
    return total


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
    outcome = run_natively(build_native(name, lock, flavour, "full"), flavour, threads=threads)
    assert (outcome.code, outcome.result.get("error")) == (0, "")


@pytest.mark.parametrize("flavour", EACH_ISA)
@pytest.mark.parametrize("blocks", ["lock", "own_handler"])
@pytest.mark.parametrize(
    ("lock", "variant"), [("lifted", ""), ("lifted", "explicit"), ("thin", "")]
)
def test_blocks_that_throw(lock: str, variant: str, blocks: str, flavour: str) -> None:
    """Also with more monitors than a handler has room for."""
    outcome = natively(
        program("structured", lock, flavour, variant),
        test="throw",
        blocks=blocks,
        locks=5,
        throw_every=3,
        iterations=20,
        threads=2,
    )
    assert (outcome.code, outcome.result["error"], outcome.result["pairs"]) == (0, "", 200)


@pytest.mark.parametrize("flavour", EACH_ISA)
def test_elision_pays_for_one_thread(flavour: str, tmp_path: Path) -> None:
    """The order of Serrano and Grande's first table: no lock, an empty function, a mutex."""
    alone: Options = PUTS | {"threads": 1, "mode": "single", "stream": "socket"}
    none, elided, mutex = (
        cycles(run(program("io_put", lock, flavour), alone, {}, tmp_path))
        for lock in ("nop", "elided", "io_spin")
    )
    assert none < elided < mutex


@pytest.mark.parametrize("flavour", EACH_ISA)
def test_glibc_leaves_out_atomics_while_there_is_one_thread(flavour: str, tmp_path: Path) -> None:
    """And no more: it stores to the lock word all the same."""

    def counts(lock: str, variant: str, threads: int, mode: str) -> dict[str, Any]:
        arguments = PUTS | {"threads": threads, "mode": mode, "stream": "file"}
        built = program("io_put", lock, flavour, variant)
        cores: list[dict[str, Any]] = run(built, arguments, {}, tmp_path)["cores"]
        return cores[-1]

    alone, several = (counts("elided", "glibc", *of) for of in ((1, "single"), (2, "multi")))
    assert alone["cas"] == {"won": 0, "lost": 0} and alone["rmw"] == 0
    assert alone["stores"] >= counts("nop", "", 1, "single")["stores"] + 2 * 1000
    assert several["cas"]["won"] == counts("elided", "", 2, "multi")["cas"]["won"] >= 2 * 1000


@pytest.mark.parametrize("flavour", EACH_ISA)
def test_short_sections_spin_and_others_park(flavour: str, tmp_path: Path) -> None:
    spinning = program("io_put", "io_spin", flavour)
    arguments: Options = PUTS | {"threads": 2, "mode": "multi", "stream": "file"}
    short, explicit = (
        cycles(run(spinning, arguments | {"mode": mode}, {}, tmp_path))
        for mode in ("multi", "flock")
    )
    assert short < explicit
    contended = arguments | {"threads": 4, "iterations": 200}
    assert parks(run(spinning, contended, {}, tmp_path)) == 0
    assert parks(run(spinning, contended | {"stream": "socket"}, {}, tmp_path)) > 0


@pytest.mark.parametrize("flavour", EACH_ISA)
def test_a_handler_a_block_costs_more_than_lifting(flavour: str, tmp_path: Path) -> None:
    """Figure 2: lifted blocks cost as much as explicit locking where they cannot throw, push and
    pop where they can, and less than a handler each."""
    measured = {
        (variant, test, blocks): cycles(
            run(
                program("structured", "lifted", flavour, variant),
                TURNS
                | {"test": test, "blocks": blocks, "throw_every": 1000 if test == "throw" else 0},
                {},
                tmp_path,
            )
        )
        for variant, test, blocks in (
            ("", "sync", "lock"),
            ("", "throw", "lock"),
            ("explicit", "sync", "lock"),
            ("explicit", "throw", "own_handler"),
        )
    }
    sync, throw, explicit, own_handler = measured.values()
    assert sync == pytest.approx(explicit, rel=0.03)
    assert sync < throw < own_handler


@pytest.mark.parametrize("flavour", EACH_ISA)
@pytest.mark.parametrize("variant", ["", "unmodified"])
def test_roll_backs_leave_no_trace(variant: str, flavour: str) -> None:
    """Compare the workload's sum over all writes, with threads that are switched in the middle
    of their sections."""
    mix = Program("priority_mix", "revocable", "full", flavour, variant=variant, scheduled=True)
    for cores in (1, 2):
        outcome = natively(
            mix,
            threads=5,
            cores=cores,
            high=2,
            sections=6,
            high_iterations=500,
            low_iterations=10000,
            writes=700_000,
            pause=2000,
            slice=20_000,
            run_queue="round_robin",
        )
        assert (outcome.code, outcome.result["error"], outcome.result["pairs"]) == (0, "", 30)
        assert variant == "" or outcome.result["extra"]["roll_backs"] == 0


@pytest.mark.parametrize("flavour", EACH_ISA)
def test_roll_back_is_for_high_priorities(flavour: str, tmp_path: Path) -> None:
    """On one core all threads together pay for the gain of high-priority threads."""
    arguments: Options = {
        "threads": 5,
        "cores": 1,
        "high": 2,
        "sections": 8,
        "high_iterations": 200,
        "low_iterations": 1000,
        "writes": 500_000,
        "pause": 4000,
        "slice": 16_000,
        "run_queue": "round_robin",
    }
    extra = {}
    for variant in ("", "unmodified"):
        scheduled = Program(
            "priority_mix", "revocable", "full", flavour, variant=variant, scheduled=True
        )
        extra[variant] = reported(scheduled, arguments, tmp_path)
    assert extra[""]["roll_backs"] > 0
    assert extra["unmodified"]["roll_backs"] == 0
    assert extra[""]["high_elapsed"] < extra["unmodified"]["high_elapsed"]
    assert extra[""]["elapsed"] > extra["unmodified"]["elapsed"]
