"""The simulator's side of the link to the plugin, against a peer that plays the plugin."""

import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.engines.sst_link import answers, build, gone, memory, peer


def test_requests_are_made_in_their_cycle_and_answered(tmp_path: Path) -> None:
    # A touch is not waited for; core 1 goes on while core 0 waits.
    done = memory(tmp_path, peer("script", "0,r,5", "0,t,5", "0,w,6,3", "1,r,7", "1,r,7,25"))
    assert done.returncode == 0, done.stderr
    assert sorted(answers(tmp_path)) == [
        ["0", "r", "5", "0", "10"],
        ["0", "w", "6", "13", "10"],
        ["1", "r", "7", "0", "10"],
        ["1", "r", "7", "35", "10"],
    ]
    assert done.stdout.split()[:2] == ["4", "1"]


def test_time_passes_without_requests(tmp_path: Path) -> None:
    assert memory(tmp_path, peer("idle", 12345)).returncode == 0
    assert answers(tmp_path) == [["12345"]]


@pytest.mark.parametrize(
    ("guest", "latency", "code", "cause"),
    [
        ("script 9,r,0", 10, 4, "read of line 0 by core 9 in cycle 0: there are 4 cores"),
        ("script 0,w,1000", 10, 4, "write of line 1000 by core 0 in cycle 0: the memory has 1000"),
        ("die 3", 10, 3, "the guest ended in its turn: signal 9"),
        ("leave 3", 10, 3, "the guest ended in its turn: exit code 9"),
        ("fail 3", 10, 3, "the plugin failed: the peer was told to fail"),
        ("idle 0", 10, 5, "deadlock: in cycle 0 every core waits, and no request is open"),
        ("lingering", 10, 3, "the guest did not end though its plugin was done"),
        # A memory that never answers.
        (
            "script 2,r,8",
            0,
            5,
            "deadlock in the memory system: read of line 8 by core 2 in cycle 0",
        ),
    ],
)
def test_what_goes_wrong_is_named(
    tmp_path: Path, guest: str, latency: int, code: int, cause: str
) -> None:
    done = memory(tmp_path, peer(*guest.split()), latency=latency)
    assert done.returncode == code
    assert cause in done.stderr


def test_a_guest_that_cannot_start_is_named(tmp_path: Path) -> None:
    done = memory(tmp_path, ["/nowhere/qemu"])
    assert done.returncode == 3
    assert "cannot start /nowhere/qemu: No such file or directory" in done.stderr


def test_a_guest_has_no_environment_and_no_other_files(tmp_path: Path) -> None:
    memory(tmp_path, ["/bin/sh", "-c", "/usr/bin/env; ls -1 /proc/self/fd"])
    lines = (tmp_path / "guest.out").read_text("utf-8").splitlines()
    # What sh sets itself; the last two descriptors are the link's and that of ls.
    assert [line for line in lines if "=" in line and line[0] not in "P_"] == []
    assert len([line for line in lines if line.isdigit()]) == 5


@pytest.mark.parametrize("seed", range(10))
def test_a_killed_simulator_leaves_no_guest(tmp_path: Path, seed: int) -> None:
    program = build("memory", "session", "guest", "link_server")
    guest = peer("sleep" if seed % 2 else "contend", 10**9)
    started = subprocess.Popen([program, "4", "1000", "1000", "10", *guest], cwd=tmp_path)
    time.sleep(random.Random(seed).uniform(0.0, 0.3))
    started.send_signal(signal.SIGKILL)
    started.wait()
    assert gone(tmp_path)
