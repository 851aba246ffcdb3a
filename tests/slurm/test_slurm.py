"""The Slurm that the tests start: it runs jobs, and nothing of it is left, however it ends."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from results.paths import ROOT
from tests.slurm import daemons
from tests.slurm.daemons import Slurm
from tests.slurm.study import until


def submit(slurm: Slurm, folder: Path, script: str, *options: str) -> str:
    """The number of a job whose output goes to `folder`/out."""
    out = ["-o", str(folder / "out"), "-D", str(folder)]
    return slurm.call("sbatch", "--parsable", *out, *options, "--wrap", script).strip()


def test_four_nodes_are_idle(slurm: Slurm) -> None:
    slurm.wait_for_nodes()
    assert slurm.idle() == ["n1", "n2", "n3", "n4"]


def test_a_job_runs_on_every_node(slurm: Slurm, tmp_path: Path) -> None:
    script = "srun sh -c 'echo $SLURMD_NODENAME'"
    job = submit(slurm, tmp_path, script, "-N4", "--ntasks-per-node=1", "--exclusive")
    assert until(lambda: job not in slurm.jobs())
    assert sorted((tmp_path / "out").read_text().split()) == ["n1", "n2", "n3", "n4"]
    assert until(lambda: not slurm.processes())


def test_scancel_ends_a_job_and_its_processes(slurm: Slurm, tmp_path: Path) -> None:
    job = submit(slurm, tmp_path, "sleep 600 & sleep 600")
    assert until(lambda: "sleep 600" in slurm.processes().values())
    slurm.call("scancel", job)
    assert until(lambda: job not in slurm.jobs() and not slurm.processes())


def test_a_queue_that_never_starts_a_job(slurm: Slurm, tmp_path: Path) -> None:
    job = submit(slurm, tmp_path, "true", "-p", "never")
    assert slurm.jobs()[job] == "PENDING"
    slurm.call("scancel", job)


def test_where_slurm_is_missing_one_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemons, "_PATH", "/nonexistent")
    assert daemons.missing() == (
        "no munged, slurmctld, slurmd, sbatch, sinfo (apt-get install slurm-wlm munge): "
        "Slurm is not tried"
    )


OWNER = """
import time
from tests.slurm.daemons import Slurm
from tests.slurm.study import until
slurm = Slurm(nodes=1)
slurm.call("sbatch", "-o", "/dev/null", "--wrap", "sleep 600 & sleep 600")
while "sleep 600" not in slurm.processes().values():
    time.sleep(0.1)
print(slurm.keeper.pid, *slurm.keeper.processes(), slurm.folder, flush=True)
time.sleep(600)
"""


def test_nothing_is_left_when_its_owner_is_killed(slurm: Slurm) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-P", "-c", OWNER], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert owner.stdout is not None
    *pids, folder = owner.stdout.readline().split()
    assert len(pids) >= 7  # keeper, three daemons, the job's keeper, shell and two sleeps
    os.kill(owner.pid, signal.SIGKILL)
    owner.wait()
    assert until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), 10)
    assert until(lambda: not Path(folder).exists(), 10)
