"""A candidate engine against a reference engine: errors, the order of the locks, changed winners,
speed.

Pure analysis of the series `validation/<set>`, which hold the runs of both. Costs are cycles per
acquire-release pair; errors are relative to the reference. A run that failed or was refused is
named and counted, and takes no part in any mean. A cost that is a sample, as the host's, has a
spread (the metric cycles_per_pair_iqr): two locks that differ by less are neither ranked nor is one
of them the cheapest alone.
"""

import itertools
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean, median
from typing import Annotated, Literal, get_args

from pydantic import Field

from results.store.facts import Fact
from sweeps.model import engines
from sweeps.model.axes import AXES
from sweeps.model.cell import Cell, read_cell, selected
from sweeps.model.isa import flavour_name
from sweeps.model.locks import LockLabel
from sweeps.support.toml import Document

FLOOR = "nop"  # what a workload costs without a lock: in no contest
ALL_ISAS = "all"  # stands for the ISA in the summary of a whole set
VERDICTS = {True: "met", False: "MISSED", None: "no bar"}
_KNOWN = "missed, as known"
CLEAR = 0.10  # two locks are ranked only if their costs on the reference differ by more

_RUNS = """SELECT substr(series.name, 12), runs.id, status, cause, duration_s,
    CASE status WHEN 'ok' THEN cycles_per_pair END, ifnull(
    (SELECT value FROM metrics WHERE run_id = runs.id AND name = 'cycles_per_pair_iqr'), 0),
    (SELECT value FROM metrics WHERE run_id = runs.id AND name = 'instructions'), {columns}
FROM series JOIN runs ON runs.id = series.run_id
WHERE series.name GLOB 'validation/*' ORDER BY series.name, runs.id"""


_Bar = Literal["mean", "median", "worst", "order", "lead", "difference", "sign", "runs"]


BAR_NAMES = tuple(name for name in get_args(_Bar) if name != "runs")


class Bars(Document):
    """The bars of a set: mean, median and worst error, share of lock pairs in the same order, and
    above which lead the reference's cheapest lock is to be the candidate's; and of each two locks
    that the reference tells apart at all the median error of their difference, and the share of
    right signs; None: no bar. `each_isa`: they hold for each ISA by itself. `known`: which bars are
    missed (`runs`: that none fails), by ISA, or `all`; `missed`: why, to be said where one is.
    `own`: axes that the candidate's cells set and the reference's leave unset, with their values;
    variants that interrupt a thread by a signal have its cost for a running one."""

    mean: Annotated[float, Field(ge=0)] | None = None
    median: Annotated[float, Field(ge=0)] | None = None
    worst: Annotated[float, Field(ge=0)] | None = None
    order: Annotated[float, Field(ge=0, le=1)] | None = None
    lead: Annotated[float, Field(ge=0)] | None = None
    difference: Annotated[float, Field(ge=0)] | None = None
    sign: Annotated[float, Field(ge=0, le=1)] | None = None
    each_isa: bool = False
    own: dict[str, int] = {}
    known: dict[str, list[_Bar]] = {}
    missed: str = ""


class StoredSet(Bars):
    """A database's description of a set."""

    title: str = ""
    candidate: str = engines.DEFAULT


_UNKNOWN_SET = StoredSet()


@dataclass(frozen=True)
class JavaLocks:
    """The locks that a Java runtime could choose from."""

    names: list[str]


BARS: Fact[dict[str, StoredSet]] = Fact("validation_bars", dict[str, StoredSet])  # by set
JAVA_LOCKS: Fact[JavaLocks] = Fact("java_locks", JavaLocks)


def percent(value: float | None, bar: float | None = None) -> str:
    """Return a share in percent, and the bar it is held against; empty where there is none."""
    if value is None:
        return ""
    return f"{100 * value:.1f} %" + (f" (bar {100 * bar:g} %)" if bar is not None else "")


def signed(value: float | None) -> str:
    """Return a signed share in percent; empty where there is none."""
    return "" if value is None else f"{100 * value:+.1f} %"


def setting_words(setting: Cell) -> str:
    """Return the common setting of the locks of a contest, readable."""
    given = ", ".join(f"{key} {value}" for key, value in setting.parameters.items())
    threads = f"{setting.threads} thread{'s' * (setting.threads > 1)}"
    if setting.cores is not None:
        threads += f" on {setting.cores} core{'s' * (setting.cores > 1)}"
    machine = f"{setting.machine} {flavour_name(setting.flavour)}"
    set_here = [
        f"{axis.quantity.set_to} {value}"
        for axis in AXES
        if axis.quantity
        and axis.quantity.set_to
        and (value := getattr(setting, axis.name)) is not None
    ]
    return ", ".join([f"{setting.workload} ({given})", threads, machine, *set_here])


@dataclass(frozen=True)
class Run:
    cell: Cell
    set: str
    id: int
    status: str
    cause: str
    duration_s: float
    cost: float | None  # cycles per pair, of a run that ended well
    spread: float  # of that, between the quartiles; 0 where every run gives the same
    instructions: float | None

    def subject(self, own: Collection[str] = ()) -> tuple[str, Cell, LockLabel]:
        """Return the common part of two compared runs. `own`: axes that it sets by itself."""
        return self.set, self.cell.setting(own), self.cell.label


@dataclass(frozen=True)
class Compared:
    """The same cell on both engines, in cycles per pair; `cell` is the reference's, and so are
    `spread` and `repeats`, its cost with each seed. Costs are means over the seeds; the cell is the
    first seed's."""

    set: str
    cell: Cell
    candidate: float
    reference: float
    spread: float
    repeats: tuple[float, ...]

    @cached_property
    def setting(self) -> Cell:
        """Return the common part with the other locks of its contest."""
        return self.cell.setting()

    @property
    def error(self) -> float:
        """Return the error relative to the reference, with its sign: above zero, the candidate is
        the dearer."""
        return (self.candidate - self.reference) / self.reference

    def words(self) -> str:
        return f"{self.cell.label.words()} in {setting_words(self.cell)}"


@dataclass(frozen=True)
class WinnerChange:
    """A setting in which the engines have different cheapest locks. `loss`: how much dearer the
    candidate's winner is on the reference than the reference's own, relative to it; `lead`: how
    much dearer any other is there."""

    setting: str
    reference: LockLabel
    candidate: LockLabel
    loss: float
    lead: float


@dataclass(frozen=True)
class SetSummary:
    """One set on one ISA, `candidate` and `reference` being engine labels. Errors and shares are
    fractions; None: nothing to take them from."""

    set: str
    title: str
    candidate: str
    reference: str
    isa: str
    cells: int
    mean_error: float | None  # of absolute values
    median_error: float | None
    worst_error: float | None  # absolute
    worst_cell: str
    signed_error: float | None
    order_share: float | None
    order_pairs: int
    difference_error: float | None  # median, of the differences that the reference tells
    sign_share: float | None  # of these
    sign_pairs: int
    floor_share: float | None  # of the order's pairs, on which two repeats of the reference agree
    contests: int  # settings with two Java locks or more
    winner_changes: tuple[WinnerChange, ...]
    left_out: Mapping[str, Sequence[str]]  # cells that could not be compared, by the reason
    bars: Bars
    judged: Mapping[str, bool]  # each bar that something is held against; runs: some failed

    @property
    def met(self) -> bool | None:
        """Tell whether no bar is missed; None where there is no bar or no cell."""
        if not self.judged or all(vars(self.bars)[bar] is None for bar in BAR_NAMES):
            return None
        return all(self.judged.values())

    @property
    def missed_bars(self) -> list[str]:
        """Return the bars that are missed: mean, median, worst, order, lead, and runs where some
        failed."""
        return [bar for bar, within in self.judged.items() if not within]

    @property
    def known(self) -> Sequence[str]:
        return self.bars.known.get(self.isa, [])

    @property
    def newly_missed(self) -> list[str]:
        """Return the bars that are missed and not known to be."""
        return [bar for bar in self.missed_bars if self.met is False and bar not in self.known]

    @property
    def verdict(self) -> str:
        """Say met, missed, missed as is known, no bar, or no cells."""
        if not self.cells:
            return "no cells"
        return _KNOWN if self.met is False and not self.newly_missed else VERDICTS[self.met]

    @property
    def why_missed(self) -> str:
        """Return the known cause of a missed bar; empty where none is missed."""
        return self.bars.missed if self.met is False else ""


@dataclass(frozen=True)
class Speed:
    """How fast one process of an engine is, over its validation runs."""

    engine: str
    runs: int
    instructions_per_s: float
    cells_per_hour: float


class Stored:
    """The validations of a database: the `runs` of every set, and its descriptions of sets.
    `java`: the locks that are Java's; None: it does not say."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        runs = _RUNS.format(columns=selected(connection))
        self.runs = [Run(read_cell(row[8:]), *row[:8]) for row in connection.execute(runs)]
        self._sets = BARS.optional(connection) or {}
        java = JAVA_LOCKS.optional(connection)
        self.java = java.names if java else None

    def about(self, name: str) -> StoredSet:
        return self._sets.get(name, _UNKNOWN_SET)

    def is_candidate(self, run: Run) -> bool:
        """Tell whether it is a run of the engine that is judged, with any of its options, and not
        of a reference."""
        return engines.entry(run.cell.engine).label == self.about(run.set).candidate

    def compared(self) -> list[Compared]:
        """Return the cells that ended well on both engines."""
        candidates = {
            run.subject(self.about(run.set).own): run for run in self.runs if self.is_candidate(run)
        }
        both: dict[tuple[str, Cell], tuple[Cell, list[tuple[float, float, float]]]] = {}
        for run in self.runs:
            other = candidates.get(run.subject())
            if other is None or self.is_candidate(run) or run.cost is None or other.cost is None:
                continue
            _, costs = both.setdefault((run.set, replace(run.cell, seed=0)), (run.cell, []))
            costs.append((other.cost, run.cost, run.spread))
        compared = []
        for (name, _), (cell, costs) in both.items():
            candidate, reference, spread = zip(*costs, strict=True)
            # Repeats may differ by more than the samples of one.
            apart = max(fmean(spread), max(reference) - min(reference))
            means = fmean(candidate), fmean(reference)
            compared.append(Compared(name, cell, *means, apart, reference))
        return compared


def summarize(connection: sqlite3.Connection) -> list[SetSummary]:
    """Return every set by reference and ISA, and behind several ISAs the whole set. The bars apply
    to that, or to each ISA where the set says so. Empty for a database without validation."""
    stored = Stored(connection)
    cells = stored.compared()
    threads: dict[str, int] = {}
    for run in stored.runs:
        threads[run.set] = max(run.cell.threads, threads.get(run.set, 0))
    groups = {
        (run.set, run.cell.engine, run.cell.isa)
        for run in stored.runs
        if not stored.is_candidate(run)
    }
    # As the registry has the engines, and what runs alone before what contends.
    ordered = sorted(groups, key=lambda g: (engines.order(g[1]), threads[g[0]], g))
    summaries = []
    for (name, engine), some in itertools.groupby(ordered, key=lambda g: g[:2]):
        about = stored.about(name)
        unjudged = StoredSet(title=about.title, candidate=about.candidate, own=about.own)
        here = [c for c in cells if (c.set, c.cell.engine) == (name, engine)]
        members = [
            run
            for run in stored.runs
            if run.set == name and (run.cell.engine == engine or stored.is_candidate(run))
        ]
        isas = [isa for _, _, isa in some]
        by_isa = len(isas) == 1 or about.each_isa
        for isa in isas:
            of_isa = (
                [c for c in here if c.cell.isa == isa],
                [r for r in members if r.cell.isa == isa],
            )
            bars = about if by_isa else unjudged
            summaries.append(_summary((name, engine, isa), bars, *of_isa, stored.java))
        if len(isas) > 1:  # what is found in it stands with the ISAs
            bars = unjudged if by_isa else about
            whole = _summary((name, engine, ALL_ISAS), bars, here, members, stored.java)
            whole = replace(whole, worst_cell="", contests=0, winner_changes=(), left_out={})
            summaries.append(whole)
    return summaries


def _summary(
    place: tuple[str, str, str],  # set, reference, ISA
    about: StoredSet,
    cells: Sequence[Compared],
    runs: Sequence[Run],
    java: Sequence[str] | None,
) -> SetSummary:
    name, reference, isa = place
    worst = max(cells, key=lambda cell: abs(cell.error), default=None)
    errors = [cell.error for cell in cells]
    pairs = [
        (cheap, dear)
        for contest in contests(cells)
        for cheap, dear in apart(contest)
        if dear.reference - cheap.reference > CLEAR * cheap.reference
    ]
    agreed = [cheap.candidate < dear.candidate for cheap, dear in pairs]
    told = [
        (dear.candidate - cheap.candidate) / (dear.reference - cheap.reference)
        for contest in contests(cells)
        for cheap, dear in apart(contest)
    ]
    of_java = contests([cell for cell in cells if java is None or cell.cell.lock in java])
    changes = tuple(filter(None, map(_change, of_java)))
    mean = fmean(map(abs, errors)) if errors else None
    highest = abs(worst.error) if worst else None
    middle = median(map(abs, errors)) if errors else None
    share = sum(agreed) / len(agreed) if agreed else None
    difference = median(abs(ratio - 1) for ratio in told) if told else None
    signs = sum(ratio > 0 for ratio in told) / len(told) if told else None
    judged = {
        bar: value <= limit
        for bar, value, limit in (
            ("mean", mean, about.mean),
            ("median", middle, about.median),
            ("worst", highest, about.worst),
            ("difference", difference, about.difference),
        )
        if value is not None and limit is not None
    }
    for bar, value, least in (("order", share, about.order), ("sign", signs, about.sign)):
        if value is not None and least is not None:
            judged[bar] = value >= least
    if about.lead is not None:
        judged["lead"] = all(change.lead <= about.lead for change in changes)
    if any(run.status == "failed" for run in runs):
        judged["runs"] = False
    return SetSummary(
        name,
        about.title or name,
        about.candidate,
        reference,
        isa,
        len(cells),
        mean_error=mean,
        median_error=middle,
        worst_error=highest,
        worst_cell=worst.words() if worst else "",
        signed_error=fmean(errors) if errors else None,
        order_share=share,
        order_pairs=len(agreed),
        difference_error=difference,
        sign_share=signs,
        sign_pairs=len(told),
        floor_share=_floor(cells),
        contests=len(of_java),
        winner_changes=changes,
        left_out=_left_out((reference, about.candidate), runs, about.own),
        bars=about,
        judged=judged,
    )


def _floor(cells: Sequence[Compared]) -> float | None:
    """Return the share of pairs of locks on which the first two repeats of the reference agree, of
    those that differ clearly by both together; None where there is no second."""
    agreed = []
    for contest in contests([cell for cell in cells if len(cell.repeats) > 1]):
        for pair in itertools.combinations(contest, 2):
            cheap, dear = sorted(pair, key=lambda cell: cell.reference)
            if dear.reference - cheap.reference > CLEAR * cheap.reference:
                both = zip(cheap.repeats[:2], dear.repeats[:2], strict=True)
                agreed.append(all(low < high for low, high in both))
    return sum(agreed) / len(agreed) if agreed else None


def contests(cells: Sequence[Compared]) -> list[list[Compared]]:
    """Return the cells by setting, without the floor, where there are two or more."""
    settings: dict[Cell, list[Compared]] = {}
    for compared in cells:
        if compared.cell.lock != FLOOR:
            settings.setdefault(compared.setting, []).append(compared)
    return [contest for contest in settings.values() if len(contest) > 1]


def apart(contest: Sequence[Compared]) -> Iterator[tuple[Compared, Compared]]:
    """Return each two locks that the reference tells apart, the cheaper one there first."""
    for pair in itertools.combinations(contest, 2):
        cheap, dear = sorted(pair, key=lambda cell: cell.reference)
        if dear.reference - cheap.reference > max(cheap.spread, dear.spread):
            yield cheap, dear


def _change(contest: Sequence[Compared]) -> WinnerChange | None:
    """Return the change of winner, if there is one: locks of equal cost share the first place, and
    so do samples that differ by less than their spread."""
    here = min(contest, key=lambda c: (c.reference, c.cell.label))
    there = min(contest, key=lambda c: (c.candidate, c.reference, c.cell.label))
    if any(
        compared.reference - here.reference <= max(here.spread, compared.spread)
        for compared in contest
        if compared.candidate == there.candidate
    ):
        return None
    second = min(compared.reference for compared in contest if compared is not here)
    loss, lead = (cost / here.reference - 1 for cost in (there.reference, second))
    return WinnerChange(setting_words(here.cell), here.cell.label, there.cell.label, loss, lead)


def _left_out(
    pair: tuple[str, str], runs: Sequence[Run], own: Collection[str]
) -> dict[str, list[str]]:
    """Return cells without a comparison between a pair of engines, by the reason, the most first.
    `own`: axes that the second sets by itself."""
    reference, candidate = pair
    sides: dict[tuple[str, Cell, LockLabel], dict[str, Run]] = {}
    for run in runs:
        if run.cell.engine == reference:
            sides.setdefault(run.subject(), {})[reference] = run
        else:
            sides.setdefault(run.subject(own), {})[candidate] = run
    left_out: dict[str, list[str]] = {}
    for (_, setting, label), both in sides.items():
        reasons = []
        for engine in pair:
            if (side := both.get(engine)) is None:
                reasons.append(f"no run of {engine}")
            elif side.status != "ok":
                reasons.append(f"{engine} {side.status}: {side.cause}")
            elif side.cost is None:
                reasons.append(f"{engine}: no pairs")
        if reasons:
            words = f"{label.words()} in {setting_words(setting)}"
            left_out.setdefault("; ".join(reasons), []).append(words)
    return dict(sorted(left_out.items(), key=lambda both: -len(both[1])))


def speeds(connection: sqlite3.Connection) -> list[Speed]:
    """Return how fast each engine is, in the order of the registry; only of runs that ended
    well."""
    by_engine: dict[str, dict[int, tuple[float, float]]] = {}
    for run in Stored(connection).runs:  # a run may serve in several sets
        if run.cost is not None and run.instructions is not None and run.duration_s > 0:
            by_engine.setdefault(run.cell.engine, {})[run.id] = (run.duration_s, run.instructions)
    rows = []
    for engine in sorted(by_engine, key=engines.order):
        runs = by_engine[engine].values()
        seconds, instructions = map(sum, zip(*runs, strict=True))
        rows.append(Speed(engine, len(runs), instructions / seconds, 3600 * len(runs) / seconds))
    return rows
