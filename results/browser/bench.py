"""How big and how fast a large database is: pages, winners, export, beside their goals."""

import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.table import Table

from results.browser import made_up, server, site
from results.errors import LockcrossError
from results.paths import ROOT
from results.store.queries import ask, named_queries
from results.store.store import Store

RUNS = 200_000
REPEATS = 3  # the best counts, since the machine may be shared
GOAL_MB, GOAL_PAGE_S, GOAL_WINNERS_S, GOAL_EXPORT_MB = 300, 1.0, 0.5, 500
NOTE = (
    f"A made-up database in a temporary folder; best of {REPEATS} for pages and winners. "
    "MB of an export: peak memory of the process that writes it."
)
_PAGES = {
    "runs with their facets": "runs",
    "runs of one lock": "runs?lock=thin",
    "runs by cancellation": "runs?cancel=5000",
    "runs by cost": "runs?_sort_desc=cycles_per_pair",
    "one run": "runs/5",
    "metrics of a run": "metrics_of_run?run=5",
    "crossovers of a run": "crossovers_of_run?run=5",
    "options of a run": "options_of_run?run=5",
    "crossovers": "crossovers",
    "metrics": "metrics",
}


def bench(runs: int = RUNS) -> Table:
    """All of it, on a database of so many runs."""
    table = Table("what", "measured", "goal", box=None)
    with TemporaryDirectory(prefix="lockcross-bench-") as folder:
        path = Path(folder) / "made_up.db"
        begin = time.perf_counter()
        made_up.fill(path, runs)
        table.add_row(f"{runs:,} runs stored", f"{time.perf_counter() - begin:.0f} s", "")
        size = path.stat().st_size / 1e6
        table.add_row("size", f"{size:.0f} MB", f"{GOAL_MB} MB")
        with Store(path, read_only=True) as store:
            seconds = _times(lambda: ask(store.connection, "winners", path))
            copied = site.copy_to(store.connection, path, _made(folder, "served"))
        table.add_row("winners", seconds, f"{GOAL_WINNERS_S} s")
        _pages(table, copied)
        for ending in ("csv", "json", "parquet"):
            _export(table, path, Path(folder) / f"runs.{ending}")
    return table


def _made(folder: str, name: str) -> Path:
    made = Path(folder) / name
    made.mkdir()
    return made


def _times(work: Callable[[], object]) -> str:
    """The first and the best."""
    taken = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begin)
    return f"{min(taken):.2f} s (first {taken[0]:.2f})"


def _pages(table: Table, copied: Path) -> None:
    """Every page of Datasette, from the request to the last byte."""
    server.DATASETTE.install()
    port = server.free_port(0)
    queries = {f"query {name}": site.query_name(name) for name in named_queries()}
    with server.Server(site.command(copied, port), port):
        for words, page in (_PAGES | queries).items():
            address = f"http://{site.HOST}:{port}/{copied.stem}/{page}"
            try:
                seconds = _times(lambda address=address: _get(address))  # type: ignore[misc]
            except LockcrossError as error:
                seconds = error.message
            table.add_row(f"page: {words}", seconds, f"{GOAL_PAGE_S} s")


def _get(address: str) -> bytes:
    try:
        with urllib.request.urlopen(address, timeout=60) as answer:
            return bytes(answer.read())
    except urllib.error.HTTPError as error:
        words = "more than its limit" if error.code == 400 else str(error)
        raise LockcrossError(f"{address}: {words}", exit_code=1) from None


def _export(table: Table, path: Path, file: Path) -> None:
    words = [sys.executable, "-P", "-c", _EXPORT, str(path), str(file)]
    begin = time.perf_counter()
    child = subprocess.run(
        words, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if child.returncode:
        raise LockcrossError(f"the export to {file.suffix} failed: {child.stderr[-200:]}", 1)
    seconds, size = time.perf_counter() - begin, file.stat().st_size / 1e6
    table.add_row(
        f"export {file.suffix} ({size:.0f} MB, {seconds:.0f} s)",
        f"{int(child.stdout) / 1024:.0f} MB", f"{GOAL_EXPORT_MB} MB",
    )  # fmt: skip
    file.unlink()


_EXPORT = """
import sys
from pathlib import Path
from results.store.export import export
from results.store.store import Store
with Store(Path(sys.argv[1]), read_only=True) as store:
    export(store.connection, "wide", Path(sys.argv[2]))
# Not getrusage: its peak begins with that of the process that started this one.
print(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
"""
