"""The log of lock events: a Java program's, written as it runs, and an engine's."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from results.errors import LockcrossError
from sweeps.lock_logs.locality import Sections, pattern
from sweeps.lock_logs.log import (
    BLOCK,
    DONE,
    ENGINE_HEADER,
    EVENTS,
    HEADER,
    MAGIC,
    MARK,
    RECORD,
    TEXT,
    VERSION,
    EventLog,
    Kind,
    add_line,
    convert,
    read_events,
)
from sweeps.lock_logs.sites import sites

BEGUN = 1 << 4
ACQUIRED = Kind.ACQUIRED | BEGUN
HEAD = {"log": "test", "clock_mhz": 1000, "identity_bits": 31, "sample": 1}
EXACT = HEAD | {"identity_bits": 0}
END = {"end": "exit", "time": 5_000, "cpu": 4_000, "left_out": 0, "lost": 0}
A, B = 1, 2  # buffers
Event = tuple[int, int, int]  # nanoseconds, kind (with BEGUN), object


def block(tag: bytes, body: bytes, buffer: int = 0) -> bytes:
    return BLOCK.pack(tag, buffer, len(body)) + body


def lines(tag: bytes, *each: object) -> bytes:
    return block(tag, b"".join(json.dumps(one).encode() + b"\n" for one in each))


def records(buffer: int, events: Sequence[Event], site: int = 0) -> bytes:
    rows = [(time << 16 | kind, identity, site) for time, kind, identity in events]
    return block(EVENTS, np.array(rows, RECORD).tobytes(), buffer)


def content(*blocks: bytes, head: object = HEAD) -> bytes:
    return HEADER.pack(MAGIC, VERSION, 0) + lines(TEXT, head) + b"".join(blocks)


def log(folder: Path, *blocks: bytes, head: object = HEAD) -> Path:
    path = folder / "some.locks"
    path.write_bytes(content(*blocks, head=head))
    return path


def read(folder: Path, *threads: Sequence[Event], head: object = HEAD) -> EventLog:
    """Read the whole log of these threads' events."""
    blocks = [records(buffer, events) for buffer, events in enumerate(threads, 1)]
    return read_events(log(folder, *blocks, lines(DONE, END), head=head))


def pair(begin: int, end: int) -> list[Event]:
    """A thread has object 7 from when it can have it on."""
    return [(begin, ACQUIRED, 7), (end, Kind.RELEASE, 7)]


def held(found: EventLog) -> list[list[int]]:
    """Thread, begin and end of every locked section."""
    return Sections(found).locked()[["thread", "begin", "end"]].to_numpy().tolist()


def told(found: EventLog) -> list[tuple[int, int, str]]:
    """Time, thread and kind of every event."""
    rows = found.events[["cycle", "thread", "kind"]].to_numpy().tolist()
    return [(cycle, thread, Kind(kind).name) for cycle, thread, kind in rows]


def test_who_waits_has_the_lock_when_the_other_gives_it_back(tmp_path: Path) -> None:
    """B begins while A has it, and has it from A's release on; A's next one finds it free."""
    found = read(tmp_path, pair(10, 50) + pair(90, 95), pair(30, 70))
    assert told(found) == [
        (10, 0, "ACQUIRED"),
        (30, 1, "ACQUIRE"),
        (50, 0, "RELEASE"),
        (50, 1, "ACQUIRED"),
        (70, 1, "RELEASE"),
        (90, 0, "ACQUIRED"),
        (95, 0, "RELEASE"),
    ]
    assert Sections(found).objects()["fat"].tolist() == [1]
    assert held(found) == [[0, 10, 50], [1, 50, 70], [0, 90, 95]]


@pytest.mark.parametrize("days", [0, 3.3, 100])
def test_times_go_on_where_48_bits_end(days: float, tmp_path: Path) -> None:
    """A record has the last 48 bits; the last mark says which time is meant."""
    first = int(days * 86_400 * 10**9)
    times = [first, first + 2**47 - 1, first + 2**47 + 10, first + 2**48 + 5]
    blocks = []
    for number, time in enumerate(times):
        mark = max(0, time - (2**46 if number % 2 else -(2**46) if number else 0))
        event = [(time % 2**48, Kind.RELEASE if number % 2 else ACQUIRED, 7)]
        if mark:
            blocks.append(block(MARK, mark.to_bytes(8, "little")))
        blocks.append(records(A, event))
    found = read_events(log(tmp_path, *blocks, lines(DONE, END)))
    assert found.events["cycle"].tolist() == times


def test_a_release_by_another_thread_ends_the_section_of_who_has_the_lock(tmp_path: Path) -> None:
    mine = [(time, ACQUIRED, 7) for time in (10, 30, 50)]
    mine += [(55, Kind.WAIT, 7), (65, Kind.WAITED, 7), (70, Kind.RELEASE, 7)]
    others = [(20, Kind.RELEASE, 7), (40, Kind.RELEASE, 7), (80, ACQUIRED, 7)]
    third = [(90, Kind.RELEASE, 7), (100, Kind.RELEASE, 8), (110, Kind.NOTHING_DONE, 8)]
    found = read(tmp_path, mine, others, third, head=HEAD | {"log": "pthread"})
    assert found.released_by_others == 3
    assert held(found) == [[0, 10, 20], [0, 30, 40], [0, 50, 55], [0, 65, 70], [1, 80, 90]]
    assert pattern(found).nested == 0
    # A Java monitor is not released by others.
    assert read(tmp_path, mine, others, third).released_by_others == 0


def test_who_came_first_need_not_be_first(tmp_path: Path) -> None:
    """The later one of two waiting threads has the lock first: sections exclude each other."""
    found = read(tmp_path, pair(10, 50), pair(20, 80), pair(30, 60))
    had = [(cycle, thread) for cycle, thread, kind in told(found) if kind == "ACQUIRED"]
    assert had == [(10, 0), (50, 2), (60, 1)]


def test_nested_ones_and_waits_are_in_the_section_of_their_thread(tmp_path: Path) -> None:
    mine = [(10, ACQUIRED, 7), (20, ACQUIRED, 7), (30, Kind.WAIT, 7)]
    mine += [(70, Kind.WAITED, 7), (80, Kind.RELEASE, 7), (90, Kind.RELEASE, 7)]
    others = [(25, ACQUIRED, 7), (40, Kind.NOTIFY_ALL, 7), (60, Kind.RELEASE, 7)]
    found = read(tmp_path, mine, others)
    assert held(found) == [[0, 10, 30], [1, 30, 60], [0, 70, 90]]
    assert pattern(found).nested == pytest.approx(1 / 3)


def test_virtual_threads_are_told_apart_in_the_buffer_of_their_carrier(tmp_path: Path) -> None:
    high = 3 << 32 | 5  # an id of more than 32 bits
    blocks = [
        records(A, [(10, Kind.THREAD, 40), (11, Kind.ACQUIRED, 7), (12, Kind.RELEASE, 7)]),
        records(A, [(13, Kind.THREAD, high & 0xFFFFFFFF)], site=high >> 32),
        records(A, [(14, Kind.ACQUIRED, 7), (15, Kind.RELEASE, 7)]),
        records(A, [(16, Kind.THREAD, 0), (17, Kind.ACQUIRED, 7)]),
    ]
    found = read_events(log(tmp_path, *blocks, lines(DONE, END)))
    assert found.events["thread"].nunique() == 3 and len(found.events) == 5


def test_a_log_without_an_end_is_read_as_far_as_all_have_told(tmp_path: Path) -> None:
    mark = block(MARK, (25).to_bytes(8, "little"))
    path = log(tmp_path, records(A, pair(10, 20)), mark, records(A, pair(30, 40)))
    whole = path.read_bytes()
    for cut in (0, 1, 40):  # the last block, or a part of it
        path.write_bytes(whole[: len(whole) - cut])
        found = read_events(path)
        assert len(found.events) == 2 and found.totals is not None and found.totals.end == "cut"
    path.write_bytes(whole + lines(DONE, END | {"end": "limit"}))
    found = read_events(path)
    assert len(found.events) == 4 and found.totals is not None and found.totals.end == "limit"
    assert (found.totals.seconds, found.totals.cpu_seconds) == (5e-6, 4e-6)
    add_line(path, {"cpu_plain": 2.5})
    kept = read_events(path).totals
    assert kept is not None and kept.cpu_plain == 2.5


def test_two_objects_of_one_hash_are_counted_and_no_mistake(tmp_path: Path) -> None:
    """Two threads seem to hold one object: without times of beginning that shows."""
    mine = [(10, Kind.ACQUIRED, 7), (50, Kind.RELEASE, 7)]
    others = [(30, Kind.ACQUIRED, 7), (40, Kind.RELEASE, 7)]
    assert Sections(read(tmp_path, mine, others)).shared_hashes == 1
    assert Sections(read(tmp_path, mine, head=EXACT)).shared_hashes == 0


def test_expected_collisions_are_those_of_chance(tmp_path: Path) -> None:
    many = [(time, Kind.ACQUIRED, time) for time in range(1, 65_537)]
    found = read(tmp_path, many)
    assert found.expected_collisions == pytest.approx(65_536 * 65_535 / 2 / 2**31)


def site(number: int, type_: str, line: int, jdk: bool) -> dict[str, object]:
    place = {"class": type_, "method": "m", "file": "F.java", "line": line}
    return {"site": number, **place, "what": "block", "jdk": jdk}


def test_a_place_in_the_jdk_is_given_to_the_lines_that_call_it(tmp_path: Path) -> None:
    """Three of four stacks come from line 5: so do three of four acquisitions."""
    pairs = [(time, kind, 7) for time in range(0, 800, 2) for kind in (2, 3)]
    taken = records(A, [(time + kind - 1, kind, one) for time, kind, one in pairs], site=1)
    own = records(B, [(9_000, Kind.ACQUIRED, 8), (9_001, Kind.RELEASE, 8)], site=2)
    sampled = [
        records(A, [(10_000, Kind.ACQUIRED, 7)], 1) + records(A, [(10_000, Kind.STACK, 7)], stack)
        for stack in (1, 1, 1, 2)
    ]
    texts = lines(
        TEXT,
        site(1, "java.util.Vector", 99, True),
        site(2, "app.Main", 12, False),
        {"stack": 1, "frames": ["java.util.Vector.m:99", "app.Main.x:5", "app.Main.main:1"]},
        {"stack": 2, "frames": ["java.util.Vector.m:99", "app.Other.y:6"]},
    )
    table = sites(read_events(log(tmp_path, texts, taken, own, *sampled, lines(DONE, END))))
    rows = table.set_index("line")
    assert rows.loc["app.Main.x:5", "acquisitions"] == pytest.approx(404 * 3 / 4)
    assert rows.loc["app.Other.y:6", "acquisitions"] == pytest.approx(404 / 4)
    assert rows.loc["app.Other.y:6", "through"] == "java.util.Vector.m"
    assert rows.loc["app.Main.m:12", "acquisitions"] == 1
    assert table["line"].iloc[0] == "app.Main.x:5"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not a log of lock events"),
        (b"SQLite format 3\0" * 10, "not a log of lock events"),
        (ENGINE_HEADER.pack(MAGIC, 1, 2000, 0, 7, 0), "version 1"),
        (HEADER.pack(MAGIC, 3, 0), "version 3"),
        (HEADER.pack(MAGIC, VERSION, 0), "damaged"),  # it does not say which clock
        (content(head=HEAD | {"clock_mhz": 0}), "damaged"),
        (content(records(A, [(1, 15, 7)]), lines(DONE, END)), "damaged"),
        (content(records(A, [(5, 2, 7), (4, 3, 7)]), lines(DONE, END), head=EXACT), "damaged"),
    ],
)
def test_a_file_that_is_no_log_is_one_message(content: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(LockcrossError, match=words) as error:
        read_events(path)
    assert error.value.exit_code == 2 and str(path) in error.value.message


@pytest.mark.parametrize(
    "content", [b"", b"LCEVENTS" * 5, ENGINE_HEADER.pack(MAGIC, 1, 9, 0, 0, 1)]
)
def test_what_no_engine_has_left_whole_is_not_converted(content: bytes, tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    raw.write_bytes(content)
    with pytest.raises(LockcrossError, match=r"no engine's|not whole"):
        convert(raw, tmp_path / "log")
