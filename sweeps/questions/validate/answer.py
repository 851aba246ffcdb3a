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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

from results.store.facts import Fact
from sweeps.model import engines
from sweeps.model.axes import LATENCIES, QUANTITIES
from sweeps.model.cell import Cell, read_cell, selected
from sweeps.model.isa import flavour_name
from sweeps.model.label import LockLabel

FLOOR = "null"  # what a workload costs without a lock: in no contest
ALL_ISAS = "all"  # stands for the ISA in the summary of a whole set
CLEAR = 0.10  # two locks are ranked only if their costs on the reference differ by more

_RUNS = f"""SELECT series.name, runs.id, status, cause, duration_s, cycles_per_pair,
    (SELECT value FROM metrics WHERE run_id = runs.id AND name = 'cycles_per_pair_iqr'),
    (SELECT value FROM metrics WHERE run_id = runs.id AND name = 'instructions'), {selected()}
FROM series JOIN runs ON runs.id = series.run_id
WHERE series.name GLOB 'validation/*' ORDER BY series.name, runs.id"""


def setting_words(setting: Cell) -> str:
    """What the locks of a contest have in common, readable."""
    given = ", ".join(f"{key} {value}" for key, value in setting.parameters.items())
    threads = f"{setting.threads} thread{'s' if setting.threads > 1 else ''}"
    if setting.cores is not None:
        threads += f" on {setting.cores} core{'s' if setting.cores > 1 else ''}"
    parts = [
        f"{setting.workload} ({given})",
        threads,
        f"{setting.machine} {flavour_name(setting.flavour)}",
    ]
    parts += [
        f"{QUANTITIES[axis].set_to} {value}"
        for axis in LATENCIES
        if (value := getattr(setting, axis)) is not None
    ]
    return ", ".join(parts)


@dataclass(frozen=True)
class Run:
    """A run of a validation set."""

    set: str
    id: int
    status: str
    cause: str
    duration_s: float
    cost: float | None  # cycles per pair
    spread: float | None  # of that, between the quartiles; None where every run gives the same
    instructions: float | None
    cell: Cell

    @property
    def ok(self) -> bool:
        """It ended well and says what it cost."""
        return self.status == "ok" and self.cost is not None


@dataclass(frozen=True)
class Compared:
    """The same cell on both engines, in cycles per pair; `cell` is the reference's, and so is
    `spread`. Costs are means over the seeds; the cell is the first seed's."""

    set: str
    cell: Cell
    candidate: float
    reference: float
    spread: float = 0.0

    @property
    def error(self) -> float:
        """Relative to the reference, with its sign: above zero, the candidate is the dearer."""
        return (self.candidate - self.reference) / self.reference

    def words(self) -> str:
        """Lock and setting, readable."""
        return f"{self.cell.label.words()} in {setting_words(self.cell)}"


@dataclass(frozen=True)
class LeftOut:
    """A cell that could not be compared, and why."""

    cell: str
    reason: str


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
    fractions; None: nothing to take them from, or no bar. `met` is None where there is no bar or no
    cell."""

    set: str
    title: str
    candidate: str
    reference: str
    isa: str
    cells: int
    mean_error: float | None  # of absolute values
    worst_error: float | None  # absolute
    worst_cell: str
    signed_error: float | None
    order_share: float | None
    order_pairs: int
    contests: int  # settings with two Java locks or more
    winner_changes: tuple[WinnerChange, ...]
    left_out: tuple[LeftOut, ...]
    bar_mean: float | None
    bar_worst: float | None
    bar_order: float | None
    bar_lead: float | None
    met: bool | None
    missed_bars: tuple[str, ...]  # mean, worst, order, lead; runs: some failed
    known: tuple[str, ...]  # those that are known to be
    missed: str  # why a bar is missed; empty: nobody has said

    @property
    def newly_missed(self) -> bool:
        """A bar is missed that is not known to be."""
        return self.met is False and not set(self.missed_bars) <= set(self.known)


@dataclass(frozen=True)
class Speed:
    """How fast one process of an engine is, over its validation runs."""

    engine: str
    runs: int
    instructions_per_s: float
    cells_per_hour: float


@dataclass(frozen=True)
class Bars:
    """What a set is judged by, as shares; None is no bar. `each_isa`: each ISA is judged, not the
    whole set. `known`: by ISA, the bars that are known to be missed, and in `missed` why."""

    title: str = ""
    candidate: str = engines.DEFAULT
    mean: float | None = None
    worst: float | None = None
    order: float | None = None
    lead: float | None = None
    each_isa: bool = False
    known: dict[str, list[str]] = field(default_factory=dict)
    missed: str = ""


@dataclass(frozen=True)
class JavaLocks:
    """The locks that a Java runtime could choose from."""

    names: list[str]


BARS: Fact[dict[str, Bars]] = Fact("validation_bars", dict[str, Bars])  # by set
JAVA_LOCKS: Fact[JavaLocks] = Fact("java_locks", JavaLocks)


def java_locks(connection: sqlite3.Connection) -> list[str] | None:
    """The locks that a Java runtime could choose from; None where the database does not say."""
    kept = JAVA_LOCKS.optional(connection)
    return kept.names if kept else None


def load(connection: sqlite3.Connection) -> list[Run]:
    """Every run of every validation set."""
    return [_run(*row) for row in connection.execute(_RUNS)]


def _run(
    series: str, run_id: int, status: str, cause: str, seconds: float, cost: float | None,
    spread: float | None, instructions: float | None, *columns: Any,
) -> Run:  # fmt: skip
    """A row of _RUNS."""
    name, cell = series.partition("/")[2], read_cell(columns)
    return Run(name, run_id, status, cause, seconds, cost, spread, instructions, cell)


def candidates(connection: sqlite3.Connection) -> dict[str, str]:
    """Set -> the engine that is judged there."""
    return {name: bars.candidate for name, bars in (BARS.optional(connection) or {}).items()}


def compare(connection: sqlite3.Connection) -> list[Compared]:
    """The cells that ended well on both engines."""
    return _compare(load(connection), candidates(connection))


def _compare(runs: Sequence[Run], judged: Mapping[str, str]) -> list[Compared]:
    def is_candidate(run: Run) -> bool:
        return run.cell.engine == judged.get(run.set, engines.DEFAULT)

    others = {_subject(run): run for run in runs if is_candidate(run)}
    found = []
    for run in runs:
        other = others.get(_subject(run))
        if is_candidate(run) or other is None or not (run.ok and other.ok):
            continue
        assert run.cost is not None and other.cost is not None
        found.append(Compared(run.set, run.cell, other.cost, run.cost, run.spread or 0.0))
    return _over_seeds(found)


def _over_seeds(cells: Sequence[Compared]) -> list[Compared]:
    groups: dict[tuple[str, Cell], list[Compared]] = {}
    for one in cells:
        groups.setdefault((one.set, replace(one.cell, seed=0)), []).append(one)
    return [
        replace(
            some[0],
            candidate=fmean(one.candidate for one in some),
            reference=fmean(one.reference for one in some),
            spread=fmean(one.spread for one in some),
        )
        for some in groups.values()
    ]


def _subject(run: Run) -> tuple[str, Cell, LockLabel]:
    """What two runs that are compared have in common."""
    return run.set, run.cell.setting(), run.cell.label


def summarize(connection: sqlite3.Connection) -> list[SetSummary]:
    """Every set by reference and ISA, and behind several ISAs the whole set. The bars apply to
    that, or to each ISA where the set says so. Empty for a database without validation."""
    runs = load(connection)
    judged = candidates(connection)
    known = BARS.optional(connection) or {}
    java = java_locks(connection)
    cells = _compare(runs, judged)
    threads = {
        name: max(run.cell.threads for run in runs if run.set == name)
        for name in {run.set for run in runs}
    }
    groups = {
        (r.set, r.cell.engine, r.cell.isa)
        for r in runs
        if r.cell.engine != judged.get(r.set, engines.DEFAULT)
    }
    # As the registry has the engines, and what runs alone before what contends.
    ordered = sorted(groups, key=lambda g: (engines.order(g[1]), threads[g[0]], g))
    found = []
    for (title, engine), some in itertools.groupby(ordered, key=lambda g: g[:2]):
        bars = known.get(title, Bars())
        unjudged = Bars(title=bars.title)
        pair = (judged.get(title, engines.DEFAULT), engine)
        here = [c for c in cells if (c.set, c.cell.engine) == (title, engine)]
        own = [r for r in runs if r.set == title and r.cell.engine in pair]
        isas = [isa for _, _, isa in some]
        by_isa = len(isas) == 1 or bars.each_isa
        found += [
            _summary(
                (title, *pair, isa),
                bars if by_isa else unjudged,
                [c for c in here if c.cell.isa == isa],
                [r for r in own if r.cell.isa == isa],
                java,
            )
            for isa in isas
        ]
        if len(isas) > 1:  # what is found in it stands with the ISAs
            of_all = unjudged if by_isa else bars
            whole = _summary((title, *pair, ALL_ISAS), of_all, here, own, java)
            found.append(replace(whole, worst_cell="", contests=0, winner_changes=(), left_out=()))
    return found


def _summary(
    group: tuple[str, str, str, str], bars: Bars, cells: Sequence[Compared],
    runs: Sequence[Run], java: Sequence[str] | None,
) -> SetSummary:  # fmt: skip
    name, candidate, reference, isa = group
    worst = max(cells, key=lambda cell: abs(cell.error), default=None)
    agreed = [same for contest in _contests(cells, None) for same in _orders(contest)]
    contests = _contests(cells, java)
    errors = [cell.error for cell in cells]
    mean = fmean(map(abs, errors)) if errors else None
    highest = abs(worst.error) if worst else None
    share = sum(agreed) / len(agreed) if agreed else None
    failed = any(run.status == "failed" for run in runs)
    changes = tuple(change for c in contests if (change := _change(c)))
    judged = _judged(bars, mean, highest, share, changes) | ({"runs": False} if failed else {})
    barred = any(bar is not None for bar in (bars.mean, bars.worst, bars.order, bars.lead))
    met = all(judged.values()) if barred and judged else None
    return SetSummary(
        set=name, title=bars.title or name, candidate=candidate, reference=reference, isa=isa,
        cells=len(cells),
        mean_error=mean, worst_error=highest, worst_cell=worst.words() if worst else "",
        signed_error=fmean(errors) if errors else None,
        order_share=share, order_pairs=len(agreed), contests=len(contests),
        winner_changes=changes,
        left_out=tuple(_left_out((reference, candidate), runs)),
        bar_mean=bars.mean, bar_worst=bars.worst, bar_order=bars.order,
        bar_lead=bars.lead,
        met=met, missed_bars=tuple(bar for bar, within in judged.items() if not within),
        known=tuple(bars.known.get(isa, ())), missed=bars.missed,
    )  # fmt: skip


def _contests(cells: Sequence[Compared], locks: Sequence[str] | None) -> list[list[Compared]]:
    """Cells of `locks` (None: of all but the floor) by setting, where there are two or more."""
    settings: dict[Cell, list[Compared]] = {}
    for one in cells:
        if one.cell.lock != FLOOR and (locks is None or one.cell.lock in locks):
            settings.setdefault(one.cell.setting(), []).append(one)
    return [contest for contest in settings.values() if len(contest) > 1]


def _orders(contest: Sequence[Compared]) -> list[bool]:
    """For each two locks that clearly differ on the reference: have both the same order?"""
    found = []
    for pair in itertools.combinations(contest, 2):
        cheap, dear = sorted(pair, key=lambda cell: cell.reference)
        apart = dear.reference - cheap.reference
        if apart > CLEAR * cheap.reference and apart > max(cheap.spread, dear.spread):
            found.append(cheap.candidate < dear.candidate)
    return found


def _change(contest: Sequence[Compared]) -> WinnerChange | None:
    """The change of winner, if there is one: locks of equal cost share the first place, and so do
    samples that differ by less than their spread."""
    least = min(one.reference for one in contest)
    least_there = min(one.candidate for one in contest)
    first = next(one for one in contest if one.reference == least)
    if any(
        one.reference - least <= max(first.spread, one.spread) and one.candidate == least_there
        for one in contest
    ):
        return None
    here = min((c for c in contest if c.reference == least), key=lambda c: c.cell.label)
    there = min(
        (c for c in contest if c.candidate == least_there),
        key=lambda c: (c.reference, c.cell.label),
    )
    return WinnerChange(
        setting_words(here.cell), here.cell.label, there.cell.label, there.reference / least - 1,
        min(one.reference for one in contest if one is not here) / least - 1,
    )  # fmt: skip


def _left_out(pair: tuple[str, str], runs: Sequence[Run]) -> list[LeftOut]:
    """Cells of a set and ISA without a comparison between a pair of engines."""
    sides: dict[tuple[str, Cell, LockLabel], dict[str, Run]] = {}
    for run in runs:
        sides.setdefault(_subject(run), {})[run.cell.engine] = run
    found = []
    for (_, setting, label), both in sides.items():
        reasons = [
            _why_not(side, both.get(side)) for side in pair if side not in both or not both[side].ok
        ]
        if reasons:
            words = f"{label.words()} in {setting_words(setting)}"
            found.append(LeftOut(words, "; ".join(reasons)))
    return found


def _why_not(engine: str, run: Run | None) -> str:
    if run is None:
        return f"no run of {engine}"
    return f"{engine} {run.status}: {run.cause}" if run.status != "ok" else f"{engine}: no pairs"


def _judged(
    bars: Bars, mean: float | None, worst: float | None, order: float | None,
    changes: Sequence[WinnerChange],
) -> dict[str, bool]:  # fmt: skip
    """Of each bar that something is held against: whether the errors are within it, the share of
    agreed orders above it, and no winner changed whose lead is above it."""
    judged = {}
    if mean is not None and bars.mean is not None:
        judged["mean"] = mean <= bars.mean
    if worst is not None and bars.worst is not None:
        judged["worst"] = worst <= bars.worst
    if order is not None and bars.order is not None:
        judged["order"] = order >= bars.order
    if bars.lead is not None:
        judged["lead"] = all(change.lead <= bars.lead for change in changes)
    return judged


def speeds(connection: sqlite3.Connection) -> list[Speed]:
    """How fast each engine is, as the registry has them; only of runs that ended well."""
    by_engine: dict[str, dict[int, Run]] = {}
    for run in load(connection):  # a run may serve in several sets
        if run.ok and run.instructions is not None and run.duration_s > 0:
            by_engine.setdefault(run.cell.engine, {})[run.id] = run
    found = []
    for engine in sorted(by_engine, key=engines.order):
        runs = by_engine[engine].values()
        seconds = sum(run.duration_s for run in runs)
        instructions = sum(run.instructions or 0 for run in runs)
        found.append(Speed(engine, len(runs), instructions / seconds, 3600 * len(runs) / seconds))
    return found
