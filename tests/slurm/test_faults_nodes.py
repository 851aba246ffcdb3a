"""Faults of nodes and jobs, on a real Slurm: every cell ends, once; nothing is left.

Minutes each, so run only when asked for: ./lockcross test -m faults -n 0 -s
"""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from tests.slurm.study import CHUNK, PRIMED, Study, tell, until

pytestmark = pytest.mark.faults
Make = Callable[..., Study]


def at_work(study: Study) -> None:
    """Waits until all workers run and have stored something."""
    assert until(lambda: len(study.workers()) == study.slots, 90), study.said()
    study.until_stored(study.slots)


def recovered(study: Study, lost: set[int], limit_s: float = 90) -> None:
    """Waits until there are as many workers as before some of them were lost."""
    begin = time.monotonic()
    assert until(lambda: len({*study.workers()} - lost) == study.slots, limit_s), study.said()
    tell(f"as many workers as before after {time.monotonic() - begin:.0f} s")


def test_a_worker_is_killed(study: Make) -> None:
    one = study()
    one.start()
    at_work(one)
    worker = one.workers()[0]
    os.kill(worker, signal.SIGKILL)
    recovered(one, {worker})
    assert one.wait() == 0
    one.check(twice_at_most=CHUNK)


def test_a_cell_kills_its_worker(study: Make) -> None:
    """As one that takes all memory may: it fails with the cause, the others are ok."""
    one = study()
    one.qemu(one.folder / "qemu", 'case "$*" in *cas_success=77,*) kill -9 $PPID;; esac')
    one.start()
    assert one.wait() == 1, one.said()
    ((cause,),) = one.rows("SELECT cause FROM runs WHERE status = 'failed'")
    assert "lost 4 times" in cause
    one.check(twice_at_most=4 * CHUNK, failed=1)


def test_a_manager_is_killed(study: Make) -> None:
    one = study(cells=800)
    one.start()
    at_work(one)
    manager = one.managers()[0]
    its = {pid for pid in one.workers() if one.node_of(pid) == one.node_of(manager)}
    assert len(its) == 2
    os.kill(manager, signal.SIGKILL)
    recovered(one, its)
    assert one.wait() == 0
    one.check(twice_at_most=one.window)


def test_the_queues_of_a_manager_are_killed(study: Make) -> None:
    """It is alive for those that it answers, and hands nothing back."""
    one = study(cells=400)
    one.start()
    at_work(one)
    queues = one.queues()[0]
    its = {pid for pid in one.workers() if one.node_of(pid) == one.node_of(queues)}
    os.kill(queues, signal.SIGKILL)
    recovered(one, its)
    assert one.wait() == 0
    one.check(twice_at_most=one.window)


def test_a_slurmd_is_killed_and_its_jobs_run_on(study: Make) -> None:
    one = study(cells=800)
    one.start()
    at_work(one)
    jobs = {*one.slurm.jobs()}
    one.slurm.kill("n1")
    begin = time.monotonic()
    # Slurm gives the node up, and its job with it; the driver asks for another.
    assert until(lambda: jobs - {*one.slurm.jobs()}, 90)
    tell(f"Slurm gave the node's job up after {time.monotonic() - begin:.0f} s")
    assert one.wait() == 0
    one.check(twice_at_most=one.window)


def test_a_node_is_lost(study: Make) -> None:
    one = study(cells=800, blocks=3)
    one.start()
    at_work(one)
    its = {pid for pid in one.workers() if one.node_of(pid) == "n1"}
    assert len(its) == 2
    one.slurm.lose_node("n1")
    recovered(one, its)
    assert one.wait() == 0
    one.check(twice_at_most=one.window)


def test_a_node_of_a_job_of_two_is_lost(study: Make) -> None:
    """Slurm ends the whole job."""
    one = study(cells=400, blocks=1, nodes=2)
    one.start()
    at_work(one)
    its = {*one.workers()}
    one.slurm.lose_node("n2")
    recovered(one, its)
    assert one.wait() == 0
    one.check(twice_at_most=one.window)


def test_a_node_hangs_and_comes_back(study: Make) -> None:
    """It is given up, and what it sends later is no second result."""
    one = study(cells=800)
    one.start()
    at_work(one)
    hanging = one.slurm.on_node("n1")
    for pid in hanging:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(45)
    for pid in hanging:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
    assert one.wait() == 0, one.said()
    one.check(twice_at_most=one.window)


def test_a_job_is_cancelled(study: Make) -> None:
    one = study(cells=800)
    one.start()
    at_work(one)
    job = min(one.slurm.jobs(), key=int)
    its = {pid for pid in one.workers() if one.job_of(pid) == job}
    assert len(its) == 2
    one.slurm.call("scancel", job)
    recovered(one, its)
    assert one.wait() == 0
    one.check(twice_at_most=one.window)


def test_all_jobs_are_cancelled(study: Make) -> None:
    one = study(cells=800)
    one.start()
    at_work(one)
    its = {*one.workers()}
    one.slurm.call("scancel", *one.slurm.jobs())
    recovered(one, its)
    assert one.wait() == 0
    one.check(twice_at_most=one.window)


def test_a_job_is_past_its_wall_time(study: Make) -> None:
    """Cells of 35 seconds in jobs of one minute: the second cell of each worker is cut off."""
    one = study(cells=PRIMED + 16, pace_s=35)
    one.configure(wall_time="00:01:00")
    begin = time.monotonic()
    one.start()
    assert one.wait(600) == 0, one.said()
    tell(f"16 cells of 35 s, 8 workers, in {time.monotonic() - begin:.0f} s")
    assert one.twice() > 0
    one.check(twice_at_most=one.window)


def test_a_node_has_no_qemu(study: Make) -> None:
    one = study(cells=240)
    one.configure(on_node("n2", "export LOCKCROSS_QEMU=/nonexistent"))
    one.start()
    assert one.wait() == 0, one.said()
    assert "n2" in one.said() and "LOCKCROSS_QEMU=/nonexistent" in one.said()
    assert one.nodes() == {"n1", "n3", "n4"}
    one.check(twice_at_most=0)


def test_a_node_has_another_qemu(study: Make) -> None:
    one = study(cells=240)
    other = one.qemu(one.folder / "other", OTHER)
    one.configure(on_node("n2", f"export LOCKCROSS_QEMU={other}"))
    one.start()
    assert one.wait() == 0, one.said()
    assert "n2" in one.said() and "QEMU 9.8.7" in one.said()
    assert one.nodes() == {"n1", "n3", "n4"}
    one.check(twice_at_most=0)


OTHER = 'case "$1" in --version) echo "qemu version 9.8.7"; exit;; esac'


def test_every_node_has_another_qemu(study: Make) -> None:
    """Nothing can be run: the driver says so and ends. With the right one all cells are run."""
    one = study(cells=60)
    other = one.qemu(one.folder / "other", OTHER)
    one.configure(f'commands = ["export LOCKCROSS_QEMU={other}"]')
    one.start()
    assert one.wait(120) == 1, one.said()
    assert "QEMU 9.8.7" in one.said() and one.starts() == PRIMED
    assert until(lambda: not one.left()), one.left()
    one.configure()
    one.start()
    assert one.wait() == 0, one.said()
    one.check(twice_at_most=0)


def on_node(name: str, command: str) -> str:
    """A line of the cluster file: what only one node's jobs do first."""
    return f"commands = ['if [ \"$SLURMD_NODENAME\" = {name} ]; then {command}; fi']"
