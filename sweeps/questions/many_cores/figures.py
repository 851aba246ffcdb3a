"""The study of many cores: curves by cores and by distance, and the map of cancellations."""

import sqlite3

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from results.draw.painter import HALO, panels
from results.errors import NoDataError
from sweeps.questions.many_cores import answer
from sweeps.questions.many_cores.answer import QUANTITIES, Curves
from sweeps.report.style import style_of

_PANEL = 4.6, 3.3  # inches


def draw_cores(connection: sqlite3.Connection) -> Figure:
    """Each quantity by the number of cores. Raises NoDataError."""
    known = {name: answer.by_cores(connection, name) for name in QUANTITIES}
    known = {name: curves for name, curves in known.items() if curves}
    figure, axes = panels(len(known), 3, _PANEL, (0.0, 0.4))
    for ax, (name, curves) in zip(axes, known.items(), strict=False):
        _draw(ax, curves, name)
        ax.set_xscale("log", base=2)
        if min(line.get_ydata().min() for line in ax.lines) > 0:  # type: ignore[union-attr]
            ax.set_yscale("log")
            ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            ax.yaxis.set_minor_formatter(NullFormatter())
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        ax.set_xlabel("cores that contend for one lock")
    _key(figure, axes[0])
    return figure


def draw_distance(connection: sqlite3.Connection) -> Figure:
    """Cost and messages by the links between owner and contender, a column for each share of the
    owner. Raises NoDataError."""
    shares = answer.shares(connection)
    rows = []
    for name in ("cost", "messages"):
        curves = [answer.by_distance(connection, name, share) for share in shares]
        if any(curves):
            rows += [(name, *curve) for curve in zip(shares, curves, strict=True)]
    if not rows:
        raise NoDataError("the study has no distances")
    figure, axes = panels(len(rows), len(shares), _PANEL, (0.0, 0.4))
    for ax, (name, share, of_locks) in zip(axes, rows, strict=True):
        _draw(ax, of_locks, name)
        ax.set_ylim(bottom=0)
        ax.set_xlabel("links between owner and contender")
        ax.set_title(f"{QUANTITIES[name].title}, owner {100 * share:g} %")
    _key(figure, axes[0])
    return figure


def draw_cancellation(connection: sqlite3.Connection) -> Figure:
    """The mesh with what cancelling costs from each node. Raises NoDataError."""
    mapped = answer.cancel_map(connection)
    rows, columns = mapped.costs.shape
    figure = Figure(figsize=(0.55 * columns + 1.6, 0.55 * rows + 0.8), layout="constrained")
    ax = figure.subplots()
    image = ax.imshow(mapped.costs, cmap="viridis")
    for node in range(rows * columns):
        row, column = divmod(node, columns)
        words = f"{mapped.costs[row, column]:.0f}" if node else "owner"
        if words != "nan":
            ax.text(column, row, words, ha="center", va="center", fontsize=7, path_effects=HALO)
    ax.set_xticks(range(columns))
    ax.set_yticks(range(rows))
    ax.tick_params(length=0, labelsize=7)
    ax.set_title(f"{mapped.label.words()}, {mapped.machine}")
    ax.set_xlabel(f"{mapped.slope():+.1f} cycles for each link from the owner (least squares)")
    figure.colorbar(image, ax=ax, label="cycles of a cancellation", shrink=0.8)
    return figure


def _draw(ax: Axes, curves: Curves, name: str) -> None:
    quantity = QUANTITIES[name]
    ax.set_title(quantity.title)
    ax.set_ylabel(quantity.unit)
    for label, spots in curves.items():
        style, xs = style_of(label), [spot.x for spot in spots]
        values = [spot.value for spot in spots]
        ax.plot(xs, values, linewidth=1.6, label=label.words(), **style.curve)
        low, high = [spot.low for spot in spots], [spot.high for spot in spots]
        ax.fill_between(xs, low, high, color=style.colour, alpha=0.2, linewidth=0)
    ax.grid(True)


def _key(figure: Figure, ax: Axes) -> None:
    """The locks, as they are drawn in one of the panels."""
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(6, len(labels)))
