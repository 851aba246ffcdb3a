"""The end of a job: draw the figures, write the report, say who wins."""

import sqlite3
from pathlib import Path

from rich.table import Table

from results.analysis import summary
from results.analysis.reference import references
from results.analysis.winners import Win
from results.figures.draw import draw_all
from results.model.flavours import isa_words
from results.model.label import LockLabel
from results.report.report import write_report
from results.report.terminal import console
from results.store.store import Store

_SHOWN_AXES = ("cas", "fence_latency", "cancel")


def present(db: Path, output: Path) -> None:
    """Draws and writes into `output`, then prints the winner table, the crossovers in words and
    the paths. Raises StoreError, NoDataError, FigureError, ReportError."""
    with Store(db, read_only=True) as store:
        with references(store.connection) as others:
            figures = draw_all(store.connection, output / "figures", others)
            report = write_report(store.connection, output / "report.html", figures, others)
        console(fold=False).print(_table(store.connection))
        _print_crossovers(store.connection)
    print(f"\ndatabase  {db}")
    for path in figures.values():
        print(f"figure    {path}")
    print(f"report    {report}")


def _table(connection: sqlite3.Connection) -> Table:
    table = Table(
        "machine", "ISA", "CAS", "fence", "full fences: winner", "any kind of fence: winner",
        title="Cheapest lock by cycles per acquire-release pair (measured latencies in cycles)",
        box=None,
    )  # fmt: skip
    for row in summary.rows(connection):
        table.add_row(
            row.machine + ("*" if row.assumed else ""),
            isa_words(row.isa.title, row.flavour),
            f"{row.cas:.0f}",
            f"{row.fence:.0f}",
            _win(row.full, row.costs),
            _win(row.any_fence, row.costs) if row.any_fence else "",
        )
    table.caption = "* CAS or fence latency assumed; in brackets: the lead over the next lock"
    return table


def _print_crossovers(connection: sqlite3.Connection) -> None:
    lines = [one for one in summary.lines(connection, "axis") if one.axis in _SHOWN_AXES]
    if lines:
        print(
            "\nWhere one of two locks begins to beat the other (a third may be cheaper than both):"
        )
    for one in lines:
        where = isa_words(one.isa.title, one.flavour)
        print(f"{where}, {summary.AXES[one.axis]}: {one.words}")


def _win(win: Win, costs: dict[LockLabel, float]) -> str:
    return (
        f"{win.lock.words()} {costs[win.lock]:.1f} "
        f"({win.margin:.2f} less than {win.runner_up.words()})"
    )
