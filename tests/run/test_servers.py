"""Servers: a cell in a child gives the same as alone, and nothing that befalls a child or
its server harms another cell."""

import os
import random
import shutil
import signal
import subprocess
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from sweeps.engines.base import Limits, ProcessResult, Request, load_engine
from sweeps.engines.qemu.engine import REPORT
from sweeps.model.cell import Cell, arguments
from sweeps.model.isa import FLAVOURS
from sweeps.model.machine import isas_of, machine_names
from sweeps.programs import TARGETS, Builder
from sweeps.run.processes import Processes, Task
from sweeps.run.servers import Server, ServerLostError, Servers
from tests.fakes.cells import cell_of
from tests.processes import alive, children, until
from tests.run.test_runner import CELL

_PROGRAMS, _EACH = 12, 5  # drawn programs, and cells of each
_LOCKS = ("thin", "tasuki", "reservation", "asym_tasuki", "mcs", "monitor_table", "revocable")
_ENDLESS = replace(CELL, parameters={"iterations": 100_000_000})


def drawn(seed: int) -> list[Cell]:
    """Cells of programs drawn at random, several of each."""
    chance = random.Random(seed)
    machines = [name for name in machine_names() if not name.startswith("sst_")]
    cells = []
    for _ in range(_PROGRAMS):
        flavour, lock = chance.choice(FLAVOURS), chance.choice(_LOCKS)
        of_isa = [name for name in machines if TARGETS[flavour].isa in isas_of(name)]
        cells += [
            cell_of(
                lock,
                "threads",
                flavour=flavour,
                machine=chance.choice(of_isa),
                threads=chance.randint(1, 5),
                seed=chance.randint(1, 99),
                cas_latency=chance.choice([None, chance.randint(0, 200)]),
                parameters={"iterations": chance.randint(1, 40), "critical": 3, "think": 9},
            )
            for _ in range(_EACH)
        ]
    return cells


def task(key: int, cell: Cell, time_limit_s: float = 60.0, instructions: int = 10**9) -> Task[int]:
    engine = load_engine("qemu")
    program = engine.program(cell)
    binary = Builder().build([program])[program].path
    what = cell, binary, Limits(instructions=instructions)
    return Task(key, engine.command(*what), time_limit_s, request=engine.request(*what))


@pytest.fixture
def servers() -> Servers:
    made = Servers()
    for _ in range(2):  # the first cells of a program run alone
        assert made.start(task(0, CELL).request, [0], Path()) is None
    return made


def ends(
    tasks: Iterable[Task[int]], folder: Path, servers: Servers | None, jobs: int = 1
) -> dict[int, ProcessResult]:
    with Processes[int](jobs, folder / "runs", servers=servers) as processes:
        return {key: end for key, end, _ in processes.run(tasks)}


def pids(servers: Servers) -> list[int]:
    return [server._process.pid for server in servers._servers.values()]


def test_a_served_cell_says_what_it_says_alone_byte_for_byte(
    tmp_path: Path, servers: Servers
) -> None:
    tasks = [task(number, cell) for number, cell in enumerate(drawn(24))]

    def reports(used: Servers | None) -> dict[int, tuple[object, ...]]:
        with Processes[int](2, tmp_path / "runs", servers=used) as processes:
            return {
                key: (end.code, end.stdout, end.stderr, (folder / REPORT).read_bytes())
                for key, end, folder in processes.run(tasks)
            }

    served = reports(servers)
    assert served == reports(None) and len(served) == _PROGRAMS * _EACH
    assert {code for code, *_ in served.values()} == {0}
    assert len(pids(servers)) == len({one.request.command for one in tasks})


@pytest.mark.parametrize("serve", [True, False])
def test_a_program_may_end_while_its_threads_are_still_ending(
    serve: bool, tmp_path: Path, servers: Servers
) -> None:
    slow, source = tmp_path / "slow_end.so", Path(__file__).with_name("slow_end.c")
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", source, "-o", slow], check=True)
    plain = task(0, replace(CELL, threads=5))
    preload = shutil.which("env"), f"LD_PRELOAD={slow}"
    request = replace(plain.request, command=(*preload, *plain.request.command))
    one = replace(plain, argv=[*preload, *plain.argv], request=request)
    tasks = [replace(one, key=key) for key in range(30)]
    ended = ends(tasks, tmp_path, servers if serve else None, jobs=2)
    assert [(end.code, end.stderr) for end in ended.values()] == [(0, "")] * len(tasks)
    assert len(pids(servers)) == int(serve)


def test_limits_hold_for_a_child(tmp_path: Path, servers: Servers) -> None:
    tasks = [task(1, _ENDLESS, 0.3), task(2, _ENDLESS, instructions=1000)]
    ended = ends(tasks, tmp_path, servers)
    assert ended[1].code == -signal.SIGKILL and "CPU time limit: 0.3 s" in ended[1].exceeded
    assert ended[2].code == 3 and "instruction limit: 1000;" in ended[2].stderr
    assert not ended[2].exceeded and len(pids(servers)) == 1


def test_arguments_that_are_refused_are_the_cells_own_fault(
    tmp_path: Path, servers: Servers
) -> None:
    good = task(1, CELL)
    bad = replace(good, key=2, request=replace(good.request, arguments=("threads=1", "nothing=1")))
    ended = ends([good, bad, replace(good, key=3)], tmp_path, servers)
    assert ended[2].code == 2 and "nothing=1: unknown key" in ended[2].stderr
    assert ended[1].code == ended[3].code == 0 and ended[1].stdout == ended[3].stdout


def test_a_killed_child_is_its_cells_end_alone(tmp_path: Path, servers: Servers) -> None:
    tasks = [task(1, _ENDLESS), task(2, CELL)]
    codes = {}
    with Processes[int](2, tmp_path / "runs", servers=servers) as processes:
        for key, end, _ in processes.run(tasks):
            codes[key] = end.code
            (server,) = pids(servers)
            for child in children(server):
                os.kill(child, signal.SIGSEGV)
    assert codes == {1: -signal.SIGSEGV, 2: 0}


@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGSTOP])
def test_cells_of_a_server_that_is_gone_are_run_again(
    blow: signal.Signals, tmp_path: Path, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sweeps.run.servers._ANSWERS_WITHIN_S", 1.0)
    cells = [replace(CELL, parameters={"iterations": 30_000 + number}) for number in range(6)]
    found = {}
    with Processes[int](2, tmp_path / "runs", servers=servers) as processes:
        for key, end, _ in processes.run(task(n, cell) for n, cell in enumerate(cells)):
            found[key] = (end.code, '"ok":true' in end.stdout)
            if key == 1:
                for server in pids(servers):
                    os.kill(server, blow)
    assert found == dict.fromkeys(range(6), (0, True))


def test_a_child_finds_its_folder_empty(tmp_path: Path, servers: Servers) -> None:
    """A folder is used again, and nothing that lay in it is seen by the next run."""
    left = ["stdout", "a file", "a folder/with a file"]
    seen = []
    with Processes[int](1, tmp_path / "runs", servers=servers) as processes:
        for key, end, folder in processes.run(task(number, CELL) for number in range(6)):
            seen.append((folder, sorted(path.name for path in folder.iterdir())))
            assert end.code == 0
            for name in left[: key + 1]:
                (folder / name).parent.mkdir(exist_ok=True)
                (folder / name).write_text("of another run")
    assert {tuple(names) for _, names in seen} == {(REPORT, "stderr", "stdout")}
    folders = [folder for folder, _ in seen]
    assert folders[0] == folders[1] == folders[2]
    assert folders[2] not in folders[3:]  # the one with a folder in it was removed


def test_a_program_that_cannot_serve_runs_alone(tmp_path: Path) -> None:
    servers = Servers()
    plain = task(0, CELL)
    for command in (("/bin/false",), ("/bin/true",)):
        request = Request(command, (), tuple(arguments(CELL)))
        tasks = [replace(plain, key=number, request=request) for number in range(5)]
        ended = ends(tasks, tmp_path, servers).values()
        assert [end.code for end in ended] == [0] * 5
    assert not pids(servers)


def test_a_request_that_is_too_long_runs_alone(tmp_path: Path, servers: Servers) -> None:
    plain = task(1, CELL)
    for length in (9_000, 70_000):
        request = replace(plain.request, arguments=("threads=1", "x" * length))
        assert ends([replace(plain, request=request)], tmp_path, servers)[1].code == 0
    ends([plain], tmp_path, servers)
    assert len(pids(servers)) == 1  # the program's other cells have their server


def test_an_interrupt_while_a_child_is_waited_for_leaves_nothing(
    tmp_path: Path, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes while the end of a child is being noted."""

    def interrupted(server: Server, pid: int) -> int:
        monkeypatch.setattr(Server, "end_of", end_of)
        os.kill(os.getpid(), signal.SIGINT)
        return end_of(server, pid)

    end_of = Server.end_of
    monkeypatch.setattr(Server, "end_of", interrupted)
    tasks = [task(1, CELL), task(2, _ENDLESS)]
    with (
        pytest.raises(KeyboardInterrupt),
        Processes[int](2, tmp_path / "runs", servers=servers) as processes,
    ):
        list(processes.run(tasks))
    (server,) = pids(servers)
    assert not any(map(alive, children(server)))
    assert not [path for path in (tmp_path / "runs").iterdir() if path.is_dir()]


def test_what_a_lost_server_says_later_is_not_heard(
    tmp_path: Path, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sweeps.run.servers._ANSWERS_WITHIN_S", 0.3)
    request, endless = task(1, CELL).request, task(2, _ENDLESS).request
    child = servers.start(endless, [0], tmp_path)
    (stopped,) = pids(servers)
    os.kill(stopped, signal.SIGSTOP)
    with pytest.raises(ServerLostError):
        child.wait()
    os.kill(stopped, signal.SIGCONT)
    os.close(child.pidfd)
    assert servers.start(request, [0], tmp_path) is None
    again = servers.start(request, [0], tmp_path)
    assert again.wait() == 0 and pids(servers) != [stopped]
    os.close(again.pidfd)


def test_every_thread_of_a_child_stays_on_its_cpu(tmp_path: Path, servers: Servers) -> None:
    cpu = max(os.sched_getaffinity(0))
    child = servers.start(task(1, _ENDLESS).request, [cpu], tmp_path)
    threads = Path(f"/proc/{child.pid}/task")
    assert until(lambda: len([*threads.iterdir()]) > 1)
    for thread in threads.iterdir():
        assert os.sched_getaffinity(int(thread.name)) == {cpu}
    child.kill()
    assert child.wait() == -signal.SIGKILL
    os.close(child.pidfd)


def test_a_driver_that_is_killed_takes_servers_and_children_with_it(tmp_path: Path) -> None:
    long = task(1, _ENDLESS)  # built here: the driver below has no other children than its servers
    pid = os.fork()
    if pid == 0:
        servers = Servers()
        for _ in range(2):
            servers.start(long.request, [0], tmp_path)
        with Processes[int](1, tmp_path / "runs", servers=servers) as processes:
            list(processes.run([long]))
        os._exit(0)

    def has_begun(server: int) -> bool:  # before that it is the program that starts it
        exe = Path(f"/proc/{server}/exe").readlink()
        return "qemu" in exe.name and bool(children(server))

    assert until(lambda: any(map(has_begun, children(pid))))
    left = children(pid).union(*map(children, children(pid)))
    assert len(left) >= 2 and all(map(alive, left))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert until(lambda: not any(map(alive, left)))
