"""Programs of several compilers: told apart in queries, never mixed in a figure or a table."""

import shutil
import sqlite3
from pathlib import Path

import pytest

from results.errors import NoDataError
from results.store.queries import ask, compiler_name
from results.store.store import Store
from sweeps.questions.read.runs import list_runs
from sweeps.report import report
from sweeps.report.figures import draw_all
from sweeps.report.presentation import references
from sweeps.report.winner_map import draw_engines
from sweeps.study.results import StudyResults
from tests.report.test_figures_gem5 import study_on

GCC_12 = "x86_64-linux-gnu-gcc (Debian 12.2.0-14+deb12u1) 12.2.0"
GCC_14 = "powerpc64le-linux-gnu-gcc (Debian 14.2.0-19) 14.2.0"
CLANG = "Debian clang version 16.0.6 (15~deb12u1)"


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (GCC_12, "gcc 12.2.0"),
        (GCC_14, "gcc 14.2.0"),
        ("gcc-13 (Ubuntu 13.3.0-6ubuntu2~24.04) 13.3.0", "gcc 13.3.0"),
        (CLANG, "clang 16.0.6"),
        ("cc 1", "cc 1"),
    ],
)
def test_a_compiler_has_one_name_on_every_isa(line: str, name: str) -> None:
    assert compiler_name(line) == name


def test_a_series_of_two_compilers_is_refused(database: Path, tmp_path: Path) -> None:
    with Store(Path(shutil.copy(database, tmp_path / "both.db"))) as store:
        name, run = store.connection.execute(
            "SELECT name, run_id FROM series WHERE name GLOB 'map/*' LIMIT 1"
        ).fetchone()
        assert StudyResults(store.connection).series(name)
        store.connection.execute("UPDATE runs SET compiler = ?", (GCC_12,))
        assert StudyResults(store.connection).series(name)
        store.connection.execute("UPDATE runs SET compiler = ? WHERE id = ?", (GCC_14, run))
        with pytest.raises(NoDataError, match=r"gcc 12\.2\.0 and gcc 14\.2\.0"):
            StudyResults(store.connection).series(name)


@pytest.mark.usefixtures("sketched")
def test_gem5s_studies_of_another_compiler_are_not_drawn_over_it(
    database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "reference"
    folder.mkdir()
    gem5 = study_on("gem5/o3", folder / "gem5_o3.db")
    for compiler, drawn in ((GCC_12, True), (GCC_14, False)):
        with sqlite3.connect(gem5) as connection:
            connection.execute("UPDATE runs SET compiler = ?", (compiler,))
        with (
            Store(database, read_only=True) as store,
            references(store.connection, folder) as others,
        ):
            found = draw_all(store.connection, tmp_path / "figures", others)
            page = report.render(store.connection, found, others)
        assert ("engines" in found) is drawn
        assert ("not drawn over one another" in page) is not drawn
        assert ("gcc 14.2.0" in capsys.readouterr().err) is not drawn


def test_studies_of_two_compilers_are_not_drawn_over_one_another_when_asked(
    database: Path, tmp_path: Path
) -> None:
    with (
        Store(database, read_only=True) as own,
        Store(study_on("gem5/o3", tmp_path / "o3.db")) as other,
    ):
        draw_engines({"own": own.connection, "other": other.connection})
        other.connection.execute("UPDATE runs SET compiler = ?", (GCC_14,))
        with pytest.raises(NoDataError, match=r"other is of programs by gcc 14\.2\.0"):
            draw_engines({"own": own.connection, "other": other.connection})


def test_queries_tell_runs_of_two_compilers_apart(
    connection: sqlite3.Connection, filled: Path
) -> None:
    assert len(list_runs(connection, 9, compiler="14.2.0").rows) == 1
    answer = ask(connection, "compilers", filled)
    (row,) = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
    assert row["difference_percent"] == 10
    assert "gcc 12.2.0" in row["cycles_per_pair"] and "gcc 14.2.0" in row["cycles_per_pair"]
