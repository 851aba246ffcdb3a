"""Reads the output of a run under the qemu engine, and says why it failed, if it did."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from sweeps.engines.base import MAX_OUTPUT, Limits, PhaseCounts, ProcessResult, RunOutcome
from sweeps.engines.guest import (
    BadRunError,
    Count,
    Counts,
    Metrics,
    Name,
    check_guest,
    check_metrics,
    own_metrics,
    parse,
    signal_name,
    stand_ins,
)
from sweeps.model.cell import Cell
from sweeps.support.toml import Document, head


class CasCounts(Document):
    """Compare-and-swaps that changed memory, and those that did not."""

    won: Count
    lost: Count


class Work(Document):
    """What a core's instructions did. Loads and stores are plain ones, no part of an atomic."""

    core: Count
    instructions: Count
    loads: Count
    stores: Count
    cas: CasCounts
    rmw: Count
    fences: Counts


class CoreReport(Work):
    """One core: its counts and the causes of its cycles, which count from its own start."""

    start: Count
    cycles: Count
    reservations_lost: Count
    charges: Counts
    holds: Count
    stalls: Counts
    coherence: Annotated[dict[Name, Counts], Field(max_length=100)]


class PhaseMark(Work):
    """A time stamp: phase `phase` begins on a core at `cycle`, and what it did until then."""

    phase: Count
    cycle: Count


class LinkCounts(Document):
    """What the plugin and a simulator of the memory system told each other. Touches: hits that it
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


def read(cell: Cell, limits: Limits, end: ProcessResult, report: Path) -> RunOutcome:
    """What a run said. Whatever went wrong becomes the outcome's cause."""
    try:
        check_end(limits, end)
        guest = check_guest(cell, end.stdout, end.code)
        engine = check_engine(cell, report)
        found = metrics(guest.pairs, engine) | own_metrics(guest)
        check_metrics(found)
    except BadRunError as bad:
        return RunOutcome(str(bad))
    resolved: dict[str, int | str] = {**engine.options, **stand_ins(cell)}
    return RunOutcome("", found, resolved, phase_counts(engine))


def check_end(limits: Limits, end: ProcessResult) -> None:
    """Raises BadRunError for failures that show in how QEMU's process ended."""
    if end.exceeded:
        raise BadRunError(end.exceeded)
    if end.code < 0:
        raise BadRunError(f"killed by {signal_name(-end.code)}")
    said = [line for line in end.stderr.splitlines() if line.strip()]
    last = said[-1] if said else "it did not say why"
    ours = any(line.startswith(PREFIX) for line in said)
    if end.code == 3:
        raise BadRunError(f"instruction limit: {limits.instructions}")
    if end.code == 4:
        raise BadRunError(f"engine failure: {last}")
    if end.code == 2:
        raise BadRunError(f"{'options' if ours else 'arguments'} refused: {last}")
    if end.code not in (0, 1):
        raise BadRunError(f"exit code {end.code}: {last}")
    if end.code == 1 and not end.stdout.strip():
        raise BadRunError(f"QEMU failed: {last}")


def check_engine(cell: Cell, path: Path) -> EngineReport:
    """The plugin's report of a complete run of this cell. Raises BadRunError for any other."""
    try:
        text = head(path, MAX_OUTPUT)
    except OSError:
        raise BadRunError("engine output is missing") from None
    engine = parse(EngineReport, text, "engine output")
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
    """The metrics of a run (interfaces, 7): name -> (value, unit)."""
    cores = engine.cores
    core_cycles = sum(core.cycles for core in cores)
    found: Metrics = {
        "cycles": (max(core.cycles for core in cores), "cycles"),
        "core_cycles": (core_cycles, "cycles"),
        "pairs": (pairs, "pairs"),
        "cycles_per_pair": (core_cycles / pairs, "cycles/pair"),
        "instructions": (sum(core.instructions for core in cores), "instructions"),
        "cas_won": (sum(core.cas.won for core in cores), "count"),
        "cas_lost": (sum(core.cas.lost for core in cores), "count"),
        "handovers": (engine.handovers, "count"),
    }
    for name in ("loads", "stores", "rmw", "reservations_lost", "holds"):
        found[name] = (sum(getattr(core, name) for core in cores), "count")
    for table, prefix, unit in (
        ("fences", "fences", "count"),
        ("charges", "charges", "count"),
        ("stalls", "stall", "cycles"),
    ):
        for name in getattr(cores[0], table):
            total = sum(getattr(core, table).get(name, 0) for core in cores)
            found[f"{prefix}_{name}"] = (total, unit)
    for event, states in cores[0].coherence.items():
        for state in states:
            total = sum(core.coherence.get(event, {}).get(state, 0) for core in cores)
            found[f"coherence_{event}_{state}"] = (total, "count")
    return found | _phase_times(engine)


def _phase_times(engine: EngineReport) -> Metrics:
    """Each from its first core's entry to the first core's entry into the next, or the end."""
    begins: dict[int, int] = {}
    for mark in engine.phases:
        begins[mark.phase] = min(mark.cycle, begins.get(mark.phase, mark.cycle))
    order = sorted(begins)
    last = max(core.start + core.cycles for core in engine.cores)
    ends = [*(begins[phase] for phase in order), last][1:]
    return {
        f"phase_{phase}_cycles": (end - begins[phase], "cycles")
        for phase, end in zip(order, ends, strict=True)
    }


def phase_counts(engine: EngineReport) -> list[PhaseCounts]:
    """What each core had done at each phase."""
    return [_counts(mark) for mark in engine.phases]


def _counts(mark: PhaseMark) -> PhaseCounts:
    fences = {f"fences_{kind}": count for kind, count in mark.fences.items()}
    return PhaseCounts(
        mark.phase,
        {
            "instructions": mark.instructions, "loads": mark.loads, "stores": mark.stores,
            "cas_won": mark.cas.won, "cas_lost": mark.cas.lost, "rmw": mark.rmw, **fences,
        },
    )  # fmt: skip
