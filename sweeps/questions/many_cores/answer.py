"""Tables of a study of many cores, for the page and the terminal."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from results.errors import NoDataError
from results.store import queries
from results.store.facts import Fact
from sweeps.model.cell import Cell, read_cell, selected
from sweeps.model.label import LockLabel
from sweeps.search.found import FactModel, FoundCrossover, crossovers
from sweeps.search.grid import Surface

NAME = "many_cores"
CORES, DISTANCE, CANCELLATION = (f"{NAME}/{kind}" for kind in ("cores", "distance", "cancellation"))
_CANCELLED, _KNOWN = 4, 5  # phases of workload transition: thread 1, for the first time and again

Metrics = Mapping[str, float]


class Distance(FactModel):
    """The owner's shares whose distances were tried, in parts per million."""

    shares: list[int] = []


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


@dataclass(frozen=True)
class Quantity:
    """What is shown of a run: its title, unit and value, None of a run that has no such metrics."""

    title: str
    unit: str
    of: Callable[[Metrics], float | None]


@dataclass(frozen=True)
class Sample:
    """A good run of a series."""

    cell: Cell
    metrics: Metrics

    @property
    def label(self) -> LockLabel:
        """The lock label."""
        return self.cell.label


@dataclass(frozen=True)
class Spot:
    """A quantity at one place of a curve: the first seed's, the least and the greatest of all."""

    x: int
    value: float
    low: float
    high: float


Curves = dict[LockLabel, list[Spot]]


@dataclass(frozen=True)
class CancelMap:
    """Cycles that it takes to cancel a reservation from each node of a mesh, of shape (rows,
    columns), NaN at the owner's, which is the first."""

    machine: str
    label: LockLabel
    costs: Surface

    def slope(self) -> float:
        """Cycles for each link from the owner, by least squares."""
        known = ~np.isnan(self.costs)
        links = np.indices(self.costs.shape).sum(axis=0)[known]
        return float(np.polyfit(links, self.costs[known], 1)[0])


def _a_pair(name: str) -> Callable[[Metrics], float | None]:
    return lambda found: found[name] / found["pairs"] if name in found else None


QUANTITIES = {
    "cost": Quantity("cost", "core cycles per pair", _a_pair("core_cycles")),
    "hand_over": Quantity("hand-over", "cycles from section to section", _a_pair("cycles")),
    "messages": Quantity("messages on the network", "per pair", _a_pair("network_messages")),
    "bytes": Quantity("bytes on the network", "per pair", _a_pair("network_bytes")),
    "home": Quantity(
        "busiest home", "open requests, mean", lambda found: found.get("home_occupancy_most")
    ),
}


def samples(connection: sqlite3.Connection, series: str) -> list[Sample]:
    """The good runs of a series. Raises NoDataError when there are none, or of two compilers."""
    rows = connection.execute(
        f"SELECT compiler, runs.id, {selected()} FROM series JOIN runs ON runs.id = run_id "
        "WHERE series.name = ? AND status = 'ok' ORDER BY runs.id",
        (series,),
    ).fetchall()
    if not rows:
        raise NoDataError(f"the series {series} has no runs")
    if len(compilers := queries.names(row[0] for row in rows)) > 1:
        raise NoDataError(f"the series {series} mixes programs of {' and '.join(compilers)}")
    metrics = "SELECT name, value FROM metrics WHERE run_id = ?"
    return [
        Sample(read_cell(columns), dict(connection.execute(metrics, (run,)).fetchall()))
        for _, run, *columns in rows
    ]


def by_cores(connection: sqlite3.Connection, quantity: str) -> Curves:
    """A quantity by the number of cores, a curve a lock; none that no run has."""
    contended = samples(connection, CORES)
    return _curves(connection, contended, quantity, lambda cell: cell.threads)


def by_distance(connection: sqlite3.Connection, quantity: str, share: int) -> Curves:
    """A quantity by the links between owner and contender, at one share of the owner."""
    owned = [
        one for one in samples(connection, DISTANCE) if one.cell.parameters["owner_share"] == share
    ]
    columns = {one.cell.machine: mesh(connection, one.cell.machine)[1] for one in owned}
    # The owner is at node 0: as many links as rows and columns.
    return _curves(
        connection, owned, quantity, lambda cell: sum(divmod(_node(cell), columns[cell.machine]))
    )


def shares(connection: sqlite3.Connection) -> list[int]:
    """The owner's shares whose distances were tried, from the least."""
    distance = PLAN.read(connection).distance
    return sorted(distance.shares) if distance else []


def _curves(
    connection: sqlite3.Connection, runs: Sequence[Sample], quantity: str,
    place: Callable[[Cell], int],
) -> Curves:  # fmt: skip
    """In the order of the plan's locks."""
    values: dict[LockLabel, dict[int, dict[int, float]]] = {}  # by lock, place and seed
    for one in runs:
        if (value := QUANTITIES[quantity].of(one.metrics)) is not None:
            at = values.setdefault(one.label, {}).setdefault(place(one.cell), {})
            at[one.cell.seed] = value
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
    found = samples(connection, CANCELLATION)
    first = found[0].cell
    costs = np.full(mesh(connection, first.machine), np.nan)
    for one in found:
        objects = int(one.cell.parameters["objects"])
        known, again = (one.metrics[f"phase_{phase}_cycles"] for phase in (_CANCELLED, _KNOWN))
        costs[divmod(_node(one.cell), costs.shape[1])] = (known - again) / objects
    return CancelMap(first.machine, first.label, costs)


def ties(curves: Curves, share: float) -> dict[int, list[LockLabel]]:
    """At each place the lock with the least value, and those that are less than `share` above."""
    found: dict[int, list[LockLabel]] = {}
    for x in sorted({spot.x for spots in curves.values() for spot in spots}):
        here = {
            label: spot.value for label, spots in curves.items() for spot in spots if spot.x == x
        }
        least = min(here.values())
        order = sorted(here, key=lambda label: (here[label], label))
        found[x] = [label for label in order if here[label] <= least * (1 + share)]
    return found


def found_crossovers(connection: sqlite3.Connection) -> list[FoundCrossover]:
    """Every search's, of the kinds of axes in turn."""
    kinds = ("cores", "distance", "owner_share")
    return [one for kind in kinds for one in crossovers(connection, f"{NAME}/{kind}")]


_UNITS = {"threads": "cores", "distance": "links", "owner_share": "%"}
_AXES = {
    "threads": "cores that contend",
    "distance": "links between owner and contender",
    "owner_share": "the owner's share",
}
_HELD = {"owner_share": "owner's share", "links": "links between them"}


@dataclass(frozen=True)
class QuantityRow:
    """A place on the axis and the value of each lock there, in words; those with the least are
    marked, of a quantity that is a cost."""

    place: str
    cells: tuple[str, ...]
    least: tuple[bool, ...]


@dataclass(frozen=True)
class QuantityTable:
    """A quantity: a column a lock, a row a place."""

    title: str
    unit: str
    axis: str
    labels: tuple[LockLabel, ...]
    rows: tuple[QuantityRow, ...]


@dataclass(frozen=True)
class CrossoverRow:
    """Two locks, along what, with what held, and where they change places."""

    pair: str
    axis: str
    held: str
    words: str
    bracket: str
    id: int


def tables(connection: sqlite3.Connection) -> list[QuantityTable]:
    """Every quantity by cores, then cost and messages by distance at each share."""
    tie = PLAN.read(connection).tie_percent / 100
    found = [_table(name, "cores", by_cores(connection, name), tie) for name in QUANTITIES]
    for share in shares(connection):
        held = f", owner's share {share / 10_000:g} %"
        for name in ("cost", "messages"):
            curves = by_distance(connection, name, share)
            found.append(_table(name, "links", curves, tie, held))
    return [one for one in found if one.rows]


def _table(name: str, axis: str, curves: Curves, tie: float, held: str = "") -> QuantityTable:
    quantity, labels = QUANTITIES[name], tuple(curves)
    best = ties(curves, tie) if name in ("cost", "hand_over") else {}
    values = {
        label: {spot.x: f"{spot.value:,.0f}" if spot.value >= 100 else f"{spot.value:.2f}"
                for spot in spots}
        for label, spots in curves.items()
    }  # fmt: skip
    rows = tuple(
        QuantityRow(
            str(x),
            tuple(values[label].get(x, "") for label in labels),
            tuple(label in best.get(x, ()) for label in labels),
        )
        for x in sorted({x for spots in values.values() for x in spots})
    )
    return QuantityTable(quantity.title + held, quantity.unit, axis, labels, rows)


def changing(connection: sqlite3.Connection) -> list[CrossoverRow]:
    """The searches whose locks change places."""
    rows = []
    for one in found_crossovers(connection):
        if one.bracket_low is None or one.bracket_high is None or one.band is None:
            continue  # one of the two is cheaper throughout, or they are equal
        held = [
            f"{words} {_value(name, one.setting[name])}{' %' if name == 'owner_share' else ''}"
            for name, words in _HELD.items()
            if name in one.setting and name != one.axis
        ]
        above = one.lock_b if one.below == one.lock_a else one.lock_a
        ends = (one.bracket_high, one.band.upper_low, one.band.upper_high)
        first, low, high = (_value(one.axis, end) for end in ends)
        band = f" ({low} to {high})" if one.band.upper_low < one.band.upper_high else ""
        rows.append(
            CrossoverRow(
                f"{one.lock_a.words()} / {one.lock_b.words()}", _AXES[one.axis], ", ".join(held),
                f"{above.words()} from {first} {_UNITS[one.axis]}{band}",
                f"{one.bracket_low:,} to {one.bracket_high:,}", one.id,
            )
        )  # fmt: skip
    return rows


def _value(axis: str, value: float) -> str:
    return f"{value / 10_000:g}" if axis == "owner_share" else f"{value:g}"
