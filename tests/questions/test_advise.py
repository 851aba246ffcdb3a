"""advise and crossovers: against costs in closed form, then on the real engine."""

import csv
import itertools
import json
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import typer

from results.draw.painter import save
from results.errors import LockcrossError
from results.paths import ROOT
from results.store.store import Store
from sweeps.accuracy import errors
from sweeps.lock_logs.locality import Pattern
from sweeps.lock_logs.log import Kind, add_line
from sweeps.model import machine as machine_module
from sweeps.model.axes import LATENCIES
from sweeps.model.cell import Cell
from sweeps.model.locks import LockLabel
from sweeps.model.machine import load_machine, machine_named
from sweeps.questions.advise import text
from sweeps.questions.advise.advice import Advice, AxisAnswer, Change
from sweeps.questions.advise.answer import Advisor
from sweeps.questions.advise.borders import Axis, nearest, tie_from
from sweeps.questions.advise.figure import draw_advice
from sweeps.questions.advise.mixture import Scenario
from sweeps.questions.advise.program import RecordedProgram, without_own_lock
from sweeps.questions.advise.question import ASSUMED, GIVEN, Logged, ask
from sweeps.questions.advise.use import ACQUISITION, Use
from sweeps.questions.advise.values import Cycles, CyclesOfInstruction, each_of, print_values
from sweeps.questions.crossings import command
from sweeps.questions.crossings.answer import cheapest_along, cheapest_words, row_of
from sweeps.questions.crossings.figure import draw_crossings
from sweeps.run.runner import Runner
from sweeps.study.crossings import Crossover, Point
from sweeps.study.plan import load_plan
from sweeps.study.results import StudyResults
from sweeps.support.paths import MACHINES
from tests.commands import SMALL, lockcross
from tests.fakes.runner import ModelRunner
from tests.fakes.searching import find_crossover
from tests.lock_logs.test_log import HEAD, A, records
from tests.lock_logs.test_log import log as log_of

SHARED = Use(shared_objects=1)  # each object is taken by another thread, after 360 of 400
PATTERN = Pattern(
    threads=2,
    shared_objects=1.0,
    acquisitions=400,
    shared_acquisitions=400,
    owner_share=0.9,
    first_share=0.5,
    run_length=20,
    nested=0,
    contended=0,
)


@pytest.fixture
def engine_always_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stored errors of an engine that had every pair in order: the model's costs decide, whatever
    was last found beside silicon."""
    rows = [replace(row, right=row.pairs) for row in errors.read_rows()]
    monkeypatch.setattr(errors, "_stored", lambda: rows)


def advice(
    store: Store,
    locks: str,
    latencies: Sequence[int] = (23, 32, 5000),
    use: Use = SHARED,
    program: RecordedProgram | None = None,
    works: Sequence[float] = (),
    runner: Runner | None = None,
    ranking: bool = False,
) -> Advice:
    """An answer with latencies as measured of a CAS and a fence (3 and 2 more than is set, in the
    model) and as set of a cancellation, for which 400 acquisitions pay."""
    plain = {name: f"{name}/full" for name in ("tasuki", "reservation", "asym_tasuki")}
    names = [plain.get(name, name) for name in locks.split(",")]
    log = None if program is None else Logged("log", PATTERN, program, np.array(works))
    cycles = dict(zip(LATENCIES, latencies, strict=False))
    question = ask("generic", "", "", names, [], cycles, use, log)
    return Advisor(question, store, runner or ModelRunner(store)).answer(ranking=ranking)


def axis(found: Advice, name: str) -> AxisAnswer:
    return next(one for one in found.axes if one.axis == name)


def searched(a: int, b: int, at: int = 50) -> Crossover:
    """Costs on straight lines of slopes `a` and `b` that meet at a value."""
    lines = {"a": a, "b": b}

    def costs(wanted: Sequence[tuple[str, Fraction]]) -> list[Point]:
        return [Point(Fraction(1000 + lines[lock] * (x - at)), x) for lock, x in wanted]

    return find_crossover(costs, "a", "b", 0, 100, 1)


def test_the_nearest_change_is_on_the_side_where_the_other_lock_wins() -> None:
    a, b = LockLabel("a"), LockLabel("b")
    assert nearest([searched(2, 1)], a, 20) == (None, Change(b, 50))
    assert nearest([searched(2, 1)], b, 80) == (Change(a, 50), None)
    assert nearest([searched(2, 1, 500)], a, 20) == (None, None)  # outside the range
    assert nearest([searched(2, 1), searched(3, 1, 30)], a, 20) == (None, Change(b, 30))


@pytest.mark.usefixtures("engine_always_right")
def test_the_cheapest_lock_and_every_border_are_those_of_the_model(store: Store) -> None:
    found = advice(store, "thin,tasuki,reservation,asym_tasuki")
    ranked = [("thin", 60), ("reservation", 79.5), ("tasuki", 90), ("asym_tasuki", 105)]
    assert [(one.label, one.cost) for one in found.locks] == ranked
    assert not found.win.tied
    cas, fence = axis(found, "cas_latency"), axis(found, "fence_latency")
    assert (cas.now, fence.now) == (23, 32)
    assert cas.below is None and cas.above is not None
    assert cas.above.lock == "reservation" and cas.above.value == pytest.approx(62, abs=1)
    assert fence.below is not None and fence.above is None
    assert (fence.below.lock, fence.below.value) == ("asym_tasuki", 9.5)
    for name in ("cancel_latency", "owner_share", "run_length", "threads"):
        assert (axis(found, name).below, axis(found, name).above) == (None, None)
    assumed = {one.name for one in found.inputs if one.kind == ASSUMED}
    assert {"owner_share", "run_length", "threads", "acquisitions", "think"} <= assumed


def test_a_cancellation_is_paid_back_by_so_many_acquisitions(store: Store) -> None:
    """reservation 67 and 5000 / acquisitions against tasuki's 90."""
    found = advice(store, "tasuki,reservation")
    lives, cancel = axis(found, "acquisitions"), axis(found, "cancel_latency")
    assert lives.below is not None and lives.below.value == pytest.approx(217, abs=8)
    assert cancel.above is not None and cancel.above.value == pytest.approx(9200, abs=20)


def test_a_tie_is_looked_at_with_more_seeds_changes_here_and_saves_nothing(store: Store) -> None:
    """tasuki = asym_tasuki where cas = fence + 5; each further seed makes tasuki a cycle dearer."""
    found = advice(store, "tasuki,asym_tasuki", (38, 32, 5000))
    assert [one.seeds for one in found.locks] == [3, 3]
    assert found.win.lock == "asym_tasuki" and found.win.tied == ("tasuki",)
    change = axis(found, "cas_latency").below
    assert change is not None and (change.lock, change.value) == ("tasuki", 38)
    assert found.saving is not None and found.saving.tie and found.saving.low is None


@pytest.mark.usefixtures("engine_always_right")
def test_answers_in_words(store: Store, golden: Callable[[Path, str], None]) -> None:
    found = advice(store, "thin,tasuki,reservation,asym_tasuki")
    names = [LockLabel(f"lock{number}") for number in range(20)]
    costs = tuple(replace(found.locks[0], label=label) for label in names)
    many = replace(found, locks=(*found.locks, *costs), tie=0.9)
    assert len(many.win.tied) == 23
    answers = {
        "a winner": found,
        "a tie": advice(store, "tasuki,asym_tasuki", (38, 32, 5000)),
        "all are tied": many,
        "all but one are tied": replace(many, locks=(*costs, replace(found.locks[1], cost=900.0))),
        "an assumption decides": depending(store),
        "some find the lock held": advice(
            store, "thin,tasuki", use=Use(shared_objects=1, contended=0.1, threads=4)
        ),
        "work that a log has": with_work_of_a_log(store),
        "no lead without work": advice(
            store, "thin,tasuki", use=Use(shared_objects=1, threads=2, critical=3000)
        ),
        "a fence that nobody pays": advice(store, "thin,tasuki/rmw", ranking=True),
    }
    told = []
    for name, one in answers.items():
        told += [f"# {name}", text.verdict(one), text.headline(one)]
        told += [text.between_sections(one), text.reason(one), *text.remarks(one), ""]
    golden(ROOT / "tests" / "golden" / "advise.words", "\n".join(told))


def with_work_of_a_log(store: Store) -> Advice:
    """Half of the acquisitions have nothing before them, half more cycles than change a cost."""
    program, works = RecordedProgram(1e4, plain=True), [0.0, 1e5] * 50
    return advice(store, "thin,tasuki", (23, 32), Use(), program, works)


@pytest.mark.usefixtures("engine_always_right")
def test_work_is_taken_off_and_leads_are_beside_it(store: Store) -> None:
    """In the model work costs as many cycles as it has, whatever the lock: no lead becomes a
    tie."""
    plain = advice(store, "thin,tasuki,reservation,asym_tasuki")
    found = plain.between
    assert (found.work, found.known, found.amounts) == (0, ASSUMED, {0: 1})
    assert (found.cheapest, found.other, found.lead) == ("thin", "reservation", 19.5)
    assert found.tie_from is None and found.searched_to == 1_000
    costs = {one.label: one.cost for one in plain.locks}
    busy = advice(store, "thin,tasuki", use=replace(SHARED, think=3_000))
    assert (busy.between.work, busy.between.cheapest) == (3_000, "thin")
    for one in busy.locks:
        assert one.cost == pytest.approx(costs[one.label], abs=1)  # a seed more is a cycle more
    assert busy.win.lead == pytest.approx(1 - 60 / 90, abs=0.02) and not busy.win.tied
    # Half has none, half 1,000 cycles.
    spread = with_work_of_a_log(store)
    assert spread.between.amounts == {0: 0.5, 1_000: 0.5} and spread.between.work == 500
    assert all(one.cost == costs[one.label] for one in spread.locks)
    assert (busy.work, spread.work) == (plain.work + 3_000, plain.work + 500)


def test_work_that_hides_a_lock_makes_a_lead_a_tie() -> None:
    """50 cycles of work hide one of reservation's 80; thin's 60 are 98 % of the remainder where 939
    stand between two sections."""
    question = ask("generic", "", "", ["thin", "reservation"], [], {}, Use(think=0))

    def costs(wanted: Sequence[Scenario]) -> list[Point]:
        hidden = {"thin": (60, 0), "reservation": (80, Fraction(1, 50))}
        each = ((hidden[one.base.lock], one.use.think) for one in wanted)
        return [Point(Fraction(cost - part * work), 1) for (cost, part), work in each]

    along = Axis("think", question.scenario, (0, 1_000), 1)
    thin, reservation = map(LockLabel, ("thin", "reservation"))
    assert tie_from(along, thin, reservation, 0.02, costs) == pytest.approx(939, abs=2)
    assert tie_from(along, thin, reservation, 0.0, costs) is None


def test_one_lock_always_ahead_has_no_border(store: Store, tmp_path: Path) -> None:
    found = advice(store, "thin,tasuki")
    assert all(one.below is None and one.above is None for one in found.axes)
    # Neither stops threads, and tasuki's fence is a full one here.
    assert [one.axis for one in found.axes][:2] == ["cas_latency", "fence_latency"]
    assert "cancel_latency" not in {one.axis for one in found.axes}
    save(tmp_path / "answer.png", lambda: draw_advice(found))
    assert (tmp_path / "answer.png").stat().st_size > 10_000


def depending(store: Store) -> Advice:
    """reservation 167 and c / 100 against tasuki's 290: at the dearest signal it has lost by
    far."""
    use = Use(acquisitions=100, run_length=10)
    return advice(store, "tasuki,reservation", (123, 132), use)


@pytest.mark.usefixtures("engine_always_right")
def test_an_assumption_that_decides_is_named_with_where(store: Store) -> None:
    found = depending(store)
    (flip,) = (one for one in found.flips if one.given.name == "cancel_latency")
    assert flip.upwards and flip.change.lock == "tasuki"
    assert flip.change.value == pytest.approx(12_300, abs=20)
    flips = advice(store, "tasuki,reservation").flips  # what was asked is no assumption
    assert "cancel_latency" not in {one.given.name for one in flips}


def test_store_forwarding_is_shown_and_never_recommended(store: Store) -> None:
    locks = ("tasuki", "reservation", "asym_tasuki")
    found = advice(store, ",".join(f"{lock}/rmw,{lock}/store_forward" for lock in locks))
    costs = {one.label: one.cost for one in found.locks}
    assert min(costs, key=lambda label: costs[label]).fence == "store_forward"  # by cost alone
    changes = [one for axis in found.axes for one in (axis.below, axis.above) if one is not None]
    named = [found.win.lock, found.win.runner_up, *found.win.tied, *(one.lock for one in changes)]
    assert {label.fence for label in named} == {"rmw"}


def test_what_cannot_be_run_is_left_out_of_what_may_be_moved(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    use = Use(owner_share=0.9, run_length=20, acquisitions=2_000)
    assert not advice(store, "tasuki,reservation", use=use).notes
    monkeypatch.setattr(
        "sweeps.questions.advise.borders.Axis.can_be_run",
        lambda axis, x: axis.name != "run_length" or x <= 30 * ACQUISITION,
    )
    found = advice(store, "tasuki,reservation", use=use)
    (note,) = found.notes
    assert note in text.remarks(found) and "only as far as it can be run" in note
    (high,) = (one.high for one in found.axes if one.axis == "run_length")
    assert 29.5 <= high <= 30  # to the tolerance of the search


def test_a_ranking_has_the_same_costs_and_no_search_and_a_second_answer_no_runs(
    store: Store,
) -> None:
    whole = advice(store, "tasuki,reservation")
    again = ModelRunner(store)
    advice(store, "tasuki,reservation", runner=again)
    found = advice(store, "tasuki,reservation", runner=again, ranking=True)
    assert again.made == 0
    assert [one.cost for one in found.locks] == [one.cost for one in whole.locks]
    assert not found.axes and not found.flips and any("--ranking" in one for one in found.notes)
    assert found.between.cheapest is None and found.between.tie_from is None


def test_what_locks_cost_a_program_is_in_its_own_time(store: Store) -> None:
    """A million acquisitions a second, a tenth of them contended and in no cost; of a microsecond
    for each the program's own lock has taken 0.2."""
    clock = load_machine("generic").clock_mhz.number * 1e6
    program = without_own_lock(RecordedProgram(1e6, plain=False), 0.2e-6 * clock, clock / 1e6)
    use = Use(shared_objects=1, contended=0.1, threads=2, think=0)
    found = advice(store, "thin,tasuki", use=use, program=program)
    assert found.program is not None and found.program.per_second == pytest.approx(9e5)
    for one in found.locks:
        share = found.program.costs[one.label]
        assert share.share == pytest.approx(0.9 * one.cost / (0.8e-6 * clock + 0.9 * one.cost))
        assert share.cycles == pytest.approx(share.share * clock)
        assert found.error is not None
        low = found.error.low * 0.9 * one.cost
        assert share.share_low == pytest.approx(low / (0.8e-6 * clock + low))
    assert advice(store, "thin,tasuki").program is None
    # However little is left for the program, here a tenth of a cycle, its locks are never all.
    program = without_own_lock(RecordedProgram(clock / 10, plain=True), 9.9, clock / 1e6)
    found = advice(store, "thin,tasuki", program=program)
    assert found.program is not None
    assert all(0.9 < share.share < 1 for share in found.program.costs.values())


def test_the_cost_of_a_process_wide_barrier_can_be_given_and_is_listed() -> None:
    names = ["thin", "asym_tasuki/membarrier", "tasuki/rmw"]
    asked = ask("generic", "", "", names, [], {"membarrier_latency": 500}, Use())
    (given,) = (one for one in asked.inputs if one.name == "membarrier_latency")
    assert (given.kind, given.value) == (GIVEN, "500 cycles")
    costs = {label: asked.scenario.with_lock(label).base.membarrier_latency for label in names}
    assert costs == {"thin": None, "asym_tasuki/membarrier": 500, "tasuki/rmw": None}
    # The machine's own: a call, and the other running core.
    own = ask("generic", "", "", names, [], {}, Use())
    (listed,) = (one for one in own.inputs if one.name == "membarrier_latency")
    assert (listed.kind, listed.value) == (ASSUMED, "3,000 cycles")
    others = ask("generic", "", "", ["thin", "tasuki"], [], {}, Use())
    assert "membarrier_latency" not in others.latencies


def test_values_of_a_latency_stand_side_by_side(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    """asym_tasuki 45 and two fences against thin's 60: cheaper at a fence of 5, as measured 7."""
    answers = [advice(store, "thin,asym_tasuki", (23, cycles, 5000)) for cycles in (32, 7)]
    print_values(answers)
    said = " ".join(capsys.readouterr().out.split())
    for found in answers:
        assert " ".join(text.verdict(found).split()) in said
    assert "From 32 to 7 cycles: asymmetric is the cheapest in place of thin" in said
    assert "asymmetric 105.0 to 55.0" in said
    text.print_csv(answers)
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    asked = [(row["asked_fence_latency"], row["lock"], row["verdict"]) for row in rows]
    assert asked[0] == ("32", "thin", "cheapest") and asked[2][:2] == ("7", "asym_tasuki")
    text.print_json(answers)
    told = json.loads(capsys.readouterr().out)
    assert [one["setting"]["asked"]["fence_latency"] for one in told] == [32, 7]


def test_one_latency_has_several_values() -> None:
    fences = CyclesOfInstruction.read("33, 16,33")
    asked = each_of({"cas_latency": Cycles((18,)), "fence_latency": fences})
    assert asked == [{"cas_latency": 18, "fence_latency": n} for n in (33, 16)]
    for wrong in ("", "33,", "x", "10001", "-1"):
        with pytest.raises(typer.BadParameter, match="whole numbers from 0 to 10000"):
            CyclesOfInstruction.read(wrong)


def test_two_locks_have_the_same_verdict_whatever_stands_beside_them(store: Store) -> None:
    few = advice(store, "thin,reservation")
    more = advice(store, "thin,reservation,tasuki,asym_tasuki")
    assert few.win == more.win and few.saving == more.saving
    assert few.interval(few.win.lock) == more.interval(more.win.lock)


def test_what_is_saved_is_a_difference_with_its_own_interval(store: Store) -> None:
    """In the unit of who asks: of CPU time where the program's rate is known."""
    found = advice(store, "thin,tasuki")
    saving, error = found.saving, found.known(LockLabel("thin"), LockLabel("tasuki"))
    assert saving is not None and error is not None and not saving.tie
    assert (saving.cycles, saving.share) == (30, None)
    assert (saving.low, saving.high) == error.difference and 0 < (saving.low or 0) < 1
    rated = advice(store, "thin,tasuki", use=replace(SHARED, locks_per_second=1e6))
    assert rated.saving is not None and rated.saving.share is not None
    assert rated.saving.share == pytest.approx(30 / (rated.work + 90), rel=0.05)
    assert "of its CPU time" in text.verdict(rated)


def test_every_form_of_output_has_the_sentence_the_interval_and_csv_each_border(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    found = advice(store, "thin,tasuki,reservation,asym_tasuki")
    low, high = found.interval(found.win.lock) or (0.0, 0.0)
    assert low < found.win.cost < high
    text.print_json([found])
    told = json.loads(capsys.readouterr().out)
    assert told["answer"] == text.verdict(found)
    assert (told["locks"][0]["low"], told["locks"][0]["high"]) == (low, high)
    text.print_csv([found])
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert rows[0]["answer"] == text.verdict(found)
    assert float(rows[0]["low"]) == pytest.approx(low)
    assert any(axis.below or axis.above for axis in found.axes)
    for axis in found.axes:
        for way, change in (("below", axis.below), ("above", axis.above)):
            cells = {row["lock"]: row[f"cheapest_{way}_{axis.axis}"] for row in rows}
            expected = {str(change.lock): change.value} if change else {}
            assert {lock: float(value) for lock, value in cells.items() if value} == expected
    text.print_answers([found])
    assert capsys.readouterr().out.startswith(text.verdict(found))


@pytest.mark.long
def test_the_page_says_what_its_first_command_prints(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "advise.md").read_text("utf-8")
    line = re.search(r"^\./lockcross (advise .*)$", page, re.M)
    shown = re.search(r"The first one answers:\n\n```\n(.*?)\n```", page, re.S)
    assert line and shown
    done = lockcross(line[1], "--db", str(tmp_path / "x.db"))
    assert done.returncode == 0, done.stderr
    assert "\n".join(map(str.rstrip, done.stdout.rstrip().splitlines())) == shown[1]


def test_a_latency_that_no_setting_reaches_is_refused(store: Store) -> None:
    with pytest.raises(LockcrossError, match=r"a CAS measures 3\.0 or more"):
        advice(store, "thin,tasuki", (2, 32))


def test_another_content_at_a_path_is_another_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(machine_module, "OWN_MACHINES", tmp_path / "machines")
    described = (MACHINES / "zen4.toml").read_text("utf-8")
    own = tmp_path / "any name.toml"
    own.write_text(described)
    first = machine_named(str(own))
    assert first.startswith("zen4@") and load_machine(first).isas == ["x86_64"]
    own.write_text(re.sub("lat_memory = .*", 'lat_memory = { value = 9, source = "x" }', described))
    other = machine_named(str(own))
    assert load_machine(other) != load_machine(first)  # what was kept of the first is still there


def base(**settings: float) -> Cell:
    """The cell of a search, with settings."""
    cell = command.base_cell("generic", "", "", "lock_sequence", "qemu")
    return command.with_settings(cell, settings)


def test_crossovers_of_ones_own_are_stored_as_the_studys(store: Store) -> None:
    """reservation 67 and c / 400 against tasuki's 90, with everything set."""
    use = base(threads=2, cas_latency=20, fence_latency=30, run_length=20, runs=20, owner_share=0.9)
    pair = (LockLabel("tasuki"), LockLabel("reservation"))
    tasks = [command.task_of(use, pair, "cancel_latency", (0, 50_000), 50, 5)]
    ((record,),) = command.find(tasks, 3, store, ModelRunner(store)).values()
    assert record.value == pytest.approx(9200, abs=1) and record.below == "reservation"
    assert len(record.seeds) == 3 and record.runs
    (kept,) = StudyResults(store.connection).crossovers("asked")
    assert kept.band is not None and kept.band.high > kept.band.low
    command.find(tasks, 3, store, ModelRunner(store))
    store.forget_series()  # as a study of another plan does
    assert len(StudyResults(store.connection).crossovers("asked")) == 1


def test_of_more_than_two_locks_the_cheapest_is_named(store: Store, tmp_path: Path) -> None:
    """thin 40 and a CAS, asym_tasuki 105, tasuki 70 and a CAS at a fence of 30."""
    use = base(fence_latency=30, threads=2)
    pairs = itertools.combinations(map(LockLabel, ("thin", "asym_tasuki", "tasuki")), 2)
    tasks = [command.task_of(use, pair, "cas_latency", (0, 100), 1, 5) for pair in pairs]
    found = command.find(tasks, 1, store, ModelRunner(store))
    every = [one for some in found.values() for one in some]
    along = cheapest_along(every)
    assert [lock for lock, _, _ in along] == ["thin", "asym_tasuki"]
    assert along[0][2] == along[1][1] == pytest.approx(65, abs=1)
    words = "Cheapest along cas_latency: thin 0 to 65; asym_tasuki 65 to 100"
    assert cheapest_words(every, 3) == [words]
    assert cheapest_words(every, 2) == []
    rows = [row_of("a series", one) for one in every]
    crossing = next(row for row in rows if row["cheaper"] == "thin below, asym_tasuki above")
    assert crossing["value"] == pytest.approx(65, abs=1)
    assert crossing["known_low"] < crossing["value"] < crossing["known_high"]
    save(tmp_path / "crossings.png", lambda: draw_crossings(every))
    assert (tmp_path / "crossings.png").stat().st_size > 10_000


def test_crossovers_in_every_setting_of_a_plan() -> None:
    bases = command.settings_of(load_plan("contended"), "threads")
    assert bases and len({(one.machine, one.isa, one.flavour) for one in bases}) > 1
    assert {one.threads for one in bases} == {1}


def test_crossovers_say_which_work_they_assume() -> None:
    (said,) = command.work_around([base()], "threads")
    assert "critical=20, think=100" in said and "--set critical=0 --set think=0" in said
    (said,) = command.work_around([base()], "think")
    assert "think=100" not in said and "--set think" not in said
    assert command.work_around([base(critical=0, think=0)], "threads") == []


def test_the_commands_on_the_engine(tmp_path: Path) -> None:
    """Crossovers with a machine of one's own; its content is stored with the runs."""
    described = (MACHINES / "generic.toml").read_text("utf-8")
    own, db = tmp_path / "mine.toml", str(tmp_path / "x.db")
    own.write_text(described.replace('name = "generic"', 'name = "mine"'))
    line = "crossovers --locks thin,tasuki --axis fence_latency --low 0 --high 60 --points 2"
    line += " --workload sync --set iterations=50 --format json"
    done = lockcross(line, "--machine", str(own), "--db", db)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)
    assert row["machine"].startswith("mine@") and row["series"].startswith("asked/fence_latency")
    run = lockcross("run", *SMALL, "--machine", row["machine"])
    assert run.returncode == 0, run.stderr  # what a stored run's command says
    with Store(Path(db), read_only=True) as store:
        (name,) = store.connection.execute("SELECT name FROM machines").fetchone()
    assert name == row["machine"]


def test_a_log_that_is_mostly_recording_gets_no_verdict(tmp_path: Path) -> None:
    """Ten thousand acquisitions in two milliseconds, of which recording took one to five."""
    taken = [(time, (Kind.RELEASE, Kind.ACQUIRED)[time % 2], 7) for time in range(1, 20_001)]
    log = log_of(tmp_path, records(A, taken), head=HEAD | {"java.version": "17.0.15"})
    add_line(log, {"end": "exit", "time": 2_000_000, "cpu": 2_000_000})
    known = {"recording_ns": 300, "recording_least": 100, "recording_most": 500, "start_cpu": 0.0}
    add_line(log, known)
    compared = shutil.copy(log, tmp_path / "compared.locks")
    add_line(compared, {"cpu_plain": 0.001, "cpu_recorded": 0.002})
    said = "annot tell: recording took 50 to 100 % of the time; record with --compare"
    for form in ("table", "csv", "json"):
        line = f"advise --machines zen4 --ranking --format {form} --db {tmp_path / 'x.db'}"
        done = lockcross(line, "--log", str(log))
        assert done.returncode == 0 and said in done.stdout and "tie with" not in done.stdout
        known_cost = lockcross(f"{line} --locks thin,hotspot_stack", "--log", str(compared))
        assert known_cost.returncode == 0 and "annot tell" not in known_cost.stdout
    told, program = json.loads(done.stdout), json.loads(known_cost.stdout)["program"]
    assert told["cheapest"] is None and told["verdict"] == f"c{said}"
    assert program["plain"] and program["per_second"] == pytest.approx(1e7)
