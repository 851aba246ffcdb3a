"""The embedded engine against gem5: errors, the order of the locks, changed winners, speed.

Pure analysis of the series `validation/<set>`, which hold the runs of both engines. Costs are
cycles per acquire-release pair; errors are relative to gem5. A run that failed or was refused is
named and counted, and takes no part in any mean.
"""

import itertools
import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from results.analysis.study import EMBEDDED, label_of, optional_fact
from results.figures.style import LATENCIES, engine_order, flavour_name, name

FLOOR = "null"  # what a workload costs without a lock: in no contest
ALL_ISAS = "all"  # stands for the ISA in the summary of a whole set
CLEAR = 0.10  # the order of two locks counts when their costs on gem5 differ by more

_COLUMNS = """SELECT series.name, runs.id, engine, lock, fence, variant, machine, isa, flavour,
    workload, parameters, threads, cas, fence_latency, cancel, seed, status, cause, duration_s,
    cost.value, instructions.value
FROM series JOIN runs ON runs.id = series.run_id
LEFT JOIN metrics cost ON cost.run_id = runs.id AND cost.name = 'cycles_per_pair'
LEFT JOIN metrics instructions ON instructions.run_id = runs.id
    AND instructions.name = 'instructions'
WHERE series.name GLOB 'validation/*' ORDER BY series.name, runs.id"""


@dataclass(frozen=True)
class Setting:
    """What the locks of a contest have in common (latencies in cycles as set; None: the
    machine's own). `parameters` is JSON with sorted keys."""

    machine: str
    isa: str
    flavour: str
    workload: str
    parameters: str
    threads: int
    cas: int | None
    fence_latency: int | None
    cancel: int | None
    seed: int

    def words(self) -> str:
        """The setting, readable."""
        given = ", ".join(f"{key} {value}" for key, value in json.loads(self.parameters).items())
        parts = [
            f"{self.workload} ({given})",
            f"{self.threads} thread{'s' if self.threads > 1 else ''}",
            f"{self.machine} {flavour_name(self.flavour)}",
        ]
        parts += [
            f"{words} {value}"
            for key, words in LATENCIES.items()
            if (value := getattr(self, key)) is not None
        ]
        return ", ".join(parts)


@dataclass(frozen=True)
class Run:
    """A run of a validation set."""

    set: str
    id: int
    engine: str
    label: str
    setting: Setting
    status: str
    cause: str
    duration_s: float
    cost: float | None  # cycles per pair
    instructions: float | None

    @property
    def ok(self) -> bool:
        """It ended well and says what it cost."""
        return self.status == "ok" and self.cost is not None


@dataclass(frozen=True)
class Cell:
    """The same cell on both engines, in cycles per pair."""

    set: str
    engine: str  # gem5's label
    label: str
    setting: Setting
    qemu: float
    gem5: float

    @property
    def error(self) -> float:
        """Relative to gem5, with its sign: above zero, the embedded engine is the dearer."""
        return (self.qemu - self.gem5) / self.gem5

    def words(self) -> str:
        """Lock and setting, readable."""
        return f"{name(self.label)} in {self.setting.words()}"


@dataclass(frozen=True)
class LeftOut:
    """A cell that could not be compared, and why."""

    cell: str
    reason: str


@dataclass(frozen=True)
class WinnerChange:
    """A setting in which the engines have different cheapest locks. `loss`: how much dearer the
    embedded engine's winner is on gem5 than gem5's own, relative to it."""

    setting: str
    gem5: str  # lock labels
    qemu: str
    loss: float


@dataclass(frozen=True)
class SetSummary:
    """One set on one engine label and ISA. Errors and shares are fractions; None: nothing to
    take them from, or no bar. `met` is None where there is no bar or no cell."""

    set: str
    title: str
    engine: str
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
    met: bool | None


@dataclass(frozen=True)
class Speed:
    """How fast one process of an engine is, over its validation runs."""

    engine: str
    runs: int
    instructions_per_s: float
    cells_per_hour: float


@dataclass(frozen=True)
class _Bars:
    mean: float | None
    worst: float | None
    order: float | None


def load(connection: sqlite3.Connection) -> list[Run]:
    """Every run of every validation set."""
    return [
        Run(series.partition("/")[2], run_id, engine, label_of(lock, fence, variant),
            Setting(*row[:10]), *row[10:])
        for series, run_id, engine, lock, fence, variant, *row in connection.execute(_COLUMNS)
    ]  # fmt: skip


def compare(runs: Sequence[Run]) -> list[Cell]:
    """The cells that ended well on both engines."""
    embedded = {(r.set, r.setting, r.label): r for r in runs if r.engine == EMBEDDED}
    found = []
    for run in runs:
        other = embedded.get((run.set, run.setting, run.label))
        if run.engine == EMBEDDED or other is None or not (run.ok and other.ok):
            continue
        assert run.cost is not None and other.cost is not None
        found.append(Cell(run.set, run.engine, run.label, run.setting, other.cost, run.cost))
    return found


def summarize(connection: sqlite3.Connection) -> list[SetSummary]:
    """Every set by engine label and ISA, and behind several ISAs the whole set, to which the bars
    apply; empty for a database without validation."""
    runs = load(connection)
    facts = optional_fact(connection, "validation_bars") or {}
    java = (optional_fact(connection, "java_locks") or {}).get("names")
    cells = compare(runs)
    threads = {
        name: max(run.setting.threads for run in runs if run.set == name)
        for name in {run.set for run in runs}
    }
    groups = {(r.set, r.engine, r.setting.isa) for r in runs if r.engine != EMBEDDED}
    # The simplest model first, and what runs alone before what contends.
    ordered = sorted(groups, key=lambda g: (engine_order(g[1]), threads[g[0]], g))
    found = []
    for (title, engine), some in itertools.groupby(ordered, key=lambda g: g[:2]):
        fact = facts.get(title, {})
        here = [c for c in cells if (c.set, c.engine) == (title, engine)]
        isas = [isa for _, _, isa in some]
        found += [
            _summary(
                (title, engine, isa),
                fact if len(isas) == 1 else {"title": fact.get("title", title)},
                [c for c in here if c.setting.isa == isa],
                [r for r in runs if r.set == title and r.setting.isa == isa],
                java,
            )
            for isa in isas
        ]
        if len(isas) > 1:  # what is found in it stands with the ISAs
            everything = [r for r in runs if r.set == title]
            whole = _summary((title, engine, ALL_ISAS), fact, here, everything, java)
            found.append(replace(whole, worst_cell="", contests=0, winner_changes=(), left_out=()))
    return found


def _summary(
    group: tuple[str, str, str], facts: Mapping[str, Any], cells: Sequence[Cell],
    runs: Sequence[Run], java: Sequence[str] | None,
) -> SetSummary:  # fmt: skip
    bars = _Bars(facts.get("mean"), facts.get("worst"), facts.get("order"))
    worst = max(cells, key=lambda cell: abs(cell.error), default=None)
    agreed = [same for contest in _contests(cells, None) for same in _orders(contest)]
    contests = _contests(cells, java)
    errors = [cell.error for cell in cells]
    mean = fmean(map(abs, errors)) if errors else None
    highest = abs(worst.error) if worst else None
    share = sum(agreed) / len(agreed) if agreed else None
    failed = any(r.status == "failed" for r in runs if r.engine in (group[1], EMBEDDED))
    return SetSummary(
        set=group[0], title=facts.get("title", group[0]), engine=group[1], isa=group[2],
        cells=len(cells),
        mean_error=mean, worst_error=highest, worst_cell=worst.words() if worst else "",
        signed_error=fmean(errors) if errors else None,
        order_share=share, order_pairs=len(agreed), contests=len(contests),
        winner_changes=tuple(change for c in contests if (change := _change(c))),
        left_out=tuple(_left_out(group[1], runs)),
        bar_mean=bars.mean, bar_worst=bars.worst, bar_order=bars.order,
        met=_met(bars, mean, highest, share, failed),
    )  # fmt: skip


def _contests(cells: Sequence[Cell], locks: Sequence[str] | None) -> list[list[Cell]]:
    """Cells of `locks` (None: of all but the floor) by setting, where there are two or more."""
    settings: dict[Setting, list[Cell]] = {}
    for cell in cells:
        lock = cell.label.partition("/")[0]
        if lock != FLOOR and (locks is None or lock in locks):
            settings.setdefault(cell.setting, []).append(cell)
    return [contest for contest in settings.values() if len(contest) > 1]


def _orders(contest: Sequence[Cell]) -> list[bool]:
    """For each two locks that clearly differ on gem5: are they in the same order on both?"""
    found = []
    for pair in itertools.combinations(contest, 2):
        cheap, dear = sorted(pair, key=lambda cell: cell.gem5)
        if dear.gem5 > cheap.gem5 * (1 + CLEAR):
            found.append(cheap.qemu < dear.qemu)
    return found


def _change(contest: Sequence[Cell]) -> WinnerChange | None:
    """The change of winner, if there is one: locks of equal cost share the first place."""
    here, there = min(cell.gem5 for cell in contest), min(cell.qemu for cell in contest)
    if any(cell.gem5 == here and cell.qemu == there for cell in contest):
        return None
    on_gem5 = min((c for c in contest if c.gem5 == here), key=lambda c: c.label)
    on_qemu = min((c for c in contest if c.qemu == there), key=lambda c: (c.gem5, c.label))
    return WinnerChange(
        on_gem5.setting.words(), on_gem5.label, on_qemu.label, on_qemu.gem5 / here - 1
    )


def _left_out(engine: str, runs: Sequence[Run]) -> list[LeftOut]:
    """Cells of a set and ISA without a comparison between `engine` and the embedded one."""
    sides: dict[tuple[Setting, str], dict[str, Run]] = {}
    for run in runs:
        if run.engine in (engine, EMBEDDED):
            sides.setdefault((run.setting, run.label), {})[run.engine] = run
    found = []
    for (setting, label), both in sides.items():
        reasons = [
            _why_not(side, both.get(side))
            for side in (engine, EMBEDDED)
            if side not in both or not both[side].ok
        ]
        if reasons:
            found.append(LeftOut(f"{name(label)} in {setting.words()}", "; ".join(reasons)))
    return found


def _why_not(engine: str, run: Run | None) -> str:
    if run is None:
        return f"no run of {engine}"
    return f"{engine} {run.status}: {run.cause}" if run.status != "ok" else f"{engine}: no pairs"


def _met(
    bars: _Bars, mean: float | None, worst: float | None, order: float | None, failed: bool
) -> bool | None:
    """Whether the errors are within the bars, the share of agreed orders above its own, and no run
    failed; None without bars."""
    if (bars.mean, bars.worst, bars.order) == (None, None, None):
        return None
    judged = [
        value <= bar
        for value, bar in ((mean, bars.mean), (worst, bars.worst))
        if value is not None and bar is not None
    ]
    if order is not None and bars.order is not None:
        judged.append(order >= bars.order)
    return not failed and all(judged) if judged or failed else None


def speeds(connection: sqlite3.Connection) -> list[Speed]:
    """How fast each engine is, the embedded one first; only of runs that ended well."""
    by_engine: dict[str, dict[int, Run]] = {}
    for run in load(connection):  # a run may serve in several sets
        if run.ok and run.instructions is not None and run.duration_s > 0:
            by_engine.setdefault(run.engine, {})[run.id] = run
    found = []
    for engine in sorted(by_engine, key=engine_order):
        runs = by_engine[engine].values()
        seconds = sum(run.duration_s for run in runs)
        instructions = sum(run.instructions or 0 for run in runs)
        found.append(Speed(engine, len(runs), instructions / seconds, 3600 * len(runs) / seconds))
    return found
