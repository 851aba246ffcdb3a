"""The results of a study of cells: every quantity that its plan shows, and where two locks change
places."""

import sqlite3
from collections.abc import Mapping
from typing import Any

from results.errors import NoDataError
from results.text.rows import Rows
from sweeps.model.axes import AXIS_WORDS, UNIT_WORDS
from sweeps.model.cell import Cell
from sweeps.model.locks import LockLabel
from sweeps.report.tables import table_of
from sweeps.study.costs import Panel, Placed, panels_of, wins
from sweeps.study.job import STUDY
from sweeps.study.leads import Rule
from sweeps.study.plan import Along, Plan, Quantity, Show
from sweeps.study.results import StudyResults
from sweeps.study.runs import LOCK, StudyRun

_SHARE = "owner_share"  # people read it in percent


def studies(connection: sqlite3.Connection) -> dict[str, Plan]:
    """Return the plan of every study of a database that shows something, by its name."""
    names = connection.execute(
        "SELECT substr(name, ?) FROM facts WHERE name GLOB ? ORDER BY name",
        (len(STUDY.name) + 2, f"{STUDY.name}/*"),
    ).fetchall()
    plans = {name: STUDY.of(name).read(connection) for (name,) in names}
    return {name: plan for name, plan in plans.items() if plan.show}


def value(quantity: Quantity, cell: Cell, metrics: Mapping[str, float]) -> float | None:
    """Return a quantity of a run; None where the run has no such metric."""
    if not {quantity.metric, quantity.less or quantity.metric} <= metrics.keys():
        return None
    known = {**cell.parameters, **metrics, "": 1}
    less = metrics[quantity.less] if quantity.less else 0
    return (metrics[quantity.metric] - less) / float(known[quantity.per])


def runs_of(results: StudyResults, series: str) -> list[StudyRun]:
    """Return the good runs of a series. Raises NoDataError where there are none, or where they are
    of several compilers."""
    if not (runs := results.series(series)):
        raise NoDataError(f"the series {series} has no runs")
    return runs


def panels(
    connection: sqlite3.Connection, plan: Plan, show: Show
) -> list[tuple[str, Quantity, Panel]]:
    """Return the curves of every quantity that some run has, with their titles: locks come in the
    plan's order. Raises NoDataError."""
    results, found = StudyResults(connection), []
    runs, axes = runs_of(results, show.lines), (show.along, *show.by)
    for name in show.quantities:
        quantity = plan.quantities[name]
        placed: list[Placed] = [
            ({LOCK: run.label, **dict(zip(axes, point, strict=True))}, cost, 0.0)
            for run in runs
            if (cost := value(quantity, run.cell, results.metrics(run.id))) is not None
            for point in run.points(*axes)
        ]
        for panel in panels_of(placed, LOCK, show.along, show.by):
            labels = sorted(panel.curves, key=lambda label: plan.locks.index(_lock(label)))
            ordered = Panel(panel.place, {label: panel.curves[label] for label in labels})
            held = "".join(f", {_held(axis, x)}" for axis, x in panel.place.items())
            found.append((quantity.title + held, quantity, ordered))
    return found


def _lock(label: object) -> str:
    return LockLabel(str(label)).lock


def _held(axis: str, at: object) -> str:
    return f"{AXIS_WORDS.get(axis, axis)} {_number(axis, at)}{' %' * (axis == _SHARE)}"


def _number(axis: str, at: Any) -> str:
    return f"{100 * at:g}" if axis == _SHARE else f"{at:g}"


def tables(connection: sqlite3.Connection, plan: Plan) -> list[Rows]:
    """Return a table for each panel of the plan's figures with lines. In a row of costs the least
    is marked, and those over which it has no lead."""
    units = {along.axis: along.unit for along in plan.along}
    results = StudyResults(connection)
    return [
        table_of(
            panel,
            units.get(show.along) or show.along,
            f"{title} ({quantity.unit})",
            head=lambda label: LockLabel(str(label)).words(),
            wins=wins(panel, lambda _: rule) if quantity.cost else None,  # noqa: B023
        )
        for show in plan.show
        if show.lines
        for rule in [Rule.of(runs_of(results, show.lines)[0].cell, plan.tie)]
        for title, quantity, panel in panels(connection, plan, show)
    ]


def changes(connection: sqlite3.Connection, plan: Plan) -> Rows:
    """Return the searches whose locks change places: which two locks, along which axis, the values
    held, and where they do, in words, with the bracket and the crossover's id."""
    results = StudyResults(connection)
    records = [row for along in plan.along for row in _changes_along(results, along)]
    heads = {"two locks": "pair", "along": "along", "held at": "held", "cheaper": "cheaper"}
    return Rows(records, {head: f"{{{name}}}" for head, name in heads.items()})


def _changes_along(results: StudyResults, along: Along) -> list[dict[str, Any]]:
    rows = []
    for crossing in results.crossovers(along.cells):
        if crossing.bracket_low is None or crossing.bracket_high is None or crossing.band is None:
            continue  # one of the two is cheaper throughout, or they are equal
        ends = (crossing.bracket_high, crossing.band.upper_low, crossing.band.upper_high)
        first, low, high = (_number(crossing.axis, end) for end in ends)
        band = f" ({low} to {high})" if crossing.band.upper_low < crossing.band.upper_high else ""
        unit = UNIT_WORDS.get(crossing.unit, crossing.unit)
        rows.append(
            {
                "pair": f"{crossing.lock_a.words()} / {crossing.lock_b.words()}",
                "along": along.words or AXIS_WORDS.get(along.axis, along.axis),
                "held": ", ".join(_held(axis, crossing.setting[axis]) for axis in along.by),
                "cheaper": f"{crossing.above.words()} from {first} {unit}{band}",
                "bracket": f"{crossing.bracket_low:,} to {crossing.bracket_high:,}",
                "id": crossing.id,
            }
        )
    return rows
