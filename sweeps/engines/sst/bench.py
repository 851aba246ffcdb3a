"""How fast the engine is on this machine, with the user's own SST."""

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from results.errors import LockcrossError
from results.text.rows import FRAMED, Rows
from sweeps.engines.base import Limits
from sweeps.engines.guest import Metrics
from sweeps.engines.sst.engine import SstEngine, run_once
from sweeps.model.cell import Cell, usual
from sweeps.model.isa import ISAS
from sweeps.programs import Builder

REPEATS = 3  # of short cells; the best counts, since the machine may be shared
_ACCESSES = ("loads", "stores", "cas_won", "cas_lost", "rmw")
NOTE = (
    f"Best of {REPEATS} runs on one CPU (the last one: once). Private hits: accesses of workload "
    "sync, lock thin, which hit the L1; contended accesses: requests to SST in workload transfer; "
    "both a second after the start. Start: a run that does nothing. Goals are upper bounds of "
    "seconds and lower bounds of rates."
)


def _cell(machine: str, workload: str, lock: str, threads: int, **parameters: int | str) -> Cell:
    return usual(machine, "lock", workload, parameters, engine="sst", lock=lock, threads=threads)


# What is run, its cell, its goal, metrics whose sum a second is its rate where it has one, repeats.
# The first is the start of them all.
_MEASURED: Sequence[tuple[str, Cell, float, Sequence[str], int]] = [
    ("start", _cell("sst_bus", "sync", "nop", 1, iterations=1), 2, (), REPEATS),
    ("start", _cell("sst_mesh64", "sync", "nop", 1, iterations=1), 2, (), REPEATS),
    ("private hits", _cell("sst_bus", "sync", "thin", 1, iterations=200_000), 300e3, _ACCESSES,
     REPEATS),
    ("contended accesses", _cell("sst_bus", "transfer", "nop", 8, iterations=2000, op="cas"),
     60e3, ("link_requests",), REPEATS),
    ("256 pairs on one lock",
     _cell("sst_mesh64", "threads", "tasuki", 64, iterations=4, critical=20, think=100), 300, (),
     1),
]  # fmt: skip


def bench(isas: Sequence[str]) -> Rows:
    """Seconds and rates of a few cells, for some instruction sets. Raises LockcrossError when one
    fails."""
    records: list[dict[str, Any]] = []
    for isa in isas:
        start = 0.0
        for title, known, goal, counted, repeats in _MEASURED:
            cell = replace(known, isa=isa, flavour=ISAS[isa].flavours[0])
            seconds, metrics = min((_run(cell) for _ in range(repeats)), key=lambda run: run[0])
            start = start or seconds
            done = sum(metrics[name][0] for name in counted)
            records.append(
                {
                    "ISA": isa,
                    "what": title,
                    "machine": cell.machine,
                    "cores": cell.threads,
                    "seconds": seconds,
                    "rate": done / max(seconds - start, 1e-9) if counted else None,
                    "goal": goal,
                }
            )
    shown: dict[str, Any] = {
        "ISA": "{ISA}",
        "what": "{what}",
        "machine": "{machine}",
        "cores": "{cores}",
        "seconds": "{seconds:.2f}",
        "rate": lambda row: "" if row["rate"] is None else f"{row['rate'] / 1e3:.0f} k/s",
        "goal": lambda row: (
            f"{row['goal']:g} s" if row["rate"] is None else f"{row['goal'] / 1e3:.0f} k/s"
        ),
    }
    return Rows(records, shown, look=FRAMED)


def _run(cell: Cell) -> tuple[float, Metrics]:
    """Seconds of wall time of a run on one CPU, as the pool does it, and its metrics."""
    engine = SstEngine(cell.engine)
    if why := engine.refuses(cell):
        raise LockcrossError(why)
    program = engine.program(cell)
    binary = Builder().build([program])[program].path
    on_one = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
    seconds, outcome = run_once(cell, binary, Limits(), on_one)
    if outcome.cause:
        raise LockcrossError(f"benchmark run failed: {outcome.cause}", exit_code=1)
    return seconds, outcome.metrics
