"""Commands that read results: query, export, show, figures, report."""

import sqlite3
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from results.errors import LockcrossError
from results.paths import DATABASE
from results.store.store import reading
from results.text.rows import Form, Format, cell, number, print_rows
from sweeps.cli import options
from sweeps.cli.options import QUERY_TIMEOUT_S, Database, QueryTimeout
from sweeps.model.locks import LockLabel, labels_words

OfPlan = Annotated[str | None, options.of_plan("the main job")]


def query(
    sql: Annotated[str | None, options.argument("SQL, or a named query.", options.queries)] = None,
    list_them: options.List = False,
    units: Annotated[
        bool, typer.Option("--units", help="List the unit of every column of numbers, and end.")
    ] = False,
    plan: OfPlan = None,
    timeout: QueryTimeout = QUERY_TIMEOUT_S,
    form: Format = Form.TABLE,
    db: Database = DATABASE,
) -> None:
    """Query the database with SQL or a named query. Nothing can be changed.

    With --plan, winners and costs of a sweep. Bytes are shown as x'00'; JSON has null for infinity.
    """
    from results.store.queries import OF_A_PLAN, Answer, ask, named_queries

    if list_them:
        print_rows(Answer(["query", "shows"], list(named_queries().items())), form)
        return
    if units:
        from results.text.rows import print_parts
        from sweeps.questions.read.units import rows

        with reading(db) as connection:
            print_parts(form, rows(connection))
        return
    if sql is None:
        raise LockcrossError("give SQL or a named query; --list shows the named ones")
    with reading(db) as connection:
        if plan is not None:
            from sweeps.report.plan import print_of_plan

            print_of_plan(connection, sql, plan, form)
            return
        answer = ask(connection, sql, db, timeout)
        note = _compared_in_study(connection) if sql in OF_A_PLAN and answer.rows else ""
    print_rows(answer, form)
    if note and form == Form.TABLE:
        from results.text.terminal import say

        say(note)
    if not answer.rows:
        print("the query found no rows in the database", file=sys.stderr)
        if sql in OF_A_PLAN:
            print("it is of the main job; --plan NAME shows it of a sweep", file=sys.stderr)


def _compared_in_study(connection: sqlite3.Connection) -> str:
    """Say which locks and fence kinds the winner table of the main job compares."""
    from sweeps.study.results import PLAN

    rows = connection.execute(
        "SELECT DISTINCT lock, variant, fence FROM series JOIN runs ON runs.id = run_id "
        "WHERE series.name GLOB 'table/*' AND status = 'ok' ORDER BY 1, 2, 3"
    )
    words = labels_words(LockLabel.of(*row) for row in rows)
    aside = PLAN.read(connection).aside
    words += f" Locks 'compared': without {', '.join(aside)}." * bool(aside)
    return f"{words} Which leads are ties: `./lockcross report`."


def export(
    file: Annotated[Path, typer.Argument(help="File to write: .csv, .json or .parquet.")],
    table: Annotated[
        str, typer.Option(help="A table, or wide: one row per run with all its metrics.")
    ] = "wide",
    db: Database = DATABASE,
) -> None:
    """Write runs with their metrics, or a table, as CSV, JSON or Parquet."""
    from results.store.export import export as write

    with reading(db) as connection:
        rows, columns = write(connection, table, file)
    print(f"{file}: {rows} rows, {columns} columns")


def show(
    run_id: Annotated[int, typer.Argument(metavar="ID", help="A run's number.")],
    db: Database = DATABASE,
) -> None:
    """Show everything about a run, and the command that repeats it."""
    from results.store.queries import show_run
    from results.text.terminal import say, visible

    with reading(db) as connection:
        run = show_run(connection, run_id)
    facts = run.columns | {"series": run.series, "crossovers": run.crossovers}
    for name, value in facts.items():
        if value not in (None, "", []) and name not in ("output", "command"):  # shown below
            say(f"{name:<16} {cell(value)}")
    if run.metrics:
        print("\nMetrics:")
    for name, value, unit in run.metrics:
        print(visible(f"{name:<28} {number(value):>14} {unit}"))
    if run.columns["output"]:
        print(visible(f"\nOutput:\n{run.columns['output']}"))
    print(visible(f"\nTo repeat it:\n{run.columns['command']}"))


def figures(
    others: Annotated[
        list[Path] | None,
        typer.Option("--with", help="A study on another engine, instead of the reference studies."),
    ] = None,
    plan: OfPlan = None,
    output: options.Folder = None,
    db: Database = DATABASE,
) -> None:
    """Draw the figures from the database (PNG and SVG)."""
    folder, paths = (output or db.parent) / "figures", [db, *(others or [])]
    if plan is not None and others:
        raise LockcrossError("--with is of the main job's figures; leave it or --plan out")
    with ExitStack() as opened:
        studies = {str(path): opened.enter_context(reading(path)) for path in paths}
        if plan is not None:
            from sweeps.report.plan import print_figures_of_plan

            _check_plan(studies[str(db)], plan)
            _say_where(folder)
            print_figures_of_plan(studies[str(db)], plan, folder)
            return
        _say_where(folder)
        from sweeps.report.figures import draw_all
        from sweeps.report.presentation import references

        mine = opened.enter_context(references(studies[str(db)]))
        if others:
            mine = replace(mine, studies=studies)
        for path in draw_all(studies[str(db)], folder, mine).values():
            print(path)


def _check_plan(connection: sqlite3.Connection, plan: str) -> None:
    """Raise LockcrossError for a plan without runs, before anything is said or drawn."""
    from sweeps.study.costs import runs_of_plan

    runs_of_plan(connection, plan)


def _say_where(folder: Path) -> None:
    """Say where figures go, before all that draws is imported, which takes seconds."""
    print(f"drawing into {folder} what has changed", file=sys.stderr, flush=True)


def report(plan: OfPlan = None, output: options.Folder = None, db: Database = DATABASE) -> None:
    """Draw the figures and write the report from the database: one HTML page."""
    folder = output or db.parent
    with reading(db) as connection:
        if plan is not None:
            from sweeps.report.plan import write_plan_page

            _check_plan(connection, plan)
            _say_where(folder)
            print(write_plan_page(connection, plan, folder))
        else:
            _say_where(folder)
            from sweeps.report.report import write_all

            print(write_all(db, folder)[0])
