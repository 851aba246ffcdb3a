"""Fixtures and hooks of all tests."""

import fcntl
import hashlib
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PIL import Image

from results.store.store import Store
from tests.commands import end_all
from tests.trees import made_once

# A shell starts what it puts into the background of a script with SIGINT ignored, and children
# inherit that: a command would not hear of it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--write-golden",
        action="store_true",
        help="Write what commands say now to tests/golden/, where only words have changed.",
    )


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are CPUs: tests that wait for a batch system, a browser or a process that
    is to end leave a CPU idle."""
    return len(os.sched_getaffinity(0)) + 1


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long tests come first: begun last, one would keep one CPU busy while the others wait."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.fixture(scope="session", autouse=True)
def nothing_goes_on_running() -> Iterator[None]:
    """A test that fails may leave a command behind."""
    yield
    end_all()


@pytest.fixture(scope="session")
def study_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study of tests/fakes/study.py, its figures and its page, to be read alone. Made once for
    all workers: the first makes it, and the others wait."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    with (base / "study.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return made_once(base / "study", _draw_study)


def _draw_study(folder: Path) -> None:
    from sweeps.report.figures import draw_all
    from sweeps.report.report import write_report
    from tests.fakes.study import study

    folder.mkdir()
    with Store(study(folder / "study.db"), read_only=True) as store:
        write_report(store.connection, folder / "report.html", draw_all(store.connection, folder))


@pytest.fixture(scope="session")
def database(study_folder: Path) -> Path:
    """The database of the study."""
    return study_folder / "study.db"


@pytest.fixture(scope="session")
def study_page(study_folder: Path) -> Path:
    """The page of the study."""
    return study_folder / "report.html"


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
    """Hold a text to a file of tests/golden/, or write it there with `--write-golden`."""

    def hold(file: Path, text: str) -> None:
        if request.config.getoption("--write-golden"):
            file.write_text(text, encoding="utf-8")
        assert text == file.read_text(encoding="utf-8")

    return hold


@pytest.fixture
def sketched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are built, but only their names are written: Matplotlib takes most of its time to
    write. For tests of which figures there are, not of the contents of their files."""

    def write(name: str, _: str, draw: Callable[[], object], folder: Path) -> Path:
        draw()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.svg").write_text(f'<svg xmlns="http://www.w3.org/2000/svg">{name}</svg>')
        colour = hashlib.sha256(name.encode()).digest()[:3]
        Image.new("RGB", (1, 1), tuple(colour)).save(folder / f"{name}.png")
        return folder / f"{name}.png"

    monkeypatch.setattr("results.draw.painter.write", write)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty database, open for writing."""
    with Store(tmp_path / "a.db") as empty:
        yield empty
