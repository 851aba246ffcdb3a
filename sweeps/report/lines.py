"""Curves with bands over the seeds, along an axis: one figure for studies and for plans."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from statistics import median
from textwrap import fill
from typing import cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.path import Path
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from results.draw.painter import PAGE, panels, sign
from sweeps.model.locks import LockLabel
from sweeps.report.style import Style, style_of
from sweeps.study.costs import Panel
from sweeps.study.runs import Value

_HEIGHT = 1.9  # inches of a panel
_STEEP = {"x": 30, "y": 10}  # times the least value, from which on a scale is logarithmic
_OUTLIER = 4  # times the median of all costs, likewise
_LINE = 0.12  # inches of a line of text
_NAMED = 26  # lines of text, up to which curves have their names beside them
_SIGN, _LETTER = 0.45, 0.053  # inches of a sign of the key, and of a letter

_CUT = Path([(-1, -0.5), (1, 0.5)])  # a mark on an axis that does not begin at 0

Looks = Mapping[Value, tuple[str, Style]]  # of what is compared: its words and its style


@dataclass(frozen=True)
class Lines:
    """A panel of a figure: its title, its axes, its curves, and which costs are not told from the
    least, by value of the axis."""

    title: str
    along: str
    unit: str
    panel: Panel
    ties: Mapping[Value, tuple[float, float]] = field(default_factory=dict)

    @property
    def costs(self) -> list[float]:
        """Return every cost."""
        return [band.median for curve in self.panel.curves.values() for band in curve.values()]


def of_locks(shown: Sequence[Lines]) -> Looks:
    """Return the looks of the locks of some panels."""
    names = dict.fromkeys(name for one in shown for name in one.panel.curves)
    labels = {name: LockLabel(str(name)) for name in names}
    return {name: (label.words(), style_of(label)) for name, label in labels.items()}


def draw(shown: Sequence[Lines], looks: Looks, about: str, columns: int = 3) -> Figure:
    """Draw panels, so many beside one another; `about` names the subject of all. Curves of one or
    two panels have their names beside them, others a key."""
    names = {name: words.replace(", ", ",\n") for name, (words, _) in looks.items()}
    lines = sum(len(words.splitlines()) for words in names.values())
    named = len(shown) <= 2 and lines <= _NAMED
    alike = len({one.unit for one in shown}) == 1
    ncols = int(PAGE / (_SIGN + _LETTER * max(len(words) for words, _ in looks.values())))
    below = 0.3 if named else 0.3 + _LINE * -(-len(looks) // ncols)
    height = max(_HEIGHT, _LINE * lines + 0.6) if named else _HEIGHT
    figure, axes = panels(len(shown), columns, height, below, sharey=alike)
    for place, (ax, one) in enumerate(zip(axes, shown, strict=False)):
        every = list(chain.from_iterable(other.costs for other in shown)) if alike else one.costs
        _draw(ax, one, looks, every)
        if alike and place % columns:
            ax.set_ylabel("")
        if named:
            curves = zip(one.panel.curves, ax.lines, strict=False)
            ends = [(name, np.asarray(line.get_xydata())[-1]) for name, line in curves]
            name_ends(ax, [(names[name], looks[name][1].colour, (x, y)) for name, (x, y) in ends])
    figure.suptitle(fill(about, int(figure.get_figwidth() / _LETTER) - 6))
    if not named:
        handles = [sign(words, **style.curve) for words, style in looks.values()]
        figure.legend(handles=handles, loc="outside lower center", ncols=ncols)
    return figure


def _draw(ax: Axes, one: Lines, looks: Looks, every: Sequence[float]) -> None:
    ax.set_title(one.title)
    ax.set_xlabel(one.along)
    ax.set_ylabel(one.unit)
    ax.grid(True)
    points = one.panel.points
    numbers = [x for x in points if isinstance(x, int)]
    scaled = len(numbers) == len(points)
    if not scaled:  # names, or the machine's own latency: each has a place
        ax.set_xticks(range(len(points)), [words_of(x) for x in points], rotation=40, ha="right")

    def places(values: Sequence[Value]) -> list[int]:
        return [x if scaled and isinstance(x, int) else points.index(x) for x in values]

    for name, curve in one.panel.curves.items():
        _, style = looks[name]
        bands, xs = list(curve.values()), places(list(curve))
        ax.plot(xs, [band.median for band in bands], **style.curve)
        low, high = [band.least for band in bands], [band.most for band in bands]
        ax.fill_between(xs, low, high, color=style.colour, alpha=0.2, linewidth=0)
    if one.ties:
        ends = np.array(list(one.ties.values())).T
        ax.fill_between(places(list(one.ties)), *ends, color="#bbbbbb", alpha=0.5, zorder=0)
    if scaled and numbers[0] > 0 and numbers[-1] > _STEEP["x"] * numbers[0]:
        ax.set_xscale("log", base=2 if all(x & (x - 1) == 0 for x in numbers) else 10)
        ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.10g}"))
    least, most = min(every), max(every)
    if least > 0 and (most > _STEEP["y"] * least or most > _OUTLIER * median(every)):
        ax.set_yscale("log")
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_minor_formatter(NullFormatter())
        ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:,.10g}"))
    elif least < most / 2:
        ax.set_ylim(bottom=min(0, least))
    else:  # the lower half would be empty: the axis begins at the costs, and has a mark of that
        cut = Line2D([0, 0], [0.03, 0.06], ls="", marker=_CUT, color="black")
        cut.set(transform=ax.transAxes, clip_on=False)
        ax.add_artist(cut)


def name_ends(ax: Axes, ends: Sequence[tuple[str, str, tuple[float, float]]]) -> None:
    """Write names on the right, each with a line to an end of a curve: words, colour, point."""
    tall = _LINE / (cast(Figure, ax.figure).get_figheight() - 0.6)
    ordered = sorted(ends, key=lambda end: end[2][1])
    ax.set_ylim(*ax.get_ylim())
    to_axes = ax.transData + ax.transAxes.inverted()
    wanted = [float(to_axes.transform(at)[1]) for _, _, at in ordered]
    places = _spread(wanted, [tall * len(words.splitlines()) for words, _, _ in ordered])
    for (words, colour, at), middle in zip(ordered, places, strict=True):
        line = {"arrowstyle": "-", "color": colour, "linewidth": 0.6, "relpos": (0, 0.5)}
        ax.annotate(
            words,
            at,
            (1.06, middle),
            textcoords="axes fraction",
            va="center",
            arrowprops={**line, "shrinkA": 0, "shrinkB": 2},
        )


def _spread(wanted: Sequence[float], heights: Sequence[float]) -> list[float]:
    """Return where the middles of texts lie, one above another without gaps too small, from 0 to
    1 as far as there is room: near where they are wanted, in ascending order."""
    at = []
    least = 0.0
    for middle, height in zip(wanted, heights, strict=True):
        at.append(max(middle, least + height / 2))
        least = at[-1] + height / 2
    most = 1.0
    for place in reversed(range(len(at))):
        at[place] = min(at[place], most - heights[place] / 2)
        most = at[place] - heights[place] / 2
    return at


def words_of(value: Value) -> str:
    """Return a value in words."""
    return "the machine's own" if value is None else str(value)
