"""`lockcross validate`: the embedded engine against gem5."""

import itertools
from typing import TYPE_CHECKING, Annotated

import typer

from results.paths import DATABASE
from results.store.store import Store
from sweeps.cli.options import Database, Jobs
from sweeps.engines import load_engine
from sweeps.execution.runner import Runner
from sweeps.experiments.validate import SETS, Validation, set_cells

if TYPE_CHECKING:
    from rich.progress import Progress


def validate(
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", help=f"Only this one of {', '.join(SETS)}; may be given again."),
    ] = None,
    latencies: Annotated[
        bool, typer.Option(help="Also sweep set latencies and compare the ways to the region.")
    ] = True,
    jobs: Jobs = 0,
    db: Database = DATABASE,
) -> None:
    """Compare the embedded engine with gem5, side by side; needs gem5.

    Exits with 1 when a bar is missed.
    """
    from results.analysis.validation import summarize
    from results.report.terminal import console
    from results.report.validation_table import print_validation
    from sweeps.cli.progress import Bar

    names = list(sets or SETS)
    for cell in itertools.chain(*set_cells(names).values()):
        load_engine(cell.engine).version(cell.isa)  # what is missing is said before anything else
    with Store(db) as store:
        with Bar() as progress:
            Validation(store, _runner(store, jobs, progress)).run(names, latencies)
        print_validation(store.connection, console())
        missed = [
            one for one in summarize(store.connection) if one.met is False and one.set in names
        ]
    if missed:
        raise typer.Exit(1)


def _runner(store: Store, jobs: int, progress: "Progress") -> Runner:
    return Runner(store, jobs, progress, retry_failed=True)


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(validate)
