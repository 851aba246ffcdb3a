"""The rows of results/reference/errors.csv: what they are about; reading and writing them."""

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from results.errors import LockcrossError
from results.model.label import LockLabel
from results.paths import REFERENCE

STORED = REFERENCE / "errors.csv"
LEADS = (0, 2, 5, 10, 15, 20, 30, 40, 50)  # percent, from which on pairs are counted

SILICON = "silicon"  # stands for the engine that is a processor; others have their family's name
OUT_OF_ORDER, IN_ORDER = "out of order", "in order"
ONE_THREAD, IN_TURN, CONTENDED = "one thread", "in turn", "contended"
_SEVERAL_THREADS = {  # what their kernels say of themselves; several threads of others: unknown
    "lock_sequence": IN_TURN, "lock_trace": IN_TURN, "lock_mix": IN_TURN, "rounds": IN_TURN,
    "lock_use": IN_TURN,
    "threads": CONTENDED, "random_threads": CONTENDED,
}  # fmt: skip
# Locks by what a pair by the only thread takes. In a row of BOTH a pair of locks has one of each.
ATOMIC, NO_ATOMIC, BOTH, ANY = "atomic", "no atomic", "atomic and no atomic", "any"

_SUBJECT = ("reference", "machine", "core", "work", "kind")
COLUMNS = (
    *_SUBJECT, "cells", "median_error", "low", "high",
    *(f"{name}_{lead}" for lead in LEADS for name in ("pairs", "right")), "locks",
)  # fmt: skip


def work_of(workload: str, threads: int) -> str | None:
    """What kind of work a workload is for locks; None: it can be several kinds."""
    return ONE_THREAD if threads == 1 else _SEVERAL_THREADS.get(workload)


@dataclass(frozen=True)
class Row:
    """How far the embedded engine was off against one reference.

    `machine`: what stood on both sides; `locks`: which labels, without their fence kinds.
    `median_error`: of absolute errors, as a share of the reference's cost. `low` and `high`: the
    10th and the 90th percentile of measured over predicted cost. `pairs`: of locks in one setting
    that the reference tells apart, with a predicted lead of at least each of LEADS; `right`: in how
    many of them the predicted order is the reference's.
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
    pairs: tuple[int, ...]
    right: tuple[int, ...]
    locks: tuple[LockLabel, ...]


def text_of(rows: Iterable[Row]) -> str:
    """The rows as CSV. Shares are rounded to four places."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        counts = [n for both in zip(row.pairs, row.right, strict=True) for n in both]
        shares = [f"{share:.4f}" for share in (row.median_error, row.low, row.high)]
        subject = [getattr(row, name) for name in _SUBJECT]
        writer.writerow([*subject, row.cells, *shares, *counts, " ".join(row.locks)])
    return out.getvalue()


def keep(rows: Iterable[Row], path: Path = STORED) -> None:
    """Replaces the stored rows. Raises LockcrossError where they cannot be written."""
    try:
        path.write_text(text_of(rows), encoding="utf-8", newline="")
    except OSError as error:
        raise LockcrossError(f"{path}: {error.strerror}", exit_code=1) from None


def read_rows(path: Path = STORED) -> list[Row]:
    """The stored rows. Raises LockcrossError for a file that is missing or has another form."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file, strict=True)
            if tuple(rows.fieldnames or ()) != COLUMNS:
                raise LockcrossError(f"{path.name}: its columns must be {', '.join(COLUMNS)}")
            return [_row(values) for values in rows]
    except OSError as error:
        raise LockcrossError(f"{path}: {error.strerror}", exit_code=1) from None
    except (TypeError, ValueError, csv.Error) as error:
        raise LockcrossError(f"{path.name}: {error}") from None


def _row(values: dict[str, str]) -> Row:
    def counts(name: str) -> tuple[int, ...]:
        return tuple(int(values[f"{name}_{lead}"]) for lead in LEADS)

    return Row(
        values["reference"], values["machine"], values["core"], values["work"], values["kind"],
        int(values["cells"]), float(values["median_error"]), float(values["low"]),
        float(values["high"]), counts("pairs"), counts("right"),
        tuple(map(LockLabel, values["locks"].split())),
    )  # fmt: skip
