"""Prints what lock events show, in the tables of Kawachiya 2005: 4.2 to 4.4, 5.2 and 5.3."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from sweeps.search.locality import EventLog, Sections, locality, sharing

LONG_MS = 10.0  # Table 4.4's


def print_tables(logs: Sequence[EventLog], console: Console, long_ms: float = LONG_MS) -> None:
    """Prints the tables, a row a log. Raises LockcrossError for a log of a lock that excludes
    nobody."""
    sections = [Sections(log) for log in logs]
    for table in (
        *_statistics(sections),
        _contention(sections),
        _durations(sections, long_ms),
        _localities(logs),
        _sharing(logs),
    ):
        console.print(table)
        console.print()


def _table(title: str, *columns: str, texts: int = 1) -> Table:
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number < texts else "right")
    return table


def _share(part: int, whole: int) -> str:
    return f"{part:,} ({part / whole:.3%})" if whole else f"{part:,}"


def _mean(total: int, count: int, digits: int = 2) -> str:
    return f"{total / count:,.{digits}f}" if count else ""


def _statistics(sections: Sequence[Sections]) -> list[Table]:
    title = "Table 4.2: Overall synchronization statistics"
    threads = _table(
        title, "Program", "Threads created", "Threads existing simultaneously", "Objects created"
    )
    objects = _table(
        f"{title} (2)", "Program", "Objects created", "Objects sync'd",
        "SyncOps for sync'd objects", "SyncOps per sync'd object",
    )  # fmt: skip
    heavy = _table(
        f"{title} (3)", "Program", "Objects sync'd", "Objects heavily sync'd",
        "SyncOps for heavily sync'd objects", "SyncOps per heavily sync'd object",
    )  # fmt: skip
    for one in sections:
        row = one.statistics()
        made = f"{row.objects_made:,}"
        # Threads of a workload live from its beginning to its end.
        threads.add_row(one.log.name, str(row.threads), str(row.threads), made)
        objects.add_row(
            one.log.name, made, _share(row.objects, row.objects_made), f"{row.operations:,}",
            _mean(row.operations, row.objects, 1),
        )  # fmt: skip
        heavy.add_row(
            one.log.name, f"{row.objects:,}", _share(row.heavy_objects, row.objects),
            f"{row.heavy_operations:,}", _mean(row.heavy_operations, row.heavy_objects, 1),
        )  # fmt: skip
    return [threads, objects, heavy]


def _contention(sections: Sequence[Sections]) -> Table:
    table = _table(
        "Table 4.3: Locality of contention", "Program", "Group", "Objects heavily sync'd",
        "SyncOps", "Fat sections per object", "SyncOps per fat section",
        "SyncOps per flat section", "SyncOps while inflated", texts=2,
    )  # fmt: skip
    for one in sections:
        for group, row in one.contention().items():
            flat = row.operations - row.fat_operations
            table.add_row(
                one.log.name, group, f"{row.objects:,}", f"{row.operations:,}",
                _mean(row.fat_sections, row.objects), _mean(row.fat_operations, row.fat_sections),
                _mean(flat, row.flat_sections), f"{row.inflated_operations:,}",
            )  # fmt: skip
    return table


def _durations(sections: Sequence[Sections], long_ms: float) -> Table:
    table = _table(
        "Table 4.4: Durations of locked sections", "Program", "Locked sections",
        "Average duration", "Longest duration", f"Durations ≥{long_ms:g} ms (ratio)",
    )  # fmt: skip
    for one in sections:
        cycles_per_ms = one.log.clock_mhz * 1000
        row = one.durations(long_ms * cycles_per_ms)
        table.add_row(
            one.log.name, f"{row.sections:,}", f"{row.average / cycles_per_ms:.3g} ms",
            f"{row.longest / cycles_per_ms:.3g} ms", _share(row.long, row.sections),
        )  # fmt: skip
    return table


def _localities(logs: Sequence[EventLog]) -> Table:
    table = _table(
        "Table 5.2: Exploitable thread locality of Java locks", "Program",
        "Number of lock acquisitions", "Ratio of acquisitions in the first repetitions",
        "in the longest repetitions",
    )  # fmt: skip
    for log in logs:
        row = locality(log)
        whole = max(1, row.acquisitions)
        table.add_row(
            log.name, f"{row.acquisitions:,}", f"{row.first_repetitions / whole:.4%}",
            f"{row.longest_repetitions / whole:.4%}",
        )  # fmt: skip
    return table


def _sharing(logs: Sequence[EventLog]) -> Table:
    table = _table(
        "Table 5.3: Investigation of synchronized objects", "Program", "Objects created",
        "Objects sync'd", "Objects sync'd by multiple threads",
    )  # fmt: skip
    for log in logs:
        row = sharing(log)
        table.add_row(
            log.name, f"{row.objects_made:,}", f"{row.objects:,}",
            _share(row.by_many, row.objects),
        )  # fmt: skip
    return table
