"""The figures of a plan: cost along everything that it varies."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from results.draw.painter import write
from results.draw.style import Look, look
from sweeps.model.axes import LATENCIES
from sweeps.model.label import LockLabel
from sweeps.search.plan_costs import LOCK, Comparison, Panel, PlanRun, Value, compare, varied

MOST_PANELS = 12
_COLUMNS = 3
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
_LINES = ("-", "--", "-.", ":")
_MARKERS = "osD^vXPd"
_STEEP = 30  # times the least value of an axis: from here on the scale is logarithmic


def draw_comparison(comparison: Comparison) -> Figure:
    """The first panels of a comparison, MOST_PANELS at most."""
    panels = comparison.panels[:MOST_PANELS]
    columns = min(_COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(4.6 * columns + 0.6, 3.3 * rows + 0.8), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).flatten()
    names = list(dict.fromkeys(name for panel in panels for name in panel.curves))
    looks = {name: _look(name, place, comparison.by) for place, name in enumerate(names)}
    for ax, panel in zip(axes, panels, strict=False):
        _draw(ax, panel, comparison.along, looks)
    for ax in axes[len(panels) :]:
        ax.axis("off")
    handles = [
        Line2D([], [], color=one.colour, ls=one.line, marker=one.marker, markersize=4,
               label=_words(name, comparison.by))
        for name, one in looks.items()
    ]  # fmt: skip
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False)
    return figure


def _look(name: Value, place: int, by: str) -> Look:
    """Locks look as in every figure; other things by their place."""
    if by == LOCK:
        return look(LockLabel(name))
    colour, line = _COLOURS[place % len(_COLOURS)], _LINES[place % len(_LINES)]
    return Look(colour, "", line, _MARKERS[place % len(_MARKERS)])  # type: ignore[arg-type]


def _words(name: Value, by: str) -> str:
    return LockLabel(name).words() if by == LOCK else f"{by} {_shown(name)}"


def _shown(value: Value) -> str:
    return "the machine's own" if value is None else str(value)


def _draw(ax: Axes, panel: Panel, along: str, looks: dict[Value, Look]) -> None:
    ax.set_title(panel.title, fontsize=8)
    ax.set_xlabel(f"{along}, cycles" if along in LATENCIES else along)
    ax.set_ylabel("core cycles per acquire-release pair", fontsize=8)
    ax.grid(True, which="major", color="#dddddd", linewidth=0.6)
    points = panel.points
    numbers = [x for x in points if isinstance(x, int)]
    scaled = len(numbers) == len(points)
    if scaled and numbers[0] > 0 and numbers[-1] > _STEEP * numbers[0]:
        ax.set_xscale("log")
    if not scaled:  # names, or the machine's own latency: each has a place
        ax.set_xticks(range(len(points)), [_shown(x) for x in points], rotation=20, ha="right")
    for name, curve in panel.curves.items():
        own = looks[name]
        x = [one if scaled and isinstance(one, int) else points.index(one) for one in curve]
        bands = list(curve.values())
        ax.plot(x, [band.median for band in bands], ls=own.line, color=own.colour,
                marker=own.marker, markersize=4, linewidth=1.5)  # fmt: skip
        ax.fill_between(x, [band.least for band in bands], [band.most for band in bands],
                        color=own.colour, alpha=0.2, linewidth=0)  # fmt: skip


def draw_plan(runs: Sequence[PlanRun], name: str, folder: Path) -> list[tuple[str, Path]]:
    """Draws the costs of a plan's runs along each axis and key of numbers that differs; where none
    does, along another one, or by lock. Returns each figure's title and PNG. Raises
    LockcrossError."""
    numbers, others = varied(runs)
    drawn = []
    for axis in numbers or others[:1] or [LOCK]:
        by = LOCK if axis != LOCK else "machine"
        found = compare(runs, by, axis)
        title = f"Cost along {axis}"
        if len(found.panels) > MOST_PANELS:
            title += f", the first {MOST_PANELS} of {len(found.panels)} settings"
        draw = partial(draw_comparison, found)
        drawn.append((title, write(f"{name}_{axis}".replace("/", "_"), title, draw, folder)))
    return drawn
