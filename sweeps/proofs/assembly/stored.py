"""The stored verdicts, results/reference/assembly.csv."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from pathlib import Path

from results.paths import ROOT
from sweeps.proofs.assembly.verdicts import Row

STORED = ROOT / "results" / "reference" / "assembly.csv"
_NAMES = [one.name for one in fields(Row)]


def read_rows(path: Path = STORED) -> list[Row]:
    """All stored verdicts; none where nothing is stored."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [_row(row) for row in csv.DictReader(file)]


def _row(values: dict[str, str]) -> Row:
    executions = int(values.pop("executions"))
    return Row(executions=executions, **values)


def write_rows(rows: Iterable[Row], path: Path = STORED) -> None:
    """Replaces all stored verdicts."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_NAMES)
        writer.writerows([getattr(row, name) for name in _NAMES] for row in rows)


def merged(old: Sequence[Row], new: Sequence[Row]) -> list[Row]:
    """New verdicts in place of those of the same flavours and compilers; of another compiler only
    those that its instructions differ in, since the same instructions have the same verdict."""
    done = {(row.flavour, row.compiler) for row in new}
    kept = [row for row in old if (row.flavour, row.compiler) not in done]
    known = {_answer(row) for row in kept}
    return [*kept, *(row for row in new if _answer(row) not in known)]


def _answer(row: Row) -> Row:
    """A row without who made it, and when."""
    return replace(row, tool="", executions=0, seconds="", compiler="")
