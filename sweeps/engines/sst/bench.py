"""How fast the engine is on this machine, with the user's own SST."""

import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from results.errors import LockcrossError
from results.text.rows import FRAMED, Rows
from sweeps.engines.base import Limits, ProcessResult
from sweeps.engines.guest import Metrics
from sweeps.engines.sst.engine import SstEngine
from sweeps.model.cell import Cell
from sweeps.model.isa import ISAS
from sweeps.programs import Builder
from sweeps.support.tools import run

REPEATS = 3  # of short cells; the best counts, since the machine may be shared
_ACCESSES = ("loads", "stores", "cas_won", "cas_lost", "rmw")


def _cell(machine: str, workload: str, lock: str, threads: int, **parameters: int | str) -> Cell:
    where: dict[str, Any] = {"machine": machine, "workload": workload, "lock": lock}
    fixed: dict[str, Any] = {"engine": "sst", "isa": "x86_64", "flavour": "lock"}
    return Cell(**fixed, **where, threads=threads, parameters=parameters)


@dataclass(frozen=True)
class _Measured:
    """A cell that is run. `counted`: metrics whose sum a second is its rate, where it has one."""

    title: str
    cell: Cell
    goal: float
    counted: Sequence[str] = ()


_START = _Measured("start", _cell("sst_bus", "sync", "null", 1, iterations=1), 2)
_START_64 = _Measured("start", _cell("sst_mesh64", "sync", "null", 1, iterations=1), 2)
_HITS = _cell("sst_bus", "sync", "thin", 1, iterations=200_000)
_PRIVATE = _Measured("private hits", _HITS, 300e3, _ACCESSES)
_CAS = _cell("sst_bus", "transfer", "null", 8, iterations=2000, op="cas")
_CONTENDED = _Measured("contended accesses", _CAS, 60e3, ("link_requests",))
_PAIRS = _cell("sst_mesh64", "threads", "tasuki", 64, iterations=4, critical=20, think=100)
_CELL_64 = _Measured("256 pairs on one lock", _PAIRS, 300)
NOTE = (
    f"Best of {REPEATS} runs on one CPU (the last one: once). Private hits: accesses of workload "
    "sync, lock thin, which hit the L1; contended accesses: requests to SST in workload transfer; "
    "both a second after the start. Start: a run that does nothing. Goals are upper bounds of "
    "seconds and lower bounds of rates."
)


def bench(isas: Sequence[str]) -> Rows:
    """Seconds and rates of a few cells, for some instruction sets. Raises LockcrossError when one
    fails."""
    records: list[dict[str, Any]] = []
    for isa in isas:
        start, _ = _best(records, _START, isa)
        _best(records, _START_64, isa)
        for one in (_PRIVATE, _CONTENDED):
            _best(records, one, isa, start)
        _best(records, _CELL_64, isa, repeats=1)
    shown: dict[str, Any] = {
        "ISA": "{ISA}", "what": "{what}", "machine": "{machine}", "cores": "{cores}",
        "seconds": "{seconds:.2f}",
        "rate": lambda one: "" if one["rate"] is None else f"{one['rate'] / 1e3:.0f} k/s",
        "goal": lambda one: (
            f"{one['goal']:g} s" if one["rate"] is None else f"{one['goal'] / 1e3:.0f} k/s"
        ),
    }  # fmt: skip
    return Rows(records, shown, look=FRAMED)


def _best(
    records: list[dict[str, Any]],
    one: _Measured,
    isa: str,
    start: float = 0.0,
    repeats: int = REPEATS,
) -> tuple[float, Metrics]:
    """The seconds of the fastest run and its metrics; adds its row."""
    cell = replace(one.cell, isa=isa, flavour=ISAS[isa].flavours[0])
    seconds, metrics = min((_run(cell) for _ in range(repeats)), key=lambda run: run[0])
    done = sum(metrics[name][0] for name in one.counted)
    records.append({
        "ISA": isa, "what": one.title, "machine": cell.machine, "cores": cell.threads,
        "seconds": seconds, "rate": done / max(seconds - start, 1e-9) if one.counted else None,
        "goal": one.goal,
    })  # fmt: skip
    return seconds, metrics


def _run(cell: Cell) -> tuple[float, Metrics]:
    """Seconds of wall time of a run on one CPU, as the pool does it, and its metrics."""
    engine, limits = SstEngine(cell.engine), Limits()
    if why := engine.refuses(cell):
        raise LockcrossError(why)
    program = engine.program(cell)
    binary = Builder().build([program])[program].path
    on_one = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
    with tempfile.TemporaryDirectory(prefix="lockcross-") as folder:
        for name, content in engine.inputs(cell, binary, limits).items():
            Path(folder, name).write_text(content, encoding="utf-8")
        begin = time.perf_counter()
        done = run([*on_one, *engine.command(cell, binary, limits)], cwd=folder, env={})
        seconds = time.perf_counter() - begin
        end = ProcessResult(done.returncode, done.stdout, done.stderr, "", seconds)
        outcome = engine.read(cell, limits, end, Path(folder))
    if outcome.cause:
        raise LockcrossError(f"benchmark run failed: {outcome.cause}", exit_code=1)
    return seconds, outcome.metrics
