"""The reference results in figures and report."""

import shutil
from pathlib import Path

from results.paths import REFERENCE
from sweeps.accuracy.errors import ANY, read_rows
from sweeps.report.presentation import references
from sweeps.study.results import StudyResults
from tests.commands import lockcross


def test_reading_leaves_the_references_as_they_are(results: StudyResults, tmp_path: Path) -> None:
    """Their bytes too, and nothing beside them."""
    folder = tmp_path / "reference"
    shutil.copytree(REFERENCE, folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with references(results.connection, folder) as others:
        assert others.studies or others.apart
    for path in folder.glob("*.db"):
        counted = lockcross("query", "SELECT count(*) FROM runs", "--db", str(path))
        assert counted.returncode == 0, path
        assert lockcross("runs", "--db", str(path)).returncode == 0, path
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_the_page_of_a_study_says_how_far_the_engine_is_off(study_page: Path) -> None:
    page = study_page.read_text("utf-8")
    rows = [row for row in read_rows() if row.kind == ANY]
    table = page.partition("Errors by reference and work")[2].partition("</table>")[0]
    assert table.count("<tr>") == len(rows) + 1
    assert all(f">{row.machine}<" in table and f">{row.cells}<" in table for row in rows)


def test_without_a_reference_there_is_only_the_database(
    results: StudyResults, tmp_path: Path
) -> None:
    with references(results.connection, tmp_path / "nowhere") as others:
        assert not others.studies
