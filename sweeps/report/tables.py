"""A table along an axis, from one panel: the same rows for the terminal and the page."""

from collections.abc import Callable, Mapping
from typing import Any

from results.text.rows import Rows
from sweeps.study.costs import Band, Panel
from sweeps.study.leads import Lead
from sweeps.study.runs import Value

Words = Callable[[Band], str]
LEAST = "*"  # behind the least cost of a row, and behind those over which it has no lead


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
    tie: float | None = None,
) -> Rows:
    """Return a table with one row per value of the axis, one column per curve. `tie`: the least
    lead that counts, where less is better and the least of each row is marked."""
    records = [
        {axis: x} | {head(name): curve.get(x) for name, curve in panel.curves.items()}
        for x in panel.points
    ]

    def cell(name: str) -> Callable[[Mapping[str, Any]], str]:
        def shown(record: Mapping[str, Any]) -> str:
            if (band := record[name]) is None:
                return ""
            costs = [other.median for other in record.values() if isinstance(other, Band)]
            lead = Lead(min(costs), band.median, tie or 0.0)
            return words(band) + LEAST * (tie is not None and lead.is_none)

        return shown

    heads = {head(name): cell(head(name)) for name in panel.curves}
    return Rows(records, {axis: lambda record: name_of(record[axis])} | heads, title)
