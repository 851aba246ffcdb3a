"""`lockcross prove`: the locks under memory models."""

from typing import Annotated

import typer

from sweeps.cli.lists import complete
from sweeps.cli.options import Jobs
from sweeps.cli.proving.assembly import prove_assembly
from sweeps.cli.proving.locks import Asked, prove_locks
from sweeps.cli.proving.mutants import judge_mutants
from sweeps.cli.reading.rows import Form, Format

_SECONDS = 20


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(prove)


def prove(
    locks: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[LOCK]...", help="Locks; default: all.", autocompletion=complete.locks
        ),
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option("--model", help="Only this memory model; may be given more than once."),
    ] = None,
    clients: Annotated[
        list[str] | None,
        typer.Option("--client", help="Only this client; may be given more than once."),
    ] = None,
    tool: Annotated[
        str, typer.Option("--with", help="lockcross, which needs nothing; genmc; dartagnan.")
    ] = "lockcross",
    deep: Annotated[bool, typer.Option("--deep", help="Larger clients too.")] = False,
    mutants: Annotated[
        bool,
        typer.Option("--mutants", help="Weaken every order and leave out steps: what is caught?"),
    ] = False,
    seconds: Annotated[
        int, typer.Option(min=1, max=100_000, help="CPU time of a proof.")
    ] = _SECONDS,
    assembly: Annotated[
        bool, typer.Option("--assembly", help="The primitives' instructions instead, by herd7.")
    ] = False,
    isas: Annotated[
        list[str] | None,
        typer.Option(
            "--isa",
            help="With --assembly: only this; may be given more than once.",
            autocompletion=complete.isas,
        ),
    ] = None,
    store: Annotated[
        bool, typer.Option("--store", help="Keep the verdicts in results/reference/.")
    ] = False,
    jobs: Jobs = 0,
    form: Format = Form.TABLE,
) -> None:
    """Prove the locks under memory models: exclusion, no race, no lost update, no lost wake-up.

    Exits with 1 when a proof fails; then it shows the shortest interleaving. With --mutants, when a
    mutant survives that nobody has explained.
    """
    if assembly:
        fine = prove_assembly(isas or (), store, jobs, form)
    elif mutants:
        fine = judge_mutants(locks or (), deep, store, jobs, form)
    else:
        asked = Asked(locks or (), clients or (), models or (), tool, deep)
        fine = prove_locks(asked, seconds, store, jobs, form)
    if not fine:
        raise typer.Exit(1)
