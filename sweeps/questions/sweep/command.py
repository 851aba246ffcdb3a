"""Commands for whole plans: sweep, build; compare, a plan's costs along an axis, as tables and as a
figure."""

import shlex
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from results.errors import LockcrossError
from results.paths import DATABASE
from results.store.former import current
from results.store.store import Store, reading, store_to_read
from results.text.rows import Form, Format, number, print_compact, print_rows
from sweeps.cli import options

if TYPE_CHECKING:
    from results.store.records import StoredRun
    from sweeps.study.costs import Band, Comparison
    from sweeps.study.leads import Win

_UNIT = "cycles/pair"  # of what is compared
_SHOWN_FAILURES = 5  # causes
_SHOWN_WINNERS = 24  # rows


def sweep(
    plan: Annotated[
        str,
        options.argument("A plan's name (see `plans`) or file.", options.plans),
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
    from sweeps.cli.progress import Bar
    from sweeps.run.runner import Runner
    from sweeps.study.baseline import unlocked
    from sweeps.study.calibrate import store_machines
    from sweeps.study.plan import load_plan

    loaded = load_plan(plan)
    cells = [*loaded.cells, *unlocked(loaded.cells)]
    looking = f"{loaded.name}: looking for {len(loaded.cells)} cells in the database"
    print(looking, file=sys.stderr, flush=True)
    bounds = options.limits(time_limit, instruction_limit, no_server)
    if dry_run:
        with store_to_read(db) as store:
            runner = Runner(store, jobs, None, bounds, retry_failed)
            todo = runner.describe(cells, options.at_a_time(cluster, jobs))
            print(f"{loaded.name}: {loaded.title}\n{todo}")
        return
    with options.pool_of(cluster) as pool, Store(db) as store:
        with Bar() as progress:
            runner = Runner(store, jobs, progress, bounds, retry_failed, keep, pool=pool)
            runs = runner.run(cells, loaded.name)[: len(loaded.cells)]
        store.set_series(f"{PREFIX}{loaded.name}", (run.id for run in runs))
        store_machines(store, {cell.machine for cell in loaded.cells})
        _print_winners(store, loaded.name, form)
    if form == Form.TABLE:
        _print_where_the_rest_is(loaded.name, db)
    _summarize(runs, sys.stdout if form == Form.TABLE else sys.stderr)


def _print_winners(store: Store, plan: str, form: Form) -> None:
    """Print the table of winners of a plan, as far as its runs have costs."""
    from results.text.terminal import console
    from sweeps.report.plan import compared_words, winner_rows
    from sweeps.study.costs import compare as compare_runs
    from sweeps.study.costs import groups, hidden, runs_of_plan, varied
    from sweeps.study.runs import LOCK

    runs = runs_of_plan(store.connection, plan)
    out, settings = console(fold=False), groups(runs)
    rows = winner_rows(settings)
    if form != Form.TABLE:
        print_rows(rows, form)
    elif settings:
        print_compact(rows, out, ("winner", "cycles_per_pair"), _SHOWN_WINNERS)
        out.print(compared_words(settings))
        for words in filter(None, (hidden(compare_runs(runs, LOCK, a)) for a in varied(runs)[0])):
            out.print(words)
    else:
        out.print("no run has a cost per acquire-release pair, so there is no winner")


def _print_where_the_rest_is(plan: str, db: Path) -> None:
    """Print the commands that show more of a plan."""
    of = f"--plan {shlex.quote(plan)}"
    at = "" if db == DATABASE else f" --db {shlex.quote(str(db))}"
    rest = {
        f"query winners {of}": "who wins in each setting",
        f"query costs {of}": "what every lock costs in each setting",
        f"compare {of} --along KEY": "cost along an axis or a key; --figure FILE draws it",
        f"runs {of}": "every run; ./lockcross show ID has all of one",
        f"report {of}": "a page with tables and figures",
    }
    for words, what in rest.items():  # as they are pasted, however long
        print(f"./lockcross {words}{at}  # {what}")


def _summarize(runs: "Sequence[StoredRun]", out: TextIO) -> None:
    """Print how a sweep ended. Exits with 1 if a cell failed."""
    distinct = {run.identity: run for run in runs}.values()
    by_status = Counter(run.status for run in distinct)
    counts = ", ".join(f"{by_status[status]} {status}" for status in ("ok", "failed", "refused"))
    print(f"{len(runs)} cells, {len(distinct)} distinct: {counts}", file=out)
    failed = [run for run in distinct if run.status == "failed"]
    for cause, count in Counter(run.cause for run in failed).most_common(_SHOWN_FAILURES):
        print(f"  failed {count} times: {cause}", file=out)
    if failed:
        print(
            f"`lockcross show {failed[0].id}` shows one of them, `lockcross sweep ... "
            "--retry-failed` runs them again",
            file=out,
        )
        raise typer.Exit(1)


def build(
    plan: Annotated[str, options.argument("Build the programs of this plan.", options.plans)],
    jobs: options.Jobs = 0,
    form: Format = Form.TABLE,
) -> None:
    """Build the programs that a plan runs."""
    from results.store.queries import Answer
    from sweeps.engines.base import load_engine
    from sweeps.model.cell import unsupported_reason
    from sweeps.model.locks import LockLabel
    from sweeps.programs import Builder
    from sweeps.study.plan import load_plan

    possible = [cell for cell in load_plan(plan).cells if not unsupported_reason(cell)]
    built = Builder().build([load_engine(cell.engine).program(cell) for cell in possible], jobs)
    labels = {
        program: LockLabel.of(program.lock, program.variant, program.fence) for program in built
    }
    rows = [
        (built[program].digest[:12], program.workload, labels[program], program.flavour)
        for program in built
    ]
    print_rows(Answer(["program", "workload", "lock", "flavour"], rows), form)


def compare(
    plan: Annotated[str, options.of_plan()],
    along: Annotated[
        str, typer.Option(help="An axis or a key of the workload, as cas_latency or threads.")
    ],
    by: Annotated[str, typer.Option(help="What is compared: an axis or a key.")] = "lock",
    only: Annotated[
        list[str] | None,
        typer.Option(help="Only runs with this value, as isa=x86_64; may be given more than once."),
    ] = None,
    figure: options.FigureFile = None,
    form: Format = Form.TABLE,
    db: options.Database = DATABASE,
) -> None:
    """Compare the costs of a plan's runs along an axis: the median, and the band over the seeds."""
    from sweeps.study.costs import compare as compare_runs
    from sweeps.study.costs import runs_of_plan

    if figure is not None:
        from results.draw.painter import check_file, save

        check_file(figure)
    chosen = {}
    for word in only or []:
        name, equals, value = word.partition("=")
        chosen[name] = current(value)
        if not equals:
            raise LockcrossError(f"--only {word!r}: name=value is expected")
    with reading(db) as connection:
        comparison = compare_runs(runs_of_plan(connection, plan), by, along, chosen)
    if form == Form.TABLE:
        _print_tables(comparison)
    else:
        _print_rows(comparison, form)
    if figure is not None:
        from sweeps.report.plan import MOST_PANELS, draw_comparison

        save(figure, lambda: draw_comparison(comparison))
        if form == Form.TABLE:
            print(figure)
            if (left := len(comparison.panels) - MOST_PANELS) > 0:
                first = f"the figure has the first {MOST_PANELS} settings, not the other {left}"
                print(f"{first}; --only chooses some")


def _print_tables(comparison: "Comparison") -> None:
    """Print a table for each setting, with the spread of the seeds."""
    from results.text.terminal import console
    from sweeps.report.tables import LEAST, table_of
    from sweeps.study.costs import hidden, wins_of
    from sweeps.study.leads import WORDS

    def words(band: "Band") -> str:
        ends = f" ({number(band.least)} to {number(band.most)})" if band.least < band.most else ""
        return number(band.median) + ends

    out = console(fold=False)
    if same := ", ".join(f"{name}={value}" for name, value in comparison.same.items()):
        out.print(f"in common: {same}")
    marked = False
    out.print("core cycles per acquire-release pair; in brackets the least and most of the seeds")
    for panel in comparison.panels:
        won = wins_of(comparison, panel)
        out.print(table_of(panel, comparison.along, panel.title, words, wins=won))
        marked |= bool(won)
    if marked:
        out.print(f"{LEAST} the cheapest, and those in a tie with it. {WORDS}")
    if said := hidden(comparison):
        out.print(said)


def _print_rows(comparison: "Comparison", form: Form) -> None:
    """Print a row for each point of each curve."""
    from results.store.queries import Answer
    from sweeps.study.costs import wins_of

    numbers = ("cycles_per_pair", "least", "most", "unit", "seeds", "verdict")

    def verdict(win: "Win | None", name: object) -> str:
        if win is None or name not in (win.lock, *win.tied):
            return ""
        return f"the cheapest, {win.words}" if name == win.lock else "tie"

    rows = [
        (
            *(
                *panel.place.values(),
                name,
                x,
                band.median,
                band.least,
                band.most,
                _UNIT,
                band.seeds,
            ),
            verdict(won.get(x), name),
        )
        for panel in comparison.panels
        for won in [wins_of(comparison, panel)]
        for name, curve in panel.curves.items()
        for x, band in curve.items()
    ]
    place = comparison.panels[0].place
    columns = [*place, comparison.by, comparison.along, *numbers]
    print_rows(Answer(columns, rows), form)
