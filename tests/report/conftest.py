"""Fixtures of several tests of figures and pages."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from results.store.store import Store
from sweeps.study.results import StudyResults


@pytest.fixture
def results(database: Path) -> Iterator[StudyResults]:
    """The study, to be read alone."""
    with Store(database, read_only=True) as store:
        yield StudyResults(store.connection)


@pytest.fixture
def own(database: Path, tmp_path: Path) -> Iterator[Store]:
    """The study, to be changed."""
    with Store(Path(shutil.copy(database, tmp_path / "own.db"))) as store:
        yield store
