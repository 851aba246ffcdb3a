"""The rounds experiment: Kawachiya 2005, Figures 6.14 and 6.15."""

import sqlite3

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from results.analysis.study import (
    NoDataError,
    SeriesRun,
    engine,
    fact,
    phases,
    series,
    series_names,
)
from results.figures.style import look
from results.model import engines
from results.model.label import FENCE_KINDS, LockLabel

_TURN = 3  # rounds a thread runs before the other's turn
_HIGH = 20  # bars above this say how high they are


def draw_rounds(connection: sqlite3.Connection) -> Figure:
    """Cycles of each round relative to the base lock's first. Raises NoDataError."""
    panels = [
        (machine, kind, runs)
        for machine, flavour in series_names(connection, "rounds")
        for kind, runs in _by_fence(series(connection, f"rounds/{machine}/{flavour}")).items()
    ]
    if not panels:
        raise NoDataError("the study has no rounds experiment")
    figure = Figure(figsize=(8.2, 3.4 * len(panels) + 0.3), layout="constrained")
    axes = figure.subplots(len(panels), 1, squeeze=False, sharey=True).flatten()
    for ax, (machine, kind, runs) in zip(axes, panels, strict=True):
        _draw_panel(ax, connection, machine, kind, runs)
    return figure


def _by_fence(runs: list[SeriesRun]) -> dict[str, list[SeriesRun]]:
    """Runs by fence kind, those with full fences first."""
    kinds = [kind for kind in FENCE_KINDS if any(run.label.fence == kind for run in runs)]
    return {kind: [run for run in runs if run.label.fence == kind] for kind in kinds}


def _draw_panel(
    ax: Axes, connection: sqlite3.Connection, machine: str, kind: str, runs: list[SeriesRun]
) -> None:
    order = [LockLabel(lock) for lock in fact(connection, "plan")["locks"]]  # the first is the base
    locks = {run.label.with_full_fences: run for run in runs}
    rounds = {lock: phases(connection, locks[lock].id) for lock in order if lock in locks}
    if not rounds.get(order[0]):
        raise NoDataError(f"the rounds experiment lacks a good run of {order[0].words()}, its base")
    base = rounds[order[0]][0]
    places = np.arange(len(next(iter(rounds.values()))))
    width = 0.8 / len(rounds)
    for index, (label, cycles) in enumerate(rounds.items()):
        style, relative = look(label), np.array(cycles) / base
        at = places + (index - (len(rounds) - 1) / 2) * width
        ax.bar(
            at, relative, width, bottom=0, color=style.colour, hatch=style.hatch,
            edgecolor="#333333", linewidth=0.4, label=label.words(),
        )  # fmt: skip
        for x, height in zip(at, relative, strict=True):
            if height > _HIGH:
                ax.annotate(
                    f"{height:.0f} times", (x, height), xytext=(7, -4),
                    textcoords="offset points", va="center", fontsize=9, fontweight="bold",
                )  # fmt: skip
    ax.axhline(1, color="black", linewidth=0.8, zorder=0)
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    threads = ["TS"[(place // _TURN) % 2] for place in places]
    ax.set_xticks(
        places, [f"{place + 1}\n{who}" for place, who in zip(places, threads, strict=True)]
    )
    ax.set_xlabel("round, and the thread that runs it")
    ax.set_ylabel(f"time relative to round 1 of {order[0].words()}")
    titles = dict(connection.execute("SELECT name, title FROM machines"))
    own = engine(connection)
    where = f" on {engines.title(own)}" if own != engines.DEFAULT else ""
    ax.set_title(f"{titles.get(machine, machine)}{where}: {FENCE_KINDS[kind]}")
    ax.legend(loc="upper right", ncols=3, frameon=False)
