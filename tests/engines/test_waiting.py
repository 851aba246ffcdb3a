"""Cores that wait in a loop: their core model alone runs it, in the same cycles as under QEMU."""

import pytest

from sweeps.engines.qemu.engine import own_options
from sweeps.programs import Program
from tests.engines.test_engine import Options, run

CASES = [
    ("x86_64", "lock", "thin", "generic", "8"),
    ("x86_64", "lock", "mcs", "generic_inorder", "6"),
    ("x86_64", "lock", "reservation", "gem5_timing", "4"),
    ("ppc64le", "larx", "tasuki", "generic", "4"),
    ("ppc64le", "larx", "asym_tasuki", "generic_inorder", "6"),
    ("aarch64", "lse", "tnp", "gem5_minor", "4"),
    ("aarch64", "llsc", "monitor_table", "generic", "4"),
]


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_a_loop_that_waits_takes_the_same_cycles(case: tuple[str, ...]) -> None:
    isa, flavour, lock, machine, threads = case
    program = Program("random_threads", lock, "full", flavour)
    arguments: Options = {"threads": threads, "iterations": 40}
    settings: Options = {**own_options(machine, isa), "seed": 3}
    executed, modelled = (
        run(program, arguments, settings | {"execute_loops": every}) for every in (1, 0)
    )
    hand_overs = [one.pop("handovers") for one in (executed, modelled)]
    assert modelled == executed
    assert hand_overs[1] < hand_overs[0]
