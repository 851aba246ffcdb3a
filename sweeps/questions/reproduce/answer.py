"""A published result beside ours: how it is planned, run and kept, its rows, and whether order and
shape agree.

Each is kept as the fact `reproduction/<name>`; figures and the report read it from there.
"""

import csv
import itertools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from statistics import StatisticsError, correlation, linear_regression, median
from typing import TYPE_CHECKING, Any, Literal

from results.store.facts import Fact
from sweeps.accuracy.errors import (
    ANY,
    CONTENDED,
    ONE_THREAD,
    OPERATIONS,
    OUT_OF_ORDER,
    PUBLISHED,
    ErrorCount,
    counted,
)
from sweeps.accuracy.published import OURS, Published
from sweeps.model.cell import Cell, usual
from sweeps.model.isa import FLAVOURS, ISAS
from sweeps.model.locks import FENCE_KINDS, FULL, LockLabel
from sweeps.model.machine import load_machine
from sweeps.model.workloads import Value
from sweeps.plans import FIRST_STATEMENTS
from sweeps.support.toml import Document

if TYPE_CHECKING:
    from results.store.store import Store
    from sweeps.run.runner import Runner

CURVE = "curve over threads"  # the kind of a row whose series (or group) is one; x: threads
EXPONENT = "exponent"  # the kind of a row that says how a curve grows
EXPONENT_MARGIN = 0.25
_WORKS = {  # kinds of rows that errors.csv counts
    "single mechanisms": OPERATIONS,
    "locks with one thread": ONE_THREAD,
    CURVE: CONTENDED,
}
ORDER_MARGIN = 0.1  # published values nearer than this are in no order
PLAN = "reproduce"  # what the runs are stored under
CLOCK = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}  # names of a cycle's time, in nanoseconds
# Of (a cell's name, a metric or a name in CLOCK), or of (a name in CLOCK, "").
Lookup = Callable[[str, str], float]


@dataclass(frozen=True)
class PublishedRow:
    """One number, published and ours, in one unit.

    `published` None: our point of a curve of which the text gives no values. A range, or a value
    with a tolerance, is a statement that holds or not. `bound_from`: the words that the tolerance
    is from. `why`: why a statement fails, and `shown_by` the command that shows it. `missing`: why
    there is no number of ours.
    `no_number`: the runs give no number of meaning, and nothing has failed. `mark`: something
    published that is drawn at its place and not compared. `kind`: its group in sums.
    `aside`: why it does not judge the simulation, if it does not.
    """

    label: str
    published: Published | None = None
    ours: float | None = None
    tolerance: float | None = None
    bound_from: str = ""
    why: str = ""
    shown_by: str = ""
    series: str = ""
    x: str = ""
    group: str = ""
    note: str = ""
    missing: str = ""
    no_number: bool = False
    mark: Published | None = None
    kind: str = ""
    aside: str = ""

    @property
    def value(self) -> float | None:
        return self.published.value if self.published and self.tolerance is None else None

    @property
    def ratio(self) -> float | None:
        if self.ours is None or not self.value:
            return None
        return self.ours / self.value

    @property
    def judges(self) -> bool:
        """Tell whether it is a number whose ratio says how good the simulation is."""
        return bool(self.ratio) and not self.aside

    @property
    def holds(self) -> bool | None:
        """Tell whether a published statement holds for ours; None where there is none."""
        if self.published is None or self.ours is None or self.value is not None:
            return None
        return self.published.holds(self.ours, self.tolerance or 0.0)

    @property
    def by_our_bound(self) -> bool:
        """Tell whether the verdict rests on a bound of our own: with half or twice of it, it would
        be the other one."""
        if self.published is None or self.ours is None or not self.bound_from.startswith(OURS):
            return False
        bound = self.tolerance or 0.0
        others = (self.published.holds(self.ours, bound * factor) for factor in (0.5, 2))
        return any(other is not self.holds for other in others)

    @property
    def agreement(self) -> str:
        """Return in words whether a statement holds, and why the row stands aside; nothing where
        there is neither."""
        if self.holds is None:
            return self.aside
        verdict = "holds" if self.holds else "does not hold"
        return verdict + ", by our bound" * self.by_our_bound + f"; {self.aside}" * bool(self.aside)


class Plot(Document):
    """How the figure is drawn: "bars" (published beside ours, a place a row) or "lines" (a line a
    series over the numbers x). Empty: not at all."""

    kind: Literal["", "bars", "lines"] = ""
    x: str = ""
    y: str = ""
    log: bool = False
    low: float | None = None  # of the axis of values


@dataclass(frozen=True)
class Reproduction:
    name: str
    title: str
    document: str
    place: str
    machine: str
    unit: str
    scale: str
    rows: tuple[PublishedRow, ...]
    plot: Plot = field(default_factory=Plot)
    notes: tuple[str, ...] = ()

    @property
    def order(self) -> tuple[int, int]:
        """Count the pairs of a group whose published values differ clearly: (in the same order,
        all)."""
        verdicts = [agrees for _, _, agrees in self.pairs()]
        return sum(verdicts), len(verdicts)

    def pairs(self) -> Iterator[tuple[PublishedRow, PublishedRow, bool]]:
        """Yield each pair with an order (the lesser first), and whether ours has the same."""
        for row, other in itertools.combinations(self.rows, 2):
            if row.group != other.group or row.ours is None or other.ours is None:
                continue
            if _clearly_less(row, other):
                yield row, other, row.ours < other.ours
            elif _clearly_less(other, row):
                yield other, row, other.ours < row.ours

    @property
    def statements(self) -> tuple[int, int]:
        """Published statements: (that hold, all)."""
        verdicts = [row.holds for row in self.rows if row.holds is not None and not row.aside]
        return sum(verdicts), len(verdicts)

    @property
    def statements_aside(self) -> dict[str, tuple[int, int]]:
        """Statements of rows that stand aside, by their kind: (that hold, all)."""
        verdicts: dict[str, list[bool]] = {}
        for row in self.rows:
            if row.holds is not None and row.aside:
                verdicts.setdefault(row.kind, []).append(row.holds)
        return {kind: (sum(held), len(held)) for kind, held in verdicts.items()}

    def causes(self) -> dict[tuple[str, str], list[str]]:
        """Return the labels of the statements that fail by their cause: why, and the command that
        shows it; both empty where none is known."""
        causes: dict[tuple[str, str], list[str]] = {}
        for row in self.rows:
            if row.holds is False and not row.aside:
                causes.setdefault((row.why, row.shown_by), []).append(row.label)
        return causes

    @property
    def shape(self) -> float | None:
        """Rank correlation of published and our numbers over a group; the least of the groups with
        three numbers or more, None without any."""
        groups: dict[str, list[tuple[float, float]]] = {}
        for row in self.rows:
            if row.value is not None and row.ours is not None:
                groups.setdefault(row.group, []).append((row.value, row.ours))
        shapes = []
        for both in groups.values():
            published, ours = zip(*both, strict=True)
            if len(both) >= 3 and len(set(published)) > 1:
                shapes.append(rank_correlation(published, ours))
        return min(shapes, default=None)

    @property
    def verdict(self) -> str:
        """Order, shape and statements in words."""
        parts = []
        ratios = [row.ratio for row in self.rows if row.ratio is not None]
        if len(ratios) == 1:
            parts.append(f"ratio {ratios[0]:.2f}")
        if self.order[1]:
            parts.append(f"order {self.order[0]} of {self.order[1]} pairs")
        if self.shape is not None:
            parts.append(f"rank correlation {self.shape:.2f}")
        if self.statements[1]:
            parts.append(f"{self.statements[0]} of {self.statements[1]} statements hold")
        parts += aside_words(self.statements_aside)
        parts += self.sums()
        if missing := sum(bool(row.missing) and not row.no_number for row in self.rows):
            parts.append(f"{missing} of {len(self.rows)} rows missing")
        return "; ".join(parts) or "nothing to compare"

    def sums(self) -> list[str]:
        """Return in words how near rows of a kind are, those that judge: the median factor between
        published and ours, whichever is more; of exponents how many are near."""
        sums = []
        for kind in dict.fromkeys(row.kind for row in self.rows if row.kind and row.judges):
            rows = [row for row in self.rows if row.kind == kind and row.judges]
            if kind == EXPONENT:
                apart = [abs((row.value or 0.0) - (row.ours or 0.0)) for row in rows]
                near = sum(one <= EXPONENT_MARGIN for one in apart)
                sums.append(f"{near} of {len(rows)} exponents within {EXPONENT_MARGIN}")
            else:
                factors = [max(row.ratio, 1 / row.ratio) for row in rows if row.ratio]
                sums.append(f"{kind}: median factor {median(factors):.2f} of {len(rows)}")
        return sums


def aside_words(statements: Mapping[str, tuple[int, int]]) -> list[str]:
    """Return in words how many statements of each kind that stands aside hold."""
    return [f"aside, {kind}: {held} of {every}" for kind, (held, every) in statements.items()]


def first_statements(results: Sequence[Reproduction]) -> tuple[int, int]:
    """Count the statements that were compared first: (that hold, all), (0, 0) where `results` lack
    one's reproduction. Each holds if all the rows hold that ask it today."""
    rows = {one.name: one.rows for one in results}
    with FIRST_STATEMENTS.open(encoding="utf-8", newline="") as file:
        first = list(csv.DictReader(file))
    if not rows.keys() >= {one["reproduction"] for one in first}:
        return 0, 0
    held = 0
    for one in first:
        asking = [
            row.holds for row in rows[one["reproduction"]] if fnmatchcase(row.label, one["rows"])
        ]
        held += bool(asking) and all(asking)
    return held, len(first)


def errors_of(reproduction: Reproduction) -> list[ErrorCount]:
    """Return how far ours is off at the rows that judge, by the processor that a label begins with
    and by kind of work. A row has two numbers at least. Single operations have no order."""
    found: dict[tuple[str, str], list[PublishedRow]] = {}
    for row in reproduction.rows:
        if row.judges and row.kind in _WORKS:
            found.setdefault((row.label.partition(",")[0], _WORKS[row.kind]), []).append(row)
    pairs = [(one, other) for one, other, _ in reproduction.pairs()]
    return [
        counted(
            (PUBLISHED, processor, OUT_OF_ORDER, work),
            ANY,
            [(row.value or 0.0, row.ours or 0.0) for row in rows],
            [
                (
                    cheap.ours or 0.0,
                    dear.ours or 0.0,
                    (dear.value or 0.0) - (cheap.value or 0.0),
                )
                for cheap, dear in pairs
                if cheap in rows and dear in rows and work != OPERATIONS
            ],
        )
        for (processor, work), rows in found.items()
        if len(rows) > 1
    ]


def _clearly_less(row: PublishedRow, other: PublishedRow) -> bool:
    a, b = row.published, other.published
    if a is None or b is None or a.high is None or b.low is None:
        return False
    if row.tolerance is not None or other.tolerance is not None:
        return False
    if (row.value is None or other.value is None) and not row.group:
        return False  # ranges speak of different things, unless they are put into a group
    return b.low > a.high and b.low - a.high > ORDER_MARGIN * abs(a.high)


def rank_correlation(published: Sequence[float], other: Sequence[float]) -> float:
    """Return Spearman's, equal numbers sharing the middle of their ranks; 0 where one is all
    ties."""

    def ranks(values: Sequence[float]) -> list[float]:
        ordered = sorted(values)
        return [(bisect_left(ordered, x) + 1 + bisect_right(ordered, x)) / 2 for x in values]

    try:
        return correlation(ranks(published), ranks(other))
    except StatisticsError:
        return 0.0


KEPT: Fact[Reproduction] = Fact("reproduction", Reproduction)  # one by name


@dataclass(frozen=True)
class PlannedRow:
    """A row without a number of ours, and its source. `if_not_positive`: the text shown instead
    of a number that means something only above zero."""

    row: PublishedRow
    ours: Callable[[Lookup], float]
    if_not_positive: str = ""


@dataclass(frozen=True)
class PlannedReproduction:
    """A reproduction before anything has been run: its `outline`, which has no rows yet, its cells
    by their names, and the rows that they will give."""

    outline: Reproduction
    cells: Mapping[str, Cell]
    rows: tuple[PlannedRow, ...]


def cell_on(
    machine: str,
    label: str,
    workload: str,
    parameters: Mapping[str, Value],
    isa: str = "",
    **axes: Any,
) -> Cell:
    """Return a cell of a reproduction: of the machine's first ISA and its first atomic flavour, if
    neither is named, with a lock label."""
    built = LockLabel(label)
    flavour = isa if isa in FLAVOURS else ISAS[isa or load_machine(machine).isas[0]].flavours[0]
    axes |= {"lock": built.lock, "variant": built.variant, "fence": built.fence}
    return usual(machine, flavour, workload, parameters, **axes)


class _MissingError(Exception):
    """Why a number of ours is missing."""


def run(
    planned: PlannedReproduction, runner: "Runner", store: "Store", keep: bool = True
) -> Reproduction:
    """Run the missing cells and return the result; `keep`: store it, for figures and report."""
    done = runner.run(list(planned.cells.values()), PLAN)
    runs = dict(zip(planned.cells, done, strict=True))

    def cycle_in(unit: str, machine: str) -> float:
        return 1000 / load_machine(machine).clock_mhz.number / CLOCK[unit]

    def lookup(name: str, metric: str) -> float:
        if name in CLOCK:
            return cycle_in(name, planned.outline.machine)
        if metric in CLOCK:
            return cycle_in(metric, planned.cells[name].machine)
        if runs[name].status != "ok":
            raise _MissingError(f"{runs[name].status}: {runs[name].cause}")
        if metric not in runs[name].metrics:
            raise _MissingError(f"a run has no metric {metric!r}")
        return runs[name].metrics[metric]

    rows = []
    for plan in planned.rows:
        try:
            ours = plan.ours(lookup)
        except _MissingError as error:
            rows.append(replace(plan.row, missing=str(error)))
        except ZeroDivisionError:
            rows.append(replace(plan.row, missing="a division by zero"))
        else:
            shown: dict[str, Any] = {"ours": ours}
            if ours <= 0 and plan.if_not_positive:
                shown = {"missing": plan.if_not_positive, "no_number": True}
            rows.append(replace(plan.row, **shown))
    result = replace(planned.outline, rows=(*rows, *exponents(rows)))
    if keep:
        KEPT.of(result.name).write(store, result)
        store.set_series(f"{PLAN}/{result.name}", [run.id for run in done])
    return result


def exponents(rows: Sequence[PublishedRow]) -> Iterator[PublishedRow]:
    """Yield a row for each curve over threads: the slope of the logarithm of cost over that of
    threads, published and ours, from two threads on."""
    points: dict[str, list[PublishedRow]] = {}
    for row in rows:
        if row.kind == CURVE and row.ratio and float(row.x) >= 2:
            points.setdefault(row.series or row.group, []).append(row)
    for series, those in points.items():
        if len(those) < 2:
            continue
        threads = [math.log(float(row.x)) for row in those]
        published, ours = (
            linear_regression(threads, [math.log(value) for value in values]).slope
            for values in ([row.value or 0.0 for row in those], [row.ours or 0.0 for row in those])
        )
        label = f"{series}: exponent of cost over threads, {those[0].x} to {those[-1].x}"
        alike: dict[str, Any] = {"kind": EXPONENT, "group": label, "aside": those[0].aside}
        yield PublishedRow(label, Published(published, published), ours, **alike)


def in_words(text: str) -> str:
    """Return `tasuki/rmw` as `tasuki, locked RMW`."""
    for kind, words in FENCE_KINDS.items():
        if kind != FULL:
            text = text.replace(f"/{kind}", f", {words}")
    return text


def digits(number: float | None) -> str:
    """Return a number in three digits or as a whole one; nothing for none."""
    if number is None:
        return ""
    if number == 0 or not math.isfinite(number):
        return f"{number:g}"
    places = max(0, 2 - math.floor(math.log10(abs(number))))
    return f"{number:,.{places}f}"


def table_rows(reproduction: Reproduction) -> list[PublishedRow]:
    """Return the rows of a table: all but the points of curves, which are the figure's."""
    return [row for row in reproduction.rows if not row.series or row.published or row.missing]


def cells(row: PublishedRow) -> tuple[str, str, str, str]:
    """Return a row's cells in a table: published, ours, ratio, agreement. A tolerance stands with
    the one who set it."""
    published, remark = str(row.published or ""), row.agreement
    if row.published and row.tolerance:
        words = "within" if row.published.value is not None else "give or take"
        words = f"{words if row.tolerance > 0 else 'by at least'} {abs(row.tolerance):.0%}"
        if row.bound_from.startswith(OURS):
            remark += f" ({words}: our tolerance)"
        else:
            published += f" ({words})"
    return published, digits(row.ours) or row.missing, digits(row.ratio), remark.lstrip()
