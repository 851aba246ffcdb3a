"""`lockcross reproduce`: published and simulated numbers side by side."""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from results.errors import LockcrossError, check_known
from results.paths import DATABASE
from results.store.queries import Answer
from results.text.rows import Form, Format, Rows, print_parts, print_rows
from results.text.terminal import console, say
from sweeps.accuracy import published as paper
from sweeps.accuracy.errors import PUBLISHED, keep, read_rows
from sweeps.cli import options
from sweeps.cli.options import ClusterFile, Database, DryRun, Jobs, NoServer, RetryFailed
from sweeps.model.machine import load_machine, machine_named
from sweeps.plans import REPRODUCTIONS
from sweeps.questions.reproduce import overtake
from sweeps.questions.reproduce.answer import (
    PlannedReproduction,
    Reproduction,
    aside_words,
    cells,
    errors_of,
    first_statements,
    run,
    table_rows,
)
from sweeps.questions.reproduce.definition import load
from sweeps.questions.reproduce.overtake import AXES, Case
from sweeps.study.calibrate import store_machines

_INSTRUCTIONS = 2_000_000_000  # a run may execute, over all cores


def _names(incomplete: str) -> list[str]:
    return options.beginning([*REPRODUCTIONS.names(), overtake.NAME], incomplete)


def reproduce(
    names: Annotated[
        list[str] | None, options.argument("Reproductions; default: all.", _names, "[NAME]...")
    ] = None,
    list_them: options.List = False,
    machine: Annotated[str, options.machine("the source's")] = "",
    keep_errors: Annotated[
        bool,
        typer.Option(
            "--keep-errors",
            help="Keep how far ours is off at processors that were measured by others, in "
            "results/reference/errors.csv.",
        ),
    ] = False,
    dry_run: DryRun = False,
    retry_failed: RetryFailed = False,
    jobs: Jobs = 0,
    no_server: NoServer = False,
    cluster: ClusterFile = "",
    form: Format = Form.TABLE,
    db: Database = DATABASE,
) -> None:
    """Run the experiments of the sources and print published and simulated numbers side by side.

    With --machine on another processor than the source's, which figures keep.
    """
    from results.store.store import Store, store_to_read
    from sweeps.cli.options import at_a_time, limits, pool_of
    from sweeps.cli.progress import Bar
    from sweeps.run.runner import Runner

    plans = _chosen(names or [], machine)
    overtakes = not names or overtake.NAME in names
    if list_them:
        print_parts(form, _list(plans, overtakes), fold=False)
        return
    bounds = limits(0.0, _INSTRUCTIONS, no_server)
    if dry_run:
        with store_to_read(db) as store:
            wanted = [cell for plan in plans for cell in plan.cells.values()]
            wanted += overtake.known_cells() if overtakes else []
            looking = f"looking for {len(wanted)} cells in the database"
            print(looking, file=sys.stderr, flush=True)
            runner = Runner(store, jobs, None, bounds, retry_failed)
            print(runner.describe(wanted, at_a_time(cluster, jobs)))
        return
    results, cases = [], list[Case]()
    with pool_of(cluster) as pool, Store(db) as store:
        runner = Runner(store, jobs, None, bounds, retry_failed, pool=pool)
        for plan in plans:
            with Bar() as runner.progress:
                results.append(run(plan, runner, store, keep=not machine))
            if form == Form.TABLE:  # nobody waits for the others
                print_reproduction(results[-1])
                sys.stdout.flush()
        if overtakes:
            with Bar() as runner.progress:
                cases = overtake.run(runner, store)
        machines = {cell.machine for plan in plans for cell in plan.cells.values()}
        store_machines(store, machines.union(overtake.MACHINES if overtakes else ()))
    if keep_errors:
        others = [row for row in read_rows() if row.reference != PUBLISHED]
        keep([*others, *(row for one in results for row in errors_of(one))])
    if form != Form.TABLE:
        print_rows(_rows(results, cases), form)
        return
    if cases:
        print_parts(form, _cases(cases), fold=False)
    if results:
        print_summary(results)


def _chosen(chosen: Sequence[str], machine: str) -> list[PlannedReproduction]:
    known = [*REPRODUCTIONS.names(), overtake.NAME]
    check_known("reproduction", chosen, known)
    if machine and (not chosen or overtake.NAME in chosen):
        raise LockcrossError(
            f"--machine: name the reproductions that are to run on it, and not {overtake.NAME}, "
            "which compares machines"
        )
    on = machine_named(machine)
    if on:
        load_machine(on)  # an unknown name is no mistake of a definition
    return [load(name, on) for name in (chosen or known) if name != overtake.NAME]


def _list(plans: Sequence[PlannedReproduction], overtakes: bool) -> Rows:
    rows: list[dict[str, object]] = [
        {
            "name": plan.outline.name,
            "source": f"{plan.outline.document} {plan.outline.place}",
            "machine": plan.outline.machine,
            "cells": len(plan.cells),
            "rows": len(plan.rows),
            "title": plan.outline.title,
        }
        for plan in plans
    ]
    if overtakes:
        cells = f"{len(overtake.known_cells())} or more"
        others = overtake.NAME, "K 6.6.2", ", ".join(overtake.MACHINES), cells, "", overtake.TITLE
        names = ("name", "source", "machine", "cells", "rows", "title")
        rows.append(dict(zip(names, others, strict=True)))
    return Rows(rows)


def _rows(results: Sequence[Reproduction], cases: Sequence[Case]) -> Answer:
    """Return every row of every reproduction, then the cases of `overtake` with their lead."""
    rows: list[tuple[object, ...]] = []
    for reproduction in results:
        for row in table_rows(reproduction):
            published, _, _, held = cells(row)
            ours = row.missing if row.ours is None else row.ours
            because = ("", "") if row.holds is not False or row.aside else (row.why, row.shown_by)
            one = (reproduction.name, reproduction.unit, row.label, published, ours, row.ratio)
            rows.append((*one, held, *because))
    for case in cases:
        label, borders = f"{case.program} {case.machine} {case.kind}", filter(None, case.equal)
        lead = (label, "", case.lead, None, ", ".join(borders))
        rows.append((overtake.NAME, "lead", *lead, "", ""))
    columns = ["reproduction", "unit", "row", "published", "simulated", "ratio", "remark"]
    columns += ["why", "shown_by"]
    return Answer(columns, rows)


def _cases(cases: Sequence[Case]) -> Rows:
    heads = ["program", "machine", "fence", "tasuki", "reservation", "asymmetric", "lead"]
    heads += [f"equal at {words} of" for words in AXES.values()]
    records = []
    for case in cases:
        costs = [f"{cost:.1f}" for cost in (case.tasuki, case.reservation, case.asymmetric)]
        row = (case.program, case.machine, case.kind, *costs, f"{case.lead:.2f}", *case.equal)
        records.append(dict(zip(heads, row, strict=True)))
    title = "Cycles of an acquisition and its release, less the nop lock's; lead: reservation over"
    return Rows(records, title=f"{title} asymmetric")


def print_reproduction(reproduction: Reproduction) -> None:
    """Print the rows of one, its verdict, and why statements fail."""
    wide = console(fold=False)
    source = f"{reproduction.document} {reproduction.place}"
    title = f"{reproduction.name}: {reproduction.title} ({source}), {reproduction.unit}"
    wide.print(title, style="italic")
    rows = [(row.label, *cells(row)) for row in table_rows(reproduction)]
    print_rows(Answer(["", "published", "simulated", "ratio", ""], rows), Form.TABLE)
    wide.print(reproduction.verdict, style="bold")
    for (why, shown_by), labels in reproduction.causes().items():
        if why:
            say(f"{'; '.join(labels)}: {why} Shown by: {shown_by}")
        else:
            say(f"{len(labels)} that fail, and no experiment shows why.")
    print()


def print_summary(results: Sequence[Reproduction]) -> None:
    """Print the verdicts of all, and their sums: of the papers alone, and together."""
    rows = [(one.name, f"{one.document} {one.place}", one.machine, one.verdict) for one in results]
    print_rows(Answer(["reproduction", "source", "machine", "verdict"], rows), Form.TABLE)
    papers = [one for one in results if f"{one.document}_stated" in paper.index().table]
    if 1 < len(papers) < len(results):
        names = ", ".join(sorted({one.document for one in papers}))
        console(fold=False).print(f"{names}: {_sums(papers)}", style="bold")
    held, first = first_statements(results)
    if first:
        say(f"Of the {first} statements that were compared first {held} hold.")
    if len(results) > 1:
        console(fold=False).print(f"together: {_sums(results)}", style="bold")


def _sums(results: Sequence[Reproduction]) -> str:
    agreeing, pairs, holding, statements = map(
        sum, zip(*((*one.order, *one.statements) for one in results), strict=True)
    )
    aside: dict[str, tuple[int, int]] = {}
    for one in results:
        for kind, (held, every) in one.statements_aside.items():
            aside[kind] = (aside.get(kind, (0, 0))[0] + held, aside.get(kind, (0, 0))[1] + every)
    words = [f"order {agreeing} of {pairs} pairs", f"{holding} of {statements} statements hold"]
    return "; ".join([*words, *aside_words(aside)])
