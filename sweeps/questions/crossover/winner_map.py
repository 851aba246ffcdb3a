"""The winner map: who is cheapest at each CAS and fence latency, one panel an ISA."""

import itertools
import sqlite3
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import Normal, withTickedStroke
from numpy.typing import NDArray

from results.draw.painter import HALO, panels
from results.errors import NoDataError
from sweeps.model import engines
from sweeps.model.isa import flavour_name
from sweeps.model.locks import FULL, LockLabel
from sweeps.report.style import look
from sweeps.search.found import PLAN, MapCrossing, PlanFact, at_most, series_names
from sweeps.search.grid import Grid, Surface, grid
from sweeps.search.winners import polyline

RASTER = 241  # points a side on which regions are drawn: finer than a pixel of the print
_LABELS = 61  # points a side on which a place for a label is looked for
_SMALLEST = 0.05  # share of a panel's width or height that a region needs for a name
_NARROW = 0.25  # share of a panel's width below which a name is written upright
_LETTER = 0.55  # width of a letter, in heights of the line
# Of a name beside a strip, in steps of the label raster: a letter, half a line, the room around it.
_STEP, _HALF_LINE, _CLEAR = 1.1, 1.4, 2.0
_MARK: dict[str, Any] = {
    "marker": "o", "markersize": 6, "markerfacecolor": "white", "markeredgecolor": "black",
    "linestyle": "",
}  # fmt: skip
_KEY_WIDTH = 45  # letters of a line of the key
_TEETH = [withTickedStroke(angle=-90, spacing=8, length=0.6), Normal()]
_TIE = 0.7  # how much of a region's colour the band of ties takes
_ON_FRONT = 1.01  # a crossing counts when no third lock is cheaper by more than 1 %


@dataclass(frozen=True)
class Panel:
    """A winner map: its grid and the lock labels in the contest."""

    grid: Grid
    labels: tuple[LockLabel, ...]
    title: str


def draw_map(connection: sqlite3.Connection, machine: str) -> Figure:
    """One panel for each flavour with full fences, and one with every fence kind where an ISA has
    others. Raises NoDataError."""
    shown = panels_of(connection, machine)
    if not shown:
        raise NoDataError("the study has no winner map")
    figure, axes = panels(len(shown) + 1, 3, (3.9, 3.9), (0.0, 0.3))
    for ax, panel in zip(axes, shown, strict=False):
        draw_panel(ax, panel)
    axes[len(shown)].axis("off")
    _draw_key(axes[len(shown)], PLAN.read(connection), machine, shown)
    return figure


def panels_of(connection: sqlite3.Connection, machine: str) -> list[Panel]:
    """Every winner map of a machine. Raises NoDataError."""
    found = []
    for isa_name, flavour in series_names(connection, "map", machine):
        one = grid(connection, machine, isa_name, flavour)
        every = tuple(label for label in one.costs if label not in one.aside)
        full = tuple(label for label in every if label.fence == FULL)
        flavours = [f for i, f in series_names(connection, "map", machine) if i == isa_name]
        title = one.isa.title + (f", {flavour_name(flavour)}" if len(flavours) > 1 else "")
        found.append(Panel(one, full, f"{title}, {one.isa.full_fence}"))
        if len(full) < len(every):
            found.append(Panel(one, every, f"{title}, any kind of fence"))
    return found


def draw_panel(ax: Axes, panel: Panel) -> None:
    """One winner map, with everything but the key."""
    shown = panel.grid
    ax.set_title(panel.title)
    ax.set_xlabel("measured CAS latency (cycles)")
    ax.set_ylabel(f"measured {shown.isa.full_fence} latency (cycles)")
    ax.set_xlim(shown.cas[0], shown.cas[-1])
    ax.set_ylim(shown.fence[0], shown.fence[-1])
    x, y = mesh(shown, RASTER)
    costs = {label: shown.cost_at(label, x, y) for label in panel.labels}
    for label, cost in costs.items():
        lead = cost - np.min([one for other, one in costs.items() if other != label], axis=0)
        if (lead < 0).any():  # it is the cheapest somewhere
            style, levels = look(label), [lead.min() - 1, 0]
            ax.contourf(
                x, y, lead, levels, colors=[style.colour], alpha=0.35, hatches=[style.hatch]
            )
            # The border as the grid's own costs have it: runs on where no crossover was searched.
            ax.contour(x, y, lead, levels=[0], colors="black", linewidths=0.7)
    first, second = np.sort(list(costs.values()), axis=0)[:2]
    lead = (second - first) / second
    if (lead < shown.tie).any():  # lighter where it is a tie
        ax.contourf(x, y, lead, levels=[-1, shown.tie], colors=["white"], alpha=_TIE, zorder=1.5)
    for points in borders(panel).values():
        xs, ys = zip(*points, strict=True)
        ax.plot(xs, ys, "-o", color="black", linewidth=1.4, markersize=3, zorder=3)
    for crossing in _shown(panel):
        ax.plot(*zip(*crossing.band, strict=True), color="black", linewidth=3, zorder=3,
                solid_capstyle="butt")  # fmt: skip
    for label in shown.aside:
        _draw_aside(ax, x, y, shown.cost_at(label, x, y) - first, label)
    _draw_marks(ax, shown)
    label_regions(ax, panel)


def mesh(shown: Grid, side: int) -> tuple[Surface, Surface]:
    """CAS and fence latency at each point of a raster over the map, `side` points a side."""
    x, y = np.meshgrid(
        np.linspace(shown.cas[0], shown.cas[-1], side),
        np.linspace(shown.fence[0], shown.fence[-1], side),
    )
    return x, y


def _draw_aside(ax: Axes, x: Surface, y: Surface, lead: Surface, label: LockLabel) -> None:
    """The line up to which a lock that stands aside would be cheaper than all in the contest, with
    teeth on the side where it is. `lead`: its cost less theirs."""
    if lead.min() < 0 < lead.max():
        line = ax.contour(x, y, lead, levels=[0], colors=[look(label).colour], linewidths=1.6,
                          linestyles="solid", zorder=4)  # fmt: skip
        line.set(path_effects=_TEETH)
        return
    words = "cheaper" if lead.max() <= 0 else "dearer"
    ax.annotate(
        f"{label.words()} is {words} everywhere", (0.5, 0.985), xycoords="axes fraction",
        ha="center", va="top", fontsize=8, color=_dark(label), path_effects=HALO, zorder=6,
    )  # fmt: skip


def borders(panel: Panel) -> dict[tuple[LockLabel, LockLabel], list[tuple[float, float]]]:
    """The searched crossovers between the cheapest locks, by pair, each in order along its border:
    points of measured CAS and full-fence latency in cycles."""
    found: dict[tuple[LockLabel, LockLabel], list[tuple[float, float]]] = {}
    for crossing in _shown(panel):
        pair = (crossing.lock_a, crossing.lock_b)
        found.setdefault(pair, []).append((crossing.cas, crossing.fence))
    return {pair: polyline(points) for pair, points in found.items()}


def _shown(panel: Panel) -> Iterator[MapCrossing]:
    """The searched crossovers of a panel's locks, without those where a third is cheaper."""
    for crossing in panel.grid.crossings:
        if {crossing.lock_a, crossing.lock_b} <= set(panel.labels):
            place = (np.array([crossing.cas]), np.array([crossing.fence]))
            best = min(panel.grid.cost_at(label, *place)[0] for label in panel.labels)
            if panel.grid.cost_at(crossing.lock_a, *place)[0] <= best * _ON_FRONT:
                yield crossing


def _draw_marks(ax: Axes, shown: Grid) -> None:
    """Where the CAS and the fence of real processors lie. A mark names no winner: the map does."""
    (least, most), (low, high) = ax.get_xlim(), ax.get_ylim()
    for mark in shown.marks.here:
        if least <= mark.cas <= most and low <= mark.fence <= high:
            ax.plot(mark.cas, mark.fence, **_MARK, zorder=5)
            left = mark.cas > least + 0.7 * (most - least)
            ax.annotate(
                mark.machine + "*" * mark.assumed, (mark.cas, mark.fence), zorder=6, fontsize=8,
                xytext=(-6 if left else 6, 0), textcoords="offset points",
                ha="right" if left else "left", va="center", path_effects=HALO,
            )  # fmt: skip


def label_regions(ax: Axes, panel: Panel) -> None:
    """Names each region at its roomiest place, upright where it is narrow; a strip too narrow for
    a name has it beside, with an arrow."""
    x, y = mesh(panel.grid, _LABELS)
    costs = np.array([panel.grid.cost_at(label, x, y) for label in panel.labels])
    winners = costs.argmin(axis=0)
    wide, high = x[0, 1] - x[0, 0], y[1, 0] - y[0, 0]
    # All in steps of the raster (column, row). A processor's name stands beside its mark, so the
    # two of them are kept clear, and so is where the winner changes.
    marked = [
        ((mark.cas - x[0, 0]) / wide + shift, (mark.fence - y[0, 0]) / high)
        for mark in panel.grid.marks.here
        for shift in range(0, 9, 2)
    ]
    taken = [*marked, *((c + 0.5, r) for r, c in np.argwhere(np.diff(winners, axis=1)))]
    taken += [(c, r + 0.5) for r, c in np.argwhere(np.diff(winners, axis=0))]
    strips = []
    for index, label in enumerate(panel.labels):
        inside = winners == index
        wide, high = inside.any(axis=0).mean(), inside.any(axis=1).mean()
        if min(wide, high) < _SMALLEST:
            if max(wide, high) >= _SMALLEST:
                strips.append((label, inside))
            continue
        upright = bool(wide < _NARROW and wide < high)
        text = label.words(", " if upright else "\n")
        lines = len(text.splitlines())
        length = max(map(len, text.splitlines()))
        row, column = _roomiest(inside, marked, length, upright)
        reach = np.arange(-length / 2, length / 2) * _STEP
        across = (np.arange(lines) - (lines - 1) / 2) * 2 * _HALF_LINE
        taken += [
            (column + a, row + d) if upright else (column + d, row + a)
            for d, a in itertools.product(reach, across)
        ]
        _write(ax, text, label, (x[row, column], y[row, column]), upright)
    for label, inside in strips:
        text = label.words()
        (row, column), (at_row, at_column) = _beside(inside, taken, len(text))
        place = (x[row, column], y[row, column])
        _write(ax, text, label, (x[at_row, at_column], y[at_row, at_column]), True, place)
        taken += [(column + d, row) for d in np.arange(-len(text) / 2, len(text) / 2) * _STEP]


def _write(
    ax: Axes, text: str, label: LockLabel, point: tuple[float, float], small: bool,
    beside: tuple[float, float] | None = None,
) -> None:  # fmt: skip
    """A lock's name at a point, upright when it is `small`, or `beside` with an arrow to it."""
    colour = _dark(label)
    ax.annotate(
        text, point, xytext=beside or point, ha="center", va="center", fontsize=8 if small else 9,
        fontweight="bold", color=colour, rotation=90 if small and not beside else 0, zorder=6,
        path_effects=HALO,
        arrowprops={"arrowstyle": "->", "color": colour, "shrinkB": 0} if beside else None,
    )  # fmt: skip


def _beside(
    inside: NDArray[np.bool_], taken: Sequence[tuple[float, float]], length: int
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Where the name of a strip stands, clear of what is `taken`, and the point of the strip next
    to it (row, column)."""
    side = inside.shape[0]
    half = np.array([length * _STEP / 2, _HALF_LINE])
    strip = np.argwhere(inside)
    others = np.array([*taken, *strip[:, ::-1]])
    best, found = (-np.inf, 0.0), ((0, 0), (0, 0))
    for row, column in itertools.product(range(0, side, 2), repeat=2):
        centre = np.array([column, row])
        if (centre < half).any() or (centre > side - 1 - half).any():
            continue
        away = np.abs(others - centre) - half
        reach = np.abs(strip - centre[::-1]).sum(axis=1)
        score = (min(_CLEAR, away.max(axis=1).min()), -reach.min())
        if score > best:
            at = strip[reach.argmin()]
            best, found = score, ((row, column), (int(at[0]), int(at[1])))
    return found


def _dark(label: LockLabel) -> str:
    """The lock's colour, darkened so that it can be read on its own tint."""
    colour = look(label).colour.lstrip("#")
    parts = [int(int(colour[i : i + 2], 16) * 0.6) for i in (0, 2, 4)]
    return "#" + "".join(f"{part:02x}" for part in parts)


def _roomiest(
    inside: NDArray[np.bool_], marked: Sequence[tuple[float, float]], length: int, upright: bool
) -> tuple[int, int]:
    """The point of a region (row, column) furthest from everything else: the region's edge, the
    frame, the marks. A label of `length` letters is longer than high: distances along it count
    less. Of equal points the one deepest inside the frame is taken."""
    side = inside.shape[0]
    columns, rows = np.meshgrid(np.arange(side, dtype=float), np.arange(side, dtype=float))
    aspect = max(1.0, length * _LETTER)
    wide, high = (1.0, aspect) if upright else (aspect, 1.0)
    clear = np.minimum.reduce(
        [(columns + 1) / wide, (side - columns) / wide, (rows + 1) / high, (side - rows) / high]
    )
    # The nearest point outside has a neighbour inside, or a step closer would be nearer still.
    rim = np.zeros_like(inside)
    rim[1:] |= inside[:-1]
    rim[:-1] |= inside[1:]
    rim[:, 1:] |= inside[:, :-1]
    rim[:, :-1] |= inside[:, 1:]
    rim &= ~inside
    for column, row in [*zip(columns[rim], rows[rim], strict=True), *marked]:
        clear = np.minimum(clear, np.hypot((columns - column) / wide, (rows - row) / high))
    depth = np.minimum(rows, side - 1 - rows)
    if not upright:
        depth = np.minimum(depth, np.minimum(columns, side - 1 - columns))
    clear = np.where(inside, clear + depth / side**2, -1)
    row_, column_ = np.unravel_index(int(clear.argmax()), clear.shape)
    return int(row_), int(column_)


def workload_words(plan: PlanFact) -> str:
    """The workload of a study's map: threads and the owner's share."""
    given = plan.map
    threads = "1 thread" if given.threads == 1 else f"{given.threads} threads"
    return f"{threads},\nowner's share {given.parameters.owner_share * 100:g} %"


def _draw_key(ax: Axes, plan: PlanFact, machine: str, shown: Sequence[Panel]) -> None:
    """The signs of the map, and what it is of."""
    of, given = shown[0].grid, plan.map
    marked = any(panel.grid.marks.here for panel in shown)
    equal = "equal cost (searched)"
    if plan.seeds > 1:
        equal += f";\nthick: the band of {plan.seeds} seeds"
    handles: list[Artist] = [
        Line2D([], [], color="black", marker="o", markersize=3, label=equal),
        Patch(facecolor="white", edgecolor="#bbbbbb",
              label=f"lighter: a tie, lead below {100 * of.tie:g} %"),
    ]  # fmt: skip
    handles += [
        Line2D([], [], color=look(label).colour, linewidth=1.6, path_effects=_TEETH,
               label=f"where {label.words()} would be cheaper still\n(on the side of the teeth)")
        for label in of.aside
    ]  # fmt: skip
    if marked:
        handles.append(Line2D([], [], **_MARK, label="real processor (* latency partly assumed)"))
    ax.legend(handles=handles, loc="upper left", frameon=False)
    label = plan.engine
    where = machine + (f" on {engines.title(label)}" if label != engines.DEFAULT else "")
    lines = [
        "Cheapest lock per acquire-release pair",
        f"machine {where}, {workload_words(plan)}, runs of {given.parameters.run_length},",
        f"{given.parameters.runs} runs in an object's life,",
    ]
    if of.marks.cancel is not None and given.threads > 1:
        lines.append(f"a cancellation stops a thread for {of.marks.cancel:,} cycles,")
    lines.append(f"crossovers to within {given.tolerance} cycles")
    if of.check:
        worst = at_most(of.check.worst)
        lines[-1] += f";\nelsewhere interpolated, off by at most {worst}\nwhere checked"
    if marked:
        words = f"a mark is a place: a {machine} core with these latencies and this cancellation"
        lines.append(textwrap.fill(words, _KEY_WIDTH))
    if apart := {mark.machine: mark.words for panel in shown for mark in panel.grid.marks.apart}:
        words = (
            "no answer for processors whose cancellation costs other than that: "
            f"{', '.join(apart.values())}; the winner table has theirs"
        )
        lines.append(textwrap.fill(words, _KEY_WIDTH))
    ax.text(0.04, 0.6, "\n".join(lines), transform=ax.transAxes, va="top", linespacing=1.5)
