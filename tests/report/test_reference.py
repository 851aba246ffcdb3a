"""The reference results in figures and report."""

import shutil
from pathlib import Path

import pytest

from results.paths import REFERENCE
from results.store.store import Store
from sweeps.accuracy.errors import ANY, read_rows
from sweeps.report.figures import draw_all
from sweeps.report.presentation import references
from sweeps.report.report import write_report
from tests.commands import lockcross
from tests.report.test_figures_gem5 import database, study

__all__ = ["database"]


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
        assert others.studies or others.apart
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.usefixtures("sketched")
def test_the_page_of_a_study_says_how_far_the_engine_is_off(tmp_path: Path) -> None:
    study(tmp_path / "own.db")
    with Store(tmp_path / "own.db", read_only=True) as store:
        drawn = draw_all(store.connection, tmp_path)
        page = write_report(store.connection, tmp_path / "report.html", drawn).read_text("utf-8")
    assert "winner_map" in drawn and "validation" not in drawn
    rows = [row for row in read_rows() if row.kind == ANY]
    table = page.partition("Errors by reference and work")[2].partition("</table>")[0]
    assert table.count("<tr>") == len(rows) + 1
    assert all(f">{row.machine}<" in table and f">{row.cells}<" in table for row in rows)


def test_a_database_with_a_validation_shows_it_alone(database: Path, tmp_path: Path) -> None:
    with (
        Store(database, read_only=True) as store,
        references(store.connection) as others,
    ):
        assert not others.studies
        page = write_report(store.connection, tmp_path / "report.html", {}, others)
    text = page.read_text("utf-8")
    assert 'id="validation"' in text and "Errors by reference and work" not in text


def test_without_a_reference_there_is_only_the_database(tmp_path: Path) -> None:
    study(tmp_path / "own.db")
    with (
        Store(tmp_path / "own.db", read_only=True) as store,
        references(store.connection, tmp_path / "nowhere") as others,
    ):
        assert not others.studies
