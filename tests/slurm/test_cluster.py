"""A sweep on a real Slurm: its results are this machine's."""

from pathlib import Path

import pytest

from results.errors import LockcrossError
from sweeps.run.cluster.session import PARSL
from tests.commands import fresh
from tests.processes import until
from tests.run.jobs import RUNS, rows, write_plan
from tests.slurm.daemons import NODES, Slurm
from tests.slurm.study import slurm_cluster


@pytest.fixture
def site(slurm: Slurm) -> dict[str, str]:
    """Variables of a driver on that Slurm."""
    try:
        PARSL.install()
    except LockcrossError as error:
        pytest.skip(error.message)
    return {name: slurm.env[name] for name in ("SLURM_CONF", "PATH")}


@pytest.mark.long
def test_every_metric_is_that_of_this_machine(
    slurm: Slurm, site: dict[str, str], tmp_path: Path
) -> None:
    """A thousand cells."""
    axes = {"isa": ["x86_64", "ppc64le", "aarch64"], "lock": ["cas_spin", "thin", "tasuki"]}
    plan = write_plan(tmp_path, latencies=112, iterations=50, **axes)
    file = slurm_cluster(tmp_path, workers=4, blocks=4)
    here, there = tmp_path / "here.db", tmp_path / "there.db"
    said = fresh("sweep", str(plan), "--db", str(there), "--cluster", str(file), **site)
    assert said.returncode == 0, said.stderr
    assert fresh("sweep", str(plan), "--db", str(here)).returncode == 0
    found = rows(there, RUNS)
    assert len(found) == 9 * 112 and found == rows(here, RUNS)
    places = rows(there, "SELECT host, job FROM runs JOIN places ON places.id = place_id")
    assert {host for host, _ in places} == {*NODES}  # there is work for all
    assert all(job.isdigit() for _, job in places)
    assert not list(tmp_path.glob("scratch/*/*/runs/[!.]*"))
    assert until(lambda: not slurm.jobs() and not slurm.processes())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"partition": "nosuch"}, "the batch system gives no job:"),
        ({"python": "/no/python"}, "jobs have ended before a worker of theirs answered"),
    ],
)
def test_a_cluster_that_runs_nothing_says_why(
    slurm: Slurm, site: dict[str, str], tmp_path: Path, change: dict[str, str], message: str
) -> None:
    file = slurm_cluster(tmp_path, workers=4, blocks=4, **change)
    db = tmp_path / "a.db"
    said = fresh("sweep", "smoke", "--db", str(db), "--cluster", str(file), **site)
    assert said.returncode == 1 and message in said.stderr, said.stderr
    assert "the same command runs the rest" in said.stderr
    assert not slurm.jobs()
