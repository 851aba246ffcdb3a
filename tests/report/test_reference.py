"""The reference results in figures and report."""

import shutil
from pathlib import Path

import pytest

from results.paths import REFERENCE
from results.store.store import Store
from sweeps.report.figures import draw_all
from sweeps.report.presentation import references
from sweeps.report.report import write_report
from tests.commands import lockcross
from tests.report.test_figures_gem5 import database, study

__all__ = ["database"]


@pytest.fixture
def folder(database: Path, tmp_path: Path) -> Path:
    """A folder of reference results: a validation and no study."""
    place = tmp_path / "reference"
    place.mkdir()
    shutil.copy(database, place / "validation.db")
    return place


@pytest.mark.parametrize("name", sorted(path.name for path in REFERENCE.glob("*.db")))
def test_reading_leaves_a_reference_as_it_is(name: str, tmp_path: Path) -> None:
    """Its bytes too, and nothing beside it."""
    file = tmp_path / name
    shutil.copy(REFERENCE / name, file)
    assert lockcross("query", "SELECT count(*) FROM runs", "--db", str(file)).returncode == 0
    assert lockcross("runs", "--db", str(file)).returncode == 0
    assert list(tmp_path.iterdir()) == [file]
    assert file.read_bytes() == (REFERENCE / name).read_bytes()


def test_references_are_read_for_another_database_without_a_trace(tmp_path: Path) -> None:
    folder = tmp_path / "reference"
    shutil.copytree(REFERENCE, folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    study(tmp_path / "own.db")
    with (
        Store(tmp_path / "own.db", read_only=True) as store,
        references(store.connection, folder) as others,
    ):
        assert others.validations
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.usefixtures("sketched")
def test_a_study_takes_the_validation_of_the_reference(folder: Path, tmp_path: Path) -> None:
    study(tmp_path / "own.db")
    with (
        Store(tmp_path / "own.db", read_only=True) as store,
        references(store.connection, folder) as others,
    ):
        drawn = draw_all(store.connection, tmp_path, others)
        page = write_report(store.connection, tmp_path / "report.html", drawn, others)
    assert {"winner_map", "validation"} <= set(drawn)
    assert "results/reference/validation.db" in page.read_text("utf-8")


def test_a_database_with_its_own_validation_keeps_it(folder: Path, tmp_path: Path) -> None:
    with (
        Store(folder / "validation.db", read_only=True) as store,
        references(store.connection, folder) as others,
    ):
        assert [one.connection for one in others.validations] == [store.connection]
        assert [one.note for one in others.validations] == [""]
        assert not others.studies


def test_without_a_reference_there_is_only_the_database(tmp_path: Path) -> None:
    study(tmp_path / "own.db")
    with (
        Store(tmp_path / "own.db", read_only=True) as store,
        references(store.connection, tmp_path / "nowhere") as others,
    ):
        assert [one.connection for one in others.validations] == [store.connection]
        assert not others.studies
