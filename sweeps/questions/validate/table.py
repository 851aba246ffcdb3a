"""The validation in the terminal: what `lockcross validate` prints."""

import sqlite3
from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.table import Column, Table

from sweeps.model import engines
from sweeps.questions.validate.answer import SetSummary, speeds, summarize
from sweeps.questions.validate.latency import OPS, SlopeCheck, slope_checks
from sweeps.search.errors import Row, decisive

VERDICTS = {True: "met", False: "MISSED", None: "no bar"}
_KNOWN = "missed, as known"
_SHOWN = 5  # findings of a set that are listed; the report has all


def print_validation(connection: sqlite3.Connection, console: Console) -> None:
    """Prints errors and bars, what was left out, changed winners, and the engines' speed."""
    summaries = summarize(connection)
    if not summaries:
        console.print("The database holds no validation; ./lockcross validate makes one.")
        return
    table = Table(
        *(Column("set", overflow="fold", min_width=20), "ISA", "cells", "mean", "worst", "order"),
        Column("bars", min_width=6),
        title="Cycles per pair of the candidate engine against the reference",
        box=None,
    )
    for one in summaries:
        errors = (percent(one.mean_error), percent(one.worst_error))
        order = f"{percent(one.order_share)} of {one.order_pairs}" if one.order_pairs else ""
        table.add_row(one.title, one.isa, str(one.cells), *errors, order, verdict(one))
    console.print(table)
    for one in summaries:
        _print_findings(one, console)
    if checks := slope_checks(connection):
        console.print(_slopes(checks))
    columns = ("engine", "runs", "instructions/s", "cells/hour")
    table = Table(*columns, box=None, title="Speed of one process over these runs")
    for speed in speeds(connection):
        rates = (f"{speed.instructions_per_s:,.0f}", f"{speed.cells_per_hour:,.0f}")
        table.add_row(engines.title(speed.engine), str(speed.runs), *rates)
    console.print(table)


def verdict(one: SetSummary) -> str:
    """Met, missed, missed as is known, no bar, or nothing that could be compared."""
    if not one.cells:
        return "no cells"
    return _KNOWN if one.met is False and not one.newly_missed else VERDICTS[one.met]


def why_missed(one: SetSummary) -> str:
    """What is known of a missed bar; empty where none is missed."""
    return one.bars.missed if one.met is False else ""


def percent(value: float | None, bar: float | None = None) -> str:
    """A share in percent, and the bar it is held against; empty where there is none."""
    if value is None:
        return ""
    return f"{100 * value:.1f} %" + (f" (bar {100 * bar:g} %)" if bar is not None else "")


def signed(value: float | None) -> str:
    """A signed share in percent; empty where there is none."""
    return "" if value is None else f"{100 * value:+.1f} %"


def reasons(one: SetSummary) -> list[tuple[int, str]]:
    """Why cells were left out: how many for each reason, the most first."""
    counted = Counter(left.reason for left in one.left_out)
    return [(count, reason) for reason, count in counted.most_common()]


def error_table(rows: Sequence[Row]) -> Table:
    """How far the embedded engine was off, by reference and work, and which leads decide."""
    columns = ("reference", "machine", "work", "locks", "cells", "median error")
    more = ("measured over predicted", "order right", "decisive lead")
    title = "How far the embedded engine was off"
    table = Table(*columns, *more, box=None, title=title)
    for row in rows:
        lead = decisive(row)
        place = (row.reference, row.machine, row.work, row.kind, str(row.cells))
        ratios, right = f"{row.low:.2f} to {row.high:.2f}", f"{row.right[0]} of {row.pairs[0]}"
        decides = "no lead" if lead is None else f"{100 * lead:g} %"
        table.add_row(*place, percent(row.median_error), ratios, right, decides)
    return table


def _print_findings(one: SetSummary, console: Console) -> None:
    held = {
        "mean at most": one.bars.mean,
        "worst at most": one.bars.worst,
        "order at least": one.bars.order,
        "the same winner where its lead is above": one.bars.lead,
    }
    bars = ", ".join(f"{words} {percent(bar)}" for words, bar in held.items() if bar is not None)
    lines = [f"  bars: {bars}"] if bars else []
    if one.met is False:
        known = [bar for bar in one.missed_bars if bar in one.known]
        new = [bar for bar in one.missed_bars if bar not in one.known]
        lines += [f"  newly missed: {', '.join(new)}"] if new else []
        lines += [f"  known to be missed: {', '.join(known)}"] if known else []
    lines += [f"  why it is missed: {why}"] if (why := why_missed(one)) else []
    lines += [f"  worst: {one.worst_cell}"] if one.worst_cell else []
    lines += [f"  left out, {count} cells: {reason}" for count, reason in reasons(one)[:_SHOWN]]
    if one.contests:
        lines.append(f"  winner changes in {len(one.winner_changes)} of {one.contests} settings")
    lines += [
        f"  winner: {change.reference.words()} on the reference, {change.candidate.words()} on the "
        f"candidate ({100 * change.loss:.1f} % dearer on the reference): {change.setting}"
        for change in one.winner_changes[:_SHOWN]
    ]
    if lines:
        console.print(f"{one.title}, {engines.title(one.reference)}, {one.isa}", *lines, sep="\n")


def _slopes(checks: list[SlopeCheck]) -> Table:
    """How far the slopes of set latencies are apart at the most, by reference and operation."""
    columns = ("reference", "operation", "lines", "furthest apart", "where", "bar")
    title = "Slope of measured over set latency, the candidate's against the reference's"
    table = Table(*columns, box=None, title=title)
    groups: dict[tuple[str, str], list[SlopeCheck]] = {}
    for one in checks:
        label = engines.entry(one.reference.engine).label
        groups.setdefault((label, one.reference.op), []).append(one)
    for (label, op), some in groups.items():
        worst = max(some, key=lambda one: one.difference)
        line, met = worst.reference, VERDICTS[all(one.met for one in some)]
        where = f"{line.isa} {line.flavour}, {line.mechanism}"
        apart = percent(worst.difference, worst.bar)
        table.add_row(engines.title(label), OPS[op], str(len(some)), apart, where, met)
    return table
