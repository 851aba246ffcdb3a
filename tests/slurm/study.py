"""A small study on a Slurm cluster, for tests of faults: its driver can be killed and started
again, and it is counted how often each cell was run."""

import os
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

from sweeps.engines.qemu.engine import find_qemu
from tests.commands import environment, program
from tests.processes import until
from tests.run.jobs import rows, write_cluster, write_plan
from tests.slurm.daemons import Slurm, parent_of

PACE_S = 0.5  # a cell sleeps so long before it begins, so that the machine is not busy
WORKERS = 2  # of a job
CHUNK = 4  # cells at most in two seconds of work at that pace
PRIMED = 8  # cells that are run here first, so that the driver knows how long one takes
AHEAD = 2  # chunks in flight for each worker
GONE_S = 60  # after the driver's end nothing of it may be left

# Tells of every run of a cell, then becomes the real one.
_QEMU = """\
case "$*" in *marker=syscall*) echo "$*" >>{log}; sleep {pace};; esac
exec {real} "$@"
"""


def slurm_cluster(folder: Path, **keys: object) -> Path:
    """Write the description of a cluster of jobs of one node."""
    usual = {
        "provider": "slurm",
        "partition": "debug",
        "address": "127.0.0.1",
        "wall_time": "00:30:00",
        "scratch": f"{folder}/scratch/$SLURMD_NODENAME",
    }
    return write_cluster(folder, **usual | keys)


class Study:
    """`cells` cells for a cluster of `blocks` jobs at most."""

    def __init__(
        self,
        slurm: Slurm,
        folder: Path,
        cells: int = 240,
        blocks: int = 4,
        pace_s: float = PACE_S,
        db: Path | None = None,
    ) -> None:
        self.slurm = slurm
        self.folder = folder
        self.cells = cells
        self._blocks = blocks
        self.slots = blocks * WORKERS
        self.window = AHEAD * CHUNK * self.slots
        self._pace_s = pace_s
        self.db = db or folder / "study.db"
        self._starts = folder / "starts"
        self._starts.touch()
        self.qemu(folder / "qemu")
        self.configure()
        self.driver: subprocess.Popen[bytes] | None = None
        self._runs = 0
        write_plan(folder, PRIMED, iterations=50, isa="x86_64")
        self._start("--jobs", str(PRIMED))
        assert self.wait(120) == 0, self.said()
        write_plan(folder, cells, iterations=50, isa="x86_64")

    def qemu(self, folder: Path, before: str = "") -> Path:
        """Make a QEMU that reports its runs. `before`: its first commands, for the shell."""
        folder.mkdir(exist_ok=True)
        for isa in ("x86_64", "ppc64le", "aarch64"):
            real = find_qemu(isa).path
            script = _QEMU.format(log=self._starts, pace=self._pace_s, real=real)
            program(folder, f"qemu-{isa}", f"{before}\n{script}")
        return folder

    def configure(self, **keys: object) -> None:
        """Write the cluster file."""
        self._cluster = slurm_cluster(self.folder, workers=WORKERS, blocks=self._blocks, **keys)

    def start(self) -> None:
        """Start the driver, also again."""
        self._start("--cluster", str(self._cluster))

    def _start(self, *options: str) -> None:
        self._runs += 1
        plan = str(self.folder / "plan.toml")
        words = ["sweep", plan, "--no-server", "--db", str(self.db), *options]
        variables = {name: self.slurm.env[name] for name in ("SLURM_CONF", "PATH")}
        variables["LOCKCROSS_QEMU"] = str(self.folder / "qemu")
        argv = [sys.executable, "-P", "-m", "sweeps", *words]
        with (self.folder / f"driver.{self._runs}").open("wb") as log:
            self.driver = subprocess.Popen(
                argv,
                env=environment(**variables),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def said(self) -> str:
        """All that the drivers printed."""
        return "".join(path.read_text() for path in sorted(self.folder.glob("driver.*")))

    def kill_driver(self) -> None:
        """Kill the driver hard, and nothing else."""
        self.driver.kill()
        self.driver.wait()

    def wait(self, limit_s: float = 300) -> int:
        """The driver's exit code."""
        return self.driver.wait(limit_s)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return the database's answer; nothing before there is one, with its tables."""
        with suppress(sqlite3.OperationalError):
            return rows(self.db, query)
        return []

    def stored(self) -> int:
        return sum(count for (count,) in self.rows("SELECT count(*) FROM runs"))

    def until_stored(self, count: int) -> None:
        """Wait until so many cells are stored that the cluster has run."""
        stored = until(lambda: self.stored() >= PRIMED + count, 120)
        assert stored, f"{self.stored()}: {self.said()}"

    def nodes(self) -> set[str]:
        """Those that have run cells which are stored."""
        query = "SELECT host FROM runs JOIN places ON places.id = place_id WHERE job != ''"
        return {host for (host,) in self.rows(query)}

    def starts(self) -> list[str]:
        """The cells that were begun, each as often as it was."""
        return self._starts.read_text().splitlines()

    def twice(self) -> int:
        """How many runs of cells were one too many."""
        return len(self.starts()) - len(set(self.starts()))

    def managers(self) -> list[int]:
        """The processes that keep a node's workers, one a job."""
        running = self.slurm.processes().items()
        pools = [(pid, said) for pid, said in running if "process_worker_pool" in said]
        return [pid for pid, said in pools if "python" in said.split()[0]]

    def workers(self) -> list[int]:
        """The processes that run cells on nodes: each manager's children, but for the first, by
        which they share state."""
        found: dict[int, list[int]] = {}
        for pid, said in sorted(self.slurm.processes().items()):
            if "spawn_main" in said and (parent := parent_of(pid)):
                found.setdefault(parent, []).append(pid)
        return [pid for children in found.values() for pid in children[1:]]

    def check(self, twice_at_most: int, failed: int = 0) -> None:
        """Every cell has ended, once, ok or failed with its cause; nothing is left running."""
        begin = time.monotonic()
        assert until(lambda: not self.left(), GONE_S), self.left()
        gone = time.monotonic() - begin
        states = Counter(dict(self.rows("SELECT status, count(*) FROM runs GROUP BY status")))
        counted = self.rows("SELECT count(*), count(DISTINCT identity), max(attempts) FROM runs")
        causes = self.rows("SELECT DISTINCT cause FROM runs")
        assert counted == [(self.cells, self.cells, 1)], (counted, self.said())
        assert states == Counter(ok=self.cells - failed, failed=failed), (causes, self.said())
        assert not self.rows("SELECT 1 FROM runs WHERE status = 'failed' AND cause = ''")
        assert "Traceback" not in self.said(), self.said()
        assert self.twice() <= twice_at_most, self.twice()
        tell(f"{self.twice()} cells ran twice; all gone after {gone:.1f} s")

    def left(self) -> list[str]:
        """Processes and jobs of drivers that have ended."""
        return [*self.slurm.processes().values(), *self.slurm.jobs()]

    def end(self) -> None:
        if self.driver is not None and self.driver.poll() is None:
            self.kill_driver()


def tell(what: str) -> None:
    """A measurement of the running test, shown by pytest's -s."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").partition("::")[2].partition(" ")[0]
    print(f"\n  {test}: {what}", flush=True)
