"""The work of a thread between two sections: logs with known gaps, then programs that really
ran."""

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeps.lock_logs.gaps import added, gaps_of, parts_of, shares_within, works_of
from sweeps.lock_logs.log import DONE, EventLog, Kind, add_line, read_events
from tests.commands import lockcross
from tests.lock_logs.test_locality import recorded
from tests.lock_logs.test_log import ACQUIRED, END, HEAD, A, B, lines, log, records

# Nanoseconds, of A: gaps of 40, 5 (inside another section), 100 and 30, of which it is parked for
# 900 and waits for a lock for 500 more; sections of 10, 5, 15, 20.
OF_A = [
    (10, ACQUIRED, 7), (20, Kind.RELEASE, 7),
    (60, ACQUIRED, 7), (65, ACQUIRED, 8), (80, Kind.RELEASE, 8), (85, Kind.RELEASE, 7),
    (145, Kind.PARK, 0), (1045, Kind.PARKED, 0), (1085, ACQUIRED, 7), (1105, Kind.RELEASE, 7),
    (1135, ACQUIRED, 9), (1655, Kind.RELEASE, 9),
]  # fmt: skip
OF_B = [(1100, ACQUIRED, 9), (1635, Kind.RELEASE, 9)]  # what A waits for from 1135 on
RECORDING = {"recording_ns": 50, "gap_ns": [3, 25, 95], "section_ns": [0, 1, 7]}


def some(folder: Path, sample: int = 1) -> Path:
    blocks = records(A, OF_A), records(B, OF_B), lines(DONE, END)
    return log(folder, *blocks, head=HEAD | {"sample": sample})


def gaps(found: EventLog) -> list[list[float]]:
    told = gaps_of(found)
    return [list(values) for values in (told.gap, told.section, told.work)]


def test_gaps_are_what_a_thread_does_itself(tmp_path: Path) -> None:
    gap, section, work = gaps(read_events(some(tmp_path)))
    assert gap == [40, 5, 100, 30]
    assert section == [10, 5, 15, 20]
    assert work == [50, 5, 120, 50]  # the end of the outer section is in the third
    # Between objects of a sample, nothing is known.
    assert gaps(read_events(some(tmp_path, sample=4))) == [[], [], []]


def test_the_command_shows_shares_as_far_as_recording_leaves_them_open(tmp_path: Path) -> None:
    path = some(tmp_path)

    def shares(name: str) -> list[float | None]:
        shown = lockcross("locality --format csv", str(path)).stdout
        rows = csv.DictReader(shown.splitlines())
        row = next(one for one in rows if one["Within"] == "10 ns")
        told = [row[f"{name}{end}"] for end in ("", "_least", "_most")]
        return [float(share) if share else None for share in told]

    assert shares("Between_two_sections") == [None, 0.25, 1.0]
    add_line(path, RECORDING)
    # Within 35, 13 and 105, and 11, 10 and 17, as they were recorded.
    assert shares("Between_two_sections") == [0.5, 0.25, 1.0]
    assert shares("In_a_section") == [0.5, 0.5, 0.75]
    assert "50.0% (25.0% to 100.0%)" in lockcross("locality", str(path)).stdout


def test_what_recording_adds_is_that_of_a_loop_that_only_locks() -> None:
    loop = np.arange(101.0)
    least, middle, most = added(loop)
    assert (least, middle, most) == (5, 50, 95) and added(np.empty(0)) == []
    shares = shares_within(loop + 200, 200, (least, middle, most))
    assert shares == pytest.approx([6 / 101, 51 / 101, 96 / 101])


@given(st.lists(st.floats(0, 100), min_size=1))
def test_amounts_stand_for_values_with_the_same_mean(values: list[float]) -> None:
    amounts = (0, 10, 40, 100)
    parts = parts_of(np.array(values), amounts)
    assert sum(parts) == 1 and min(parts) >= 0
    mean = sum(float(part) * amount for part, amount in zip(parts, amounts, strict=True))
    assert mean == pytest.approx(np.mean(values), abs=2)


def test_work_is_without_the_middle_of_what_recording_adds(tmp_path: Path) -> None:
    path = some(tmp_path)
    assert works_of(read_events(path)) is None
    add_line(path, RECORDING)
    works = works_of(read_events(path))
    assert works is not None and works.tolist() == [24, 0, 94, 24]


def test_the_work_of_a_simulated_program_comes_out(tmp_path: Path) -> None:
    """About 1,000 cycles between two sections, and 300 in one."""
    keys = "iterations=50 critical=300 think=1000"
    found = recorded(tmp_path, f"--lock thin --workload threads --threads 1 {keys}")
    cycles = [[value * found.clock_mhz / 1e3 for value in each] for each in gaps(found)]
    gap, section, work = (sorted(each)[len(each) // 2] for each in cycles)
    assert gap == pytest.approx(1_000, rel=0.1) and section == pytest.approx(300, rel=0.1)
    assert work == pytest.approx(gap + section, rel=0.01)
