"""The answer of a study as tables: by machine, by axis where two locks change places, and over the
winner map as a grid."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from results.errors import NoDataError
from sweeps.model import engines
from sweeps.model.axes import AXIS_WORDS, UNIT_WORDS
from sweeps.model.isa import isa_words
from sweeps.model.locks import FENCE_KINDS, FULL, LockLabel
from sweeps.study import results as found
from sweeps.study.leads import Win, winner
from sweeps.study.results import (
    PLAN,
    FoundCrossover,
    Isa,
    MapCrossing,
    Mark,
    Scale,
)

Surface = NDArray[np.float64]
_LATENCIES = ("cas_latency", "fence_latency")
_TRIED = ("share", "threads")  # units of axes that are tried value by value


class Contest(NamedTuple):
    """The winner among all locks, and among those that the study compares: without those that
    cannot replace them, which the plan names with their limits."""

    overall: Win
    compared: Win


@dataclass(frozen=True)
class Row:
    """One machine in one flavour, as it is: measured latencies (cycles) and the cost of every
    lock (cycles per pair), cheapest first. `contests`: that with the fences of production
    ("production", of which `production` is the kind), where they are not the full ones; that with
    full fences alone ("full"), and that with every kind ("any"), if there is another. `tie`: the
    share of a lead below which it is a tie."""

    machine: str
    title: str
    isa: Isa
    flavour: str
    cas: float
    fence: float
    assumed: bool
    costs: dict[LockLabel, float]
    tie: float
    contests: dict[str, Contest]
    production: str = FULL

    def fences_words(self, contest: str) -> str:
        """What a contest's fences are, in words."""
        return FENCE_KINDS[self.production] if contest == "production" else contest

    @property
    def cheapest(self) -> LockLabel:
        """The cheapest lock of all."""
        return next(iter(self.costs))


def rows(connection: sqlite3.Connection) -> list[Row]:
    """The winner table: the study's machines first, then the real ones, if the engine has their
    latencies. Raises NoDataError."""
    plan = PLAN.read(connection)
    table = []
    for machine, isa_name, flavour in found.series_names(connection, "table"):
        own = machine in plan.machines
        runs = found.series(connection, f"table/{machine}/{isa_name}/{flavour}")
        costs = {run.label: run.cost for run in sorted(runs, key=lambda run: run.cost)}
        full = {label: cost for label, cost in costs.items() if label.fence == FULL}
        kind = plan.production.get(flavour, FULL)
        locks = {label.lock for label in costs if label.fence == kind}
        own_kind = {
            label: cost
            for label, cost in costs.items()
            if label.fence == (kind if label.lock in locks else FULL)
        }
        by_fences = {"production": own_kind, "full": full, "any": costs}
        if kind == FULL:
            del by_fences["production"]
        places = {place.machine: place for place in found.places(connection, isa_name, flavour)}
        if machine not in places or sum(label.lock in plan.locks for label in full) < 2:
            continue  # not calibrated, or nothing to compare
        if engines.entry(plan.engine).own_costs and not own:
            continue
        contests: dict[str, Contest] = {}
        for fences, every in by_fences.items():
            if fences == "any" and len(costs) == len(full):
                continue  # there is no other kind
            compared = {label: x for label, x in every.items() if label.lock in plan.locks}
            contests[fences] = Contest(winner(every, plan.tie), winner(compared, plan.tie))
        place = places[machine]
        # The study's own machines are neutral by intent, not for want of a figure.
        assumed = place.assumed and not own
        table.append(
            Row(
                machine,
                place.title,
                found.isa(connection, isa_name),
                flavour,
                place.cas,
                place.fence,
                assumed,
                costs,
                plan.tie,
                contests,
                kind,
            )
        )
    order = {machine: number for number, machine in enumerate(plan.machines)}
    return sorted(table, key=lambda row: order.get(row.machine, len(order)))


@dataclass(frozen=True)
class CrossoverSentence:
    """Where one lock begins to beat another along an axis, or that it does throughout.

    It speaks of the two locks alone: a third may be cheaper than both. `cheaper` and `dearer` are
    their labels in the range that `reach` names; with the verdict "tie" they cost the same in it.
    `held`: what else was set, by its name.
    """

    of: FoundCrossover
    isa: Isa
    held: Mapping[str, int]
    cheaper: LockLabel
    dearer: LockLabel
    reach: str

    @property
    def words(self) -> str:
        """The whole sentence: `reservation beats tasuki above 23.8 cycles`."""
        first, second = self.cheaper.words(), self.dearer.words()
        tie = self.of.verdict == "tie"
        said = f"{first} and {second} cost the same" if tie else f"{first} beats {second}"
        return f"{said} {self.reach} {UNIT_WORDS.get(self.of.unit, self.of.unit)}"

    @property
    def short(self) -> str:
        """What stands in a table whose headings name the two locks and the unit."""
        first = "the same" if self.of.verdict == "tie" else self.cheaper.words()
        return f"{first} {self.reach}"

    @property
    def setting(self) -> str:
        """What else was set, in words."""
        return ", ".join(held_words(key, [value]) for key, value in self.held.items())

    @property
    def bracket(self) -> str:
        """The bracket in set values, where the two cross."""
        of = self.of
        return "" if of.value is None else f"{of.bracket_low:,} to {of.bracket_high:,}"


def held_words(key: str, values: Sequence[int]) -> str:
    """A setting that was held at each of `values` in turn, in words."""
    if key == "owner_share":
        return f"owner's share {', '.join(f'{100 * value:g}' for value in values)} %"
    return f"{AXIS_WORDS[key]} set to {', '.join(f'{value:,}' for value in values)}"


def lines(connection: sqlite3.Connection, kind: str) -> list[CrossoverSentence]:
    """The crossovers of the series of a kind (`axis`, `run_length`, `map`) in words."""
    plan = PLAN.read(connection)
    # The sequence of run lengths is a workload of its own.
    keys = ["owner_share"] * (kind == "run_length") + [*_LATENCIES, "cancel_latency"]
    sentences = []
    for crossover in found.crossovers(connection, kind):
        scale = None
        if crossover.axis in _LATENCIES:
            scale = found.measured(
                connection, crossover.machine, crossover.isa, crossover.flavour, crossover.axis
            )
        cheaper, dearer = crossover.above, crossover.below
        if crossover.value is None:
            cheaper, dearer = dearer, cheaper
        if crossover.verdict == "tie":
            cheaper, dearer = crossover.lock_a, crossover.lock_b
        held = {
            key: crossover.setting[key]
            for key in keys
            if key in crossover.setting and key != crossover.axis
        }
        isa, reach = found.isa(connection, crossover.isa), _reach(crossover, scale)
        sentences.append(CrossoverSentence(crossover, isa, held, cheaper, dearer, reach))
    axes = list(AXIS_WORDS)
    # A flavour that an earlier plan had comes last.
    order = {flavour: number for number, flavour in enumerate(plan.flavours)}

    def place(sentence: CrossoverSentence) -> tuple[int, ...]:
        of = sentence.of
        flavour = order.get(of.flavour, len(order))
        return flavour, axes.index(of.axis), plan.machines.index(of.machine), of.id

    return sorted(sentences, key=place)


def with_production(
    sentences: Sequence[CrossoverSentence], production: Mapping[str, str]
) -> list[CrossoverSentence]:
    """Those of the locks with the fences of production, which the locks' names leave out: so an ISA
    stands beside the others. `production`: by flavour, where it is not full fences."""
    kept = []
    for one in sentences:
        pair = one.of.lock_a, one.of.lock_b
        kind = production.get(one.of.flavour, FULL)
        if all(label.fence == kind for label in pair):
            first, second = (label.with_full_fences for label in pair)
            cheaper, dearer = one.cheaper.with_full_fences, one.dearer.with_full_fences
            of = replace(one.of, lock_a=first, lock_b=second)
            kept.append(replace(one, of=of, cheaper=cheaper, dearer=dearer))
    return kept


def _reach(crossover: FoundCrossover, scale: Scale | None) -> str:
    """Where the cheaper of two locks is the cheaper one, without the unit; in brackets the least
    and the greatest value over several seeds."""
    band = crossover.band

    def tried(value: float) -> str:
        if crossover.unit == "share":
            return f"{100 * value:g}"
        return f"{scale(value) if scale is not None else value:,.0f}"

    def point(value: float) -> str:
        shown = scale(value) if scale is not None else value
        return f"{shown:,.{0 if shown >= 1000 else 1}f}"

    if crossover.value is None:
        some = f" (not with {band.there} of {band.seeds} seeds)" if band else ""
        return f"everywhere from {tried(crossover.low)} to {tried(crossover.high)}{some}"
    if crossover.unit in _TRIED and crossover.bracket_high is not None:
        words = f"from {tried(crossover.bracket_high)}"
        ends = [tried(x) for x in (band.upper_low, band.upper_high)] if band else []
    else:
        words = f"above {point(crossover.value)}"
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


class AxisRow(NamedTuple):
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
    seeds = max((sentence.of.band.seeds for sentence in sentences if sentence.of.band), default=0)
    if seeds < 2:
        return "one seed"
    return f"in brackets: the least and the greatest of {seeds} seeds"


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
    for axis in dict.fromkeys(sentence.of.axis for sentence in sentences):
        own = [sentence for sentence in sentences if sentence.of.axis == axis]
        cells: dict[tuple[str, str, _Held], dict[str, list[str]]] = {}
        columns: dict[str, None] = {}  # in order
        for sentence in own:
            group, column = sentence.of.machine, isa_words(sentence.isa.title, sentence.of.flavour)
            if by_machine:
                group, column = column, group
            columns[column] = None
            pair = f"{sentence.of.lock_a.words()} / {sentence.of.lock_b.words()}"
            at = cells.setdefault((pair, group, tuple(sentence.held.items())), {})
            at.setdefault(column, []).append(sentence.short)
        pairs, groups, _ = (list(dict.fromkeys(part)) for part in zip(*cells, strict=True))
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
        table_rows = []
        for (pair, group, shown, _), settings in merged.items():
            words = ", ".join(held_words(key, list(tried)) for key, tried in settings.items())
            table_rows.append(AxisRow(pair, group, words, shown))
        unit = UNIT_WORDS.get(own[0].of.unit, own[0].of.unit)
        if axis in _HOW:
            unit += f", {_HOW[axis]}"
        elif unit == AXIS_WORDS[axis]:  # the axis says it
            unit = ""
        tables.append(AxisTable(AXIS_WORDS[axis], unit, tuple(columns), tuple(table_rows)))
    return tables


class Marks(NamedTuple):
    """Which real processors a map speaks of. `cancel`: the cycles of a cancellation that the map is
    of, if the engine says so; `here`: those whose own it is; `apart`: the others."""

    cancel: int | None
    here: tuple[Mark, ...]
    apart: tuple[Mark, ...]


class Spot(NamedTuple):
    """Where a real processor stands on a map, and how it is named there."""

    words: str
    x: float
    y: float


@dataclass(frozen=True)
class Grid:
    """The winner map of one machine and flavour, over CAS and full fence. Axes are measured cycles;
    costs by lock label, cycles per pair, each of shape (len(ys), len(xs)). `aside`: the labels of
    locks that the plan shows beside those it compares. `tie`: the lead, as a share, below which two
    locks tie."""

    isa: Isa
    flavour: str
    xs: tuple[float, ...]
    ys: tuple[float, ...]
    costs: Mapping[LockLabel, Surface]
    crossings: tuple[MapCrossing, ...]
    marks: Marks
    aside: tuple[LockLabel, ...] = ()
    tie: float = 0.0

    @property
    def axes(self) -> tuple[str, str]:
        """What the axes are, in words."""
        return "measured CAS latency", f"measured {self.isa.full_fence} latency"

    @property
    def spots(self) -> list[Spot]:
        """The processors that the map speaks of."""
        return [Spot(mark.name, mark.cas, mark.fence) for mark in self.marks.here]

    def cost_at(self, label: LockLabel, x: Surface, y: Surface) -> Surface:
        """Interpolated cost of a lock at a place of the map."""
        return interpolate(self.xs, self.ys, self.costs[label], x, y)


class CancelGrid(Grid):
    """A map over CAS and the cost of a cancellation, as set, where the fence is an atomic: so these
    two are all the latencies that decide, and every processor of the ISA has its place."""

    @property
    def axes(self) -> tuple[str, str]:
        """What the axes are, in words."""
        return "measured latency of a locked operation", "cost of a cancellation"

    @property
    def spots(self) -> list[Spot]:
        """The processors that the map speaks of."""
        marks = [*self.marks.here, *self.marks.apart]
        return [Spot(one.name, one.cas, one.cancel) for one in marks if one.cancel is not None]


def map_marks(connection: sqlite3.Connection, machine: str, isa_name: str, flavour: str) -> Marks:
    """The real processors and the winner map of a machine and flavour; none on a map of a machine
    that stands beside the study's own. Raises NoDataError."""
    plan = PLAN.read(connection)
    stored = found.series(connection, f"map/{machine}/{isa_name}/{flavour}")
    cancel = stored[0].latency("cancel_latency", "charge_stop") if stored else None
    # An engine with costs of its own has its core model's CAS and fence, not the processor's.
    if machine != plan.machine or engines.entry(plan.engine).own_costs:
        return Marks(cancel, (), ())
    places = found.places(connection, isa_name, flavour)
    real = [mark for mark in places if mark.machine not in plan.machines]
    here = tuple(
        mark
        for mark in real
        if cancel is not None
        and mark.cancel is not None
        and abs(mark.cancel - cancel) <= plan.tie * cancel
    )
    return Marks(cancel, here, tuple(mark for mark in real if mark not in here))


def grid(connection: sqlite3.Connection, machine: str, isa_name: str, flavour: str) -> Grid:
    """The winner map of a machine and flavour. Raises NoDataError when runs of it are missing."""
    isa, plan = found.isa(connection, isa_name), PLAN.read(connection)
    name = f"map/{machine}/{isa_name}/{flavour}"
    points = []
    for run in found.series(connection, name):
        cas = run.latency("cas_latency", "cas_success")
        fence = run.latency("fence_latency", f"fence_{isa.full_fence}")
        if cas is None or fence is None:
            raise NoDataError(f"run {run.id} of the winner map does not say its latencies")
        # Another kind's run serves for all latencies of the full fence: that was left unset there.
        points.append((run.label, cas, fence if run.label.fence == FULL else None, run.cost))
    xs, ys, surfaces = _surfaces(f"the winner map of {isa_name}", points)
    cas_scale, fence_scale = (
        found.measured(connection, machine, isa_name, flavour, axis) for axis in _LATENCIES
    )
    return Grid(
        isa,
        flavour,
        tuple(map(cas_scale, xs)),
        tuple(map(fence_scale, ys)),
        surfaces,
        tuple(found.map_crossings(connection, name, cas_scale, fence_scale)),
        map_marks(connection, machine, isa_name, flavour),
        tuple(label for label in surfaces if label.lock not in plan.locks),
        plan.tie,
    )


def cancel_grid(
    connection: sqlite3.Connection, machine: str, isa_name: str, flavour: str
) -> CancelGrid | None:
    """The map over CAS and cancellation of a machine and flavour; None where the study has none.
    Raises NoDataError when runs of it are missing."""
    points = []
    for run in found.series(connection, f"cancel_map/{machine}/{isa_name}/{flavour}"):
        cas = run.latency("cas_latency", "cas_success")
        if cas is None:
            raise NoDataError(f"run {run.id} of the map over CAS and cancellation has no CAS")
        points.append((run.label, cas, run.cell.cancel_latency, run.cost))
    if not points:
        return None
    xs, ys, surfaces = _surfaces(f"the map over CAS and cancellation of {isa_name}", points)
    plan = PLAN.read(connection)
    scale = found.measured(connection, machine, isa_name, flavour, "cas_latency")
    return CancelGrid(
        found.isa(connection, isa_name),
        flavour,
        tuple(map(scale, xs)),
        tuple(ys),
        surfaces,
        (),
        map_marks(connection, machine, isa_name, flavour),
        tuple(label for label in surfaces if label.lock not in plan.locks),
        plan.tie,
    )


def _surfaces(
    title: str, points: Iterable[tuple[LockLabel, float, float | None, float]]
) -> tuple[list[float], list[float], dict[LockLabel, Surface]]:
    """Arrange costs (lock label, x, y, cost) by lock, with the values of both axes. Without y the
    cost is that of every y: the lock does not pay what the axis sets. Raises NoDataError where a
    lock lacks points of the `title`."""
    costs: dict[LockLabel, dict[tuple[float, float | None], float]] = {}
    for label, x, y, cost in points:
        costs.setdefault(label, {})[x, y] = cost
    places = [place for of_label in costs.values() for place in of_label]
    xs = sorted({x for x, _ in places})
    ys = sorted({y for _, y in places if y is not None})
    surfaces = {
        label: np.array([[of.get((x, y), of.get((x, None), np.nan)) for x in xs] for y in ys])
        for label, of in costs.items()
    }
    if lacking := [label for label, of_label in surfaces.items() if np.isnan(of_label).any()]:
        raise NoDataError(f"{title} lacks runs of {lacking[0]}; run ./lockcross crossover")
    return xs, ys, surfaces


def interpolate(
    xs: Sequence[float], ys: Sequence[float], costs: Surface, x: Surface, y: Surface
) -> Surface:
    """Costs of a grid (shape: len(ys) rows, len(xs) columns) at the points x, y: bilinear inside
    each cell of the grid, the cells at the edge carried on outside."""
    grid_x, grid_y = np.asarray(xs, dtype=float), np.asarray(ys, dtype=float)
    column = np.clip(np.searchsorted(grid_x, x) - 1, 0, len(grid_x) - 2)
    row = np.clip(np.searchsorted(grid_y, y) - 1, 0, len(grid_y) - 2)
    u = (x - grid_x[column]) / (grid_x[column + 1] - grid_x[column])
    v = (y - grid_y[row]) / (grid_y[row + 1] - grid_y[row])
    low = costs[row, column] * (1 - u) + costs[row, column + 1] * u
    high = costs[row + 1, column] * (1 - u) + costs[row + 1, column + 1] * u
    surface: Surface = low * (1 - v) + high * v
    return surface
