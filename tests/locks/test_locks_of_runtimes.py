"""The locks that runtimes ship, where threads meet: atomics, pauses, parks and stopped threads as
in the runtimes' sources, counted by the engine."""

import pytest

from sweeps.engines.qemu.engine import own_options
from tests.locks.running import simulated


@pytest.mark.parametrize("threads", [8, 16])
def test_a_queue_is_entered_by_one_atomic(threads: int) -> None:
    """A thread of qspinlock loses the CAS by which it would have had the free lock, and no other:
    its place in the queue is an exchange. So it keeps up with mcs."""
    keys = {"threads": threads, "iterations": 100, "critical": 20, "think": 1000}
    zen5 = own_options("zen5", "x86_64")
    qspinlock, mcs = (
        simulated("random_threads", lock, options=zen5, **keys) for lock in ("qspinlock", "mcs")
    )
    assert qspinlock.total("cas", "lost") <= threads * 100
    assert sum(qspinlock.cycles) < 1.5 * sum(mcs.cycles)


@pytest.mark.parametrize("objects", [4, 256])
def test_a_class_stops_owners_at_most_forty_times(objects: int) -> None:
    """Biased locking: each of a few objects has its owner stopped; of many, the class is rebiased
    in bulk after 20, and revoked after 40."""
    keys = {"threads": 2, "objects": objects, "first": 10, "turns": 1, "run_length": 1}
    zen3 = own_options("zen3", "x86_64")
    found = simulated("lock_use", "biased/rmw", options=zen3, critical=0, think=0, **keys)
    stopped = found.total("charges", "stop")
    assert stopped == objects if objects < 20 else 20 <= stopped <= 40


@pytest.mark.parametrize(
    ("lock", "flavour", "options", "counts"),
    [
        # OpenJ9 yields behind 32 tries, 45 times. With 256 pauses a try instead of one the first
        # thread would have left before.
        ("j9_flat", "lock", {"lat_pause": 1000}, {"yield": 45}),
        # HotSpot gives up being the successor behind each of two spins and when it has entered, and
        # queues: four full fences, and three of the runtime. With a pause at each of 5,000 looks it
        # would not park.
        ("hotspot_light", "lock", {"lat_pause": 1000}, {"park": 1, "mfence": 7}),
        # Rust pauses by isb; parking_lot 2, 4 and 8 times, then it yields 7 times to the system.
        ("futex_mutex", "lse", {}, {"isb": 100, "yield": 0, "park": 1}),
        ("byte_lock", "lse", {}, {"isb": 14, "yield": 7, "park": 1}),
        # ART stops the holder.
        ("art_thin", "lock", {}, {"yield": 50, "stop": 1, "park": 0}),
        ("art_thin:without_read_barriers", "lock", {}, {"yield": 50, "stop": 1, "park": 0}),
    ],
)
def test_a_thread_that_waits_long_spins_yields_and_blocks(
    lock: str, flavour: str, options: dict[str, int], counts: dict[str, int]
) -> None:
    """The second of two threads, which comes once while the first is inside for very long."""
    keys = {"threads": 2, "iterations": 1, "critical": 3_000_000, "think": 0}
    cores = simulated("threads", lock, flavour, options, **keys).cores
    core = max(cores, key=lambda one: one["charges"]["park"] + one["charges"]["stop"])
    found = {"yield": 0} | core["fences"] | core["charges"]
    assert {name: found[name] for name in counts} == counts
    assert found["park"] + found["stop"] >= 1
