"""Measure how large and how fast a large database is, beside its goals."""

import resource
import shutil
import sqlite3
import time
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

from results.paths import REFERENCE
from results.store.export import export
from results.store.queries import ask
from results.store.store import Store
from results.text.rows import Rows, plain

RUNS = 200_000
NOTE = (
    "The runs of a reference database, many times, in a temporary folder. Memory: the most that "
    "the process that writes the export takes."
)
_MODEL = REFERENCE / "native_granite_rapids.db"
_REPEATS = 3  # of a query: the best counts, since the machine may be shared
_GOALS = {"size": "300 MB", "query winners": "0.5 s", "memory": "500 MB"}


def measured(runs: int = RUNS) -> Rows:
    with TemporaryDirectory(prefix="lockcross-bench-") as folder:
        path = Path(folder, "large.db")
        fill(path, runs)
        figures = {"size": f"{path.stat().st_size / 1e6:.0f} MB"}
        with Store(path, read_only=True) as store:
            taken = []
            for _ in range(_REPEATS):
                began = time.perf_counter()
                ask(store.connection, "winners", path)
                taken.append(time.perf_counter() - began)
        figures["query winners"] = f"{min(taken):.2f} s"
        for ending in ("csv", "json", "parquet"):
            file = path.with_suffix(f".{ending}")
            # A process of its own, so that the most that it takes is the export's.
            with get_context("spawn").Pool(1) as pool:
                seconds, megabytes = pool.apply(_export, (path, file))
            figures[f"export .{ending}"] = f"{seconds:.0f} s"
            figures[f"export .{ending}, memory"] = f"{megabytes:.0f} MB"
    records = [
        {"what": what, "measured": value, "goal": _GOALS.get(what.rpartition(", ")[2], "")}
        for what, value in figures.items()
    ]
    return Rows(records, plain("what", "measured", "goal"))


def _export(path: Path, file: Path) -> tuple[float, float]:
    """Return the seconds of an export and the megabytes that this process took at most."""
    began = time.perf_counter()
    with Store(path, read_only=True) as store:
        export(store.connection, "wide", file)
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return time.perf_counter() - began, kilobytes / 1024


def fill(path: Path, runs: int) -> None:
    """Make a database with at least so many runs: those of a reference database, their metrics
    and their series again and again, each time with other seeds."""
    shutil.copy(_MODEL, path)
    with closing(sqlite3.connect(path)) as connection:
        first, last = connection.execute("SELECT count(*), max(id) FROM runs").fetchone()
        for number in range(1, -(-runs // first)):
            _copy(
                connection,
                "runs",
                last,
                id=f"id + {number * last}",
                identity=f"identity || '/{number}'",
                seed=f"seed + {1000 * number}",
            )
            for table in ("run_metrics", "series"):
                _copy(connection, table, last, run_id=f"run_id + {number * last}")
        connection.commit()


def _copy(connection: sqlite3.Connection, table: str, last: int, **changed: str) -> None:
    """Copy a table's rows of the first runs, with some columns changed."""
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    values = ", ".join(changed.get(name, name) for name in columns)
    run = next(iter(changed))  # the column with the run's number
    connection.execute(f"INSERT INTO {table} SELECT {values} FROM {table} WHERE {run} <= {last}")
