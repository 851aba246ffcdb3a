"""`lockcross runs`: which runs there are, by what they differ in."""

import sys
from typing import Annotated

import typer

from results.paths import DATABASE
from results.text.opened import reading
from results.text.rows import Form, Format, print_compact, print_rows
from sweeps.cli import complete
from sweeps.cli.options import Database
from sweeps.model.axes import MAX_THREADS

_VALUE = "Only runs with this value."
_ALWAYS = ("id", "lock", "cycles_per_pair", "cause")


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(runs)


def runs(  # noqa: PLR0913, PLR0917 its options are its arguments
    plan: Annotated[
        str | None,
        typer.Option(
            help="Only the runs of this plan: its name or its file.", autocompletion=complete.plans
        ),
    ] = None,
    status: Annotated[str | None, typer.Option(help="ok, failed or refused.")] = None,
    lock: Annotated[str | None, typer.Option(help=_VALUE, autocompletion=complete.locks)] = None,
    isa: Annotated[str | None, typer.Option(help=_VALUE, autocompletion=complete.isas)] = None,
    machine: Annotated[
        str | None, typer.Option(help=_VALUE, autocompletion=complete.machines)
    ] = None,
    workload: Annotated[
        str | None, typer.Option(help=_VALUE, autocompletion=complete.workloads)
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(min=1, max=MAX_THREADS, help="Only runs with so many threads."),
    ] = None,
    compiler: Annotated[
        str | None, typer.Option(help="Part of its version line, e.g. 12.2.0 or clang.")
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(
            help="Only runs for which this is true: a condition in SQL on the columns and the "
            "workload's keys, e.g. 'cas > 20 AND iterations = 500'."
        ),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Print at most this many.")] = 50,
    form: Format = Form.TABLE,
    db: Database = DATABASE,
) -> None:
    """List runs, the latest first: their costs, and what they differ in.

    A table shows what fits; csv and json have every axis and key.
    """
    from results.store.queries import list_runs

    with reading(db) as connection:
        answer = list_runs(
            connection, limit, plan=plan, where=where, status=status, lock=lock, isa=isa,
            machine=machine, workload=workload, threads=threads, compiler=compiler,
        )  # fmt: skip
    if form == Form.TABLE and answer.rows:
        from results.text.terminal import console

        print_compact(answer, console(fold=False), _ALWAYS)
    else:
        print_rows(answer, form)
    if not answer.rows:
        print("no run in the database matches", file=sys.stderr)
