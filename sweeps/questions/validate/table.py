"""The validation in the terminal: the output of `lockcross validate`, and its failures."""

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from results.text.rows import Rows, plain
from sweeps.accuracy.errors import ErrorCount, curve_of
from sweeps.model import engines
from sweeps.questions.validate.answer import (
    SetSummary,
    percent,
    speeds,
    summarize,
)

_CENTRED = {"title_justify": "center"}
_SHOWN = 5  # findings of a set that are listed; the report has all


def validation_parts(connection: sqlite3.Connection) -> Iterator[Rows | str]:
    """Yield errors and bars, the cells left out, changed winners, and the engines' speed."""
    summaries = summarize(connection)
    if not summaries:
        yield "The database holds no validation; ./lockcross validate makes one."
        return
    yield _errors(summaries)
    for summary in summaries:
        if lines := _findings(summary):
            title = f"{summary.title}, {engines.title(summary.reference)}, {summary.isa}"
            yield "\n".join([title, *lines])
    records = [
        {
            "engine": engines.title(measured.engine),
            "runs": measured.runs,
            "instructions/s": measured.instructions_per_s,
            "cells/hour": measured.cells_per_hour,
        }
        for measured in speeds(connection)
    ]
    numbers = {name: f"{{{name}:,.0f}}" for name in ("instructions/s", "cells/hour")}
    shown = plain("engine", "runs") | numbers
    yield Rows(records, shown, "Speed of one process over these runs", _CENTRED)


def newly_missed(connection: sqlite3.Connection, sets: Collection[str]) -> list[str]:
    """Return the bars of these sets that are missed and not known to be, with set and ISA."""
    return [
        f"{summary.set}, {summary.isa}: {bar}"
        for summary in summarize(connection)
        for bar in summary.newly_missed
        if summary.set in sets
    ]


def error_rows(rows: Sequence[ErrorCount]) -> Rows:
    """Say how far the embedded engine was off, by reference and work, and which leads decide;
    shares, and the range of measured over predicted costs."""
    records = [
        {
            "reference": row.reference,
            "machine": row.machine,
            "work": row.work,
            "locks": row.kind,
            "cells": row.cells,
            "median error": row.median_error,
            "least over predicted": row.low,
            "most over predicted": row.high,
            "order right": row.right[0],
            "pairs": row.pairs[0],
            "decisive lead": curve_of(row).decisive,
        }
        for row in rows
    ]
    shown: dict[str, Any] = {
        **plain("reference", "machine", "work", "locks", "cells"),
        "median error": lambda row: percent(row["median error"]),
        "measured over predicted": "{least over predicted:.2f} to {most over predicted:.2f}",
        "order right": "{order right} of {pairs}",
        "decisive lead": lambda row: (
            "no lead" if row["decisive lead"] is None else f"{100 * row['decisive lead']:.1f} %"
        ),
    }
    return Rows(records, shown, "How far the embedded engine was off", _CENTRED)


def _errors(summaries: list[SetSummary]) -> Rows:
    records = [
        {
            "set": summary.title,
            "ISA": summary.isa,
            "cells": summary.cells,
            "mean": summary.mean_error,
            "median": summary.median_error,
            "worst": summary.worst_error,
            "order": summary.order_share,
            "pairs": summary.order_pairs,
            "repeats agree": summary.floor_share,
            "bars": summary.verdict,
        }
        for summary in summaries
    ]
    shown: dict[str, Any] = {
        **plain("set", "ISA", "cells"),
        "mean": lambda row: percent(row["mean"]),
        "median": lambda row: percent(row["median"]),
        "worst": lambda row: percent(row["worst"]),
        "order": lambda row: f"{percent(row['order'])} of {row['pairs']}" if row["pairs"] else "",
        **plain("bars"),
    }
    heads: dict[str, Any] = {"set": {"overflow": "fold", "min_width": 20}, "bars": {"min_width": 6}}
    title = "Cycles per pair of the candidate engine against the reference"
    return Rows(records, shown, title, _CENTRED, heads)


def _findings(summary: SetSummary) -> list[str]:
    """Return the words on a set: its bars, the missed ones, and its findings."""
    bars = {
        "mean at most": summary.bars.mean,
        "median at most": summary.bars.median,
        "worst at most": summary.bars.worst,
        "order at least": summary.bars.order,
        "the same winner where its lead is above": summary.bars.lead,
        "median error of differences at most": summary.bars.difference,
        "signs of differences at least": summary.bars.sign,
    }
    missed = summary.missed_bars if summary.met is False else ()
    told = {
        "bars": ", ".join(f"{words} {percent(x)}" for words, x in bars.items() if x is not None),
        "newly missed": ", ".join(summary.newly_missed),
        "known to be missed": ", ".join(bar for bar in missed if bar in summary.known),
        "why it is missed": summary.why_missed,
        "worst": summary.worst_cell,
        "differences of two locks that the reference tells apart": (
            f"median error {percent(summary.difference_error)}, sign right in "
            f"{percent(summary.sign_share)} of {summary.sign_pairs}"
            if summary.bars.sign is not None and summary.sign_pairs
            else ""
        ),
        "two repeats of the reference agree on": (
            f"{percent(summary.floor_share)} of pairs" if summary.floor_share is not None else ""
        ),
    }
    lines = [f"  {what}: {words}" for what, words in told.items() if words]
    for reason, cells in list(summary.left_out.items())[:_SHOWN]:
        lines.append(f"  left out, {len(cells)} cells: {reason}")
    if summary.contests:
        lines.append(
            f"  winner changes in {len(summary.winner_changes)} of {summary.contests} settings"
        )
    return lines + [
        f"  winner: {change.reference.words()} on the reference, {change.candidate.words()} on the "
        f"candidate ({100 * change.loss:.1f} % dearer on the reference): {change.setting}"
        for change in summary.winner_changes[:_SHOWN]
    ]
