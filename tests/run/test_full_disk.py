"""A disk that is full while servers live: it is said as without servers, stored results stay,
nothing is left behind, and the next run goes on from there."""

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from results.errors import LockcrossError
from results.store.store import Store
from sweeps.cli.main import _os_error
from sweeps.engines.base import Limits
from sweeps.engines.qemu.engine import REPORT
from sweeps.model.cell import Cell
from sweeps.run import work
from sweeps.run.processes import Processes, Task
from sweeps.run.runner import Runner
from sweeps.support.paths import RUN_FOLDERS
from tests.processes import children
from tests.run.jobs import rows
from tests.run.test_runner import CELL

_CELLS = [replace(CELL, seed=seed) for seed in range(1, 11)]
_FULL_FROM = 6  # cells that are started before the disk is full: a server is alive
_FULL = Path("/dev/full")  # whoever writes there is told that no space is left


@pytest.fixture(params=[True, False], ids=["served", "alone"])
def limits(request: pytest.FixtureRequest) -> Limits:
    return Limits(serve=request.param)


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folders of the runs; after the test the driver's is gone, and so are all processes."""
    before = children(os.getpid())
    monkeypatch.setattr(work, "RUN_FOLDERS", tmp_path / "runs")
    yield tmp_path / "runs"
    assert not [path for path in (tmp_path / "runs").iterdir() if path.is_dir()]
    assert children(os.getpid()) <= before


@contextmanager
def befallen(break_it: Callable[[Path], None]) -> Iterator[None]:
    """From one cell on, something befalls the folder of each before it is started."""
    started = []
    real = Processes._process

    def process(self: Processes[int], task: Task[int], cpus: set[int], folder: Path) -> object:
        started.append(task)
        if len(started) > _FULL_FROM:
            break_it(folder)
        return real(self, task, cpus, folder)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Processes, "_process", process)
        yield


def end_of(
    db: Path, limits: Limits, cells: Sequence[Cell] = _CELLS, pages: int | None = None
) -> tuple[str, int]:
    """Return the output of a run of cells to its end, and how many are stored then; with so many
    pages more in the database, at most."""
    with Store(db) as store:
        if pages is not None:
            (now,) = store.connection.execute("PRAGMA page_count").fetchone()
            store.connection.execute(f"PRAGMA max_page_count = {now + pages}")
        said = ""
        try:
            Runner(store, 1, limits=limits).run(cells, "test")
        except OSError as error:
            said = _os_error(error)
        except LockcrossError as error:
            said = error.message
    return said, len(rows(db, "SELECT id FROM runs"))


def goes_on(db: Path, limits: Limits, cells: Sequence[Cell] = _CELLS) -> None:
    """Each cell is run once, those that were stored before not again."""
    query = "SELECT id, identity, started FROM runs WHERE attempts = 1"
    before = rows(db, query)
    with Store(db) as store:
        runs = Runner(store, 1, limits=limits).run(cells, "test")
    after = rows(db, query)
    assert {run.status for run in runs} == {"ok"}
    assert len(after) == len(cells) and set(before) <= set(after)


def cell_cannot_write(name: str, folder: Path) -> None:
    (folder / name).symlink_to(_FULL)
    (folder.parent.parent / ".probe").symlink_to(_FULL)


def driver_cannot_write(folder: Path) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder.parent.parent))


@pytest.mark.parametrize(
    "break_it",
    [partial(cell_cannot_write, REPORT), partial(cell_cannot_write, "stdout"), driver_cannot_write],
    ids=["report", "stdout", "folder"],
)
def test_a_run_ends_where_the_disk_is_full(
    tmp_path: Path, folders: Path, limits: Limits, break_it: Callable[[Path], None]
) -> None:
    with befallen(break_it):
        said, stored = end_of(tmp_path / "a.db", limits)
    assert said.startswith(f"the disk is full ({folders}); free some space")
    assert stored == _FULL_FROM
    goes_on(tmp_path / "a.db", limits)


@pytest.mark.usefixtures("folders")
def test_a_cell_that_cannot_write_has_failed_where_there_is_room(
    tmp_path: Path, limits: Limits
) -> None:
    with befallen(lambda folder: (folder / REPORT).symlink_to(_FULL)):
        said, stored = end_of(tmp_path / "a.db", limits)
    assert (said, stored) == ("", len(_CELLS))
    causes = rows(tmp_path / "a.db", "SELECT cause FROM runs WHERE status = 'failed' ORDER BY id")
    why = f"cannot write {REPORT}: {os.strerror(errno.ENOSPC)}"
    assert causes == [(f"engine failure: lockcross-timing: {why}",)] * (len(_CELLS) - _FULL_FROM)


def test_a_full_disk_of_the_tree_is_named_from_its_root() -> None:
    assert "the disk is full (build/runs)" in _os_error(OSError(errno.ENOSPC, "", str(RUN_FOLDERS)))


@pytest.mark.usefixtures("folders")
def test_a_database_without_room_keeps_what_it_has(tmp_path: Path, limits: Limits) -> None:
    db, few = tmp_path / "a.db", _CELLS[:1]
    assert end_of(db, limits, few) == ("", 1)
    many = [replace(CELL, seed=seed) for seed in range(1, 100)]
    said, stored = end_of(db, limits, many, pages=2)
    assert said.startswith(f"{db}: the database cannot be written (disk full")
    assert _FULL_FROM < stored < len(many)
    goes_on(db, limits, many)
