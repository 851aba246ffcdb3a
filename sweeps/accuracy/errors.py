"""The errors, from errors.csv, of a cost and of a lead that the embedded engine predicts."""

import csv
import io
import itertools
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from results.errors import LockcrossError, writing
from results.paths import REFERENCE
from sweeps.accuracy.curve import Curve, Reliability, Steps
from sweeps.model.locks import LockLabel

STORED = REFERENCE / "errors.csv"
LEADS = (0, 2, 5, 10, 15, 20, 30, 40, 50)  # percent, from which on pairs are counted

SILICON = "silicon"  # stands for the engine that is a processor; others have their family's name
PUBLISHED = "published"  # measured by others, on processors that are not at hand
OUT_OF_ORDER, IN_ORDER = "out of order", "in order"
ONE_THREAD, IN_TURN, CONTENDED = "one thread", "in turn", "contended"
OPERATIONS = "single operations"  # no locks: an addition, a call, a line that is handed over
_SEVERAL_THREADS = {  # what their kernels say of themselves; several threads of others: unknown
    **dict.fromkeys(("lock_sequence", "lock_trace", "lock_mix", "rounds", "lock_use"), IN_TURN),
    **dict.fromkeys(("threads", "threads_apart", "random_threads"), CONTENDED),
}
# Locks by what a pair by the only thread takes. In a row of BOTH a pair of locks has one of each.
ATOMIC, NO_ATOMIC, BOTH, ANY = "atomic", "no atomic", "atomic and no atomic", "any"

_WORK_WORDS = {
    ONE_THREAD: "with one thread",
    IN_TURN: "with threads that take turns",
    CONTENDED: "under contention",
}
_KIND_WORDS = {
    ATOMIC: ", of locks that take an atomic",
    NO_ATOMIC: ", of locks whose owner takes none",
}
_SHARES = ("median_error", "low", "high", "difference_low", "difference_high")
_PLAIN = ("reference", "machine", "core", "work", "kind", "cells", *_SHARES)  # of one value each
COLUMNS = (
    *_PLAIN,
    *(f"{name}_{lead}" for lead in LEADS for name in ("pairs", "right")),
    "locks",
)


def work_of(workload: str, threads: int) -> str | None:
    """Return the kind of work that a workload is for locks; None: it can be several kinds."""
    return ONE_THREAD if threads == 1 else _SEVERAL_THREADS.get(workload)


@dataclass(frozen=True)
class ErrorCount:
    """How far the embedded engine was off against one reference.

    `machine`: the name of the machine on both sides; `locks`: which labels, without their fence
    kinds. `median_error`: of absolute errors, as a share of the reference's cost. `low` and `high`:
    the 10th and the 90th percentile of measured over predicted cost. `difference_low` and
    `difference_high`: the same of the difference of two locks with a reliable lead; None where too
    few are. `pairs`: of locks in one setting that the reference tells apart, with a predicted lead
    of at least each of LEADS; `right`: in how many of them the predicted order is the reference's.
    """

    reference: str
    machine: str
    core: str
    work: str
    kind: str
    cells: int
    median_error: float
    low: float
    high: float
    difference_low: float | None
    difference_high: float | None
    pairs: tuple[int, ...]
    right: tuple[int, ...]
    locks: tuple[LockLabel, ...]


def counted(
    subject: tuple[str, str, str, str],
    kind: str,
    costs: Sequence[tuple[float, float]],
    pairs: Iterable[tuple[float, float, float]],
    labels: Iterable[LockLabel] = (),
) -> ErrorCount:
    """Count a row about `subject`: reference, machine, core and work. `costs`: two or more, each
    the reference's and the predicted one; `pairs`: the predicted costs of two that the reference
    tells apart, of the cheaper one there first, and the reference's difference."""
    judged = []  # the lead, a share of the dearer one's cost, whether it is right, the differences
    for cheap, dear, difference in pairs:
        low, high = sorted((cheap, dear))
        if low != high:
            judged.append(((high - low) / high, cheap < dear, difference / (dear - cheap)))
    tenths = quantiles((known / predicted for known, predicted in costs), n=10, method="inclusive")
    above = [[right for lead, right, _ in judged if 100 * lead >= least] for least in LEADS]
    row = ErrorCount(
        *subject,
        kind,
        len(costs),
        median(abs(predicted / known - 1) for known, predicted in costs),
        tenths[0],
        tenths[-1],
        None,
        None,
        tuple(map(len, above)),
        tuple(map(sum, above)),
        tuple(sorted(set(labels))),
    )
    least = curve_of(row).decisive
    reliable = [ratio for lead, _, ratio in judged if least is not None and lead >= least]
    if len(reliable) < ENOUGH_PAIRS:
        return row
    tenths = quantiles(reliable, n=10, method="inclusive")
    return replace(row, difference_low=tenths[0], difference_high=tenths[-1])


def text_of(rows: Iterable[ErrorCount]) -> str:
    """Return the rows as CSV. Shares are rounded to four places."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        counts = itertools.chain(*zip(row.pairs, row.right, strict=True))
        plain = (getattr(row, name) for name in _PLAIN)
        values = [f"{value:.4f}" if isinstance(value, float) else value for value in plain]
        writer.writerow([*values, *counts, " ".join(row.locks)])
    return out.getvalue()


def keep(rows: Iterable[ErrorCount], path: Path = STORED) -> None:
    """Replaces the stored rows. Raises LockcrossError where they cannot be written."""
    with writing(path, "check its permissions"):
        path.write_text(text_of(rows), encoding="utf-8", newline="")


def read_rows(path: Path = STORED) -> list[ErrorCount]:
    """The stored rows. Raises LockcrossError for a file that is missing or has another form."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            columns, *lines = csv.reader(file, strict=True)
        if tuple(columns) != COLUMNS:
            raise LockcrossError(f"{path.name}: its columns must be {', '.join(COLUMNS)}")
        return [_row(line) for line in lines]
    except OSError as error:
        raise LockcrossError(f"{path}: {error.strerror}", exit_code=1) from None
    except (ValueError, csv.Error) as error:
        raise LockcrossError(f"{path.name}: {error}") from None


def _row(line: Sequence[str]) -> ErrorCount:
    """From the values of COLUMNS. Raises ValueError."""
    *counts, locks = line[len(_PLAIN) :]
    numbers = tuple(map(int, counts))
    values: dict[str, Any] = dict(zip(_PLAIN, line, strict=False))
    values["cells"] = int(values["cells"])
    for name in _SHARES:
        # Only the difference of two locks may be unknown.
        unknown = name.startswith("difference") and not values[name]
        values[name] = None if unknown else float(values[name])
    return ErrorCount(
        **values,
        pairs=numbers[::2],
        right=numbers[1::2],
        locks=tuple(map(LockLabel, locks.split())),
    )


ENOUGH_CELLS, ENOUGH_PAIRS = 20, 30  # of a row, to be asked at all


@dataclass(frozen=True)
class EngineError:
    """How far the engine was off at some kind of work. `words`: the reference, and how many cells.

    `median`: of absolute errors, a share. A predicted cost times `low` and times `high` is the
    interval within which eight in ten measured costs lay. `decisive`: the least predicted lead, a
    share, from which on nine of ten pairs are in the right order; None: no lead is known to be
    decisive.
    """

    words: str
    median: float
    low: float
    high: float
    decisive: float | None
    row: ErrorCount

    @property
    def least(self) -> float:
        """Return the least lead that is reliable; 1, which none is, where none is known to be."""
        return 1.0 if self.decisive is None else self.decisive

    @property
    def difference(self) -> tuple[float | None, float | None]:
        """Return two factors for a reliable difference of two predicted costs; they give the
        interval within which eight in ten measured differences lay. None where that is not
        known."""
        return self.row.difference_low, self.row.difference_high

    def reliability(self, lead: float) -> Reliability:
        """Return how often pairs with a predicted lead (a share) are in the right order."""
        return curve_of(self.row).at(lead)


def processor_of(title: str) -> str:
    """Return the processor's name from a machine's title; rows name it so."""
    return title.partition(",")[0]


def error_of(
    out_of_order: bool,
    work: str,
    kinds: Collection[str],
    rows: Sequence[ErrorCount] | None = None,
    title: str = "",
) -> EngineError:
    """Return the error at locks of `kinds` (ATOMIC, NO_ATOMIC, one or both; ANY) at work of a kind.

    Taken from silicon if enough was compared there, else from a simulator: from the processor
    itself, of which `title` is the machine's, where it was compared, else from the one that the
    engine was farthest from; else from locks of any kind, else from cores of the other kind, and
    `words` says so. `rows`: the stored ones. Raises LockcrossError where nothing was compared at
    such work.
    """
    one_kind = next(iter(kinds)) if len(set(kinds)) == 1 else ANY
    wanted = BOTH if set(kinds) == {ATOMIC, NO_ATOMIC} else one_kind
    core, other = (OUT_OF_ORDER, IN_ORDER) if out_of_order else (IN_ORDER, OUT_OF_ORDER)
    known = _stored() if rows is None else rows
    for place in ((c, kind) for c in (core, other) for kind in dict.fromkeys((wanted, ANY))):
        rows_there = [row for row in known if (row.core, row.kind, row.work) == (*place, work)]
        enough = [r for r in rows_there if r.cells >= ENOUGH_CELLS and r.pairs[0] >= ENOUGH_PAIRS]
        if enough:
            row = max(
                enough,
                key=lambda row: (
                    row.reference == SILICON,
                    row.machine == processor_of(title),
                    row.median_error,
                ),
            )
            against = f"silicon: {row.machine}" if row.reference == SILICON else row.machine
            words = f"against {against}, {row.cells} cells {_WORK_WORDS[row.work]}"
            words += _KIND_WORDS.get(row.kind, "")
            if place[0] != core:
                words += f", on cores {other}: too little was compared {core}"
            decisive = curve_of(row).decisive
            return EngineError(words, row.median_error, row.low, row.high, decisive, row)
    raise LockcrossError(f"nothing has been compared with another engine at work {work!r}")


def kind_of(label: str, rows: Sequence[ErrorCount] | None = None) -> str:
    """Return ATOMIC or NO_ATOMIC, by the path that an object's only thread takes through the lock;
    ANY for a lock that has not been compared. The fence kind does not matter."""
    plain = LockLabel(label).with_full_fences
    known = _stored() if rows is None else rows
    held = {row.kind for row in known if plain in row.locks}
    return next((kind for kind in (ATOMIC, NO_ATOMIC) if kind in held), ANY)


@cache
def _stored() -> list[ErrorCount]:
    return read_rows()


@cache
def curve_of(row: ErrorCount) -> Curve:
    """Return how often pairs were in the right order, over their predicted lead."""
    ends = zip(LEADS, (*LEADS[1:], 100), strict=True)
    counts = zip((*row.right, 0), (*row.pairs, 0), strict=True)
    steps = (
        Steps((low + high) / 2, right - less_right, pairs - less_pairs)
        for (low, high), ((right, pairs), (less_right, less_pairs)) in zip(
            ends, pairwise(counts), strict=True
        )
    )
    return Curve(tuple(step for step in steps if step.pairs))
