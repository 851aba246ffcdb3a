"""Parking for a limited time (lockimpl/monitor/timed_park.h): simulated time in the engine, the
kernel's clock without one; with a core for each thread, and where threads share cores."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sweeps.engines.qemu.engine import find_qemu, own_options
from sweeps.model.cell import arguments, usual
from sweeps.programs import TARGETS
from sweeps.support.paths import ENGINE_PLUGIN
from tests.native_build import FLAVOURS, build_native, run

EARLY = {"nap": 400, "delay": 20}  # microseconds: woken before the time is over
LATE = {"nap": 20, "delay": 60}


def simulated(
    binary: Path, isa: str, out: Path, machine: str = "generic", **keys: int
) -> dict[str, Any]:
    """The engine's report of a run that must end well."""
    settings = own_options(machine, isa)
    plugin = f"file={ENGINE_PLUGIN},out={out}," + ",".join(f"{k}={v}" for k, v in settings.items())
    command = [find_qemu(isa).path, "-0", "lockcross", "-plugin", plugin, str(binary)]
    command += ["threads=2", "marker=syscall", *(f"{k}={v}" for k, v in keys.items())]
    done = subprocess.run(command, env={}, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, json.loads(done.stdout)["error"]) == (0, ""), done.stderr
    report: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return report


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("keys", [EARLY, LATE], ids=["woken", "expired"])
def test_a_park_ends_by_its_time_in_the_same_cycles(
    keys: dict[str, int], flavour: str, tmp_path: Path
) -> None:
    isa = TARGETS[flavour].isa
    binary = build_native("timed_park", "j9_flat", flavour, "full")
    first, again = (simulated(binary, isa, tmp_path / f"{i}", **keys) for i in range(2))
    assert first == again
    assert simulated(binary, isa, tmp_path / "o", "zen4" if isa == "x86_64" else "generic", **keys)


def test_a_nanosecond_is_as_many_cycles_as_the_clock_says(tmp_path: Path) -> None:
    binary = build_native("timed_park", "j9_flat", "lock", "full")
    cycles = {}
    for mhz in (1000, 3000):
        report = simulated(binary, "x86_64", tmp_path / f"{mhz}", clock_mhz=mhz, **LATE)
        cycles[mhz] = report["cores"][0]["cycles"]
    assert abs(cycles[3000] - 3 * cycles[1000]) < 0.1 * cycles[3000]


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("keys", [EARLY, LATE], ids=["woken", "expired"])
def test_a_thread_that_shares_cores_parks_for_a_time(
    keys: dict[str, int], cores: int, tmp_path: Path
) -> None:
    binary = build_native("timed_park", "j9_flat", "lock", "full", scheduled=True)
    more = {"cores": cores, "slice": 5000, **keys}
    first, again = (simulated(binary, "x86_64", tmp_path / f"{i}", **more) for i in range(2))
    assert first == again


@pytest.mark.parametrize("scheduled", [False, True], ids=["own_cores", "shared"])
def test_without_an_engine_the_kernels_clock_ends_it(scheduled: bool) -> None:
    """Half a second lies between the two, so that a busy host does not matter."""
    binary = build_native("timed_park", "j9_flat", "lock", "full", scheduled=scheduled)
    more = {"cores": 2, "slice": 0} if scheduled else {}
    for keys in ({"nap": 500_000, "delay": 1000}, {"nap": 1000, "delay": 500_000}):
        outcome = run(binary, "lock", threads=2, **keys, **more)
        assert (outcome.code, outcome.result["error"]) == (0, ""), keys


def test_programs_that_read_the_time_are_told_the_clock() -> None:
    def keys(lock: str) -> list[str]:
        return arguments(usual("zen4", "lock", "counter", {}, lock=lock, threads=2))

    assert "clock_mhz=3700" in keys("j9_flat")
    assert not any(key.startswith("clock_mhz") for key in keys("thin"))
