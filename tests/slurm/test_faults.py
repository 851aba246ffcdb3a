"""Faults of nodes, jobs, the driver and its disk, on a real Slurm: every cell ends, once; nothing
is left.

Minutes each, so run only when asked for: ./lockcross test -m faults -n 0 -s
"""

import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.processes import until
from tests.slurm.daemons import environment_of, kill
from tests.slurm.study import CHUNK, GONE_S, PRIMED, Study, tell

pytestmark = pytest.mark.faults
Make = Callable[..., Study]
SEED = 15


def workers_of(study: Study, name: str, value: str) -> set[int]:
    return {pid for pid in study.workers() if environment_of(pid).get(name) == value}


def a_worker(study: Study) -> set[int]:
    worker = study.workers()[:1]
    kill(worker)
    return {*worker}


def a_manager(study: Study) -> set[int]:
    manager = study.managers()[0]
    its = workers_of(study, "SLURMD_NODENAME", environment_of(manager)["SLURMD_NODENAME"])
    kill([manager])
    return its


def a_node(study: Study) -> set[int]:
    its = workers_of(study, "SLURMD_NODENAME", "n1")
    study.slurm.lose_node("n1")
    return its


def a_job(study: Study) -> set[int]:
    job = min(study.slurm.jobs(), key=int)
    its = workers_of(study, "SLURM_JOB_ID", job)
    study.slurm.call("scancel", job)
    return its


def all_jobs(study: Study) -> set[int]:
    its = {*study.workers()}
    study.slurm.call("scancel", *study.slurm.jobs())
    return its


@pytest.mark.parametrize("loss", [a_worker, a_manager, a_node, a_job, all_jobs])
def test_what_is_lost_is_replaced(study: Make, loss: Callable[[Study], set[int]]) -> None:
    made = study(cells=800, blocks=3)
    made.start()
    assert until(lambda: len(made.workers()) == made.slots, 90), made.said()
    made.until_stored(made.slots)
    lost, begin = loss(made), time.monotonic()
    assert lost
    assert until(lambda: len({*made.workers()} - lost) == made.slots, 90), made.said()
    tell(f"as many workers as before after {time.monotonic() - begin:.0f} s")
    assert made.wait() == 0, made.said()
    made.check(twice_at_most=made.window)


def test_a_cell_kills_its_worker(study: Make) -> None:
    """As one that takes all memory may: it fails with the cause, the others are ok."""
    made = study()
    made.qemu(made.folder / "qemu", 'case "$*" in *cas_success=77,*) kill -9 $PPID;; esac')
    made.start()
    assert made.wait() == 1, made.said()
    ((cause,),) = made.rows("SELECT cause FROM runs WHERE status = 'failed'")
    assert "lost 4 times" in cause
    made.check(twice_at_most=4 * CHUNK, failed=1)


def test_a_job_is_past_its_wall_time(study: Make) -> None:
    """Cells of 35 seconds in jobs of one minute: the second cell of each worker is cut off."""
    made = study(cells=PRIMED + 16, pace_s=35)
    made.configure(wall_time="00:01:00")
    made.start()
    assert made.wait(600) == 0, made.said()
    assert made.twice() > 0
    made.check(twice_at_most=made.window)


OTHER = 'case "$1" in --version) echo "qemu version 9.8.7"; exit;; esac'


def test_a_node_has_another_qemu(study: Make) -> None:
    made = study()
    other = made.qemu(made.folder / "other", OTHER)
    command = f"export LOCKCROSS_QEMU={other}"
    made.configure(commands=[f'if [ "$SLURMD_NODENAME" = n2 ]; then {command}; fi'])
    made.start()
    assert made.wait() == 0, made.said()
    assert "n2" in made.said() and "QEMU 9.8.7" in made.said()
    assert made.nodes() == {"n1", "n3", "n4"}
    made.check(twice_at_most=0)


def test_every_node_has_another_qemu(study: Make) -> None:
    """Nothing can be run: the driver says so and ends. With the right one all cells are run."""
    made = study(cells=60)
    other = made.qemu(made.folder / "other", OTHER)
    made.configure(commands=[f"export LOCKCROSS_QEMU={other}"])
    made.start()
    assert made.wait(120) == 1, made.said()
    assert "QEMU 9.8.7" in made.said() and len(made.starts()) == PRIMED
    goes_on(made, twice_at_most=0, settle=made.configure)


def goes_on(study: Study, twice_at_most: int, settle: Callable[[], object] = lambda: None) -> None:
    """The driver has ended, and nothing is left; once all is well it runs the rest."""
    begin = time.monotonic()
    assert until(lambda: not study.left(), GONE_S), study.left()
    tell(f"all gone after {time.monotonic() - begin:.0f} s; {study.stored()} cells stored")
    settle()
    study.start()
    assert study.wait() == 0, study.said()
    study.check(twice_at_most)


def test_the_driver_is_killed_four_times(study: Make) -> None:
    """At random moments; it is started again at once, or when nothing is left of it."""
    made = study(cells=600)
    draw = random.Random(SEED)
    for turn in range(4):
        made.start()
        time.sleep(draw.uniform(5, 25))
        made.kill_driver()
        if turn % 2 == 0:
            assert until(lambda: not made.left(), GONE_S), made.left()
    goes_on(made, twice_at_most=5 * made.window)


@pytest.mark.parametrize("blow", [signal.SIGINT, signal.SIGTERM])
def test_the_driver_is_interrupted(study: Make, blow: signal.Signals) -> None:
    made = study()
    made.start()
    made.until_stored(20)
    made.driver.send_signal(blow)
    assert made.wait(GONE_S) == 128 + blow
    goes_on(made, twice_at_most=made.window)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 32 MB."""
    place = tmp_path / "small"
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=32m", "lockcross", str(place)]
    made = subprocess.run(words, capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"no file system can be mounted here: {made.stderr.strip()}")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


@pytest.mark.parametrize("of", ["database", "run folders"])
def test_a_disk_is_full(study: Make, small_disk: Path, of: str) -> None:
    """No cell fails for it."""
    made = study(**({"db": small_disk / "study.db"} if of == "database" else {}))
    if of == "run folders":
        made.configure(scratch=str(small_disk))
    made.start()
    made.until_stored(20)
    file = small_disk / "fill"
    with file.open("wb", buffering=0) as out, suppress(OSError):
        while True:
            out.write(bytes(4096))
    assert made.wait(120) == 1, made.said()
    assert "full" in made.said()
    assert not made.rows("SELECT id FROM runs WHERE status != 'ok'")
    goes_on(made, twice_at_most=made.window, settle=file.unlink)


def test_the_controller_is_down_for_a_minute(study: Make) -> None:
    """Cells go on; jobs are ended when it is there again."""
    made = study(cells=600, blocks=2)
    made.start()
    made.until_stored(20)
    made.slurm.kill("slurmctld")
    stored = made.stored()
    time.sleep(60)
    went_on = made.stored() - stored
    made.slurm.start_controller()
    tell(f"{went_on} cells were stored while it was down")
    assert went_on > 200
    assert made.wait() == 0, made.said()
    made.check(twice_at_most=0)
