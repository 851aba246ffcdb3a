"""The end of a job: draw the figures, write the report, say who wins."""

import sqlite3
from pathlib import Path

from rich.table import Table

from results.store.store import Store
from results.text.terminal import console
from sweeps.model.isa import isa_words
from sweeps.questions.crossover import answer as summary
from sweeps.questions.crossover.answer import (
    axis_tables,
    model_sentences,
    seeds_words,
    ties_words,
    win_words,
)
from sweeps.questions.many_cores import answer as many_cores
from sweeps.questions.many_cores.answer import changing, crossover_rows, tables
from sweeps.report.figures import draw_all
from sweeps.report.reference import references
from sweeps.report.report import write_report
from sweeps.search.found import PLAN

_UNSOUND = "store forwarding: not every processor keeps the order that it relies on"
_SHOWN_AXES = ("cas", "fence_latency", "cancel")


def write_page(db: Path, output: Path) -> Path:
    """Draws the figures and writes the report into `output`; returns the report's path. Raises
    StoreError, NoDataError, FigureError, ReportError."""
    with Store(db, read_only=True) as store, references(store.connection) as others:
        figures = draw_all(store.connection, output / "figures", others)
        return write_report(store.connection, output / "report.html", figures, others)


def present(db: Path, output: Path) -> None:
    """Draws and writes into `output`, then prints the winner table, the crossovers and the paths.
    Raises StoreError, NoDataError, FigureError, ReportError."""
    with Store(db, read_only=True) as store:
        with references(store.connection) as others:
            figures = draw_all(store.connection, output / "figures", others)
            report = write_report(store.connection, output / "report.html", figures, others)
        if PLAN.optional(store.connection):
            console(fold=False).print(_table(store.connection))
            _print_crossovers(store.connection)
        if many_cores.PLAN.optional(store.connection):
            _print_many_cores(store.connection)
    print(f"\ndatabase  {db}")
    for path in figures.values():
        print(f"figure    {path}")
    print(f"report    {report}")


def _table(connection: sqlite3.Connection) -> Table:
    rows = summary.rows(connection)
    plan = PLAN.read(connection)
    aside = ", ".join(plan.table_locks)
    table = Table(
        "machine", "ISA", "CAS", "fence", "fences", "cheapest",
        *([f"without {aside}"] if aside else []),
        title="Cheapest lock by cycles per acquire-release pair (measured latencies in cycles)",
        box=None,
    )  # fmt: skip
    for row in rows:
        place = [
            row.machine + ("*" if row.assumed else ""), isa_words(row.isa.title, row.flavour),
            f"{row.cas:.0f}", f"{row.fence:.0f}",
        ]  # fmt: skip
        for fences, contest in row.contests:
            wins = [contest.overall, *([contest.compared] if aside else [])]
            table.add_row(*place, fences, *map(win_words, wins))
            place = [""] * len(place)
    table.caption = "\n".join(
        [
            f"in brackets: the lead over the next lock; {ties_words(rows)}",
            "* CAS or fence latency assumed",
            *[_UNSOUND] * any(row.any_fence for row in rows),
            *(f"{lock}: {limit}" for lock, limit in plan.limits.items()),
        ]
    )
    return table


def _print_crossovers(connection: sqlite3.Connection) -> None:
    lines = [one for one in summary.lines(connection, "axis") if one.axis in _SHOWN_AXES]
    if not lines:
        return
    tables = [
        *axis_tables(lines, by_machine=True),
        *axis_tables(summary.lines(connection, "run_length"), by_machine=True),
    ]
    print()
    for one in tables:
        unit = f" ({one.unit})" if one.unit else ""
        held = ["held at"] if one.has_held else []
        table = Table(f"{one.axis}{unit}", "ISA", *held, *one.columns, box=None)
        for row in one.rows:
            table.add_row(row.pair, row.group, *([row.held] if held else []), *row.cells)
        console(fold=False).print(table)
    print(
        "Where the named lock begins to beat the other of the two (a third may be cheaper than "
        f"both); {seeds_words(lines)}."
    )
    for words in model_sentences(connection):
        print(f"{words}.")


def _print_many_cores(connection: sqlite3.Connection) -> None:
    """The tables of a study of many cores; the least cost of a row, and ties with it, have a *."""
    for one in tables(connection):
        table = Table(
            one.axis, *(label.words() for label in one.labels), title=f"{one.title} ({one.unit})",
            box=None,
        )  # fmt: skip
        for row in one.rows:
            marked = (cell + "*" * least for cell, least in zip(row.cells, row.least, strict=True))
            table.add_row(row.place, *marked)
        console(fold=False).print(table)
    rows = changing(crossover_rows(connection))
    if rows:
        table = Table("two locks", "along", "held at", "cheaper", box=None)
        for found in rows:
            table.add_row(found.pair, found.axis, found.held, found.words)
        console(fold=False).print(table)
