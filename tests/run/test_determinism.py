"""One result for a cell, however it is run: every workload and every lock, fresh and served, on one
CPU and on all, beside other work."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import cycle
from pathlib import Path

import pytest

from results.store.store import Store
from sweeps.engines.base import Limits
from sweeps.model.cell import Cell, invalid_reason, unsupported_reason
from sweeps.model.isa import ISAS
from sweeps.model.locks import load_locks
from sweeps.run.runner import Runner
from sweeps.study.plan import load_plan
from tests.fakes.cells import cell_of

MANY = cell_of(
    "monitor_table", "threads", parameters={"iterations": 12, "critical": 3, "think": 20}, threads=8
)


def cells() -> Iterator[Cell]:
    """Every benchmark, on one ISA after another; every lock with as many threads as it has, on
    cores of their own and on two that they share; a table of monitors with many objects."""
    of_isa = {(cell.workload, cell.isa): cell for cell in load_plan("small").cells}
    workloads = dict.fromkeys(workload for workload, _ in of_isa)
    for workload, isa in zip(workloads, cycle(ISAS), strict=False):
        yield of_isa[workload, isa]
    for lock in load_locks().values():
        cell = replace(MANY, lock=lock.name, threads=min(lock.threads or 8, 8))
        yield cell
        yield replace(cell, machine="zen5", cores=2)
    objects = {"objects": 600, "runs": 2, "run_length": 3, "owner_share": 0.5}
    work = {"critical": 0, "think": 0}
    yield replace(MANY, workload="lock_sequence", parameters=objects | work)


@contextmanager
def other_work(processes: int) -> Iterator[None]:
    """Processes that keep as many CPUs busy."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    yield
    for process in busy:
        process.kill()
        process.wait()


@pytest.mark.long
def test_a_cell_has_one_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = [one for one in cells() if not (invalid_reason(one) or unsupported_reason(one))]
    monkeypatch.setattr("sweeps.run.servers._ALONE", 0)  # each program has one cell here
    assert len(wanted) >= 100 and wanted[-1].workload == "lock_sequence"
    assert {one.lock for one in wanted} == set(load_locks())
    results = []
    for number, (serve, bound) in enumerate([(True, True), (False, True), (False, False)]):
        monkeypatch.setattr("sweeps.run.work.alone", lambda _, bound=bound: not bound)
        # Beside the threads of a run that move between CPUs; it takes these from other tests.
        busy = other_work(0 if bound else 1)
        with busy, Store(tmp_path / f"{number}.db") as store:
            jobs = len(os.sched_getaffinity(0)) + number
            results.append(Runner(store, jobs, limits=Limits(serve=serve)).run(wanted, "test"))
    for cell, *runs in zip(wanted, *results, strict=True):
        said = {(run.status, run.cause, run.identity) for run in runs}
        assert len(said) == 1 and (runs[0].status == "ok" or cell.lock == "nop"), (cell, said)
        assert all(run.metrics == runs[0].metrics for run in runs), cell
