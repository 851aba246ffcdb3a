"""The figures of a study of cells: curves along an axis, and a map of a network's nodes."""

import sqlite3
from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from results.draw.painter import COLUMN, HALO
from results.errors import NoDataError
from sweeps.model import engines
from sweeps.model.locks import LockLabel
from sweeps.questions.studies import answer
from sweeps.report import lines
from sweeps.study import nodes
from sweeps.study.job import STUDY
from sweeps.study.plan import Plan, Show
from sweeps.study.results import StudyResults

Given = Mapping[str, sqlite3.Connection]  # by study and figure, one


def _plan_and_part(given: Given) -> tuple[sqlite3.Connection, Plan, Show]:
    ((path, connection),) = given.items()
    study, _, name = path.rpartition("/")
    plan = STUDY.of(study).read(connection)
    return connection, plan, next(show for show in plan.show if show.name == name)


def draw_lines(given: Given) -> Figure:
    """Draw each quantity along an axis, with a column for each combination of the values held.
    Raises NoDataError."""
    connection, plan, show = _plan_and_part(given)
    panels = [
        lines.Lines(title, show.words or show.along, quantity.unit, panel)
        for title, quantity, panel in answer.panels(connection, plan, show)
    ]
    if not panels:
        raise NoDataError(f"no run of {show.lines} has one of these quantities")
    held = {tuple(panel.panel.place.values()) for panel in panels}
    about = f"Simulated on {', '.join(dict.fromkeys(map(engines.title, plan.engines)))}"
    columns = len(held) if len(held) > 1 else 3
    return lines.draw(panels, lines.of_locks(panels), about, columns)


def draw_map(given: Given) -> Figure:
    """Draw the mesh with a quantity at each node. Raises NoDataError."""
    connection, plan, show = _plan_and_part(given)
    quantity = plan.quantities[show.quantities[0]]
    results = StudyResults(connection)
    runs = answer.runs_of(results, show.map)
    first = runs[0].cell
    mesh = nodes.network(first.machine)
    costs = np.full((mesh.number("rows"), mesh.number("columns")), np.nan)
    for run in runs:
        at = nodes.values(run.cell)
        found = answer.value(quantity, run.cell, results.metrics(run.id))
        costs[at["row"], at["column"]] = found
    rows, columns = costs.shape
    figure = Figure(figsize=(COLUMN, 0.3 * rows + 0.7), layout="constrained")
    ax = figure.subplots()
    image = ax.imshow(costs, cmap="viridis")
    for (row, column), cost in np.ndenumerate(costs):
        words = "owner" if row == column == 0 else f"{cost:.0f}"
        if words != "nan":
            ax.text(column, row, words, ha="center", va="center", path_effects=HALO)
    ax.set_xticks(range(columns))
    ax.set_yticks(range(rows))
    ax.tick_params(length=0)
    each = f"{slope(costs):+.1f} {quantity.unit} for each link from the owner"
    ax.set_title(f"Simulated: {LockLabel(first.label).words()}, {first.machine}\n{each}")
    ax.set(xlabel="column of the mesh", ylabel="row of the mesh")
    figure.colorbar(image, ax=ax, label=f"{quantity.unit} of a {quantity.title}", shrink=0.8)
    return figure


def slope(costs: np.ndarray) -> float:
    """Return the addition of each link from the corner, by least squares over the nodes of a
    mesh."""
    known = ~np.isnan(costs)
    links = np.indices(costs.shape).sum(axis=0)[known]
    return float(np.polyfit(links, costs[known], 1)[0])
