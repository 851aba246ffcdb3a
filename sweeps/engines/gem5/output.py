"""Reads the output of a run on gem5, and says why it failed, if it did."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field

from sweeps.engines import guest
from sweeps.engines.base import Limits, ProcessResult, RunOutcome
from sweeps.engines.gem5.find import complaint
from sweeps.engines.guest import BadRunError, Count, Metrics, text_of
from sweeps.model.cell import Cell
from sweeps.support.toml import Document

REPORT = "lockcross.json"


class Event(Document):
    """A core reached a place of the region of interest at `cycle`."""

    event: Literal["begin", "phase", "end"]
    core: Count
    phase: Count
    cycle: float


class Statistic(Document):
    """One of gem5's scalars, with gem5's unit."""

    value: float
    unit: str


class End(Document):
    cause: str
    code: int
    kind: str = Field(alias="class")


class Report(Document):
    """lockcross.json (gem5-configs/run.py)."""

    gem5_version: str
    compiled: str
    build_options: dict[str, str | int | bool]
    models: dict[str, list[str]]
    memories: list[str]
    isa: str
    model: str
    cores: Count
    roi: str
    applied: dict[str, int]
    refused: dict[str, str]
    latencies: dict[str, int]
    events: list[Event]
    total_cycles: float
    end: End
    statistics: dict[str, Statistic]


# The end of gem5's name of a counter -> ours; summed over cores, with gem5's unit.
_STATISTICS = {
    ".commitStats0.numInsts": "instructions",
    ".commitStats0.numOps": "micro_operations",
}


@guest.outcome
def read(
    cell: Cell, limits: Limits, end: ProcessResult, folder: Path, mechanisms: Mapping[str, str]
) -> RunOutcome:
    why = complaint(end.stderr)
    guest.check_alive(end, "gem5 was ", f": {why}")
    if end.code == 3:
        raise BadRunError(f"cycle limit: {limits.instructions}")
    if end.code != 0:
        raise BadRunError(f"gem5 failed (exit code {end.code}): {why}")
    if message := text_of(folder / "guest.err").strip():
        raise BadRunError(f"arguments refused: {message.splitlines()[-1]}")
    report = guest.parse_file(Report, folder / REPORT, "engine output")
    if report.isa != cell.isa or report.cores != cell.threads:
        raise BadRunError(
            f"engine output belongs to another run: {report.isa}, {report.cores} cores"
        )
    line = guest.check_guest(cell, text_of(folder / "guest.out"), report.end.code)
    # What the run was made of: figures as applied and refused, mechanisms, gem5 itself.
    resolved = {
        **report.applied,
        **{f"refused.{name}": reason for name, reason in report.refused.items()},
        **{f"latency.{name}": cycles for name, cycles in report.latencies.items()},
        **{f"mechanism_{k}": mechanisms.get(k, "none") for k in ("atomic", "fence", "charge")},
        "model": report.model,
        "roi": report.roi,
        "gem5_version": report.gem5_version,
        "gem5_compiled": report.compiled,
        "gem5_build_options": json.dumps(report.build_options, sort_keys=True),
    }
    return guest.valid(cell, line, metrics(line.pairs, report), resolved)


def metrics(pairs: int, report: Report) -> Metrics:
    """Return the metrics of a run (interfaces, 7): name -> (value, unit). Raises BadRunError where
    not every core entered and left the region of interest."""
    begins, ends = (
        {e.core: e.cycle for e in report.events if e.event == kind} for kind in ("begin", "end")
    )
    cores = range(report.cores)
    if any(core not in begins or core not in ends for core in cores):
        raise BadRunError("engine output is incomplete: not every core was in the region")
    known = guest.cost(pairs, [ends[core] - begins[core] for core in cores])
    known["total_cycles"] = (report.total_cycles, "cycles")
    for suffix, ours in _STATISTICS.items():
        counts = [
            statistic for name, statistic in report.statistics.items() if name.endswith(suffix)
        ]
        if counts:
            known[ours] = (sum(count.value for count in counts), counts[-1].unit)
    marks = ((event.phase, event.cycle) for event in report.events if event.event == "phase")
    return known | guest.phase_times(marks, max(ends[core] for core in cores))
