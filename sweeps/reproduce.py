"""`lockcross reproduce`: the sources' numbers beside ours."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from results.database import DATABASE
from results.errors import LockcrossError
from results.expression import evaluate, names
from results.reproduction import Reproduction, Row, as_fact, cells, fact_name, told
from sweeps import overtake
from sweeps.machine import load_machine
from sweeps.options import Database, DryRun, Jobs, RetryFailed
from sweeps.planned import CLOCK, Planned, PlannedRow
from sweeps.reproduction_plan import load, reproduction_names

if TYPE_CHECKING:
    from results.records import StoredRun
    from results.store import Store
    from sweeps.runner import Runner

PLAN = "reproduce"  # what the runs are stored under
_INSTRUCTIONS = 2_000_000_000  # a run may execute, over all cores
_NANOSECONDS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}


def run(planned: Planned, runner: "Runner", store: "Store") -> Reproduction:
    """Runs what is missing, stores the result and returns it."""
    wanted = [measured.cell for measured in planned.cells.values()]
    runs = dict(zip(planned.cells, runner.run(wanted, PLAN), strict=True))
    found = result(planned, runs)
    store.set_fact(fact_name(planned.name), as_fact(found))
    store.set_series(f"{PLAN}/{planned.name}", [one.id for one in runs.values()])
    return found


def result(planned: Planned, runs: Mapping[str, "StoredRun"]) -> Reproduction:
    """The rows from the runs of its cells, by their names."""
    rows = tuple(_row(planned, row, runs) for row in planned.rows)
    return Reproduction(
        planned.name, planned.title, planned.document, planned.place, planned.machine,
        planned.unit, planned.scale, rows, planned.plot, planned.notes,
    )  # fmt: skip


def _row(planned: Planned, row: PlannedRow, runs: Mapping[str, "StoredRun"]) -> Row:
    def look(name: str, part: str) -> float:
        if name in runs:
            return runs[name].metrics[part or planned.cells[name].metric]
        return 1000 / load_machine(planned.machine).clock_mhz.number / _NANOSECONDS[name]

    used = [name for name, _ in names(row.ours) if name not in CLOCK]
    bad = next((runs[name] for name in used if runs[name].status != "ok"), None)
    ours, missing = None, ""
    if bad is not None:
        missing = f"{bad.status}: {bad.cause}"
    else:
        try:
            ours = evaluate(row.ours, look)
        except KeyError as error:
            missing = f"a run has no metric {error}"
        except ZeroDivisionError:
            missing = "a division by zero"
    no_number = ours is not None and ours <= 0 and bool(row.if_not_positive)
    if no_number:
        ours, missing = None, row.if_not_positive
    return Row(
        row.label, row.published, ours, row.tolerance, row.series, row.x, row.group, row.note,
        missing, no_number, row.mark,
    )  # fmt: skip


def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Which ones; default: all.")
    ] = None,
    list_them: Annotated[bool, typer.Option("--list", help="List them.")] = False,
    dry_run: DryRun = False,
    retry_failed: RetryFailed = False,
    jobs: Jobs = 0,
    db: Database = DATABASE,
) -> None:
    """Run the experiments of the sources and print published and simulated numbers side by side."""
    from results.store import Store
    from sweeps.commands_run import limits, store_to_read
    from sweeps.progress import Bar
    from sweeps.runner import Runner

    plans = _chosen(names or [])
    overtakes = not names or overtake.NAME in names
    if list_them:
        _print_list(plans, overtakes)
        return
    bounds = limits(0.0, _INSTRUCTIONS)
    if dry_run:
        with store_to_read(db) as store:
            from sweeps.estimate import describe

            wanted = [one.cell for plan in plans for one in plan.cells.values()]
            wanted += overtake.known_cells() if overtakes else []
            known = Runner(store, jobs, None, bounds, retry_failed).look_up(wanted)
            print(describe(store, known, jobs))
        return
    with Store(db) as store:
        with Bar() as progress:
            runner = Runner(store, jobs, progress, bounds, retry_failed)
            found = [run(plan, runner, store) for plan in plans]
            cases = overtake.run(runner, store) if overtakes else []
        machines = {one.cell.machine for plan in plans for one in plan.cells.values()}
        _store_machines(store, machines.union(overtake.MACHINES if overtakes else ()))
    for one in found:
        print_reproduction(one)
    if cases:
        overtake.print_cases(cases)
    if found:
        print_summary(found)


def _chosen(chosen: Sequence[str]) -> list[Planned]:
    known = [*reproduction_names(), overtake.NAME]
    if unknown := [name for name in chosen if name not in known]:
        raise LockcrossError(
            f"reproduction {unknown[0]!r} is unknown; known are {', '.join(known)}"
        )
    return [load(name) for name in (chosen or known) if name != overtake.NAME]


def _store_machines(store: "Store", names: Iterable[str]) -> None:
    from results.records import MachineRecord

    for name in sorted(names):
        machine = load_machine(name)
        store.set_machine(MachineRecord(name, machine.title, machine.model_dump(exclude_none=True)))


def _print_list(plans: Sequence[Planned], overtakes: bool) -> None:
    from rich.table import Table

    from results.terminal import console

    table = Table("name", "source", "machine", "cells", "rows", "title", box=None)
    for plan in plans:
        table.add_row(
            plan.name, f"{plan.document} {plan.place}", plan.machine, str(len(plan.cells)),
            str(len(plan.rows)), plan.title,
        )  # fmt: skip
    if overtakes:
        machines, cells = ", ".join(overtake.MACHINES), len(overtake.known_cells())
        table.add_row(overtake.NAME, "K 6.6.2", machines, f"{cells} or more", "", overtake.TITLE)
    console(fold=False).print(table)


def print_reproduction(found: Reproduction) -> None:
    """Prints the rows of one, and its verdict."""
    from rich.table import Table

    from results.terminal import console

    title = f"{found.name}: {found.title} ({found.document} {found.place}), {found.unit}"
    table = Table("", "published", "ours", "ratio", "", box=None)
    for row in told(found):
        table.add_row(row.label, *cells(row))
    wide = console(fold=False)
    wide.print(title, style="italic")
    wide.print(table)
    wide.print(f"{found.verdict}\n", style="bold")


def print_summary(found: Sequence[Reproduction]) -> None:
    """Prints the verdicts of all."""
    from rich.table import Table

    from results.terminal import console

    table = Table("reproduction", "source", "machine", "verdict", box=None)
    for one in found:
        table.add_row(one.name, f"{one.document} {one.place}", one.machine, one.verdict)
    console(fold=False).print(table)


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(reproduce)
