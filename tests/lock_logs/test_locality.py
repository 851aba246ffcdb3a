"""Lock events: the log, the analyses on sequences by hand, and logs of real runs."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from random import Random

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from results.errors import LockcrossError
from sweeps.lock_logs.locality import Sections, locality, pattern, repetitions
from sweeps.lock_logs.log import (
    ENGINE_HEADER,
    ENGINE_RECORD,
    MAGIC,
    EventLog,
    Kind,
    Site,
    convert,
    read_events,
)
from sweeps.lock_logs.sites import sites
from sweeps.questions.locality.gains import Costs
from tests.commands import lockcross
from tests.lock_logs.test_log import held

LogOf = Callable[[str], EventLog]
SHORT = {"a": Kind.ACQUIRE, "g": Kind.ACQUIRED, "r": Kind.RELEASE, "x": Kind.NOTHING_DONE}
SHORT |= {"w": Kind.WAIT, "b": Kind.WAITED, "n": Kind.NOTIFY}


def write(path: Path, script: str) -> Path:
    """Write the log of an engine's recording of events like "0a1": thread 0 begins to acquire
    object 1. Ten cycles each; the lock is inflated where an exclamation mark follows."""
    rows = [
        (10 * place, int(word[2]), int(word[0]), SHORT[word[1]], "!" in word)
        for place, word in enumerate(script.split(), start=1)
    ]
    header = ENGINE_HEADER.pack(MAGIC, 1, 2000, 0x400000, 7, len(rows))
    raw = path.with_suffix(".raw")
    raw.write_bytes(header + np.array(rows, ENGINE_RECORD).tobytes())
    convert(raw, path)
    return path


@pytest.fixture
def log_of(tmp_path: Path) -> LogOf:
    def read(script: str) -> EventLog:
        return read_events(write(tmp_path / "some.bin", script))

    return read


def pair(thread: int, count: int = 1, object: int = 1) -> str:
    return f"{thread}a{object} {thread}g{object} {thread}r{object} " * count


# Lock sequences as Figure 5.2 has them, by what the text says of it: three objects, 30
# acquisitions, 17 of them in first repetitions; a first repetition of one acquisition; an initial
# locker that comes again; object 2 is C's until B comes (Figure 5.3).
FIGURE_5_2 = {1: "AAAAAABAACAA", 2: "CCCCCCCCCCBBC", 3: "BAAAA"}


def test_the_example_of_figure_5_2() -> None:
    pairs = [(number, thread) for number, text in FIGURE_5_2.items() for thread in text]
    objects, threads = zip(*pairs, strict=True)
    found = repetitions(pd.Series(objects), pd.Series(threads))
    assert found["first"].to_dict() == {1: 6, 2: 10, 3: 1}
    assert found["longest"].to_dict() == {1: 6, 2: 10, 3: 4}
    ratio = found["first"].sum() / found["length"].sum()
    assert f"{found['first'].sum()}/{found['length'].sum()} = {ratio:.1%}" == "17/30 = 56.7%"


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), max_size=60))
def test_repetitions_are_what_their_definition_says(pairs: list[tuple[int, int]]) -> None:
    frame = pd.DataFrame(pairs, columns=["object", "thread"])
    found = repetitions(frame["object"], frame["thread"])
    assert list(found.index) == sorted({number for number, _ in pairs})
    for number, (length, first, longest) in found.iterrows():
        text = "".join(str(thread) for one, thread in pairs if one == number)
        runs = [len(list(run)) for _, run in groupby(text)]
        assert (length, first, longest) == (len(text), runs[0], max(runs))


def test_contended_is_who_finds_the_lock_held_not_who_works_while_another_waits(
    log_of: LogOf,
) -> None:
    """Thread 0 waits, and meanwhile 1 takes the object twice undisturbed. Then 2 comes while 1 has
    it. Five acquisitions are outermost, one is nested."""
    waits = "0a1 0g1 0w1 " + pair(1, 2) + "1a1 1g1 1a1 1g1 2a1 1r1 1r1 2g1 2n1 2r1 0b1 0r1"
    log = log_of(waits)
    assert pattern(log).contended == 1 / 6 and pattern(log).nested == 1 / 6
    assert sites(log)[["acquisitions", "contended"]].sum().tolist() == [6, 1]


def test_a_line_gains_by_the_lock_that_saves_most_there() -> None:
    """A line of one thread gains by a reservation; one that several threads share pays for the
    cancellations, and gains by another lock; where none is cheaper there is no gain."""
    pair = {"hotspot_light": 50.0, "reservation": 5.0, "thin": 30.0, "tasuki": 40.0}
    pair["j9_flat"] = 35.0
    costs = Costs("zen5", pair, 1000, 1e9)
    alone = {"acquisitions": 100.0, "first": 100.0, "changed": 0.0}
    found = costs.of_line(alone, "hotspot_light")
    assert found == {"cost": 5000, "saved": 4500, "by": "reservation"}
    shared = {"acquisitions": 100.0, "first": 50.0, "changed": 1.0}
    assert costs.of_line(shared, "hotspot_light") == {"cost": 5000, "saved": 2000, "by": "thin"}
    dearest = replace(costs, pair=pair | {"hotspot_light": 4.0})
    assert dearest.of_line(shared, "hotspot_light") == {"cost": 400, "saved": 0, "by": ""}


def test_a_sampled_line_says_how_far_it_may_be_off(log_of: LogOf) -> None:
    """Of 100 acquisitions in a Vector, 20 have a stack: 15 of one line, 5 of the next."""
    log = log_of(pair(0, 100))
    sampled = replace(
        log,
        events=log.events.assign(site=7),
        sites={7: Site("java.util.Vector", "add", "Vector.java", 1, "method", True)},
        stacks=pd.DataFrame({"site": 7, "stack": [1] * 15 + [2] * 5}),
        frames={1: ("java.util.Vector.add:1", "App.run:3"), 2: ("App.run:4",)},
    )
    rows = sites(sampled).set_index("line")
    assert rows["acquisitions"].to_dict() == {"App.run:3": 75, "App.run:4": 25}
    # Wilson's interval of 5 in 20 is 11.2 % to 46.9 %.
    assert rows["off"].tolist() == pytest.approx([17.9, 17.9], abs=0.1)


def test_the_plain_print_has_no_numbers_of_tables(tmp_path: Path) -> None:
    """Nor does it say of objects that were only locked that they were made."""
    path = write(tmp_path / "app.locks", pair(0) + "1a1 1g1 1w1 1b1 1r1")
    assert "objects made" in lockcross("locality", str(path)).stdout
    path.write_bytes(path.read_bytes().replace(b'"objects_made": 7', b'"objects_m_de": 7'))
    shown = lockcross("locality", str(path)).stdout
    assert "Table" not in shown and "made" not in shown.replace("was made", "")
    rows = lockcross("locality", str(path), "--format", "csv").stdout
    for row in ("acquisitions,2", "lock operations,5", "locked sections,3"):
        assert f",{row}," in rows
    assert lockcross("locality --machine zen5", str(path)).returncode == 2


def test_nested_acquisitions_are_operations_but_no_sections(log_of: LogOf) -> None:
    log = log_of("0a1 0g1 0a1 0g1 0r1 0r1 " + pair(1, 2))
    assert tuple(locality(log).values()) == (4, 2, 2, 1, 1)
    sections = Sections(log)
    assert log.objects_made == 7
    assert tuple(sections.statistics().values()) == (2, 1, 8, 0, 0)
    assert tuple(sections.durations(long=40).values()) == (3, 20.0, 40, 1)


# Threads 1 and 2 wait for the lock, one after the other gets it.
CONTENDED = pair(0) + "0a1 0g1 1a1 0r1 2a1 1g1 1r1 2g1 2r1 " + pair(2)
# On object 2, nobody ever waits.
WAITED = "0a1 0g1 0w1! 1a1! 1g1! 1n1! 1r1! 0b1! 0r1! " + pair(0, 1, 2) + "1a2 1g2 1n2 1r2"
# 0 holds the lock twice when the log begins, 2 waits for a notification until 3 comes, who never
# gets it.
CUT = "1a1 0r1 0r1 1g1 1r1 2b1 3a1 2r1 0a1 0g1"
NONE = (0, 0, 0, 0, 0, 0)
# Of objects on which nobody waits, and of the others: their number, operations, fat and flat
# sections, operations in fat sections and on inflated locks.
HEAVY = {
    # In the section: the releases of 0 and 1, and the acquires of 1 and 2.
    "a fat section lasts until the last one has the lock": (CONTENDED, (1, 10, 1, 2, 4, 0), NONE),
    "a lock that is free is not contended": ("0a1 1a2 0g1 1g2 1r2 0r1", NONE, NONE),
    # 1 waits from the time at which 0 has the lock: 0's release and 1's acquire.
    "unless another takes it": ("0a1 1a1 0g1 0r1 1g1 1r1", (1, 4, 1, 2, 2, 0), NONE),
    # Wait, then acquire, notify and release of the other thread; the last release is flat again.
    "waiting is a fat section": (WAITED, NONE, (1, 6, 1, 2, 4, 5)),
    # As Table 4.3 counts: eSuite's wait group, 101 objects with 4.91 fat sections, has about 590
    # flat ones, where each is followed by another there would be 597.
    "an object ends in a fat section": ("0a1 0g1 0w1 1a1 1g1 1r1", NONE, (1, 4, 1, 1, 3, 0)),
    "a log begins and ends in a fat section": (CUT, (1, 6, 2, 1, 6, 0), NONE),
}


@pytest.mark.parametrize(("script", "nowait", "wait"), HEAVY.values(), ids=HEAVY)
def test_heavily_synchronized_objects(
    script: str, nowait: tuple[int, ...], wait: tuple[int, ...], log_of: LogOf
) -> None:
    sections = Sections(log_of(script))
    found = sections.contention()
    assert (tuple(found.loc["nowait"]), tuple(found.loc["wait"])) == (nowait, wait)
    assert sections.statistics()["heavy_objects"] == nowait[0] + wait[0]


def test_locked_sections_are_between_acquisition_release_and_wait(log_of: LogOf) -> None:
    in_fat = Sections(log_of(CONTENDED)).operations()["in_fat"].to_list()
    assert in_fat == [False] * 3 + [True] * 4 + [False] * 3
    waited = [[0, 20, 30], [1, 50, 70], [0, 80, 90], [0, 110, 120], [1, 140, 160]]
    assert held(log_of(WAITED)) == waited
    assert [thread for thread, _, _ in held(log_of(CUT))] == [1, 2]


def test_operations_that_did_nothing_are_none(log_of: LogOf) -> None:
    log = log_of("0a1 0g1 1r1 0w1 0x1 1x1 1n1 1x1 0r1")
    assert log.events["kind"].to_list() == [Kind.ACQUIRE, Kind.ACQUIRED, Kind.RELEASE]
    assert tuple(Sections(log).durations(0).values()) == (1, 70.0, 70, 1)
    log = log_of("0a1 0g1 0r1 1x1")  # what thread 1 began is not in the log
    assert log.events["kind"].to_list() == [Kind.ACQUIRE, Kind.ACQUIRED, Kind.RELEASE]


def test_contention_inflates_and_tasuki_deflates_when_it_is_over(log_of: LogOf) -> None:
    """Operations flat, F, and inflated, I: thread 0's pair FF; then 0's and 1's sections, in which
    1 has to wait and inflates: FF and II; by tasuki's rule its release deflates. 0's pair is II by
    thin's rule and FF by tasuki's. In the second contention 2 waits while 1 releases, so this
    release does not deflate: 2's acquire and release are inflated, too."""
    first, second = "0a1 0g1 1a1 0r1 1g1 1r1 ", "0a1 0g1 1a1 2a1 0r1 1g1 1r1 2g1 2r1 "
    log = log_of(pair(0) + first + pair(0) + second + pair(0, object=2))
    found = Sections(log).dynamics()
    assert found["thin"] == {"inflations": 1, "deflations": 0, "inflated": 2 + 2 + 6}
    assert found["tasuki"] == {"inflations": 2, "deflations": 2, "inflated": 2 + 4}
    assert found["own"] == {"inflations": 0, "deflations": 0, "inflated": 0}


def test_a_wait_inflates_for_good(log_of: LogOf) -> None:
    """The wait begins flat; after it, 1's acquire, notification and release, 0's release and the
    pair of 0 are inflated. Nested acquisitions neither inflate nor deflate."""
    log = log_of("0a1 0g1 0a1 0g1 0w1 1a1 1g1 1n1 1r1 0b1 0r1 0r1 " + pair(0))
    found = Sections(log).dynamics()
    assert found["thin"] == found["tasuki"] == {"inflations": 1, "deflations": 0, "inflated": 7}


def test_a_lock_goes_as_its_log_says(log_of: LogOf) -> None:
    """An acquire that inflates is inflated when it is done; of object 2 the log begins inflated."""
    log = log_of("0a1 0g1! 0r1! 0a1 0g1 0r1 1a1 1g1! 1r1! 0a2! 0g2! 0r2!")
    own = Sections(log).dynamics()["own"]
    assert own == {"inflations": 3, "deflations": 1, "inflated": 6}


def test_a_recorded_log_does_not_tell_how_its_lock_went(tmp_path: Path) -> None:
    """It has no flags: that they are missing is no number."""
    path = write(tmp_path / "app.locks", pair(0))
    for writer, locks, inflated in ((b"engine", 3, {0, None}), (b"others", 2, {None})):
        path.write_bytes(path.read_bytes().replace(b'"engine"', b'"%b"' % writer))
        rows = json.loads(lockcross("locality --tables", str(path), "--format", "json").stdout)
        assert len([row for row in rows if row["Lock"]]) == locks
        assert {row["SyncOps_while_inflated"] for row in rows} == inflated


def test_nesting_is_by_thread_and_object(log_of: LogOf) -> None:
    """Thread 0 has object 1 three times, once while it has object 2; thread 1 has it twice."""
    log = log_of("0g1 0g2 0g1 0r2 0g1 0r1 0r1 0r1 1g1 1g1 1r1 1r1")
    assert Sections(log).nesting().to_dict() == {1: 3, 2: 2, 3: 1}


def test_hits_end_with_another_thread_for_the_reservation_alone(log_of: LogOf) -> None:
    """0 owns object 1: its first two outermost acquisitions are hits of both locks, the nested one
    of none; 1 begins to acquire while 0 has it, so 0's next acquisition comes too late for the
    reservation. Object 2 is 1's alone, until it waits; object 3 is 2's in a race."""
    owned = "0a1 0g1 0a1 0g1 0r1 0r1 0a1 0g1 1a1 0r1 0a1 0g1 0r1 1g1 1r1 "
    alone, race = "1a2 1g2 1w2 1b2 1r2 1a2 1g2 1r2 ", "0a3 2a3 2g3 2r3 2a3 2g3 2r3 0g3 0r3"
    assert Sections(log_of(owned + alone + race)).reservations() == {
        "acquisitions": 5 + 2 + 3,
        "reservation": 2 + 1 + 1,
        "cancellations": 3,
        "asymmetric": 3 + 2 + 2,
    }


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 2)), max_size=40))
def test_without_overlap_hits_are_first_repetitions(pairs: list[tuple[int, int]]) -> None:
    """Nobody contends or nests: then the hits of a reservation are the first repetitions, each
    object of several threads is cancelled once, and no rule inflates anything."""
    kinds = (Kind.ACQUIRE, Kind.ACQUIRED, Kind.RELEASE)
    rows = [(thread, kind, number) for number, thread in pairs for kind in kinds]
    frame = pd.DataFrame(rows, columns=["thread", "kind", "object"]).astype(int)
    log = EventLog("made", 1, 1, frame.assign(cycle=range(len(rows)), fat=False))
    sections, repeated = Sections(log), locality(log)
    found = sections.reservations()
    assert found["acquisitions"] == sections.nesting().sum() == len(pairs)
    assert found["reservation"] == repeated["first"] <= found["asymmetric"]
    assert found["cancellations"] == repeated["by_many"]
    assert all(not any(row.values()) for row in sections.dynamics().values())


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, 2), min_size=1, max_size=40), st.randoms(use_true_random=False))
def test_sections_add_up_whatever_threads_do(lockers: list[int], random: Random) -> None:
    """Threads that come before they can have the lock, or after: operations are all there, and flat
    and fat sections follow each other."""
    script: list[tuple[int, Kind]] = []
    for thread in lockers:
        script += [(thread, Kind.ACQUIRED), (thread, Kind.RELEASE)]
        mine = [i for i, (one, _) in enumerate(script[:-2]) if one == thread]
        early = random.randint(mine[-1] + 1 if mine else 0, len(script) - 2)
        script.insert(early, (thread, Kind.ACQUIRE))
    threads, kinds = zip(*script, strict=True)
    frame = pd.DataFrame({"cycle": range(len(script)), "thread": threads, "kind": kinds})
    sections = Sections(EventLog("made", 1, 1, frame.assign(object=5, fat=False)))
    (row,) = sections.objects().to_dict("records")
    assert row["operations"] == 2 * len(lockers) and row["flat"] == row["fat"] + 1
    assert (row["in_fat"] > 0) == (row["fat"] > 0) and row["in_fat"] >= 2 * row["fat"]
    thin, tasuki = sections.dynamics()["thin"], sections.dynamics()["tasuki"]
    assert thin["inflations"] == (row["fat"] > 0) and thin["deflations"] == 0
    # Whoever waited releases at last, when nobody waits any more.
    assert tasuki["inflations"] == tasuki["deflations"] <= row["fat"]
    assert 2 * tasuki["inflations"] <= tasuki["inflated"] <= thin["inflated"]
    assert len(sections.locked()) == len(lockers)


def test_a_lock_that_two_threads_hold_is_no_lock(log_of: LogOf) -> None:
    with pytest.raises(LockcrossError, match=r"at cycle 40 .* excludes nobody"):
        Sections(log_of("0a1 0g1 1a1 1g1 0r1 1r1"))


@pytest.mark.parametrize("script", ["", "0a1", "0x1"])
def test_a_log_without_an_operation_has_tables_of_nothing(tmp_path: Path, script: str) -> None:
    write(tmp_path / "idle.bin", script)
    done = lockcross("locality --tables", str(tmp_path / "idle.bin"))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("idle") == 19


def test_a_log_without_events_has_empty_tables(log_of: LogOf) -> None:
    log = log_of("")
    assert tuple(locality(log).values()) == (0, 0, 0, 0, 0)
    assert log.objects_made == 7
    assert tuple(Sections(log).statistics().values()) == (0, 0, 0, 0, 0)
    assert tuple(Sections(log).durations(1).values()) == (0, 0.0, 0, 0)
    assert not any(Sections(log).reservations().values()) and Sections(log).nesting().empty
    assert not any(Sections(log).dynamics()["tasuki"].values())


# Real runs -------------------------------------------------------------------------------------


def recorded(folder: Path, line: str) -> EventLog:
    path = folder / "run.locks"
    done = lockcross(f"run {line} --machine generic --events", str(path))
    assert done.returncode == 0, done.stderr
    return read_events(path)


SEQUENCE = "--workload lock_sequence objects=5 runs=6 run_length=4 critical=0 think=0"


@pytest.mark.parametrize(
    ("lock", "isa", "threads", "share", "found"),
    [
        ("reservation", "x86_64", 2, 1.0, (120, 120, 120, 5, 0)),
        ("reservation", "ppc64le", 2, 1.0, (120, 120, 120, 5, 0)),
        ("reservation", "aarch64", 2, 1.0, (120, 120, 120, 5, 0)),
        # Steps 0, 2 and 4 are the owner's, so the first repetition is one step.
        ("asym_tasuki", "x86_64", 3, 0.5, (120, 20, 20, 5, 5)),
    ],
)
def test_objects_have_the_locality_that_their_owners_share_of_the_steps_gives(
    lock: str, isa: str, threads: int, share: float, found: tuple[int, ...], tmp_path: Path
) -> None:
    line = f"--lock {lock} --isa {isa} --threads {threads} owner_share={share}"
    log = recorded(tmp_path, f"{line} {SEQUENCE}")
    assert log.objects_made == 5
    assert tuple(locality(log).values()) == found
    assert tuple(Sections(log).statistics().values()) == (threads, 5, 240, 0, 0)


def test_contention_and_inflation_come_out(tmp_path: Path) -> None:
    """Three threads at one lock all the time; thin inflates once, and stays so."""
    line = "--lock thin --isa x86_64 --workload threads --threads 3"
    sections = Sections(recorded(tmp_path, f"{line} iterations=30 critical=50 think=0"))
    # An object of each thread's own, and the shared one; 64 of their own are made.
    assert sections.log.objects_made == 65
    assert tuple(sections.statistics().values()) == (3, 4, 186, 1, 180)
    shared = sections.contention().loc["nowait"]
    assert (shared["objects"], shared["operations"]) == (1, 180)
    # When the first thread meets another one is the compiler's too.
    assert shared["in_fat"] > 100 and shared["inflated"] > 100
    # Its rule says of the log what the lock did.
    found = sections.dynamics()
    assert found["own"] == found["thin"] and found["own"]["inflations"] == 1
    durations = sections.durations(long=float("inf"))
    assert durations["sections"] == 93 and durations["average"] >= 50 and durations["long"] == 0


def test_thrashing_inflates_and_deflates_as_often_as_the_thesis_says(tmp_path: Path) -> None:
    """K 4.6.1: "inflating and deflating the object exactly two thousand times"; here 50 times."""
    line = "--lock tasuki --isa ppc64le --workload thrashing --threads 2 iterations=50 hold=2000"
    found = Sections(recorded(tmp_path, line)).dynamics()
    assert (found["tasuki"]["inflations"], found["tasuki"]["deflations"]) == (50, 50)
    # What the last release does, no record shows.
    assert (found["own"]["inflations"], found["own"]["deflations"]) == (50, 49)
    assert found["own"]["inflated"] == found["tasuki"]["inflated"]


def test_a_reservation_stops_its_owner_as_often_as_its_log_says(tmp_path: Path) -> None:
    """Each of five objects goes to its owner for one step of four acquisitions."""
    line = "--lock reservation --isa x86_64 --threads 2 owner_share=0.5"
    found = Sections(recorded(tmp_path, f"{line} {SEQUENCE}")).reservations()
    assert found == {"acquisitions": 120, "reservation": 20, "cancellations": 5, "asymmetric": 60}


def test_the_same_run_leaves_the_same_log(tmp_path: Path) -> None:
    line = "--lock tasuki --isa aarch64 --workload threads --threads 2"
    first, second = (
        recorded(tmp_path, f"{line} iterations=20 critical=5 think=3").events for _ in range(2)
    )
    pd.testing.assert_frame_equal(first, second)


def test_wait_and_notify_come_out(tmp_path: Path) -> None:
    """All the conformance kernel does, illegal operations too, leaves a log of a real lock."""
    line = "--lock tasuki --isa x86_64 --workload conformance --threads 3 iterations=2"
    sections = Sections(recorded(tmp_path, line))
    waiting = sections.contention().loc["wait"]
    assert waiting["objects"] > 0 and waiting["fat"] >= waiting["objects"]
    assert not (sections.locked()["begin"] > sections.locked()["end"]).any()


def test_the_command_prints_the_tables_of_the_thesis(tmp_path: Path) -> None:
    log = write(tmp_path / "small.locks", pair(0) + "0a1 0g1 1a1 0r1 1g1 1r1 ")
    shown = lockcross("locality --tables", str(log))
    assert shown.returncode == 0, shown.stderr
    words = (
        "Table 4.2|Table 4.3|Table 4.4|Table 4.6|Table 5.2|Table 5.3|5.6 and 6.2|Figure 3|≥10 ms"
    )
    for title in words.split("|"):
        assert title in shown.stdout
    assert shown.stdout.count("small") == 19
    (tmp_path / "other").mkdir()  # a log of the same name is another one
    other = shutil.copy(log, tmp_path / "other")
    assert lockcross("locality --tables", str(log), str(other)).stdout.count("small") == 38
