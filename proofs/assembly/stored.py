"""The stored verdicts, results/reference/assembly.csv."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from pathlib import Path

from proofs.assembly.verdicts import Row
from results.paths import ROOT

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
    groups: dict[tuple[str, str], list[Row]] = {_place(row): [] for row in [*old, *new]}
    done = {_place(row) for row in new}
    for row in [*(row for row in old if _place(row) not in done), *new]:
        groups[_place(row)].append(row)
    found: list[Row] = []
    known: set[Row] = set()
    for rows in groups.values():  # the compiler that was stored first comes first
        found += [row for row in rows if _answer(row) not in known]
        known |= {_answer(row) for row in rows}
    return found


def _place(row: Row) -> tuple[str, str]:
    return row.flavour, row.compiler


def _answer(row: Row) -> Row:
    """A row without who made it, and when."""
    return replace(row, tool="", executions=0, seconds="", compiler="")
