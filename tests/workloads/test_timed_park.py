"""Parking for a limited time (lockimpl/monitor/timed_park.h): simulated time in the engine, the
kernel's clock without one; with a core for each thread, and where threads share cores."""

from typing import Any

import pytest

from sweeps.engines.qemu.engine import own_options
from sweeps.model.cell import arguments, usual
from sweeps.programs import TARGETS
from tests.engines.test_engine import report_of
from tests.locks.running import passes
from tests.native_build import FLAVOURS, build_native

EARLY = {"nap": 400, "delay": 20}  # microseconds: woken before the time is over
LATE = {"nap": 20, "delay": 60}


def report(flavour: str, machine: str = "generic", **keys: int) -> dict[str, Any]:
    binary = build_native("timed_park", "j9_flat", flavour, "full", scheduled="cores" in keys)
    options = own_options(machine, TARGETS[flavour].isa)
    return report_of(binary, flavour, {"threads": 2, **keys}, options)


@pytest.mark.parametrize(
    ("flavour", "more"),
    [
        *((flavour, {}) for flavour in FLAVOURS),
        ("lock", {"machine": "zen4"}),
        ("lock", {"cores": 1, "slice": 5000}),
        ("lock", {"cores": 2, "slice": 5000}),
    ],
)
@pytest.mark.parametrize("times", [EARLY, LATE], ids=["woken", "expired"])
def test_a_park_ends_by_its_time_in_the_same_cycles(
    times: dict[str, int], flavour: str, more: dict[str, Any]
) -> None:
    assert report(flavour, **times, **more) == report(flavour, **times, **more)


def test_a_nanosecond_is_as_many_cycles_as_the_clock_says() -> None:
    slow, fast = (
        report("lock", clock_mhz=mhz, **LATE)["cores"][0]["cycles"] for mhz in (1000, 3000)
    )
    assert abs(fast - 3 * slow) < 0.1 * fast


@pytest.mark.parametrize("more", [{}, {"cores": 2, "slice": 0}], ids=["own_cores", "shared"])
def test_without_an_engine_the_kernels_clock_ends_it(more: dict[str, int]) -> None:
    """Half a second lies between the two, so that a busy host does not matter."""
    for keys in ({"nap": 500_000, "delay": 1000}, {"nap": 1000, "delay": 500_000}):
        passes("timed_park", "j9_flat", "lock", threads=2, **keys, **more)


def test_programs_that_read_the_time_are_told_the_clock() -> None:
    def keys(lock: str) -> list[str]:
        return arguments(usual("zen4", "lock", "counter", {}, lock=lock, threads=2))

    assert "clock_mhz=3700" in keys("j9_flat")
    assert not any(key.startswith("clock_mhz") for key in keys("thin"))
