"""Commands that read results: query, export, runs, show, figures, report, locality."""

import csv
import json
import math
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from results.errors import LockcrossError
from results.paths import DATABASE
from results.store.database import explained
from sweeps.cli.options import Database

if TYPE_CHECKING:
    import sqlite3

    from results.store.queries import Answer

Output = Annotated[Path | None, typer.Option(help="Folder to write to; default: the database's.")]
Format = Annotated[str, typer.Option("--format", help="table, csv or json.")]
Filter = Annotated[str | None, typer.Option(help="Only runs with this value.")]
FORMATS = ("table", "csv", "json")


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    for command in (query, export, runs, show, figures, report, locality):
        app.command()(command)


@contextmanager
def _reading(db: Path) -> "Iterator[sqlite3.Connection]":
    from results.store.store import Store

    with explained(db), Store(db, read_only=True) as store:
        yield store.connection


def query(
    sql: Annotated[str | None, typer.Argument(help="SQL, or a named query.")] = None,
    list_them: Annotated[bool, typer.Option("--list", help="List the named queries.")] = False,
    form: Format = "table",
    db: Database = DATABASE,
) -> None:
    """Query the database with SQL or a named query. Nothing can be changed.

    Bytes are shown as x'00'; JSON has null for infinity.
    """
    from results.store.queries import Answer, ask, named_queries

    _check_format(form)
    if list_them:
        _print(Answer(["query", "what it shows"], list(named_queries().items())), form)
        return
    if sql is None:
        raise LockcrossError("give SQL or a named query; --list shows the named ones")
    with _reading(db) as connection:
        answer = ask(connection, sql, db)
    _print(answer, form)
    if not answer.rows:
        print("the query found no rows in the database", file=sys.stderr)


def export(
    file: Annotated[Path, typer.Argument(help="File to write: .csv, .json or .parquet.")],
    table: Annotated[
        str, typer.Option(help="A table, or wide: one row per run with all its metrics.")
    ] = "wide",
    db: Database = DATABASE,
) -> None:
    """Write runs with their metrics, or a table, as CSV, JSON or Parquet."""
    from results.store.export import export as write

    with _reading(db) as connection:
        rows, columns = write(connection, table, file)
    print(f"{file}: {rows} rows, {columns} columns")


def runs(  # noqa: PLR0913, PLR0917 its options are its arguments
    status: Annotated[str | None, typer.Option(help="ok, failed or refused.")] = None,
    lock: Filter = None,
    isa: Filter = None,
    machine: Filter = None,
    workload: Filter = None,
    compiler: Annotated[
        str | None, typer.Option(help="Part of its version line, e.g. 12.2.0 or clang.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Print at most this many.")] = 50,
    form: Format = "table",
    db: Database = DATABASE,
) -> None:
    """List runs, the latest first."""
    from results.store.queries import list_runs

    _check_format(form)
    with _reading(db) as connection:
        answer = list_runs(
            connection, limit, status=status, lock=lock, isa=isa, machine=machine,
            workload=workload, compiler=compiler,
        )  # fmt: skip
    _print(answer, form)
    if not answer.rows:
        print("no run in the database matches", file=sys.stderr)


def show(
    run_id: Annotated[int, typer.Argument(metavar="ID", help="A run's number.")],
    db: Database = DATABASE,
) -> None:
    """Show everything about a run, and the command that repeats it."""
    from results.report.terminal import visible
    from results.store.queries import show_run

    with _reading(db) as connection:
        run = show_run(connection, run_id)
    apart = {"output", "command"}  # longer: shown below
    facts = {name: value for name, value in run.columns.items() if name not in apart}
    for name, value in (facts | {"series": run.series, "crossovers": run.crossovers}).items():
        if value not in (None, "", []):
            print(visible(f"{name:<16} {_cell(value)}"))
    if run.metrics:
        print("\nMetrics:")
    for name, value, unit in run.metrics:
        print(visible(f"{name:<28} {_number(value):>14} {unit}"))
    if run.columns["output"]:
        print(visible(f"\nOutput:\n{run.columns['output']}"))
    print(visible(f"\nTo repeat it:\n{run.columns['command']}"))


def figures(
    others: Annotated[
        list[Path] | None,
        typer.Option("--with", help="A study on another engine, instead of the reference studies."),
    ] = None,
    output: Output = None,
    db: Database = DATABASE,
) -> None:
    """Draw the figures from the database (PNG and SVG)."""
    from results.analysis.reference import references
    from results.figures.draw import draw_all

    folder, paths = (output or db.parent) / "figures", [db, *(others or [])]
    with ExitStack() as opened:
        studies = {str(path): opened.enter_context(_reading(path)) for path in paths}
        mine = opened.enter_context(references(studies[str(db)]))
        if others:
            mine = replace(mine, studies=studies)
        for path in draw_all(studies[str(db)], folder, mine).values():
            print(path)


def report(output: Output = None, db: Database = DATABASE) -> None:
    """Draw the figures and write the report from the database: one HTML page."""
    from results.report.present import write_page

    with explained(db):
        print(write_page(db, output or db.parent))


def _check_format(form: str) -> None:
    if form not in FORMATS:
        raise LockcrossError(f"--format: {form!r} is unknown; allowed are {', '.join(FORMATS)}")


def _print(answer: "Answer", form: str) -> None:
    from results.report.terminal import console
    from results.store.queries import as_records

    if form == "json":
        records = [
            {name: _json_value(value) for name, value in record.items()}
            for record in as_records(answer)
        ]
        print(json.dumps(records, indent=1, allow_nan=False))
    elif form == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerows([answer.columns, *(map(_plain, row) for row in answer.rows)])
    else:
        from rich.table import Table

        shown = Table(*answer.columns, box=None)
        for row in answer.rows:
            shown.add_row(*map(_cell, row))
        console(fold=False).print(shown)


def _plain(value: object) -> object:
    """A SQLite value for a table of any format."""
    from results.store.queries import blob

    return blob(value) if isinstance(value, bytes) else value


def _json_value(value: object) -> object:
    """A SQLite value for JSON, which has no infinity."""
    return None if isinstance(value, float) and not math.isfinite(value) else _plain(value)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, dict):
        return ", ".join(f"{key}={one}" for key, one in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(_plain(value))


def _number(value: float) -> str:
    return f"{value:.0f}" if not math.isfinite(value) or value == int(value) else f"{value:.2f}"


def locality(
    files: Annotated[
        list[Path],
        typer.Argument(help="Logs that `run --events FILE` wrote.", exists=True, dir_okay=False),
    ],
    long_ms: Annotated[
        float,
        typer.Option("--long", min=0, help="Sections of so many milliseconds or more are long."),
    ] = 10.0,
) -> None:
    """Measure contention and thread locality in logs of lock events.

    Prints the thesis's Tables 4.2 to 4.4, 5.2 and 5.3. A SyncOp is an acquisition, a release, a
    wait or a notification.
    """
    from results.analysis.events import read_events
    from results.report.locality_table import print_tables
    from results.report.terminal import console

    print_tables([read_events(file) for file in files], console(), long_ms)
