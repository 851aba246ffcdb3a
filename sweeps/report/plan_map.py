"""The winner map of a plan of one's own: who is cheapest at each value of two axes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from results.draw.painter import panels
from sweeps.model.axes import QUANTITIES
from sweeps.model.cell import Cell, values
from sweeps.model.isa import ISAS, isa_words
from sweeps.model.locks import LockLabel
from sweeps.report.grids import Grid, Marks
from sweeps.report.winner_map import Panel, draw_panel
from sweeps.study.costs import Group, order
from sweeps.study.leads import Rule
from sweeps.study.results import Isa
from sweeps.study.runs import Value

_TITLE = "Fewest cycles per acquire-release pair; lighter: a tie; dots: what was run"
_Place = tuple[tuple[str, Value], ...]  # what is set beside both axes


@dataclass(frozen=True)
class PlanGrid(Grid):
    """A map over two axes or keys, at the values that the plan sets."""

    names: tuple[str, str] = ("", "")

    @property
    def axes(self) -> tuple[str, str]:
        """Return the axes in words."""
        across, up = (_words(name) for name in self.names)
        return across, up


def maps(settings: Sequence[Group], names: tuple[str, str]) -> list[Panel]:
    """Return a map over two axes for each setting of the rest that has one: two values of each
    axis, and two locks that ran at every point."""
    costs: dict[_Place, dict[LockLabel, dict[tuple[float, float], float]]] = {}
    cells: dict[_Place, Cell] = {}
    for group in settings:
        place = values(group.setting)
        across, up = (place.pop(name, None) for name in names)
        if isinstance(across, str | None) or isinstance(up, str | None):
            continue
        key = tuple(place.items())
        cells[key] = group.setting
        for label, band in group.beside_work().costs.items():
            costs.setdefault(key, {}).setdefault(label, {})[across, up] = band.median
    apart = {
        name for key in costs for name, value in key if any((name, value) not in k for k in costs)
    }
    found = []
    for key in sorted(costs, key=lambda key: [order(value) for _, value in key]):
        of = costs[key]
        points = sorted({point for each in of.values() for point in each})
        xs, ys = (tuple(sorted({point[n] for point in points})) for n in (0, 1))
        whole = {
            label: np.array([[each[x, y] for x in xs] for y in ys])
            for label, each in of.items()
            if len(each) == len(xs) * len(ys)
        }
        if min(len(xs), len(ys), len(whole)) > 1:
            isa, flavour = ISAS[cells[key].isa], cells[key].flavour
            described = Isa(title=isa.title, full_fence=isa.full_fence)
            rest = [f"{n} {value}" for n, value in key if n in apart - {"isa", "flavour"}]
            title = ", ".join([isa_words(isa.title, flavour), *rest])
            nodes = (described, flavour, xs, ys, whole, (), Marks(None, (), ()), ())
            grid = PlanGrid(*nodes, rule=Rule.of(cells[key]), names=names)
            found.append(Panel(grid, tuple(whole), title))
    return found


def draw_maps(shown: Sequence[Panel]) -> Figure:
    """Draw maps of a plan, a panel each; lighter where the lead over the next lock is a tie."""
    figure, axes = panels(len(shown), 2, 2.6)
    figure.suptitle(_TITLE, x=0.01, ha="left")
    for ax, panel in zip(axes, shown, strict=False):
        draw_panel(ax, panel)
        ax.set_xlabel(panel.grid.axes[0])
        ax.set_ylabel(panel.grid.axes[1])
        points = np.meshgrid(panel.grid.xs, panel.grid.ys)
        ax.plot(*points, ".", color="black", markersize=3, clip_on=False)
    return figure


def _words(name: str) -> str:
    quantity = QUANTITIES.get(name)
    if quantity is None:
        return name.replace("_", " ")
    unit = f" ({quantity.unit})" if quantity.unit not in (name, quantity.words) else ""
    return f"{quantity.words}{unit}, as set"
