"""The files of the proofs: registries that are written by hand, as TOML, and rows that are stored,
as CSV."""

import csv
from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from results.errors import LockcrossError
from sweeps.support.toml import Document, Documents

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Model = TypeVar("Model", bound=BaseModel)
Row = TypeVar("Row", bound="DataclassInstance")


class Entry(Document):
    """A table of a registry. Its lists are tuples here, so that programs can be keys."""

    model_config = ConfigDict(strict=False)


def registry(model: type[Model], file: Path) -> Model:
    """What a registry says. Raises LockcrossError (2) that names file, key and value."""
    return Documents("registry", file.parent).load(model, file.stem)


def read_rows(kind: type[Row], file: Path) -> list[Row]:
    """The rows of a file; none where there is no file. Raises LockcrossError for any other text."""
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
    """Replaces the rows of a file at once. Seconds, the only fractions, have one digit."""
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_suffix(".new")
    with temporary.open("w", encoding="utf-8", newline="") as text:
        writer = csv.DictWriter(text, [field.name for field in fields(kind)], lineterminator="\n")
        writer.writeheader()
        for row in rows:
            values = asdict(row).items()
            fractions = {name: f"{value:.1f}" for name, value in values if isinstance(value, float)}
            writer.writerow(dict(values) | fractions)
    temporary.replace(file)
