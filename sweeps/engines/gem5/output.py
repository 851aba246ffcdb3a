"""Reads the output of a run on gem5, and says why it failed, if it did."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field

from sweeps.engines.base import MAX_OUTPUT, Limits, ProcessResult, RunOutcome
from sweeps.engines.gem5.find import complaint
from sweeps.engines.guest import (
    BadRunError,
    Count,
    Metrics,
    check_guest,
    check_metrics,
    own_metrics,
    parse,
    signal_name,
    stand_ins,
)
from sweeps.model.cell import Cell
from sweeps.support.toml import Document, head

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
    """How the simulation ended."""

    cause: str
    code: int
    kind: str = Field(alias="class")


class Report(Document):
    """lockcross.json (gem5-configs/run.py)."""

    gem5_version: str
    compiled: str
    build_options: dict[str, str | int | bool]
    models: dict[str, list[str]]
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


def read(
    cell: Cell, limits: Limits, end: ProcessResult, folder: Path, mechanisms: Mapping[str, str]
) -> RunOutcome:
    """What a run said. Whatever went wrong becomes the outcome's cause."""
    try:
        _check_end(limits, end, folder)
        report = _check_report(cell, folder)
        guest = check_guest(cell, _text(folder / "guest.out"), report.end.code)
        found = metrics(guest.pairs, report, _regions(report)) | own_metrics(guest)
        check_metrics(found)
    except BadRunError as bad:
        return RunOutcome(str(bad))
    return RunOutcome("", found, _resolved(report, mechanisms) | stand_ins(cell))


def _text(path: Path) -> str:
    try:
        return head(path, MAX_OUTPUT).decode(errors="replace")
    except OSError:
        return ""


def _check_end(limits: Limits, end: ProcessResult, folder: Path) -> None:
    if end.exceeded:
        raise BadRunError(end.exceeded)
    why = complaint(end.stderr)
    if end.code < 0:
        raise BadRunError(f"gem5 was killed by {signal_name(-end.code)}: {why}")
    if end.code == 3:
        raise BadRunError(f"cycle limit: {limits.instructions}")
    if end.code != 0:
        raise BadRunError(f"gem5 failed (exit code {end.code}): {why}")
    if said := _text(folder / "guest.err").strip():
        raise BadRunError(f"arguments refused: {said.splitlines()[-1]}")


def _check_report(cell: Cell, folder: Path) -> Report:
    try:
        data = head(folder / REPORT, MAX_OUTPUT)
    except OSError:
        raise BadRunError("engine output is missing") from None
    report = parse(Report, data, "engine output")
    if report.isa != cell.isa or report.cores != cell.threads:
        raise BadRunError(
            f"engine output belongs to another run: {report.isa}, {report.cores} cores"
        )
    return report


def _regions(report: Report) -> dict[int, tuple[float, float]]:
    """core -> cycles at which it entered and left the region of interest."""
    ends = {
        kind: {e.core: e.cycle for e in report.events if e.event == kind}
        for kind in ("begin", "end")
    }
    cores = range(report.cores)
    if any(core not in ends[kind] for core in cores for kind in ends):
        raise BadRunError("engine output is incomplete: not every core was in the region")
    return {core: (ends["begin"][core], ends["end"][core]) for core in cores}


def metrics(pairs: int, report: Report, regions: Mapping[int, tuple[float, float]]) -> Metrics:
    """The metrics of a run (interfaces, 7): name -> (value, unit)."""
    spans = [end - begin for begin, end in regions.values()]
    found: Metrics = {
        "cycles": (max(spans), "cycles"),
        "core_cycles": (sum(spans), "cycles"),
        "pairs": (pairs, "pairs"),
        "cycles_per_pair": (sum(spans) / pairs, "cycles/pair"),
        "total_cycles": (report.total_cycles, "cycles"),
    }
    return found | _statistics(report) | _phases(report, regions)


_STATISTICS = {  # the end of gem5's name -> ours; summed over cores
    ".commitStats0.numInsts": "instructions",
    ".commitStats0.numOps": "micro_operations",
}


def _statistics(report: Report) -> Metrics:
    """Sums over cores of gem5's own counters in the region, with gem5's units."""
    found: Metrics = {}
    for name, one in report.statistics.items():
        for end, ours in _STATISTICS.items():
            if name.endswith(end):
                found[ours] = (found.get(ours, (0.0, ""))[0] + one.value, one.unit)
    return found


def _phases(report: Report, regions: Mapping[int, tuple[float, float]]) -> Metrics:
    """Each from its first core's entry to the first core's entry into the next, or the end."""
    begins: dict[int, float] = {}
    for event in report.events:
        if event.event == "phase":
            begins[event.phase] = min(event.cycle, begins.get(event.phase, event.cycle))
    order = sorted(begins)
    last = max(end for _, end in regions.values())
    ends = [*(begins[phase] for phase in order), last][1:]
    return {
        f"phase_{phase}_cycles": (end - begins[phase], "cycles")
        for phase, end in zip(order, ends, strict=True)
    }


def _resolved(report: Report, mechanisms: Mapping[str, str]) -> dict[str, int | str]:
    """What the run was made of: figures as applied and refused, mechanisms, gem5 itself."""
    found: dict[str, int | str] = dict(report.applied)
    found |= {f"refused.{name}": reason for name, reason in report.refused.items()}
    found |= {f"latency.{name}": cycles for name, cycles in report.latencies.items()}
    for kind in ("atomic", "fence", "charge"):
        found[f"mechanism_{kind}"] = mechanisms.get(kind, "none")
    return found | {
        "model": report.model,
        "roi": report.roi,
        "gem5_version": report.gem5_version,
        "gem5_compiled": report.compiled,
        "gem5_build_options": json.dumps(report.build_options, sort_keys=True),
    }
