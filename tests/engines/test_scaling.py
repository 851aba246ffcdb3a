"""Many threads that want one line, against published measurements."""

import math
from pathlib import Path

import pytest

from sweeps.engines.qemu.engine import own_options
from sweeps.programs import Program
from tests.engines.test_engine import Options, run

MACHINE, FLAVOUR = "neoverse_n1", "lse"
# ns an acquisition and thread on Graviton 2 with 2 and with 16 threads, an addition in the section
# and nothing outside: travisdowns/concurrency-hierarchy-bench, results/g2-16/combined.csv.
PUBLISHED = {"cas_spin": (101.8, 3169.4), "ticket": (266.0, 6841.0)}


def cost(program: Program, arguments: Options, folder: Path) -> float:
    """Return the cycles of a thread for each of its iterations, on average."""
    options = {**own_options(MACHINE, "aarch64"), "seed": 1}
    cores = run(program, arguments, options, folder)["cores"]
    iterations = arguments["iterations"]
    assert isinstance(iterations, int)
    return sum(core["cycles"] for core in cores) / len(cores) / iterations


@pytest.mark.parametrize("lock", PUBLISHED)
def test_cost_grows_with_threads_as_published(lock: str, tmp_path: Path) -> None:
    """By its exponent, which depends on no single latency."""
    program = Program("threads_apart", lock, "full", FLAVOUR)

    def of(threads: int) -> float:
        arguments: Options = {
            "threads": threads, "iterations": 800 // threads, "critical": 0, "think": 0,
        }  # fmt: skip
        return cost(program, arguments, tmp_path)

    few, many = PUBLISHED[lock]
    assert math.log(of(16) / of(2), 8) == pytest.approx(math.log(many / few, 8), abs=0.25)


def test_readers_of_one_word_are_served_one_after_another(tmp_path: Path) -> None:
    """All wait for one word that changes, and the one whose turn it is changes it: with each
    further thread that waits, this takes a way to the line's home and back longer."""
    program = Program("transfer", "nop", "full", FLAVOUR)

    def handover(threads: int) -> float:
        arguments: Options = {"threads": threads, "iterations": 60, "op": "store"}
        return cost(program, arguments, tmp_path) / threads

    way = 2 * own_options(MACHINE, "aarch64")["lat_dirty"] / 3
    further = (handover(16) - handover(8)) / 8
    assert 0.5 * way < further < 1.5 * way
