"""Parking for a limited time (lockimpl/monitor/timed_park.h): simulated time in the engine, the
kernel's clock without one; with a core for each thread, and where threads share cores."""

import json
from pathlib import Path
from typing import Any

import pytest

from sweeps.engines.qemu.engine import own_options
from sweeps.model.cell import arguments, usual
from sweeps.programs import TARGETS
from tests.engines.test_engine import execute
from tests.locks.running import passes
from tests.native_build import FLAVOURS, build_native

EARLY = {"nap": 400, "delay": 20}  # microseconds: woken before the time is over
LATE = {"nap": 20, "delay": 60}
ENDS = pytest.mark.parametrize("keys", [EARLY, LATE], ids=["woken", "expired"])


def simulated(
    binary: Path, flavour: str, out: Path, machine: str = "generic", **keys: int
) -> dict[str, Any]:
    """The engine's report of a run that must end well."""
    options = dict(own_options(machine, TARGETS[flavour].isa))
    done = execute(binary, flavour, {"threads": 2, **keys}, options, out)
    assert (done.returncode, json.loads(done.stdout)["error"]) == (0, ""), done.stderr
    report: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return report


@pytest.mark.parametrize("flavour", FLAVOURS)
@ENDS
def test_a_park_ends_by_its_time_in_the_same_cycles(
    keys: dict[str, int], flavour: str, tmp_path: Path
) -> None:
    binary = build_native("timed_park", "j9_flat", flavour, "full")
    first, again = (simulated(binary, flavour, tmp_path / f"{i}", **keys) for i in range(2))
    assert first == again
    machine = "zen4" if flavour == "lock" else "generic"
    assert simulated(binary, flavour, tmp_path / "o", machine, **keys)


def test_a_nanosecond_is_as_many_cycles_as_the_clock_says(tmp_path: Path) -> None:
    binary = build_native("timed_park", "j9_flat", "lock", "full")
    cycles = {}
    for mhz in (1000, 3000):
        report = simulated(binary, "lock", tmp_path / f"{mhz}", clock_mhz=mhz, **LATE)
        cycles[mhz] = report["cores"][0]["cycles"]
    assert abs(cycles[3000] - 3 * cycles[1000]) < 0.1 * cycles[3000]


@pytest.mark.parametrize("cores", [1, 2])
@ENDS
def test_a_thread_that_shares_cores_parks_for_a_time(
    keys: dict[str, int], cores: int, tmp_path: Path
) -> None:
    binary = build_native("timed_park", "j9_flat", "lock", "full", scheduled=True)
    more = {"cores": cores, "slice": 5000, **keys}
    first, again = (simulated(binary, "lock", tmp_path / f"{i}", **more) for i in range(2))
    assert first == again


@pytest.mark.parametrize("scheduled", [False, True], ids=["own_cores", "shared"])
def test_without_an_engine_the_kernels_clock_ends_it(scheduled: bool) -> None:
    """Half a second lies between the two, so that a busy host does not matter."""
    more = {"cores": 2, "slice": 0} if scheduled else {}
    for keys in ({"nap": 500_000, "delay": 1000}, {"nap": 1000, "delay": 500_000}):
        passes("timed_park", "j9_flat", "lock", threads=2, **keys, **more)


def test_programs_that_read_the_time_are_told_the_clock() -> None:
    def keys(lock: str) -> list[str]:
        return arguments(usual("zen4", "lock", "counter", {}, lock=lock, threads=2))

    assert "clock_mhz=3700" in keys("j9_flat")
    assert not any(key.startswith("clock_mhz") for key in keys("thin"))
