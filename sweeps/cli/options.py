"""Options that several commands have, declared once."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sweeps.model.axes import MAX_LATENCY, MAX_SEED

if TYPE_CHECKING:
    from sweeps.engines.base import Limits
    from sweeps.run.work import Pool

DEFAULT_TIME_LIMIT = 0.0  # the engine's
DEFAULT_INSTRUCTION_LIMIT = 4_000_000_000
MAX_INSTRUCTIONS = 10**15  # as cycles in an engine's ticks it still fits into 64 bits
_MAX_TIME_S = 1_000_000  # a week and a half
_MAX_JOBS = 1024
_MAX_SEEDS = 1000
_CYCLES: dict[str, Any] = {"min": 0, "max": MAX_LATENCY}
_BUDGET = "Instructions a cell may execute, over all cores; cycles on some engines."
_LOADED = "Load the program anew for each cell, instead of once for many; the same results."
_SECONDS = "Seconds of CPU time a cell may take; 0: the engine's own limit."

Database = Annotated[Path, typer.Option("--db", help="The database.", dir_okay=False)]
_cancel = typer.Option(help="Cycles that stopping a thread is set to.", **_CYCLES)
_cas = typer.Option(help="Cycles that an atomic is set to; `calibrate` measures it.", **_CYCLES)
_fence = typer.Option(
    help="Cycles that a full fence is set to; `calibrate` measures it.", **_CYCLES
)
CancelLatency = Annotated[int | None, _cancel]
CasLatency = Annotated[int | None, _cas]
FenceLatency = Annotated[int | None, _fence]
ClusterFile = Annotated[
    str, typer.Option("--cluster", help="Run on the cluster of this file; see sweeps/clusters.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Only print what would be run, and how long.")
]
InstructionLimit = Annotated[int, typer.Option(min=1, max=MAX_INSTRUCTIONS, help=_BUDGET)]
Jobs = Annotated[
    int, typer.Option("--jobs", "-j", min=0, max=_MAX_JOBS, help="Cells at a time; 0: one per CPU.")
]
Keep = Annotated[
    bool, typer.Option("--keep", help="Keep the folder of every run, not only of failed ones.")
]
NoServer = Annotated[bool, typer.Option("--no-server", help=_LOADED)]
RetryFailed = Annotated[bool, typer.Option("--retry-failed", help="Run failed cells again.")]
Seed = Annotated[
    int, typer.Option(min=0, max=MAX_SEED, help="Seed of start offsets and random draws.")
]
Seeds = Annotated[
    int,
    typer.Option(min=1, max=_MAX_SEEDS, help="Run so many seeds; on the host these are repeats."),
]
TimeLimit = Annotated[float, typer.Option(min=0, max=_MAX_TIME_S, help=_SECONDS)]


@contextmanager
def pool_of(cluster: str) -> "Iterator[Pool | None]":
    """The pool of a cluster file; none without a file: cells are run on this machine. Raises
    LockcrossError."""
    if not cluster:
        yield None
        return
    from sweeps.run.cluster.description import load_cluster
    from sweeps.run.cluster.parsl_pool import ParslPool
    from sweeps.run.cluster.session import Session

    with Session(load_cluster(cluster)) as session:
        yield ParslPool(session)


def at_a_time(cluster: str, jobs: int) -> int:
    """How many cells run at a time, for estimates; 0: one a CPU of this machine."""
    if not cluster:
        return jobs
    from sweeps.run.cluster.description import load_cluster

    return load_cluster(cluster).slots


def limits(time_limit: float, instruction_limit: int, no_server: bool) -> "Limits":
    """Limits from the options."""
    from sweeps.engines.base import Limits

    return Limits(time_limit, instruction_limit, not no_server)


def served(no_server: bool) -> "Limits":
    """Limits of commands that have no options for them."""
    from sweeps.engines.base import Limits

    return Limits(serve=not no_server)
