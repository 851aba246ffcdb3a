"""A table along an axis, from one panel: the same rows for the terminal and the page."""

from collections.abc import Callable, Mapping
from typing import Any

from results.text.rows import Rows
from sweeps.study.costs import Band, Panel
from sweeps.study.leads import Win
from sweeps.study.runs import Value

Words = Callable[[Band], str]
LEAST = "*"  # behind the least cost of a row, and behind those that it ties with


def name_of(value: Value) -> str:
    """Return a value as it is given; None is the machine's own."""
    return "own" if value is None else str(value)


def short(band: Band) -> str:
    """Return the median, without digits behind the point where it is large."""
    return f"{band.median:,.0f}" if band.median >= 100 else f"{band.median:.2f}"


def table_of(
    panel: Panel,
    axis: str,
    title: str,
    words: Words = short,
    head: Callable[[Value], str] = name_of,
    wins: Mapping[Value, Win] | None = None,
) -> Rows:
    """Return a table with one row per value of the axis, one column per curve. `wins`: the winner
    of each row, whose cost and those of ties with it are marked, where curves are of locks."""
    records = [
        {axis: x} | {head(name): curve.get(x) for name, curve in panel.curves.items()}
        for x in panel.points
    ]

    def cell(name: Value) -> Callable[[Mapping[str, Any]], str]:
        def text(record: Mapping[str, Any]) -> str:
            if (band := record[head(name)]) is None:
                return ""
            win = (wins or {}).get(record[axis])
            return words(band) + LEAST * (win is not None and name in (win.lock, *win.tied))

        return text

    heads = {head(name): cell(name) for name in panel.curves}
    return Rows(records, {axis: lambda record: name_of(record[axis])} | heads, title)
