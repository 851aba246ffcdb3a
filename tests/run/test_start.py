"""What starts runs (sweeps/run/start.c): a run dies with its driver, and keeps its limits."""

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sweeps.run.processes import Processes, Task
from sweeps.support.paths import STARTER

CPU = min(os.sched_getaffinity(0))


def start(*words: str, parent: int | None = None) -> subprocess.CompletedProcess[str]:
    first = [str(STARTER), str(os.getpid() if parent is None else parent), str(CPU), "1000"]
    return subprocess.run([*first, *words], capture_output=True, text=True, check=False)


def test_the_command_runs_with_its_arguments_where_it_should() -> None:
    said = "import os, sys; print(sys.argv[1:], os.sched_getaffinity(0))"
    done = start(sys.executable, "-c", said, "a b", "")
    assert (done.returncode, done.stdout) == (0, f"['a b', ''] {{{CPU}}}\n")


def test_its_files_are_limited_and_it_writes_no_core() -> None:
    limits = "import resource as r; print(r.getrlimit(r.RLIMIT_FSIZE), r.getrlimit(r.RLIMIT_CORE))"
    assert start(sys.executable, "-c", limits).stdout == "(1000, 1000) (0, 0)\n"


def test_what_cannot_be_started_says_so(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("no program\n")
    script.chmod(0o755)
    done = start(str(script))
    assert done.returncode == 126
    assert done.stderr == f"{script}: Exec format error\n"
    assert "usage: start" in start().stderr
    with Processes[str](1, tmp_path / "runs") as processes, pytest.raises(FileNotFoundError):
        list(processes.run([Task("", [str(tmp_path / "nothing")], 5.0)]))


def test_it_starts_nothing_for_a_driver_that_is_gone() -> None:
    done = start("/bin/echo", "here", parent=os.getpid() + 1)
    assert (done.returncode, done.stdout) == (127, "")


def test_a_run_dies_with_its_driver() -> None:
    words = f"'{STARTER}', str(os.getpid()), '{CPU}', '1000', '/bin/sleep', '60'"
    driver = (
        f"import os, subprocess, time; run = subprocess.Popen([{words}]); "
        "print(run.pid, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", driver], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        run = os.pidfd_open(int(process.stdout.readline()))
        time.sleep(0.2)
        process.send_signal(signal.SIGKILL)
    try:
        assert select.select([run], [], [], 10.0)[0], "the run is still there"
    finally:
        os.close(run)
