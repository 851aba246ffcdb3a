"""A use of locks as people state it: its runs, by numbers and by a program's log."""

import random
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from results.errors import LockcrossError
from sweeps.lock_logs.locality import pattern
from sweeps.lock_logs.log import EventLog, Kind, Totals, read_events
from sweeps.model.machine import load_machine
from sweeps.questions.advise.mixture import WeightedRun, mixture
from sweeps.questions.advise.program import RecordedProgram, program_of, without_own_lock
from sweeps.questions.advise.question import Logged, Question, ask
from sweeps.questions.advise.use import Use, settle
from tests.commands import lockcross

WRONG = tomllib.loads(Path(__file__).with_name("wrong_uses.toml").read_text("utf-8"))
NUMBERS = ("first", "turns", "run_length", "after")  # of a run's keys


def asked(use: Use, log: Logged | None = None) -> Question:
    return ask("generic", "", "", [], [], {}, use, log)


def parts(use: Use) -> tuple[WeightedRun, ...]:
    return mixture(asked(use).scenario.use)


def acquisitions(run: WeightedRun) -> tuple[int, int, int]:
    """An object's outermost acquisitions in all, others', and the owner's before them."""
    keys = {name: int(run.parameters[name]) for name in NUMBERS}
    others = keys["turns"] * keys["run_length"]
    return keys["first"] + others + keys["after"], others, keys["first"]


def others_share(found: Iterable[WeightedRun]) -> float:
    """Return the share of acquisitions by other threads than the owner."""
    return float(sum(one.weight * Fraction(*reversed(acquisitions(one)[:2])) for one in found))


def test_without_a_word_it_is_what_the_readme_asks() -> None:
    """Nearly every object stays with one thread, beside the locks that runtimes ship."""
    question = asked(Use())
    local, *shared = mixture(question.scenario.use)
    assert local.words == "objects that stay with one thread"
    assert local.weight == Fraction(1999, 2000) and acquisitions(local) == (369, 0, 369)
    # Whole numbers of turns around 369 acquisitions, of which a tenth are others'.
    whole = sum(one.weight for one in shared)
    assert others_share(shared) / whole == pytest.approx(0.1, rel=1e-3)
    assert {"hotspot_light", "j9_flat", "biased"} <= {label.lock for label in question.labels}
    # But the numbers of shared objects are of objects that are shared.
    assert {one.words for one in parts(Use(run_length=3))} == {"objects that change hands"}


@pytest.mark.parametrize(
    ("use", "others"),
    [
        (Use(owner_share=0.93), 0.07),
        (Use(owner_share=1 / 3, run_length=7), 2 / 3),
        (Use(owner_share=0.99999), 0.00001),
        (Use(shared_objects=0.0005, acquisitions=100), 0.0005 / 10),
        (Use(shared_objects=0.0005, acquisitions=20, owner_share=0.9999, run_length=3), 0.0001),
        (Use(shared_objects=0.25, acquisitions=7.5, owner_share=0.8, run_length=1), 0.2),
        (Use(per_cancellation=19_000, owner_share=0.999, run_length=19), 0.001),
        (Use(owner_share=0.9, run_length=1.47), 0.1),
        (Use(owner_share=0.9, acquisitions=25), 0.1),
        (Use(owner_share=0.9, acquisitions=25, run_length=2.4), 0.1),
        (Use(owner_share=0.9, acquisitions=11.5, run_length=1), 0.1),
        (Use(owner_share=0.5, run_length=44.4, acquisitions=1000), 0.5),
        (Use(owner_share=0.999, run_length=19, acquisitions=76_000), 0.001),
        (Use(owner_share=0.5, run_length=30_000, acquisitions=200_000), 0.5),
        (Use(owner_share=0.7, run_length=100_000, acquisitions=1e6, first_share=0.01), 0.3),
        (Use(owner_share=0.99, run_length=1, acquisitions=3e6, first_share=0.01, think=900), 0.01),
        (Use(owner_share=0.5, run_length=20, acquisitions=1_000_000, threads=2), 0.5),
        (Use(owner_share=1.0), 0),
    ],
)
def test_what_is_asked_is_what_is_run(use: Use, others: float) -> None:
    found = parts(use)
    assert sum(one.weight for one in found) == pytest.approx(1, rel=1e-3)
    assert others_share(found) == pytest.approx(others, rel=1e-3, abs=1e-12)
    assert all(acquisitions(one)[0] <= 40_000 for one in found)


def test_turns_longer_than_can_be_run_cost_what_each_part_adds() -> None:
    """In a model where each acquisition by the owner before others costs 3, by others 5, behind
    them 7, and a turn 1,000."""
    life, turns, length, first = 400_000, 4, 30_000, 0.2
    share = 1 - turns * length / life
    use = Use(owner_share=share, run_length=length, acquisitions=life, first_share=first, threads=2)
    whole = 0.0
    for one in parts(use):
        keys = {name: int(one.parameters[name]) for name in NUMBERS}
        cost = 3 * keys["first"] + keys["turns"] * (1_000 + 5 * keys["run_length"])
        cost += 7 * keys["after"]
        assert acquisitions(one)[0] <= 40_000
        whole += float(one.weight) * cost / acquisitions(one)[0]
    after = life * (1 - first) - turns * length
    expected = 3 * life * first + turns * (1_000 + 5 * length) + 7 * after
    assert whole == pytest.approx(expected / life, rel=1e-6)


def test_few_runs_meet_a_use_exactly() -> None:
    def weights(use: Use) -> dict[tuple[int, int, int], Fraction]:
        return {acquisitions(one): one.weight for one in parts(use)}

    # One run of others' in a thousand: 19,000 acquisitions for each cancellation.
    for threads in (2, 4):
        long = Use(owner_share=0.999, run_length=19, threads=threads)
        assert weights(long) == {(19_000, 19, 18_981): 1}
    assert weights(Use(shared_objects=0, acquisitions=3.25)) == {
        (3, 0, 3): Fraction(9, 13),
        (4, 0, 4): Fraction(4, 13),
    }
    # Of a hundred acquisitions fifty are by others, in runs of twenty: twice or thrice.
    assert weights(Use(shared_objects=0.0005, acquisitions=100, owner_share=0.99975)) == {
        (100, 0, 100): Fraction(1999, 2000),
        (90, 40, 25): Fraction(9, 40_000),
        (110, 60, 17): Fraction(11, 40_000),
    }


def test_cycles_between_sections_follow_from_locks_a_second() -> None:
    """5,000 MHz and a million acquisitions: 5,000 cycles each."""
    assert Use(locks_per_second=1e6, critical=100).at_clock(5_000).think == 4_900
    assert Use(think=7).at_clock(5_000).think == 7
    for rate, critical in ((1e6, 5_001), (1, 0)):
        with pytest.raises(LockcrossError, match="--locks-per-second"):
            Use(locks_per_second=rate, critical=critical).at_clock(5_000)


@pytest.mark.parametrize(("said", "use"), WRONG["uses"])
def test_what_contradicts_itself_is_refused(said: str, use: dict[str, Any]) -> None:
    with pytest.raises(LockcrossError, match=said):
        settle(Use(**use))


def events(*sections: tuple[int, int]) -> EventLog:
    """Locked sections, one after another: object and thread."""
    kinds = (Kind.ACQUIRE, Kind.ACQUIRED, Kind.RELEASE)
    rows = [(item, thread, kind) for item, thread in sections for kind in kinds]
    table = pd.DataFrame(rows, columns=["object", "thread", "kind"]).astype("int64")
    return EventLog("log", 1000, 2, table.assign(cycle=range(len(rows)), fat=False))


def test_a_log_says_who_shares_what() -> None:
    """Object 1 is its first locker's six times of ten; two others take it twice in a row each."""
    mine = [(1, 0)] * 3 + [(1, 1)] * 2 + [(1, 0)] * 3 + [(1, 2)] * 2
    found = pattern(events(*mine, *[(2, 0)] * 10))
    assert (found.threads, found.shared_objects, found.acquisitions) == (3, 0.5, 10)
    assert (found.owner_share, found.first_share, found.run_length) == (0.8, 0.3, 2)
    assert (found.shared_acquisitions, found.nested, found.contended) == (10, 0, 0)
    assert Use(threads=5).with_log(found).threads == 5
    alone = pattern(events(*[(2, 0)] * 10))
    assert (alone.owner_share, alone.shared_objects, alone.acquisitions) == (1, 0, 10)
    with pytest.raises(LockcrossError, match="nothing is acquired"):
        pattern(replace(events((1, 0)), events=events((1, 0)).events.iloc[:0]))


def recorded(
    acquisitions: int = 200, cpu: float = 2.0, about: dict[str, str] | None = None, **known: Any
) -> RecordedProgram:
    """The program of a log with so many acquisitions in seconds of CPU time."""
    totals = Totals(3.0, cpu, acquisitions, **known)
    found = program_of(replace(events((2, 0)), totals=totals, about=about or {}))
    assert found is not None
    return found


def test_a_recorded_program_says_how_often_it_locks() -> None:
    """200 acquisitions in two seconds of CPU time, or in one without recording: that is more
    work between them than can change a cost."""
    log = events(*[(2, 0)] * 10)
    assert program_of(log) is None
    found = recorded(150, left_out=50)
    assert (found.per_second, found.plain) == (100, False)
    slow = asked(Use(critical=7), Logged("log", pattern(log), found))
    assert slow.scenario.use.think == 1_000
    plain = recorded(150, left_out=50, cpu_plain=1.0)
    assert (plain.per_second, plain.plain) == (200, True)
    clock = load_machine("generic").clock_mhz.number * 1e6
    fast = Logged("log", pattern(log), replace(plain, per_second=clock / 100))
    assert asked(Use(critical=30), fast).scenario.use.think == 70
    assert asked(Use(think=5), fast).scenario.use.think == 5
    source = {one.name: one.source for one in slow.inputs}
    assert "beyond 1,000 they change no cost" in source["think"]
    assert source["critical"] == "" and source["acquisitions"] == "log"  # who said it


def logged(works: Sequence[float], cpu: float) -> Question:
    """The question of a log whose acquisitions have so many cycles of work before them, each with a
    mean of CPU time in cycles."""
    clock = load_machine("generic").clock_mhz.number * 1e6
    ns = np.array(works) / clock * 1e9
    log = pattern(events(*[(2, 0)] * 10))
    return asked(Use(), Logged("log", log, RecordedProgram(clock / cpu, plain=True), ns))


def test_each_amount_of_work_in_a_log_is_run() -> None:
    """A tenth has none, and half of 100 cycles is met by 75 and 150; the rest is far away."""
    works = [0.0] * 10 + [100.0] * 50 + [70_000.0] * 40
    question = logged(works, 90_000)
    shares = {0: 0.1, 75: 0.5 * 2 / 3, 150: 0.5 / 3, 1_000: 0.4}
    use = question.scenario.use
    assert {n: float(share) for n, share in use.works} == pytest.approx(shares, abs=5e-3)
    assert sum(share for _, share in use.works) == 1 and use.think == 450
    runs = mixture(use)
    assert sum(run.weight for run in runs) == pytest.approx(1)
    for n, share in shares.items():
        found = sum(run.weight for run in runs if run.parameters["think"] == n)
        assert float(found) == pytest.approx(share, abs=5e-3)
    one = mixture(replace(use, works=()))
    assert len(runs) == len(shares) * len(one)  # no more than the amounts ask for
    (source,) = (entry.source for entry in question.inputs if entry.name == "think")
    assert source.endswith("by its gaps 0 in 10 %, 75 in 33 %, 150 in 17 %, 1,000 in 40 %")


def test_a_log_has_no_more_work_than_its_program_has_time() -> None:
    """Half of the time that recording may have added is work here, and then none."""
    amounts = [0.0] * 50 + [150.0] * 50
    assert dict(logged(amounts, 75).scenario.use.works) == {0: 0.5, 150: 0.5}
    half = logged(amounts, 37.5).scenario.use
    assert half.think == 38 and dict(half.works) == {0: 0.5, 75: 0.5}
    nothing = logged(amounts, 0.1).scenario.use
    assert (nothing.think, nothing.works) == (0, ())


def test_more_work_is_more_of_each_amount() -> None:
    use = logged([0.0] * 50 + [150.0] * 25 + [5_000.0] * 25, 90_000).scenario.use
    assert use.think == 288
    assert dict(use.moved("think", 144).works) == {0: 0.5, 75: 0.25, 500: 0.25}
    assert dict(use.moved("think", 1_000).works) == {0: 0.5, 520: 0.25, 1_000: 0.25}
    assert use.moved("threads", 2).works == use.works


def test_what_recording_took_is_taken_off() -> None:
    """200 acquisitions of 1 to 3 ms of recording each, in two seconds: the rest is known to a
    third. Half of them outside the sample, which cost something between nothing and all."""
    found = recorded(recording=(1e6, 2e6, 3e6))
    assert not found.untold
    assert found.recording == pytest.approx((0.1, 0.3))
    assert found.per_second == pytest.approx(200 / 1.6)
    sampled = recorded(100, left_out=100, recording=(1e6, 2e6, 3e6))
    assert sampled.per_second == pytest.approx(200 / 1.7)
    assert sampled.recording == pytest.approx((0.05, 0.3))


@pytest.mark.parametrize(
    ("recording", "words"),
    [
        ((1e6, 6e6, 6.5e6), "recording took 10 to 65 % of the time; record with --compare"),
        ((1e6, 2e6, 5.6e6), "recording took 10 to 56 % of the time; record with --compare"),
        ((11e6, 12e6, 13e6), "recording took nearly all of the time; record with --compare"),
    ],
)
def test_where_little_is_known_to_be_left_nothing_is_told(
    recording: tuple[float, float, float], words: str
) -> None:
    """Most of it is recording; or the rest may be 0.44 or 0.9 of it; or nothing is left."""
    assert recorded(recording=recording).untold == f"cannot tell: {words}"
    plain = recorded(recording=recording, cpu_plain=1.0)
    assert not plain.untold and plain.per_second == 200


def test_an_old_log_is_told_where_its_program_locks_little() -> None:
    """It does not say the cost of recording: a microsecond at most."""
    assert not recorded(100_000, 1.0).untold
    often = recorded(600_000, 1.0)
    assert "took up to 60 % of the time, how much is not in this log" in often.untold


def test_a_cut_log_goes_by_the_run_without_recording_where_all_is_counted() -> None:
    cut = {"cpu": 1.0, "left_out": 20, "end": "limit"}
    counted = recorded(100, **cut, cpu_plain=2.0, counted=880)
    assert (counted.per_second, counted.plain) == (500, True)
    unknown = recorded(100, **cut, cpu_plain=2.0)
    assert not unknown.plain and unknown.per_second == pytest.approx(120, 0.01)
    much = recorded(10**6, **cut, cpu_plain=2.0)
    assert much.untold.endswith("record with a larger --most")
    # A recorder of mutexes has the whole program's time, and a part of its acquisitions.
    pthread = recorded(100, **cut, about={"log": "pthread"})
    assert "the log ends before the program" in pthread.untold


def test_the_runtimes_lock_and_start_are_no_work_between_sections() -> None:
    """A second of CPU time, half of it the JVM's start, and 100 acquisitions of 2 ms."""
    found = recorded(100, cpu_plain=1.0, start_cpu=0.5)
    own = without_own_lock(found, 2e6, 1000)
    assert (own.work, own.between) == pytest.approx((0.008, 0.003)) and not own.untold
    whole = without_own_lock(found, 2e7, 1000)
    assert "its lock alone would take" in whole.untold and whole.work == 0


@pytest.mark.parametrize(
    ("about", "lock"),
    [
        ({"log": "pthread"}, "futex_mutex"),
        ({"java.vm.name": "Eclipse OpenJ9 VM", "java.version": "21.0.1"}, "j9_flat"),
        ({"java.version": "11.0.2"}, "biased"),
        ({"java.version": "17.0.15"}, "hotspot_stack"),
        ({"java.version": "25.0.3"}, "hotspot_light"),
        ({}, "hotspot_light"),
    ],
)
def test_which_lock_a_program_was_recorded_with(about: dict[str, str], lock: str) -> None:
    assert recorded(about=about).runtime == lock


def test_what_a_log_has_less_than_once_in_a_million_is_left_out() -> None:
    rare = replace(pattern(events((1, 0), (1, 1), (1, 0))), contended=2e-7, nested=3e-7)
    use = Use().with_log(rare)
    assert (use.contended, use.nested, use.shared_objects) == (0, 0, 1)
    for logged in (replace(rare, owner_share=1 - 2e-7), replace(rare, shared_objects=4e-7)):
        alone = Use().with_log(replace(logged, acquisitions=1e6))
        assert (alone.shared_objects, alone.owner_share) == (0, 1)
        assert sum(one.weight for one in parts(alone)) == 1
    first = replace(rare, acquisitions=1e8, shared_acquisitions=1e8, first_share=1e-8)
    assert Use().with_log(replace(first, owner_share=0.5)).first_share == 1e-6


def test_a_log_of_many_threads_is_run_with_eight() -> None:
    found = pattern(events(*[(1, one) for one in range(20)], *[(1, 0)] * 5))
    question = asked(Use(), Logged("log", found))
    (threads,) = (one for one in question.inputs if one.name == "threads")
    assert (threads.value, threads.source) == ("8", "log, which has 20")


@pytest.mark.parametrize("seed", range(20))
def test_numbers_and_a_log_of_the_same_use_ask_the_same(seed: int) -> None:
    draw = random.Random(seed)
    threads, objects = draw.randint(2, 4), draw.randint(2, 40)
    shared = draw.randint(1, objects)
    length, turns = draw.randint(1, 30), draw.randint(1, 4)
    first, after, local = draw.randint(1, 300), draw.randint(0, 200), draw.randint(1, 200)
    sections = []
    for item in range(objects):
        owner = item % threads
        sections += [(item, owner)] * (first if item < shared else local)
        for turn in range(turns if item < shared else 0):
            back = (turn + 1) * after // turns - turn * after // turns
            sections += [(item, (owner + 1) % threads)] * length + [(item, owner)] * back
    found = pattern(events(*sections))
    others, life = turns * length, first + turns * length + after
    total = shared * life + (objects - shared) * local
    by_numbers = Use(
        threads=threads if objects >= threads else found.threads,
        shared_objects=shared / objects,
        acquisitions=total / objects,
        shared_acquisitions=life,
        owner_share=1 - shared * others / total,
        first_share=first / life,
        run_length=turns * length / min(turns, max(after, 1)),  # by how often the owner is back
        nested=0.0,
        contended=0.0,
    )
    by_log = Use().with_log(found)
    assert asked(by_log).scenario == asked(by_numbers).scenario
    assert others_share(parts(by_log)) == pytest.approx(shared * others / total, rel=0.02)


def test_the_program_that_stands_for_a_use(tmp_path: Path) -> None:
    """Workload lock_use behaves as its log says, nested acquisitions too."""
    log = tmp_path / "use.locks"
    line = "run --lock tasuki --workload lock_use --threads 3 objects=6 first=50 turns=3"
    done = lockcross(f"{line} run_length=4 after=31 recursive=0.2 --events", str(log))
    assert done.returncode == 0, done.stderr
    found = pattern(read_events(log))
    assert (found.threads, found.shared_objects, found.acquisitions) == (3, 1, 93)
    assert found.owner_share == pytest.approx(81 / 93) and found.run_length == 4
    assert found.first_share == pytest.approx(50 / 93)
    assert found.nested == pytest.approx(0.2, abs=0.002)


@pytest.mark.parametrize(
    ("threads", "of_class", "runs"),
    [
        (2, 16, {16: 1}),
        (3, 16, {15: 1}),  # no more than there are: runtimes count them
        (8, 3, {8: 1}),  # one of each thread
        # As the first 128 and what each further one adds: 9,872 / 128 times 128 more.
        (2, 10_000, {256: Fraction(9_872, 128) * Fraction(256, 10_000)}),
    ],
)
def test_a_class_has_as_many_objects_as_are_said(
    threads: int, of_class: int, runs: dict[int, Fraction]
) -> None:
    use = Use(threads=threads, shared_objects=1, acquisitions=20, owner_share=0.9, run_length=2)
    exact, _ = settle(replace(use, class_objects=of_class))
    found = {int(run.parameters["objects"]): run.weight for run in mixture(exact)}
    left = 1 - sum(runs.values(), Fraction(0))
    assert found == runs | ({128: left} if left else {})
