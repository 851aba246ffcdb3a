"""Measurements of a host: bars of operations, and the transfers between its CPUs."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from results.draw.painter import HALO, PAGE, note

_COLOUR, _SHARE_COLOUR = "#0072B2", "#009E73"
_LEAST = 0.1  # cycles at which the scale begins: less has no bar, but its number
_NUMBERED = 5  # CPUs up to which every field of the matrix has its number
_TICKS = 12  # CPUs that are named beside it


Bars = Mapping[str, tuple[float, float]]  # operation -> figure, range between the quartiles


def draw_measured(
    title: str, cycles: Bars, shares: Bars, transfers: Mapping[tuple[int, int], float]
) -> Figure:
    """Draw cycles of operations on a logarithmic scale, shares from 0 to 1, and any transfers."""
    figure = Figure(figsize=(PAGE, 1.2 + 0.15 * len(cycles)), layout="constrained")
    figure.suptitle(title)
    grid = figure.add_gridspec(2, 2, width_ratios=(1.5, 1), height_ratios=(1, 2.4))
    ax = figure.add_subplot(grid[:, 0])
    _draw_bars(ax, cycles, color=_COLOUR, alpha=0.75, height=0.7)
    halves = [min(spread / 2, 0.9 * value) for value, spread in cycles.values()]
    values = [value for value, _ in cycles.values()]
    lines: dict[str, Any] = {"ecolor": "black", "capsize": 2, "linewidth": 0.8}
    ax.errorbar(values, range(len(cycles)), xerr=halves, fmt="none", **lines)
    ax.set_xscale("log")
    for place, (value, half) in enumerate(zip(values, halves, strict=True)):
        words = f"{value:.3g}" if value < 1000 else f"{value:,.0f}"
        note(ax, words, (max(value + half, _LEAST), place), (4, 0), va="center")
    ax.set_xlim(left=_LEAST)
    ax.margins(x=0.12)
    ax.set_xlabel("core cycles; lines: the range between the quartiles")
    ax.set_title("Operations")
    ax.grid(True, axis="x", color="#eeeeee", linewidth=0.6)
    ax.set_axisbelow(True)
    if shares:
        ax = figure.add_subplot(grid[0, 1])
        _draw_bars(ax, shares, color=_SHARE_COLOUR, alpha=0.75, height=0.6)
        ax.set_xlim(0, 1)
        ax.set_xlabel("share that hides: 1, it passes; 0, it waits")
        ax.set_title("What passes a CAS and the full fence")
    if transfers:
        _draw_matrix(figure, figure.add_subplot(grid[1, 1]), transfers)
    return figure


def _draw_bars(ax: Axes, bars: Bars, **look: Any) -> None:
    places = range(len(bars))
    ax.barh(places, [value for value, _ in bars.values()], **look)
    ax.set_yticks(places, list(bars))
    ax.set_ylim(len(bars) - 0.4, -0.6)


def _draw_matrix(figure: Figure, ax: Axes, transfers: Mapping[tuple[int, int], float]) -> None:
    cpus = sorted({cpu for pair in transfers for cpu in pair})
    places = {cpu: place for place, cpu in enumerate(cpus)}
    field = np.full((len(cpus), len(cpus)), np.nan)
    for (first, other), cycles in transfers.items():
        field[places[first], places[other]] = field[places[other], places[first]] = cycles
    image = ax.imshow(field, cmap="viridis", vmin=0)
    if len(cpus) <= _NUMBERED:
        for (row, column), cycles in np.ndenumerate(field):
            if not np.isnan(cycles):
                number = ax.text(column, row, f"{cycles:.0f}", ha="center", va="center")
                number.set(path_effects=HALO)
    step = max(1, len(cpus) // _TICKS)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_ticks(range(0, len(cpus), step), [str(cpu) for cpu in cpus[::step]])
        axis.set_label_text("CPU")
    ax.spines[:].set_visible(False)
    ax.set_title("Hand-over (cycles)")
    figure.colorbar(image, ax=ax, shrink=0.5)
