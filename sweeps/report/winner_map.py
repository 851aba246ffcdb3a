"""The winner map: who is cheapest at each CAS and fence latency, one panel an ISA; and the borders
of the maps of several engines over one another."""

import itertools
import sqlite3
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.patheffects import Normal, withTickedStroke
from matplotlib.text import Annotation
from numpy.typing import NDArray

from results.draw.painter import HALO, note, panels, sign
from results.errors import NoDataError
from results.store.queries import compilers_of_study
from sweeps.model import engines
from sweeps.model.isa import isa_words
from sweeps.model.locks import FENCE_KINDS, FULL, LockLabel
from sweeps.report.grids import (
    CancelGrid,
    Grid,
    Surface,
    cancel_grid,
    grid,
    own_grids,
)
from sweeps.report.style import style_of
from sweeps.study.leads import Rule
from sweeps.study.plan import MAP, Plan
from sweeps.study.results import MapCrossing, StudyResults
from sweeps.support.text import threads_words

_RASTER = 241  # points a side on which regions are drawn: finer than a pixel of the print
_LABELS = 61  # points a side on which a place for a label is looked for
_SMALLEST = 0.14  # share of a panel's width or height that a region needs for a name in it,
_SEEN = 0.04  # and for one at all
_BESIDE = 4  # cycles of CAS latency on the left of a processor beyond what was run
_ABOVE = 12  # points between a title and its map, where a line stands between them
_NARROW = 0.25  # share of a panel's width below which a name is written upright
_LETTER = 0.55  # width of a letter, in heights of the line
# Of a name beside a strip, in steps of the label raster: a letter, half a line, the room around it.
_STEP, _HALF_LINE, _CLEAR = 2.2, 1.9, 2.0
_MARK: dict[str, Any] = {
    "marker": "o",
    "markersize": 4,
    "markerfacecolor": "white",
    "markeredgecolor": "black",
    "linestyle": "",
}
_BORDER: dict[str, Any] = {"linewidths": 1.6, "zorder": 4}
_SMALL: dict[str, Any] = {"path_effects": HALO, "zorder": 6}  # texts
_KEY_WIDTH = 130  # letters of a line above a figure
_TEETH = [withTickedStroke(angle=-90, spacing=8, length=0.6), Normal()]
_TIE = 0.7  # how much of a region's colour the band of ties takes
# Where borders of several maps lie over one another their labels are placed by eye, in points: a
# panel's size, a letter, a line of text.
_PANEL = np.array([210.0, 120.0])
_LETTER_WIDTH, _LINE = 4.1, 8.5
_SPOTS = 40  # places along a border that its label may stand beside,
_OFFSETS = np.array([[x, y] for y in (10, -10, 20, -20) for x in (-6, 6)], dtype=float)
_ABOVE_BORDERS = 1.5  # times the highest border, up to which a panel reaches
_ENOUGH = 6.0  # and how clear of everything else it should stand
_ON_FRONT = 1.01  # a crossing counts when no third lock is cheaper by more than 1 %


class Panel(NamedTuple):
    """A winner map: its grid and the lock labels in the contest."""

    grid: Grid
    labels: tuple[LockLabel, ...]
    title: str


def draw_map(connection: sqlite3.Connection, machine: str) -> Figure:
    """Draw a panel for each flavour with full fences, and one with every fence kind where an
    ISA has others. Raises NoDataError."""
    results = StudyResults(connection)
    shown = panels_of(results, machine)
    if not shown:
        raise NoDataError("the study has no winner map")
    figure, axes = panels(len(shown), 3, 2.1, 1.0)
    for ax, panel in zip(axes, shown, strict=False):
        draw_panel(ax, panel)
    _add_key(figure, results.plan, machine, shown)
    return figure


def draw_decisions(connection: sqlite3.Connection) -> Figure:
    """Draw a panel for each flavour of the study's own machine, over the two latencies that decide
    there: CAS and cancellation, where the study's first fence is an atomic; else CAS and full
    fence, for each cost of a cancellation that real processors have. Raises NoDataError."""
    results, shown = StudyResults(connection), list[Panel]()
    plan = results.plan
    for isa_name, flavour in results.series_names("map", plan.machine):
        place = plan.machine, isa_name, flavour
        if other := cancel_grid(results, *place):
            compared = tuple(label for label in other.costs if label not in other.aside)
            kinds = dict.fromkeys(FENCE_KINDS[label.fence] for label in compared)
            shown.append(Panel(other, compared, f"{other.isa.title}, {' and '.join(kinds)}"))
        else:
            shown += map(_full, own_grids(results, *place))
    if not any(isinstance(panel.grid, CancelGrid) for panel in shown):
        raise NoDataError("the study has no map over CAS and cancellation")
    figure, axes = panels(len(shown), 2, 2.3, 0.6)
    for ax, panel in zip(axes, shown, strict=False):
        draw_panel(ax, panel)
        if panel.grid.marks.cancel is not None and not isinstance(panel.grid, CancelGrid):
            ax.set_title(f"{panel.title}, cancellation {panel.grid.marks.cancel:,}")
    _add_key(figure, plan, plan.machine, shown)
    return figure


def panels_of(results: StudyResults, machine: str) -> list[Panel]:
    """Return every winner map of a machine. Raises NoDataError."""
    shown = []
    for isa_name, flavour in results.series_names("map", machine):
        costs = grid(results, machine, isa_name, flavour)
        every = tuple(label for label in costs.costs if label not in costs.aside)
        shown.append(full := _full(costs))
        if len(full.labels) < len(every):
            title = isa_words(costs.isa.title, flavour)
            shown.append(Panel(costs, every, f"{title}, any kind of fence"))
    return shown


def _full(costs: Grid) -> Panel:
    """Return a map with full fences alone."""
    compared = (label for label in costs.costs if label not in costs.aside)
    title = f"{isa_words(costs.isa.title, costs.flavour)}, {costs.isa.full_fence}"
    return Panel(costs, tuple(label for label in compared if label.fence == FULL), title)


def _frame(ax: Axes, grids: Sequence[Grid], title: str) -> None:
    """A panel's title, and axes over all that the grids have."""
    ax.set_title(title)
    for axis, words in zip((ax.xaxis, ax.yaxis), grids[0].axes, strict=True):
        axis.set_label_text(f"{words} (cycles)")
        axis.set_major_formatter("{x:,.0f}")
    # A processor may lie beyond what was run: there the map is white.
    least = [nodes.xs[0] for nodes in grids] + [
        spot.x - _BESIDE for nodes in grids for spot in nodes.spots
    ]
    ax.set_xlim(min(least), max(nodes.xs[-1] for nodes in grids))
    ax.set_ylim(min(nodes.ys[0] for nodes in grids), max(nodes.ys[-1] for nodes in grids))


def draw_panel(ax: Axes, panel: Panel) -> None:
    """One winner map, with everything but the key."""
    shown = panel.grid
    _frame(ax, [shown], panel.title)
    x, y = _mesh(shown, _RASTER)
    costs = {label: shown.cost_at(label, x, y) for label in panel.labels}
    for label, cost in costs.items():
        lead = cost - np.min([dearer for other, dearer in costs.items() if other != label], axis=0)
        if (lead < 0).any():  # it is the cheapest somewhere
            style, levels = style_of(label), [lead.min() - 1, 0]
            ax.contourf(
                x, y, lead, levels, colors=[style.colour], alpha=0.35, hatches=[style.hatch]
            )
            # The border as the grid's own costs have it: runs on where no crossover was searched.
            ax.contour(x, y, lead, levels=[0], colors="black", linewidths=0.7)
    first, beyond = np.min(list(costs.values()), axis=0), _beyond_ties(shown.rule, costs)
    if (beyond < 0).any():  # lighter where it is a tie
        ax.contourf(x, y, beyond, levels=[-1, 0], colors=["white"], alpha=_TIE, zorder=1.5)
    for points in borders(panel).values():
        xs, ys = zip(*points, strict=True)
        ax.plot(xs, ys, "-o", color="black", markersize=2, zorder=3)
    for label in shown.aside:
        _draw_aside(ax, x, y, shown.cost_at(label, x, y) - first, label)
    _draw_marks(ax, shown)
    label_regions(ax, panel)


def _beyond_ties(rule: Rule, costs: Mapping[LockLabel, Surface]) -> Surface:
    """Return by how much the lead of the cheapest lock, a share, is greater than one that is a tie;
    below zero it is in a tie with some lock."""
    labels, every = list(costs), np.array(list(costs.values()))
    best = every.argmin(axis=0)
    least = np.array([[rule.least(one, other) for other in labels] for one in labels])[best]
    beyond = (every - every.min(axis=0)) / every - np.moveaxis(least, -1, 0)
    np.put_along_axis(beyond, best[np.newaxis], np.inf, axis=0)  # beside itself
    surface: Surface = beyond.min(axis=0)
    return surface


def _mesh(shown: Grid, side: int) -> tuple[Surface, Surface]:
    """Return the place of each point of a raster over the map, `side` points a side."""
    x, y = np.meshgrid(*(np.linspace(axis[0], axis[-1], side) for axis in (shown.xs, shown.ys)))
    return x, y


def _draw_aside(ax: Axes, x: Surface, y: Surface, lead: Surface, label: LockLabel) -> None:
    """The line up to which a lock that stands aside would be cheaper than all in the contest, with
    teeth on the side where it is. `lead`: its cost less theirs."""
    if lead.min() < 0 < lead.max():
        colours = [style_of(label).colour]
        line = ax.contour(x, y, lead, [0], colors=colours, linestyles="solid", **_BORDER)
        line.set(path_effects=_TEETH)
        return
    words = "cheaper" if lead.max() <= 0 else "dearer"
    text = f"{label.words()} is {words} everywhere"
    look_of: dict[str, Any] = {"color": _dark(label), "ha": "center", "va": "bottom", **_SMALL}
    ax.set_title(ax.get_title(), pad=_ABOVE)
    ax.annotate(text, (0.5, 1), (0, 3), "axes fraction", "offset points", **look_of)


def borders(panel: Panel) -> dict[tuple[LockLabel, LockLabel], list[tuple[float, float]]]:
    """Return the searched crossovers between the cheapest locks, by pair, each in order along
    its border: points of observed CAS and full-fence latency in cycles."""
    points: dict[tuple[LockLabel, LockLabel], list[tuple[float, float]]] = {}
    for crossing in _visible_crossings(panel):
        pair = (crossing.lock_a, crossing.lock_b)
        points.setdefault(pair, []).append((crossing.cas, crossing.fence))
    return {pair: polyline(some) for pair, some in points.items()}


def polyline(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the points of one boundary in order, along the direction in which they spread most."""
    spread_x, spread_y = (max(axis) - min(axis) for axis in zip(*points, strict=True))
    along = 0 if spread_x >= spread_y else 1
    return sorted(set(points), key=lambda point: (point[along], point[1 - along]))


def _visible_crossings(panel: Panel) -> Iterator[MapCrossing]:
    """Yield the searched crossovers of a panel's locks, without those where a third is cheaper."""
    for crossing in panel.grid.crossings:
        if {crossing.lock_a, crossing.lock_b} <= set(panel.labels):
            place = (np.array([crossing.cas]), np.array([crossing.fence]))
            best = min(panel.grid.cost_at(label, *place)[0] for label in panel.labels)
            if panel.grid.cost_at(crossing.lock_a, *place)[0] <= best * _ON_FRONT:
                yield crossing


def _draw_marks(ax: Axes, shown: Grid) -> None:
    """Where real processors stand. A mark names no winner: the map does. Those at one place share a
    name; one whose name would cover the next mark has it above."""
    (least, most), (low, high) = ax.get_xlim(), ax.get_ylim()
    places: dict[tuple[float, float], list[str]] = {}
    for words, x, y in shown.spots:
        if least <= x <= most and low <= y <= high:
            near = ((x, y), *((a, b) for a, b in places if _near(ax, x - a, y - b, 0.02)))
            places.setdefault(near[-1], []).append(words)
    for (x, y), names in places.items():
        ax.plot(x, y, **_MARK, zorder=5)
        left = x > least + 0.7 * (most - least)
        look = {"ha": "right" if left else "left", "va": "center"}
        beside = (-6.0 if left else 6.0, 0.0)
        if any(a > x and _near(ax, a - x, b - y, 0.12) for a, b in places):
            inner = x > least + 0.2 * (most - least)
            look, beside = {"ha": "center" if inner else "left", "va": "bottom"}, (0.0, 4.0)
        note(ax, ", ".join(names), (x, y), beside, **look, **_SMALL)


def _near(ax: Axes, across: float, up: float, share: float) -> bool:
    """Return whether a distance is at most such a share of an axis along, and 0.03 of it up."""
    (least, most), (low, high) = ax.get_xlim(), ax.get_ylim()
    return abs(across) <= share * (most - least) and abs(up) <= 0.03 * (high - low)


def label_regions(ax: Axes, panel: Panel) -> None:
    """Names each region at its roomiest place, upright where it is narrow; a strip too narrow for
    a name has it beside, with an arrow."""
    x, y = _mesh(panel.grid, _LABELS)
    costs = np.array([panel.grid.cost_at(label, x, y) for label in panel.labels])
    winners = costs.argmin(axis=0)
    wide, high = x[0, 1] - x[0, 0], y[1, 0] - y[0, 0]
    # All in steps of the raster (column, row). A processor's name stands beside its mark, so the
    # two of them are kept clear, and so is where the winner changes.
    marked = [
        ((spot.x - x[0, 0]) / wide + shift, (spot.y - y[0, 0]) / high)
        for spot in panel.grid.spots
        for shift in range(0, 9, 2)
    ]
    taken = [*marked, *((c + 0.5, r) for r, c in np.argwhere(np.diff(winners, axis=1)))]
    taken += [(c, r + 0.5) for r, c in np.argwhere(np.diff(winners, axis=0))]
    strips = []
    for index, label in enumerate(panel.labels):
        inside = winners == index
        wide, high = inside.any(axis=0).mean(), inside.any(axis=1).mean()
        if min(wide, high) < _SMALLEST:
            if max(wide, high) >= _SEEN:
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
        text = label.words("\n")
        lines, length = len(text.splitlines()), max(map(len, text.splitlines()))
        (row, column), (at_row, at_column) = _beside(inside, taken, length, lines)
        place = (x[row, column], y[row, column])
        _write(ax, text, label, (x[at_row, at_column], y[at_row, at_column]), True, place)
        taken += [(column + d, row) for d in np.arange(-length / 2, length / 2) * _STEP]


def _write(
    ax: Axes,
    text: str,
    label: LockLabel,
    point: tuple[float, float],
    small: bool,
    beside: tuple[float, float] | None = None,
) -> None:
    """A lock's name at a point, upright when it is `small`, or `beside` with an arrow to it."""
    colour = _dark(label)
    ax.annotate(
        text,
        point,
        xytext=beside or point,
        ha="center",
        va="center",
        fontweight="bold",
        color=colour,
        rotation=90 if small and not beside else 0,
        zorder=6,
        path_effects=HALO,
        arrowprops={"arrowstyle": "->", "color": colour, "shrinkB": 0} if beside else None,
    )


def _beside(
    inside: NDArray[np.bool_], taken: Sequence[tuple[float, float]], length: int, lines: int
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the place for the name of a strip, clear of the `taken` points, and the point of the
    strip next to it (row, column). `length`: of a line, in letters."""
    side = inside.shape[0]
    half = np.array([length * _STEP / 2, lines * _HALF_LINE])
    strip = np.argwhere(inside)
    others = np.array([*taken, *strip[:, ::-1]])
    best, spot = (-np.inf, 0.0), ((0, 0), (0, 0))
    for row, column in itertools.product(range(0, side, 2), repeat=2):
        centre = np.array([column, row])
        if (centre < half).any() or (centre > side - 1 - half).any():
            continue
        away = np.abs(others - centre) - half
        reach = np.abs(strip - centre[::-1]).sum(axis=1)
        score = (min(_CLEAR, away.max(axis=1).min()), -reach.min())
        if score > best:
            at = strip[reach.argmin()]
            best, spot = score, ((row, column), (int(at[0]), int(at[1])))
    return spot


def _dark(label: LockLabel) -> str:
    """Return the lock's colour, darkened so that it can be read on its own tint."""
    colour = style_of(label).colour.lstrip("#")
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
    wider = np.pad(inside, 1)
    beside = wider[2:, 1:-1] | wider[:-2, 1:-1] | wider[1:-1, 2:] | wider[1:-1, :-2]
    rim = beside & ~inside
    for column, row in [*zip(columns[rim], rows[rim], strict=True), *marked]:
        clear = np.minimum(clear, np.hypot((columns - column) / wide, (rows - row) / high))
    depth = np.minimum(rows, side - 1 - rows)
    if not upright:
        depth = np.minimum(depth, np.minimum(columns, side - 1 - columns))
    clear = np.where(inside, clear + depth / side**2, -1)
    row_, column_ = np.unravel_index(int(clear.argmax()), clear.shape)
    return int(row_), int(column_)


def workload_words(plan: Plan) -> str:
    """Return the workload of a study's map: threads and the owner's share."""
    (given, *_) = plan.named(MAP)
    share = given.first("owner_share")
    return f"{threads_words(given.first('threads'))}, owner's share {share * 100:g} %"


def _add_key(figure: Figure, plan: Plan, machine: str, shown: Sequence[Panel]) -> None:
    """Add the key to the signs below the maps, and their subject above."""
    grids, (given, *_) = [panel.grid for panel in shown], plan.named(MAP)
    handles: list[Artist] = [
        Patch(
            facecolor="white",
            edgecolor="#bbbbbb",
            label="lighter: a tie",
        )
    ]
    if any(of.crossings for of in grids):
        handles.append(sign("equal cost (searched)", color="black", marker="o", markersize=2))
    for aside in dict.fromkeys(itertools.chain.from_iterable(of.aside for of in grids)):
        look = {"color": style_of(aside).colour, "linewidth": 1.2, "path_effects": _TEETH}
        handles.append(sign(f"on the side of the teeth {aside.words()} is cheaper", **look))
    if any(of.spots for of in grids):
        handles.append(sign("processor (* partly assumed)", **_MARK))
    if any(spot.x < of.xs[0] for of in grids for spot in of.spots):
        handles.append(Patch(facecolor="white", edgecolor="black", label="white: not run"))
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    label = plan.engine
    where = machine + (f" on {engines.title(label)}" if label != engines.DEFAULT else "")
    words = (
        f"Simulated: the cheapest lock per acquire-release pair; {where}, {workload_words(plan)}, "
    )
    words += f"{given.first('runs')} runs of {given.first('run_length')} in an object's life"
    if any(of.marks.apart for of in grids if not isinstance(of, CancelGrid)):
        words += (
            f", a cancellation of {grids[0].marks.cancel:,} cycles; "
            "processors with another one: decision_map, winner table"
        )
    figure.suptitle(textwrap.fill(words, _KEY_WIDTH))


class _Study(NamedTuple):
    engine: str
    workload: str
    panels: dict[str, Panel]  # by flavour, full fences alone


class _Border(NamedTuple):
    study: _Study
    pair: tuple[LockLabel, LockLabel]
    points: Surface  # (CAS, fence) in observed cycles, a row a point


def draw_engines(connections: Mapping[str, sqlite3.Connection]) -> Figure:
    """One panel for each flavour that two engines or more have, with the borders of every study.

    `connections`: studies by a name for messages. Raises NoDataError, also when the studies'
    programs are of several compilers.
    """
    compilers = {title: compilers_of_study(database) for title, database in connections.items()}
    first = next(iter(compilers))
    for title, names in compilers.items():
        if names and names != compilers[first]:
            raise NoDataError(
                f"{title} is of programs by {' and '.join(names)}, {first} by "
                f"{' and '.join(compilers[first])}: costs of two compilers are not drawn together"
            )
    studies = []
    for title, connection in connections.items():
        try:
            results = StudyResults(connection)
            plan = results.plan
            of_flavour: dict[str, Panel] = {}
            for panel in panels_of(results, plan.machine):  # full fences alone come first
                of_flavour.setdefault(panel.grid.flavour, panel)
        except NoDataError as missing:
            raise NoDataError(f"{title}: {missing.message}") from None
        studies.append(_Study(plan.engine, workload_words(plan), of_flavour))
    studies.sort(key=lambda study: engines.order(study.engine))
    shown = {}
    for flavour in dict.fromkeys(flavour for study in studies for flavour in study.panels):
        some = [study for study in studies if flavour in study.panels]
        if len({study.engine for study in some}) > 1:
            shown[flavour] = some
    if not shown:
        raise NoDataError(f"no two engines have a winner map in common in {', '.join(connections)}")
    figure, axes = panels(len(shown), 2, 2.2)
    for ax, (flavour, some) in zip(axes, shown.items(), strict=False):
        of_study = [study.panels[flavour] for study in some]
        isa = of_study[0].grid.isa
        title = f"{isa_words(isa.title, flavour)}, {isa.full_fence}"
        _frame(ax, [panel.grid for panel in of_study], title)
        label_regions(ax, of_study[0])
        drawn = [_draw_study(ax, *pair) for pair in zip(some, of_study, strict=True)]
        for study, panel, found in zip(some, of_study, drawn, strict=True):
            if not found:
                title += f"\n{engines.title(study.engine)}: {_cheapest(panel).words()} everywhere"
        ax.set_title(title)
        if every := list(itertools.chain.from_iterable(drawn)):
            ax.set_ylim(top=_ABOVE_BORDERS * max(border.points[:, 1].max() for border in every))
            _label(ax, every, _labelled(every, some))
    return figure


def _cheapest(panel: Panel) -> LockLabel:
    """Return the lock that is the cheapest of all on a map without borders."""
    return min(panel.labels, key=lambda label: float(panel.grid.costs[label].sum()))


def _draw_study(ax: Axes, study: _Study, panel: Panel) -> list[_Border]:
    """Draw the borders as the grid's own costs have them, and the searched crossovers on them."""
    drawn_as = engines.entry(study.engine)
    x, y = _mesh(panel.grid, _RASTER)
    costs = {label: panel.grid.cost_at(label, x, y) for label in panel.labels}
    cheapest = np.min(list(costs.values()), axis=0)
    parts = []
    for pair in itertools.combinations(costs, 2):
        first, second = (costs[label] for label in pair)
        # Elsewhere a third lock is cheaper than both.
        between = np.ma.masked_where(np.minimum(first, second) > cheapest, first - second)
        if between.count() == 0 or not between.min() < 0 < between.max():
            continue
        colours, lines = [drawn_as.colour], [drawn_as.line]
        drawn = ax.contour(x, y, between, [0], colors=colours, linestyles=lines, **_BORDER)
        parts += [_Border(study, pair, part) for part in drawn.allsegs[0] if len(part) > 1]
    for points in borders(panel).values():
        xs, ys = zip(*points, strict=True)
        ax.plot(
            xs, ys, drawn_as.marker, color=drawn_as.colour, markersize=3.5, zorder=4, clip_on=False
        )
    return parts


def _labelled(every: Sequence[_Border], studies: Sequence[_Study]) -> list[tuple[_Border, str]]:
    """Return the texts: each engine beside its longest border, and the locks beside a
    border that the first study does not have."""
    known = {border.pair for border in every if border.study is studies[0]}
    texts = []
    for study in studies:
        own = sorted((b for b in every if b.study is study), key=lambda b: -len(b.points))
        for number, border in enumerate(own):
            parts = [] if number else [engines.title(study.engine)]
            if not number and study.workload != studies[0].workload:
                parts.append(study.workload)
            if border.pair not in known:
                parts.append(" / ".join(label.words() for label in border.pair))
            if parts:
                texts.append((border, "\n".join(parts)))
    return texts


def _label(ax: Axes, every: Sequence[_Border], texts: Sequence[tuple[_Border, str]]) -> None:
    """Write each text near its border, clear of all borders and other texts, with a line to it."""
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    origin, scale = np.array([left, low]), np.array([right - left, high - low]) / _PANEL
    names = [text for text in ax.texts if isinstance(text, Annotation)]
    taken = [((np.array(text.xyann) - origin) / scale, _half(text.get_text())) for text in names]
    lines = np.concatenate([(border.points - origin) / scale for border in every])
    for border, text in texts:
        half = _half(text)

        def clearance(place: tuple[Surface, Surface], half: Surface = half) -> float:
            """How far the box stays from all lines and texts, in points; enough is enough."""
            away = [(np.abs(lines - place[1]) - half).max(axis=1).min()]
            away += [(np.abs(other - place[1]) - half - size).max() for other, size in taken]
            return float(min(*away, _ENOUGH))

        spots = ((border.points - origin) / scale)[:: max(1, len(border.points) // _SPOTS)]
        offsets = _OFFSETS + np.sign(_OFFSETS) * half
        places = [(spot, spot + offset) for spot in spots for offset in offsets]
        inside = [p for p in places if (p[1] > half).all() and (p[1] < _PANEL - half).all()]
        spot, centre = max(inside or places, key=clearance)
        taken.append((centre, half))
        colour = engines.entry(border.study.engine).colour
        look_of = {"ha": "center", "va": "center", "color": colour, **_SMALL, "zorder": 7}
        arrow = {"arrowstyle": "-", "color": colour, "linewidth": 0.7, "shrinkA": 1}
        at, place = (point * scale + origin for point in (spot, centre))
        ax.annotate(text, at, xytext=place, arrowprops=arrow, **look_of)


def _half(text: str) -> Surface:
    """Half the width and height of a text, in points."""
    lines = text.splitlines()
    return np.array([max(map(len, lines)) * _LETTER_WIDTH / 2, len(lines) * _LINE / 2])
