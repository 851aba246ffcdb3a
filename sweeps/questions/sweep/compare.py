"""`lockcross compare`: a plan's costs along an axis, as tables and as a figure."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from results.errors import LockcrossError
from results.paths import DATABASE
from results.store.store import reading
from results.text.rows import Form, Format, number, print_rows
from sweeps.cli import complete
from sweeps.cli.options import Database

if TYPE_CHECKING:
    from sweeps.search.plan_costs import Band, Comparison

_DRAWN = (".png", ".svg", ".pdf")


def compare(
    plan: Annotated[
        str,
        typer.Option(
            help="A plan that was swept: its name or its file.", autocompletion=complete.plans
        ),
    ],
    along: Annotated[
        str, typer.Option(help="An axis or a key of the workload, as cas_latency or threads.")
    ],
    by: Annotated[str, typer.Option(help="What is compared: an axis or a key.")] = "lock",
    only: Annotated[
        list[str] | None,
        typer.Option(help="Only runs with this value, as isa=x86_64; may be given more than once."),
    ] = None,
    figure: Annotated[
        Path | None, typer.Option(help="Draw it too, into this .png, .svg or .pdf file.")
    ] = None,
    form: Format = Form.TABLE,
    db: Database = DATABASE,
) -> None:
    """Compare the costs of a plan's runs along an axis: the median, and the band over the seeds."""
    from sweeps.search.plan_costs import compare as compare_runs
    from sweeps.search.plan_costs import runs_of_plan

    if figure is not None and figure.suffix not in _DRAWN:
        raise LockcrossError(f"--figure {figure}: allowed are {', '.join(_DRAWN)}")
    chosen = {}
    for word in only or []:
        name, equals, chosen[name] = word.partition("=")
        if not equals:
            raise LockcrossError(f"--only {word!r}: name=value is expected")
    with reading(db) as connection:
        found = compare_runs(runs_of_plan(connection, plan), by, along, chosen)
    if form == Form.TABLE:
        _print_tables(found)
    else:
        _print_rows(found, form)
    if figure is not None:
        from results.draw.painter import save
        from sweeps.report.plan import MOST_PANELS, draw_comparison

        save(figure, lambda: draw_comparison(found))
        if form == Form.TABLE:
            print(figure)
            if (left := len(found.panels) - MOST_PANELS) > 0:
                print(
                    f"the figure has the first {MOST_PANELS} settings, not the other {left}; "
                    "--only chooses some"
                )


def _print_tables(found: "Comparison") -> None:
    """A table for each setting: a row for each value of the axis, a column for each lock."""
    from rich.table import Table

    from results.text.terminal import console

    def word(value: object) -> str:
        return "own" if value is None else str(value)

    def words(band: "Band | None") -> str:
        if band is None:
            return ""
        ends = f" ({number(band.least)} to {number(band.most)})" if band.least < band.most else ""
        return number(band.median) + ends

    out = console(fold=False)
    if found.same:
        out.print("in common: " + ", ".join(f"{n}={value}" for n, value in found.same.items()))
    out.print("core cycles per acquire-release pair; in brackets the least and most of the seeds")
    for panel in found.panels:
        columns = (found.along, *map(word, panel.curves))
        table = Table(*columns, box=None, title=panel.title, title_justify="left")
        for x in panel.points:
            table.add_row(word(x), *(words(curve.get(x)) for curve in panel.curves.values()))
        out.print(table)


def _print_rows(found: "Comparison", form: Form) -> None:
    """A row for each point of each curve."""
    from results.store.queries import Answer

    numbers = ("cycles_per_pair", "least", "most", "seeds")
    rows = [
        (*panel.place.values(), name, x, band.median, band.least, band.most, band.seeds)
        for panel in found.panels
        for name, curve in panel.curves.items()
        for x, band in curve.items()
    ]
    print_rows(Answer([*found.panels[0].place, found.by, found.along, *numbers], rows), form)
