"""Cost per pair against run length: what pays for a cancellation."""

import sqlite3
from collections.abc import Collection, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from results.draw.painter import HALO
from results.draw.style import look
from results.errors import NoDataError
from sweeps.model import engines
from sweeps.model.isa import flavour_name
from sweeps.model.label import FENCE_KINDS, LockLabel
from sweeps.search.found import (
    FoundCrossover,
    Isa,
    SeriesRun,
    crossovers,
    engine,
    fact,
    isa,
    phases,
    series,
    series_names,
)

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


_CANCEL_LINES = (":", "--", "-")  # from the cheapest cancellation to the dearest
_LEFT = 0.35  # of the first run length: room for the cancellation costs beside their curves

Curve = tuple[list[int], list[float]]  # run lengths, costs in cycles per pair
Curves = dict[tuple[LockLabel, int], Curve]  # by lock label and cancellation cost (cycles)


def draw_run_length(connection: sqlite3.Connection, machine: str) -> Figure:
    """One panel a flavour, with the break-even run lengths of a machine marked. Raises
    NoDataError."""
    names = series_names(connection, "run_length", machine)
    if not names:
        raise NoDataError("the study has no run lengths")
    columns = min(2, len(names))
    rows = -(-len(names) // columns)
    figure = Figure(figsize=(5.2 * columns, 3.7 * rows + 0.4), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharey=True).flatten()
    labels = [LockLabel(label) for label in fact(connection, "plan")["locks"]]
    cancelling: set[LockLabel] = set()
    for ax, (isa_name, flavour) in zip(axes, names, strict=False):
        place = f"run_length/{machine}/{isa_name}/{flavour}"
        several = sum(one == isa_name for one, _ in names) > 1
        ax.set_title(_title(isa(connection, isa_name), flavour, several))
        runs = series(connection, place)
        cancelling |= {run.label for run in runs if run.cell.cancel is not None}
        curves = _curves(runs)
        _draw_curves(ax, curves)
        found = crossovers(connection, place)
        _draw_break_even(ax, curves, found, [one for one in labels if one not in cancelling])
    for ax in axes[len(names) :]:
        ax.axis("off")
    figure.legend(
        handles=_key(labels, cancelling), loc="outside lower center", ncols=3, frameon=False
    )
    return figure


def _title(known: Isa, flavour: str, several: bool) -> str:
    return known.title + (f", {flavour_name(flavour)}" if several else "")


def _curves(runs: Sequence[SeriesRun]) -> Curves:
    """By lock label and cancellation cost (cycles), each in the order of run lengths."""
    points: dict[tuple[LockLabel, int], list[tuple[int, float]]] = {}
    for run in runs:
        key = (run.label, run.latency("cancel", "charge_stop") or 0)
        points.setdefault(key, []).append((int(run.cell.parameters["run_length"]), run.cost))
    curves = {}
    for key, found in sorted(points.items()):
        lengths, costs = zip(*sorted(found), strict=True)
        curves[key] = (list(lengths), list(costs))
    return curves


def _draw_curves(ax: Axes, curves: Curves) -> None:
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("run length (acquisitions by the owner, then as many by the other)")
    ax.set_ylabel("core cycles per acquire-release pair")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.grid(True, which="major", color="#dddddd", linewidth=0.6)
    cancels: dict[LockLabel, list[int]] = {}
    for label, cancel in curves:
        cancels.setdefault(label, []).append(cancel)
    for (label, cancel), (lengths, costs) in curves.items():
        style, several = look(label), cancels[label]
        line = style.line if len(several) == 1 else _CANCEL_LINES[several.index(cancel) % 3]
        ax.plot(lengths, costs, line, color=style.colour, linewidth=1.8)
        if len(several) > 1:
            ax.annotate(
                f"{cancel:,}", (lengths[0], costs[0]), xytext=(-5, 0), va="center", ha="right",
                textcoords="offset points", fontsize=8, color=style.colour,
            )  # fmt: skip
        ax.set_xlim(left=lengths[0] * _LEFT)


def _draw_break_even(
    ax: Axes,
    curves: Curves,
    found: Sequence[FoundCrossover],
    others: Sequence[LockLabel],
) -> None:
    """Where a lock that cancels begins to pay, against each of the others."""
    own = {label: curve for (label, _), curve in curves.items()}
    for mark in found:
        other = mark.lock_a if mark.lock_a in others else mark.lock_b
        if mark.value is None or other not in others or other not in own:
            continue  # they do not cross, or the other's runs failed
        lengths, costs = own[other]
        # Curves are straight between their points on the logarithmic scales of the figure.
        height = np.exp(np.interp(np.log(mark.value), np.log(lengths), np.log(costs)))
        style = look(other)
        ax.plot(mark.value, height, style.marker, color="black", markersize=6,
                markerfacecolor=style.colour, zorder=5)  # fmt: skip
        if mark.band:
            ax.hlines(height, mark.band.low, mark.band.high, colors="black", linewidth=3, zorder=4)
        ax.annotate(
            f"{mark.value:.0f}", (mark.value, height), ha="center", va="center",
            xytext=(6, 10) if others.index(other) % 2 else (0, -11),
            textcoords="offset points", fontsize=9, fontweight="bold", zorder=6,
            path_effects=HALO,
        )  # fmt: skip


def _key(labels: Sequence[LockLabel], cancelling: Collection[LockLabel]) -> list[Line2D]:
    others = [label for label in labels if label not in cancelling]
    lines = [
        Line2D([], [], color=look(label).colour, ls=look(label).line, label=label.words())
        for label in others
    ]
    lines += [
        Line2D([], [], color=look(label).colour,
               label=f"{label.words()}, by the cycles that a cancellation costs")
        for label in labels if label in cancelling
    ]  # fmt: skip
    return lines + [
        Line2D([], [], color="black", marker=look(label).marker, ls="",
               markerfacecolor=look(label).colour, label=f"break-even with {label.words()}")
        for label in others
    ]  # fmt: skip
