"""The answer of a study: which lock wins where, by how much, and where that changes."""

import math
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from results.analysis.study import (
    Band,
    FoundCrossover,
    Isa,
    Scale,
    crossovers,
    engine,
    fact,
    isa,
    machines,
    measured,
    places,
    series,
    series_names,
    tie_share,
)
from results.analysis.winners import Win, winner
from results.model import engines
from results.model.label import FULL, LockLabel

AXES = {
    "cas": "CAS latency",
    "fence_latency": "full-fence latency",
    "cancel": "cost of a cancellation",
    "owner_share": "owner's share",
    "run_length": "run length",
    "threads": "threads",
}
UNITS = {"ppm": "%"}  # how a unit is written, where not by its own name
_LATENCIES = ("cas", "fence_latency")
_TRIED = ("ppm", "threads")  # units of axes that are tried value by value
_PPM = 10_000  # parts per million of a percent


@dataclass(frozen=True)
class Contest:
    """The winner among all locks, and among those that the study compares: without those that
    cannot replace them, which the plan names with their limits."""

    overall: Win
    compared: Win


@dataclass(frozen=True)
class Row:
    """One machine in one flavour, as it is: measured latencies (cycles) and the cost of every
    lock (cycles per pair), cheapest first. `full` is the contest with full fences, `any_fence`
    the one with every kind, or None where there is no other. `tie`: the share of a lead below
    which it is a tie."""

    machine: str
    title: str
    isa: Isa
    flavour: str
    cas: float
    fence: float
    assumed: bool
    costs: dict[LockLabel, float]
    tie: float
    full: Contest
    any_fence: Contest | None

    @property
    def contests(self) -> list[tuple[str, Contest]]:
        """Each contest, with the kinds of fence that are allowed in it."""
        return [("full", self.full)] + ([("any", self.any_fence)] if self.any_fence else [])


def rows(connection: sqlite3.Connection) -> list[Row]:
    """The winner table: the study's machines first, then the real ones, if the engine has their
    latencies. Raises NoDataError."""
    plan, own = fact(connection, "plan"), machines(connection)
    own_costs = engines.entry(engine(connection)).own_costs
    found = []
    for machine, isa_name, flavour in series_names(connection, "table"):
        runs = series(connection, f"table/{machine}/{isa_name}/{flavour}")
        costs = dict(sorted(((r.label, r.cost) for r in runs), key=lambda pair: pair[1]))
        full = {label: cost for label, cost in costs.items() if label.fence == FULL}
        known = {place.machine: place for place in places(connection, isa_name, flavour)}
        if machine not in known or sum(label.lock in plan["locks"] for label in full) < 2:
            continue  # not calibrated, or nothing to compare
        if own_costs and machine not in own:
            continue
        place, tie = known[machine], tie_share(connection)
        found.append(
            Row(
                machine, place.title, isa(connection, isa_name), flavour, place.cas, place.fence,
                # The study's own machines are neutral by intent, not for want of a figure.
                place.assumed and machine not in own, costs, tie,
                _contest(full, plan["locks"], tie),
                _contest(costs, plan["locks"], tie) if len(costs) > len(full) else None,
            )
        )  # fmt: skip
    order = {machine: number for number, machine in enumerate(own)}
    return sorted(found, key=lambda row: order.get(row.machine, len(order)))


def _contest(costs: Mapping[LockLabel, float], locks: Sequence[str], tie: float) -> Contest:
    compared = {label: cost for label, cost in costs.items() if label.lock in locks}
    return Contest(winner(costs, tie), winner(compared, tie))


@dataclass(frozen=True)
class CrossoverSentence:
    """Where one lock begins to beat another along an axis, or that it does throughout.

    It speaks of the two locks alone: a third may be cheaper than both. `cheaper` and `dearer` are
    their labels in the range that `reach` names, `tie` says that they cost the same in it. `held`:
    what else was set, by its name. `bracket` is in set values. `seeds`: with how many the point
    was searched; `others`: what the values of those but the first rest on, in words.
    """

    machine: str
    isa: Isa
    flavour: str
    axis: str
    unit: str
    held: Mapping[str, int]
    pair: tuple[LockLabel, LockLabel]
    cheaper: LockLabel
    dearer: LockLabel
    tie: bool
    reach: str
    bracket: str
    tolerance: int
    seeds: int
    others: str
    id: int

    @property
    def words(self) -> str:
        """The whole sentence: `reservation beats tasuki above 23.8 cycles`."""
        if self.tie:
            return f"{self.cheaper.words()} and {self.dearer.words()} cost the same {self._reach}"
        return f"{self.cheaper.words()} beats {self.dearer.words()} {self._reach}"

    @property
    def short(self) -> str:
        """What stands in a table whose headings name the two locks and the unit."""
        return f"{'the same' if self.tie else self.cheaper.words()} {self.reach}"

    @property
    def setting(self) -> str:
        """What else was set, in words."""
        return ", ".join(held_words(key, [value]) for key, value in self.held.items())

    @property
    def _reach(self) -> str:
        return f"{self.reach} {UNITS.get(self.unit, self.unit)}"


def held_words(key: str, values: Sequence[int]) -> str:
    """A setting that was held at each of `values` in turn, in words."""
    if key == "owner_share":
        return f"owner's share {', '.join(f'{value / _PPM:g}' for value in values)} %"
    return f"{AXES[key]} set to {', '.join(f'{value:,}' for value in values)}"


def lines(connection: sqlite3.Connection, kind: str) -> list[CrossoverSentence]:
    """The crossovers of the series of a kind (`axis`, `run_length`, `map`) in words."""
    flavours: list[str] = fact(connection, "plan")["flavours"]
    own = machines(connection)
    found = [_line(connection, one) for one in crossovers(connection, kind)]
    axes = list(AXES)
    # A flavour that an earlier plan had comes last.
    order = {flavour: number for number, flavour in enumerate(flavours)}

    def place(line: CrossoverSentence) -> tuple[int, int, int, int]:
        flavour = order.get(line.flavour, len(order))
        return (flavour, axes.index(line.axis), own.index(line.machine), line.id)

    return sorted(found, key=place)


def _line(connection: sqlite3.Connection, one: FoundCrossover) -> CrossoverSentence:
    scale = None
    if one.axis in _LATENCIES:
        scale = measured(connection, one.machine, one.isa, one.flavour, one.axis)
    other = one.lock_b if one.below == one.lock_a else one.lock_a
    cheaper, dearer = (one.below, other) if one.value is None else (other, one.below)
    if one.verdict == "tie":
        cheaper, dearer = one.lock_a, one.lock_b
    # The sequence of run lengths is a workload of its own.
    keys = ("owner_share",) * one.series.startswith("run_length/") + (*_LATENCIES, "cancel")
    held = {key: one.setting[key] for key in keys if key in one.setting and key != one.axis}
    bracket = f"{one.bracket_low:,} to {one.bracket_high:,}" if one.value is not None else ""
    return CrossoverSentence(
        one.machine, isa(connection, one.isa), one.flavour, one.axis, one.unit, held,
        (one.lock_a, one.lock_b), cheaper, dearer, one.verdict == "tie", _reach(one, scale),
        bracket, one.tolerance, one.band.seeds if one.band else 0, _others(one), one.id,
    )  # fmt: skip


def _others(one: FoundCrossover) -> str:
    """What the values of the other seeds rest on; "" without a crossing or with one seed."""
    if one.value is None or one.band is None or one.band.seeds < 2:
        return ""
    if not one.band.modelled:
        return "searched"
    some = "" if one.band.modelled == one.band.seeds - 1 else f"{one.band.modelled} "
    off = math.ceil(one.band.error * 1000) / 1000
    return f"{some}modelled, off by at most {off:g} where checked"


def _reach(one: FoundCrossover, scale: Scale | None) -> str:
    """Where the cheaper of two locks is the cheaper one, without the unit."""
    band = one.band
    if one.value is None:
        some = f" (not with {band.there} of {band.seeds} seeds)" if band else ""
        return (
            f"everywhere from {_shown(one, one.low, scale)} to {_shown(one, one.high, scale)}{some}"
        )
    if one.unit in _TRIED and one.bracket_high is not None:
        ends = [_shown(one, x, scale) for x in (band.upper_low, band.upper_high)] if band else []
        return f"from {_shown(one, one.bracket_high, scale)}{_band(band, ends)}"
    ends = [_point(x, scale) for x in (band.low, band.high)] if band else []
    return f"above {_point(one.value, scale)}{_band(band, ends)}"


def _band(band: Band | None, ends: Sequence[str]) -> str:
    """The least and the greatest value over several seeds, in brackets."""
    if band is None or band.seeds < 2:
        return ""
    some = f", {band.there} of {band.seeds} seeds" if band.there < band.seeds else ""
    return f" ({ends[0]} to {ends[1]}{some})"


def _point(value: float, scale: Scale | None) -> str:
    shown = scale(value) if scale is not None else value
    return f"{shown:,.{0 if shown >= 1000 else 1}f}"


def _shown(one: FoundCrossover, value: int, scale: Scale | None) -> str:
    if one.unit == "ppm":
        return f"{value / _PPM:g}"
    return f"{scale(value) if scale is not None else value:,.0f}"
