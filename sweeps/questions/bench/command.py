"""`lockcross bench`: how fast the engine and large databases are on this machine."""

from pathlib import Path
from tempfile import TemporaryDirectory

import typer

from results.text.rows import Form, Format, print_parts
from sweeps.cli.options import Store
from sweeps.cli.progress import first_word

bench = typer.Typer()


@bench.callback(invoke_without_command=True)
def bench_cell(
    context: typer.Context,
    store: Store = False,
    form: Format = Form.TABLE,
) -> None:
    """Measure speed on this machine.

    It runs the main job, too, and takes some minutes.
    """
    if context.invoked_subcommand:
        return
    first_word("measuring; it takes some minutes")
    from sweeps.questions.bench import main_job
    from sweeps.run import bench as of_runs

    with TemporaryDirectory() as name:
        folder = Path(name)
        rows = [*of_runs.rows(folder), *main_job.rows(folder)]
    print_parts(form, of_runs.beside(rows, of_runs.last_release()), of_runs.NOTE)
    if store:
        of_runs.store(rows)


@bench.command("results")
def bench_results(form: Format = Form.TABLE) -> None:
    """Measure a large database: size, winners, time and memory of an export."""
    first_word("making a large database, and measuring it; it takes some minutes")
    from sweeps.questions.bench.large import NOTE, measured

    print_parts(form, measured(), NOTE)
