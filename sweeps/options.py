"""Options that several commands have, declared once."""

from typing import Annotated

import typer

from results import cli

Database = cli.Database
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Only say what would be run, and how long.")
]
InstructionLimit = Annotated[
    int, typer.Option(min=1, help="Instructions a cell may execute, over all cores; gem5: cycles.")
]
Jobs = Annotated[int, typer.Option("--jobs", "-j", min=0, help="Cells at a time; 0: one a CPU.")]
Keep = Annotated[
    bool, typer.Option("--keep", help="Keep every run's folder, not only failed ones'.")
]
RetryFailed = Annotated[bool, typer.Option("--retry-failed", help="Run failed cells once more.")]
TimeLimit = Annotated[
    float, typer.Option(min=0, help="Seconds a cell may take; 0: qemu 60, gem5 1800.")
]
