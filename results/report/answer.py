"""The answer of a study as tables: by machine, and by axis where two locks change places."""

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from results.analysis.study import at_most, maps_accuracy, seeds_model
from results.analysis.summary import AXES, UNITS, CrossoverSentence, Row, held_words
from results.analysis.winners import Win
from results.model.flavours import isa_words
from results.model.label import FENCE_KINDS, LockLabel

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
    return AxisTable(AXES[first.axis], _unit(first), tuple(columns), tuple(rows))


def _unit(one: CrossoverSentence) -> str:
    """The unit of an axis, and whether latencies are measured or set; "" where the axis says it."""
    unit = UNITS.get(one.unit, one.unit)
    if one.axis in _HOW:
        return f"{unit}, {_HOW[one.axis]}"
    return "" if unit == AXES[one.axis] else unit


def _held(settings: Iterable[_Held]) -> str:
    """Settings that differ in the last value alone, in words."""
    values: dict[str, list[int]] = {}
    for setting in settings:
        for key, value in setting:
            values.setdefault(key, []).append(value)
    return ", ".join(held_words(key, list(dict.fromkeys(found))) for key, found in values.items())
