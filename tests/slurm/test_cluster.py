"""A sweep on a real Slurm: its results are this machine's."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from results.errors import LockcrossError
from results.store.store import Store
from sweeps.run.cluster.session import PARSL
from tests.commands import fresh
from tests.slurm.daemons import Slurm
from tests.slurm.study import until

PLAN = """
title = "A thousand cells"
[[sweep]]
machine = "generic"
isa = ["x86_64", "ppc64le", "aarch64"]
lock = ["cas_spin", "thin", "tasuki"]
workload = "sync"
parameters = { iterations = 50 }
cas_latency = { from = 1, to = 112, step = 1 }
"""
CLUSTER = """
title = "A Slurm of four nodes"
provider = "slurm"
partition = "debug"
address = "127.0.0.1"
workers = 4
blocks = 4
wall_time = "00:10:00"
scratch = "{folder}/scratch-$SLURMD_NODENAME"
"""


@pytest.fixture
def site(slurm: Slurm, tmp_path: Path) -> dict[str, str]:
    """Variables of a driver on that Slurm; its cluster file is cluster.toml."""
    try:
        PARSL.install()
    except LockcrossError as error:
        pytest.skip(error.message)
    (tmp_path / "cluster.toml").write_text(CLUSTER.format(folder=tmp_path))
    return {name: slurm.env[name] for name in ("SLURM_CONF", "PATH")}


def all_of(db: Path) -> list[Any]:
    """Everything that a run says, without where and when it ran."""
    with Store(db, read_only=True) as store:
        return store.connection.execute(
            "SELECT identity, status, cause, engine_version, binary_digest, attempts, numbers, "
            "layout, resolved_options.digest FROM runs JOIN run_metrics ON run_id = runs.id "
            "JOIN metric_sets ON metric_sets.id = metric_set "
            "JOIN resolved_options ON resolved_options.id = resolved_id ORDER BY identity"
        ).fetchall()


def places(db: Path) -> list[tuple[str, str, int]]:
    """Hosts and jobs, and how many runs each has."""
    connection = sqlite3.connect(db)
    found = connection.execute(
        "SELECT host, job, count(*) FROM runs JOIN places ON places.id = place_id GROUP BY 1, 2"
    ).fetchall()
    connection.close()
    return found


@pytest.mark.long
def test_every_metric_is_that_of_this_machine(
    slurm: Slurm, site: dict[str, str], tmp_path: Path
) -> None:
    plan, file = tmp_path / "plan.toml", tmp_path / "cluster.toml"
    plan.write_text(PLAN)
    here, there = tmp_path / "here.db", tmp_path / "there.db"
    said = fresh("sweep", str(plan), "--db", str(there), "--cluster", str(file), **site)
    assert said.returncode == 0, said.stderr
    assert fresh("sweep", str(plan), "--db", str(here)).returncode == 0
    found = all_of(there)
    assert len(found) == 9 * 112 and found == all_of(here)
    assert {host for host, _, _ in places(there)} == {*slurm.nodes}  # there is work for all
    assert all(job.isdigit() for _, job, _ in places(there))
    assert not list(tmp_path.glob("scratch-*/*/runs/[!.]*"))
    assert until(lambda: not slurm.jobs() and not slurm.processes())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ('partition = "nosuch"', "the batch system gives no job:"),
        ('python = "/no/python"', "jobs have ended before a worker of theirs answered"),
    ],
)
def test_a_cluster_that_runs_nothing_says_why(
    slurm: Slurm, site: dict[str, str], tmp_path: Path, change: str, message: str
) -> None:
    file = tmp_path / "cluster.toml"
    kept = [line for line in file.read_text().splitlines() if not change.startswith(line[:9])]
    file.write_text("\n".join([*kept, change]))
    db = tmp_path / "a.db"
    said = fresh("sweep", "smoke", "--db", str(db), "--cluster", str(file), **site)
    assert said.returncode == 1 and message in said.stderr, said.stderr
    assert "the same command runs the rest" in said.stderr
    assert not slurm.jobs()
