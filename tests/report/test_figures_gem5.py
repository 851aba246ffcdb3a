"""Figures and report of validations and partial studies."""

import re
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from typer.testing import CliRunner

from results.errors import NoDataError
from results.paths import ROOT
from results.store.records import CalibrationRecord
from results.store.store import Store, options_id
from sweeps.cli.main import make_app
from sweeps.model import engines
from sweeps.report.figures import draw_all
from sweeps.report.presentation import references
from sweeps.report.report import write_report
from sweeps.report.winner_map import draw_engines
from sweeps.study.results import StudyResults
from tests.fakes.records import record
from tests.fakes.study import Synthetic
from tests.fakes.validation import Gem5Data
from tests.report.test_figures import OF_STUDY
from tests.report.test_report import lines_of


@pytest.fixture(scope="module")
def validation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A validation, no study."""
    path = tmp_path_factory.mktemp("gem5") / "validation.db"
    with Store(path) as store:
        Gem5Data(store).validation(("x86_64", "aarch64"))
    return path


def test_a_validation_without_a_study_is_drawn_and_reported_alone(
    validation: Path, tmp_path: Path, golden: Callable[[Path, str], None]
) -> None:
    folders = tmp_path / "one", tmp_path / "two"
    with Store(validation, read_only=True) as store, references(store.connection) as others:
        assert not others.studies
        drawn, again = (draw_all(store.connection, folder) for folder in folders)
        page = write_report(store.connection, tmp_path / "report.html", drawn, others).read_text()
    assert list(drawn) == list(again) == ["validation"]
    first, second = ({path.name: path.read_bytes() for path in one.iterdir()} for one in folders)
    assert first == second
    assert 'id="answer"' not in page and "Errors by reference and work" not in page
    assert 'alt="Cycles per acquire-release pair on' in page
    (section,) = re.findall(r'<section id="validation".*?</section>', page, re.S)
    golden(ROOT / "tests" / "golden" / "validation.words", "\n".join(lines_of(section)) + "\n")


@pytest.mark.usefixtures("sketched")
@pytest.mark.parametrize("kind", ["run_length", "rounds", "map", "table", "axis"])
def test_a_study_without_a_part_is_drawn_and_told_without_it(
    own: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    figure = {"map": "winner_map"}.get(kind, kind)
    for table, column in (("series", "name"), ("crossovers", "series")):
        own.connection.execute(f"DELETE FROM {table} WHERE {column} GLOB '{kind}/*'")
    for _ in range(2):  # the second time nothing is drawn
        drawn = draw_all(own.connection, tmp_path)
    write_report(own.connection, tmp_path / "report.html", drawn)
    missing = sorted({figure, f"{figure}_narrow"} & OF_STUDY)
    missing = ["decision_map"] * (kind == "map") + missing
    assert set(drawn) == OF_STUDY - set(missing)
    said = capsys.readouterr().err.splitlines()
    for name, line in zip(missing * 2, said, strict=True):
        assert line.startswith(f"figure {name} left out: the study has no")


@pytest.mark.usefixtures("sketched")
def test_a_gem5_study_of_one_thread_is_drawn(tmp_path: Path) -> None:
    """Its engine says nothing of latencies, nor of a cancellation."""
    path = study_on("gem5/minor", tmp_path / "study.db", threads=1)
    with Store(path) as store:
        nothing = options_id(store.connection, {})
        store.connection.execute("UPDATE runs SET resolved_id = ?", (nothing,))
        store.connection.execute("DELETE FROM series WHERE name GLOB 'run_length/*'")
        drawn = draw_all(store.connection, tmp_path)
    assert set(drawn) == OF_STUDY - {"run_length", "run_length_narrow"}


def test_a_studys_axes_are_those_of_its_own_engine(own: Store) -> None:
    place = ("generic", "x86_64", "lock")
    run = own.add_run(record("other"), "p")
    own.add_calibrations([CalibrationRecord(*place, "gem5/o3", 60, 60, "cas", 999, run, run)])
    scale = StudyResults(own.connection).measured(*place, "cas_latency")
    assert scale(60) == 62
    own.connection.execute("UPDATE calibrations SET engine = 'x' WHERE engine = 'qemu'")
    with pytest.raises(NoDataError, match="calibrations"):
        StudyResults(own.connection).measured(*place, "cas_latency")


def study_on(engine: str, path: Path, **plan: object) -> Path:
    """The synthetic study as another engine's, its CAS measured 30 cycles dearer."""
    with Store(path) as store:
        synthetic = Synthetic(store)
        synthetic.on(engine, **plan)
        synthetic.fill()
        store.connection.execute("UPDATE calibrations SET engine = ?", (engine,))
        store.connection.execute("UPDATE calibrations SET cycles = cycles + 30 WHERE op = 'cas'")
    return path


def _border_at(ax: Axes, engine: str, fence: float) -> list[float]:
    """CAS latencies at which an engine's borders pass a fence latency."""
    found = []
    for drawn in ax.collections:
        if to_hex(drawn.get_edgecolor()[0]).upper() == engines.entry(engine).colour:
            for path in drawn.get_paths():
                found += [x for x, y in path.vertices if abs(y - fence) < 0.3]
    return found


def test_borders_of_several_engines_stand_where_each_measured_them(
    database: Path, tmp_path: Path
) -> None:
    paths = {
        "o3.db": study_on("gem5/o3", tmp_path / "o3.db"),
        "own.db": database,
        "minor.db": study_on("gem5/minor", tmp_path / "minor.db", threads=1),
    }
    with ExitStack() as opened:
        connections = {
            name: opened.enter_context(Store(path, read_only=True)).connection
            for name, path in paths.items()
        }
        (ax,) = draw_engines(connections).axes
        assert ax.get_title() == "x86-64, mfence"
        # Fence set to 30: tasuki 70 + cas, reservation 77 + cas / 2, asym_tasuki 105;
        # measured 2 more, and 30 more still on O3.
        own = _border_at(ax, "qemu", 32)
        assert (min(own), max(own)) == (pytest.approx(16, abs=1), pytest.approx(58, abs=1))
        other = _border_at(ax, "gem5/o3", 32)
        assert (min(other), max(other)) == (pytest.approx(46, abs=1), pytest.approx(88, abs=1))
        said = {text.get_text() for text in ax.texts}
        assert {"embedded engine", "gem5 O3", "gem5 Minor\n1 thread, owner's share 90 %"} < said
        with pytest.raises(NoDataError, match=r"no two engines .* own\.db"):
            draw_engines({"own.db": connections["own.db"]})


def test_a_database_without_a_study_is_named(results: StudyResults, validation: Path) -> None:
    with (
        Store(validation, read_only=True) as other,
        pytest.raises(NoDataError, match=r"^other\.db: this database holds no finished study"),
    ):
        draw_engines({"own.db": results.connection, "other.db": other.connection})


@pytest.mark.usefixtures("sketched")
def test_the_command_draws_studies_over_one_another(own: Store, tmp_path: Path) -> None:
    other = study_on("gem5/o3", tmp_path / "o3.db")
    words = ["figures", "--db", str(tmp_path / "own.db"), "--with", str(other)]
    done = CliRunner().invoke(make_app(), words)
    assert done.exit_code == 0, done.output
    assert (tmp_path / "figures" / "engines.svg").exists()
    assert done.output.splitlines()[-1] == str(tmp_path / "figures" / "engines.png")
