"""A sweep of one's own: its winners, costs and runs, and comparisons along an axis."""

import csv
import itertools
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from results.store.store import Store
from results.text.rows import print_compact
from sweeps.model.locks import LockLabel
from sweeps.questions.read.runs import list_runs
from sweeps.report.plan import draw_comparison, draw_plan
from sweeps.report.plan_map import draw_maps, maps
from sweeps.study.costs import Band, Comparison, Panel, compare, groups, hidden, runs_of_plan
from sweeps.study.runs import Value
from tests.commands import SMALL, lockcross
from tests.fakes.records import record

SEEDS = (1, 2, 3)
LOCKS = {("thin", "full"): 40, ("tasuki", "full"): 50, ("tasuki", "rmw"): 30}


def fill_sweep(path: Path) -> Path:
    """Costs by hand: thin pays a CAS, tasuki too, and each seed adds one cycle; a lock that always
    fails; runs of another plan."""
    same = {"iterations": 5}
    with Store(path) as store:
        ids = []
        for (lock, fence), own in LOCKS.items():
            for cas, seed in itertools.product((0, 10, 20), SEEDS):
                cost = own + (2 if lock == "thin" else 1) * cas + seed
                setting = {"lock": lock, "fence": fence, "cas_latency": cas, "seed": seed}
                one = record(f"{lock}{fence}{cas}{seed}", cost, **setting, parameters=same)
                ids.append(store.add_run(one, "mine"))
        failed = {"lock": "mcs", "cas_latency": 0, "status": "failed", "metrics": {}}
        bad = record("bad", **failed, cause="half a line, " * 9, parameters=same)
        ids.append(store.add_run(bad, "mine"))
        store.set_series("plan/mine", ids)
        store.add_run(record("other", lock="thin", threads=9), "other")
    return path


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill_sweep(tmp_path_factory.mktemp("sweeps") / "a.db")


@pytest.fixture(scope="module")
def store(database: Path) -> Iterator[Store]:
    with Store(database, read_only=True) as opened:
        yield opened


@pytest.mark.parametrize(
    ("costs", "work", "along", "said"),
    [
        ((169.3, 170.2), {"critical": 20, "think": 100}, "cas_latency", True),
        ((169.3, 175.0), {"critical": 20, "think": 100}, "cas_latency", False),
        ((169.3, 170.2), {"critical": 0, "think": 0}, "cas_latency", False),
        ((169.3, 170.2), {"critical": 20, "think": 100}, "threads", False),
    ],
)
def test_it_is_said_where_work_hides_a_latency(
    costs: tuple[float, float], work: dict[str, int], along: str, said: bool
) -> None:
    curve: dict[Value, Band] = {x: Band.of([cost]) for x, cost in zip((5, 80), costs, strict=True)}
    found = hidden(Comparison("lock", along, work, [Panel({}, {"thin": curve})]))
    assert bool(found) == said and ("critical=20, think=100" in found) == said


@pytest.mark.usefixtures("sketched")
def test_a_plan_over_two_axes_has_a_map_of_who_wins(tmp_path: Path) -> None:
    """Thin pays a CAS, asym_tasuki a fence. Where a point is missing, or one axis does not move,
    there is none."""
    points = list(itertools.product(("aarch64", "ppc64le"), (0, 40), (0, 40)))
    with Store(tmp_path / "a.db") as store:
        for lock, (isa, cas, fence) in itertools.product(("thin", "asym_tasuki"), points):
            if (lock, isa, cas, fence) == ("thin", "ppc64le", 40, 40):
                continue
            cost = 50 + (cas if lock == "thin" else fence)
            setting = {"lock": lock, "isa": isa, "cas_latency": cas, "fence_latency": fence}
            store.add_run(record(f"{lock}{isa}{cas}{fence}", cost, **setting), "grid")
        settings = groups(runs_of_plan(store.connection, "grid"))
        drawn = draw_plan(runs_of_plan(store.connection, "grid"), "grid", tmp_path)
    (panel,) = maps(settings, ("cas_latency", "fence_latency"))
    assert "AArch64" in panel.title and panel.grid.xs == panel.grid.ys == (0, 40)
    assert panel.grid.costs[LockLabel("thin")].tolist() == [[50, 90], [50, 90]]
    assert not maps(settings, ("cas_latency", "threads"))
    (figure,) = {label.get_text() for ax in draw_maps([panel]).axes for label in [ax.xaxis.label]}
    assert figure == "CAS latency (cycles), as set"
    assert drawn["The cheapest lock, by cas_latency and fence_latency"].exists()


def test_a_plan_is_the_last_sweep_of_it_or_the_first_that_asked(store: Store) -> None:
    assert len(runs_of_plan(store.connection, "mine")) == 28
    assert len(runs_of_plan(store.connection, "some/folder/mine.toml")) == 28
    assert [run.cell.threads for run in runs_of_plan(store.connection, "other")] == [9]


def test_a_comparison_counts_seeds_and_its_figure_names_the_axis(store: Store) -> None:
    comparison = compare(runs_of_plan(store.connection, "mine"), "lock", "cas_latency")
    assert comparison.panels[0].curves["thin"][20].seeds == 3
    (ax,) = draw_comparison(comparison).axes
    assert ax.get_xlabel() == "CAS latency (cycles)"


def test_a_workloads_keys_are_axes_and_the_rest_are_settings(tmp_path: Path) -> None:
    with Store(tmp_path / "a.db") as store:
        for turns in (1, 2):
            for isa in ("x86_64", "aarch64"):
                one = record(f"{turns}{isa}", turns, isa=isa, parameters={"turns": turns})
                store.add_run(one, "p")
        found = compare(runs_of_plan(store.connection, "p"), "lock", "turns")
    assert [panel.title for panel in found.panels] == ["isa=aarch64", "isa=x86_64"]


def test_a_terminal_that_is_too_narrow_for_runs_is_said(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    some = list_runs(store.connection, 50, plan="mine", where="cas_latency > 0")
    columns = ("id", "lock", "cycles_per_pair", "cause")
    print_compact(some, Console(width=40), columns)
    said = capsys.readouterr().out
    assert "too narrow for" in said and max(map(len, said.splitlines())) <= 40


def test_a_sweep_of_ones_own_from_file_to_costs(tmp_path: Path) -> None:
    db = ("--db", str(tmp_path / "a.db"))
    plan = shutil.copy(Path(__file__).with_name("own_sweep.toml"), tmp_path / "my plan.toml")
    done = lockcross("sweep", str(plan), *db)
    assert done.returncode == 0, done.stderr
    assert "winner" in done.stdout and "Compared: tasuki, thin; with full fences." in done.stdout
    assert "16 cells, 16 distinct: 16 ok" in done.stdout
    assert "./lockcross query winners --plan 'my plan'" in done.stdout
    winners = lockcross("query winners --format json --plan", str(plan), *db)
    rows = json.loads(winners.stdout)
    settings = [(row["iterations"], row["cas_latency"]) for row in rows]
    assert settings == [(20, 10), (40, 10), (20, 60), (40, 60)]
    said = lockcross("query", "costs", "--plan", "my plan", "--format", "csv", *db).stdout
    assert len(list(csv.DictReader(said.splitlines()))) == 8


def test_a_run_says_its_cost_first_and_then_what_it_assumed() -> None:
    done = lockcross("run", *SMALL, "--fence-latency", "3")
    lines = done.stdout.splitlines()
    assert "cycles_per_pair" in lines[1] and "--all shows" in lines[-1]
    assert "assumed by machine generic: cas_success=20" in done.stdout
    assert "fence_mfence" not in done.stdout  # it was set
    assert "machines generic" in done.stdout and len(lines) < 8
    every = lockcross("run", *SMALL, "--all").stdout
    rows = [line.split() for line in every.splitlines() if line.startswith(" ")]
    assert "cycles_per_pair" in rows[1] and ["stores"] in [row[:1] for row in rows]
    assert not [row for row in rows if row[1:2] == ["0"]]
    done = lockcross("run", "--lock", "thin", "--workload", "lock_sequence", "objects=2")
    assert "keys left at their defaults: runs=" in done.stdout


def test_figures_and_report_are_of_the_plan_that_is_named(database: Path, tmp_path: Path) -> None:
    where = ("--plan", "mine", "--db", str(database), "--output", str(tmp_path))
    done = lockcross("figures", *where)
    assert done.returncode == 0, done.stderr
    path, *compared = done.stdout.splitlines()
    assert path.endswith("figures/mine_cas_latency.png") and Path(path).stat().st_size > 10_000
    assert compared[0] == "Compared: tasuki, thin; with full fences, locked RMW."
    done = lockcross("report", *where)
    assert done.returncode == 0, done.stderr
    page = Path(done.stdout.strip()).read_text()
    assert "<h1>Plan mine</h1>" in page and compared[0] in page and "data:image/webp" in page
    assert "half a line" in page and "tasuki/rmw" in page and "http://" not in page
