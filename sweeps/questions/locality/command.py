"""`lockcross locality`: how local and how contended the locks of logged programs are, also in the
tables of Kawachiya 2005 (4.2 to 4.4, 4.6, 5.2, 5.3, 5.6, 6.2) and Figure 3 of Bacon et al. 1998;
which lines of source take them."""

import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import floor, inf, isnan, log10
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from results.errors import LockcrossError
from results.paths import DATABASE
from results.text.rows import Form, Format, Rows, print_parts
from sweeps.cli import options

if TYPE_CHECKING:
    from sweeps.lock_logs.gaps import Nanoseconds
    from sweeps.lock_logs.log import EventLog
    from sweeps.questions.locality.gains import Costs

_STATISTICS = "Table 4.2: Overall synchronization statistics"
_OPERATIONS = "acquisitions, releases, waits, notifications"
_LINES = 25  # of source that a table for people has
_LONG_MS = 10  # of a section that Table 4.4 counts as long
_SHARE = ", share"  # of a number in another, behind the name of its column
_LEAST, _MOST = ", least", ", most"  # what a number may be, likewise
_BETWEEN, _INSIDE = "Between two sections", "In a section"
_NEAR = "How little a thread does between two sections and in one: shares within so much"
_FIRST = "Ratio of acquisitions in the first repetitions"
_LONGEST = "in the longest repetitions"
_RESERVED = "Reservation hits"
_ASYMMETRIC = "Asymmetric hits"
_NOTHING = (0.0, 0.0, 0.0)  # recording added to a simulated run's log
_DEPTHS = 4  # of nested acquisitions, each with a column: Bacon et al. saw no deeper ones
_LOCKS = {"own": "own", "thin": "thin's rule", "tasuki": "tasuki's rule"}  # of Table 4.6
_FORMATS = {  # of numbers that are not plain counts
    "SyncOps per sync'd object": "{:,.1f}",
    "SyncOps per heavily sync'd object": "{:,.1f}",
    "Fat sections per object": "{:,.2f}",
    "SyncOps per fat section": "{:,.2f}",
    "SyncOps per flat section": "{:,.2f}",
    "Average duration": "{:.3g} ms",
    "Longest duration": "{:.3g} ms",
    _FIRST: "{:.4%}",
    _LONGEST: "{:.4%}",
    _RESERVED: "{:.3%}",
    _ASYMMETRIC: "{:.3%}",
    _BETWEEN: "{:.1%}",
    _INSIDE: "{:.1%}",
    **{f"Depth {depth}": "{:.3%}" for depth in range(1, _DEPTHS + 1)},
    "Deeper": "{:.3%}",
}


def locality(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Logs that `record` or `run --events FILE` wrote.", exists=True, dir_okay=False
        ),
    ],
    tables: Annotated[
        bool,
        typer.Option(
            "--tables", help="Print the tables of Kawachiya 2005 and Figure 3 of Bacon et al. 1998."
        ),
    ] = False,
    sites: Annotated[
        bool, typer.Option("--sites", help="Show the lines of source that take locks instead.")
    ] = False,
    machine: Annotated[
        str, options.machine("none; with one, lines have costs, and those that gain most are first")
    ] = "",
    no_server: options.NoServer = False,
    form: Format = Form.TABLE,
    db: options.Database = DATABASE,
) -> None:
    """Measure contention and thread locality in logs of lock events.

    Inflations, hits and cancellations are what locks would do by their rules; a simulated run's log
    has its own lock's inflations, too. --tables prints the thesis's Tables 4.2 to 4.4, 4.6, 5.2,
    5.3, 5.6 and 6.2, in which a SyncOp is a lock operation.
    """
    if machine and not sites:
        raise LockcrossError("--machine says what lines of source cost: give --sites with it")
    from sweeps.lock_logs.log import read_events

    logs = [read_events(file) for file in files]
    for log in logs:
        for remark in _remarks(log):
            print(f"{log.name}: {remark}", file=sys.stderr)
    if sites:
        most = _LINES if form == Form.TABLE else None
        costs = _costs(machine, {log.runtime_lock for log in logs}, no_server, db)
        parts = (part for log in logs for part in (*_sites(log, most, costs), ""))
        print_parts(form, *parts, fold=False)
        return
    shown = _tables(logs) if tables else _plainly(logs)
    print_parts(form, *(part for rows in shown for part in (rows, "")))


def _remarks(log: "EventLog") -> Iterator[str]:
    """Yield the gaps of a log, in words."""
    if log.totals is None:
        return
    if log.totals.end == "cut":
        yield "has no end: the program was killed, or still runs"
    elif log.totals.end != "exit":
        yield f"recording ended before the program, after {log.totals.seconds:.1f} s"
    if log.totals.left_out:
        whole = log.totals.acquisitions + log.totals.left_out
        yield (
            f"a sample of one object in {log.sample}, which makes "
            f"{log.totals.acquisitions / whole:.2%} of the acquisitions: objects that are taken "
            "much more often than others may all be in it, or none"
        )
    if log.released_by_others:
        yield (
            f"{log.released_by_others:,} releases were made by another thread than took the lock: "
            "each ends that one's section"
        )
    if log.expected_collisions >= 0.5:
        yield (
            f"about {log.expected_collisions:,.0f} pairs of objects have one hash, and count as "
            "one object each"
        )


def _costs(machine: str, runtimes: set[str], no_server: bool, db: Path) -> "Costs | None":
    """Return the costs of locks on a machine, those of some runtimes too; None without a
    machine."""
    if not machine:
        return None
    from sweeps.model.machine import machine_named
    from sweeps.questions.locality.gains import costs_of

    return costs_of(machine_named(machine), runtimes, options.served(no_server), db)


def _sites(log: "EventLog", most: int | None, costs: "Costs | None") -> "Iterator[Rows | str]":
    """Yield the lines of source that take locks, so many at most. Raises LockcrossError for a log
    without them."""
    from sweeps.lock_logs.sites import sites

    if not log.sites:
        raise LockcrossError(f"{log.name}: has no lines of source; `record` writes logs with them")
    table = sites(log)
    shares = {
        "first": "before others",
        "others": "by others",
        "contended": "contended",
        "nested": "nested",
    }
    total = table["acquisitions"].sum()
    records = [
        {
            "line": row["line"],
            "through": row["through"],
            "acquisitions": round(row["acquisitions"]),
            "off by": None if isnan(row["off"]) else round(row["off"]),
            "of all": row["acquisitions"] / total,
            **_gain(log, row, costs),
            **{words: row[name] / row["acquisitions"] for name, words in shares.items()},
            # Which of a method's objects a line takes, a sample of its calls does not tell.
            "objects": round(row["objects"]) if isnan(row["off"]) else None,
            "taken by several": round(row["changed"]) if isnan(row["off"]) else None,
        }
        for row in table.to_dict("records")
        if round(row["acquisitions"])
    ]
    formats: dict[str, Any] = {"line": "{line}", "through": "{through}"}
    formats |= {"acquisitions": _about, "of all": "{of all:.1%}"}
    if costs:
        records.sort(key=lambda row: row["cycles saved"], reverse=True)
        formats |= {"cycles": "{cycles:,}", "cycles saved": "{cycles saved:,}", "by": "{by}"}
        if log.totals and log.totals.cpu_plain:
            formats["of CPU time"] = "{of CPU time:.2%}"
    formats |= {name: f"{{{name}:.1%}}" for name in shares.values()}
    formats |= {name: partial(_count, name) for name in ("objects", "taken by several")}
    heads: dict[str, dict[str, Any]] = {name: {"justify": "right"} for name in formats}
    heads |= {name: {"overflow": "fold"} for name in ("line", "through", "by")}
    order = f"those that would gain most on {costs.machine}" if costs else "the most acquisitions"
    title = f"{log.name}: the lines of source that take locks, {order} first"
    yield Rows(records[:most], formats, title, {"padding": (0, 2, 0, 0)}, heads)
    if most is not None and len(records) > most:
        yield f"... and {len(records) - most} more lines; --format csv has all"
    if table["off"].notna().any():
        stacks = max(1, round(total / max(1, len(log.stacks))))
        yield (
            "±: a line that calls into the JDK is known from the stack of one acquisition in about "
            f"{stacks:,}; so far it may be off, 19 times in 20. The sum of the lines that call one "
            "method is exact."
        )
    if costs:
        yield (
            f"cycles: of uncontended pairs with {log.runtime_lock}, the usual lock of its runtime, "
            "in a loop that does nothing else; work beside a lock hides some of them. "
            "Saved: at most, by the lock that is named; a reservation pays "
            f"{costs.cancellation:,} cycles for each object that several threads take."
        )
    else:
        yield "--machine zen5 adds what each line's locks cost there, and what it would gain."


def _gain(log: "EventLog", row: Mapping[Any, Any], costs: "Costs | None") -> dict[str, Any]:
    """Return the cost of a line's locks, and its gain by another."""
    if costs is None:
        return {}
    found = costs.of_line(row, log.runtime_lock)
    seconds = log.totals.cpu_plain if log.totals else None
    return {
        "cycles": round(found["cost"]),
        "cycles saved": round(found["saved"]),
        "by": found["by"],
        "of CPU time": found["saved"] / costs.hz / seconds if seconds else None,
    }


def _count(name: str, row: Mapping[str, Any]) -> str:
    return "" if row[name] is None else f"{row[name]:,}"


def _about(row: Mapping[str, Any]) -> str:
    """Return a line's acquisitions; of a sampled one as far as they are known."""
    count, off = row["acquisitions"], row["off by"]
    if not off:
        return f"{count:,}"
    digits = -floor(log10(off))
    return f"{round(count, digits):,} ± {round(off, digits):,}"


def _plainly(logs: "Sequence[EventLog]") -> Iterator[Rows]:
    """Yield the numbers of each log, each with its meaning, and how much the program works between
    sections."""
    for log in logs:
        records = [
            dict(zip(("number", "value", "of", "which is"), row, strict=True))
            for row in _numbers(log)
        ]
        shown: dict[str, Any] = {"number": "{number}", "value": _number, "which is": "{which is}"}
        title = f"{log.name}: what the program did with its locks"
        yield Rows(records, shown, title, heads={"value": {"justify": "right"}})
    yield _aligned(_NEAR, [{"Program": log.name, **row} for log in logs for row in _near(log)])


def _numbers(log: "EventLog") -> Iterator[tuple[str, float, float | None, str]]:
    """Yield of each number its name, itself, of how many it is a share, and its meaning."""
    from sweeps.lock_logs.locality import Sections, locality

    sections, repeated = Sections(log), locality(log)
    counts, held = sections.statistics(), sections.durations(0)
    reserved, taken = sections.reservations(), sections.acquisitions()
    every, objects = len(taken), counts["objects"]
    yield "threads", counts["threads"], None, "that lock, the runtime's own too"
    if log.objects_made is not None:
        yield "objects made", log.objects_made, None, "with a lock, used or not"
    yield "objects locked", objects, None, "once at least"
    yield "by several threads", repeated["by_many"], objects, "objects that a second thread takes"
    yield "acquisitions", every, None, "of a lock, nested ones too"
    yield "nested", int(taken["nested"].sum()), every, "the thread had the object already"
    yield "contended", int(taken["contended"].sum()), every, "found the lock held"
    yield "by the first thread", reserved["asymmetric"], every, "cheap for an asymmetric lock"
    yield "before any other", reserved["reservation"], every, "cheap for a reservation"
    yield "cancellations", reserved["cancellations"], objects, "objects a reservation is taken from"
    yield "lock operations", counts["operations"], None, _OPERATIONS
    yield "locked sections", int(held["sections"]), None, "no nested ones; a wait makes two of one"


def _number(row: Mapping[str, Any]) -> str:
    share = f" ({row['value'] / row['of']:.3%})" if row["of"] else ""
    return f"{row['value']:,}{share}"


def _tables(logs: "Sequence[EventLog]") -> Iterator[Rows]:
    """Yield the tables, with a row for each log. Raises LockcrossError for a log of a lock that
    excludes nobody."""
    tables: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for log in logs:
        for title, rows in _rows_of(log).items():
            tables[title] += [{"Program": log.name, **row} for row in rows]
    for title, records in tables.items():
        yield _aligned(title, records)


def _aligned(title: str, records: Sequence[Mapping[str, Any]]) -> Rows:
    """Return a table whose numbers stand at the right."""
    names = [name for name in records[0] if not name.endswith((_SHARE, _LEAST, _MOST))]
    numbers = [name for name in names if name not in ("Program", "Group", "Lock", "Within")]
    return Rows(
        records,
        {name: partial(_cell, name) for name in names},
        title,
        {"padding": (0, 2, 0, 0)},
        {name: {"justify": "right"} for name in numbers},
    )


def _rows_of(log: "EventLog") -> dict[str, list[dict[str, Any]]]:
    """Return a log's rows of each table, by title."""
    from sweeps.lock_logs.locality import Sections, locality

    sections, repeated = Sections(log), locality(log)
    counts, made = sections.statistics(), {"Objects created": log.objects_made}
    objects, heavy = counts["objects"], counts["heavy_objects"]
    acquisitions, cycles_per_ms = repeated["acquisitions"], log.clock_mhz * 1000
    held = sections.durations(_LONG_MS * cycles_per_ms)
    # Threads of a workload live from its beginning to its end.
    threads = ("Threads created", "Threads existing simultaneously")
    all_ops, heavy_ops = counts["operations"], counts["heavy_operations"]
    reserved, nesting = sections.reservations(), sections.nesting()
    many = _share("Objects sync'd by multiple threads", repeated["by_many"], repeated["objects"])
    return {
        _STATISTICS: [dict.fromkeys(threads, counts["threads"]) | made],
        f"{_STATISTICS} (2)": [
            made
            | _share("Objects sync'd", objects, log.objects_made)
            | {"SyncOps for sync'd objects": all_ops}
            | {"SyncOps per sync'd object": _ratio(all_ops, objects)}
        ],
        f"{_STATISTICS} (3)": [
            {"Objects sync'd": objects}
            | _share("Objects heavily sync'd", heavy, objects)
            | {"SyncOps for heavily sync'd objects": heavy_ops}
            | {"SyncOps per heavily sync'd object": _ratio(heavy_ops, heavy)}
        ],
        "Table 4.3: Locality of contention": [
            {
                "Group": group,
                "Objects heavily sync'd": row["objects"],
                "SyncOps": row["operations"],
                "Fat sections per object": _ratio(row["fat"], row["objects"]),
                "SyncOps per fat section": _ratio(row["in_fat"], row["fat"]),
                "SyncOps per flat section": _ratio(row["operations"] - row["in_fat"], row["flat"]),
                "SyncOps while inflated": row["inflated"] if log.tells_modes else None,
            }
            for group, row in sections.contention().to_dict("index").items()
        ],
        "Table 4.4: Durations of locked sections": [
            {
                "Locked sections": held["sections"],
                "Average duration": held["average"] / cycles_per_ms,
                "Longest duration": held["longest"] / cycles_per_ms,
                **_share(f"Durations ≥{_LONG_MS} ms (ratio)", held["long"], held["sections"]),
            }
        ],
        "Table 4.6: Inflation and deflation dynamics (own: as the lock went)": [
            {
                "Lock": _LOCKS[lock],
                "SyncOps": all_ops,
                "Inflations": row["inflations"],
                "Deflations": row["deflations"],
                **_share("SyncOps in inflated mode (ratio)", row["inflated"], all_ops),
            }
            for lock, row in sections.dynamics().items()
        ],
        "Table 5.2: Exploitable thread locality of Java locks": [
            {
                "Number of lock acquisitions": acquisitions,
                _FIRST: repeated["first"] / max(1, acquisitions),
                _LONGEST: repeated["longest"] / max(1, acquisitions),
            }
        ],
        "Table 5.3: Investigation of synchronized objects": [
            made | {"Objects sync'd": repeated["objects"]} | many
        ],
        "Tables 5.6 and 6.2: Lock statistics, by the rules of both locks": [
            {
                "Objects sync'd": repeated["objects"],
                "Number of lock acquisitions": acquisitions,
                _RESERVED: reserved["reservation"] / max(1, acquisitions),
                **_share("Cancellations (ratio)", reserved["cancellations"], acquisitions),
                _ASYMMETRIC: reserved["asymmetric"] / max(1, acquisitions),
            }
        ],
        "Figure 3 of Bacon et al.: Locking operations by nesting depth": [
            {
                "Number of lock acquisitions": acquisitions,
                **{
                    f"Depth {depth}": nesting.get(depth, 0) / max(1, acquisitions)
                    for depth in range(1, _DEPTHS + 1)
                },
                "Deeper": nesting[nesting.index > _DEPTHS].sum() / max(1, acquisitions),
                "Deepest": int(nesting.index.max()) if acquisitions else 0,
            }
        ],
        _NEAR: _near(log),
    }


def _near(log: "EventLog") -> list[dict[str, Any]]:
    """Return which shares of a log's gaps and sections are within so many nanoseconds."""
    from sweeps.lock_logs.gaps import WITHIN, gaps_of

    gaps, totals = gaps_of(log), log.totals
    return [
        {
            "Within": f"{ns} ns",
            **_within(_BETWEEN, gaps.gap, ns, totals.gap_ns if totals else _NOTHING),
            **_within(_INSIDE, gaps.section, ns, totals.section_ns if totals else _NOTHING),
        }
        for ns in WITHIN
    ]


def _within(
    name: str, values: "Nanoseconds", ns: float, added: tuple[float, ...]
) -> dict[str, float | None]:
    """Return the share of values that are within so many nanoseconds after the time added by
    recording is taken off, with the least and the most that it may be: of a log that does not say
    how much recording added, these alone."""
    from sweeps.lock_logs.gaps import shares_within

    if not len(values):
        return {name: None}
    least, share, most = shares_within(values, ns, added or (0.0, 0.0, inf))
    known = added or least == most
    return {name: share if known else None, f"{name}{_LEAST}": least, f"{name}{_MOST}": most}


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _share(name: str, part: float, whole: float | None) -> dict[str, float | None]:
    """Return a number and, in a column that tables for people do not have, its share in another,
    where that is known."""
    return {name: part, f"{name}{_SHARE}": None if whole is None else _ratio(part, whole)}


def _cell(name: str, record: Mapping[str, Any]) -> str:
    value, share = record[name], record.get(f"{name}{_SHARE}")
    ends = [record.get(f"{name}{end}") for end in (_LEAST, _MOST)]
    plain = "{}" if isinstance(value, str) else "{:,}"
    form = _FORMATS.get(name, plain).format
    text = "" if value is None else form(value)
    if None not in ends and ends[0] != ends[1]:
        text += f" ({form(ends[0])} to {form(ends[1])})"
    return text if share is None else f"{text} ({share:.3%})"
