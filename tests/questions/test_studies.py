"""Studies of cells: the plan, its cells and crossovers, and its figures and tables. Costs
come from a model in place of runs, so no engine is needed."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from results.store.store import Store
from sweeps.engines.base import load_engine
from sweeps.model.cell import Cell, invalid_reason, unsupported_reason
from sweeps.questions.studies.answer import changes, panels, tables
from sweeps.questions.studies.figures import draw_map
from sweeps.questions.studies.presentation import written
from sweeps.report.figures import draw_all
from sweeps.report.report import present, render
from sweeps.run.runner import Runner
from sweeps.study.job import Job, load_study, searches
from sweeps.study.results import StudyResults
from tests.commands import lockcross
from tests.fakes.runner import FakeRunner

NAME = "sst_many_cores"
FIGURES = {"many_cores", "many_cores_distance", "many_cores_map"}


class MeshRunner(FakeRunner):
    """Costs from a model. With contention tasuki takes 100 cycles a core and one for each seed but
    the first, mcs 900 and 10 a core, and others 5000. With an owner tasuki takes 100, and
    reservation 20 and 50 a link for each percent that is not the owner's; others 5000. A
    cancellation takes 200 and 8 a link."""

    network = True  # whose traffic is counted

    def answer(self, cell: Cell) -> Mapping[str, object]:
        assert not unsupported_reason(cell), cell
        links = sum(divmod(int(cell.engine.partition("/at-")[2] or 0), 8))  # on a mesh of 8 x 8
        if cell.workload == "transition":
            phases = {4: 10 * (230 + 8 * links), 5: 10 * 30}
            found = {f"phase_{n}_cycles": (float(value), "cycles") for n, value in phases.items()}
            same = {"pairs": (50, "pairs"), "cycles_per_pair": (1, "cycles/pair")}
            return {"metrics": found | same}
        pairs = int(cell.parameters.get("iterations", 10)) * cell.threads
        each = contended(cell) if cell.workload == "random_threads" else owned(cell, links)
        metrics: dict[str, tuple[float, str]] = {
            "core_cycles": (each * pairs, "cycles"),
            "cycles": (each * pairs // 2, "cycles"),
            "pairs": (pairs, "pairs"),
            "cycles_per_pair": (each, "cycles/pair"),
        }
        if self.network:
            metrics |= {
                "network_messages": (3 * pairs, "count"),
                "network_bytes": (48 * pairs, "bytes"),
                "home_occupancy_most": (cell.threads / 2, "requests"),
            }
        return {"metrics": metrics}


def contended(cell: Cell) -> int:
    tasuki = 100 * cell.threads + cell.seed - 1
    return {"tasuki": tasuki, "mcs": 900 + 10 * cell.threads}.get(cell.lock, 5000)


def owned(cell: Cell, links: int) -> int:
    away = round(100 * (1 - cell.parameters["owner_share"]))
    return {"tasuki": 100, "reservation": 20 + 50 * links * away // 100}.get(cell.lock, 5000)


def study(store: Store, network: bool = True) -> None:
    runner = MeshRunner(store)
    runner.network = network
    Job(load_study(NAME), store, runner).run()


def series(name: str) -> list[Cell]:
    plan = load_study(NAME).plan
    return [cell for cells in plan.named(f"many_cores/{name}") for cell in plan.cells_of(cells)]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store(tmp_path_factory.mktemp("many") / "study.db") as opened:
        study(opened)
    with Store(opened.path, read_only=True) as opened:
        yield opened


def test_every_cell_can_be_run() -> None:
    cells = Job(load_study(NAME), None, None).known_cells()  # type: ignore[arg-type]
    assert not [why for why in map(invalid_reason, cells) if why]
    assert not [why for why in map(unsupported_reason, cells) if why]
    for label in {cell.engine for cell in cells}:
        assert load_engine(label)


def test_contended_cells_share_the_pairs_and_take_the_machine_with_room() -> None:
    cells = {cell.threads: cell for cell in series("cores")}
    assert [*cells] == [1, 2, 4, 8, 16, 32, 64, 128]
    assert all(cell.parameters["iterations"] == 512 // n for n, cell in cells.items())
    (line,) = (one.line for one in searches(load_study(NAME).plan) if one.line.axis == "threads")
    for n, machine, iterations in ((48, "sst_mesh64", 11), (80, "sst_mesh128", 7)):
        cell = line.cell("mcs", n)
        assert (cell.machine, cell.parameters["iterations"]) == (machine, iterations)


def test_the_contender_is_where_the_label_says() -> None:
    nodes = (1, 4, 7, 31, 63)
    assert {cell.engine for cell in series("distance")} == {f"sst/at-{node}" for node in nodes}
    cancelling = series("cancellation")
    assert [cell.engine for cell in cancelling] == [f"sst/at-{node}" for node in range(1, 64)]
    assert {cell.cancel_latency for cell in cancelling} == {0}
    assert {cell.seed for cell in series("distance")} == {1, 2, 3}


def test_costs_cross_along_cores_with_a_band_over_the_seeds(store: Store) -> None:
    found = StudyResults(store.connection).crossovers("many_cores/cores")
    assert len(found) == 15, "each pair of six locks"
    (one,) = (c for c in found if {c.lock_a, c.lock_b} == {"tasuki", "mcs"})
    # 100 n = 900 + 10 n
    assert one.value == pytest.approx(10) and one.below == "tasuki" and one.unit == "cores"
    assert one.band is not None and (one.band.seeds, one.band.there) == (3, 3)
    assert one.band.low == pytest.approx(10 - 2 / 90) and one.band.high == pytest.approx(10)
    assert one.setting == {"critical": 20, "think": 100, "iterations": 512}


def test_costs_cross_along_distance_and_share(store: Store) -> None:
    rows = changes(store.connection, load_study(NAME).plan).records
    every = StudyResults(store.connection).crossovers("many_cores/owner_share")
    far, near = ([one for one in every if one.setting["links"] == links] for links in (14, 1))
    (along,) = (row for row in rows if row["along"].startswith("links") and "50 %" in row["held"])
    # 20 + 25 links = 100 at 3.2 links, of which whole ones are tried
    assert (along["cheaper"], along["bracket"]) == ("tasuki from 4 links", "3 to 4")
    (crossing,) = (one for one in far if one.verdict == "crosses")
    assert crossing.value == pytest.approx(0.885714, abs=0.003) and crossing.below == "tasuki"
    assert {one.verdict for one in near if one.lock_b == "reservation"} == {"b_always"}


def test_tables_have_a_row_per_place_and_mark_the_least(store: Store) -> None:
    found = {
        table.title.partition(" (")[0]: [(page := written(table))["heads"], *page["rows"]]
        for table in tables(store.connection, load_study(NAME).plan)
    }
    heads, *rows = found["cost"]
    assert heads == ["cores", "tasuki", "reservation", "asymmetric", "thin", "mcs", "tnp"]
    assert [row[0] for row in rows] == ["1", "2", "4", "8", "16", "32", "64", "128"]
    assert rows[0][1:3] == ["101*", "5,000"]  # the median of the seeds
    assert [cell.endswith("*") for cell in rows[-1]] == [False] * 5 + [True, False]
    assert found["messages on the network"][4][1] == "3.00"
    assert not any("*" in cell for row in found["bytes on the network"] for cell in row)
    assert found["busiest home"][-1][5] == "64.00"
    assert "cost, owner's share 90 %" in found


def test_the_map_has_every_node_and_what_a_link_adds(store: Store) -> None:
    ax, _ = draw_map({f"{NAME}/many_cores_map": store.connection}).axes
    words = [text.get_text() for text in ax.texts]
    assert len(words) == 64 and words[:2] == ["owner", "208"] and words[-1] == f"{200 + 14 * 8}"
    assert ax.get_title().endswith("+8.0 cycles for each link from the owner")


def test_quantities_without_data_have_no_panel(tmp_path: Path) -> None:
    with Store(tmp_path / "a.db") as store:
        study(store, network=False)
        first = load_study(NAME).plan.show[0]
        shown = panels(store.connection, load_study(NAME).plan, first)
    assert [title for title, _, _ in shown] == ["cost", "hand-over"]
    assert all(len(panel.curves) == 6 for _, _, panel in shown)


@pytest.mark.usefixtures("sketched")
def test_figures_are_files_and_in_the_report_and_the_end_prints_the_tables(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = draw_all(store.connection, tmp_path / "figures")
    assert set(figures) == FIGURES
    assert all(path.exists() for path in figures.values())
    page = render(store.connection, figures)
    assert "<title>Lockcross: Locks on one to 128 cores of a mesh" in page
    assert page.count("data:image/webp") == len(FIGURES)
    for words in ("near and far</h2>", "Where two locks change places", "tasuki from 4 links"):
        assert words in page
    present(store.path, tmp_path)
    said = capsys.readouterr().out
    assert "cost (core cycles per pair)" in said and "101*" in said
    assert "tasuki from 4 links" in said and str(tmp_path / "report.html") in said


def test_the_named_query_has_every_run_of_the_curves(store: Store) -> None:
    done = lockcross("query", "many_cores", "--format", "csv", "--db", str(store.path))
    lines = done.stdout.splitlines()
    assert len(lines) == 1 + 6 * 3 * (8 + 5 * 2)
    assert "many_cores/cores,sst,sst_mesh128,mcs,128,,1,2180.0,1090.0,3.0,48.0,64.0" in lines


def test_a_study_of_ones_own_is_a_file_alone(tmp_path: Path) -> None:
    loaded = load_study(str(Path(__file__).with_name("own_study.toml")))
    with Store(tmp_path / "mine.db") as store:
        Job(loaded, store, Runner(store)).run()
        (table,) = tables(store.connection, loaded.plan)
        (change,) = changes(store.connection, loaded.plan).records
        page = render(store.connection, {})
    # Without a CAS to pay the two tie, with a dear one tasuki is no longer as cheap.
    marked = [[cell.endswith("*") for cell in row] for row in written(table)["rows"]]
    assert marked == [[False, True, True], [False, False, True]]
    assert change["cheaper"] == "asymmetric from 400 cycles"
    assert "Which lock is cheaper, by the cost of a CAS</h2>" in page
