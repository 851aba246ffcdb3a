"""Folders that are kept of runs, and full disks."""

import multiprocessing
import os
from pathlib import Path

import pytest

from sweeps.cli.main import _os_error
from sweeps.programs import Builder, Program
from sweeps.run import artifacts
from sweeps.support.paths import RUN_FOLDERS
from tests.commands import program


def test_what_is_kept_is_plain_and_small(tmp_path: Path) -> None:
    run, place = tmp_path / "run", tmp_path / "kept" / "0123"
    (run / "inside").mkdir(parents=True)
    (run / "stdout").write_text("all of it")
    (run / "inside" / "long").write_bytes(b"a" * 3_000_000 + b"z" * 3_000_000)
    with (run / "sparse").open("w") as file:
        file.truncate(2**40)
    (run / "root").symlink_to("/")
    (run / "nowhere").symlink_to("nothing/there")
    os.mkfifo(run / "fifo")
    place.mkdir(parents=True)
    (place / "old").touch()
    artifacts.keep(run, place)
    assert not run.exists()
    kept = "fifo inside long nowhere root sparse stdout".split()
    assert sorted(path.name for path in place.rglob("*")) == kept
    assert (place / "stdout").read_text() == "all of it"
    assert (place / "root").readlink() == Path("/")
    long = (place / "inside" / "long").read_bytes()
    assert long.startswith(b"aaa") and len(long) < 1_100_000
    assert (place / "sparse").stat().st_size < 1_100_000
    assert [path.name for path in place.parent.iterdir()] == ["0123"]


def keep_often(runs: Path, place: Path) -> None:
    for number in range(100):
        run = runs / str(number)
        run.mkdir(parents=True)
        (run / "stdout").touch()
        artifacts.keep(run, place)


def test_drivers_may_keep_the_same_cell(tmp_path: Path) -> None:
    place = tmp_path / "kept" / "0123"
    with multiprocessing.Pool(3) as drivers:
        drivers.starmap(keep_often, [(tmp_path / name, place) for name in "abc"])
    assert [path.name for path in place.iterdir()] == ["stdout"]


def test_room_is_looked_for_without_a_trace() -> None:
    RUN_FOLDERS.mkdir(parents=True, exist_ok=True)
    artifacts.check_room(RUN_FOLDERS)
    assert not list(RUN_FOLDERS.glob(".probe"))


def test_a_compiler_without_room_is_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "/usr/bin/ld: final link failed: No space left on device"
    script = f'[ "$1" = --version ] || {{ echo {said} >&2; exit 1; }}; echo gcc 1'
    program(tmp_path, "x86_64-linux-gnu-gcc", script)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OSError) as error:
        Builder(folder=tmp_path / "bin").build([Program("sync", "thin", "full", "lock")])
    message = _os_error(error.value)
    assert "the disk is full" in message and str(tmp_path / "bin") in message and said in message
