"""Faults of the driver, its disks and the batch system, on a real Slurm: every cell ends, once;
nothing is left.

Minutes each, so run only when asked for: ./lockcross test -m faults -n 0 -s
"""

import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from sweeps.support.paths import ENGINE_PLUGIN
from tests.slurm.study import GONE_S, PRIMED, Study, tell, until

pytestmark = pytest.mark.faults
Make = Callable[..., Study]
SEED = 15


def test_the_driver_is_killed_ten_times(study: Make) -> None:
    """At random moments; it is started again at once, or when nothing is left of it."""
    one = study(cells=1000)
    draw = random.Random(SEED)
    for turn in range(10):
        stored, begun = one.stored(), one.starts()
        one.start()
        time.sleep(draw.uniform(1, 25))
        one.kill_driver()
        orphans, killed = {*one.left()}, time.monotonic()
        if turn % 2:
            continue
        assert until(lambda: not {*one.left()} & orphans, GONE_S), one.left()  # noqa: B023
        gone = time.monotonic() - killed
        lost = (one.starts() - begun) - (one.stored() - stored)
        tell(f"all gone after {gone:.0f} s; {lost} cells begun and not stored")
        assert lost <= one.window
    one.start()
    assert one.wait() == 0, one.said()
    one.check(twice_at_most=10 * one.window)


def test_the_drivers_machine_is_lost(study: Make) -> None:
    """The driver and all that it has started there: nobody is left to cancel its jobs."""
    one = study()
    one.start()
    one.until_stored(20)
    begin = time.monotonic()
    for pid in one.keeper.processes():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert until(lambda: not one.left(), GONE_S), one.left()
    tell(f"all gone after {time.monotonic() - begin:.0f} s")
    one.start()
    assert one.wait() == 0, one.said()
    one.check(twice_at_most=one.window)


@pytest.mark.parametrize("blow", [signal.SIGINT, signal.SIGTERM])
def test_the_driver_is_interrupted(study: Make, blow: signal.Signals) -> None:
    one = study()
    one.start()
    one.until_stored(20)
    os.kill(one.driver, blow)
    begin = time.monotonic()
    assert one.wait(GONE_S) == 130
    assert until(lambda: not one.left(), GONE_S), one.left()
    tell(f"all gone after {time.monotonic() - begin:.0f} s")
    one.start()
    assert one.wait() == 0, one.said()
    one.check(twice_at_most=one.window)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 32 MB."""
    place = tmp_path / "small"
    place.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=32m", "lockcross", place],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        pytest.skip(f"no file system can be mounted here: {made.stderr.strip()}")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def fill(place: Path) -> Path:
    """A file that takes all room that is left."""
    file = place / "fill"
    with file.open("wb", buffering=0) as out:
        try:
            while True:
                out.write(bytes(4096))
        except OSError:
            return file


def test_the_disk_of_the_database_is_full(study: Make, small_disk: Path) -> None:
    one = study(db=small_disk / "study.db")
    one.start()
    one.until_stored(20)
    file = fill(small_disk)
    assert one.wait(120) == 1, one.said()
    assert "full" in one.said()
    assert until(lambda: not one.left(), GONE_S), one.left()
    stored = one.stored()
    assert 20 <= stored < one.cells
    file.unlink()
    one.start()
    assert one.wait() == 0, one.said()
    tell(f"{stored} cells were stored when the disk was full")
    one.check(twice_at_most=one.window)


def test_the_disk_of_the_run_folders_is_full(study: Make, small_disk: Path) -> None:
    """On every node, as a shared one: no cell fails for it."""
    one = study()
    one.configure(scratch=str(small_disk))
    one.start()
    one.until_stored(20)
    file = fill(small_disk)
    assert one.wait(120) == 1, one.said()
    assert "full" in one.said()
    assert until(lambda: not one.left(), GONE_S), one.left()
    assert one.rows("SELECT count(*) FROM runs WHERE status != 'ok'") == [(0,)]
    file.unlink()
    one.start()
    assert one.wait() == 0, one.said()
    one.check(twice_at_most=one.window)


def test_the_disk_of_the_work_folder_is_full(study: Make, small_disk: Path) -> None:
    """Programs, Parsl's logs and jobs' scripts lie there: jobs that are lost are not replaced."""
    work = small_disk / "work"
    built = work / "build" / ENGINE_PLUGIN.parent.name
    built.mkdir(parents=True)
    shutil.copy(ENGINE_PLUGIN, built)
    one = study(LOCKCROSS_WORK=str(work))
    one.start()
    one.until_stored(20)
    file = fill(small_disk)
    one.slurm.call("scancel", *one.slurm.jobs())
    assert one.wait(120) == 1, one.said()
    assert "the disk is full" in one.said()
    tell(f"{one.stored()} cells were stored when the driver gave up")
    assert until(lambda: not one.left(), GONE_S), one.left()
    file.unlink()
    one.start()
    assert one.wait() == 0, one.said()
    one.check(twice_at_most=one.window)


def test_the_controller_is_down_for_a_minute(study: Make) -> None:
    """Cells go on; jobs are ended when it is there again."""
    one = study(cells=600, blocks=2)
    one.start()
    one.until_stored(20)
    one.slurm.kill("slurmctld")
    stored = one.stored()
    time.sleep(60)
    went_on = one.stored() - stored
    one.slurm.start_controller()
    tell(f"{went_on} cells were stored while it was down")
    assert went_on > 200
    assert one.wait() == 0, one.said()
    one.check(twice_at_most=0)


def test_the_controller_is_down_when_the_driver_starts(study: Make) -> None:
    """It has a minute to come back."""
    one = study(cells=60)
    one.slurm.kill("slurmctld")
    one.start()
    time.sleep(60)
    one.slurm.start_controller()
    assert one.wait() == 0, one.said()
    one.check(twice_at_most=0)


def test_the_controller_is_down_when_the_driver_ends(study: Make) -> None:
    """Jobs cannot be cancelled, and end by themselves; Slurm hears of it when it is there again."""
    one = study(cells=120, blocks=2)
    one.start()
    one.until_stored(60)
    one.slurm.kill("slurmctld")
    assert one.wait() == 0, one.said()
    begin = time.monotonic()
    assert until(lambda: not one.managers() and not one.workers(), GONE_S), one.left()
    tell(f"all workers gone after {time.monotonic() - begin:.0f} s")
    one.slurm.start_controller()
    one.check(twice_at_most=0)


def test_a_queue_never_starts_the_job(study: Make) -> None:
    """The driver gives up after the time that the cluster file sets; another queue runs it all."""
    one = study(cells=60)
    one.configure("queue_minutes = 0.5", partition="never")
    begin = time.monotonic()
    one.start()
    assert one.wait(120) == 1, one.said()
    assert "queue_minutes" in one.said()
    tell(f"it gave up after {time.monotonic() - begin:.0f} s")
    assert until(lambda: not one.left(), GONE_S), one.left()
    assert one.stored() == PRIMED
    one.configure()
    one.start()
    assert one.wait() == 0, one.said()
    one.check(twice_at_most=0)
