"""Rows of a dataclass, stored as CSV."""

import csv
from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pydantic import TypeAdapter, ValidationError

from results.errors import LockcrossError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Row = TypeVar("Row", bound="DataclassInstance")


def read_rows(kind: type[Row], file: Path) -> list[Row]:
    """Return the rows of a file, none where there is no file. Raises LockcrossError for any other
    text."""
    if not file.exists():
        return []
    columns = [field.name for field in fields(kind)]
    row = TypeAdapter(kind)
    with file.open(encoding="utf-8", newline="") as text:
        rows = csv.DictReader(text)
        if list(rows.fieldnames or ()) != columns:
            raise LockcrossError(f"{file.name}: its columns must be {', '.join(columns)}")
        try:
            return [row.validate_python(values) for values in rows]
        except ValidationError as error:
            raise LockcrossError(f"{file.name}: {error}") from None


def write_rows(kind: type[Row], rows: Iterable[Row], file: Path) -> None:
    """Replace the rows of a file at once. Fractions (all are seconds) have one digit."""
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_suffix(".new")
    with temporary.open("w", encoding="utf-8", newline="") as text:
        writer = csv.DictWriter(text, [field.name for field in fields(kind)], lineterminator="\n")
        writer.writeheader()
        for row in rows:
            values = asdict(row).items()
            writer.writerow({k: f"{v:.1f}" if isinstance(v, float) else v for k, v in values})
    temporary.replace(file)
