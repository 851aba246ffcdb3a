"""Curves with bands over the seeds, along an axis: one figure for studies and for plans."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from results.draw.painter import panels, sign
from sweeps.model.locks import LockLabel
from sweeps.report.style import Style, style_of
from sweeps.study.costs import Panel
from sweeps.study.runs import Value

_PANEL = 4.6, 3.3  # inches
_STEEP = {"x": 30, "y": 10}  # times the least value, from which on a scale is logarithmic
_LONG = 30  # characters of a title, from which on it is set small

Looks = Mapping[Value, tuple[str, Style]]  # of what is compared: its words and its style


@dataclass(frozen=True)
class Lines:
    """A panel of a figure: its title, what its axes are, and its curves."""

    title: str
    along: str
    unit: str
    panel: Panel


def of_locks(shown: Sequence[Lines]) -> Looks:
    """Return the looks of the locks of some panels."""
    names = dict.fromkeys(name for one in shown for name in one.panel.curves)
    labels = {name: LockLabel(str(name)) for name in names}
    return {name: (label.words(), style_of(label)) for name, label in labels.items()}


def draw(shown: Sequence[Lines], looks: Looks, columns: int = 3) -> Figure:
    """Draw panels, so many beside one another, with one key for all of them."""
    figure, axes = panels(len(shown), columns, _PANEL, (0.3, 0.6))
    for ax, one in zip(axes, shown, strict=False):
        _draw(ax, one, looks)
    handles = [sign(words, **style.curve) for words, style in looks.values()]
    figure.legend(handles=handles, loc="outside lower center", ncols=min(6, len(handles)))
    return figure


def _draw(ax: Axes, one: Lines, looks: Looks) -> None:
    ax.set_title(one.title, fontsize=8 if len(one.title) > _LONG else None)
    ax.set_xlabel(one.along)
    ax.set_ylabel(one.unit)
    ax.grid(True)
    points = one.panel.points
    numbers = [x for x in points if isinstance(x, int)]
    scaled = len(numbers) == len(points)
    if not scaled:  # names, or the machine's own latency: each has a place
        ax.set_xticks(range(len(points)), [words_of(x) for x in points], rotation=20, ha="right")
    for name, curve in one.panel.curves.items():
        _, style = looks[name]
        xs = [x if scaled and isinstance(x, int) else points.index(x) for x in curve]
        bands = list(curve.values())
        ax.plot(xs, [band.median for band in bands], linewidth=1.5, **style.curve)
        low, high = [band.least for band in bands], [band.most for band in bands]
        ax.fill_between(xs, low, high, color=style.colour, alpha=0.2, linewidth=0)
    if scaled and _is_steep("x", numbers):
        ax.set_xscale("log", base=2 if all(x & (x - 1) == 0 for x in numbers) else 10)
        ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.10g}"))
    every = [band.median for curve in one.panel.curves.values() for band in curve.values()]
    if _is_steep("y", every):
        ax.set_yscale("log")
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_minor_formatter(NullFormatter())
        ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:,.10g}"))
    else:
        ax.set_ylim(bottom=0)


def _is_steep(axis: str, values: Sequence[float]) -> bool:
    return bool(values) and min(values) > 0 and max(values) > _STEEP[axis] * min(values)


def words_of(value: Value) -> str:
    """Return a value in words."""
    return "the machine's own" if value is None else str(value)
