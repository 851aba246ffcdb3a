"""The embedded engine against gem5, from costs that are known."""

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from results.paths import REFERENCE
from results.store.queries import ask
from results.store.store import Store
from sweeps.model.machine import load_machine
from sweeps.plans import VALIDATIONS
from sweeps.questions.validate.answer import SetSummary, speeds, summarize
from sweeps.questions.validate.figure import draw_validation
from sweeps.questions.validate.table import newly_missed, validation_parts
from sweeps.questions.validate.validate import (
    Set,
    cells_of,
    chosen_sets,
    load_validation,
    own_latencies,
)
from tests.fakes.validation import Gem5Data


@pytest.fixture
def data(tmp_path: Path) -> Gem5Data:
    return Gem5Data(Store(tmp_path / "validation.db"))


def _summaries(data: Gem5Data) -> dict[tuple[str, str], SetSummary]:
    return {(one.set, one.isa): one for one in summarize(data.store.connection)}


def _by_isa(data: Gem5Data, runs: list[int], **bars: Any) -> dict[str, SetSummary]:
    """The summaries of set `a`, which has these runs and bars."""
    data.store.set_series("validation/a", runs)
    data.store.set_fact("validation_bars", {"a": bars})
    return {isa: one for (name, isa), one in _summaries(data).items() if name == "a"}


def _summary(data: Gem5Data, runs: list[int], **bars: Any) -> SetSummary:
    return _by_isa(data, runs, **bars)["x86_64"]


def _pairs(
    data: Gem5Data,
    costs: dict[str, tuple[float, float]],
    engines: tuple[str, str] = ("gem5/timing", "qemu"),
    **changes: Any,
) -> list[int]:
    """The runs of locks on a reference and on a candidate."""
    return [
        data.run(engine, lock, cost, **changes)
        for lock, pair in costs.items()
        for engine, cost in zip(engines, pair, strict=True)
    ]


def test_errors_are_relative_to_gem5_and_held_against_the_bars(data: Gem5Data) -> None:
    data.validation()
    timing, o3 = _summaries(data).values()  # the simple model first
    assert (timing.set, timing.title) == ("timing_uncontended", "Uncontended")
    assert (timing.reference, timing.cells) == ("gem5/timing", 4)
    # thin 2 %, tasuki -2 %, the others none
    assert timing.mean_error == pytest.approx(0.01)
    assert timing.signed_error == pytest.approx(0)
    assert timing.worst_error == pytest.approx(0.02)
    assert timing.worst_cell.startswith("thin in threads (iterations 100), 1 thread, generic lock")
    assert (timing.bars.mean, timing.bars.worst, timing.bars.order) == (0.03, 0.1, 0.95)
    assert timing.met is True
    assert o3.mean_error == pytest.approx((1 + 0.2 + 22 / 33) / 3)
    assert o3.signed_error == pytest.approx((1 - 0.2 + 22 / 33) / 3)
    assert (o3.bars.mean, o3.met) == (None, None)


@pytest.mark.parametrize(
    ("bars", "met"),
    [
        ({"mean": 0.0101, "worst": 0.0201, "order": 1}, True),
        ({"mean": 0.0099}, False),
        ({"worst": 0.0199}, False),
        ({}, None),
    ],
)
def test_each_bar_can_be_missed(data: Gem5Data, bars: dict[str, float], met: bool | None) -> None:
    data.validation()
    data.store.set_fact("validation_bars", {"timing_uncontended": bars})
    assert _summaries(data)["timing_uncontended", "x86_64"].met is met


def test_the_order_counts_where_gem5_tells_locks_apart(data: Gem5Data) -> None:
    costs = {  # a and b are 10 % apart: no clear order; c and d are, and change places
        "nop": (1.0, 500.0),
        "a": (100.0, 120.0),
        "b": (110.0, 100.0),
        "c": (200.0, 300.0),
        "d": (230.0, 300.0),
    }
    one = _summary(data, _pairs(data, costs), order=0.8)
    assert (one.order_pairs, one.order_share) == (5, pytest.approx(4 / 5))  # d, c: equal on qemu
    assert one.met is True
    assert _summary(data, _pairs(data, costs), order=0.81).met is False


def test_a_changed_winner_is_told_with_what_it_costs(data: Gem5Data) -> None:
    data.validation()
    timing, o3 = _summaries(data).values()
    assert (timing.contests, timing.winner_changes) == (1, ())
    (change,) = o3.winner_changes
    assert (change.reference, change.candidate) == ("thin", "reservation")
    assert change.loss == pytest.approx(0.1)
    data.store.set_fact("java_locks", {"names": ["thin", "tasuki"]})
    assert _summaries(data)["o3_contended", "x86_64"].winner_changes == ()
    equal = _pairs(data, {"thin": (50.0, 40.0), "tasuki": (50.0, 41.0)}, ("gem5/o3", "qemu"))
    assert _summary(data, equal).winner_changes == ()


def test_what_did_not_run_is_named_and_never_averaged(data: Gem5Data) -> None:
    refused = {"status": "refused", "cause": "atomics do not hold", "metrics": {}}
    failed = {"status": "failed", "cause": "time limit", "metrics": {}}
    runs = [
        *_pairs(data, {"thin": (100.0, 101.0)}),
        data.run("gem5/timing", "tasuki", 0, **failed),
        data.run("qemu", "tasuki", 500.0),
        data.run("gem5/timing", "reservation", 100.0),
        data.run("gem5/timing", "thin", 0, isa="ppc64le", **refused),
        data.run("qemu", "thin", 50.0, isa="ppc64le"),
    ]
    found = _by_isa(data, runs, mean=0.03)
    here, power = found["x86_64"], found["ppc64le"]
    assert (here.cells, here.mean_error) == (1, pytest.approx(0.01))
    locks = {why: [cell.split()[0] for cell in cells] for why, cells in here.left_out.items()}
    assert locks == {
        "gem5/timing failed: time limit": ["tasuki"],
        "no run of qemu": ["reservation"],
    }
    assert (power.cells, power.mean_error, power.met) == (0, None, None)
    assert list(power.left_out) == ["gem5/timing refused: atomics do not hold"]


def test_runs_of_different_settings_are_no_pair(data: Gem5Data) -> None:
    changes = {"threads": 4, "cas_latency": 50, "fence": "rmw", "seed": 2, "machine": "p3"}
    for name, value in changes.items():
        other = data.run("gem5/timing", "thin", 10.0, **{name: value})
        assert _summary(data, [other, data.run("qemu", "thin", 10.0)]).cells == 0, name


def test_speed_counts_each_run_once(data: Gem5Data) -> None:
    data.validation()
    first = "SELECT min(id) FROM runs WHERE engine = 'qemu'"
    (shared,) = data.store.connection.execute(first).fetchone()
    data.store.set_series("validation/again", [shared])
    embedded, timing, o3 = speeds(data.store.connection)
    assert (embedded.engine, timing.engine, o3.engine) == ("qemu", "gem5/timing", "gem5/o3")
    assert (embedded.runs, embedded.instructions_per_s, embedded.cells_per_hour) == (7, 5000, 1800)
    assert (timing.instructions_per_s, timing.cells_per_hour) == (500, 180)


def test_the_table_names_verdicts_and_findings(data: Gem5Data) -> None:
    console = Console(file=io.StringIO(), width=400, markup=False, highlight=False, record=True)
    console.print(*validation_parts(data.store.connection))
    assert "no validation" in console.export_text()
    data.validation()
    console.print(*validation_parts(data.store.connection))
    said = console.export_text()
    changed = "thin on the reference, reservation on the candidate (10.0 % dearer on the reference)"
    for expected in ("mean at most 3.0 %", "met", "no bar", changed, "gem5 TimingSimple"):
        assert expected in said


def test_the_named_query_gives_the_same_errors(data: Gem5Data, tmp_path: Path) -> None:
    data.validation()
    answer = ask(data.store.connection, "validation", tmp_path)
    rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
    assert len(rows) == 7
    first = (rows[0]["validation_set"], rows[0]["label"], rows[0]["error_percent"])
    assert first == ("o3_contended", "thin", 100.0)
    assert {row["error_percent"] for row in rows if row["reference"] == "gem5/timing"} == {-2, 0, 2}


def _two_isas(data: Gem5Data) -> list[int]:
    """Runs of which the candidate's are 10 % too dear on x86-64 and right on AArch64."""
    right = _pairs(data, {"thin": (100.0, 100.0)}, isa="aarch64", flavour="lse")
    return _pairs(data, {"thin": (100.0, 110.0)}) + right


def test_bars_apply_to_all_isas_of_a_set_together_or_to_each(data: Gem5Data) -> None:
    found = _by_isa(data, _two_isas(data), mean=0.06, title="Both")
    assert [found[isa].met for isa in ("x86_64", "aarch64", "all")] == [None, None, True]
    assert found["all"].mean_error == pytest.approx(0.05)
    assert _by_isa(data, _two_isas(data), mean=0.04, title="Both")["all"].met is False
    found = _by_isa(data, _two_isas(data), mean=0.06, each_isa=True, missed="a reason")
    assert [found[isa].met for isa in ("x86_64", "aarch64", "all")] == [False, True, None]
    assert [found[isa].why_missed for isa in ("x86_64", "aarch64")] == ["a reason", ""]


def _on_host(
    data: Gem5Data, native: dict[str, float], engine: str = "qemu", seed: int = 1
) -> list[int]:
    """Runs of locks on the host, and as many of an engine, which say 100."""
    costs = {lock: (cost, 100.0) for lock, cost in native.items()}
    return _pairs(data, costs, ("native", engine), seed=seed, threads=2, machine="zen4")


def test_a_run_of_cores_that_are_far_is_the_candidate_s_too(data: Gem5Data) -> None:
    far = _on_host(data, {"thin": 80.0}, "qemu/far")
    found = _summary(data, far + _on_host(data, {"tasuki": 125.0}))
    assert (found.cells, found.left_out) == (2, {})
    assert found.mean_error == pytest.approx((0.25 + 0.2) / 2)


def test_a_latency_that_only_the_candidate_sets_makes_no_other_cell(data: Gem5Data) -> None:
    changes = {"threads": 2, "machine": "zen4"}
    runs = [
        data.run("native", "thin", 80.0, **changes),
        data.run("qemu", "thin", 100.0, cancel_latency=0, **changes),
    ]
    found = _summary(data, runs, own={"cancel_latency": 0})
    assert (found.cells, found.left_out) == (1, {})
    found = _summary(data, runs)
    assert (found.cells, set(found.left_out)) == (0, {"no run of qemu", "no run of native"})


def test_a_signal_interrupts_an_owner_that_runs_and_a_handshake_costs_its_accesses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sweeps.questions.validate.validate.host_machine", lambda *_: "zen4")
    (sequence,) = chosen_sets(load_validation("native"), ["native_sequence"])
    cells = [cell for cell in cells_of(sequence, "zen4") if cell.lock == "reservation"]
    stops = {cell.variant: own_latencies(sequence, cell)["cancel_latency"] for cell in cells}
    running = load_machine("zen4").charges.number("stop_running")
    assert (stops["signal"], stops["suspend"], stops[""]) == (running, running, 0)


def test_the_median_may_have_a_bar(data: Gem5Data) -> None:
    runs = _on_host(data, {"thin": 100.0, "tasuki": 90.0, "relaxed": 20.0})
    for bar, met in ((0.112, True), (0.111, False)):
        found = _summary(data, runs, median=bar)
        assert (found.median_error, found.met) == (pytest.approx(1 / 9), met)


def test_repeats_that_differ_count_as_spread_and_say_how_far_the_host_agrees(
    data: Gem5Data,
) -> None:
    runs = _on_host(data, {"thin": 50.0, "tasuki": 70.0, "relaxed": 99.0}, seed=0)
    runs += _on_host(data, {"thin": 52.0, "tasuki": 90.0, "relaxed": 82.0}, seed=1)
    found = _summary(data, runs)
    assert found.order_pairs == 2  # tasuki and relaxed changed places
    assert found.floor_share == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("known", "missed"),
    [
        ({"x86_64": ["mean"]}, []),
        ({"x86_64": ["mean", "order"]}, []),
        ({"x86_64": ["order"]}, ["a, x86_64: mean"]),
        ({"aarch64": ["mean"]}, ["a, x86_64: mean"]),
        ({}, ["a, x86_64: mean"]),
    ],
)
def test_only_a_bar_that_is_newly_missed_counts(
    data: Gem5Data, known: dict[str, list[str]], missed: list[str]
) -> None:
    bars = {"mean": 0.06, "each_isa": True, "missed": "a reason", "known": known}
    one = _summary(data, _two_isas(data), **bars)
    assert newly_missed(data.store.connection, {"a"}) == missed
    assert newly_missed(data.store.connection, {"another"}) == []
    assert (one.met, one.verdict) == (False, "MISSED" if missed else "missed, as known")


@pytest.mark.parametrize("name", ["validation", "native_granite_rapids", "sst_validation"])
def test_the_references_miss_what_their_definitions_know(name: str) -> None:
    """No more, so that `validate` fails on nothing else, and no less."""
    definitions = map(load_validation, VALIDATIONS.names())
    known = {one.name: one.known for definition in definitions for one in definition.set}
    with Store(REFERENCE / f"{name}.db", read_only=True) as store:
        found = [one for one in summarize(store.connection) if one.met is not None]
        missed = newly_missed(store.connection, {one.set for one in found})
    assert not missed
    for one in found:
        assert set(one.known) == set(known[one.set].get(one.isa, ())), one.set
        assert set(one.missed_bars) == set(one.known), one.set


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"missed": ""}, "say in `missed` why"),
        ({"known": {"mips": ["mean"]}}, "'mips' is no ISA"),
        ({"known": {"x86_64": ["worst"]}}, "there is no bar 'worst'"),
    ],
)
def test_what_is_known_has_a_reason_an_isa_and_a_bar(change: dict[str, Any], why: str) -> None:
    given = {"name": "a", "reference": "gem5/o3", "plan": "smoke", "mean": 0.1}
    given |= {"known": {"x86_64": ["mean"]}, "missed": "a reason"}
    assert Set.model_validate(given).known
    with pytest.raises(ValueError, match=why):
        Set.model_validate(given | change)


def test_a_failed_run_meets_no_bar(data: Gem5Data) -> None:
    data.validation()
    assert _summaries(data)["timing_uncontended", "x86_64"].met is True
    data.store.connection.execute(
        "UPDATE runs SET status = 'failed' WHERE id = "
        "(SELECT max(run_id) FROM series WHERE name = 'validation/timing_uncontended')"
    )
    assert _summaries(data)["timing_uncontended", "x86_64"].met is False


def test_the_figure_names_the_cell_that_is_furthest_off_by_its_factor(data: Gem5Data) -> None:
    costs = {"thin": (100.0, 230.0), "tasuki": (100.0, 1.0), "reservation": (100.0, 101.0)}
    data.store.set_series("validation/timing_uncontended", _pairs(data, costs))
    (ax,) = draw_validation(data.store.connection).axes
    (said,) = (text.get_text() for text in ax.texts)
    assert said == "3 cells, median factor 2.30\ntasuki: 1/100"
