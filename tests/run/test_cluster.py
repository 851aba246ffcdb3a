"""Cells on a cluster, as far as they need neither Slurm nor Parsl."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from results.errors import LockcrossError
from results.paths import WORK
from results.store.records import Place
from results.store.store import Store
from sweeps.engines.base import Limits
from sweeps.model.cell import Cell
from sweeps.programs import Binary
from sweeps.run.cluster import worker
from sweeps.run.cluster.description import Cluster, load_cluster
from sweeps.run.cluster.pool import CHUNK_S, Chunks
from sweeps.run.cluster.session import PARSL, Session
from sweeps.run.cluster.worker import Chunk
from sweeps.run.runner import Runner
from sweeps.run.work import Done, Work
from sweeps.support.paths import CLUSTERS
from tests.commands import environment, fresh
from tests.processes import until
from tests.run.jobs import RUNS, rows, write_cluster, write_plan
from tests.run.test_runner import CELL

CLUSTER = Cluster(title="a test", provider="slurm", workers=4, blocks=2)


def work(number: int, expected_s: float | None = 0.1) -> Work:
    binary = Binary(Path("no"), f"digest {number}", "gcc")
    return Work(CELL, str(number), "version", binary, Limits(60.0), expected_s, keep=False)


# The cluster file


def test_every_cluster_file_of_the_tree_is_valid() -> None:
    names = sorted(path.stem for path in CLUSTERS.glob("*.toml"))
    assert names == ["local", "site"]
    assert load_cluster("site").slots == 64 and load_cluster("site").wall_s == 7200


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("provider", "slurmm", "'slurmm': Input should be 'slurm', 'local', 'pbs'"),
        ("workers", 0, "0: Input should be greater than or equal to 1"),
        ("wall_time", "2h", "'2h': allowed is a time as 02:00:00"),
        ("wall_time", "00:00:00", "'00:00:00': allowed is a time as 02:00:00"),
        ("scratch", "/a b", "'/a b': spaces, quotes and backslashes are not allowed"),
        ("partitions", 3, "unknown key; allowed are title, provider, partition"),
        ("commands.0", 3, "3: Input should be a valid string"),
    ],
)
def test_a_wrong_cluster_file_is_named_with_key_and_value(
    tmp_path: Path, key: str, value: object, message: str
) -> None:
    changed = {"commands": [value]} if key == "commands.0" else {key: value}
    file = write_cluster(tmp_path, **{"provider": "slurm", "workers": 2} | changed)
    with pytest.raises(LockcrossError) as error:
        load_cluster(str(file))
    assert error.value.exit_code == 2 and f"{key}: {message}" in error.value.message


def test_a_command_without_its_cluster_file(tmp_path: Path) -> None:
    said = fresh("sweep", "smoke", "--cluster", "no/such.toml", "--db", str(tmp_path / "a.db"))
    assert said.returncode == 2 and "cluster no/such.toml: No such file" in said.stderr
    assert not (tmp_path / "a.db").exists()


# Chunks


def all_of(works: Sequence[Work]) -> list[list[Work]]:
    return list(iter(Chunks(works, slots=4).next, []))


def test_chunks_hold_two_seconds_and_get_smaller_towards_the_end() -> None:
    works = [work(number, 0.125) for number in range(2000)]
    found = all_of(works)
    assert [one.identity for chunk in found for one in chunk] == [one.identity for one in works]
    lengths = [0.125 * len(chunk) for chunk in found]
    assert lengths[0] == CHUNK_S and lengths == sorted(lengths, reverse=True)
    assert lengths[-2] == 0.5


def test_cells_that_take_long_go_one_by_one() -> None:
    assert [len(chunk) for chunk in all_of([work(n, 60.0) for n in range(9)])] == [1] * 9


def test_of_unknown_cells_few_are_sent_until_one_has_ended() -> None:
    works = [work(number, None) for number in range(1000)]
    chunks = Chunks(works, slots=4)
    first = chunks.next()
    assert len(first) == 4
    place = Place("n1", "a processor")
    chunks.learn(first, [Done(one.identity, duration_s=0.01, place=place) for one in first])
    assert len(chunks.next()) == pytest.approx(0.01 * 996 / 8 / 0.01, abs=2)


def test_what_was_lost_is_sent_again_before_all_else() -> None:
    chunks = Chunks([work(number) for number in range(100)], slots=1)
    first = chunks.next()
    chunks.again(first)
    assert chunks.next() is first


# Blocks


class Executor:
    """The part of Parsl's executor that a session uses."""

    def __init__(self) -> None:
        self.address = "10.0.0.1"
        self.status_facade: dict[str, Any] = {}
        self.managers: list[dict[str, Any]] = []
        self.cancelled: list[str] = []
        self.blocks_to_job_id = {str(block): f"job {block}" for block in range(3)}
        self.interchange_proc = SimpleNamespace(poll=lambda: None)
        self.provider = SimpleNamespace(
            scheduler_options="#SBATCH --no-requeue", cancel=self.cancelled.extend
        )

    def connected_managers(self) -> list[dict[str, Any]]:
        return self.managers

    def _hold_block(self, block: str) -> None:
        assert block in self.blocks_to_job_id

    def node(self, block: str) -> None:
        self.managers.append({"block_id": block, "worker_count": 4, "active": True})

    def state(self, *names: str, message: str = "", said: str = "") -> None:
        self.status_facade = {
            str(number): SimpleNamespace(status_name=name, message=message, stderr_summary=said)
            for number, name in enumerate(names)
        }


@pytest.fixture
def executor() -> Executor:
    return Executor()


@pytest.fixture
def session(executor: Executor) -> Session:
    """A session whose executor is made up."""
    made = Session(CLUSTER)
    made._kernel, made._executor = object(), executor
    return made


def test_blocks_are_counted(session: Session, executor: Executor) -> None:
    assert Session(CLUSTER).state() == ""
    executor.state("RUNNING", "PENDING")
    executor.node("0")
    session.poll()
    assert session.state() == "1 blocks running, 1 queued, 4 workers"


@pytest.mark.parametrize(
    ("failed", "expected"),
    [
        ({"message": "Failed to start block 0: stderr=invalid partition"}, "no job: invalid part"),
        ({"said": "line 1\npython: not found\n"}, "before a worker .*: python: not found; check"),
    ],
)
def test_when_there_is_no_use_in_waiting(
    session: Session, executor: Executor, failed: dict[str, str], expected: str
) -> None:
    executor.state(*["FAILED"] * 2, **failed)
    session.poll()
    executor.state(*["FAILED"] * 3, **failed)
    session._next_poll = 0.0
    with pytest.raises(LockcrossError, match=expected) as error:
        session.poll()
    assert error.value.exit_code == 1 and "the same command runs the rest" in error.value.message


def test_an_interchange_that_has_died_is_told(session: Session, executor: Executor) -> None:
    executor.interchange_proc = SimpleNamespace(poll=lambda: -9)
    with pytest.raises(LockcrossError, match="interchange on this machine has ended"):
        session.poll()


def test_nodes_that_cannot_run_cells_are_left_out(
    session: Session, executor: Executor, capsys: pytest.CaptureFixture[str]
) -> None:
    executor.node("0")
    executor.node("1")
    for _ in range(2):  # as many answers as it had chunks
        session.leave_out("n0", "0", "no QEMU")
    assert executor.cancelled == ["job 0"] and session.workers == 4
    session.leave_out("n1", "1", "no QEMU")
    options = executor.provider.scheduler_options.splitlines()
    assert [line for line in options if line] == ["#SBATCH --no-requeue", "#SBATCH --exclude=n0,n1"]
    assert capsys.readouterr().err.splitlines() == [
        f"lockcross: node {host} is left out: no QEMU" for host in ("n0", "n1")
    ]
    with pytest.raises(LockcrossError, match="no node can run the cells") as error:
        session.leave_out("n2", "2", "another QEMU")
    assert "n0: no QEMU\n  n1: no QEMU\n  n2: another QEMU" in error.value.message


# The worker


def chunk_of(tmp_path: Path, *cells: Cell, limits: Limits | None = None) -> Chunk:
    with Store(tmp_path / "prepare.db") as store:
        works = Runner(store, limits=limits).prepare(cells)
    return Chunk(works, str(tmp_path / "scratch"), worker.plugin_digest())


def test_a_worker_says_what_the_pool_of_this_machine_says(tmp_path: Path) -> None:
    cells = [replace(CELL, cas_latency=cas) for cas in (1, 30)]
    with Store(tmp_path / "here.db") as store:
        here = Runner(store).run(cells, "test")
    reply = worker.run_chunk(chunk_of(tmp_path, *cells))
    assert not reply.refused
    for one, run in zip(reply.done, here, strict=True):
        assert one.identity == run.identity
        assert {name: n for name, (n, _) in one.metrics.items()} == run.metrics
    assert not list((tmp_path / "scratch").glob("*/runs/[!.]*"))


def test_a_failed_run_says_why(tmp_path: Path) -> None:
    reply = worker.run_chunk(chunk_of(tmp_path, CELL, limits=Limits(60.0, instructions=10)))
    (one,) = reply.done
    assert one.cause.startswith("instruction limit: 10; core 0: block at ")
    assert one.output.startswith("standard output:")


def test_a_worker_with_another_engine_plugin_or_program_refuses(tmp_path: Path) -> None:
    chunk = chunk_of(tmp_path, CELL)
    engine = replace(chunk.works[0], engine_version="qemu-timing 0, QEMU 9")
    program = replace(chunk.works[0], binary=replace(chunk.works[0].binary, digest="0" * 64))
    shared = "is the tree shared"
    for changed, why in (
        ({"works": [engine]}, "there, and qemu-timing 0, QEMU 9 here; install the same version"),
        ({"plugin": "0" * 64}, shared),
        ({"works": [program]}, shared),
    ):
        reply = worker.run_chunk(replace(chunk, **changed))
        assert not reply.done and why in reply.refused


# Provenance


def test_a_run_knows_where_it_ran_and_its_identity_does_not(tmp_path: Path) -> None:
    db = tmp_path / "a.db"
    with Store(db) as store:
        (run,) = Runner(store).run([CELL], "test")
        (prepared,) = Runner(store).prepare([CELL])
    assert run.identity == prepared.identity
    where = "SELECT host, processor, job FROM places JOIN runs ON place_id = places.id"
    ((host, processor, job),) = rows(db, where)
    assert host == os.environ.get("SLURMD_NODENAME", os.uname().nodename) and processor and not job
    assert host in fresh("show", str(run.id), "--db", str(db)).stdout


# All of it, through Parsl on this machine


@pytest.fixture(scope="module")
def with_parsl() -> None:
    try:
        PARSL.install()
    except LockcrossError as error:
        pytest.skip(error.message)


@pytest.mark.long
@pytest.mark.usefixtures("with_parsl")
def test_a_sweep_on_this_machine_through_parsl(tmp_path: Path) -> None:
    file = (CLUSTERS / "local.toml").read_text() + f'scratch = "{tmp_path}/scratch"\n'
    (tmp_path / "local.toml").write_text(file)
    here, there = tmp_path / "here.db", tmp_path / "there.db"
    assert fresh("sweep", "smoke", "--db", str(here)).returncode == 0
    said = fresh("sweep", "smoke", "--db", str(there), "--cluster", str(tmp_path / "local.toml"))
    assert said.returncode == 0, said.stderr
    assert rows(here, RUNS) == rows(there, RUNS) and len(rows(here, RUNS)) > 20
    assert "workers" in said.stderr and "cells/s" in said.stderr
    again = fresh("sweep", "smoke", "--db", str(there), "--cluster", "local")
    assert again.returncode == 0 and "workers" not in again.stderr  # nothing to run: no jobs


@pytest.mark.usefixtures("with_parsl")
@pytest.mark.parametrize("blow", [signal.SIGINT, signal.SIGKILL])
def test_a_sweep_that_is_ended_leaves_no_process(tmp_path: Path, blow: signal.Signals) -> None:
    plan = write_plan(tmp_path, latencies=60, iterations=100_000)
    scratch = tmp_path / "scratch"
    cluster = write_cluster(tmp_path, provider="local", workers=2, scratch=str(scratch))
    words = ["sweep", str(plan), "--db", str(tmp_path / "a.db"), "--cluster", str(cluster)]
    driver = subprocess.Popen(
        [sys.executable, "-P", "-m", "sweeps", *words],
        stderr=subprocess.PIPE,
        text=True,
        env=environment(LOCKCROSS_WORK=str(WORK)),
        start_new_session=True,
    )
    assert until(lambda: driver.poll() or [*scratch.glob("*/runs/driver-*/*")], 90)
    assert driver.poll() is None
    (logs,) = (WORK / "build" / "cluster").glob(f"*-{driver.pid}-*")
    if blow == signal.SIGINT:
        os.killpg(driver.pid, blow)  # as a terminal does
        _, err = driver.communicate(timeout=60)
        assert driver.returncode == 130 and "interrupted" in err
    else:
        driver.kill()
        driver.wait()
    places = str(tmp_path), str(logs)
    assert until(lambda: not any(map(naming, places))), [*map(naming, places)]


def naming(text: str) -> list[str]:
    """The command lines of running processes that name something, and of those in its folder."""
    from psutil import process_iter  # of Parsl's

    running = [one.info for one in process_iter(["cmdline", "cwd"])]
    lines = [(" ".join(one["cmdline"] or []), one["cwd"] or "") for one in running]
    return [line for line, folder in lines if text in line or folder.startswith(text)]
