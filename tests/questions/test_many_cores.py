"""The study of many cores: its plan, cells and crossovers, and what is drawn and written of it.
Costs come from a model in place of runs, so no engine is needed."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from results.errors import LockcrossError, NoDataError
from results.store.store import Store
from sweeps.engines.base import load_engine
from sweeps.model.cell import Cell, invalid_reason, unsupported_reason
from sweeps.plans import STUDIES
from sweeps.plans.study import question_of
from sweeps.questions.many_cores import answer
from sweeps.questions.many_cores.answer import changing, tables
from sweeps.questions.many_cores.figures import draw_cores
from sweeps.questions.many_cores.study import ManyCoresPlan, Study, load, nodes_at
from sweeps.report.figures import draw_all
from sweeps.report.report import present, render
from sweeps.search.found import crossovers
from sweeps.support.toml import parse
from tests.commands import lockcross
from tests.fakes.runner import FakeRunner

NAME = "sst_many_cores"
TEXT = STUDIES.path(NAME).read_text(encoding="utf-8")
FIGURES = {"many_cores", "many_cores_distance", "many_cores_map"}


class MeshRunner(FakeRunner):
    """Costs from a model. With contention tasuki takes 100 cycles a core and one for each seed but
    the first, mcs 900 and 10 a core, and others 5000. With an owner tasuki takes 100, and
    reservation 20 and 50 a link for each percent that is not the owner's; others 5000. A
    cancellation takes 200 and 8 a link."""

    def __init__(self, store: Store, network: bool = True) -> None:
        super().__init__(store)
        self._network = network

    def answer(self, cell: Cell) -> Mapping[str, object]:
        return {"metrics": self._metrics(cell)}

    def _metrics(self, cell: Cell) -> dict[str, tuple[float, str]]:
        links = links_of(cell)
        if cell.workload == "transition":
            phases = {4: 10 * (230 + 8 * links), 5: 10 * 30}
            found = {f"phase_{n}_cycles": (float(value), "cycles") for n, value in phases.items()}
            return found | {"pairs": (50, "pairs"), "cycles_per_pair": (1, "cycles/pair")}
        pairs = int(cell.parameters.get("iterations", 10)) * cell.threads
        each = contended(cell) if cell.workload == "random_threads" else owned(cell, links)
        metrics: dict[str, tuple[float, str]] = {
            "core_cycles": (each * pairs, "cycles"),
            "cycles": (each * pairs // 2, "cycles"),
            "pairs": (pairs, "pairs"),
            "cycles_per_pair": (each, "cycles/pair"),
        }
        if self._network:
            metrics |= {
                "network_messages": (3 * pairs, "count"),
                "network_bytes": (48 * pairs, "bytes"),
                "home_occupancy_most": (cell.threads / 2, "requests"),
            }
        return metrics


def links_of(cell: Cell) -> int:
    """On a mesh of 8 x 8."""
    return sum(divmod(int(cell.engine.partition("/at-")[2] or 0), 8))


def contended(cell: Cell) -> int:
    tasuki = 100 * cell.threads + cell.seed - 1
    return {"tasuki": tasuki, "mcs": 900 + 10 * cell.threads}.get(cell.lock, 5000)


def owned(cell: Cell, links: int) -> int:
    away = round(100 * (1 - cell.parameters["owner_share"]))
    return {"tasuki": 100, "reservation": 20 + 50 * links * away // 100}.get(cell.lock, 5000)


def plan(**changes: str) -> ManyCoresPlan:
    text = TEXT
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return parse(ManyCoresPlan, text)


def cells_of(plan: ManyCoresPlan) -> Study:
    return Study(plan, [], None, None)  # type: ignore[arg-type]


def study(store: Store, network: bool = True) -> MeshRunner:
    runner = MeshRunner(store, network)
    Study(plan(), [], store, runner).run()
    return runner


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("many") / "study.db"
    with Store(path) as store:
        study(store)
    return path


# The plan ---------------------------------------------------------------------------------------


def test_the_study_is_known_by_its_table() -> None:
    assert (question_of(NAME), question_of("crossover")) == ("many_cores", "crossover")
    assert question_of("nosuch") == "crossover"
    assert load(NAME) == plan()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('engine = "sst"', 'engine = "nosuch"', "engine 'nosuch' is unknown"),
        ('engine = "sst"', 'engine = "qemu"', "engine 'qemu/at-1' is unknown"),
        ('"sst_mesh64", "sst_mesh128"', '"sst_mesh64", "nowhere"', "machine: 'nowhere' is unknown"),
        ('"sst_mesh64", "sst_mesh128"', '"sst_mesh64"', "no machine has room for 128 cores"),
        ('"mcs"', '"mcss"', "locks: 'mcss' is unknown"),
        ('flavour = "lock"', 'flavour = "larks"', "flavour: 'larks' is unknown"),
        ("[1, 2, 4, 8,", "[2, 1, 4, 8,", "cores.values"),
        ("64, 128]", "64, 129]", "cores.values.7"),
        ("links = [1, 4, 7, 10, 14]", "links = [1, 15]", "farthest node of sst_mesh64 is 14"),
        ('[distance]\nmachine = "sst_mesh64"', '[distance]\nmachine = "sst_bus"', "has no mesh"),
        ("step = 0.05", "step = 0.03", "owner_share: 0.5 is no multiple of step 0.03"),
        ("critical = 20, think", "iterations = 20, think", "random_threads has critical, think"),
        ("objects = 1, runs", "owner_share = 1, runs", "parameters: owner_share: unknown"),
        ('owner = "running"', 'owner = "asleep"', "parameters: owner: asleep"),
        ("pairs = 512", "pairs = 0", "cores.pairs"),
    ],
)
def test_a_mistake_in_the_plan_is_said(old: str, new: str, said: str) -> None:
    with pytest.raises(ValueError, match=r".") as error:
        plan(**{old: new})
    assert said in str(error.value)


def test_nodes_are_the_first_so_far_away() -> None:
    assert nodes_at("sst_mesh64", [1, 7, 8, 14]) == [1, 7, 15, 63]
    assert nodes_at("sst_mesh16", [6, 0]) == [15, 0]


# Cells ------------------------------------------------------------------------------------------


def test_every_cell_can_be_run() -> None:
    cells = cells_of(plan()).known_cells()
    assert not [why for why in map(invalid_reason, cells) if why]
    assert not [why for why in map(unsupported_reason, cells) if why]
    for label in {cell.engine for cell in cells}:
        assert load_engine(label)


def test_contended_cells_share_the_pairs_and_take_the_machine_with_room() -> None:
    cells = {cell.threads: cell for cell in cells_of(plan()).contended_cells()}
    assert {n: cell.parameters["iterations"] for n, cell in cells.items()} == {
        n: 512 // n for n in (1, 2, 4, 8, 16, 32, 64, 128)
    }
    assert {n for n, cell in cells.items() if cell.machine == "sst_mesh128"} == {128}
    assert {cell.engine for cell in cells.values()} == {"sst"}


def test_the_contender_is_where_the_label_says() -> None:
    cells = cells_of(plan())
    assert {cell.engine for cell in cells.owned_cells()} == {
        f"sst/at-{node}" for node in (1, 4, 7, 31, 63)
    }
    assert [cell.engine for cell in cells.cancelling_cells()] == [
        f"sst/at-{node}" for node in range(1, 64)
    ]
    assert {cell.cancel_latency for cell in cells.cancelling_cells()} == {0}
    assert {cell.seed for cell in cells.owned_cells()} == {1, 2, 3}


# What it finds ----------------------------------------------------------------------------------


def test_a_second_run_has_nothing_to_do(tmp_path: Path) -> None:
    with Store(tmp_path / "a.db") as store:
        assert study(store).made
        assert not study(store).made


def test_costs_cross_along_cores_with_a_band_over_the_seeds(database: Path) -> None:
    with Store(database, read_only=True) as store:
        found = crossovers(store.connection, "many_cores/cores")
    assert len(found) == 15, "each pair of six locks"
    (one,) = (c for c in found if {c.lock_a, c.lock_b} == {"tasuki", "mcs"})
    # 100 n = 900 + 10 n
    assert one.value == pytest.approx(10) and one.below == "tasuki" and one.unit == "cores"
    assert one.band is not None and (one.band.seeds, one.band.there) == (3, 3)
    assert one.band.low == pytest.approx(10 - 2 / 90) and one.band.high == pytest.approx(10)
    assert one.setting == {"critical": 20, "think": 100, "pairs": 512}


def test_costs_cross_along_distance_and_share(database: Path) -> None:
    with Store(database, read_only=True) as store:
        rows = changing(store.connection)
        far = crossovers(store.connection, "many_cores/owner_share/14")
        near = crossovers(store.connection, "many_cores/owner_share/1")
    (along,) = (row for row in rows if row["axis"].startswith("links") and "50 %" in row["held"])
    # 20 + 25 links = 100 at 3.2 links, of which whole ones are tried
    assert (along["words"], along["bracket"]) == ("tasuki from 4 links", "3 to 4")
    (crossing,) = (one for one in far if one.verdict == "crosses")
    assert crossing.value == pytest.approx(0.885714, abs=0.003) and crossing.below == "tasuki"
    assert {one.verdict for one in near if one.lock_b == "reservation"} == {"b_always"}


def test_the_map_has_every_node_and_what_a_link_adds(database: Path) -> None:
    with Store(database, read_only=True) as store:
        found = answer.cancel_map(store.connection)
    assert found.costs.shape == (8, 8) and np.isnan(found.costs).sum() == 1
    assert found.costs[0, 1] == 208 and found.costs[7, 7] == 200 + 14 * 8
    assert found.slope() == pytest.approx(8)


def test_tables_have_a_row_a_place_and_mark_the_least(database: Path) -> None:
    with Store(database, read_only=True) as store:
        found = {table.title: table for table in tables(store.connection)}
    cost = found["cost"]
    assert cost.labels == ("tasuki", "reservation", "asym_tasuki", "thin", "mcs", "tnp")
    assert [row.place for row in cost.rows] == ["1", "2", "4", "8", "16", "32", "64", "128"]
    assert cost.rows[0].cells[:2] == ("100", "5,000") and cost.rows[0].least[0]
    assert cost.rows[-1].least == (False, False, False, False, True, False)
    assert found["messages on the network"].rows[3].cells[0] == "3.00"
    assert not any(map(any, (row.least for row in found["bytes on the network"].rows)))
    assert found["busiest home"].rows[-1].cells[4] == "64.00"
    assert "cost, owner's share 90 %" in found


# What is shown ----------------------------------------------------------------------------------


def test_drawn_twice_figures_are_the_same_bytes(database: Path, tmp_path: Path) -> None:
    drawn = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        with Store(database, read_only=True) as store:
            assert set(draw_all(store.connection, folder)) == FIGURES
        drawn.append({path.name: path.read_bytes() for path in sorted(folder.iterdir())})
    assert drawn[0] == drawn[1] and len(drawn[0]) == 2 * len(FIGURES) + 1  # and drawn.json


def test_curves_have_bands_and_quantities_without_data_no_panel(tmp_path: Path) -> None:
    with Store(tmp_path / "a.db") as store:
        study(store, network=False)
        axes = [ax for ax in draw_cores(store.connection).axes if ax.lines]
        assert [ax.get_title() for ax in axes] == ["cost", "hand-over"]
        assert len(axes[0].lines) == len(axes[0].collections) == 6


@pytest.mark.usefixtures("sketched")
def test_the_report_has_a_section(database: Path, tmp_path: Path) -> None:
    with Store(database, read_only=True) as store:
        page = render(store.connection, draw_all(store.connection, tmp_path))
    assert "<title>Lockcross: Locks on one to 128 cores of a mesh" in page
    assert page.count("data:image/webp") == len(FIGURES)
    for words in ("Many cores</h2>", "Where two locks change places", "tasuki from 4 links"):
        assert words in page


@pytest.mark.usefixtures("sketched")
def test_the_end_prints_the_tables(
    database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    present(database, tmp_path)
    said = capsys.readouterr().out
    assert "cost (core cycles per pair)" in said and "100*" in said
    assert "tasuki from 4 links" in said and str(tmp_path / "report.html") in said


def test_without_such_a_study_nothing_is_drawn(tmp_path: Path) -> None:
    with Store(tmp_path / "a.db") as store, pytest.raises(NoDataError):
        draw_cores(store.connection)


def test_a_study_that_is_unknown_is_refused() -> None:
    with pytest.raises(LockcrossError, match="is unknown"):
        load("nosuch")


def test_the_named_query_has_every_run_of_the_curves(database: Path) -> None:
    done = lockcross("query", "many_cores", "--format", "csv", "--db", str(database))
    lines = done.stdout.splitlines()
    assert len(lines) == 1 + 6 * 3 * (8 + 5 * 2)
    assert "many_cores/cores,sst,sst_mesh128,mcs,128,,1,2180.0,1090.0,3.0,48.0,64.0" in lines
