"""`lockcross locality`: how local and how contended the locks of logged programs are, in the tables
of Kawachiya 2005: 4.2 to 4.4, 5.2 and 5.3."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from results.text.rows import Form, Format, Rows, print_parts

if TYPE_CHECKING:
    from sweeps.search.locality import EventLog, Locality, Sections, Sharing

Record = Mapping[str, Any]

_SHARE = ", share"  # of a number in another, behind the name of its column


def locality(
    files: Annotated[
        list[Path],
        typer.Argument(help="Logs that `run --events FILE` wrote.", exists=True, dir_okay=False),
    ],
    long_ms: Annotated[
        float,
        typer.Option("--long", min=0, help="Sections of so many milliseconds or more are long."),
    ] = 10.0,
    form: Format = Form.TABLE,
) -> None:
    """Measure contention and thread locality in logs of lock events.

    Prints the thesis's Tables 4.2 to 4.4, 5.2 and 5.3. A SyncOp is an acquisition, a release, a
    wait or a notification.
    """
    from sweeps.search.locality import read_events

    every = _tables([read_events(file) for file in files], long_ms)
    print_parts(form, *(part for rows in every for part in (rows, "")))


def _tables(logs: "Sequence[EventLog]", long_ms: float) -> Iterator[Rows]:
    """The tables, a row a log. Raises LockcrossError for a log of a lock that excludes nobody."""
    from sweeps.search.locality import Sections, locality, sharing

    sections = [Sections(log) for log in logs]
    yield from _statistics(sections)
    yield _contention(sections)
    yield _durations(sections, long_ms)
    yield _localities([(log.name, locality(log)) for log in logs])
    yield _sharing([(log.name, sharing(log)) for log in logs])


def _table(
    title: str, records: Sequence[Record], texts: int = 1,
    shown: Mapping[str, Callable[[Record], str]] | None = None,
) -> Rows:  # fmt: skip
    """Rows whose first columns are texts; `shown`: what of the others is not a plain number. What
    is after a comma in a name is not shown: the share of a number in another."""
    names = [name for name in records[0] if not name.endswith(_SHARE)]
    columns: dict[str, Any] = {
        name: f"{{{name}}}" if number < texts else f"{{{name}:,}}"
        for number, name in enumerate(names)
    }
    columns |= {
        name: _with_share(name) for name in names if f"{name}{_SHARE}" in records[0]
    } | dict(shown or {})
    heads = {name: {"justify": "right"} for name in names[texts:]}
    return Rows(records, columns, title, {"padding": (0, 2, 0, 0)}, heads)


def _with_share(name: str) -> Callable[[Record], str]:
    def show(record: Record) -> str:
        share = record[f"{name}{_SHARE}"]
        return f"{record[name]:,}" + (f" ({share:.3%})" if share is not None else "")

    return show


def _share(name: str, part: int, whole: int) -> dict[str, float | None]:
    return {name: part, f"{name}{_SHARE}": part / whole if whole else None}


def _mean(total: int, count: int) -> float | None:
    return total / count if count else None


def _rounded(name: str, digits: int = 2) -> Callable[[Record], str]:
    return lambda one: "" if one[name] is None else f"{one[name]:,.{digits}f}"


def _statistics(sections: "Sequence[Sections]") -> Iterator[Rows]:
    title = "Table 4.2: Overall synchronization statistics"
    rows = [(one.log.name, one.statistics()) for one in sections]
    yield _table(title, [
        # Threads of a workload live from its beginning to its end.
        {"Program": name, "Threads created": row.threads,
         "Threads existing simultaneously": row.threads, "Objects created": row.objects_made}
        for name, row in rows
    ])  # fmt: skip
    yield _table(f"{title} (2)", [
        {"Program": name, "Objects created": row.objects_made,
         **_share("Objects sync'd", row.objects, row.objects_made),
         "SyncOps for sync'd objects": row.operations,
         "SyncOps per sync'd object": _mean(row.operations, row.objects)}
        for name, row in rows
    ], shown={"SyncOps per sync'd object": _rounded("SyncOps per sync'd object", 1)})  # fmt: skip
    per_heavy = "SyncOps per heavily sync'd object"
    yield _table(f"{title} (3)", [
        {"Program": name, "Objects sync'd": row.objects,
         **_share("Objects heavily sync'd", row.heavy_objects, row.objects),
         "SyncOps for heavily sync'd objects": row.heavy_operations,
         per_heavy: _mean(row.heavy_operations, row.heavy_objects)}
        for name, row in rows
    ], shown={per_heavy: _rounded(per_heavy, 1)})  # fmt: skip


def _contention(sections: "Sequence[Sections]") -> Rows:
    means = ("Fat sections per object", "SyncOps per fat section", "SyncOps per flat section")
    return _table("Table 4.3: Locality of contention", [
        {
            "Program": one.log.name, "Group": group, "Objects heavily sync'd": row.objects,
            "SyncOps": row.operations,
            "Fat sections per object": _mean(row.fat_sections, row.objects),
            "SyncOps per fat section": _mean(row.fat_operations, row.fat_sections),
            "SyncOps per flat section": _mean(
                row.operations - row.fat_operations, row.flat_sections
            ),
            "SyncOps while inflated": row.inflated_operations,
        }
        for one in sections
        for group, row in one.contention().items()
    ], texts=2, shown={name: _rounded(name) for name in means})  # fmt: skip


def _durations(sections: "Sequence[Sections]", long_ms: float) -> Rows:
    records = []
    for one in sections:
        cycles_per_ms = one.log.clock_mhz * 1000
        row = one.durations(long_ms * cycles_per_ms)
        records.append({
            "Program": one.log.name, "Locked sections": row.sections,
            "Average duration": row.average / cycles_per_ms,
            "Longest duration": row.longest / cycles_per_ms,
            **_share(f"Durations ≥{long_ms:g} ms (ratio)", row.long, row.sections),
        })  # fmt: skip
    return _table("Table 4.4: Durations of locked sections", records, shown={
        name: (lambda one, name=name: f"{one[name]:.3g} ms")  # type: ignore[misc]
        for name in ("Average duration", "Longest duration")
    })  # fmt: skip


def _localities(measured: "Sequence[tuple[str, Locality]]") -> Rows:
    first, longest = "Ratio of acquisitions in the first repetitions", "in the longest repetitions"
    return _table("Table 5.2: Exploitable thread locality of Java locks", [
        {
            "Program": name, "Number of lock acquisitions": row.acquisitions,
            first: row.first_repetitions / max(1, row.acquisitions),
            longest: row.longest_repetitions / max(1, row.acquisitions),
        }
        for name, row in measured
    ], shown={
        name: (lambda one, name=name: f"{one[name]:.4%}")  # type: ignore[misc]
        for name in (first, longest)
    })  # fmt: skip


def _sharing(measured: "Sequence[tuple[str, Sharing]]") -> Rows:
    return _table("Table 5.3: Investigation of synchronized objects", [
        {
            "Program": name, "Objects created": row.objects_made,
            "Objects sync'd": row.objects,
            **_share("Objects sync'd by multiple threads", row.by_many, row.objects),
        }
        for name, row in measured
    ])  # fmt: skip
