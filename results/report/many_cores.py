"""Tables of a study of many cores, for the page and the terminal."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from results.analysis import many_cores
from results.analysis.many_cores import QUANTITIES, Curves
from results.analysis.study import FoundCrossover
from results.model.label import LockLabel

_UNITS = {"threads": "cores", "distance": "links", "owner_share": "%"}
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
    tie = float(many_cores.plan(connection)["tie_percent"]) / 100
    found = [
        _table(name, "cores", many_cores.by_cores(connection, name), tie) for name in QUANTITIES
    ]
    for share in many_cores.shares(connection):
        held = f", owner's share {share / 10_000:g} %"
        for name in ("cost", "messages"):
            curves = many_cores.by_distance(connection, name, share)
            found.append(_table(name, "links", curves, tie, held))
    return [one for one in found if one.rows]


def _table(name: str, axis: str, curves: Curves, tie: float, held: str = "") -> QuantityTable:
    quantity, labels = QUANTITIES[name], tuple(curves)
    best = many_cores.ties(curves, tie) if name in ("cost", "hand_over") else {}
    rows = []
    for x in sorted({spot.x for spots in curves.values() for spot in spots}):
        here = {label: s.value for label, spots in curves.items() for s in spots if s.x == x}
        cells = tuple(_number(here.get(label)) for label in labels)
        rows.append(QuantityRow(str(x), cells, tuple(label in best.get(x, ()) for label in labels)))
    return QuantityTable(quantity.title + held, quantity.unit, axis, labels, tuple(rows))


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def crossover_rows(connection: sqlite3.Connection) -> list[CrossoverRow]:
    """Every search, those without a crossing too."""
    return [_row(one) for one in many_cores.found_crossovers(connection)]


def _row(one: FoundCrossover) -> CrossoverRow:
    held = [
        f"{words} {_value(name, one.setting[name])}{' %' if name == 'owner_share' else ''}"
        for name, words in _HELD.items()
        if name in one.setting and name != one.axis
    ]
    bracket = "" if one.bracket_low is None else f"{one.bracket_low:,} to {one.bracket_high:,}"
    return CrossoverRow(
        f"{one.lock_a.words()} / {one.lock_b.words()}", _AXES[one.axis], ", ".join(held),
        _words(one), bracket, one.id,
    )  # fmt: skip


_AXES = {
    "threads": "cores that contend",
    "distance": "links between owner and contender",
    "owner_share": "the owner's share",
}


def _value(axis: str, value: float) -> str:
    return f"{value / 10_000:g}" if axis == "owner_share" else f"{value:g}"


def _words(one: FoundCrossover) -> str:
    """Which lock is cheaper from which value tried on, with the band over the seeds."""
    if one.verdict == "tie":
        return "equal everywhere"
    if one.value is None:
        kept = f", but not with {one.band.there} of the seeds" if one.band else ""
        return f"{one.below.words()} throughout{kept}"
    above = one.lock_b if one.below == one.lock_a else one.lock_a
    assert one.bracket_high is not None and one.band is not None  # the two cross
    words, band = f"{above.words()} from {_value(one.axis, one.bracket_high)}", ""
    if one.band.upper_low < one.band.upper_high:
        ends = (_value(one.axis, end) for end in (one.band.upper_low, one.band.upper_high))
        band = f" ({' to '.join(ends)})"
    return f"{words} {_UNITS[one.axis]}{band}"


def changing(rows: Sequence[CrossoverRow]) -> list[CrossoverRow]:
    """Those whose locks change places."""
    return [row for row in rows if row.bracket]
