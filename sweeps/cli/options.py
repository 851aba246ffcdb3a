"""Options that several commands have, declared once."""

from pathlib import Path
from typing import Annotated

import typer

from sweeps.model.bounds import (
    MAX_INSTRUCTIONS,
    MAX_JOBS,
    MAX_LATENCY,
    MAX_SEED,
    MAX_TIME_S,
)

Database = Annotated[Path, typer.Option("--db", help="The database.", dir_okay=False)]
Cancel = Annotated[
    int | None, typer.Option(min=0, max=MAX_LATENCY, help="Cycles to stop a thread.")
]
Cas = Annotated[int | None, typer.Option(min=0, max=MAX_LATENCY, help="Cycles of an atomic.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Only say what would be run, and how long.")
]
FenceLatency = Annotated[
    int | None, typer.Option(min=0, max=MAX_LATENCY, help="Cycles of a full fence.")
]
InstructionLimit = Annotated[
    int,
    typer.Option(
        min=1,
        max=MAX_INSTRUCTIONS,
        help="Instructions a cell may execute, over all cores; gem5: cycles.",
    ),
]
Jobs = Annotated[
    int,
    typer.Option("--jobs", "-j", min=0, max=MAX_JOBS, help="Cells at a time; 0: one a CPU."),
]
Keep = Annotated[
    bool, typer.Option("--keep", help="Keep every run's folder, not only failed ones'.")
]
RetryFailed = Annotated[bool, typer.Option("--retry-failed", help="Run failed cells once more.")]
Seed = Annotated[int, typer.Option(min=0, max=MAX_SEED, help="Of start offsets and random draws.")]
TimeLimit = Annotated[
    float,
    typer.Option(
        min=0,
        max=MAX_TIME_S,
        help="Seconds of CPU time a cell may take; 0: qemu 60, gem5 1800.",
    ),
]
