"""Pools: where cells are run. One on this machine; sweeps/run/cluster has the other."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from results.paths import WORK
from sweeps.run.kept import keep
from sweeps.run.processes import Processes
from sweeps.run.servers import Servers
from sweeps.run.work import Done, Work, execute, this_host
from sweeps.support.paths import KEPT_FOLDERS, RUN_FOLDERS


class Pool(Protocol):
    """Runs cells somewhere, reads what they said and keeps the folders of those that failed."""

    def run(self, works: Sequence[Work]) -> Generator[Sequence[Done], None, None]:
        """Runs cells and yields what came of them, each once, in chunks that belong in one
        transaction, in the order in which they end. A chunk may be empty: nothing has ended, but
        `state` may have changed.

        Raises OSError when a disk is full, and LockcrossError when cells cannot be run at all; what
        was yielded until then is to be stored.
        """

    def state(self) -> str:
        """What it runs on at the moment, in a few words; nothing where that never changes."""


class LocalPool:
    """This machine: at most `jobs` cells at a time, each on one CPU. `collect` is called with the
    folder of each valid run before that is removed."""

    def __init__(self, jobs: int, collect: Callable[[Path], None] | None = None) -> None:
        self._jobs = jobs
        self._collect = collect
        self._servers = Servers()

    def run(self, works: Sequence[Work]) -> Generator[Sequence[Done], None, None]:
        """As Pool. Must be called from the main thread: the processes are killed when the thread
        that started them ends."""
        with Processes[Work](self._jobs, RUN_FOLDERS, servers=self._servers) as processes:
            for work, done, folder in execute(works, processes, this_host()):
                if self._collect and not done.outcome.cause:
                    self._collect(folder)
                if done.outcome.cause or work.keep:
                    place = kept_place(work.identity)
                    keep(folder, place)
                    yield [replace(done, kept=kept_words(place))]
                else:
                    yield [done]

    def state(self) -> str:
        """Nothing: it is always there."""
        return ""


def kept_place(identity: str) -> Path:
    """Where the folder of a run is kept."""
    return KEPT_FOLDERS / identity[:16]


def kept_words(place: Path) -> str:
    """What is stored of a folder that is kept."""
    return f"folder: {place.relative_to(WORK)}\n"
