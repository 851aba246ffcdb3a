"""The answer of a study as tables: by machine, and by axis where two locks change places."""

import math
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from results.store.facts import Fact
from sweeps.model import engines
from sweeps.model.axes import AXIS_WORDS, UNIT_WORDS
from sweeps.model.isa import isa_words
from sweeps.model.label import FENCE_KINDS, FULL, LockLabel
from sweeps.search.found import (
    PLAN,
    Band,
    FoundCrossover,
    Isa,
    Scale,
    at_most,
    crossovers,
    engine,
    isa,
    machines,
    maps_accuracy,
    measured,
    places,
    seeds_model,
    series,
    series_names,
    tie_share,
)
from sweeps.search.winners import Win, winner

_LATENCIES = ("cas", "fence_latency")
_TRIED = ("ppm", "threads")  # units of axes that are tried value by value
_PPM = 10_000  # parts per million of a percent


@dataclass(frozen=True)
class JobFact:
    """The last main job that made new runs."""

    command: str
    started: str  # ISO 8601
    duration_s: float
    new_runs: int


JOB: Fact[JobFact] = Fact("job", JobFact)


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
    plan, own = PLAN.read(connection), machines(connection)
    own_costs = engines.entry(engine(connection)).own_costs
    found = []
    for machine, isa_name, flavour in series_names(connection, "table"):
        runs = series(connection, f"table/{machine}/{isa_name}/{flavour}")
        costs = dict(sorted(((r.label, r.cost) for r in runs), key=lambda pair: pair[1]))
        full = {label: cost for label, cost in costs.items() if label.fence == FULL}
        known = {place.machine: place for place in places(connection, isa_name, flavour)}
        if machine not in known or sum(label.lock in plan.locks for label in full) < 2:
            continue  # not calibrated, or nothing to compare
        if own_costs and machine not in own:
            continue
        place, tie = known[machine], tie_share(connection)
        found.append(
            Row(
                machine, place.title, isa(connection, isa_name), flavour, place.cas, place.fence,
                # The study's own machines are neutral by intent, not for want of a figure.
                place.assumed and machine not in own, costs, tie,
                _contest(full, plan.locks, tie),
                _contest(costs, plan.locks, tie) if len(costs) > len(full) else None,
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
        return f"{self.reach} {UNIT_WORDS.get(self.unit, self.unit)}"


def held_words(key: str, values: Sequence[int]) -> str:
    """A setting that was held at each of `values` in turn, in words."""
    if key == "owner_share":
        return f"owner's share {', '.join(f'{value / _PPM:g}' for value in values)} %"
    return f"{AXIS_WORDS[key]} set to {', '.join(f'{value:,}' for value in values)}"


def lines(connection: sqlite3.Connection, kind: str) -> list[CrossoverSentence]:
    """The crossovers of the series of a kind (`axis`, `run_length`, `map`) in words."""
    flavours = PLAN.read(connection).flavours
    own = machines(connection)
    found = [_line(connection, one) for one in crossovers(connection, kind)]
    axes = list(AXIS_WORDS)
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


_Held = tuple[tuple[str, int], ...]  # what was set beside the axis, by its name
_HOW = {"cas": "as measured", "fence_latency": "as measured", "cancel": "as set"}


@dataclass(frozen=True)
class CostTable:
    """Cycles per pair: a column a lock label, a group of rows a machine, a row a flavour of it."""

    labels: tuple[LockLabel, ...]
    machines: tuple[tuple[Row, ...], ...]

    @property
    def heads(self) -> list[tuple[str, list[str]]]:
        """The labels in words, as headings of two lines: each lock, and its fence kinds."""
        found: dict[str, list[str]] = {}
        for label in self.labels:
            lock = label.with_full_fences.words()
            found.setdefault(lock, []).append(FENCE_KINDS.get(label.fence, label.fence))
        return list(found.items())


@dataclass(frozen=True)
class AxisRow:
    """Two locks: the machine or ISA, what was held, in words, and for each column where one of
    them is cheaper."""

    pair: str
    group: str
    held: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class AxisTable:
    """Where two locks change places along an axis: a column an ISA and a row a pair of locks on a
    machine, or a column a machine and a row a pair of locks on an ISA."""

    axis: str
    unit: str
    columns: tuple[str, ...]
    rows: tuple[AxisRow, ...]

    @property
    def has_held(self) -> bool:
        """Something was held at several values."""
        return any(row.held for row in self.rows)

    @property
    def has_groups(self) -> bool:
        """Not all rows are of one machine, or of one ISA."""
        return len({row.group for row in self.rows}) > 1


def win_words(win: Win) -> str:
    """A winner with its cost and its lead, or with the locks that it ties with."""
    lead = f"{100 * win.lead:.1f} %"
    if win.tied:
        return f"{win.lock.words()} {win.cost:.1f}, tie with {tied_words(win)} ({lead})"
    return f"{win.lock.words()} {win.cost:.1f} ({lead} less than {win.runner_up.words()})"


def tied_words(win: Win) -> str:
    """The locks that a winner ties with."""
    return " and ".join(label.words() for label in win.tied)


def ties_words(rows: Sequence[Row]) -> str:
    """What a tie is in a winner table, whose rows are of one study."""
    return f"a lead below {100 * next((row.tie for row in rows), 0.0):g} % is a tie"


def seeds_words(sentences: Sequence[CrossoverSentence]) -> str:
    """What the bands of crossovers are."""
    seeds = max((one.seeds for one in sentences), default=0)
    if seeds < 2:
        return "one seed"
    return f"in brackets: the least and the greatest of {seeds} seeds"


def model_sentences(connection: sqlite3.Connection) -> list[str]:
    """What of a study follows from a model, and how far that may be off."""
    found, seeds, maps = [], seeds_model(connection), maps_accuracy(connection)
    if seeds.modelled:
        found.append(
            f"{seeds.modelled:,} of the other seeds' {seeds.values:,} values follow from costs at "
            f"one point and the first seed's slope: off by at most {at_most(seeds.worst)} of the "
            "tolerance where checked; where a check was off by more than a quarter, they were "
            "searched"
        )
    if maps is not None:
        found.append(
            "Winner maps are runs at some points and interpolated between them: off by "
            f"{maps.mean:.2%} on average and {at_most(maps.worst)} at most in {maps.points} points "
            f"that were run to check it; another lock was the cheapest in {maps.wrong or 'none'}"
        )
    return found


def cost_table(rows: Sequence[Row], locks: Sequence[str]) -> CostTable:
    """The costs of the winner table. Labels come in the order of `locks`, the study's, each with
    full fences first."""
    found = {label for row in rows for label in row.costs}

    def place(label: LockLabel) -> tuple[int, LockLabel]:
        # A label with full fences is the beginning of the others, so it comes before them.
        return (locks.index(label.lock) if label.lock in locks else len(locks), label)

    machines: dict[str, list[Row]] = {}
    for row in rows:
        machines.setdefault(row.machine, []).append(row)
    return CostTable(tuple(sorted(found, key=place)), tuple(map(tuple, machines.values())))


def axis_tables(
    sentences: Sequence[CrossoverSentence], by_machine: bool = False
) -> list[AxisTable]:
    """A table for each axis, in the order of the sentences: a column an ISA, or a machine."""
    axes = dict.fromkeys(one.axis for one in sentences)
    return [
        _axis_table([one for one in sentences if one.axis == axis], by_machine) for axis in axes
    ]


def _axis_table(sentences: Sequence[CrossoverSentence], by_machine: bool) -> AxisTable:
    """The table of the sentences of one axis."""
    first = sentences[0]
    cells: dict[tuple[str, str, _Held], dict[str, list[str]]] = {}
    columns: dict[str, None] = {}  # in order
    for one in sentences:
        group, column = one.machine, isa_words(one.isa.title, one.flavour)
        if by_machine:
            group, column = column, group
        columns[column] = None
        key = (" / ".join(label.words() for label in one.pair), group, tuple(one.held.items()))
        cells.setdefault(key, {}).setdefault(column, []).append(one.short)
    pairs = list(dict.fromkeys(pair for pair, _, _ in cells))
    groups = list(dict.fromkeys(group for _, group, _ in cells))
    ordered = sorted(
        cells.items(), key=lambda row: (pairs.index(row[0][0]), groups.index(row[0][1]), row[0][2])
    )
    # Rows that differ in nothing but the last setting become one.
    merged: dict[tuple[str, str, tuple[str, ...], _Held], list[_Held]] = {}
    for (pair, group, held), found in ordered:
        shown = tuple("; ".join(found.get(column, [])) for column in columns)
        merged.setdefault((pair, group, shown, held[:-1]), []).append(held)
    rows = [
        AxisRow(pair, group, _held(every), shown)
        for (pair, group, shown, _), every in merged.items()
    ]
    return AxisTable(AXIS_WORDS[first.axis], _unit(first), tuple(columns), tuple(rows))


def _unit(one: CrossoverSentence) -> str:
    """The unit of an axis, and whether latencies are measured or set; "" where the axis says it."""
    unit = UNIT_WORDS.get(one.unit, one.unit)
    if one.axis in _HOW:
        return f"{unit}, {_HOW[one.axis]}"
    return "" if unit == AXIS_WORDS[one.axis] else unit


def _held(settings: Iterable[_Held]) -> str:
    """Settings that differ in the last value alone, in words."""
    values: dict[str, list[int]] = {}
    for setting in settings:
        for key, value in setting:
            values.setdefault(key, []).append(value)
    return ", ".join(held_words(key, list(dict.fromkeys(found))) for key, found in values.items())
