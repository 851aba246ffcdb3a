"""The locks that runtimes ship, where threads meet: atomics, pauses, parks and stopped threads as
in the runtimes' sources, counted by the engine."""

from pathlib import Path

import pytest

from sweeps.engines.qemu.engine import own_options
from tests.locks.running import simulated


@pytest.mark.parametrize("threads", [8, 16])
def test_a_queue_is_entered_by_one_atomic(threads: int, tmp_path: Path) -> None:
    """A thread of qspinlock loses the CAS by which it would have had the free lock, and no other:
    its place in the queue is an exchange. So it keeps up with mcs."""
    keys = {"threads": threads, "iterations": 100, "critical": 20, "think": 1000}
    zen5 = own_options("zen5", "x86_64")
    qspinlock, mcs = (
        simulated(tmp_path, "random_threads", lock, options=zen5, **keys)
        for lock in ("qspinlock", "mcs")
    )
    assert qspinlock.total("cas", "lost") <= threads * 100
    assert sum(qspinlock.cycles) < 1.5 * sum(mcs.cycles)


@pytest.mark.parametrize("objects", [4, 256])
def test_a_class_stops_owners_at_most_forty_times(objects: int, tmp_path: Path) -> None:
    """Biased locking: each of a few objects has its owner stopped; of many, the class is rebiased
    in bulk after 20, and revoked after 40."""
    keys = {"threads": 2, "objects": objects, "first": 10, "turns": 1, "run_length": 1}
    zen3 = own_options("zen3", "x86_64")
    found = simulated(tmp_path, "lock_use", "biased/rmw", options=zen3, critical=0, think=0, **keys)
    stopped = found.total("charges", "stop")
    assert stopped == objects if objects < 20 else 20 <= stopped <= 40


def waited(lock: str, folder: Path, flavour: str = "lock", **options: int) -> dict[str, int]:
    """Return the fences and charges of the second of two threads, which comes once while the first
    is inside for very long."""
    keys = {"threads": 2, "iterations": 1, "critical": 3_000_000, "think": 0}
    cores = simulated(folder, "threads", lock, flavour, options, **keys).cores
    core = max(cores, key=lambda one: one["charges"]["park"] + one["charges"]["stop"])
    return {"yield": 0} | core["fences"] | core["charges"]


def test_openj9_pauses_once_a_try(tmp_path: Path) -> None:
    """A yield behind 32 tries, 45 times, before it blocks. With 256 pauses of 1,000 cycles a try
    the first thread would have left before."""
    found = waited("j9_flat", tmp_path, lat_pause=1000)
    assert found["yield"] == 45
    assert found["park"] >= 1


def test_hotspot_spins_twice_and_seldom_pauses(tmp_path: Path) -> None:
    """With a pause of 1,000 cycles at each of 5,000 looks it would not park. It gives up being the
    successor behind each of two spins and when it has entered, and queues: four full fences, and
    three of the runtime."""
    found = waited("hotspot_light", tmp_path, lat_pause=1000)
    assert (found["park"], found["mfence"]) == (1, 7)


@pytest.mark.parametrize(
    ("lock", "pauses", "yields"), [("futex_mutex", 100, 0), ("byte_lock", 14, 7)]
)
def test_rust_pauses_by_isb(lock: str, pauses: int, yields: int, tmp_path: Path) -> None:
    """parking_lot: 2, 4 and 8 pauses, then 7 yields to the system."""
    found = waited(lock, tmp_path, "lse")
    assert (found["isb"], found["yield"], found["park"]) == (pauses, yields, 1)


@pytest.mark.parametrize("lock", ["art_thin", "art_thin:without_read_barriers"])
def test_art_yields_then_stops_the_holder(lock: str, tmp_path: Path) -> None:
    found = waited(lock, tmp_path)
    assert (found["yield"], found["stop"], found["park"]) == (50, 1, 0)
