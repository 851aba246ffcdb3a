"""Loops of load-linked and store-conditional end, keep every update, and starve nobody for ever."""

import random

import pytest

from sweeps.engines.qemu.engine import own_options
from sweeps.model.machine import isas_of, machine_names
from sweeps.programs import TARGETS
from tests.locks.running import simulated

LOCKS = ("ticket", "cas_spin", "mcs")  # which add, compare and exchange


@pytest.mark.long
@pytest.mark.parametrize("lock", LOCKS)
@pytest.mark.parametrize("flavour", ["larx", "llsc"])
def test_loops_end_on_every_machine(flavour: str, lock: str) -> None:
    """So many rounds that a byte that is counted in goes past 127 and 255, and ends with the right
    number: the program looks."""
    isa = TARGETS[flavour].isa
    drawn = random.Random(f"{flavour} {lock}")
    for machine in (name for name in machine_names() if isa in isas_of(name)):
        for threads in (2, drawn.randint(3, 16)):
            keys = {
                "threads": threads,
                "iterations": 300 // threads,
                "critical": drawn.choice((0, 1, 20)),
                "think": drawn.choice((0, 3, 100)),
            }
            seed = {"seed": drawn.randrange(1000), "offset_max": drawn.choice((0, 300))}
            options = {**own_options(machine, isa), **seed}
            found = simulated("threads", lock, flavour, options, **keys)
            assert len(found.cores) == threads, (machine, keys, seed)


@pytest.mark.parametrize(("flavour", "machine"), [("larx", "power10"), ("llsc", "neoverse_n1")])
def test_who_has_lost_a_reservation_has_its_turn(flavour: str, machine: str) -> None:
    """Tickets are drawn in turn, so the threads end together. Without a line that is kept, a core
    that has it draws one after another, and the others none for as long."""
    keys = {"threads": 4, "iterations": 400, "critical": 20, "think": 0}

    def ends(**changed: int) -> list[int]:
        options = {**own_options(machine, TARGETS[flavour].isa), "seed": 1, **changed}
        cores = simulated("threads", "ticket", flavour, options, **keys).cores
        return sorted(core["start"] + core["cycles"] for core in cores)

    assert ends()[0] > 0.95 * ends()[-1]
    if machine == "power10":
        unkept = ends(reservation_kept=0)
        assert unkept[0] < 0.5 * unkept[-1]
