"""CSV as every reader takes it: lines end in a line feed, and a text with an end of line of any
kind is in quotes."""

import csv
from typing import Any, Protocol

_END = "\r\n"  # what csv.writer ends a line with: it puts quotes about a text that has any of it


class _File(Protocol):
    def write(self, text: str, /) -> object: ...


class _Lines:
    def __init__(self, file: _File) -> None:
        self._file = file

    def write(self, line: str) -> None:
        self._file.write(f"{line.removesuffix(_END)}\n")


def csv_writer(file: _File) -> Any:
    """Return a writer of the module csv."""
    return csv.writer(_Lines(file), lineterminator=_END)
