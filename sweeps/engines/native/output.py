"""Read the sampler's output of a cell on the host, and the cause if it failed."""

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Annotated

from pydantic import Field

from sweeps.engines import guest
from sweeps.engines.base import ProcessResult, RunOutcome
from sweeps.engines.guest import BadRunError, Count, GuestLine, Metrics
from sweeps.engines.native.sample import (
    SAMPLES,
    Line,
    Round,
    cycles_of,
    cycles_per_tick,
    estimate,
    handover,
)
from sweeps.model.cell import Cell
from sweeps.model.workloads import WORKLOADS
from sweeps.support.toml import Document

CHAIN_ISAS = ("x86_64", "aarch64")  # on which an addition takes one cycle
NO_CYCLES = (
    "the kernel gives no counter of cycles here (perf_event_open), and how many cycles a dependent "
    "addition takes differs among processors of {isa}"
)
_SIGNALLED = 128  # an exit code above it is that of a signal
Tick = Annotated[int, Field(ge=0, le=2**64 - 1)]


class ThreadReport(Document):
    """One thread: ticks of the host's counter where its region began and ended, ticks of the chains
    before and after; cycles by the kernel's counter, where there is one; phases, number and ticks.
    """

    begin: Tick
    end: Tick
    before: Annotated[int, Field(ge=1)]
    after: Annotated[int, Field(ge=1)]
    cycles: Count | None = None
    chain_cycles: Count | None = None
    phases: list[tuple[Count, Tick]] = []


class HostReport(Document):
    """`chain`: additions of the chain, each a core cycle. `handovers`: of a line that several
    threads handed round, in so many ticks before the region and after it."""

    chain: Annotated[int, Field(ge=1)]
    handovers: Annotated[int, Field(ge=1)] | None = None
    handover_ticks: tuple[Tick, Tick] | None = None
    threads: Annotated[list[ThreadReport], Field(min_length=1)]


class NativeLine(GuestLine):
    host: HostReport


class Samples(Document):
    """The sampler's output: the repeats of the last of so many rounds. `fixed`: they ran with a
    fixed priority."""

    rounds: Annotated[int, Field(ge=1)]
    tick_mhz: Annotated[float, Field(gt=0)]
    fixed: bool = False
    repeats: list[list[Mapping[str, object]]]
    left_out: Count


@guest.outcome
def read(cell: Cell, end: ProcessResult, folder: Path) -> RunOutcome:
    """Return the results of a cell's repeats. Any fault becomes the outcome's cause."""
    _check_end(cell, end)
    samples = guest.parse_file(Samples, folder / SAMPLES, "the sampler's output")

    def checked(line: Mapping[str, object]) -> Line:
        text = json.dumps(line)
        return guest.check_line(NativeLine, cell, text, 0).model_dump(exclude_none=True)

    # Every line of the program has verified itself, and has all its counts in bounds.
    repeats = [[checked(line) for line in lines] for lines in samples.repeats]
    last = Round(repeats, samples.left_out)
    if why := last.trouble():
        raise BadRunError(
            f"the machine is too noisy: {why}, in {samples.rounds} rounds; stop what else runs "
            "here, and run it again"
        )
    metrics = metrics_of(last, samples.tick_mhz)
    guest.check_metrics(metrics)
    counted = repeats[0][0]["host"]["threads"][0].get("chain_cycles")
    if not counted and cell.isa not in CHAIN_ISAS:
        raise BadRunError(NO_CYCLES.format(isa=cell.isa))
    by = "kernel's counter of user-mode cycles" if counted else "time stamps and a chain of adds"
    priority = "fixed" if samples.fixed else "shared with others"
    return RunOutcome("", metrics, {"cycles_by": by, "priority": priority})


def _check_end(cell: Cell, end: ProcessResult) -> None:
    guest.check_alive(end, "the sampler was ")
    if end.code > _SIGNALLED:
        raise BadRunError(f"killed by {guest.signal_name(end.code - _SIGNALLED)}")
    messages = end.stderr.strip().splitlines()
    if end.code == 2 and messages:
        raise BadRunError(f"arguments refused: {messages[-1]}")
    if end.code != 0:
        if end.stdout.strip():
            guest.check_line(NativeLine, cell, end.stdout, end.code)
        raise BadRunError(
            f"exit code {end.code}: {messages[-1] if messages else 'it did not say why'}"
        )


def metrics_of(measured: Round, tick_mhz: float) -> Metrics:
    """Return the metrics of a cell (interfaces, 7): name -> (value, unit). A cell of two lengths
    counts the pairs and cycles between them."""
    cost = measured.cycles_per_pair()
    lines = [lines[-1] for lines in measured.repeats]
    pairs = median(line["pairs"] for line in lines)
    if len(measured.repeats[0]) > 1:
        pairs -= measured.repeats[0][0]["pairs"]
    longest = [
        estimate([max(cycles_of(line)) for line in same], measured.alone)
        for same in measured.by_length()
    ]
    cycles = longest[-1] if len(longest) == 1 else longest[1].minus(longest[0])
    scales = [cycles_per_tick(line, line["host"]["threads"][0]) for line in lines]
    metrics: Metrics = {
        "cycles": (cycles.value, "cycles"),
        "core_cycles": (cost.value * pairs, "cycles"),
        "pairs": (pairs, "pairs"),
        "cycles_per_pair": (cost.value, "cycles/pair"),
        "cycles_per_pair_least": (cost.least, "cycles/pair"),
        "cycles_per_pair_median": (cost.median, "cycles/pair"),
        "cycles_per_pair_iqr": (cost.iqr, "cycles/pair"),
        "repeats": (len(measured.repeats), "repeats"),
        "repeats_left_out": (measured.left_out, "repeats"),
        "clock": (median(scale * tick_mhz for scale in scales), "MHz"),
    }
    if cycles_apart := median(handover(line) for line in lines):
        metrics["handover"] = (cycles_apart, "cycles")
    # What the workload itself reports, the median of the repeats. Its clock is the host's counter,
    # so what it calls cycles are ticks.
    for name, unit in WORKLOADS[lines[0]["workload"]].metrics.items():
        values = [
            line["extra"][name] * (scale if unit == "cycles" else 1.0)
            for line, scale in zip(lines, scales, strict=True)
        ]
        metrics[name] = (median(values), unit)
    return metrics | phase_metrics(lines)


def phase_metrics(lines: Sequence[Line]) -> Metrics:
    """Return `phase_<n>_cycles`: to the next phase of whichever thread, or to the end."""
    cycles: dict[int, list[float]] = {}
    for line in lines:
        threads = line["host"]["threads"]
        marks = sorted((tick, number) for thread in threads for number, tick in thread["phases"])
        marks.append((max(thread["end"] for thread in threads), 0))
        scale = cycles_per_tick(line, threads[0])
        for (tick, number), (until, _) in pairwise(marks):
            cycles.setdefault(number, []).append((until - tick) * scale)
    return {f"phase_{n}_cycles": (estimate(each).value, "cycles") for n, each in cycles.items()}
