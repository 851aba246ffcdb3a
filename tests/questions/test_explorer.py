"""The grid of `./lockcross explore`, and its data for the report's interactive map."""

import itertools
import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from results.errors import LockcrossError
from results.store.queries import show_run
from results.store.store import Store
from sweeps.model.cell import Cell, as_written, command
from sweeps.model.isa import FLAVOURS
from sweeps.model.locks import LockLabel
from sweeps.model.machine import load_machine
from sweeps.questions.crossover.winners import cost_table, rows
from sweeps.questions.explore.command import explore
from sweeps.questions.explore.explore import (
    Exploration,
    asked_of,
    check_grid,
    drawn_points,
    grid_of,
    load_exploration,
)
from sweeps.questions.explore.presentation import AS_IS, CHECK, cost_grid, explorer_data
from sweeps.report.figures import draw_all
from sweeps.report.report import write_report
from sweeps.run.runner import Runner
from sweeps.study.job import Job, load_study
from sweeps.study.plan import Plan
from sweeps.study.results import StudyResults
from tests.fakes import exploration as fake
from tests.fakes.runner import ModelRunner
from tests.report.test_report import Page


def small(cancel: Sequence[int] = (0, 20000)) -> Plan:
    """The plan that is shipped, with few points and locks."""
    plan = load_exploration().model_dump()
    plan |= {"locks": ["tasuki", "reservation"], "aside": ["thin"], "fence_kinds": ["rmw"]}
    grid, as_is = plan["cells"]
    grid |= {"cas_latency": [0, 150], "fence_latency": [0, 150], "cancel_latency": [*cancel]}
    grid["parameters"]["owner_share"] = [0.5, 1]
    as_is["machine"] = ["zen4"]
    for cells in (grid, as_is):
        cells["parameters"] |= {"objects": 2, "runs": 4}
    plan["check"]["points"] = 2
    plan["calibration"] = {"latencies": [0, 150]}
    return Plan.model_validate(plan)


ASKED = ["generic"], ["x86_64"]


def map_cells(plan: Plan) -> list[Cell]:
    """Those of the map that is asked for."""
    (cells,) = Exploration(plan, *ASKED, None, None).maps.values()  # type: ignore[arg-type]
    return cells


@pytest.fixture(scope="module")
def grids(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with explored grids."""
    return fake.explored(tmp_path_factory.mktemp("explored") / "explored.db")


@pytest.fixture
def own(grids: Path, tmp_path: Path) -> Iterator[Store]:
    """They, to be changed."""
    with Store(Path(shutil.copy(grids, tmp_path / "own.db"))) as store:
        yield store


@pytest.fixture(scope="module")
def data(grids: Path) -> dict[str, Any]:
    """Return its data for the page."""
    with Store(grids, read_only=True) as store:
        return shown(store)


def shown(store: Store) -> dict[str, Any]:
    data = explorer_data(StudyResults(store.connection))
    assert data
    return data


def test_a_latency_that_a_lock_never_pays_makes_no_runs() -> None:
    plan = load_exploration()
    cells = map_cells(plan)
    counts = Counter(cell.label for cell in cells)
    grid = {name: len(values) for name, values in grid_of(plan).items()}
    points = grid["cas_latency"] * grid["owner_share"]
    assert counts[LockLabel("thin")] == points * grid["fence_latency"]
    assert counts[LockLabel("asym_tasuki/rmw")] == points
    assert counts[LockLabel("reservation/rmw")] == points * grid["cancel_latency"]
    both = grid["cancel_latency"] * grid["fence_latency"]
    assert counts[LockLabel("reservation")] == points * both
    assert len(set(map(command, cells))) == len(cells)


def test_which_maps_are_made_is_asked_for() -> None:
    plan = load_exploration()

    def maps(*asked: list[str]) -> str:
        made = Exploration(plan, *asked, None, None).maps  # type: ignore[arg-type, call-arg]
        return " ".join(made).replace("explore/", "")

    arm = "generic/aarch64/lse generic/aarch64/llsc"
    assert maps([], []) == f"generic/x86_64/lock generic/ppc64le/larx {arm}"
    assert maps(["skylake", "power9"], []) == "skylake/x86_64/lock power9/ppc64le/larx"
    assert maps(["generic"], ["aarch64"]) == arm
    with pytest.raises(LockcrossError, match="none of these"):
        maps(["skylake"], ["aarch64"])


def test_the_command_runs_a_grid_once_and_ends_with_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sweeps.questions.explore.command.load_exploration", small)
    explore(isas=["x86_64"], db=tmp_path / "own.db", output=tmp_path)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "stands here once" not in page and '"explored": true' in page
    plan = small()
    with Store(tmp_path / "own.db") as store:
        again = Runner(store)
        assert not again.missing(Exploration(plan, *ASKED, store, again).cells())
        read = shown(store)
        (one,) = read["maps"]
        assert read["accuracy"]["points"] == 2 and read["accuracy"]["worst"] < 0.1
        assert one["cas"]["set"] == one["fence"]["set"] == [0, 150]
        assert one["own"] and [p["machine"] for p in read["processors"]] == ["generic", "zen4"]
        as_is = [cell for of in asked_of(plan, *ASKED).named(AS_IS) for cell in plan.cells_of(of)]
        for processor in read["processors"]:
            cells = [cell for cell in as_is if cell.machine == processor["machine"]]
            runs = again.require(cells, "x")
            known = [run.metrics["cycles_per_pair"] for run in runs]
            told = {lock["label"]: lock["cost"] for lock in processor["locks"]}
            assert told == dict(zip([cell.label for cell in cells], known, strict=True))
            commands = [show_run(store.connection, run.id).columns["command"] for run in runs]
            assert commands == list(map(command, cells))
        costs = {lock["label"]: lock for lock in one["locks"]}
        assert set(costs) == {"tasuki", "reservation", "thin", "tasuki/rmw", "reservation/rmw"}
        assert costs[LockLabel("reservation")]["shape"] == (2, 2, 2, 2)
        assert costs[LockLabel("tasuki")]["shape"] == (2, 2, 1, 2)
        # At a grid's point the template is the very command of the run.
        for cell, run in zip(map_cells(plan), again.require(map_cells(plan), "x"), strict=True):
            made = costs[cell.label]["command"].format(
                cas_latency=cell.cas_latency,
                fence_latency=cell.fence_latency,
                cancel_latency=cell.cancel_latency,
                owner_share=as_written(cell.parameters["owner_share"]),
            )
            assert made == show_run(store.connection, run.id).columns["command"] == command(cell)


def test_the_maps_come_in_the_order_of_the_plan(data: dict[str, Any]) -> None:
    assert [(one["machine"], one["flavour"], one["core"]) for one in data["maps"]] == [
        ("generic", "lock", "out of order"),
        ("generic", "larx", "out of order"),
        ("generic_inorder", "lock", "in order"),
        ("generic_inorder", "larx", "in order"),
    ]
    assert not data["notes"]


def test_axes_are_measured_and_costs_as_stored(data: dict[str, Any]) -> None:
    one, axes = data["maps"][0], (fake.CAS, fake.FENCE, fake.CANCEL, fake.SHARE)
    assert one["cas"]["measured"] == [x + fake.OVERHEAD for x in fake.CAS]
    found = one["cas"]["set"], one["fence"]["set"], one["cancel"], one["share"]
    assert found == tuple(map(list, axes))
    by_label = {x["label"]: np.reshape(x["costs"], x["shape"]) for x in one["locks"]}
    assert by_label[LockLabel("asym_tasuki/rmw")].shape == (3, 1, 1, 3)
    assert {*by_label} == {*fake.labels("lock")}
    for label, costs in by_label.items():
        points = itertools.starmap(fake.Point, itertools.product(*axes))
        expected = [round(fake.cost(label, at, "generic", "lock"), 2) for at in points]
        assert np.broadcast_to(costs, (3, 3, 3, 3)).flatten().tolist() == expected


def test_between_points_costs_lie_on_straight_lines(grids: Path) -> None:
    with Store(grids, read_only=True) as store:
        grid = cost_grid(StudyResults(store.connection), "explore/generic/x86_64/lock")
    for label, point, expected in (
        ("tasuki", (87, 47, 1000, 0.64), 40 + 85 + 45),
        ("thin", (22, 100, 0, 0.5), 50.5),
        ("reservation", (22, 32, 27500, 0.9), 15 + 0.1 * (5 * 90 + 27500 / 400)),
        ("reservation", (2, 2, 0, 0.95), 15 + 0.05 * 200),
        ("asym_tasuki/rmw", (87, 152, 50000, 0.7), 31 + 1.8 * 85),
    ):
        assert grid.at(LockLabel(label), point) == pytest.approx(expected, abs=0.01)


def test_the_points_of_a_check_lie_between_those_of_the_grid() -> None:
    plan = load_exploration()
    place = ("generic", "lock")
    points = drawn_points(plan, *place)
    assert points == drawn_points(plan, *place) != drawn_points(plan, "generic", "lse")
    assert plan.check and len(set(points)) == plan.check.points
    for point in points:
        axes = grid_of(plan).values()
        assert all(a[0] <= x <= a[-1] for x, a in zip(point, axes, strict=True))
        assert round(point[-1] * 1e6) % 50_000 == 0  # exact in 20 runs


def test_a_page_of_a_grid_alone_says_how_far_interpolation_is_off(
    own: Store, tmp_path: Path
) -> None:
    one = {"points": 10, "costs": 30, "mean": 0.01, "worst": 0.04, "wrong": 1}
    other = {**one, "costs": 10, "mean": 0.03, "wrong": 2}
    own.set_fact(CHECK.name, {"generic/lock": one, "generic/larx": other, "gone/lock": one})
    figures = draw_all(own.connection, tmp_path)
    page = write_report(own.connection, tmp_path / "report.html", figures).read_text("utf-8")
    assert 'id="explorer-data"' in page and "it </script> spins" not in page
    assert "In 20 points\nbetween them" in page
    assert re.search(r"off by 1\.5 %\s+on average and by\s+4\.0 % at worst", page)
    assert re.search(r"the cheapest in\s+3\.", page)


def test_machines_as_they_are_have_values_and_runs_of_their_own(data: dict[str, Any]) -> None:
    cas, fence = fake.OWN_CAS + fake.OVERHEAD, fake.OWN_FENCE + fake.OVERHEAD
    assert all(one["own"]["cas"] == cas for one in data["maps"])
    names = [(one["name"], one["flavour"]) for one in data["processors"]]
    assert names[0] == ("generic", "lock") and ("known*", "lock") in names  # * partly assumed
    for one in data["processors"]:
        machine = one["machine"]
        assert (one["cas"], one["fence"]) == (cas, fence)
        assert (one["cancel"], one["share"]) == (fake.OWN_CANCEL[machine], fake.OWN_SHARE)
        for lock in one["locks"]:
            assert lock["cost"] == fake.as_is_cost(lock["label"], machine, one["flavour"])


def test_the_grid_reaches_the_cancellation_of_every_processor() -> None:
    plan = load_exploration().model_dump()
    plan["cells"][0]["cancel_latency"] = [0, 8000]
    with pytest.raises(ValueError, match=r"cells\.cancel_latency: must reach 11460.*p4xeon"):
        check_grid(Plan.model_validate(plan))


def test_explorer_tables_and_database_agree_at_every_processor(
    store: Store, tmp_path: Path
) -> None:
    """With the plans that are shipped, and the costs of a model; to the digit."""
    loaded, plan = load_study("crossover"), load_exploration()
    runner = ModelRunner(store)
    job = Job(loaded, store, runner)
    job.run()
    alone = explorer_data(StudyResults(store.connection))
    made = runner.made
    Exploration(plan, [], [], store, runner).run()
    assert runner.made > made
    data = explorer_data(StudyResults(store.connection))
    page = write_report(store.connection, tmp_path / "report.html", {}).read_text("utf-8")
    table = cost_table(rows(StudyResults(store.connection)), loaded.plan.locks)
    stored: dict[tuple[str, str], dict[str, float]] = {}
    for name, lock, fence, cost in store.connection.execute(
        "SELECT name, lock, fence, cycles_per_pair FROM series JOIN runs ON runs.id = run_id "
        "WHERE name GLOB 'table/*' OR name GLOB 'explore/as_is/*'"
    ):
        *_, machine, _, flavour = name.split("/")
        costs = stored.setdefault((machine, flavour), {})
        # The exploration makes the very runs of the winner table.
        assert costs.setdefault(LockLabel.of(lock, fence=fence), cost) == cost
    assert data and alone and data["processors"] == alone["processors"] and not data["notes"]
    assert [one["explored"] for one in data["maps"]].count(True) == len(FLAVOURS)
    assert data["chosen"] == ["rmw", "full"]
    assert [kind for kind, _ in data["fences"]] == ["rmw", "lock_add", "full"]
    on_page = {(one["machine"], one["flavour"]): one for one in data["processors"]}
    tables = [name.split("/") for name in job.series if name.startswith("table/")]
    assert set(on_page) == set(stored) == {(machine, flavour) for _, machine, _, flavour in tables}
    cells = [row[-len(table.labels) :] for row in Page(page).rows if len(row) > len(table.labels)]
    for key, one in on_page.items():
        assert {lock["label"]: lock["cost"] for lock in one["locks"]} == stored[key]
        words = {lock["label"]: lock["shown"] for lock in one["locks"]}
        assert all(f"{stored[key][label]:.1f}" == text for label, text in words.items())
        assert [words.get(label, "") for label in table.labels] in cells
        assert one["cancel"] == load_machine(key[0]).charges.number("stop_blocked")
        assert one["share"] == loaded.plan.named("map")[0].first("owner_share")
    for group in table.machines:
        for row in group:
            one = on_page[row.machine, row.flavour]
            assert (round(row.cas, 4), round(row.fence, 4)) == (one["cas"], one["fence"])
            first = next(lock for lock in one["locks"] if lock["kind"] == "full")
            assert first["label"] == row.contests["full"].overall.lock


def test_a_grid_takes_runs_that_were_asked_for_without_a_cancellation(store: Store) -> None:
    """They are the same runs as those that set the machine's own."""
    plan = small(cancel=(0, 5000, 20000))
    runner = Runner(store)
    runner.require([replace(cell, cancel_latency=None) for cell in map_cells(plan)], "x")
    Exploration(plan, *ASKED, store, runner).run()
    data = shown(store)
    (one,) = data["maps"]
    stored = store.connection.execute(
        "SELECT count(*) FROM series JOIN runs ON runs.id = run_id WHERE lock = 'reservation' "
        "AND cancel_latency IS NULL AND name GLOB 'explore/generic/*'"
    ).fetchone()[0]
    assert stored and not data["notes"] and one["cancel"] == grid_of(plan)["cancel_latency"]
    reservation = next(lock for lock in one["locks"] if lock["label"] == "reservation")
    assert "--cancel-latency {cancel_latency}" in reservation["command"]


def test_a_map_without_all_of_its_runs_is_left_out_with_the_reason(own: Store) -> None:
    name = "explore/generic/x86_64/lock"
    runs = own.connection.execute(
        "SELECT run_id, latencies FROM series WHERE name = ? ORDER BY run_id", (name,)
    ).fetchall()
    some = {run_id: json.loads(latencies) for run_id, latencies in runs[1:]}
    own.set_series(name, some, some)
    data = shown(own)
    assert len(data["maps"]) == 3
    assert data["notes"] == [
        "machine generic, x86_64 lock: runs of tasuki are missing; run ./lockcross explore"
    ]


def test_a_study_alone_gives_its_winner_maps(database: Path) -> None:
    with Store(database, read_only=True) as store:
        data = shown(store)
    one = json.loads(json.dumps(data))["maps"][0]
    assert not one["explored"] and one["cancel"] == [2000] and one["share"] == [0.9]
    assert one["crossings"] and one["searched"] == {"cancel": 2000, "share": 0.9}
    assert data["limits"] == {"thin": "it spins"}


def test_without_a_grid_the_page_says_how_to_get_one(database: Path, tmp_path: Path) -> None:
    with Store(Path(shutil.copy(database, tmp_path / "study.db"))) as store:
        page = write_report(store.connection, tmp_path / "with.html", {}).read_text()
        assert "<code>./lockcross explore</code> computes the grid over both" in page
        store.connection.execute("DELETE FROM series WHERE name GLOB 'map/*'")
        page = write_report(store.connection, tmp_path / "without.html", {}).read_text()
    assert "stands here once <code>./lockcross explore</code> has computed it" in page
    assert 'id="explorer-data"' not in page


def test_another_study_keeps_the_grid(own: Store) -> None:
    own.forget_series()
    assert len(shown(own)["maps"]) == 4
