"""A candidate engine against a reference: the error of every cell, one panel a validation set."""

import sqlite3
from collections.abc import Sequence
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from results.draw.painter import HALO
from results.draw.style import FLAVOUR_LOOKS, LOOKS, look
from results.errors import NoDataError
from sweeps.model import engines
from sweeps.model.isa import isa_words
from sweeps.model.label import LockLabel
from sweeps.questions.validate.answer import Compared, SetSummary, compare, summarize
from sweeps.search.found import isa_title

_COLUMNS = 3
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
    """Error against the reference's cost, a point for each cell. Raises NoDataError."""
    cells = compare(connection)
    summaries = summarize(connection)
    places = dict.fromkeys((one.set, one.reference) for one in summaries if one.cells)
    if not places:
        raise NoDataError("the database holds no validation; run ./lockcross validate")
    columns = min(_COLUMNS, len(places))
    rows = -(-len(places) // columns)
    figure = Figure(figsize=(3.9 * columns + 0.3, 3.5 * rows + 0.9), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).flatten()
    for ax, place in zip(axes, places, strict=False):
        _draw_panel(
            ax,
            [cell for cell in cells if (cell.set, cell.cell.engine) == place],
            [one for one in summaries if (one.set, one.reference) == place],
        )
    for ax in axes[len(places) :]:
        ax.axis("off")
    figure.legend(
        handles=_key(connection, cells), loc="outside lower center", ncols=4, frameon=False
    )
    return figure


def _draw_panel(ax: Axes, cells: Sequence[Compared], summaries: Sequence[SetSummary]) -> None:
    ax.set_title(summaries[0].title)
    candidate, reference = (
        engines.title(label) for label in (summaries[0].candidate, summaries[0].reference)
    )
    ax.set_xlabel(f"cycles per pair on {reference}")
    ax.set_ylabel(f"{candidate} against {reference}")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ratios = [1 + cell.error for cell in cells]
    reach = max(_REACH, *(max(ratio, 1 / ratio) * 1.15 for ratio in ratios))
    ax.set_ylim(1 / reach, reach)
    ticks = next(ticks for upto, ticks in _TICKS.items() if reach <= upto)
    ax.yaxis.set_major_locator(FixedLocator([1 + tick for tick in ticks]))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _percent(value - 1)))
    costs = [cell.reference for cell in cells]
    wide = max(costs) / min(costs)
    ax.xaxis.set_major_locator(
        FixedLocator(next(ticks for upto, ticks in _COST_TICKS.items() if wide <= upto))
    )
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_minor_locator(NullLocator())
    ax.axhspan(1 - _BAND, 1 + _BAND, color="#e8e8e8", zorder=0)
    ax.axhline(1, color="black", linewidth=0.8, zorder=1)
    for cell, ratio in zip(cells, ratios, strict=True):
        ax.plot(
            cell.reference, ratio, look(cell.cell.label).marker, color=_colour(cell), markersize=5,
            alpha=0.75, markeredgewidth=0, zorder=3,
        )  # fmt: skip
    _label_worst(ax, cells)
    ax.margins(x=0.08)
    count = len(cells)
    mean = fmean(abs(cell.error) for cell in cells)
    ax.text(
        0.02, 0.02, f"{count} cells, mean error {100 * mean:.1f} %", transform=ax.transAxes,
        fontsize=8, path_effects=HALO, zorder=6,
    )  # fmt: skip


def _percent(error: float) -> str:
    return f"{100 * error:+.0f} %" if round(error, 3) else "0 %"


def _label_worst(ax: Axes, cells: Sequence[Compared]) -> None:
    worst = max(cells, key=lambda cell: abs(cell.error))
    costs = sorted(cell.reference for cell in cells)
    left = worst.reference**2 > costs[0] * costs[-1]  # in the right half of the logarithmic axis
    ax.annotate(
        f"{worst.cell.label.words()}, {100 * worst.error:+.1f} %",
        (worst.reference, 1 + worst.error),
        xytext=(-7 if left else 7, 0), textcoords="offset points", va="center",
        ha="right" if left else "left", fontsize=8, path_effects=HALO, zorder=6,
    )  # fmt: skip


def _colour(cell: Compared) -> str:
    return FLAVOUR_LOOKS[cell.cell.flavour][0]


def _key(connection: sqlite3.Connection, cells: Sequence[Compared]) -> list[Line2D]:
    flavours = {cell.cell.flavour: cell.cell.isa for cell in cells}
    every = {LockLabel(cell.cell.lock) for cell in cells}
    locks = {lock for lock in every if lock.lock in LOOKS}
    others = sorted(every - locks)[:1]  # they all have one marker
    handles = [
        Line2D([], [], linestyle="", marker="o", color=FLAVOUR_LOOKS[flavour][0],
               label=isa_words(isa_title(connection, flavours[flavour]), flavour))
        for flavour in FLAVOUR_LOOKS if flavour in flavours
    ]  # fmt: skip
    return handles + [
        Line2D([], [], linestyle="", marker=look(lock).marker, color="#333333",
               label=lock.words() if lock in locks else "other locks")
        for lock in [*sorted(locks), *others]
    ]  # fmt: skip
