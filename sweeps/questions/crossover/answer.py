"""The answer of a study as tables: by machine, and by axis where two locks change places."""

import math
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sweeps.model import engines
from sweeps.model.axes import AXIS_WORDS, UNIT_WORDS
from sweeps.model.isa import isa_words
from sweeps.model.locks import FENCE_KINDS, FULL, LockLabel
from sweeps.search import found
from sweeps.search.found import PLAN, FoundCrossover, Isa, Scale, at_most
from sweeps.search.winners import Win, winner

_LATENCIES = ("cas_latency", "fence_latency")
_TRIED = ("share", "threads")  # units of axes that are tried value by value


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
    locks, own = PLAN.read(connection).locks, found.machines(connection)
    own_costs = engines.entry(found.engine(connection)).own_costs
    tie = found.tie_share(connection)

    def contest(costs: Mapping[LockLabel, float]) -> Contest:
        compared = {label: cost for label, cost in costs.items() if label.lock in locks}
        return Contest(winner(costs, tie), winner(compared, tie))

    table = []
    for machine, isa_name, flavour in found.series_names(connection, "table"):
        runs = found.series(connection, f"table/{machine}/{isa_name}/{flavour}")
        costs = {run.label: run.cost for run in sorted(runs, key=lambda run: run.cost)}
        full = {label: cost for label, cost in costs.items() if label.fence == FULL}
        known = {one.machine: one for one in found.places(connection, isa_name, flavour)}
        if machine not in known or sum(label.lock in locks for label in full) < 2:
            continue  # not calibrated, or nothing to compare
        if own_costs and machine not in own:
            continue
        place = known[machine]
        # The study's own machines are neutral by intent, not for want of a figure.
        assumed = place.assumed and machine not in own
        table.append(
            Row(
                machine, place.title, found.isa(connection, isa_name), flavour, place.cas,
                place.fence, assumed, costs, tie, contest(full),
                contest(costs) if len(costs) > len(full) else None,
            )
        )  # fmt: skip
    order = {machine: number for number, machine in enumerate(own)}
    return sorted(table, key=lambda row: order.get(row.machine, len(order)))


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
        first, second = self.cheaper.words(), self.dearer.words()
        said = f"{first} and {second} cost the same" if self.tie else f"{first} beats {second}"
        return f"{said} {self.reach} {UNIT_WORDS.get(self.unit, self.unit)}"

    @property
    def short(self) -> str:
        """What stands in a table whose headings name the two locks and the unit."""
        return f"{'the same' if self.tie else self.cheaper.words()} {self.reach}"

    @property
    def setting(self) -> str:
        """What else was set, in words."""
        return ", ".join(held_words(key, [value]) for key, value in self.held.items())


def held_words(key: str, values: Sequence[int]) -> str:
    """A setting that was held at each of `values` in turn, in words."""
    if key == "owner_share":
        return f"owner's share {', '.join(f'{100 * value:g}' for value in values)} %"
    return f"{AXIS_WORDS[key]} set to {', '.join(f'{value:,}' for value in values)}"


def lines(connection: sqlite3.Connection, kind: str) -> list[CrossoverSentence]:
    """The crossovers of the series of a kind (`axis`, `run_length`, `map`) in words."""
    flavours, own = PLAN.read(connection).flavours, found.machines(connection)
    # The sequence of run lengths is a workload of its own.
    keys = ["owner_share"] * (kind == "run_length") + [*_LATENCIES, "cancel_latency"]
    sentences = []
    for one in found.crossovers(connection, kind):
        scale = None
        if one.axis in _LATENCIES:
            scale = found.measured(connection, one.machine, one.isa, one.flavour, one.axis)
        above = one.lock_b if one.below == one.lock_a else one.lock_a
        cheaper, dearer = (one.below, above) if one.value is None else (above, one.below)
        if one.verdict == "tie":
            cheaper, dearer = one.lock_a, one.lock_b
        held = {key: one.setting[key] for key in keys if key in one.setting and key != one.axis}
        bracket, others, seeds = "", "", one.band.seeds if one.band else 0
        if one.value is not None:
            bracket = f"{one.bracket_low:,} to {one.bracket_high:,}"
            others = "searched" if seeds > 1 else ""
        if others and one.band and one.band.modelled:
            some = "" if one.band.modelled == seeds - 1 else f"{one.band.modelled} "
            off = math.ceil(one.band.error * 1000) / 1000
            others = f"{some}modelled, off by at most {off:g} where checked"
        sentences.append(
            CrossoverSentence(
                one.machine, found.isa(connection, one.isa), one.flavour, one.axis, one.unit, held,
                (one.lock_a, one.lock_b), cheaper, dearer, one.verdict == "tie",
                _reach(one, scale), bracket, one.tolerance, seeds, others, one.id,
            )
        )  # fmt: skip
    axes = list(AXIS_WORDS)
    # A flavour that an earlier plan had comes last.
    order = {flavour: number for number, flavour in enumerate(flavours)}
    return sorted(
        sentences,
        key=lambda line: (
            order.get(line.flavour, len(order)), axes.index(line.axis), own.index(line.machine),
            line.id,
        ),
    )  # fmt: skip


def _reach(one: FoundCrossover, scale: Scale | None) -> str:
    """Where the cheaper of two locks is the cheaper one, without the unit; in brackets the least
    and the greatest value over several seeds."""
    band = one.band

    def tried(value: int) -> str:
        if one.unit == "share":
            return f"{100 * value:g}"
        return f"{scale(value) if scale is not None else value:,.0f}"

    def point(value: float) -> str:
        shown = scale(value) if scale is not None else value
        return f"{shown:,.{0 if shown >= 1000 else 1}f}"

    if one.value is None:
        some = f" (not with {band.there} of {band.seeds} seeds)" if band else ""
        return f"everywhere from {tried(one.low)} to {tried(one.high)}{some}"
    if one.unit in _TRIED and one.bracket_high is not None:
        words = f"from {tried(one.bracket_high)}"
        ends = [tried(x) for x in (band.upper_low, band.upper_high)] if band else []
    else:
        words = f"above {point(one.value)}"
        ends = [point(x) for x in (band.low, band.high)] if band else []
    if band is None or band.seeds < 2:
        return words
    some = f", {band.there} of {band.seeds} seeds" if band.there < band.seeds else ""
    return f"{words} ({ends[0]} to {ends[1]}{some})"


_Held = tuple[tuple[str, int], ...]  # what was set beside the axis, by its name
_HOW = {"cas_latency": "as measured", "fence_latency": "as measured", "cancel_latency": "as set"}


@dataclass(frozen=True)
class CostTable:
    """Cycles per pair: a column a lock label, a group of rows a machine, a row a flavour of it."""

    labels: tuple[LockLabel, ...]
    machines: tuple[tuple[Row, ...], ...]

    @property
    def heads(self) -> list[tuple[str, list[str]]]:
        """The labels in words, as headings of two lines: each lock, and its fence kinds."""
        kinds: dict[str, list[str]] = {}
        for label in self.labels:
            lock = label.with_full_fences.words()
            kinds.setdefault(lock, []).append(FENCE_KINDS.get(label.fence, label.fence))
        return list(kinds.items())


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
        tied = " and ".join(label.words() for label in win.tied)
        return f"{win.lock.words()} {win.cost:.1f}, tie with {tied} ({lead})"
    return f"{win.lock.words()} {win.cost:.1f} ({lead} less than {win.runner_up.words()})"


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
    said, seeds, maps = [], found.seeds_model(connection), found.maps_accuracy(connection)
    if seeds.modelled:
        said.append(
            f"{seeds.modelled:,} of the other seeds' {seeds.values:,} values follow from costs at "
            f"one point and the first seed's slope: off by at most {at_most(seeds.worst)} of the "
            "tolerance where checked; where a check was off by more than a quarter, they were "
            "searched"
        )
    if maps is not None:
        said.append(
            "Winner maps are runs at some points and interpolated between them: off by "
            f"{maps.mean:.2%} on average and {at_most(maps.worst)} at most in {maps.points} points "
            f"that were run to check it; another lock was the cheapest in {maps.wrong or 'none'}"
        )
    return said


def cost_table(rows: Sequence[Row], locks: Sequence[str]) -> CostTable:
    """The costs of the winner table. Labels come in the order of `locks`, the study's, each with
    full fences first."""
    # A label with full fences is the beginning of the others, so it comes before them.
    labels = sorted({label for row in rows for label in row.costs})
    labels.sort(key=lambda label: locks.index(label.lock) if label.lock in locks else len(locks))
    machines: dict[str, list[Row]] = {}
    for row in rows:
        machines.setdefault(row.machine, []).append(row)
    return CostTable(tuple(labels), tuple(map(tuple, machines.values())))


def axis_tables(
    sentences: Sequence[CrossoverSentence], by_machine: bool = False
) -> list[AxisTable]:
    """A table for each axis, in the order of the sentences: a column an ISA, or a machine."""
    tables = []
    for axis in dict.fromkeys(one.axis for one in sentences):
        own = [one for one in sentences if one.axis == axis]
        cells: dict[tuple[str, str, _Held], dict[str, list[str]]] = {}
        columns: dict[str, None] = {}  # in order
        for one in own:
            group, column = one.machine, isa_words(one.isa.title, one.flavour)
            if by_machine:
                group, column = column, group
            columns[column] = None
            pair = " / ".join(label.words() for label in one.pair)
            at = cells.setdefault((pair, group, tuple(one.held.items())), {})
            at.setdefault(column, []).append(one.short)
        pairs = list(dict.fromkeys(pair for pair, _, _ in cells))
        groups = list(dict.fromkeys(group for _, group, _ in cells))
        # Rows that differ in nothing but the last setting become one.
        merged: dict[tuple[str, str, tuple[str, ...], _Held], dict[str, dict[int, None]]] = {}
        for pair, group, held in sorted(
            cells, key=lambda row: (pairs.index(row[0]), groups.index(row[1]), row[2])
        ):
            at = cells[pair, group, held]
            shown = tuple("; ".join(at.get(column, [])) for column in columns)
            settings = merged.setdefault((pair, group, shown, held[:-1]), {})
            for key, value in held:
                settings.setdefault(key, {})[value] = None
        rows = tuple(
            AxisRow(
                pair, group,
                ", ".join(held_words(key, list(tried)) for key, tried in settings.items()), shown,
            )
            for (pair, group, shown, _), settings in merged.items()
        )  # fmt: skip
        unit = UNIT_WORDS.get(own[0].unit, own[0].unit)
        if axis in _HOW:
            unit += f", {_HOW[axis]}"
        elif unit == AXIS_WORDS[axis]:  # the axis says it
            unit = ""
        tables.append(AxisTable(AXIS_WORDS[axis], unit, tuple(columns), rows))
    return tables
