"""A candidate engine against a reference: the error of every cell, one panel per validation set."""

import sqlite3
from collections.abc import Sequence
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from results.draw.painter import HALO, panels
from results.errors import NoDataError
from sweeps.model import engines
from sweeps.model.isa import isa_words
from sweeps.model.locks import LockLabel
from sweeps.questions.validate.answer import Compared, SetSummary, Stored, summarize
from sweeps.report.style import FLAVOUR_STYLES, STYLES, style_of
from sweeps.study.results import isa_title

_BAND = 0.10
_REACH = 1.25  # the least that a panel shows on either side: this factor
_TICKS = {  # up to a reach: errors that stand on the axis
    1.5: (-0.3, -0.2, -0.1, -0.05, 0, 0.05, 0.1, 0.2, 0.3, 0.4),
    2.2: (-0.5, -0.4, -0.3, -0.2, -0.1, 0, 0.1, 0.2, 0.3, 0.5, 1),
    9.0: (-0.8, -0.5, -0.3, 0, 0.5, 1, 2, 4),
    float("inf"): (-0.99, -0.97, -0.9, -0.7, 0, 2, 9, 29, 99),
}
_COST_TICKS = {  # up to so many times the least cost: costs that stand on the axis
    200: (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000),
    float("inf"): (1, 10, 100, 1000, 10_000, 100_000),
}


def draw_validation(connection: sqlite3.Connection) -> Figure:
    """Draw the error against the reference's cost, a point for each cell. Raises NoDataError."""
    cells = Stored(connection).compared()
    places: dict[tuple[str, str], SetSummary] = {}
    for summary in summarize(connection):
        if summary.cells:
            places.setdefault((summary.set, summary.reference), summary)
    if not places:
        raise NoDataError("the database holds no validation; run ./lockcross validate")
    figure, axes = panels(len(places), 3, (3.9, 3.5), (0.3, 0.9))
    for ax, (place, first) in zip(axes, places.items(), strict=False):
        _draw_set(ax, [cell for cell in cells if (cell.set, cell.cell.engine) == place], first)
    isas = {cell.cell.flavour: isa_title(connection, cell.cell.isa) for cell in cells}
    labels = {LockLabel(cell.cell.lock) for cell in cells}
    locks = sorted(lock for lock in labels if lock.lock in STYLES)
    others = sorted(labels.difference(locks))[:1]  # they all have one marker
    handles = [
        Line2D(
            [], [], linestyle="", marker="o", color=colour, label=isa_words(isas[flavour], flavour)
        )
        for flavour, (colour, _) in FLAVOUR_STYLES.items()
        if flavour in isas
    ]
    handles += [
        Line2D(
            [],
            [],
            linestyle="",
            marker=style_of(lock).marker,
            color="#333333",
            label=lock.words() if lock in locks else "other locks",
        )
        for lock in [*locks, *others]
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False)
    return figure


def _draw_set(ax: Axes, cells: Sequence[Compared], of: SetSummary) -> None:
    """Draw a validation set against one reference; its worst cell is named."""
    candidate, reference = engines.title(of.candidate), engines.title(of.reference)
    ax.set_title(of.title)
    ax.set_xlabel(f"cycles per pair on {reference}")
    ax.set_ylabel(f"{candidate} against {reference}")
    ax.set(xscale="log", yscale="log")
    reach = max(
        _REACH, *(max(1 + compared.error, 1 / (1 + compared.error)) * 1.15 for compared in cells)
    )
    ax.set_ylim(1 / reach, reach)
    costs = sorted(cell.reference for cell in cells)
    wide = costs[-1] / costs[0]
    errors = next(ticks for upto, ticks in _TICKS.items() if reach <= upto)
    ax.yaxis.set_major_locator(FixedLocator([1 + error for error in errors]))
    ax.yaxis.set_major_formatter(
        FuncFormatter(lambda x, _: f"{100 * (x - 1):+.0f} %" if round(x - 1, 3) else "0 %")
    )
    ax.xaxis.set_major_locator(
        FixedLocator(next(ticks for upto, ticks in _COST_TICKS.items() if wide <= upto))
    )
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_minor_locator(NullLocator())
    ax.axhspan(1 - _BAND, 1 + _BAND, color="#e8e8e8", zorder=0)
    ax.axhline(1, color="black", linewidth=0.8, zorder=1)
    for cell in cells:
        colour, _ = FLAVOUR_STYLES[cell.cell.flavour]
        ax.plot(
            cell.reference,
            1 + cell.error,
            style_of(cell.cell.label).marker,
            color=colour,
            markersize=5,
            alpha=0.75,
            markeredgewidth=0,
            zorder=3,
        )
    worst = max(cells, key=lambda cell: abs(cell.error))
    left = worst.reference**2 > costs[0] * costs[-1]  # in the right half of the logarithmic axis
    ax.annotate(
        f"{worst.cell.label.words()}, {100 * worst.error:+.1f} %",
        (worst.reference, 1 + worst.error),
        xytext=(-7 if left else 7, 0),
        textcoords="offset points",
        va="center",
        ha="right" if left else "left",
        fontsize=8,
        path_effects=HALO,
        zorder=6,
    )
    ax.margins(x=0.08)
    mean = fmean(abs(cell.error) for cell in cells)
    ax.text(
        0.02,
        0.02,
        f"{len(cells)} cells, mean error {100 * mean:.1f} %",
        transform=ax.transAxes,
        fontsize=8,
        path_effects=HALO,
        zorder=6,
    )
