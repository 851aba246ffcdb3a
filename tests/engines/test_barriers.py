"""A process-wide barrier in simulated time: its caller pays, and each core that it interrupts."""

from dataclasses import replace
from typing import Any

import pytest

from sweeps.engines.base import load_engine
from sweeps.model.machine import load_machine
from tests.engines.test_engine import FLAVOURS, PIPELINE, Options
from tests.fakes.cells import cell_of
from tests.locks.running import simulated

MODELS: dict[str, Options] = {
    "scheduled": {"out_of_order": 0},
    "pipelined": PIPELINE,
    "out_of_order": {"out_of_order": 1},
}
COSTS: Options = {"charge_barrier": 5000, "charge_barrier_core": 700, "charge_interrupt": 900}
PAIRS = 40
SEQUENCE: Options = {
    "objects": 2, "runs": 8, "run_length": 6, "owner_share": 400_000, "critical": 5, "think": 9,
}  # fmt: skip


def barriers(flavour: str, threads: int, options: Options) -> list[dict[str, Any]]:
    """The cores of a run in which core 0 makes barriers and the others run all the time."""
    keys = {"op": "membarrier", "rounds": 4, "times": PAIRS // 4}
    return simulated("interrupts", "nop", flavour, options, threads=threads, **keys).cores


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_the_caller_pays_for_each_core_that_it_interrupts(flavour: str, model: str) -> None:
    free: Options = {**MODELS[model], **dict.fromkeys(COSTS, 0)}
    paid = {threads: barriers(flavour, threads, free | COSTS) for threads in (1, 3)}
    for threads, (caller, *others) in paid.items():
        each = 5000 + (threads - 1) * 700
        assert caller["charges"]["barrier"] == PAIRS
        assert caller["stalls"]["charge"] == pytest.approx(PAIRS * each, abs=3 * PAIRS)
        assert "interrupted" not in caller["charges"]
        for other in others:
            # The last may come when it has left its loop.
            assert PAIRS - 1 <= other["charges"]["interrupted"] <= PAIRS
            lost = other["charges"]["interrupted"] * 900
            assert other["stalls"]["charge"] == pytest.approx(lost, abs=3 * PAIRS)
    (plain,) = barriers(flavour, 1, free)
    assert paid[1][0]["cycles"] - plain["cycles"] == pytest.approx(PAIRS * 5000, abs=10 * PAIRS)


def test_a_parked_thread_is_not_interrupted() -> None:
    """The second thread waits in its monitor while the first one goes on with its work."""
    found = simulated("conformance", "asym_tasuki/membarrier", threads=3, iterations=6)
    barriers, taken, parks = (
        found.total("charges", kind) for kind in ("barrier", "interrupted", "park")
    )
    assert barriers and parks
    assert taken < barriers * (len(found.cores) - 1)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("lock", ["asym_spin1", "asym_tasuki", "dekker"])
def test_waiting_loops_take_interrupts_in_the_same_cycle(lock: str, model: str) -> None:
    keys = SEQUENCE | {"threads": 2 if lock == "dekker" else 4}
    label, options = f"{lock}/membarrier", MODELS[model] | COSTS
    modelled, executed = (
        simulated("lock_sequence", label, "lock", options | {"execute_loops": every}, **keys)
        for every in (0, 1)
    )
    assert modelled.cores == executed.cores
    assert modelled.total("charges", "interrupted") > 0


CELL = cell_of("asym_spin1", "lock_sequence", fence="membarrier", threads=2, parameters={})


def test_an_axis_sets_what_the_caller_pays() -> None:
    engine, charges = load_engine("qemu"), load_machine("generic").charges
    assert engine.refuses(CELL) == ""
    options = engine.options(CELL)
    assert options["charge_barrier_core"] == charges.number("barrier_core") > 0
    options = engine.options(replace(CELL, membarrier_latency=1234))
    assert (options["charge_barrier"], options["charge_barrier_core"]) == (1234, 0)
    assert options["charge_interrupt"] == charges.number("interrupt")


def test_engines_that_cannot_answer_say_so() -> None:
    assert "fence: membarrier" in load_engine("gem5/timing").refuses(CELL)
    silent = replace(CELL, machine="granite_rapids")
    assert "says nothing of process-wide barriers" in load_engine("qemu").refuses(silent)
    for name in ("gem5/timing", "native"):
        assert "membarrier_latency" not in load_engine(name).capabilities().latencies
