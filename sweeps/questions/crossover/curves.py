"""Cost per pair against run length: the run length that pays for a revocation; and the cost of each
round."""

import sqlite3
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from results.draw.painter import EDGED, HALO, note, panels, sign
from results.errors import NoDataError
from sweeps.model import engines
from sweeps.model.isa import flavour_name
from sweeps.model.locks import FENCE_KINDS, FULL, LockLabel, load_locks
from sweeps.report.lines import name_ends
from sweeps.report.style import style_of
from sweeps.study.results import FoundCrossover, StudyResults
from sweeps.study.runs import StudyRun

_TURN = 3  # rounds a thread runs before the other's turn
_HIGH = 20  # bars above this say how high they are
_CANCEL_LINES = (":", "--", "-")  # from the cheapest cancellation to the dearest
_LEFT = 0.35  # of the first run length: room for the cancellation costs beside their curves
_BOLD: dict[str, Any] = {"fontweight": "bold"}
_PLAIN = FuncFormatter(lambda value, _: f"{value:g}")

# Run lengths and costs (cycles per pair) by lock label and cancellation cost (cycles).
Curves = dict[tuple[LockLabel, int], tuple[list[int], list[float]]]


def draw_rounds(connection: sqlite3.Connection) -> Figure:
    """Draw the cycles of each round relative to the base lock's first, a panel for each kind of
    fence. Raises NoDataError."""
    results = StudyResults(connection)
    shown = [
        (machine, kind, of_kind)
        for machine, flavour in results.series_names("rounds")
        for runs in [results.series(f"rounds/{machine}/{flavour}")]
        for kind in FENCE_KINDS  # full fences first
        if (of_kind := [run for run in runs if run.label.fence == kind])
    ]
    if not shown:
        raise NoDataError("the study has no rounds experiment")
    figure, axes = panels(len(shown), 2, 2.0, 0.2, sharey=True)
    titles = dict(connection.execute("SELECT name, title FROM machines"))
    engine = results.engine
    where = f" on {engines.title(engine)}" if engine != engines.DEFAULT else ""
    for ax, (machine, kind, runs) in zip(axes, shown, strict=False):
        _draw_bars(ax, results, runs)
        known = titles.get(machine, machine).partition(",")[0]
        ax.set_title(f"{known}{where}: {FENCE_KINDS[kind]}")
    figure.suptitle("Simulated: the time of each round, over the first round of the first lock")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def _draw_bars(ax: Axes, results: StudyResults, runs: list[StudyRun]) -> None:
    """Draw a group of bars for each round, a bar for each lock, from the base's time up or down.
    Raises NoDataError."""
    labels = [LockLabel(lock) for lock in results.plan.locks]
    base = labels[0]
    ids = {run.label.with_full_fences: run.id for run in runs}
    rounds = {label: results.phases(ids[label]) for label in labels if label in ids}
    if not rounds.get(base):
        raise NoDataError(f"the rounds experiment lacks a good run of {base.words()}, its base")
    places = np.arange(len(next(iter(rounds.values()))))
    width = 0.8 / len(rounds)
    for index, (label, cycles) in enumerate(rounds.items()):
        style, relative = style_of(label), np.array(cycles) / rounds[base][0]
        at = places + (index - (len(rounds) - 1) / 2) * width
        bar = {"color": style.colour, "hatch": style.hatch, "label": label.words(), **EDGED}
        ax.bar(at, relative - 1, width, bottom=1, **bar)
        for x, height in zip(at, relative, strict=True):
            if height > _HIGH:
                note(ax, f"{height:.0f} times", (x, height), (4, -4), va="center", **_BOLD)
    ax.axhline(1, color="black", linewidth=0.8)
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(_PLAIN)
    ax.set_xticks(places, [f"{place + 1}\n{'TS'[(place // _TURN) % 2]}" for place in places])
    ax.set_xlabel("round, and the thread that runs it")
    ax.set_ylabel(f"time, round 1 of {base.words()}: 1")
    ax.label_outer()


def draw_locked_operation(connection: sqlite3.Connection, machine: str) -> Figure:
    """The cost of each lock, with each kind of fence that is a locked operation, over the observed
    latency of a CAS, where runtimes fence by such: a panel a flavour. Raises NoDataError."""
    results = StudyResults(connection)
    plan = results.plan
    names = [
        (isa_name, flavour)
        for isa_name, flavour in results.series_names("map", machine)
        if flavour in plan.production
    ]
    if not names:
        raise NoDataError("the study has no ISA whose fences are locked operations")
    figure, axes = panels(len(names), 1, 2.3)
    for ax, (isa_name, flavour) in zip(axes, names, strict=True):
        scale = results.measured(machine, isa_name, flavour, "cas_latency")
        lines: dict[LockLabel, dict[float, float]] = {}
        for run in results.series(f"map/{machine}/{isa_name}/{flavour}"):
            label = run.label
            if label.fence != FULL or len(load_locks()[label.lock].fence_kinds) == 1:
                for cas in run.values("cas_latency"):
                    lines.setdefault(label, {})[scale(cas)] = run.cost
        for label, costs in lines.items():
            usual = label.fence in (FULL, plan.production[flavour])
            drawn: dict[str, Any] = {"color": style_of(label).colour, "ls": "-" if usual else "--"}
            ax.plot(*zip(*sorted(costs.items()), strict=True), **drawn)
        name_ends(
            ax,
            [
                (label.words(separator=",\n"), style_of(label).colour, max(costs.items()))
                for label, costs in lines.items()
            ],
        )
        ax.set_title(f"Simulated: {machine}, {results.isa(isa_name).title}")
        ax.set_xlabel("observed latency of a locked operation (cycles)")
        ax.set_ylabel("cycles per acquire-release pair")
        ax.grid(True)
    return figure


def draw_run_length(connection: sqlite3.Connection, machine: str) -> Figure:
    """Draw one panel per flavour, with the break-even run lengths of a machine marked. Raises
    NoDataError."""
    results = StudyResults(connection)
    names = results.series_names("run_length", machine)
    if not names:
        raise NoDataError("the study has no run lengths")
    figure, axes = panels(len(names), 2, 2.1, 0.5, sharey=True)
    plan = results.plan
    labels = [LockLabel(label) for label in plan.locks]
    cancelling: set[LockLabel] = set()
    for ax, (isa_name, flavour) in zip(axes, names, strict=False):
        place = f"run_length/{machine}/{isa_name}/{flavour}"
        several = sum(isa == isa_name for isa, _ in names) > 1
        title = results.isa(isa_name).title
        title += f", {flavour_name(flavour)}" if several else ""
        if (kind := plan.production.get(flavour, FULL)) != FULL:
            title += f", {FENCE_KINDS[kind]}"
        ax.set_title(title)
        runs = results.series(place)
        cancelling |= {_plain(run.label) for run in runs if run.cell.cancel_latency is not None}
        curves = _draw_curves(ax, runs)
        others = [label for label in labels if label not in cancelling]
        _draw_break_even(ax, curves, results.crossovers(place), others)
    others = [label for label in labels if label not in cancelling]
    key = [sign(own.words(), color=style_of(own).colour, ls=style_of(own).line) for own in others]
    for label in (label for label in labels if label in cancelling):
        words = f"{label.words()}, by the cycles that a cancellation costs"
        key.append(sign(words, color=style_of(label).colour))
    for label in others:
        key.append(sign(f"break-even with {label.words()}", **_mark(label)))
    figure.suptitle(f"Simulated: {machine}")
    figure.legend(handles=key, loc="outside lower center", ncols=3)
    return figure


def _draw_curves(ax: Axes, runs: list[StudyRun]) -> Curves:
    """Costs over run lengths, a line for each lock and cancellation cost."""
    points: dict[tuple[LockLabel, int], list[tuple[int, float]]] = {}
    for run in runs:
        key = (_plain(run.label), run.cancel or 0)
        points.setdefault(key, []).append((int(run.cell.parameters["run_length"]), run.cost))
    curves: Curves = {}
    for key, at in sorted(points.items()):
        curves[key] = ([length for length, _ in sorted(at)], [cost for _, cost in sorted(at)])
    ax.set(xscale="log", yscale="log")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(_PLAIN)
    ax.set_xlabel("run length (acquisitions by the owner, then as many by the other)")
    ax.set_ylabel("cycles per acquire-release pair")
    ax.grid(True)
    for (label, cancel), (lengths, costs) in curves.items():
        style, several = style_of(label), [curve for lock, curve in curves if lock == label]
        line = style.line if len(several) == 1 else _CANCEL_LINES[several.index(cancel) % 3]
        ax.plot(lengths, costs, line, color=style.colour)
        if len(several) > 1:
            beside = {"va": "center", "ha": "right", "color": style.colour}
            note(ax, f"{cancel:,}", (lengths[0], costs[0]), (-5, 0), **beside)
        ax.set_xlim(left=lengths[0] * _LEFT)
    return curves


def _draw_break_even(
    ax: Axes, curves: Curves, marks: list[FoundCrossover], others: list[LockLabel]
) -> None:
    """Where a lock that cancels begins to pay, against each of the others."""
    own = {label: curve for (label, _), curve in curves.items()}
    for mark in marks:
        pair = _plain(mark.lock_a), _plain(mark.lock_b)
        other = next((label for label in pair if label in others), pair[1])
        if mark.value is None or other not in others or other not in own:
            continue  # they do not cross, or the other's runs failed
        # Curves are straight between their points on the logarithmic scales of the figure.
        lengths, costs = (np.log(values) for values in own[other])
        height = np.exp(np.interp(np.log(mark.value), lengths, costs))
        ax.plot(mark.value, height, markersize=5, zorder=5, **_mark(other))
        if mark.band:
            ax.hlines(height, mark.band.low, mark.band.high, colors="black", linewidth=2, zorder=4)
        beside = (6, 10) if others.index(other) % 2 else (0, -11)
        middle = {"ha": "center", "va": "center", "path_effects": HALO, "zorder": 6}
        note(ax, f"{mark.value:.0f}", (mark.value, height), beside, **middle, **_BOLD)


def _plain(label: LockLabel) -> LockLabel:
    """Return a label as panels of one kind of fence each show it: alike in all of them."""
    return label.with_full_fences


def _mark(label: LockLabel) -> dict[str, Any]:
    """Return how the break-even with a lock is marked."""
    style = style_of(label)
    mark = {"marker": style.marker, "markerfacecolor": style.colour}
    return {"ls": "", "color": "black", **mark}
