"""The borders of the winner map on several engines over one another, a panel a flavour."""

import itertools
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Annotation

from results.draw.painter import HALO, panels
from results.errors import NoDataError
from results.store.queries import compilers_of_study
from sweeps.model import engines
from sweeps.model.isa import isa_words
from sweeps.model.locks import LockLabel
from sweeps.questions.crossover.winner_map import (
    RASTER,
    Panel,
    borders,
    label_regions,
    mesh,
    panels_of,
    workload_words,
)
from sweeps.search.found import PLAN, engine, machines
from sweeps.search.grid import Surface

# Labels are placed by eye, in points: a panel's size, a letter, a line of text.
_PANEL = np.array([280.0, 265.0])
_LETTER, _LINE = 4.6, 11.0
_SPOTS = 40  # places along a border that its label may stand beside,
_OFFSETS = np.array([[x, y] for y in (10, -10, 20, -20) for x in (-6, 6)], dtype=float)
_ENOUGH = 6.0  # and how clear of everything else it should stand


@dataclass(frozen=True)
class _Study:
    engine: str
    workload: str
    panels: dict[tuple[str, str], Panel]  # by ISA and flavour, full fences alone


@dataclass(frozen=True)
class _Border:
    study: _Study
    pair: tuple[LockLabel, LockLabel]
    points: Surface  # (CAS, fence) in measured cycles, a row a point


def draw_engines(connections: Mapping[str, sqlite3.Connection]) -> Figure:
    """One panel for each flavour that two engines or more have, with the borders of every study.

    `connections`: studies by a name for messages. Raises NoDataError, also when the studies'
    programs are of several compilers.
    """
    compilers = {title: compilers_of_study(one) for title, one in connections.items()}
    first = next(iter(compilers))
    for title, names in compilers.items():
        if names and names != compilers[first]:
            raise NoDataError(
                f"{title} is of programs by {' and '.join(names)}, {first} by "
                f"{' and '.join(compilers[first])}: costs of two compilers are not drawn together"
            )
    studies = [_study(title, connection) for title, connection in connections.items()]
    studies.sort(key=lambda study: engines.order(study.engine))
    of_place: dict[tuple[str, str], list[_Study]] = {}
    for study in studies:
        for place in study.panels:
            of_place.setdefault(place, []).append(study)
    shown = {
        place: some for place, some in of_place.items() if len({one.engine for one in some}) > 1
    }
    if not shown:
        raise NoDataError(f"no two engines have a winner map in common in {', '.join(connections)}")
    figure, axes = panels(len(shown), 3, (4.6, 4.4))
    for ax, (place, some) in zip(axes, shown.items(), strict=False):
        base = some[0].panels[place]
        grids = [study.panels[place].grid for study in some]
        ax.set_title(f"{isa_words(base.grid.isa.title, place[1])}, {base.grid.isa.full_fence}")
        ax.set_xlabel("measured CAS latency (cycles)")
        ax.set_ylabel(f"measured {base.grid.isa.full_fence} latency (cycles)")
        ax.set_xlim(min(one.cas[0] for one in grids), max(one.cas[-1] for one in grids))
        ax.set_ylim(min(one.fence[0] for one in grids), max(one.fence[-1] for one in grids))
        label_regions(ax, base)
        found = [border for study in some for border in _draw_study(ax, study, study.panels[place])]
        if found:  # else one lock wins everywhere
            _label(ax, found, _labelled(found, some))
    return figure


def _study(title: str, connection: sqlite3.Connection) -> _Study:
    try:
        of_place: dict[tuple[str, str], Panel] = {}
        # Those with full fences alone come first.
        for panel in panels_of(connection, machines(connection)[0]):
            of_place.setdefault((panel.grid.isa.name, panel.grid.flavour), panel)
        words = workload_words(PLAN.read(connection)).replace("\n", " ")
        return _Study(engine(connection), words, of_place)
    except NoDataError as missing:
        raise NoDataError(f"{title}: {missing.message}") from None


def _draw_study(ax: Axes, study: _Study, panel: Panel) -> list[_Border]:
    """Draws the borders as the grid's own costs have them, and the searched crossovers on them."""
    drawn_as = engines.entry(study.engine)
    x, y = mesh(panel.grid, RASTER)
    costs = {label: panel.grid.cost_at(label, x, y) for label in panel.labels}
    cheapest = np.min(list(costs.values()), axis=0)
    found = []
    for pair in itertools.combinations(costs, 2):
        first, second = (costs[label] for label in pair)
        # Elsewhere a third lock is cheaper than both.
        between = np.ma.masked_where(np.minimum(first, second) > cheapest, first - second)
        if between.count() == 0 or not between.min() < 0 < between.max():
            continue
        drawn = ax.contour(
            x, y, between, levels=[0], colors=[drawn_as.colour], linestyles=[drawn_as.line],
            linewidths=1.6, zorder=4,
        )  # fmt: skip
        found += [_Border(study, pair, part) for part in drawn.allsegs[0] if len(part) > 1]
    for points in borders(panel).values():
        xs, ys = zip(*points, strict=True)
        ax.plot(xs, ys, drawn_as.marker, color=drawn_as.colour, markersize=3.5, zorder=4)
    return found


def _labelled(found: Sequence[_Border], studies: Sequence[_Study]) -> list[tuple[_Border, str]]:
    """What is written: each engine beside its longest border, and the locks beside a border that
    the first study does not have."""
    known = {border.pair for border in found if border.study is studies[0]}
    texts = []
    for study in studies:
        own = sorted((b for b in found if b.study is study), key=lambda b: -len(b.points))
        for number, border in enumerate(own):
            parts = [] if number else [engines.title(study.engine)]
            if not number and study.workload != studies[0].workload:
                parts.append(study.workload)
            if border.pair not in known:
                parts.append(" / ".join(label.words() for label in border.pair))
            if parts:
                texts.append((border, "\n".join(parts)))
    return texts


def _label(ax: Axes, found: Sequence[_Border], texts: Sequence[tuple[_Border, str]]) -> None:
    """Writes each text near its border, clear of all borders and other texts, with a line to it."""
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    origin, scale = np.array([left, low]), np.array([right - left, high - low]) / _PANEL
    names = [text for text in ax.texts if isinstance(text, Annotation)]
    taken = [((np.array(text.xyann) - origin) / scale, _half(text.get_text())) for text in names]
    lines = np.concatenate([(border.points - origin) / scale for border in found])
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
        ax.annotate(
            text, spot * scale + origin, xytext=centre * scale + origin, ha="center", va="center",
            fontsize=8, color=colour, path_effects=HALO, zorder=7,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.7, "shrinkA": 1},
        )  # fmt: skip


def _half(text: str) -> Surface:
    """Half the width and height of a text, in points."""
    lines = text.splitlines()
    return np.array([max(map(len, lines)) * _LETTER / 2, len(lines) * _LINE / 2])
