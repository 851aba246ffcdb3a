"""Many threads that want one line, against published measurements."""

import math

import pytest

from sweeps.engines.qemu.engine import own_options
from sweeps.programs import TARGETS
from tests.locks.running import simulated

N1, SMT = "neoverse_n1", "skylake_smt"
FLAVOURS = {N1: "lse", SMT: "lock", "skylake": "lock"}
# ns an acquisition and thread with 2 and with 16 threads, nothing outside of the section. Graviton
# 2, an addition in it: travisdowns/concurrency-hierarchy-bench, results/g2-16/combined.csv. x86-2
# of lockhammer, nothing in it: results/paper/lockhammer.csv, there by the time of the run.
PUBLISHED = {
    "cas_spin": (N1, "threads_apart", 101.8, 3169.4),
    "ticket": (N1, "threads_apart", 266.0, 6841.0),
    "mcs:osq": (SMT, "threads", 51.4 * 2, 444.7 * 16),
    "qspinlock": (SMT, "threads", 19.0 * 2, 202.5 * 16),
}


def cost(machine: str, workload: str, lock: str, iterations: int, **keys: int | str) -> float:
    """Return the cycles of a thread for each of its iterations, on average."""
    flavour = FLAVOURS[machine]
    options = {**own_options(machine, TARGETS[flavour].isa), "seed": 1}
    found = simulated(workload, lock, flavour, options, iterations=iterations, **keys)
    return sum(found.cycles) / len(found.cycles) / iterations


@pytest.mark.parametrize("lock", PUBLISHED)
def test_cost_grows_with_threads_as_published(lock: str) -> None:
    """By its exponent, which depends on no single latency."""
    machine, workload, few, many = PUBLISHED[lock]

    def of(threads: int) -> float:
        keys = {"threads": threads, "critical": 0, "think": 0}
        return cost(machine, workload, lock, 800 // threads, **keys)

    assert math.log(of(16) / of(2), 8) == pytest.approx(math.log(many / few, 8), abs=0.25)


@pytest.mark.parametrize("machine", [N1, "skylake"])
def test_readers_of_one_word_are_served_one_after_another(machine: str) -> None:
    """All wait for one word that changes, and the one whose turn it is changes it: with each
    further thread that waits, this takes a way to the line's home and back longer."""

    def handover(threads: int) -> float:
        return cost(machine, "transfer", "nop", 60, threads=threads, op="store") / threads

    way = 2 * own_options(machine, TARGETS[FLAVOURS[machine]].isa)["lat_dirty"] / 3
    further = (handover(16) - handover(8)) / 8
    assert 0.5 * way < further < 1.5 * way
