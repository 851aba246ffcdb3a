"""Cores that wait in a loop: their core model alone runs it, in the same cycles as under QEMU."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sweeps.engines.qemu.engine import find_qemu, own_options
from sweeps.programs import Builder, Program
from sweeps.support.paths import ENGINE_PLUGIN

CASES = [
    ("x86_64", "lock", "thin", "generic", "8"),
    ("x86_64", "lock", "mcs", "generic_inorder", "6"),
    ("x86_64", "lock", "reservation", "gem5_timing", "4"),
    ("ppc64le", "larx", "tasuki", "generic", "4"),
    ("ppc64le", "larx", "asym_tasuki", "generic_inorder", "6"),
    ("aarch64", "lse", "tnp", "gem5_minor", "4"),
    ("aarch64", "llsc", "monitor_table", "generic", "4"),
]


def report(case: tuple[str, ...], executed: int, folder: Path) -> dict[str, Any]:
    isa, flavour, lock, machine, threads = case
    program = Program("random_threads", lock, "full", flavour)
    binary = Builder().build([program])[program].path
    settings = {**own_options(machine, isa), "seed": 3, "execute_loops": executed}
    out = folder / f"{executed}.json"
    plugin = f"file={ENGINE_PLUGIN},out={out}," + ",".join(f"{k}={v}" for k, v in settings.items())
    command = [find_qemu(isa).path, "-0", "lockcross", "-plugin", plugin, str(binary)]
    command += [f"threads={threads}", "iterations=40", "marker=syscall"]
    subprocess.run(command, check=True, env={}, stdout=subprocess.DEVNULL, timeout=100)
    found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_a_loop_that_waits_takes_the_same_cycles(case: tuple[str, ...], tmp_path: Path) -> None:
    executed, modelled = (report(case, every, tmp_path) for every in (1, 0))
    hand_overs = [one.pop("handovers") for one in (executed, modelled)]
    assert modelled == executed
    assert hand_overs[1] < hand_overs[0]
