"""The locks that runtimes ship, where threads meet: what the runtimes' sources say of atomics,
pauses, parks and stopped threads, counted by the engine."""

from pathlib import Path

import pytest

from sweeps.engines.qemu.engine import own_options
from sweeps.programs import Program
from tests.engines.test_engine import Options, run


def counted(program: Program, arguments: Options, folder: Path, machine: str) -> dict[str, int]:
    """Run a program on a machine; return its cycles and counts, of all cores together."""
    options = dict(own_options(machine, "x86_64"))
    cores = run(program, arguments, options, folder)["cores"]
    return {
        "cycles": sum(core["cycles"] for core in cores),
        "cas_lost": sum(core["cas"]["lost"] for core in cores),
        **{kind: sum(core["charges"][kind] for core in cores) for kind in cores[0]["charges"]},
    }


@pytest.mark.parametrize("threads", [8, 16])
def test_a_queue_is_entered_by_one_atomic(threads: int, tmp_path: Path) -> None:
    """A thread of qspinlock loses the CAS by which it would have had the free lock, and no other:
    its place in the queue is an exchange. So it keeps up with mcs."""
    arguments: Options = {"threads": threads, "iterations": 100, "critical": 20, "think": 1000}
    found = {
        lock: counted(Program("random_threads", lock, "full", "lock"), arguments, tmp_path, "zen5")
        for lock in ("qspinlock", "mcs")
    }
    assert found["qspinlock"]["cas_lost"] <= threads * 100
    assert found["qspinlock"]["cycles"] < 1.5 * found["mcs"]["cycles"]


@pytest.mark.parametrize("objects", [4, 256])
def test_a_class_stops_owners_at_most_forty_times(objects: int, tmp_path: Path) -> None:
    """Biased locking: each of a few objects has its owner stopped; of many, the class is rebiased
    in bulk after 20, and revoked after 40."""
    arguments: Options = {"threads": 2, "objects": objects, "first": 10, "turns": 1}
    arguments |= {"run_length": 1, "critical": 0, "think": 0}
    program = Program("lock_use", "biased", "rmw", "lock")
    stopped = counted(program, arguments, tmp_path, "zen3")["stop"]
    assert stopped == objects if objects < 20 else 20 <= stopped <= 40
