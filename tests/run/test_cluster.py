"""Cells on a cluster, as far as they need neither Slurm nor Parsl."""

import hashlib
import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from results.errors import LockcrossError
from results.paths import ROOT, WORK
from results.store.records import Place
from results.store.store import Store
from sweeps.engines.base import Limits
from sweeps.model.cell import Cell
from sweeps.programs import Binary
from sweeps.run import kept
from sweeps.run.cluster import session, ship, tied, watch
from sweeps.run.cluster.description import Cluster, load_cluster
from sweeps.run.cluster.node import boot, worker
from sweeps.run.cluster.node.worker import Chunk
from sweeps.run.cluster.parsl_pool import CHUNK_S, Chunks, ParslPool
from sweeps.run.cluster.session import PARSL
from sweeps.run.runner import Runner
from sweeps.run.work import Done, Work
from sweeps.support.paths import CLUSTERS, ENGINE_PLUGIN
from tests.commands import environment, fresh, program
from tests.run.test_runner import CELL

CLUSTER = Cluster(title="a test", provider="slurm", workers=4, blocks=2)


def work(number: int, expected_s: float | None = 0.1, cell: Cell = CELL) -> Work:
    binary = Binary(Path("no"), f"digest {number}", "gcc")
    return Work(cell, str(number), "version", binary, Limits(60.0), expected_s, keep=False)


def done(one: Work, seconds: float) -> Done:
    place = Place("n1", "a processor")
    return Done(one.identity, duration_s=seconds, place=place)


# The cluster file


def test_every_cluster_file_of_the_tree_is_valid() -> None:
    names = sorted(path.stem for path in CLUSTERS.glob("*.toml"))
    assert names == ["local", "site"]
    assert load_cluster("site").slots == 64 and load_cluster("site").wall_s == 7200


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('provider = "slurmm"', "provider: 'slurmm': unknown; known are slurm, local, pbs"),
        ("workers = 0", "workers: 0: Input should be greater than or equal to 1"),
        ('wall_time = "2h"', "wall_time: '2h': allowed is a time as 02:00:00"),
        ('wall_time = "00:00:00"', "wall_time: '00:00:00': allowed is a time as 02:00:00"),
        ('scratch = "/a b"', "scratch: '/a b': spaces, quotes and backslashes are not allowed"),
        ('tree = "sent"', "tree: 'sent': Input should be 'shared' or 'shipped'"),
        ("partitions = 3", "partitions: unknown key; allowed are title, provider, partition"),
        ("commands = [3]", "commands.0: 3: Input should be a valid string"),
    ],
)
def test_a_wrong_cluster_file_is_named_with_key_and_value(
    tmp_path: Path, line: str, message: str
) -> None:
    rest = {"title": '"a test"', "provider": '"slurm"', "workers": "2"}
    rest.pop(line.partition(" ")[0], None)
    text = "\n".join([*(f"{key} = {value}" for key, value in rest.items()), line])
    (tmp_path / "c.toml").write_text(text)
    with pytest.raises(LockcrossError) as error:
        load_cluster(str(tmp_path / "c.toml"))
    assert error.value.exit_code == 2 and message in error.value.message


def test_a_command_without_its_cluster_file(tmp_path: Path) -> None:
    said = fresh("sweep", "smoke", "--cluster", "no/such.toml", "--db", str(tmp_path / "a.db"))
    assert said.returncode == 2 and "cluster no/such.toml: No such file" in said.stderr
    assert fresh("cluster", "check", "nowhere").returncode == 2


# Chunks


def all_of(chunks: Chunks) -> list[list[Work]]:
    found = []
    while chunk := chunks.next():
        found.append(chunk)
    return found


def test_chunks_hold_two_seconds_and_get_smaller_towards_the_end() -> None:
    works = [work(number, 0.125) for number in range(2000)]
    found = all_of(Chunks(works, slots=4))
    assert [one.identity for chunk in found for one in chunk] == [one.identity for one in works]
    lengths = [0.125 * len(chunk) for chunk in found]
    assert lengths[0] == CHUNK_S and lengths == sorted(lengths, reverse=True)
    assert lengths[-2] == 0.5


def test_cells_that_take_long_go_one_by_one() -> None:
    assert {len(chunk) for chunk in all_of(Chunks([work(n, 60.0) for n in range(9)], 4))} == {1}


def test_of_unknown_cells_few_are_sent_until_one_has_ended() -> None:
    works = [work(number, None) for number in range(1000)]
    chunks = Chunks(works, slots=4)
    first = chunks.next()
    assert len(first) == 4
    chunks.learn(first, [done(one, 0.01) for one in first])
    assert len(chunks.next()) == pytest.approx(0.01 * 996 / 8 / 0.01, abs=2)


def test_what_was_lost_is_sent_again_before_all_else() -> None:
    chunks = Chunks([work(number) for number in range(100)], slots=1)
    first = chunks.next()
    chunks.again(first)
    assert chunks.next() is first


# Blocks


class Executor:
    """What blocks ask of Parsl's."""

    def __init__(self) -> None:
        self.address = "10.0.0.1"
        self.status_facade: dict[str, Any] = {}
        self.managers: list[dict[str, Any]] = []
        self.held: list[str] = []
        self.cancelled: list[str] = []
        self.blocks_to_job_id = {"0": "17"}
        self.job_ids_to_block = {"17": "0"}
        self.interchange_proc = SimpleNamespace(poll=lambda: None)
        self.provider = SimpleNamespace(
            scheduler_options="#SBATCH --no-requeue\n",
            cancel=self.cancelled.extend,
            execute_wait=lambda command: (0, "Resources\nPriority\n", ""),
        )

    def connected_managers(self) -> list[dict[str, Any]]:
        return self.managers

    def _hold_manager(self, manager: str) -> None:
        self.held.append(manager)

    def state(self, *states: tuple[str, str]) -> None:
        self.status_facade = {
            str(n): SimpleNamespace(
                status_name=name,
                message=f"Failed to start block {n}: stderr={said}" if name == "FAILED" else None,
                stderr_summary=f"line 1\n{said}\n",
            )
            for n, (name, said) in enumerate(states)
        }

    def node(self, name: str, block: str = "0") -> None:
        self.managers.append(
            {"manager": name, "block_id": block, "worker_count": 4, "active": True}
        )


@pytest.fixture
def look(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Looks at blocks after some time."""
    now = [1000.0]
    monkeypatch.setattr(session.time, "monotonic", lambda: now[0])

    def looked(known: session.Blocks, after_s: float) -> None:
        now[0] += after_s
        known.look()

    return looked


def test_blocks_are_counted(look: Any) -> None:
    executor = Executor()
    known = session.Blocks(executor, CLUSTER)
    executor.state(("RUNNING", ""), ("PENDING", ""))
    executor.node("a")
    look(known, 5)
    assert (known.running, known.queued, known.workers) == (1, 1, 4)


@pytest.mark.parametrize(
    ("state", "after_s", "message"),
    [
        (("FAILED", "sbatch: error: invalid partition"), 5, "refuses the job: sbatch: error: inv"),
        (
            ("MISSING", "python: not found"),
            5,
            "3 jobs in a row have ended before .*: python: not found",
        ),
        (("FAILED", "Unable to contact slurm controller"), 700, "has not answered for 12 minutes"),
        (("PENDING", ""), 86500, r"no job has started in 1440 minutes.*\(Slurm's reason: Prior"),
    ],
)
def test_when_there_is_no_use_in_waiting(
    look: Any, state: tuple[str, str], after_s: float, message: str
) -> None:
    executor = Executor()
    known = session.Blocks(executor, CLUSTER)
    executor.state(*[state] * 3)
    with pytest.raises(LockcrossError, match=message) as error:
        look(known, after_s)
    assert error.value.exit_code == 1 and "the same command runs the rest" in error.value.message


def test_a_batch_system_that_is_away_for_a_while_is_waited_for(
    look: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    executor = Executor()
    known = session.Blocks(executor, CLUSTER)
    executor.state(*[("FAILED", "Unable to contact slurm controller")] * 3)
    look(known, 5)
    look(known, 60)
    assert capsys.readouterr().err.count("the batch system does not answer; waiting") == 1


def test_an_interchange_that_has_died_is_told(look: Any) -> None:
    executor = Executor()
    executor.interchange_proc = SimpleNamespace(poll=lambda: -9)
    with pytest.raises(LockcrossError, match="interchange on this machine has ended"):
        look(session.Blocks(executor, CLUSTER), 5)


def test_a_node_that_cannot_run_cells_is_left_out(
    look: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    executor = Executor()
    executor.node("a", "0")
    executor.node("b", "1")
    known = session.Blocks(executor, CLUSTER)
    for _ in range(2):  # as many answers as it had chunks
        known.leave_out("n3", "a", "no QEMU")
    look(known, 5)
    assert executor.held == ["a"] and executor.cancelled == ["17"] and known.workers == 4
    assert executor.provider.scheduler_options.endswith("#SBATCH --exclude=n3\n")
    assert capsys.readouterr().err == "lockcross: node n3 is left out: no QEMU\n"


def test_without_any_fit_node_the_message_names_all() -> None:
    executor = Executor()
    known = session.Blocks(executor, CLUSTER)
    with pytest.raises(LockcrossError, match="no node can run the cells") as error:
        for number in range(3):
            executor.node(f"m{number}", str(number))
            known.leave_out(f"n{number}", f"m{number}", f"reason {number}")
    assert "n0: reason 0\n  n1: reason 1\n  n2: reason 2" in error.value.message


# The worker


def chunk_of(tmp_path: Path, *cells: Cell, **changes: Any) -> Chunk:
    with Store(tmp_path / "prepare.db") as store:
        works = [replace(one, **changes) for one in Runner(store).prepare(cells)]
    plugin = hashlib.sha256(ENGINE_PLUGIN.read_bytes()).hexdigest()
    return Chunk(works, str(tmp_path / "scratch"), plugin)


def test_a_worker_says_what_the_pool_of_this_machine_says(tmp_path: Path) -> None:
    cells = [replace(CELL, cas_latency=cas) for cas in (1, 30)]
    with Store(tmp_path / "here.db") as store:
        here = Runner(store).run(cells, "test")
    reply = worker.run_works(chunk_of(tmp_path, *cells))
    assert not reply.refused and not reply.folders
    for one, run in zip(reply.done, here, strict=True):
        assert one.identity == run.identity
        assert {name: n for name, (n, _) in one.metrics.items()} == run.metrics
    assert not list(worker.scratch_folder(str(tmp_path / "scratch")).glob("runs/[!.]*"))


def test_a_failed_run_comes_with_its_folder(tmp_path: Path) -> None:
    reply = worker.run_works(chunk_of(tmp_path, CELL, limits=Limits(60.0, instructions=10)))
    (one,) = reply.done
    assert one.cause == "instruction limit: 10"
    kept.unpack(reply.folders[one.identity], tmp_path / "kept")
    assert {path.name for path in (tmp_path / "kept").iterdir()} >= {"stdout", "stderr"}


def test_a_worker_with_another_engine_refuses(tmp_path: Path) -> None:
    reply = worker.run_works(chunk_of(tmp_path, CELL, engine_version="qemu-timing 0, QEMU 9"))
    assert not reply.done
    assert "there, and qemu-timing 0, QEMU 9 here; install the same version" in reply.refused


def test_a_worker_with_another_plugin_or_program_refuses(tmp_path: Path) -> None:
    chunk = chunk_of(tmp_path, CELL)
    assert "is the tree shared" in worker.run_works(replace(chunk, plugin="0" * 64)).refused
    other = replace(chunk.works[0], binary=replace(chunk.works[0].binary, digest="0" * 64))
    assert "is the tree shared" in worker.run_works(replace(chunk, works=[other])).refused


def test_programs_are_sent_once_and_checked(tmp_path: Path) -> None:
    chunk = chunk_of(tmp_path, CELL)
    cluster = CLUSTER.model_copy(update={"tree": "shipped"})
    pool = ParslPool(session.Session(cluster))
    first, second = pool.programs_for(chunk.works), pool.programs_for(chunk.works)
    digest = chunk.works[0].binary.digest
    assert first and list(first) == [digest] and second == {}
    lacking = worker.run_works(replace(chunk, programs=second))
    assert lacking.missing == [digest] and not lacking.done
    pool._lacking.add(chunk.works[0].identity)
    assert pool.programs_for(chunk.works) == first
    for sent in (first, second):  # the node has it from then on
        assert len(worker.run_works(replace(chunk, programs=sent)).done) == 1


def test_the_tree_is_unpacked_once_and_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCKCROSS_NODE", str(tmp_path))
    monkeypatch.setattr(boot, "_WAIT_S", 0.2)
    tree, call = ship.tree(), ("binascii:hexlify", b"a")
    assert boot.run(tree.digest, None, *call) is None
    assert boot.run(tree.digest, None, *call) is None  # another worker has asked: waits in vain
    with pytest.raises(OSError, match="damaged"):
        boot.run("0" * 64, tree.data, *call)
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert boot.run(tree.digest, tree.data, *call) == b"61"
    assert boot.run(tree.digest, None, *call) == b"61"
    (folder,) = tmp_path.glob("tree-????????????????")
    assert (folder / ENGINE_PLUGIN.relative_to(ROOT)).stat().st_size > 100_000
    cells = "from sweeps.run.cluster.node import worker; print(worker.__file__)"
    said = subprocess.run(
        [sys.executable, "-P", "-c", cells],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(folder), "LOCKCROSS_WORK": str(folder)},
        cwd=tmp_path,
    )
    assert said.stdout.startswith(str(folder))


# What ends with the driver


def test_a_module_that_is_tied_dies_with_who_started_it(tmp_path: Path) -> None:
    (tmp_path / "waits.py").write_text("import time; print(1, flush=True); time.sleep(60)")
    starter = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import os, subprocess, sys, time\n"
            f"child = subprocess.Popen([sys.executable, {tied.__file__!r}, str(os.getpid()), "
            "'waits'])\n"
            "print(child.pid, flush=True)\ntime.sleep(60)",
        ],
        stdout=subprocess.PIPE,
        text=True,
        env=environment(PYTHONPATH=str(tmp_path)),
    )
    assert starter.stdout is not None
    lines = {starter.stdout.readline().strip() for _ in range(2)}
    (child,) = lines - {"1"}
    handle = os.pidfd_open(int(child))
    starter.kill()
    starter.wait()
    assert select.select([handle], [], [], 10)[0]
    os.close(handle)


@pytest.mark.parametrize(("last", "cancelled"), [("", "7 9"), ("end\n", "")])
def test_the_watch_cancels_the_jobs_of_a_driver_that_died(
    tmp_path: Path, last: str, cancelled: str
) -> None:
    log = tmp_path / "cancelled"
    names = "7 parsl.lockcross-x.block-0.1\\n8 parsl.lockcross-y.block-0.1\\n9 parsl.lockcross-x.b"
    program(tmp_path, "squeue", f"printf '{names}\\n'")
    program(tmp_path, "scancel", f'printf "$*" >{log}')
    watching = subprocess.Popen(
        [sys.executable, watch.__file__, "lockcross-x", "slurm"],
        stdin=subprocess.PIPE,
        text=True,
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )
    watching.communicate(f"7\n{last}", timeout=20)
    assert (log.read_text() if log.exists() else "") == cancelled


def test_the_watch_ends_the_processes_of_a_driver_on_this_machine() -> None:
    job = subprocess.Popen(["sh", "-c", "sleep 60; true"], start_new_session=True)
    watching = subprocess.Popen(
        [sys.executable, watch.__file__, "lockcross-x", "local"], stdin=subprocess.PIPE, text=True
    )
    gone = 2**22 + 1  # more than any process's number
    watching.communicate(f"{gone}\n{job.pid}\n", timeout=20)
    assert watching.returncode == 0 and job.wait(10) == -signal.SIGKILL


# Provenance


def test_a_run_knows_where_it_ran_and_its_identity_does_not(tmp_path: Path) -> None:
    db = tmp_path / "a.db"
    with Store(db) as store:
        (run,) = Runner(store).run([CELL], "test")
        (identity,) = {item.identity for item in Runner(store).prepare([CELL])}
        assert run.identity == identity
        host, processor, job = store.connection.execute(
            "SELECT host, processor, job FROM places JOIN runs ON place_id = places.id"
        ).fetchone()
    assert host == os.environ.get("SLURMD_NODENAME", os.uname().nodename) and processor and not job
    assert host in fresh("show", str(run.id), "--db", str(db)).stdout


# All of it, through Parsl on this machine


@pytest.fixture(scope="module")
def with_parsl() -> None:
    try:
        PARSL.install()
    except LockcrossError as error:
        pytest.skip(error.message)


def rows(db: Path) -> list[Any]:
    with Store(db, read_only=True) as store:
        return store.connection.execute(
            "SELECT identity, status, cause, numbers, binary_digest, resolved_options.digest "
            "FROM runs LEFT JOIN run_metrics ON run_id = runs.id "
            "JOIN resolved_options ON resolved_options.id = resolved_id ORDER BY identity"
        ).fetchall()


@pytest.mark.long
@pytest.mark.usefixtures("with_parsl")
def test_a_sweep_on_this_machine_through_parsl(tmp_path: Path) -> None:
    file = (CLUSTERS / "local.toml").read_text().replace('"local"', '"local"\nscratch = "SCRATCH"')
    (tmp_path / "local.toml").write_text(file.replace("SCRATCH", str(tmp_path / "scratch")))
    here, there = tmp_path / "here.db", tmp_path / "there.db"
    assert fresh("sweep", "smoke", "--db", str(here)).returncode == 0
    said = fresh("sweep", "smoke", "--db", str(there), "--cluster", str(tmp_path / "local.toml"))
    assert said.returncode == 0, said.stderr
    assert rows(here) == rows(there) and len(rows(here)) > 20
    assert "workers" in said.stderr and "cells/s" in said.stderr
    again = fresh("sweep", "smoke", "--db", str(there), "--cluster", "local")
    assert again.returncode == 0 and "workers" not in again.stderr  # nothing to run: no jobs


@pytest.mark.usefixtures("with_parsl")
def test_a_validation_on_a_cluster_says_the_same(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(
        'title = "Small"\n[[sweep]]\nengine = ["qemu", "qemu/events"]\nmachine = "generic"\n'
        'isa = "x86_64"\nlock = ["thin", "tasuki"]\nworkload = "sync"\nthreads = 1\n'
        "parameters = { iterations = 100 }\n"
    )
    (tmp_path / "mine.toml").write_text(
        'title = "Events beside none"\ncandidate = "qemu"\n[[set]]\nname = "small"\n'
        f'reference = "qemu/events"\nplan = "{tmp_path / "plan.toml"}"\nmean = 0.5\norder = 0.9\n'
    )
    asked = ("validate", "--against", str(tmp_path / "mine.toml"))
    here = fresh(*asked, "--db", str(tmp_path / "here.db"))
    there = fresh(*asked, "--db", str(tmp_path / "there.db"), "--cluster", "local")
    assert here.returncode == there.returncode == 0, there.stderr
    assert "workers" in there.stderr and rows(tmp_path / "here.db") == rows(tmp_path / "there.db")


@pytest.mark.long
@pytest.mark.usefixtures("with_parsl")
def test_a_node_answers_what_it_is() -> None:
    said = fresh("cluster", "check", "local", "--format", "csv")
    assert said.returncode == 0, said.stderr
    assert said.stdout.count("\n") == 2 and said.stdout.rstrip().endswith("yes")


@pytest.mark.usefixtures("with_parsl")
@pytest.mark.parametrize("blow", [signal.SIGINT, signal.SIGKILL])
def test_a_sweep_that_is_ended_leaves_no_process(tmp_path: Path, blow: signal.Signals) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'title = "long"\n[[sweep]]\nmachine = "generic"\nlock = "cas_spin"\nworkload = "sync"\n'
        "parameters = { iterations = 100000 }\ncas_latency = { from = 1, to = 60, step = 1 }\n"
    )
    scratch = tmp_path / "scratch"
    cluster = tmp_path / "local.toml"
    cluster.write_text(f'title = "x"\nprovider = "local"\nworkers = 2\nscratch = "{scratch}"\n')
    words = ["sweep", str(plan), "--db", str(tmp_path / "a.db"), "--cluster", str(cluster)]
    driver = subprocess.Popen(
        [sys.executable, "-P", "-m", "sweeps", *words],
        stderr=subprocess.PIPE,
        text=True,
        env=environment(LOCKCROSS_WORK=str(WORK)),
        start_new_session=True,
    )
    deadline = time.monotonic() + 90
    while not list(scratch.glob("*/runs/driver-*/*")) and time.monotonic() < deadline:
        assert driver.poll() is None
        time.sleep(0.2)
    (logs,) = (WORK / "build" / "cluster").glob(f"*-{driver.pid}-*")
    if blow == signal.SIGINT:
        os.killpg(driver.pid, blow)  # as a terminal does
        _, err = driver.communicate(timeout=60)
        assert driver.returncode == 130 and "interrupted" in err
    else:
        driver.kill()
        driver.wait()
    deadline = time.monotonic() + (30 if blow == signal.SIGINT else 10)
    places = str(tmp_path), str(logs)
    while (left := [*map(naming, places)]) != [[], []] and time.monotonic() < deadline:
        time.sleep(0.2)
    assert left == [[], []]


def naming(text: str) -> list[str]:
    """The command lines of running processes that name something, and of those in its folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            inside = str(entry.with_name("cwd").readlink()).startswith(text)
        except OSError:
            continue
        if text in line or inside:
            found.append(line)
    return found
