"""The first figure: a bar for each lock on each real processor, alone and contended, and curves
over the work between two sections."""

import sqlite3
from statistics import median
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import MaxNLocator

from results.draw.painter import EDGED, HALO, PAGE, note, sign
from sweeps.model.locks import FENCE_KINDS, FULL, LockLabel
from sweeps.questions.crossover.processors import WORK_WORDS, Cost, Processor, Used, processors
from sweeps.report.style import style_of
from sweeps.study.results import StudyResults

_ROW = 0.2  # inches of a lock's row
_HEADS, _UNDER = 0.65, 0.5  # of titles and scales; of the key
_CURVES = 1.8  # of the row with curves
_WORKS, _COSTS = (0, 200, 1000), (0, 10, 50, 100, 150)  # cycles, named on its scales
_WHISKER: dict[str, Any] = {"ecolor": "#222222", "elinewidth": 0.7, "capsize": 1.3}
_HALO: dict[str, Any] = {"ecolor": "white", "elinewidth": 1.7, "capsize": 1.8, "capthick": 1.7}
_NUMBER: dict[str, Any] = {"va": "center"}
_PLATE: dict[str, Any] = {
    "facecolor": "white",
    "edgecolor": "none",
    "pad": 0.6,
}  # of a number on a whisker
_HEAD: dict[str, Any] = {"x": 0.005, "ha": "left"}
_CUT: dict[str, Any] = {**_NUMBER, "weight": "bold"}
_SOFT = "#555555"
_KEY = (
    "Simulated. Bold names: locks that runtimes ship. Whiskers: where 8 of 10 costs lay that were\n"
    "measured on silicon for such predictions. Bold numbers: the cheapest lock, and those that\n"
    "the engine cannot tell from it. Free: an atomic, as the cheapest lock with one that ships\n"
    "costs no more than the cheapest without, as far as the engine can tell."
)
_LONG = 5  # times the median of all: a longer bar is cut, and its number says how long it is
_ROOM = 1.32  # of the scale: for the numbers behind the bars


def draw_processors(connection: sqlite3.Connection) -> Figure:
    """A column a processor, a block of rows for each way of using a lock. Raises NoDataError."""
    shown = processors(StudyResults(connection))
    uses = list(dict.fromkeys(use for one in shown for use in one.uses))
    locks = {cost.name: cost for one in shown for used in one.uses.values() for cost in used.costs}
    heights = [_HEADS + _ROW * len(locks)] * len(uses)
    heights[-1] += _UNDER
    if worked := any(one.work for one in shown):
        heights.insert(1, _CURVES)
    figure = Figure(figsize=(PAGE, sum(heights)), layout="constrained")
    blocks = list(
        figure.subfigures(len(heights), 1, squeeze=False, height_ratios=heights).flatten()
    )
    blocks[-1].supxlabel(_KEY)
    if worked:
        _draw_work(blocks.pop(1), shown)
    for block, use in zip(blocks, uses, strict=True):
        known = [one.uses[use] for one in shown if use in one.uses]
        block.suptitle(f"{known[0].words}: cycles per pair", **_HEAD)
        axes = block.subplots(1, len(shown), squeeze=False, sharex=True, sharey=True).flatten()
        costs = [cost for used in known for cost in used.costs]
        long = _LONG * median(cost.cycles for cost in costs)
        most = max(max(cost.cycles, cost.high) for cost in costs if cost.cycles <= long)
        for ax, processor in zip(axes, shown, strict=True):
            ax.set_title(f"{_short(processor)}\n{processor.isa}", fontsize="small")
            if use in processor.uses:
                _draw(ax, processor.uses[use], list(locks), most)
        _name(axes[0], list(locks.values()))
        axes[0].set(xlim=(0, _ROOM * most), ylim=(len(locks) - 0.4, -0.6))
    return figure


def _draw_work(block: SubFigure, shown: list[Processor]) -> None:
    """Curves over the work, a panel a processor, with a line where an atomic begins to be free. By
    square roots, so that small works and costs are seen beside great ones."""
    block.suptitle(
        f"{WORK_WORDS}: cycles per pair beside the work, over the work in cycles",
        **_HEAD,
    )
    axes = block.subplots(1, len(shown), squeeze=False, sharex=True, sharey=True).flatten()
    looks = {}
    for ax, processor in zip(axes, shown, strict=True):
        for name, points in processor.curves().items():
            looks[name] = style_of(name).curve
            ax.plot(*zip(*points, strict=True), **looks[name])
        ax.set_xscale("function", functions=(_root, _square))
        ax.set_yscale("function", functions=(_root, _square))
        ax.grid(True)
        _mark(ax, processor)
    axes[0].set_xticks(_WORKS, [f"{x:,}" for x in _WORKS])
    axes[0].set_yticks(_COSTS)
    block.legend(
        handles=[sign(name.words(), **look) for name, look in looks.items()],
        loc="outside left center",
        title="Locks with fast\npaths that differ",
    )


def _mark(ax: Axes, processor: Processor) -> None:
    """Say from where on an atomic is free, beside a line there."""
    words = "not free"
    if processor.work and (free := processor.free) is not None:
        ax.axvline(free, color=_SOFT, lw=1.2, zorder=1)
        words = f"free from {free:,.0f}"
    ax.set_title(f"{_short(processor)}\n", fontsize="small")
    note(ax, words, (0.5, 1), (0, 3), xycoords="axes fraction", ha="center")


def _short(processor: Processor) -> str:
    return processor.title.partition(" (")[0]


def _root(values: Any) -> Any:
    return np.sign(values) * np.sqrt(np.abs(values))


def _square(values: Any) -> Any:
    return np.sign(values) * np.square(values)


def _draw(ax: Axes, used: Used, rows: list[LockLabel], most: float) -> None:
    """The bars of a processor; one of more than `most` cycles goes to the end of the scale. Bold:
    the number of its cheapest lock, and those of locks that the engine cannot tell from it."""
    end = _ROOM * most
    for cost in used.costs:
        place, style = rows.index(cost.name), style_of(cost.name)
        words, cut = f"{cost.cycles:,.0f}", cost.cycles > most
        bar = {"color": style.colour, "hatch": style.hatch, **EDGED}
        ax.barh(place, end if cut else cost.cycles, 0.78, **bar)
        if cut:
            note(
                ax,
                f"{words} \u2192",
                (end, place),
                (-3, -0.5),
                ha="right",
                path_effects=HALO,
                **_CUT,
            )
            continue
        # Both ends may lie beyond the bar's: the engine was off to one side.
        middle, half = (cost.low + cost.high) / 2, (cost.high - cost.low) / 2
        for look_of in (_HALO, _WHISKER):
            ax.errorbar(middle, place, xerr=half, fmt="none", **look_of)
        weight = "bold" if cost in used.cheapest else "normal"
        note(
            ax,
            words,
            (min(max(cost.cycles, cost.high), most), place),
            (3, -0.5),
            ha="left",
            weight=weight,
            bbox=_PLATE if cost.high > most else None,
            **_NUMBER,
        )
    ax.grid(True, axis="x")
    ax.set_axisbelow(True)
    ax.xaxis.set_major_locator(MaxNLocator(2))
    ax.xaxis.set_major_formatter("{x:,.0f}")


def _name(ax: Axes, rows: list[Cost]) -> None:
    """The locks' names beside the first column, each with the runtime or the paper that it is of;
    those of runtimes are bold."""
    ax.set_yticks(range(len(rows)), [""] * len(rows))
    beside: dict[str, Any] = {"xycoords": ax.get_yaxis_transform(), "va": "center", "ha": "right"}
    for place, cost in enumerate(rows):
        name, kind = cost.name.with_full_fences.words(), cost.name.fence
        origin = cost.origin.partition(",")[0]
        origin += "" if kind == FULL else f"; {FENCE_KINDS[kind]}"
        weight = "bold" if cost.ships_in else "normal"
        note(ax, name, (0, place), (-4, 3), weight=weight, **beside)
        note(ax, origin, (0, place), (-4, -4), fontsize=6, color=_SOFT, **beside)
