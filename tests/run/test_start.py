"""The starter of runs (sweeps/run/start.c): a run dies with its driver, and keeps its limits."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from results.children import STARTER
from sweeps.run.processes import Processes, Task
from sweeps.support import tools
from tests.commands import SMALL, environment, program
from tests.commands import start as start_command
from tests.processes import alive, until

CPU = min(os.sched_getaffinity(0))


def start(*words: str, parent: int | None = None) -> subprocess.CompletedProcess[str]:
    first = [str(STARTER), str(os.getpid() if parent is None else parent), str(CPU), "1000"]
    return subprocess.run([*first, *words], capture_output=True, text=True, check=False)


def test_the_command_runs_with_its_arguments_where_it_should_and_within_limits() -> None:
    """On the size of files, and it writes no core."""
    said = "import os, resource as r, sys; print(sys.argv[1:], os.sched_getaffinity(0), "
    said += "r.getrlimit(r.RLIMIT_FSIZE), r.getrlimit(r.RLIMIT_CORE))"
    done = start(sys.executable, "-c", said, "a b", "")
    assert done.stdout == f"['a b', ''] {{{CPU}}} (1000, 1000) (0, 0)\n"
    assert done.returncode == 0


def test_what_cannot_be_started_says_so(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("no program\n")
    script.chmod(0o755)
    done = start(str(script))
    assert done.returncode == 126
    assert done.stderr == f"{script}: Exec format error\n"
    assert "usage: start" in start().stderr
    with pytest.raises(OSError, match="Exec format error"):
        tools.run([str(script)])
    with pytest.raises(FileNotFoundError):
        tools.run(["lockcross-no-such-program"])
    with Processes[str](1, tmp_path / "runs") as processes, pytest.raises(FileNotFoundError):
        list(processes.run([Task("", [str(tmp_path / "nothing")], 5.0)]))


def test_it_starts_nothing_for_a_driver_that_is_gone() -> None:
    done = start("/bin/echo", "here", parent=os.getpid() + 1)
    assert (done.returncode, done.stdout) == (127, "")


@pytest.mark.parametrize("end", ["driver", "program"])
def test_what_a_run_has_started_dies_with_it_and_with_its_driver(tmp_path: Path, end: str) -> None:
    """A program that is a script, and ignores all signals it can."""
    script = f"trap '' TERM; sleep 60 & echo $! >{tmp_path}/child; "
    script += "wait" if end == "driver" else f"until [ -e {tmp_path}/end ]; do sleep 0.1; done"
    driver = (
        "import sys, time; from results import children; "
        f"run = children.start(['sh', '-c', {script!r}]); "
        "print(run.pid, flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", driver],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(),
    )
    run, child = int(process.stdout.readline()), tmp_path / "child"
    assert until(lambda: child.exists() and child.read_text())
    if end == "driver":
        process.kill()
    else:
        (tmp_path / "end").touch()
    try:
        assert until(lambda: not any(map(alive, [run, int(child.read_text())])), 10)
    finally:
        process.kill()
        process.wait()


def test_a_version_that_hangs_leaves_nothing(tmp_path: Path) -> None:
    program(tmp_path, "hangs", f"trap '' TERM; echo $$ >{tmp_path}/pid; sleep 60; true")
    with pytest.raises(subprocess.TimeoutExpired):
        tools.run([str(tmp_path / "hangs"), "--version"], 0.5)
    assert_gone(int((tmp_path / "pid").read_text()))


def assert_gone(group: int) -> None:
    """Nothing is left of a group of processes, once init has collected them."""
    with pytest.raises(ProcessLookupError):
        until(lambda: os.killpg(group, 0), 10)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_command_that_is_ended_takes_what_it_asks_along(tmp_path: Path, number: int) -> None:
    """The compiler hangs when it is asked for its version, in a script of a script."""
    program(tmp_path, "x86_64-linux-gnu-gcc", f"echo $$ >{tmp_path}/pid; sleep 60; true")
    words = ["run", *SMALL, "--db", str(tmp_path / "a.db")]
    path = f"{tmp_path}:{os.environ['PATH']}"
    process = start_command(*words, LOCKCROSS_CC="gcc", PATH=path)
    pid = tmp_path / "pid"
    assert until(lambda: pid.exists() and pid.read_text(), 60)
    time.sleep(0.2)
    group = int(pid.read_text())
    process.send_signal(number)
    _, err = process.communicate(timeout=10)
    assert number == signal.SIGKILL or (process.returncode == 128 + number and "interrupted" in err)
    assert_gone(group)
