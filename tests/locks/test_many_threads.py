"""Programs for more threads than usual: which cells get one, and that locks work in them."""

from dataclasses import replace

import pytest

from sweeps.engines.base import load_engine, refusal
from sweeps.model.axes import MAX_THREADS
from sweeps.model.cell import invalid_reason, unsupported_reason
from sweeps.model.locks import load_locks
from sweeps.model.workloads import with_defaults
from sweeps.programs import USUAL_THREADS, Program
from tests.fakes.cells import cell_of
from tests.locks.running import bare, simulated

LOCKS = ("tasuki", "reservation", "asym_tasuki", "mcs", "tnp", "thin")  # of the study of many cores
CELL = cell_of(
    "tasuki", "threads", machine="generic_inorder", parameters=with_defaults("threads", {})
)


def test_only_a_cell_of_more_threads_gets_another_program() -> None:
    """Stored runs and reference cycles are of the others, which are compiled as ever."""
    usual, many = (
        Program.of(replace(CELL, threads=threads)) for threads in (USUAL_THREADS, USUAL_THREADS + 1)
    )
    assert usual == Program.of(CELL) and replace(many, many=False) == usual
    more = set(many.command("cc", "out")) - set(usual.command("cc", "out"))
    assert more == {f"-DLOCK_MAX_THREADS={MAX_THREADS}"}
    assert set(usual.command("cc", "out")) < set(many.command("cc", "out"))
    shared = Program.of(replace(CELL, threads=MAX_THREADS, cores=2))
    assert shared.many and shared.scheduled


def test_a_lock_whose_objects_have_a_place_for_each_thread_refuses_more() -> None:
    most = load_locks()["to_lock"].threads
    assert most == 8 * load_locks()["to_lock"].words == USUAL_THREADS
    cell = replace(CELL, lock="to_lock")
    assert not unsupported_reason(replace(cell, threads=most))
    assert "to_lock allows 64 at most" in unsupported_reason(replace(cell, threads=most + 1))


def test_an_engine_refuses_what_it_has_no_cores_for() -> None:
    most = load_engine(CELL.engine).capabilities().max_cores
    assert not refusal(replace(CELL, threads=most))
    wanted = replace(CELL, threads=most + 1)
    assert f"{most} cores at most" in refusal(wanted)
    assert not refusal(replace(wanted, cores=2)), "threads may share its cores"
    assert "from 1 to 128" in invalid_reason(replace(CELL, threads=MAX_THREADS + 1))


@pytest.mark.long
@pytest.mark.parametrize(
    ("lock", "flavour"),
    [*((lock, "lock") for lock in LOCKS), ("reservation", "larx"), ("mcs", "larx")],
)
def test_locks_work_with_all_cores_of_the_engine(lock: str, flavour: str) -> None:
    cores = load_engine("qemu").capabilities().max_cores
    keys = {"threads": cores, "iterations": 1, "critical": 0, "think": 0}
    found = simulated("threads", lock, flavour, many=True, **keys)
    assert found.result["pairs"] == cores


def test_as_many_threads_as_there_may_be() -> None:
    """Under QEMU alone, where threads that spin take turns on the host's CPUs."""
    keys = {"threads": MAX_THREADS, "iterations": 1, "critical": 0, "think": 0}
    outcome = bare("threads", "tasuki", many=True, **keys)
    assert (outcome.code, outcome.result.get("pairs")) == (0, MAX_THREADS), outcome
