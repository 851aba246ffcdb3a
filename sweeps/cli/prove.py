"""`lockcross prove`: the locks under memory models."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from results.errors import LockcrossError
from sweeps.cli.options import Jobs
from sweeps.cli.reading.rows import Form, Format, printer

if TYPE_CHECKING:
    from rich.console import Console

    from results.model.proof import Proof
    from sweeps.proofs.job import Tool
    from sweeps.proofs.proving import Outcome

_STATES = 30_000_000  # of a proof: a few GiB
_SECONDS = 15


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(prove)


def prove(
    locks: Annotated[
        list[str] | None, typer.Argument(metavar="[LOCK]...", help="Locks; default: all.")
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
        typer.Option("--isa", help="With --assembly: only this; may be given more than once."),
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
        from sweeps.cli.proving.assembly import prove_assembly

        if not prove_assembly(isas or (), store, jobs, form):
            raise typer.Exit(1)
        return
    if mutants:
        from sweeps.cli.proving.mutants import judge_mutants

        if not judge_mutants(locks or [], deep, store, jobs, form):
            raise typer.Exit(1)
        return
    from sweeps.cli.progress import Bar
    from sweeps.proofs import proving
    from sweeps.proofs.clients import named
    from sweeps.proofs.programs import known_locks

    at_once = jobs or proving.cpus()
    chosen = _tool(tool, at_once)
    wanted = known_locks(locks), list(named(clients))
    planned, outcomes = proving.plan(*wanted, chosen, models or (), deep)
    if not planned and not outcomes:
        everything, refused = proving.plan(*wanted, chosen, (), deep)
        _say_what_is_missing(
            models or (), {one.model for one in everything} | {one.job.model for one in refused}
        )
    chosen.version()  # says what is missing, before anything is built
    new: list[Outcome] = []
    try:
        with Bar() as progress:
            building = progress.add_task("building", total=len({one.program for one in planned}))
            proofs = progress.add_task("proving", total=len(planned))
            for one in proving.prove(
                planned, chosen, at_once, seconds, lambda: progress.advance(building)
            ):
                new.append(one)
                progress.advance(proofs)
    finally:  # also of what was interrupted
        outcomes += new
        if store:
            _store([one.proof for one in outcomes])
    _print(outcomes, bool(locks or clients), form)
    if not all(one.ok for one in outcomes):
        raise typer.Exit(1)


def _say_what_is_missing(models: Sequence[str], known: set[str]) -> NoReturn:
    if not known:
        raise LockcrossError("no lock is for these clients")
    raise LockcrossError(
        f"none of these proofs is under {' or '.join(models)}; they are under "
        f"{', '.join(sorted(known))}"
    )


def _tool(name: str, at_once: int) -> "Tool":
    from sweeps.proofs.checker import Checker
    from sweeps.proofs.outside import Dartagnan, Genmc

    every: tuple[Tool, ...] = (Checker(at_once, _STATES), Genmc(), Dartagnan())
    tools = {one.name: one for one in every}
    if name not in tools:
        raise LockcrossError(f"tool {name!r} is unknown; known are {', '.join(tools)}")
    return tools[name]


def _store(new: "list[Proof]") -> None:
    """Keeps proofs as the reference, in the registry's order, and renews the matrix."""
    from results.model.proof import merged, read_proofs, write_proofs
    from sweeps.model.locks import load_locks
    from sweeps.proofs.document import FILE, with_matrix

    order = list(load_locks())
    kept = sorted(merged(read_proofs(), new), key=lambda one: order.index(one.lock))
    write_proofs(kept)
    FILE.write_text(with_matrix(FILE.read_text(encoding="utf-8"), kept), encoding="utf-8")


def _print(outcomes: "list[Outcome]", every: bool, form: Form) -> None:
    from sweeps.proofs import tables

    with printer(form, fold=False) as out:
        out.print((tables.by_client if every or form != Form.TABLE else tables.by_lock)(outcomes))
    if form != Form.TABLE:
        return
    with printer(form) as out:
        for line in tables.legend(outcomes):
            out.print(line)
    with printer(form, fold=False) as out:
        _print_failures(outcomes, out)
    print(tables.headline(outcomes), file=sys.stderr)


def _print_failures(outcomes: "list[Outcome]", out: "Console") -> None:
    """For each lock and model the shortest interleaving."""
    from sweeps.proofs import tables

    shown: dict[tuple[str, str], Outcome] = {}
    for one in outcomes:
        place = one.job.program.label, one.proof.model
        if not one.ok and (place not in shown or _steps(one) < _steps(shown[place])):
            shown[place] = one
    for one in shown.values():
        out.print(f"\n{one.job.words}: {one.proof.reason}")
        out.print(tables.interleaving(one.found.steps) if one.found.steps else one.found.text)


def _steps(one: "Outcome") -> int:
    return len(one.found.steps) or sys.maxsize
