"""What a process-wide barrier costs on this host, by how many threads run.

`./lockcross python -m sweeps.questions.measure.barriers` measures it (alone, in seconds; `measure`
has it among everything else), replaces this processor's rows of results/reference/barriers.csv and
draws all rows of that file as docs/figures/barriers.png.
"""

import csv
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from pydantic import TypeAdapter

from results.paths import REFERENCE, ROOT

STORED = REFERENCE / "barriers.csv"
DRAWN = ROOT / "docs" / "figures" / "barriers.png"


@dataclass(frozen=True)
class Row:
    """A figure: which `processor`, as the kernel names it, how many `cpus` the process may use,
    `by` what, how many `threads` run, and the median of `cycles` with the range between the
    quartiles. `measured_on`: the day."""

    processor: str
    measured_on: str
    cpus: int
    by: str
    threads: int
    cycles: int
    spread: int


def measured() -> list[Row]:
    """Return this host's rows. Raises LockcrossError where cycles cannot be told."""
    from sweeps.questions.measure.command import measurer

    processor, cpus, found = measurer().barriers()
    about = processor, datetime.now(tz=UTC).date().isoformat(), len(cpus)
    return [
        Row(*about, by, threads, round(finding.value), round(finding.spread))
        for by, threads, finding in found
    ]


def read(path: Path = STORED) -> list[Row]:
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as text:
        return [TypeAdapter(Row).validate_python(row) for row in csv.DictReader(text)]


def write(rows: Iterable[Row], path: Path = STORED) -> None:
    with path.open("w", encoding="utf-8", newline="") as text:
        writer = csv.DictWriter(text, [f.name for f in fields(Row)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)


def draw(rows: Iterable[Row]) -> Figure:
    """Draw cycles of the caller over the threads that run, a line for each processor and means."""
    lines: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        lines.setdefault((row.processor, row.by), []).append(row)
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    ax = figure.add_subplot()
    for (processor, by), found in lines.items():
        own = sorted(found, key=lambda row: row.threads)
        x, y = [row.threads for row in own], [max(1, row.cycles) for row in own]
        bars = [min(row.spread / 2, 0.9 * value) for row, value in zip(own, y, strict=True)]
        ax.errorbar(x, y, yerr=bars, marker="o", capsize=3, label=f"{by}: {processor}")
    ax.set_yscale("log")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("threads that run")
    ax.set_ylabel("core cycles; bars: between the quartiles")
    ax.set_title("To make every other thread execute a fence")
    ax.legend(fontsize=7)
    ax.grid(True, color="#eeeeee", linewidth=0.6)
    return figure


def main() -> None:
    """Measure, store, draw, and print this host's rows."""
    own = measured()
    rows = [row for row in read() if row.processor != own[0].processor] + own
    write(rows)
    draw(rows).savefig(DRAWN, dpi=110)
    csv.writer(sys.stdout).writerows(asdict(row).values() for row in own)


if __name__ == "__main__":
    main()
