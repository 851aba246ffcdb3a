"""A reproduction as a figure: published numbers against ours."""

from collections.abc import Sequence
from math import nan
from textwrap import fill
from typing import cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from results.draw.painter import EDGED, PAGE, note
from results.errors import NoDataError
from sweeps.accuracy.published import Published
from sweeps.model.locks import FULL, LockLabel
from sweeps.questions.reproduce.answer import PublishedRow, Reproduction
from sweeps.report.style import STYLES

_CYCLE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
_MARKERS = "osD^vP"
_NOTHING = Published(None, None)
_LETTERS = 110  # of a line of the title
_LONG_AXIS = 20  # numbers over more than this ratio stand on a logarithmic axis
_PLAIN = FuncFormatter(lambda value, _: f"{value:,.10g}")


def draw_reproduction(reproduction: Reproduction) -> Figure:
    """Draw one. Raises NoDataError where nothing of it can be drawn."""
    curves = [row for row in reproduction.rows if row.series and row.ours is not None]
    pairs = [row for row in reproduction.rows if row.value is not None and row.ours is not None]
    if not reproduction.plot.kind or not (curves or pairs):
        raise NoDataError(f"reproduction {reproduction.name} has nothing to draw")
    height = 3.4 if curves else 1.0 + 0.25 * len(pairs)
    figure = Figure(figsize=(PAGE, height), layout="constrained")
    ax = figure.subplots()
    about = f"Simulated: {reproduction.machine}. {reproduction.title}"
    if any(_stated(row) != _NOTHING for row in curves):
        about += "; hollow marks and wide lines: published"
    figure.suptitle(fill(about, _LETTERS))
    if curves:
        (_draw_lines if reproduction.plot.kind == "lines" else _draw_bars)(ax, curves, reproduction)
    else:
        _draw_pairs(ax, pairs, reproduction)
    return figure


def _series(rows: Sequence[PublishedRow]) -> dict[str, list[PublishedRow]]:
    return {row.series: [other for other in rows if other.series == row.series] for row in rows}


def _colour(label: str, others: list[str]) -> str:
    """Return a lock's colour; series that have none take the cycle's in turn."""
    lock = LockLabel(label).with_full_fences
    if lock in STYLES:
        return STYLES[lock].colour
    if lock not in others:
        others.append(lock)
    return _CYCLE[others.index(lock) % len(_CYCLE)]


def _draw_pairs(ax: Axes, rows: Sequence[PublishedRow], reproduction: Reproduction) -> None:
    """Draw two bars for each row, published and simulated, and how many times one is the other."""
    places, most = np.arange(len(rows)), [0.0] * len(rows)
    for at, values, colour, hatch, label in (
        (-0.2, [row.value or 0.0 for row in rows], "#999999", "///", "published"),
        (0.2, [row.ours or 0.0 for row in rows], "#0072B2", "", "simulated"),
    ):
        ax.barh(places + at, values, 0.38, color=colour, hatch=hatch, label=label, **EDGED)
        most = [max(pair) for pair in zip(most, values, strict=True)]
    for place, (row, end) in enumerate(zip(rows, most, strict=True)):
        if row.ratio:
            note(ax, f"{row.ratio:.2g} times", (end, place), (3, 0), va="center")
    ax.set_ylim(-0.6, len(rows) - 0.4)
    ax.margins(x=0.12)
    ax.set_yticks(places, [row.label for row in rows])
    ax.invert_yaxis()
    ax.set_xlabel(reproduction.plot.y)
    both = [x for row in rows for x in (row.value, row.ours) if x]
    if reproduction.plot.log or max(both) > _LONG_AXIS * min(both) > 0:
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(_PLAIN)
    cast(Figure, ax.figure).legend(loc="outside lower center", ncols=2)


def _draw_lines(ax: Axes, rows: Sequence[PublishedRow], reproduction: Reproduction) -> None:
    """Draw a line for each series over numbers; published numbers, where there are any, as hollow
    marks, and published ranges as upright lines."""
    others: list[str] = []
    for index, (label, points) in enumerate(_series(rows).items()):
        plain = LockLabel(label).fence == FULL
        colour, marker = _colour(label, others), _MARKERS[index % len(_MARKERS)]
        x = [float(row.x) for row in points]
        # Nowhere, if the axis is logarithmic and the number 0.
        heights = [row.ours or (nan if reproduction.plot.log else 0.0) for row in points]
        ax.plot(
            x,
            heights,
            color=colour,
            linestyle="-" if plain else "--",
            marker=marker,
            markersize=4,
            label=LockLabel(label).words(),
        )
        marks = [(float(row.x), _stated(row).value) for row in points]
        known = [(at, value) for at, value in marks if value is not None]
        if known:
            ax.plot(
                *zip(*known, strict=True),
                color=colour,
                marker=marker,
                markersize=7,
                markerfacecolor="none",
                linestyle="none",
            )
        _draw_ranges(ax, points, colour)
    ax.xaxis.set_major_locator(MaxNLocator(nbins=9, integer=True, steps=[1, 2, 5, 10]))
    ax.xaxis.set_major_formatter(_PLAIN)
    numbers = [float(row.x) for row in rows]
    if min(numbers) > 0 and max(numbers) / min(numbers) > _LONG_AXIS:
        ax.set_xscale("log", base=2)
        ax.xaxis.set_major_formatter(_PLAIN)  # a scale brings its own
    _finish(ax, reproduction)
    ax.set_xlabel(reproduction.plot.x)


def _draw_ranges(ax: Axes, points: Sequence[PublishedRow], colour: str) -> None:
    for row in points:
        stated, x = _stated(row), float(row.x)
        if stated.value is not None or stated.low is None:
            continue
        if stated.high is None:
            note(ax, "published:\nmore than this", (x, stated.low), (6, 0), va="top", color=colour)
            ax.plot([x], [stated.low], marker="_", markersize=12, color=colour, ls="none")
            continue
        ax.vlines(x, stated.low, stated.high, color=colour, linewidth=4, alpha=0.35)


def _stated(row: PublishedRow) -> Published:
    """Return the published value of a point of a curve."""
    return row.mark or row.published or _NOTHING


def _draw_bars(ax: Axes, rows: Sequence[PublishedRow], reproduction: Reproduction) -> None:
    """Draw a group of bars for each place, with one bar per series; the published values there as
    black marks."""
    places = list(dict.fromkeys(row.x for row in rows))
    series = _series(rows)
    others: list[str] = []
    width = 0.8 / len(series)
    for index, (label, points) in enumerate(series.items()):
        offset = (index - (len(series) - 1) / 2) * width
        at = [places.index(row.x) + offset for row in points]
        heights, colour = [row.ours or 0.0 for row in points], _colour(label, others)
        hatch = "" if LockLabel(label).fence == FULL else "///"
        words = LockLabel(label).words()
        ax.bar(at, heights, width, color=colour, hatch=hatch, label=words, **EDGED)
        for x, row in zip(at, points, strict=True):
            mark = row.mark or _NOTHING
            if mark.value is not None:
                ax.plot([x], [mark.value], marker="D", color="black", markersize=5, ls="none")
            elif mark.low is not None and mark.high is not None:
                ax.plot([x, x], [mark.low, mark.high], marker="_", color="black", linewidth=1.5)
            if reproduction.plot.low is not None and (row.ours or 0.0) < reproduction.plot.low:
                cut, upright = (x, reproduction.plot.low), {"rotation": 90}
                note(ax, f"{row.ours:.0f}", cut, (0, 3), ha="center", va="bottom", **upright)
    ax.axhline(0, color="black", linewidth=0.8)
    ax.set_xticks(range(len(places)), places, rotation=20 if len(places) > 5 else 0)
    _finish(ax, reproduction)


def _finish(ax: Axes, reproduction: Reproduction) -> None:
    ax.set_ylabel(reproduction.plot.y)
    if reproduction.plot.log:
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(_PLAIN)
        low, high = ax.get_ylim()
        # A narrow axis has too few powers of ten to be read by them alone.
        ax.yaxis.set_minor_formatter(_PLAIN if high < 30 * low else NullFormatter())
    if reproduction.plot.low is not None:
        ax.set_ylim(bottom=reproduction.plot.low)
    cast(Figure, ax.figure).legend(loc="outside lower center", ncols=3, handlelength=2)
