"""Tables of a study of many cores, for the page and the terminal."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from results.errors import NoDataError
from results.store import queries
from results.store.facts import Fact
from sweeps.model.cell import Cell, read_cell, selected
from sweeps.model.locks import LockLabel
from sweeps.search.found import FactModel, crossovers
from sweeps.study.leads import Lead

NAME = "many_cores"
CORES, DISTANCE, CANCELLATION = (f"{NAME}/{kind}" for kind in ("cores", "distance", "cancellation"))
_CANCELLED, _KNOWN = 4, 5  # phases of workload transition: thread 1, for the first time and again

Metrics = Mapping[str, float]


class Distance(FactModel):
    """The owner's shares whose distances were tried."""

    shares: list[float] = []


class ManyCoresFact(FactModel):
    """The plan, and rows and columns of its machines' meshes."""

    title: str
    engine: str
    locks: list[str]
    seeds: int
    tie_percent: float
    distance: Distance | None
    meshes: dict[str, list[int]]


PLAN: Fact[ManyCoresFact] = Fact(NAME, ManyCoresFact, "this database holds no study of many cores")


class Quantity(NamedTuple):
    """What is shown of a run: its title, unit and value, None of a run that has no such metrics."""

    title: str
    unit: str
    of: Callable[[Metrics], float | None]


class Spot(NamedTuple):
    """A quantity at one place of a curve: the first seed's, the least and the greatest of all."""

    x: int
    value: float
    low: float
    high: float


Curves = dict[LockLabel, list[Spot]]
Sample = tuple[Cell, Metrics]  # a good run


@dataclass(frozen=True)
class CancelMap:
    """Cycles that it takes to cancel a reservation from each node of a mesh, of shape (rows,
    columns), NaN at the owner's, which is the first."""

    machine: str
    label: LockLabel
    costs: NDArray[np.float64]

    def slope(self) -> float:
        """Cycles for each link from the owner, by least squares."""
        known = ~np.isnan(self.costs)
        links = np.indices(self.costs.shape).sum(axis=0)[known]
        return float(np.polyfit(links, self.costs[known], 1)[0])


def _a_pair(name: str) -> Callable[[Metrics], float | None]:
    return lambda metrics: metrics[name] / metrics["pairs"] if name in metrics else None


QUANTITIES = {
    "cost": Quantity("cost", "core cycles per pair", _a_pair("core_cycles")),
    "hand_over": Quantity("hand-over", "cycles from section to section", _a_pair("cycles")),
    "messages": Quantity("messages on the network", "per pair", _a_pair("network_messages")),
    "bytes": Quantity("bytes on the network", "per pair", _a_pair("network_bytes")),
    "home": Quantity(
        "busiest home", "open requests, mean", lambda metrics: metrics.get("home_occupancy_most")
    ),
}
COSTS = ("cost", "hand_over")  # quantities of which less is better


def samples(connection: sqlite3.Connection, series: str) -> list[Sample]:
    """The good runs of a series. Raises NoDataError when there are none, or of two compilers."""
    rows = connection.execute(
        f"SELECT compiler, runs.id, {selected(connection)} FROM series "
        "JOIN runs ON runs.id = run_id WHERE series.name = ? AND status = 'ok' ORDER BY runs.id",
        (series,),
    ).fetchall()
    if not rows:
        raise NoDataError(f"the series {series} has no runs")
    if len(compilers := queries.names(row[0] for row in rows)) > 1:
        raise NoDataError(f"the series {series} mixes programs of {' and '.join(compilers)}")
    metrics = "SELECT name, value FROM metrics WHERE run_id = ?"
    return [
        (read_cell(columns), dict(connection.execute(metrics, (run,)).fetchall()))
        for _, run, *columns in rows
    ]


def by_cores(connection: sqlite3.Connection, quantity: str) -> Curves:
    """A quantity by the number of cores, a curve a lock; none that no run has."""
    runs = samples(connection, CORES)
    return _curves(connection, runs, quantity, lambda cell: cell.threads)


def by_distance(connection: sqlite3.Connection, quantity: str, share: float) -> Curves:
    """A quantity by the links between owner and contender, at one share of the owner."""
    every = samples(connection, DISTANCE)
    runs = [sample for sample in every if sample[0].parameters["owner_share"] == share]

    def links(cell: Cell) -> int:
        """The owner is at node 0: as many as rows and columns."""
        return sum(divmod(_node(cell), mesh(connection, cell.machine)[1]))

    return _curves(connection, runs, quantity, links)


def shares(connection: sqlite3.Connection) -> list[float]:
    """The owner's shares whose distances were tried, from the least."""
    distance = PLAN.read(connection).distance
    return sorted(distance.shares) if distance else []


def _curves(
    connection: sqlite3.Connection,
    runs: Sequence[Sample],
    quantity: str,
    place: Callable[[Cell], int],
) -> Curves:
    """In the order of the plan's locks."""
    values: dict[LockLabel, dict[int, dict[int, float]]] = {}  # by lock, place and seed
    for cell, metrics in runs:
        if (value := QUANTITIES[quantity].of(metrics)) is not None:
            at = values.setdefault(cell.label, {}).setdefault(place(cell), {})
            at[cell.seed] = value
    return {
        label: [
            Spot(x, seeds[min(seeds)], min(seeds.values()), max(seeds.values()))
            for x, seeds in sorted(values[label].items())
        ]
        for label in map(LockLabel, PLAN.read(connection).locks)
        if label in values
    }


def mesh(connection: sqlite3.Connection, machine: str) -> tuple[int, int]:
    """Rows and columns of a machine's mesh. Raises NoDataError."""
    rows, columns = PLAN.read(connection).meshes[machine]
    return rows, columns


def _node(cell: Cell) -> int:
    """Of the contender, as the engine's label says it; the owner is at node 0."""
    return int(cell.engine.rpartition("/at-")[2])


def cancel_map(connection: sqlite3.Connection) -> CancelMap:
    """The map of the study. Raises NoDataError."""
    runs = samples(connection, CANCELLATION)
    first, _ = runs[0]
    costs = np.full(mesh(connection, first.machine), np.nan)
    for cell, metrics in runs:
        known, again = (metrics[f"phase_{phase}_cycles"] for phase in (_CANCELLED, _KNOWN))
        cost = (known - again) / int(cell.parameters["objects"])
        costs[divmod(_node(cell), costs.shape[1])] = cost
    return CancelMap(first.machine, first.label, costs)


class QuantityRow(NamedTuple):
    """A place on the axis and the value of each lock there, in words; those with the least are
    marked, of a quantity that is a cost."""

    place: str
    cells: tuple[str, ...]
    least: tuple[bool, ...]


class QuantityTable(NamedTuple):
    """A quantity: a column a lock, a row a place."""

    title: str
    unit: str
    axis: str
    labels: tuple[LockLabel, ...]
    rows: list[QuantityRow]


def tables(connection: sqlite3.Connection) -> list[QuantityTable]:
    """Every quantity by cores, then cost and messages by distance at each share. In a row of costs,
    those over which the least has no lead count as the least."""
    tie = PLAN.read(connection).tie_percent / 100
    every = [(name, "cores", "", by_cores(connection, name)) for name in QUANTITIES]
    every += [
        (name, "links", f", owner's share {100 * share:g} %", by_distance(connection, name, share))
        for share in shares(connection)
        for name in ("cost", "messages")
    ]
    tables_of = []
    for name, axis, held, curves in every:
        rows = []
        for x in sorted({spot.x for spots in curves.values() for spot in spots}):
            here = {label: spot.value for label in curves for spot in curves[label] if spot.x == x}
            least_of = min(here.values())
            words = {label: f"{v:,.0f}" if v >= 100 else f"{v:.2f}" for label, v in here.items()}
            cells = tuple(words.get(label, "") for label in curves)
            least = tuple(
                name in COSTS and label in here and Lead(least_of, here[label], tie).is_none
                for label in curves
            )
            rows.append(QuantityRow(str(x), cells, least))
        title, unit, _ = QUANTITIES[name]
        if rows:
            tables_of.append(QuantityTable(title + held, unit, axis, tuple(curves), rows))
    return tables_of


_KINDS = {  # of searches: unit, and along what, in words
    "cores": ("cores", "cores that contend"),
    "distance": ("links", "links between owner and contender"),
    "owner_share": ("%", "the owner's share"),
}
_HELD = {"owner_share": "owner's share", "links": "links between them"}


def changing(connection: sqlite3.Connection) -> list[dict[str, Any]]:
    """The searches whose locks change places: which two locks, along which axis, what is held, and
    where they do, in words, with the bracket and the crossover's id."""
    rows = []
    every = [
        (unit, along, crossing)
        for kind, (unit, along) in _KINDS.items()
        for crossing in crossovers(connection, f"{NAME}/{kind}")
    ]
    for unit, along, crossing in every:
        if crossing.bracket_low is None or crossing.bracket_high is None or crossing.band is None:
            continue  # one of the two is cheaper throughout, or they are equal
        held = [
            f"{words} {_value(name, crossing.setting[name])}{' %' if name == 'owner_share' else ''}"
            for name, words in _HELD.items()
            if name in crossing.setting and name != crossing.axis
        ]
        ends = (crossing.bracket_high, crossing.band.upper_low, crossing.band.upper_high)
        first, low, high = (_value(crossing.axis, end) for end in ends)
        band = f" ({low} to {high})" if crossing.band.upper_low < crossing.band.upper_high else ""
        rows.append(
            {
                "pair": f"{crossing.lock_a.words()} / {crossing.lock_b.words()}",
                "axis": along,
                "held": ", ".join(held),
                "words": f"{crossing.above.words()} from {first} {unit}{band}",
                "bracket": f"{crossing.bracket_low:,} to {crossing.bracket_high:,}",
                "id": crossing.id,
            }
        )
    return rows


def _value(axis: str, value: float) -> str:
    return f"{100 * value:g}" if axis == "owner_share" else f"{value:g}"
