"""Figures of a small synthetic study, and their data."""

import errno
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import Collection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Annotation

from results.draw.painter import save
from results.errors import LockcrossError, NoDataError
from results.store.store import Store
from sweeps.model.locks import LockLabel
from sweeps.questions.crossover.processors_figure import draw_processors
from sweeps.report.figures import draw_all
from sweeps.report.grids import (
    Grid,
    Marks,
    cancel_grid,
    grid,
    interpolate,
    map_marks,
    own_grids,
)
from sweeps.report.style import STYLES
from sweeps.report.winner_map import Panel, draw_map, draw_panel, label_regions, polyline
from sweeps.study.job import neighbours
from sweeps.study.leads import Rule
from sweeps.study.results import Isa, Mark, StudyResults
from tests.fakes.study import study

MFENCE = Isa(title="x86-64", full_fence="mfence")
NO_MARKS = Marks(None, (), ())
ON_THE_PAGE = {"processors", "decision_map", "winner_map", "run_length", "rounds"}
OF_STUDY = {*ON_THE_PAGE, "winner_map_narrow", "run_length_narrow"}


def test_drawn_twice_figures_are_the_same_bytes(
    database: Path, study_folder: Path, tmp_path: Path
) -> None:
    with Store(database, read_only=True) as store:
        draw_all(store.connection, tmp_path)
    drawn = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert drawn == {name: (study_folder / name).read_bytes() for name in drawn}
    assert drawn.pop("drawn.json")  # what they are drawn from
    assert set(drawn) == {f"{name}.{end}" for name in OF_STUDY for end in ("png", "svg", "pdf")}
    for name, data in drawn.items():
        if name.endswith(("png", "pdf")):
            assert data.startswith((b"\x89PNG", b"%PDF"))
        else:
            assert ElementTree.fromstring(data).tag.endswith("svg")


def times(folder: Path) -> set[tuple[str, int]]:
    """The figures in a folder, each with the time of each of its files."""
    files = [path for path in folder.glob("*") if path.name != "drawn.json"]
    return {(path.stem, path.stat().st_mtime_ns) for path in files}


@pytest.mark.usefixtures("sketched")
def test_figures_are_drawn_again_only_where_something_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, folder = study(tmp_path / "study.db"), tmp_path / "figures"

    def draw() -> set[str]:
        before = times(folder)
        with Store(path, read_only=True) as store:
            assert set(draw_all(store.connection, folder)) == OF_STUDY
        return {name for name, _ in times(folder) - before}

    assert draw() == OF_STUDY
    assert draw() == set()
    (folder / "rounds.svg").unlink()
    assert draw() == {"rounds"}
    (folder / "winner_map.png").write_bytes(b"not as it was drawn")
    assert draw() == {"winner_map"}
    (folder / "drawn.json").write_text("{")
    assert draw() == OF_STUDY
    with Store(path) as store:
        store.set_fact("anything", {"new": 1})
        assert draw() == OF_STUDY  # in SQLite's log, not yet in the file
    assert draw() in (OF_STUDY, set())  # the log has been moved into it
    assert draw() == set()
    monkeypatch.setattr("sweeps.report.figures.version", lambda name: f"{name} 1.0")
    assert draw() == OF_STUDY  # another version of a package


@pytest.mark.usefixtures("sketched")
@pytest.mark.parametrize("cpus", [1, 2])
def test_a_mistake_in_drawing_shows_its_place(
    results: StudyResults, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cpus: int
) -> None:
    def broken(*_: object, **__: object) -> Figure:
        raise ZeroDivisionError

    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(cpus)))
    monkeypatch.setattr("sweeps.questions.crossover.curves.draw_rounds", broken)
    with pytest.raises(ZeroDivisionError) as error:
        draw_all(results.connection, tmp_path)
    assert error.traceback[-1].name == "broken"


def test_the_map_has_measured_axes_marks_and_both_contests(results: StudyResults) -> None:
    shown = grid(results, "generic", "x86_64", "lock")
    assert shown.xs == (2.0, 62.0, 122.0)
    assert set(shown.costs) == {"tasuki", "reservation", "asym_tasuki", "asym_tasuki/rmw", "thin"}
    assert shown.aside == ("thin",)
    # A lock without full fences has one cost for all their latencies.
    assert (shown.costs["asym_tasuki/rmw"] == shown.costs["asym_tasuki/rmw"][0]).all()
    every = shown.marks.apart + shown.marks.here
    assert [(m.machine, m.assumed) for m in every] == [("guessed", True), ("known", False)]
    # At CAS 120 and cancellation 2000: 42 + (120 + f) / 2 + 20 = 45 + 2 f.
    at_right = [c.fence for c in shown.crossings if c.cas == 122.0 and "asym_tasuki" in c.lock_a]
    assert at_right == [pytest.approx(2 + (42 + 60 + 20 - 45) / 1.5, abs=1)]


def test_the_first_figure_has_curves_over_the_work(results: StudyResults) -> None:
    """With a line where an atomic begins to be free."""
    axes = draw_processors(results.connection).axes
    (ax,) = (ax for ax in axes if "free from 948" in texts(ax))
    curves = {line.get_color(): line.get_xydata().tolist() for line in ax.lines}  # type: ignore[union-attr]
    assert curves[STYLES["j9_flat"].colour] == [[0, 50], [100, 22], [1000, 17]]
    assert curves[STYLES["reservation"].colour] == [[0, 15], [100, 16], [1000, 17]]
    assert any([round(x) for x, _ in points] == [948, 948] for points in curves.values())


def test_no_study_is_said_plainly(tmp_path: Path) -> None:
    with Store(tmp_path / "empty.db") as store, pytest.raises(NoDataError, match="crossover"):
        draw_all(store.connection, tmp_path / "figures")


def test_a_folder_that_cannot_be_made_is_said_plainly(
    results: StudyResults, tmp_path: Path
) -> None:
    (tmp_path / "figures").write_text("in the way")
    with pytest.raises(LockcrossError, match="--output"):
        draw_all(results.connection, tmp_path / "figures")


@pytest.mark.parametrize("before", [b"", b"an earlier figure"])
def test_a_full_disk_leaves_no_part_of_a_figure(
    tmp_path: Path, before: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: object, part: Path, **__: object) -> None:
        part.write_bytes(b"a beginning")
        raise OSError(errno.ENOSPC, "No space left on device")

    file = tmp_path / "x.png"
    if before:
        file.write_bytes(before)
    monkeypatch.setattr(Figure, "savefig", full)
    with pytest.raises(LockcrossError, match="No space left") as error:
        save(file, Figure)
    assert error.value.exit_code == 1
    assert [path.read_bytes() for path in tmp_path.iterdir()] == ([before] if before else [])


@pytest.mark.parametrize("upright", [False, True])
def test_a_strip_has_its_name_beside_it(upright: bool) -> None:
    ends = (0.0, 100.0)
    lead = np.array([[-1.0, 99.0], [-1.0, 99.0]])  # up to a latency of 1 of 100
    kinds = LockLabel("tasuki/rmw"), LockLabel("asym_tasuki")
    costs = {kinds[0]: lead if upright else lead.T, kinds[1]: np.zeros((2, 2))}
    one = Grid(MFENCE, "lock", ends, ends, costs, (), NO_MARKS)
    ax = Figure().subplots()
    label_regions(ax, Panel(one, tuple(costs), "a strip"))
    wide, strip = (text for text in ax.texts if isinstance(text, Annotation))
    assert (wide.get_text(), wide.arrow_patch) == ("asymmetric", None)
    assert strip.get_text() == "tasuki\nlocked RMW" and strip.arrow_patch is not None
    assert strip.xy[0 if upright else 1] == 0
    beside = strip.xyann[0 if upright else 1]
    assert 0 < beside < 50
    assert abs(strip.xyann[1] - wide.xy[1]) > 3


def texts(ax: Axes) -> set[str]:
    return {text.get_text() for text in ax.texts}


def test_only_processors_with_the_maps_cancellation_stand_on_it(results: StudyResults) -> None:
    """A cancellation costs 2,000 cycles on the map and on machine known, 9,000 on guessed. A mark
    is a place: it has no lock's look, whoever wins on the processor."""
    figure = draw_map(results.connection, "generic")
    other = draw_map(results.connection, "narrow").axes
    shown = map_marks(results, "generic", "x86_64", "lock")
    assert shown.cancel == 2000
    assert [mark.words for mark in shown.here + shown.apart] == ["known (2,000)", "guessed (9,000)"]
    for ax in figure.axes[:2]:
        assert "known" in texts(ax) and "guessed*" not in texts(ax)
        (mark,) = (one for one in ax.lines if list(one.get_xydata()[0]) == [20, 35])  # type: ignore[index]
        assert (mark.get_marker(), mark.get_markerfacecolor()) == ("o", "white")
    said = figure.get_suptitle().replace("\n", " ")
    assert "a cancellation of 2,000 cycles; processors with another one: decision_map" in said
    assert not {"known", "guessed*"} & set().union(*map(texts, other))


def test_a_map_at_a_processors_own_cancellation_follows_from_stops(
    results: StudyResults, monkeypatch: pytest.MonkeyPatch
) -> None:
    """4 stops in 100 pairs: each cycle more of a cancellation is 0.04 more of a pair."""
    monkeypatch.setattr(StudyResults, "metrics", lambda *_: {"charges_stop": 4, "pairs": 100})
    place = ("generic", "x86_64", "lock")
    run, (known, guessed) = grid(results, *place), own_grids(results, *place)
    assert [spot.words for spot in known.spots + guessed.spots] == ["known", "guessed*"]
    for label, costs in run.costs.items():
        assert (known.costs[label] == costs).all()
        assert guessed.costs[label] == pytest.approx(costs + 7000 * 0.04)


def test_a_run_stands_where_its_series_says_whatever_it_sets_itself(own: Store) -> None:
    """A run at the machine's own cancellation may be stored without one that is set."""
    place = "generic", "x86_64", "lock"
    before = cancel_grid(StudyResults(own.connection), *place)
    own.connection.execute("UPDATE runs SET cancel_latency = NULL WHERE cancel_latency = 5000")
    after = cancel_grid(StudyResults(own.connection), *place)
    assert before and after and before.ys == after.ys == (500, 5000)
    for label, costs in before.costs.items():
        assert (after.costs[label] == costs).all()


def test_a_processor_whose_atomics_differ_has_no_place_where_they_are_one(
    results: StudyResults,
) -> None:
    found = cancel_grid(results, "generic", "x86_64", "lock")
    assert found
    alike = Mark("alike", "Alike", 20, 33, assumed=False, cancel=5000)
    marks = (alike, replace(alike, machine="other", locked_alike=False))
    assert [spot.words for spot in replace(found, marks=Marks(5000, marks, ())).spots] == ["alike"]


def drawn(tie: float = 0.0, **ends: tuple[float, float]) -> Axes:
    """A map of locks by their costs at a CAS of 0 and of 100, whatever the fence costs; thin stands
    aside."""
    axis = (0.0, 100.0)
    costs = {LockLabel(name): np.array([pair, pair]) for name, pair in ends.items()}
    aside = tuple(label for label in costs if label == "thin")
    one = Grid(MFENCE, "lock", axis, axis, costs, (), NO_MARKS, aside, Rule(lambda *_: None, tie))
    ax = Figure(figsize=(4, 4), dpi=100).subplots()
    draw_panel(ax, Panel(one, tuple(label for label in costs if label != "thin"), "a map"))
    return ax


def test_the_band_of_ties_lies_along_the_border() -> None:
    """The two cost the same at a CAS of 50, and within 2 % of each other from 47 to 53.06."""

    def white(ax: Axes) -> list[Collection]:
        faces = [(one, np.atleast_2d(one.get_facecolor())) for one in ax.collections]
        return [one for one, face in faces if face.size and to_hex(face[0]) == "#ffffff"]

    (band,) = white(drawn(0.02, tasuki=(100, 200), reservation=(150, 150)))
    xs = np.concatenate([np.asarray(path.vertices)[:, 0] for path in band.get_paths()])
    assert (xs.min(), xs.max()) == (pytest.approx(47, abs=0.2), pytest.approx(53.06, abs=0.2))  # type: ignore[comparison-overlap]
    assert not white(drawn(0.0, tasuki=(100, 200), reservation=(150, 150)))


@pytest.mark.parametrize(("thin", "side"), [((100, 200), -1), ((200, 100), 1)])
def test_the_teeth_are_where_the_lock_aside_is_cheaper(
    thin: tuple[float, float], side: int
) -> None:
    """It costs as much as the cheapest at a CAS of 50, so there the line is."""
    ax = drawn(tasuki=(160, 160), reservation=(150, 150), thin=thin)
    canvas = FigureCanvasAgg(ax.get_figure(root=True))  # type: ignore[arg-type]
    canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())[:, :, :3].astype(int)
    pink = [int(STYLES["thin"].colour[i : i + 2], 16) for i in (1, 3, 5)]
    _, columns = np.nonzero((np.abs(pixels - pink) < 12).all(axis=2))
    off = (columns - ax.transData.transform((50, 50))[0]) * side
    assert (off > 3).sum() > 20
    assert not (off < -3).any()


def test_a_lock_aside_may_be_cheaper_everywhere() -> None:
    ax = drawn(tasuki=(160, 160), reservation=(150, 150), thin=(100, 100))
    assert "thin is cheaper everywhere" in texts(ax)


def test_interpolation_is_exact_at_the_grid_and_linear_between() -> None:
    costs = np.array([[0.0, 10.0, 40.0], [100.0, 110.0, 140.0]])
    x, y = np.array([0.0, 1.0, 3.0, 2.0]), np.array([0.0, 1.0, 0.0, 0.5])
    assert interpolate([0, 1, 3], [0, 1], costs, x, y).tolist() == [0.0, 110.0, 40.0, 75.0]


def test_neighbours_are_those_that_different_locks_win() -> None:
    costs = {(x, y): {"a": float(x), "b": 15.0 + y} for x in (0, 10, 20) for y in (0, 10)}
    assert neighbours(costs) == [("a", "b", (10, 0), (20, 0)), ("b", "a", (20, 0), (20, 10))]


def test_a_border_is_drawn_along_its_longer_side() -> None:
    assert polyline([(5.0, 30.0), (4.0, 10.0), (5.0, 20.0)]) == [(4, 10), (5, 20), (5, 30)]
    assert polyline([(30.0, 5.0), (10.0, 4.0)]) == [(10, 4), (30, 5)]
