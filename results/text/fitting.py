"""Tables that fit a terminal without a number or a name being cut: columns get narrower as far as
their words allow; a table that is still too wide goes on below, its rows named again."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

# A number with its sign, its unit and a mark stays on one line.
_NUMBER = re.compile(r"[-+<>~]?\d[\d.,]*(e[-+]?\d+)?( ?[^\s\d]{1,3})?")
_SENTENCE, _SENTENCE_LEAST = 40, 20  # a column this wide is read as sentences, on lines of so many
_COLUMN = ("header_style", "style", "justify", "vertical", "overflow", "no_wrap", "min_width")
_TABLE = (
    "box",
    "padding",
    "show_header",
    "show_lines",
    "show_edge",
    "header_style",
    "title_style",
    "title_justify",
    "caption_style",
    "caption_justify",
)


@dataclass(frozen=True)
class _Width:
    """Widths of a column without its padding: the least at which no word is cut, and the widest."""

    least: int
    most: int


def fitting(table: Table, console: "Console") -> list[Table]:
    """Return the table as one or several that are no wider than the console."""
    widths = [_width(column, console) for column in table.columns]
    room = console.width
    if _taken(table, [width.most for width in widths]) <= room:
        return [table]
    parts = _parts(table, widths, room)
    if parts is None:
        return [_records(table)]
    return [
        _part(table, columns, _shares(table, [widths[at] for at in columns], room), first, last)
        for columns, first, last in _marked(parts)
    ]


def _width(column: Column, console: "Console") -> _Width:
    cells = [column.header, *column.cells]
    measured = [Measurement.get(console, console.options, cell) for cell in cells]
    most = max(one.maximum for one in measured)
    if column.no_wrap:
        return _Width(most, most)
    whole = (
        one.maximum if _NUMBER.fullmatch(_words(cell)) else one.minimum
        for cell, one in zip(cells, measured, strict=True)
    )
    least = max(*whole, _SENTENCE_LEAST if most > _SENTENCE else 1)
    return _Width(least, most)


def _words(cell: "RenderableType") -> str:
    return cell.plain if isinstance(cell, Text) else str(cell)


def _taken(table: Table, widths: Sequence[int]) -> int:
    """Return the columns of a terminal that columns of these widths take, with their separators."""
    _, right, _, left = table.padding
    lines = len(widths) + 1 if table.box is not None else 0
    return sum(widths) + len(widths) * (left + right) + lines


def _parts(table: Table, widths: Sequence[_Width], room: int) -> list[list[int]] | None:
    """Say which columns stand beside each other: all if they fit, else some, in every part behind
    those that tell the rows apart. None where not even one fits beside these."""
    least = [width.least for width in widths]
    if _taken(table, least) <= room:
        return [[*range(len(widths))]]
    keys = _telling_apart([*table.columns])
    parts = [keys]
    for at in range(len(keys), len(widths)):
        if _taken(table, [least[one] for one in [*parts[-1], at]]) > room:
            parts.append(keys)
        parts[-1] = [*parts[-1], at]
    fit = all(_taken(table, [least[one] for one in part]) <= room for part in parts)
    return parts if fit and keys not in parts else None


def _telling_apart(columns: Sequence[Column]) -> list[int]:
    """Return the first columns, as many as it takes for no two rows to be alike in them."""
    rows = [tuple(map(_words, row)) for row in zip(*(one.cells for one in columns), strict=True)]
    for count in range(1, len(columns)):
        if len({row[:count] for row in rows}) == len(rows):
            return [*range(count)]
    return [0]


def _shares(table: Table, widths: Sequence[_Width], room: int) -> list[int]:
    """Return a width for each column: the least, and an equal share of the rest as far as it is of
    use."""
    given = [width.least for width in widths]
    left = max(0, room - _taken(table, given))
    needs = sorted(range(len(widths)), key=lambda at: widths[at].most - widths[at].least)
    for done, at in enumerate(needs):
        more = min(widths[at].most - widths[at].least, left // (len(needs) - done))
        given[at] += more
        left -= more
    return given


def _marked(parts: Sequence[list[int]]) -> Iterator[tuple[list[int], bool, bool]]:
    """Yield each part, whether it is the first, and whether it is the last."""
    for number, part in enumerate(parts, 1):
        yield part, number == 1, number == len(parts)


def _part(
    table: Table, columns: Sequence[int], widths: Iterable[int], first: bool, last: bool
) -> Table:
    """Return some columns of a table, with its title if they are the first, its caption if the
    last."""
    settings: dict[str, Any] = {name: getattr(table, name) for name in _TABLE}
    part = Table(
        title=table.title if first else None, caption=table.caption if last else None, **settings
    )
    for at, width in zip(columns, widths, strict=True):
        column = table.columns[at]
        look = {name: getattr(column, name) for name in _COLUMN} | {"overflow": "fold"}
        part.add_column(column.header, width=width, **look)
    cells = [[*table.columns[at].cells] for at in columns]
    for number, row in enumerate(table.rows):
        part.add_row(
            *(column[number] for column in cells), style=row.style, end_section=row.end_section
        )
    return part


def _records(table: Table) -> Table:
    """Return a table of which not two columns fit beside one another: each value on lines of its
    own."""
    settings: dict[str, Any] = {"title_style": table.title_style, "caption": table.caption}
    settings |= {"title_justify": table.title_justify, "title": table.title}
    records = Table(show_header=False, box=None, **settings)
    records.add_column(no_wrap=True)
    records.add_column(overflow="fold")
    for row in zip(*(column.cells for column in table.columns), strict=True):
        for column, value in zip(table.columns, row, strict=True):
            if _words(value):
                records.add_row(column.header, value)
        records.add_row()
    return records
