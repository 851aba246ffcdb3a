"""The main job against a runner that answers from a closed-form cost model."""

import itertools
import re
import shutil
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from results.errors import LockcrossError
from results.store.store import Store
from sweeps.model import locks as locks_module
from sweeps.model.isa import ISAS
from sweeps.model.locks import LockLabel, load_locks
from sweeps.model.machine import load_machine
from sweeps.plans import STUDIES
from sweeps.questions.explore.presentation import cost_grid
from sweeps.report.grids import grid
from sweeps.report.report import present
from sweeps.study.job import Job, check, load_study
from sweeps.study.plan import LoadedPlan, expand, labels, parse_plan
from sweeps.study.results import CrossoverBand, StudyResults
from tests.fakes.runner import ModelRunner

MISTAKES = tomllib.loads(Path(__file__).with_name("wrong_studies.toml").read_text("utf-8"))
FORMER = Path(__file__).with_name("former_study.toml")


def study(store: Store, loaded: LoadedPlan, isas: list[str], failing: str = "") -> ModelRunner:
    runner = ModelRunner(store, failing)
    Job(loaded, store, runner, isas).run()  # type: ignore[arg-type]
    return runner


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("study") / "study.db"
    with Store(path) as store:
        study(store, load_study("crossover"), ["x86_64", "ppc64le"])
    return path


@pytest.fixture(scope="module")
def results(database: Path) -> Iterator[StudyResults]:
    with Store(database, read_only=True) as store:
        yield StudyResults(store.connection)


@pytest.fixture
def copy(database: Path, tmp_path: Path) -> Iterator[Store]:
    with Store(Path(shutil.copy(database, tmp_path / "copy.db"))) as store:
        yield store


def test_borders_are_where_the_model_says(results: StudyResults) -> None:
    """tasuki = asym_tasuki where cas = fence + 5, measured 3 and 2 more than set; reservation =
    tasuki where (cas + fence) / 2 = 2 + cancel / (20 x 20)."""
    crossings = grid(results, "generic", "ppc64le", "larx").crossings
    assert crossings
    for one in crossings:
        cas, fence = one.cas - 3, one.fence - 2
        costs = {
            "tasuki": 40 + cas + fence,
            "asym_tasuki": 45 + 2 * fence,
            "reservation": 42 + (cas + fence) / 2 + 5000 / 400,
        }
        # Half a cycle: the model's division of odd sums.
        assert costs[one.lock_a] == pytest.approx(costs[one.lock_b], abs=0.6)


def test_the_first_look_asks_for_no_more_runs_than_it_did(store: Store) -> None:
    """In the model, whose borders no compiler moves: more says that a search has become worse."""
    assert 300 < study(store, load_study("crossover_quick"), list(ISAS)).made <= 369


def test_crossovers_have_a_band_over_all_seeds(results: StudyResults) -> None:
    """Each seed makes tasuki a cycle dearer, so it meets asym_tasuki at a CAS a cycle cheaper."""
    found = results.crossovers("axis/cas_latency/generic/x86_64")
    (one,) = [c for c in found if {c.lock_a, c.lock_b} == {"tasuki", "asym_tasuki"}]
    assert one.value == 35  # the fence's 30, and 5
    assert one.band is not None
    assert replace(one.band, upper_low=0, upper_high=0) == CrossoverBand(3, 3, 33, 35, 0, 0)


def test_both_ends_of_every_bracket_are_runs_of_their_seed(results: StudyResults) -> None:
    counts = results.connection.execute(
        "SELECT s.bracket_low < s.bracket_high, count(*) FROM crossover_seeds AS s "
        "JOIN crossover_runs AS r ON r.crossover_id = s.crossover_id AND r.seed = s.seed "
        "AND x IN (s.bracket_low, s.bracket_high) "
        "JOIN runs ON runs.id = run_id AND runs.seed = s.seed "
        "WHERE s.value IS NOT NULL GROUP BY s.crossover_id, s.seed"
    ).fetchall()
    (values,) = results.connection.execute("SELECT count(value) FROM crossover_seeds").fetchone()
    assert len(counts) == values > 100
    assert set(counts) == {(1, 4), (0, 2)}  # both locks at each end


def test_who_wins_throughout_is_asked_with_every_seed(results: StudyResults) -> None:
    """No seed makes tasuki so much dearer that a lock which it beats throughout is cheaper."""
    seeds = results.connection.execute(
        "SELECT DISTINCT seed, crossover_seeds.value FROM crossover_seeds "
        "JOIN crossovers ON crossovers.id = crossover_id WHERE verdict = 'a_always'"
    ).fetchall()
    assert sorted(seeds) == [(1, None), (2, None), (3, None)]


def test_both_maps_have_every_point_of_the_plans_grid(results: StudyResults) -> None:
    shown = grid(results, "generic", "ppc64le", "larx")
    page = cost_grid(results, "map/generic/ppc64le/larx")
    (of_plan,) = load_study("crossover").plan.named("map")
    assert page.given[:2] == [of_plan.given("cas_latency"), of_plan.given("fence_latency")]
    assert {costs.shape[:2] for costs in page.costs.values()} == {(6, 6)}
    cas, fence = shown.xs.index(53), shown.ys.index(62)
    assert shown.costs[LockLabel("tasuki")][fence, cas] == 40 + 50 + 60


def test_break_even_run_lengths_are_where_the_model_says(results: StudyResults) -> None:
    of_all = results.crossovers("run_length/generic/ppc64le")
    found = [one for one in of_all if "tasuki" in (one.lock_a, one.lock_b)]
    assert {one.setting["cancel_latency"] for one in found} == {1000, 5000, 20000}
    for one in found:
        shared = one.setting["cancel_latency"] / 2  # two runs share a cancellation
        exact = shared / (40 + 50 - 42 - 25)
        if one.value is None:
            assert exact > one.high
        else:
            assert one.bracket_low is not None and one.bracket_high is not None
            assert one.bracket_low <= exact <= one.bracket_high <= one.bracket_low + one.tolerance


def test_shares_are_searched_in_the_steps_that_are_exact(results: StudyResults) -> None:
    tried = results.connection.execute(
        "SELECT DISTINCT x FROM crossover_runs JOIN crossovers ON crossovers.id = crossover_id "
        "WHERE axis = 'owner_share'"
    ).fetchall()
    assert tried and results.crossovers("axis/owner_share")
    assert all(round(x * 1e6) % 50_000 == 0 for (x,) in tried)


def test_a_second_study_runs_nothing_and_finds_the_same(copy: Store) -> None:
    read = "SELECT series, axis, lock_a, lock_b, verdict, value FROM crossovers "
    read += "ORDER BY 1, 2, 3, 4, 6"
    before = copy.connection.execute(read).fetchall()
    assert study(copy, load_study("crossover"), ["x86_64", "ppc64le"]).made == 0
    assert copy.connection.execute(read).fetchall() == before


def test_series_of_the_same_plan_stay_and_those_of_another_are_forgotten(copy: Store) -> None:
    def maps() -> list[tuple[str, ...]]:
        return StudyResults(copy.connection).series_names("map")

    loaded, on_ppc64le = load_study("crossover"), ("generic", "ppc64le", "larx")
    assert maps() == [("generic", "x86_64", "lock"), on_ppc64le]
    study(copy, loaded, ["aarch64"])
    assert {flavour for _, _, flavour in maps()} == {"lock", "larx", "lse", "llsc"}
    # Of the same name, but with other locks.
    copy.set_fact("plan", {**loaded.plan.model_dump(), "locks": ["tasuki", "thin"]})
    study(copy, loaded, ["x86_64"])
    assert maps() == [("generic", "x86_64", "lock")]
    study(copy, load_study("crossover_quick"), ["ppc64le"])
    assert maps() == [on_ppc64le]
    searched = {one.axis for one in StudyResults(copy.connection).crossovers("axis")}
    assert searched == {"cas_latency", "fence_latency", "cancel_latency"}


def test_every_series_is_there(results: StudyResults) -> None:
    assert results.series_names("rounds") == [("p3", "lock")]
    tables = {machine for machine, *_ in results.series_names("table")}
    here = {"lock", "larx"}
    (of_table,) = load_study("crossover").plan.named("table")
    assert tables == {
        name
        for name in of_table.given("machine")
        if {f for i in load_machine(name).isas for f in ISAS[i].flavours} & here
    }
    # The fence of x86-64 is an atomic; processors are of these flavours' ISAs alone.
    assert results.series_names("cancel_map") == [("generic", "x86_64", "lock")]
    of_processors = results.series_names("processors/one_thread")
    assert {flavour for *_, flavour in of_processors} == here
    assert of_processors == results.series_names("processors/contended")
    shown = {run.label for run in results.series("table/zen4/x86_64/lock")}
    assert {"thin", "asym_tasuki/rmw", "tasuki/lock_add"} <= shown


@pytest.mark.usefixtures("sketched")
def test_the_end_says_who_wins_and_where_things_are(
    database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    present(database, tmp_path)
    said = capsys.readouterr().out
    for place in ("report.html", "figures/winner_map.png", "figures/rounds.png"):
        assert str(tmp_path / place) in said
        assert (tmp_path / place).exists()
    assert re.search(
        r"in a loop that does nothing but lock: [\w, -]+ on \d+ of 4 processors \(", said
    )
    of = r"reservation above [\d.]+ \([\d.]+( or less)? to [\d.]+[^)]*\)"
    assert re.search(rf"\n tasuki / reservation +x86-64 +{of} *\n", said)
    assert "the greatest of 3 seeds" in said
    assert "It is a tie below 2 %" in said
    assert "thin: its waiters busy-wait on first contention" in said


def test_a_failed_run_ends_the_job_with_what_repeats_it(store: Store) -> None:
    with pytest.raises(LockcrossError, match=r"made to fail(.|\n)*lockcross run") as caught:
        study(store, load_study("crossover"), ["ppc64le"], failing="reservation")
    assert caught.value.exit_code == 1


def test_a_lock_that_cancels_must_be_marked(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    locks = load_locks()
    unmarked = {**locks, "reservation": replace(locks["reservation"], traits=frozenset())}
    monkeypatch.setattr(locks_module, "load_locks", lambda: unmarked)
    with pytest.raises(LockcrossError, match="TRAIT_CANCELS"):
        study(store, load_study("crossover"), ["ppc64le"])


def test_fence_kinds_are_those_of_lock_and_isa() -> None:
    kinds = load_study("crossover").plan.fence_kinds
    assert labels("larx", ["tasuki", "thin"], kinds) == ["tasuki", "thin"]
    on_x86 = ["tasuki", "thin", "tasuki/rmw", "tasuki/lock_add"]
    assert labels("lock", ["tasuki", "thin"], kinds) == on_x86


def test_a_latency_that_is_never_paid_is_left_unset() -> None:
    plan = load_study("crossover").plan
    (on_map,), (lengths,) = plan.named("map"), plan.named("run_length")
    cells = [cell for cell in plan.cells_of(on_map) if cell.cas_latency == 10]
    assert {c.fence_latency for c in cells if c.label == "asym_tasuki/rmw"} == {None}
    assert 60 in {c.fence_latency for c in cells if c.label == "asym_tasuki"}
    paid = {cell.lock: cell.cancel_latency for cell in plan.cells_of(lengths)}
    assert paid == {"tasuki": None, "asym_tasuki": None, "reservation": 20000}


@pytest.mark.parametrize("name", STUDIES.names())
def test_the_studies_that_are_shipped_can_be_read(name: str) -> None:
    assert load_study(name).plan.locks


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [(name, *row) for name, rows in MISTAKES.items() for row in rows],
)
def test_mistakes_in_a_study_are_named(name: str, old: str, new: str, said: str) -> None:
    text = STUDIES.path(name).read_text(encoding="utf-8")
    assert old in text
    with pytest.raises(ValueError, match=re.escape(said)):
        plan = parse_plan(text.replace(old, new))
        expand(plan)
        check(plan)


def test_a_study_of_the_former_form_is_the_same_study(store: Store) -> None:
    loaded = load_study(str(FORMER))
    job = Job(loaded, store, None)  # type: ignore[arg-type]
    flavours = ("x86_64/lock", "aarch64/llsc")
    on = [f"{machine}/{of}" for machine in loaded.plan.machines for of in flavours]
    of_all = {f"{kind}/{one}" for kind in ("map", "table", "run_length") for one in on}
    assert set(job.series) == of_all | {
        "cancel_map/generic/x86_64/lock",
        "cancel_map/generic_inorder/x86_64/lock",
        "table/zen4/x86_64/lock",
        "rounds/p3/lock",
        *(f"processors/{use}/zen5/x86_64/lock" for use in ("one_thread", "contended")),
        *(f"processors/{use}/firestorm/aarch64/lse" for use in ("one_thread", "contended")),
    }
    of_map = [cell for cell in job.series["map/generic/x86_64/lock"] if cell.label == "tasuki"]
    points = {(cell.cas_latency, cell.fence_latency) for cell in of_map}
    assert points == set(itertools.product((0, 150), (0, 50)))
    produced = {cell.label for cell in job.series["run_length/generic/x86_64/lock"]}
    assert produced == {"tasuki/rmw", "asym_tasuki/rmw"}
    axes = [one.axis for one in loaded.plan.along]
    assert axes == ["cas_latency", "fence_latency", "owner_share", "run_length"]
    assert loaded.plan.borders[0].tolerance == 5
