"""`lockcross prove`: the locks under memory models."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from results.errors import LockcrossError
from results.text.rows import Form, Format, Rows, print_parts
from sweeps.cli import complete
from sweeps.cli.options import Jobs

if TYPE_CHECKING:
    from proofs.proving import Job, Outcome, Tool
    from proofs.stored import Proof

_STATES = 30_000_000  # of a proof: a few GiB


@dataclass(frozen=True)
class Asked:
    """Which proofs are asked for: locks, clients and models by their names, or all; by which tool;
    `deep`: with larger clients too."""

    locks: Sequence[str]
    clients: Sequence[str]
    models: Sequence[str]
    tool: str
    deep: bool


def prove_locks(asked: Asked, seconds: int, store: bool, jobs: int, form: Form) -> bool:
    """Makes the proofs, prints what came of them, and says whether none has failed."""
    from proofs.proving import cpus, prove
    from sweeps.cli.progress import Bar

    at_once = jobs or cpus()
    tool = _tool(asked.tool, at_once)
    planned, outcomes = _planned(asked, tool)
    tool.version()  # says what is missing, before anything is built
    try:
        with Bar() as progress:
            building = progress.add_task("building", total=len({one.program for one in planned}))
            proofs = progress.add_task("proving", total=len(planned))
            for one in prove(planned, tool, at_once, seconds, lambda: progress.advance(building)):
                outcomes.append(one)
                progress.advance(proofs)
    finally:  # also of what was interrupted
        if store:
            _store([one.proof for one in outcomes])
    _print(outcomes, bool(asked.locks or asked.clients), form)
    return all(one.ok for one in outcomes)


def _tool(name: str, at_once: int) -> "Tool":
    from proofs.outside import Dartagnan, Genmc
    from proofs.own_checker import Checker

    every: tuple[Tool, ...] = (Checker(at_once, _STATES), Genmc(), Dartagnan())
    tools = {one.name: one for one in every}
    if name not in tools:
        raise LockcrossError(f"tool {name!r} is unknown; known are {', '.join(tools)}")
    return tools[name]


def _planned(asked: Asked, tool: "Tool") -> "tuple[list[Job], list[Outcome]]":
    """The jobs, and what is refused. Raises LockcrossError where there is neither."""
    from proofs.programs import known_locks, named
    from proofs.proving import plan

    locks, clients = known_locks(asked.locks), list(named(asked.clients))
    planned, refused = plan(locks, clients, tool, asked.models, asked.deep)
    if planned or refused:
        return planned, refused
    planned, refused = plan(locks, clients, tool, (), asked.deep)
    known = {one.model for one in planned} | {one.job.model for one in refused}
    if not known:
        raise LockcrossError("no lock is for these clients")
    raise LockcrossError(
        f"none of these proofs is under {' or '.join(asked.models)}; they are under "
        f"{', '.join(sorted(known))}"
    )


def _store(new: "list[Proof]") -> None:
    """Keeps proofs as the reference, in the registry's order, and renews the documents' matrix."""
    from proofs.stored import merged, read_proofs, write_proofs
    from proofs.tables import DOCUMENTS, with_matrix
    from sweeps.model.locks import load_locks

    order = list(load_locks())
    kept = sorted(merged(read_proofs(), new), key=lambda one: order.index(one.lock))
    write_proofs(kept)
    for file in DOCUMENTS:
        file.write_text(with_matrix(file, kept), encoding="utf-8")


def _print(outcomes: "list[Outcome]", every: bool, form: Form) -> None:
    from proofs import tables

    by_proof = every or form != Form.TABLE
    print_parts(form, (tables.by_client if by_proof else tables.by_lock)(outcomes), fold=False)
    if form != Form.TABLE:
        return
    print_parts(form, *tables.legend(outcomes))
    print_parts(form, *_failures(outcomes), fold=False)
    print(tables.headline(outcomes), file=sys.stderr)


def _failures(outcomes: "list[Outcome]") -> Iterator[Rows | str]:
    """For each lock and model the shortest interleaving."""
    from proofs import tables

    shown: dict[tuple[str, str], Outcome] = {}
    for one in outcomes:
        place = one.job.program.label, one.proof.model
        if not one.ok and (place not in shown or _steps(one) < _steps(shown[place])):
            shown[place] = one
    for one in shown.values():
        yield f"\n{one.job.words}: {one.proof.reason}"
        yield tables.interleaving(one.found.steps) if one.found.steps else one.found.text


def _steps(one: "Outcome") -> int:
    return len(one.found.steps) or sys.maxsize


def prove_assembly(isas: Sequence[str], store: bool, jobs: int, form: Form) -> bool:
    """Asks herd7, prints what is shown of each primitive, and says whether every promise is shown
    that an architecture gives."""
    from proofs.assembly import run
    from proofs.assembly.shown import architectural, said
    from sweeps.cli.progress import Bar

    with Bar() as progress:
        task = progress.add_task("litmus tests", total=run.count(isas))
        found, locks = run.prove_assembly(isas, jobs or 2, store, lambda: progress.advance(task))
    primitives = [
        {"primitive": one.primitive, "flavour": one.flavour, "fence": one.fence,
         "instructions": one.instructions, "promised": one.promise, "shown": said(one)}
        for one in found
    ]  # fmt: skip
    pairs = [
        {"lock": pair.lock, "flavour": pair.flavour, "fence": pair.fence, "promised": pair.says,
         "shown": ", ".join(f"{verdict} by {model}" for model, verdict in pair.verdicts)}
        for pair in locks
    ]  # fmt: skip
    print_parts(form, Rows(primitives), Rows(pairs), fold=False)
    wrong = sum(bool(one.missing and architectural(one.fence)) for one in found)
    wrong += sum(not pair.holds and architectural(pair.fence) for pair in locks)
    print(
        f"{len(found)} primitives and {len(locks)} pairs of threads, by flavour and fence kind; "
        f"{wrong} promises not shown",
        file=sys.stderr,
    )
    return not wrong


def judge_mutants(locks: Sequence[str], deep: bool, store: bool, jobs: int, form: Form) -> bool:
    """Judges what no earlier run has judged, and prints all; whether all that survives is
    explained."""
    from proofs.mutants import stored
    from proofs.mutants.campaign import Campaign
    from proofs.mutants.stored import Verdict
    from proofs.programs import known_locks
    from proofs.proving import cpus
    from sweeps.cli.progress import Bar

    campaign = Campaign([lock.name for lock in known_locks(locks)] if locks else [], deep)
    with Bar() as progress:
        judging = progress.add_task("mutants", total=len(campaign.missing))
        for _ in campaign.run(jobs or cpus()):
            progress.advance(judging)
    if store:
        campaign.store()
    rows = campaign.rows()
    every = locks or form != Form.TABLE
    shown = stored.by_mutant(rows if every else [row for row in rows if row.reason])
    summary = [stored.summary(rows)] if form == Form.TABLE else []
    print_parts(form, shown, *summary, fold=False)
    survivors = [row.mutant for row in rows if row.verdict == Verdict.SURVIVES]
    if survivors:
        print(f"unexplained: {', '.join(survivors)}", file=sys.stderr)
    return not survivors


_SECONDS = 20


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
