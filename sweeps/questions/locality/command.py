"""`lockcross locality`: how local and how contended the locks of logged programs are, in the tables
of Kawachiya 2005: 4.2 to 4.4, 5.2 and 5.3."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from results.text.rows import Form, Format, printer

if TYPE_CHECKING:
    from sweeps.search.locality import EventLog

_TEXTS = ("Program", "Group")  # columns; the others hold numbers


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
    from rich.table import Table

    from sweeps.search.locality import read_events

    tables: dict[str, list[dict[str, object]]] = {}
    for log in map(read_events, files):
        for title, rows in _rows(log, long_ms).items():
            tables.setdefault(title, []).extend({"Program": log.name, **row} for row in rows)
    with printer(form) as out:
        for title, rows in tables.items():
            table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
            for column in rows[0]:
                table.add_column(column, justify="left" if column in _TEXTS else "right")
            for row in rows:
                table.add_row(*map(str, row.values()))
            out.print(table)
            out.print()


def _rows(log: "EventLog", long_ms: float) -> dict[str, list[dict[str, object]]]:
    """The titles of the tables, each with its rows: what stands in each column. Raises
    LockcrossError for a log of a lock that excludes nobody."""
    from sweeps.search.locality import Sections, locality, sharing

    sections, shared, local = Sections(log), sharing(log), locality(log)
    overall, cycles_per_ms = sections.statistics(), log.clock_mhz * 1000
    lengths = sections.durations(long_ms * cycles_per_ms)
    whole = max(1, local.acquisitions)
    first, longest = local.first_repetitions / whole, local.longest_repetitions / whole
    threads = overall.threads  # of a workload: they live from its beginning to its end
    made, synchronized = f"{overall.objects_made:,}", overall.objects
    heavy_operations = overall.heavy_operations
    title = "Table 4.2: Overall synchronization statistics"
    return {
        title: [
            {
                "Threads created": threads,
                "Threads existing simultaneously": threads,
                "Objects created": made,
            }
        ],
        f"{title} (2)": [
            {
                "Objects created": made,
                "Objects sync'd": _share(synchronized, overall.objects_made),
                "SyncOps for sync'd objects": f"{overall.operations:,}",
                "SyncOps per sync'd object": _mean(overall.operations, synchronized, 1),
            }
        ],
        f"{title} (3)": [
            {
                "Objects sync'd": f"{synchronized:,}",
                "Objects heavily sync'd": _share(overall.heavy_objects, synchronized),
                "SyncOps for heavily sync'd objects": f"{heavy_operations:,}",
                "SyncOps per heavily sync'd object": _mean(
                    heavy_operations, overall.heavy_objects, 1
                ),
            }
        ],
        "Table 4.3: Locality of contention": [
            {
                "Group": group,
                "Objects heavily sync'd": f"{row.objects:,}",
                "SyncOps": f"{row.operations:,}",
                "Fat sections per object": _mean(row.fat_sections, row.objects),
                "SyncOps per fat section": _mean(row.fat_operations, row.fat_sections),
                "SyncOps per flat section": _mean(
                    row.operations - row.fat_operations, row.flat_sections
                ),
                "SyncOps while inflated": f"{row.inflated_operations:,}",
            }
            for group, row in sections.contention().items()
        ],
        "Table 4.4: Durations of locked sections": [
            {
                "Locked sections": f"{lengths.sections:,}",
                "Average duration": f"{lengths.average / cycles_per_ms:.3g} ms",
                "Longest duration": f"{lengths.longest / cycles_per_ms:.3g} ms",
                f"Durations ≥{long_ms:g} ms (ratio)": _share(lengths.long, lengths.sections),
            }
        ],
        "Table 5.2: Exploitable thread locality of Java locks": [
            {
                "Number of lock acquisitions": f"{local.acquisitions:,}",
                "Ratio of acquisitions in the first repetitions": f"{first:.4%}",
                "in the longest repetitions": f"{longest:.4%}",
            }
        ],
        "Table 5.3: Investigation of synchronized objects": [
            {
                "Objects created": f"{shared.objects_made:,}",
                "Objects sync'd": f"{shared.objects:,}",
                "Objects sync'd by multiple threads": _share(shared.by_many, shared.objects),
            }
        ],
    }


def _share(part: int, whole: int) -> str:
    return f"{part:,} ({part / whole:.3%})" if whole else f"{part:,}"


def _mean(total: int, count: int, digits: int = 2) -> str:
    return f"{total / count:,.{digits}f}" if count else ""


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(locality)
