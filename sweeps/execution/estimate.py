"""How long a sweep will take, estimated from stored runs of similar cells."""

import os

from results.store.store import Store
from sweeps.execution.durations import GUESS_S, Durations
from sweeps.execution.runner import Known
from sweeps.execution.work import alone


def describe(store: Store, known: Known, jobs: int) -> str:
    """Says in a few lines what a sweep has to do, and the time it takes with `jobs` processes."""
    jobs = jobs or len(os.sched_getaffinity(0))
    durations = Durations(store)
    total, by_itself, guessed = 0.0, 0.0, 0
    to_run = [item.cell for item in known.missing if not item.refusal]
    for cell in to_run:
        like = durations.of(cell)
        guessed += like is None
        seconds = GUESS_S if like is None else like
        if alone(cell):
            by_itself += seconds
        else:
            total += seconds
    lines = [
        f"{known.cells} cells, {known.distinct} distinct: {known.stored} known "
        f"({known.failed} of them failed), {known.refused} refused, {len(to_run)} to run",
        f"estimated time: {_span(total / jobs + by_itself)} with {jobs} at a time"
        + (", on the host one at a time" if by_itself else ""),
    ]
    if guessed:
        lines.append(
            f"  {GUESS_S} s each are assumed for {guessed} of them: no run of their engine, "
            "workload, ISA and number of threads is stored"
        )
    return "\n".join(lines)


def _span(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
