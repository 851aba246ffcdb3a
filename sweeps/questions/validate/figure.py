"""A candidate engine against a reference: the error of every cell, one panel per validation set."""

import sqlite3
from collections.abc import Sequence
from math import exp, log
from statistics import median
from textwrap import fill

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter

from results.draw.painter import note, panels, sign
from results.errors import NoDataError
from sweeps.model import engines
from sweeps.model.isa import isa_words
from sweeps.model.locks import LockLabel
from sweeps.questions.validate.answer import Compared, SetSummary, Stored, summarize
from sweeps.report.style import FLAVOUR_STYLES, style_of
from sweeps.study.results import isa_title

_BAND = 1.1  # the factor up to which an error lies in the grey band
_REACH = 1.25  # the least that a panel shows on either side: this factor
_FACTORS = {1.35: (1.05, 1.1, 1.2, 1.3), 2.5: (1.2, 1.5, 2), 20: (2, 5, 10)}  # on an axis, by reach
_WIDE = 50  # times the least cost, from which on only powers of ten stand on the axis
_COLUMNS, _LINE = 46, 0.12  # letters of a line above a panel, and inches of a line of the key
_KEYS = 6  # beside one another


def draw_validation(connection: sqlite3.Connection) -> Figure:
    """Draw the error against the reference's cost, a point for each cell. Raises NoDataError."""
    cells = Stored(connection).compared()
    places: dict[tuple[str, str], SetSummary] = {}
    for summary in summarize(connection):
        if summary.cells:
            places.setdefault((summary.set, summary.reference), summary)
    if not places:
        raise NoDataError("the database holds no validation; run ./lockcross validate")
    isas = {cell.cell.flavour: isa_title(connection, cell.cell.isa) for cell in cells}
    several = len(isas) > 1  # then colours tell them apart, else locks
    locks = sorted({LockLabel(cell.cell.lock) for cell in cells})
    handles = [
        sign(isa_words(isas[flavour], flavour), ls="", marker="o", color=colour)
        for flavour, (colour, _) in FLAVOUR_STYLES.items()
        if several and flavour in isas
    ]
    for lock in locks:
        look = style_of(lock).mark | (_in("#333333") if several else {})
        handles.append(sign(lock.words(), ls="", **look))
    below = 0.3 + _LINE * -(-len(handles) // _KEYS)
    figure, axes = panels(len(places), 3, 2.2, below)
    for ax, (place, first) in zip(axes, places.items(), strict=False):
        of_set = [cell for cell in cells if (cell.set, cell.cell.engine) == place]
        _draw_set(ax, of_set, first, _reference(connection, of_set[0]), several)
    figure.suptitle("Simulated cost over the reference's; ringed: the cell that is furthest off")
    figure.legend(handles=handles, loc="outside lower center", ncols=_KEYS)
    return figure


def _reference(connection: sqlite3.Connection, cell: Compared) -> str:
    """Return the reference's title: its processor's where it is one."""
    known = engines.entry(cell.cell.engine)
    titles = dict(connection.execute("SELECT name, title FROM machines"))
    named = titles.get(cell.cell.machine, cell.cell.machine).partition(",")[0]
    return f"measured on {named}" if known.silicon else f"on {engines.title(cell.cell.engine)}"


def _draw_set(
    ax: Axes, cells: Sequence[Compared], of: SetSummary, reference: str, several: bool
) -> None:
    """Draw a validation set against one reference; its worst cell, by the factor, is named."""
    factors = {cell: cell.candidate / cell.reference for cell in cells}
    worst = max(cells, key=lambda cell: abs(log(factors[cell])))
    usual = exp(median(abs(log(factor)) for factor in factors.values()))
    _, silicon, rest = of.title.partition(f"{engines.title(of.reference)}, ")
    said = f"{len(cells)} cells, median factor {usual:.2f}\n"
    said += fill(f"{worst.cell.label.words()}: {_factor(factors[worst])}", _COLUMNS)
    ax.set_title(rest if silicon else of.title, pad=5 + 8.5 * len(said.splitlines()))
    note(ax, said, (0.5, 1), (0, 3), xycoords="axes fraction", ha="center", va="bottom")
    ax.set_xlabel(f"cycles {reference}")
    ax.set_ylabel(f"times that, {engines.title(of.candidate)}")
    ax.set(xscale="log", yscale="log")
    reach = max(_REACH, exp(1.15 * abs(log(factors[worst]))))
    ax.set_ylim(1 / reach, reach)
    if ticks := next((ticks for upto, ticks in _FACTORS.items() if reach < upto), ()):
        ax.yaxis.set_major_locator(FixedLocator([1, *ticks, *(1 / x for x in ticks)]))
    costs = sorted(cell.reference for cell in cells)
    if costs[-1] < _WIDE * costs[0]:
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: _factor(y)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.10g}"))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_minor_formatter(NullFormatter())
    ax.axhspan(1 / _BAND, _BAND, color="#e8e8e8", zorder=0)
    ax.axhline(1, color="black", linewidth=0.8, zorder=1)
    for cell, factor in factors.items():
        look = style_of(LockLabel(cell.cell.lock)).mark
        if several:
            look |= _in(FLAVOUR_STYLES[cell.cell.flavour][0])
        ax.plot(cell.reference, factor, ls="", alpha=0.75, zorder=3, **look)
    at = worst.reference, factors[worst]
    ax.plot(*at, "o", markersize=9, fillstyle="none", color="black", zorder=4)
    ax.margins(x=0.08)


def _in(colour: str) -> dict[str, str]:
    return {"color": colour, "markeredgecolor": colour}


def _factor(value: float) -> str:
    """Return a factor as one over its reciprocal where it is below 1."""
    return f"{value:.3g}" if value >= 1 else f"1/{1 / value:.3g}"
