"""One host thread runs all simulated cores: the same reports as with a thread for each."""

import platform
import resource
import subprocess
from pathlib import Path

import pytest

from sweeps.engines.qemu.engine import find_qemu
from sweeps.programs import find_compiler
from sweeps.support.paths import ENGINE_SOURCES
from tests.reference.drawn import Drawn, measure, stored

_SWITCH = ENGINE_SOURCES / "region" / "switch_context.cc"
_GUEST = Path(__file__).parents[1] / "native" / "switch_context.c"


@pytest.mark.parametrize("first", range(0, 80, 20))
def test_a_host_thread_for_each_core_gives_the_same_reports(first: int) -> None:
    """Drawn cells are measured with one host thread for all (test_drawn_cells)."""
    several = [cell for cell in stored().cells if cell.arguments["threads"] > 1]
    for cell in several[first : first + 20]:
        options = {**stored().options[cell.options], "own_threads": 1}
        assert measure(cell, options) == cell


def switches(cell: Drawn, own: int) -> int:
    """How often the kernel took a thread of the run off the CPU because it slept."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_nvcsw
    measure(cell, {**stored().options[cell.options], "own_threads": own})
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_nvcsw - before


def test_a_turn_takes_no_system_call() -> None:
    cell = max(stored().cells, key=lambda one: len(one.cycles) * min(one.cycles))
    alone, own = (switches(cell, every) for every in (0, 1))
    assert alone < own / 4  # QEMU's own threads sleep at the start: some hundred times


# An AArch64 program sets its thread pointer itself, not by the kernel.
@pytest.mark.parametrize(("flavour", "how"), [("lock", ""), ("lock", "-DBY_KERNEL"), ("lse", "")])
def test_contexts_keep_registers_and_thread_on_hosts_of_both_kinds(
    flavour: str, how: str, tmp_path: Path
) -> None:
    """QEMU plays the AArch64 host."""
    if flavour == "lock" and platform.machine() != "x86_64":
        pytest.skip("this host is no x86-64")
    flags = "-std=gnu11 -O2 -static -nostdlib -ffreestanding -fno-stack-protector".split()
    program = tmp_path / "program"
    compiler = [find_compiler(flavour), *flags, *how.split(), f"-I{ENGINE_SOURCES}", "-x", "c"]
    subprocess.run([*compiler, _GUEST, _SWITCH, "-o", program], check=True)
    host = [find_qemu("aarch64").path] if flavour == "lse" else []
    subprocess.run([*host, program], check=True, timeout=60)
