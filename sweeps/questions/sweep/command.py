"""Commands for whole plans: sweep, build."""

import shlex
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from results.paths import DATABASE
from results.store.store import store_to_read
from results.text.rows import Form, Format, print_compact, print_rows
from sweeps.cli import complete, options

if TYPE_CHECKING:
    from results.store.records import StoredRun
    from results.store.store import Store

_SHOWN_FAILURES = 5  # causes
_SHOWN_WINNERS = 24  # rows


def sweep(
    plan: Annotated[
        str,
        typer.Argument(help="A plan's name (see `plans`) or file.", autocompletion=complete.plans),
    ],
    dry_run: options.DryRun = False,
    retry_failed: options.RetryFailed = False,
    jobs: options.Jobs = 0,
    no_server: options.NoServer = False,
    time_limit: options.TimeLimit = options.DEFAULT_TIME_LIMIT,
    instruction_limit: options.InstructionLimit = options.DEFAULT_INSTRUCTION_LIMIT,
    keep: options.Keep = False,
    cluster: options.ClusterFile = "",
    form: Format = Form.TABLE,
    db: options.Database = DATABASE,
) -> None:
    """Run the cells of a plan that are not in the database yet, and say which locks win."""
    from results.store.queries import PREFIX
    from results.store.store import Store
    from sweeps.cli.progress import Bar
    from sweeps.plans.sweep import load_plan
    from sweeps.run.runner import Runner, describe
    from sweeps.search.calibrate import store_machines

    loaded = load_plan(plan)
    looking = f"{loaded.name}: looking for {len(loaded.cells)} cells in the database"
    print(looking, file=sys.stderr, flush=True)
    bounds = options.limits(time_limit, instruction_limit, no_server)
    if dry_run:
        with store_to_read(db) as store:
            known = Runner(store, jobs, None, bounds, retry_failed).look_up(loaded.cells)
            print(f"{loaded.name}: {loaded.title}")
            print(describe(store, known, options.at_a_time(cluster, jobs)))
        return
    with Store(db) as store:
        with options.pool_of(cluster) as pool, Bar() as progress:
            runner = Runner(store, jobs, progress, bounds, retry_failed, keep, pool=pool)
            runs = runner.run(loaded.cells, loaded.name)
        store.set_series(f"{PREFIX}{loaded.name}", (run.id for run in runs))
        store_machines(store, {cell.machine for cell in loaded.cells})
        _print_winners(store, loaded.name, form)
    if form == Form.TABLE:
        _print_where_the_rest_is(loaded.name, db)
    _summarize(runs, sys.stdout if form == Form.TABLE else sys.stderr)


def _print_winners(store: "Store", plan: str, form: Form) -> None:
    """Prints the table of winners of a plan, as far as its runs have costs."""
    from results.text.terminal import console
    from sweeps.report.plan import compared_words, winner_rows
    from sweeps.search.plan_costs import groups, runs_of_plan

    out, found = console(fold=False), groups(runs_of_plan(store.connection, plan))
    rows = winner_rows(found)
    if form != Form.TABLE:
        print_rows(rows, form)
    elif found:
        print_compact(rows, out, ("winner", "cycles_per_pair"), _SHOWN_WINNERS)
        out.print(compared_words(found))
    else:
        out.print("no run has a cost per acquire-release pair, so there is no winner")


def _print_where_the_rest_is(plan: str, db: Path) -> None:
    """Prints the commands that show more of a plan."""
    from rich.table import Table

    from results.text.terminal import console

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    at = "" if db == DATABASE else f" --db {shlex.quote(str(db))}"
    for command, rest, what in (
        ("query winners", "", "who wins in each setting"),
        ("query costs", "", "what every lock costs in each setting"),
        ("compare", " --along KEY", "cost along an axis or a key; --figure FILE draws it"),
        ("runs", "", "every run; ./lockcross show ID has all of one"),
        ("report", "", "a page with tables and figures"),
    ):
        table.add_row(f"./lockcross {command} --plan {shlex.quote(plan)}{rest}{at}", what)
    console(fold=False).print(table)


def _summarize(runs: "Sequence[StoredRun]", out: TextIO) -> None:
    """Prints how a sweep ended. Exits with 1 if a cell failed."""
    distinct = {run.identity: run for run in runs}.values()
    by_status = Counter(run.status for run in distinct)
    counts = ", ".join(f"{by_status[status]} {status}" for status in ("ok", "failed", "refused"))
    print(f"{len(runs)} cells, {len(distinct)} distinct: {counts}", file=out)
    causes = Counter(run.cause for run in distinct if run.status == "failed")
    for cause, count in causes.most_common(_SHOWN_FAILURES):
        print(f"  failed {count} times: {cause}", file=out)
    if causes:
        failed = next(run.id for run in distinct if run.status == "failed")
        print(
            f"`lockcross show {failed}` shows one of them, `lockcross sweep ... --retry-failed` "
            "runs them again",
            file=out,
        )
        raise typer.Exit(1)


def build(
    plan: Annotated[
        str, typer.Argument(help="Build the programs of this plan.", autocompletion=complete.plans)
    ],
    jobs: options.Jobs = 0,
    form: Format = Form.TABLE,
) -> None:
    """Build the programs that a plan runs."""
    from results.store.queries import Answer
    from sweeps.engines import load_engine
    from sweeps.model.cells import unsupported_reason
    from sweeps.model.label import LockLabel
    from sweeps.plans.sweep import load_plan
    from sweeps.programs import Builder

    possible = [cell for cell in load_plan(plan).cells if not unsupported_reason(cell)]
    built = Builder().build([load_engine(cell.engine).program(cell) for cell in possible], jobs)
    rows: list[tuple[object, ...]] = []
    for program, binary in built.items():
        label = LockLabel.of(program.lock, program.variant, program.fence)
        rows.append((binary.digest[:12], program.workload, label, program.flavour))
    print_rows(Answer(["program", "workload", "lock", "flavour"], rows), form)
