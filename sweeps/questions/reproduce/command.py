"""`lockcross reproduce`: published and simulated numbers side by side."""

import sys
from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from results.errors import LockcrossError
from results.paths import DATABASE
from results.store.queries import Answer
from results.text.rows import Form, Format, Rows, print_parts, print_rows
from sweeps.cli import complete
from sweeps.cli.options import ClusterFile, Database, DryRun, Jobs, NoServer, RetryFailed
from sweeps.model.machine import load_machine, machine_named
from sweeps.plans import REPRODUCTIONS
from sweeps.questions.reproduce import overtake
from sweeps.questions.reproduce.answer import Reproduction, cells, table_rows
from sweeps.questions.reproduce.definition import load
from sweeps.questions.reproduce.overtake import AXES, Case
from sweeps.questions.reproduce.planned import PlannedReproduction
from sweeps.questions.reproduce.reproduce import run
from sweeps.search.facts import store_machines

_INSTRUCTIONS = 2_000_000_000  # a run may execute, over all cores


def _names(incomplete: str) -> list[str]:
    return complete.beginning([*REPRODUCTIONS.names(), overtake.NAME], incomplete)


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Reproductions; default: all.",
            autocompletion=_names,
        ),
    ] = None,
    list_them: Annotated[bool, typer.Option("--list", help="List the reproductions.")] = False,
    machine: Annotated[
        str,
        typer.Option(
            help="A machine's name or file instead of the source's; figures keep the source's.",
            autocompletion=complete.machines,
        ),
    ] = "",
    dry_run: DryRun = False,
    retry_failed: RetryFailed = False,
    jobs: Jobs = 0,
    no_server: NoServer = False,
    cluster: ClusterFile = "",
    form: Format = Form.TABLE,
    db: Database = DATABASE,
) -> None:
    """Run the experiments of the sources and print published and simulated numbers side by side."""
    from results.store.store import Store
    from results.text.opened import store_to_read
    from sweeps.cli.options import at_a_time, limits, pool_of
    from sweeps.cli.progress import Bar
    from sweeps.run.runner import Runner

    plans = _chosen(names or [], machine)
    overtakes = not names or overtake.NAME in names
    if list_them:
        _print_list(plans, overtakes, form)
        return
    bounds = limits(0.0, _INSTRUCTIONS, no_server)
    if dry_run:
        with store_to_read(db) as store:
            from sweeps.run.runner import describe

            wanted = [one.cell for plan in plans for one in plan.cells.values()]
            wanted += overtake.known_cells() if overtakes else []
            looking = f"looking for {len(wanted)} cells in the database"
            print(looking, file=sys.stderr, flush=True)
            known = Runner(store, jobs, None, bounds, retry_failed).look_up(wanted)
            print(describe(store, known, at_a_time(cluster, jobs)))
        return
    with Store(db) as store:
        with pool_of(cluster) as pool, Bar() as progress:
            runner = Runner(store, jobs, progress, bounds, retry_failed, pool=pool)
            found = [run(plan, runner, store, keep=not machine) for plan in plans]
            cases = overtake.run(runner, store) if overtakes else []
        machines = {one.cell.machine for plan in plans for one in plan.cells.values()}
        store_machines(store, machines.union(overtake.MACHINES if overtakes else ()))
    if form != Form.TABLE:
        print_rows(_rows(found, cases), form)
        return
    for one in found:
        print_reproduction(one)
    if cases:
        _print_cases(cases)
    if found:
        print_summary(found)


def _chosen(chosen: Sequence[str], machine: str) -> list[PlannedReproduction]:
    known = [*REPRODUCTIONS.names(), overtake.NAME]
    if unknown := [name for name in chosen if name not in known]:
        raise LockcrossError(
            f"reproduction {unknown[0]!r} is unknown; known are {', '.join(known)}"
        )
    if machine and (not chosen or overtake.NAME in chosen):
        raise LockcrossError(
            f"--machine: name the reproductions that are to run on it, and not {overtake.NAME}, "
            "which compares machines"
        )
    on = machine_named(machine)
    if on:
        load_machine(on)  # an unknown name is no mistake of a definition
    return [load(name, on) for name in (chosen or known) if name != overtake.NAME]


def _print_list(plans: Sequence[PlannedReproduction], overtakes: bool, form: Form) -> None:
    names = ("name", "source", "machine", "cells", "rows", "title")
    records = [
        dict(zip(names, (
            plan.outline.name, f"{plan.outline.document} {plan.outline.place}",
            plan.outline.machine, len(plan.cells), len(plan.rows), plan.outline.title,
        ), strict=True))
        for plan in plans
    ]  # fmt: skip
    if overtakes:
        machines, cells = ", ".join(overtake.MACHINES), f"{len(overtake.known_cells())} or more"
        row = (overtake.NAME, "K 6.6.2", machines, cells, "", overtake.TITLE)
        records.append(dict(zip(names, row, strict=True)))
    print_parts(form, Rows(records), fold=False)


def _rows(found: Sequence[Reproduction], cases: Sequence[Case]) -> Answer:
    """Every row of every reproduction, then the cases of `overtake` with their lead."""
    rows = [
        (one.name, one.unit, row.label, cells(row)[0],
         row.missing if row.ours is None else row.ours, row.ratio, cells(row)[3])
        for one in found
        for row in table_rows(one)
    ]  # fmt: skip
    rows += [
        (overtake.NAME, "lead", f"{one.program} {one.machine} {one.kind}", "", one.lead,
         None, ", ".join(filter(None, _words(one))))
        for one in cases
    ]  # fmt: skip
    return Answer(
        ["reproduction", "unit", "row", "published", "simulated", "ratio", "remark"], rows
    )


def print_reproduction(found: Reproduction) -> None:
    """Prints the rows of one, and its verdict."""
    from rich.table import Table

    from results.text.terminal import console

    title = f"{found.name}: {found.title} ({found.document} {found.place}), {found.unit}"
    table = Table("", "published", "simulated", "ratio", "", box=None)
    for row in table_rows(found):
        table.add_row(row.label, *cells(row))
    wide = console(fold=False)
    wide.print(title, style="italic")
    wide.print(table)
    wide.print(f"{found.verdict}\n", style="bold")


def print_summary(found: Sequence[Reproduction]) -> None:
    """Prints the verdicts of all, and their sums."""
    from rich.table import Table

    from results.text.terminal import console

    table = Table("reproduction", "source", "machine", "verdict", box=None)
    for one in found:
        table.add_row(one.name, f"{one.document} {one.place}", one.machine, one.verdict)
    wide = console(fold=False)
    wide.print(table)
    if len(found) > 1:
        (agreeing, pairs), (holding, statements) = (
            (sum(counts) for counts in zip(*each, strict=True))
            for each in ([one.order for one in found], [one.statements for one in found])
        )
        wide.print(
            f"together: order {agreeing} of {pairs} pairs; {holding} of {statements} statements "
            "hold",
            style="bold",
        )


def _print_cases(cases: Sequence[Case]) -> None:
    """Prints the table."""
    from rich.table import Table

    from results.text.terminal import console

    table = Table(
        "program", "machine", "fence", "tasuki", "reservation", "asymmetric", "lead",
        *(f"equal at {words} of" for words in AXES.values()), box=None,
        title="Cycles of an acquisition and its release, less the null lock's; lead: reservation "
        "over asymmetric", title_justify="left",
    )  # fmt: skip
    for one in cases:
        table.add_row(
            one.program, one.machine, one.kind, f"{one.tasuki:.1f}", f"{one.reservation:.1f}",
            f"{one.asymmetric:.1f}", f"{one.lead:.2f}", *_words(one),
        )  # fmt: skip
    console(fold=False).print(table)


def _words(one: Case) -> Iterator[str]:
    for axis in AXES:
        border = one.border(axis)
        yield border.words if border else ""
