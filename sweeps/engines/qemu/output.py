"""Reads the output of a run under the qemu engine, and says why it failed, if it did."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from sweeps.engines import guest
from sweeps.engines.base import Limits, PhaseCounts, ProcessResult, RunOutcome
from sweeps.engines.guest import BadRunError, Count, Counts, Metrics, Name
from sweeps.model.cell import Cell
from sweeps.support.toml import Document


class CasCounts(Document):
    """Compare-and-swaps that changed memory, and those that did not."""

    won: Count
    lost: Count


class Work(Document):
    """The counts of a core's instructions. Loads and stores are plain ones, no part of an
    atomic."""

    core: Count
    instructions: Count
    loads: Count
    stores: Count
    rmw: Count
    cas: CasCounts
    fences: Counts

    def counts(self) -> dict[str, int]:
        return _flat(self.model_dump(by_alias=True, exclude=_WHERE))


_WHERE = {"core", "start", "cycles", "phase", "cycle"}  # fields that count no operation


def _flat(counts: Mapping[str, Any], prefix: str = "") -> dict[str, int]:
    """Return the counts of nested tables by their joined names."""
    flat: dict[str, int] = {}
    for name, count in counts.items():
        if isinstance(count, dict):
            flat |= _flat(count, f"{prefix}{name}_")
        else:
            flat[prefix + name] = count
    return flat


class CoreReport(Work):
    """One core: its counts and the causes of its cycles, which count from its own start."""

    start: Count
    cycles: Count
    reservations_lost: Count
    holds: Count
    charges: Counts
    stalls: Counts = Field(serialization_alias="stall")
    coherence: Annotated[dict[Name, Counts], Field(max_length=100)]


class PhaseMark(Work):
    """A time stamp: phase `phase` begins on a core at `cycle`, and its counts until then."""

    phase: Count
    cycle: Count


class LinkCounts(Document):
    """The messages between the plugin and a simulator of the memory system. Touches: hits that it
    was told of; late: requests that were earlier than its clock."""

    requests: Count
    touches: Count
    turns: Count
    late: Count


class EngineReport(Document):
    """The plugin's document (interfaces, 6). `memory_system`: of one that another process
    simulates."""

    engine: str
    version: str
    isa: str
    complete: bool
    options: Counts
    handovers: Count
    cores: list[CoreReport]
    phases: list[PhaseMark]
    memory_system: LinkCounts | None = None


PREFIX = "lockcross-timing:"  # begins every line of the plugin on stderr


@guest.outcome
def read(cell: Cell, limits: Limits, end: ProcessResult, report: Path) -> RunOutcome:
    check_end(limits, end)
    line = guest.check_guest(cell, end.stdout, end.code)
    engine = check_engine(cell, report)
    return guest.valid(
        cell, line, metrics(line.pairs, engine), engine.options, phase_counts(engine)
    )


def check_end(limits: Limits, end: ProcessResult) -> None:
    """Raise BadRunError for failures that show in how QEMU's process ended."""
    guest.check_alive(end)
    messages = [line for line in end.stderr.splitlines() if line.strip()]
    last = messages[-1] if messages else "it did not say why"
    ours = any(line.startswith(PREFIX) for line in messages)
    causes = {
        2: f"{'options' if ours else 'arguments'} refused: {last}",
        3: last.removeprefix(PREFIX).strip()
        if ours
        else f"instruction limit: {limits.instructions}",
        4: f"engine failure: {last}",
    }
    if end.code not in (0, 1):
        raise BadRunError(causes.get(end.code, f"exit code {end.code}: {last}"))
    if end.code == 1 and not end.stdout.strip():
        raise BadRunError(f"QEMU failed: {last}")


def check_engine(cell: Cell, path: Path) -> EngineReport:
    """Return the plugin's report of a complete run of this cell. Raises BadRunError."""
    engine = guest.parse_file(EngineReport, path, "engine output")
    if not engine.complete:
        raise BadRunError(
            "engine output is incomplete: not every thread reached the end of the region"
        )
    if len(engine.cores) != (cell.cores or cell.threads) or engine.isa != cell.isa:
        raise BadRunError(
            f"engine output belongs to another run: {engine.isa}, {len(engine.cores)} cores"
        )
    for core in engine.cores:
        if sum(core.stalls.values()) != core.cycles:
            raise BadRunError(
                f"engine output: the causes of core {core.core} do not add up to its cycles"
            )
    return engine


def metrics(pairs: int, engine: EngineReport) -> Metrics:
    """Return the metrics of a run (interfaces, 7): name -> (value, unit)."""
    cores = engine.cores
    known = guest.cost(pairs, [core.cycles for core in cores])
    known["handovers"] = (engine.handovers, "count")
    counts: Counter[str] = Counter()
    for core in cores:
        counts.update(core.counts())
    for name, count in counts.items():
        known[name] = (count, "cycles" if name.startswith("stall_") else "count")
    known["instructions"] = (known["instructions"][0], "instructions")
    last = max(core.start + core.cycles for core in cores)
    return known | guest.phase_times(((mark.phase, mark.cycle) for mark in engine.phases), last)


def phase_counts(engine: EngineReport) -> list[PhaseCounts]:
    return [PhaseCounts(mark.phase, mark.counts()) for mark in engine.phases]
