"""Where two locks of a study change places, in sentences and as tables by axis."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from sweeps.model.axes import AXIS_WORDS, UNIT_WORDS
from sweeps.model.isa import FLAVOURS, isa_words
from sweeps.model.locks import FULL, LockLabel
from sweeps.study.results import FoundCrossover, Isa, Scale, StudyResults
from sweeps.study.untold import interval, rounding

_LATENCIES = ("cas_latency", "fence_latency")
_TRIED = ("share", "threads")  # units of axes that are tried value by value


@dataclass(frozen=True)
class CrossoverSentence:
    """Where one lock begins to beat another along an axis, or that it does throughout.

    It speaks of the two locks alone: a third may be cheaper than both. `cheaper` and `dearer` are
    their labels in the range that `reach` names; with the verdict "tie" they cost the same in it.
    `held`: the other settings, by name.
    """

    of: FoundCrossover
    isa: Isa
    held: Mapping[str, int]
    cheaper: LockLabel
    dearer: LockLabel
    reach: str

    @property
    def words(self) -> str:
        """Return the whole sentence: `reservation beats tasuki above 23.8 cycles`."""
        first, second = self.cheaper.words(), self.dearer.words()
        tie = self.of.verdict == "tie"
        said = f"{first} and {second} cost the same" if tie else f"{first} beats {second}"
        return f"{said} {self.reach} {UNIT_WORDS.get(self.of.unit, self.of.unit)}"

    @property
    def short(self) -> str:
        """Return the text for a table whose headings name the two locks and the unit."""
        first = "the same" if self.of.verdict == "tie" else self.cheaper.words()
        return f"{first} {self.reach}"

    @property
    def setting(self) -> str:
        """Return the rest of the setting in words."""
        return ", ".join(held_words(key, [value]) for key, value in self.held.items())

    @property
    def bracket(self) -> str:
        """Return the bracket in set values, where the two cross."""
        of = self.of
        return "" if of.value is None else f"{of.bracket_low:,} to {of.bracket_high:,}"


def held_words(key: str, values: Sequence[int]) -> str:
    """Return a setting that was held at each of `values` in turn, in words."""
    if key == "owner_share":
        return f"owner's share {', '.join(f'{100 * value:g}' for value in values)} %"
    return f"{AXIS_WORDS[key]} set to {', '.join(f'{value:,}' for value in values)}"


def lines(results: StudyResults, kind: str) -> list[CrossoverSentence]:
    """Return the crossovers of the series of a kind (`axis`, `run_length`, `map`) in words."""
    plan = results.plan
    # The sequence of run lengths is a workload of its own.
    keys = ["owner_share"] * (kind == "run_length") + [*_LATENCIES, "cancel_latency"]
    sentences = []
    for crossover in results.crossovers(kind):
        scale = None
        if crossover.axis in _LATENCIES:
            scale = results.measured(
                crossover.machine, crossover.isa, crossover.flavour, crossover.axis
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
        isa, words = results.isa(crossover.isa), _range_text(crossover, scale)
        sentences.append(CrossoverSentence(crossover, isa, held, cheaper, dearer, words))
    axes = list(AXIS_WORDS)

    def sort_key(sentence: CrossoverSentence) -> tuple[int, ...]:
        of = sentence.of
        machine = plan.machines.index(of.machine)
        return FLAVOURS.index(of.flavour), axes.index(of.axis), machine, of.id

    return sorted(sentences, key=sort_key)


def with_production(
    sentences: Sequence[CrossoverSentence], production: Mapping[str, str]
) -> list[CrossoverSentence]:
    """Return the sentences of locks with the fences of production, which the locks' names leave
    out: so an ISA stands beside the others. `production`: by flavour, where it is not full
    fences."""
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


def _range_text(crossover: FoundCrossover, scale: Scale | None) -> str:
    """Return where the cheaper of two locks is the cheaper one, without the unit; in brackets the
    values within which the engine cannot tell, and the least and the greatest value over several
    seeds, each with no more digits than are known."""
    band, known = crossover.band, crossover.known

    def tried(value: float) -> str:
        if crossover.unit == "share":
            return f"{100 * value:g}"
        return f"{scale(value) if scale is not None else value:,.0f}"

    if crossover.value is None:
        some = f" (not with {band.there} of {band.seeds} seeds)" if band else ""
        return f"everywhere from {tried(crossover.low)} to {tried(crossover.high)}{some}"
    brackets = []
    if crossover.unit in _TRIED and crossover.bracket_high is not None:
        at = tried(crossover.bracket_high)
        words = f"from {at}"
        ends = [tried(x) for x in (band.upper_low, band.upper_high)] if band else []
    else:
        written = rounding(crossover.value, known, scale or float)
        at = written(crossover.value)
        words = f"above {at}"
        ends = [written(x) for x in (band.low, band.high)] if band else []
        if known is not None:
            brackets.append(interval(known, (crossover.low, crossover.high), written))
    if band is not None and band.seeds > 1:
        some = f", {band.there} of {band.seeds} seeds" * (band.there < band.seeds)
        if some or {*ends} != {at}:
            brackets.append(f"seeds {ends[0]} to {ends[1]}{some}")
    return words + f" ({'; '.join(brackets)})" * bool(brackets)


def seeds_words(sentences: Sequence[CrossoverSentence]) -> str:
    """Return the meaning of the brackets of crossovers."""
    seeds = max((sentence.of.band.seeds for sentence in sentences if sentence.of.band), default=0)
    words = "in brackets: where the engine cannot tell the two apart, as far as its error is known"
    if seeds < 2:
        return words
    return f"{words}; the least and the greatest of {seeds} seeds, where they differ"


_Held = tuple[tuple[str, int], ...]  # what was set beside the axis, by its name
_HOW = {"cas_latency": "as observed", "fence_latency": "as observed", "cancel_latency": "as set"}


class AxisRow(NamedTuple):
    """Two locks: the machine or ISA, the values held, in words, and for each column where one of
    them is cheaper."""

    pair: str
    group: str
    held: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class AxisTable:
    """Where two locks change places along an axis: one column per ISA and one row per pair of locks
    on a machine, or one column per machine and one row per pair of locks on an ISA."""

    axis: str
    unit: str
    columns: tuple[str, ...]
    rows: tuple[AxisRow, ...]

    @property
    def has_held(self) -> bool:
        """Return whether something was held at several values."""
        return any(row.held for row in self.rows)

    @property
    def has_groups(self) -> bool:
        """Return whether the rows are of several machines, or of several ISAs."""
        return len({row.group for row in self.rows}) > 1


def axis_tables(
    sentences: Sequence[CrossoverSentence], by_machine: bool = False
) -> list[AxisTable]:
    """Return a table for each axis, in the order of the sentences: one column per ISA, or per
    machine."""
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
