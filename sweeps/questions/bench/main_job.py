"""How long the main job takes on this machine, as its user calls it, and how much it asks for."""

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from results.errors import LockcrossError
from results.paths import ROOT
from results.store.store import Store
from sweeps.run.bench import Timing

COMMAND, QUICK = "crossover", "crossover --quick"


def runs(command: str, folder: Path) -> int:
    """Call a command with a new database in the folder; return how many runs it made. Raises
    LockcrossError (1) when it fails."""
    database = folder / f"{command}.db"
    where = ["--db", str(database), "--output", str(folder / command)]
    argv = [str(ROOT / "lockcross"), *command.split(), *where]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LockcrossError(f"{command} failed: {done.stderr.strip()}", 1)
    with Store(database, read_only=True) as store:
        (count,) = store.connection.execute("SELECT count(*) FROM runs").fetchone()
    return int(count)


def rows(folder: Path) -> Iterator[Timing]:
    """Measure the first look and the main job, with figures and report, each in a new database."""
    for command in (QUICK, COMMAND):
        began = time.perf_counter()
        count = runs(command, folder)
        yield Timing(command, time.perf_counter() - began, "s")
        yield Timing(f"{command}, runs", count, "", count)
