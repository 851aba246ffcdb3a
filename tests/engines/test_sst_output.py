"""Results of runs on SST, from outputs made by hand: metrics, and a cause for every failure."""

import json
from pathlib import Path
from typing import Any

import pytest

from sweeps.engines.base import Limits, ProcessResult, RunOutcome
from sweeps.engines.qemu.engine import REPORT
from sweeps.engines.sst import output as sst_output
from tests.engines.outcomes import ENDED, GUEST, ended
from tests.fakes.cells import cell_of

LINK = {"requests": 5, "touches": 6, "turns": 7, "late": 0}
CORE = {
    "core": 0,
    "start": 100,
    "cycles": 600,
    "instructions": 300,
    "loads": 40,
    "stores": 30,
    "cas": {"won": 10, "lost": 1},
    "rmw": 0,
    "fences": {"mfence": 2},
    "reservations_lost": 0,
    "charges": {"stop": 0},
    "holds": 3,
    "stalls": {"issue": 300, "memory": 300},
    "coherence": {},
}
ENGINE = {
    "engine": "qemu-timing",
    "version": "0",
    "isa": "x86_64",
    "complete": True,
    "options": {"width": 1},
    "handovers": 0,
    "cores": [CORE],
    "phases": [],
    "memory_system": LINK,
}
RECORD = {
    "complete": True,
    "sst_version": "14.1.0",
    "cycles": 900,
    "guest_exit": 0,
    "requests": 5,
    "turns": 7,
}
HEADER = (
    "ComponentName, StatisticName, StatisticSubId, StatisticType, SimTime, Rank, Sum.u64, "
    "SumSQ.u64, Count.u64, Min.u64, Max.u64"
)


def csv(*rows: tuple[str, str, str, int, int]) -> str:
    """SST's file: component, statistic, sub-id, sum, count."""
    lines = [
        f"{part}, {name}, {sub}, Accumulator, 450000, 0, {total}, 0, {count}, 0, 0"
        for part, name, sub, total, count in rows
    ]
    return "\n".join([HEADER, *lines, ""])


STATISTICS = csv(
    ("l1_0", "Inv_recv", "", 2, 2),
    ("l1_1", "Inv_recv", "", 1, 1),
    ("l1_1", "FetchInv_recv", "", 0, 0),
    ("slice_0", "GetX_recv", "", 4, 4),
    ("slice_0", "MSHR_occupancy", "", 30, 100),
    ("slice_1", "MSHR_occupancy", "", 10, 100),
    ("slice_0", "TotalEventsReceived", "", 8, 8),
    ("slice_1", "TotalEventsReceived", "", 2, 2),
    ("memory_0", "requests_received_GetS", "", 3, 3),
    ("memory_1", "requests_received_PutM", "", 1, 1),
    ("frontend", "read_cycles", "0", 90, 3),
)
GOOD = {
    "record": (sst_output.RECORD, RECORD),
    "engine": (REPORT, ENGINE),
    "guest": (sst_output.GUEST_OUT, GUEST),
    "error": (sst_output.GUEST_ERR, ""),
    "statistics": (sst_output.STATISTICS, STATISTICS),
}


def read(folder: Path, end: ProcessResult = ENDED, **changed: object) -> RunOutcome:
    """Read a good run, except the changes of its files; None: it has not left it."""
    for key, (name, usual) in GOOD.items():
        content = changed.get(key, usual)
        if content is not None:
            text = content if isinstance(content, str) else json.dumps(content)
            (folder / name).write_text(text)
    cell = cell_of(engine="sst", machine="sst_mesh16")
    return sst_output.read(cell, Limits(instructions=5), end, folder, {"sst_topology": "mesh"})


def test_a_good_run_is_read(tmp_path: Path) -> None:
    found = read(tmp_path)
    assert found.cause == ""
    values = {name: value for name, (value, _) in found.metrics.items()}
    assert values["cycles_per_pair"] == 60 and values["holds"] == 3
    assert [values[f"link_{name}"] for name in LINK] == [5, 6, 7, 0]
    assert values["coherence_l1_Inv"] == 3 and values["coherence_slice_GetX"] == 4
    assert "coherence_l1_FetchInv" not in values  # none occurred
    assert values["home_occupancy"] == pytest.approx(40 / 600)
    assert values["home_occupancy_most"] == pytest.approx(30 / 600)
    assert (values["home_events"], values["home_events_most"]) == (10, 8)
    assert (values["memory_reads"], values["memory_writes"]) == (3, 1)
    assert found.resolved["sst_version"] == "14.1.0" and found.resolved["sst_topology"] == "mesh"
    assert found.resolved["width"] == 1


def incomplete(cause: str, guest_exit: int = 0) -> dict[str, object]:
    return RECORD | {"complete": False, "cause": cause, "guest_exit": guest_exit}


@pytest.mark.parametrize(
    ("changed", "cause"),
    [
        ({"end": ended(-9, exceeded="CPU time limit: 9 s")}, "CPU time limit: 9 s"),
        ({"end": ended(-9), "record": None}, "SST was killed by SIGKILL"),
        (
            {"end": ended(stdout="Event queue empty\n"), "record": None},
            "SST ended without a record (exit code 0): Event queue empty",
        ),
        ({"record": incomplete("deadlock: core 1 waits")}, "deadlock: core 1 waits"),
        ({"record": incomplete("")}, "not complete, and does not say why"),
        ({"end": ended(1, stderr="Error: no library")}, "SST failed (exit code 1): Error"),
        ({"record": "{"}, "SST's record is not JSON"),
        ({"record": RECORD | {"more": 1}}, "SST's record does not match the schema"),
        ({"record": incomplete("", -11)}, "the guest was killed by SIGSEGV"),
        (
            {"record": incomplete("x", 3), "error": "lockcross-timing: a limit; core 0"},
            "a limit; core 0",
        ),
        (
            {"record": incomplete("x", 4), "error": "lockcross-timing: lost"},
            "engine failure: lockcross-timing: lost",
        ),
        (
            {"record": incomplete("x", 2), "error": "threads=x: no number"},
            "arguments refused: threads=x: no number",
        ),
        (
            {"record": incomplete("", 1), "guest": GUEST | {"ok": False, "error": "z"}},
            "check failed: z",
        ),
        ({"guest": GUEST | {"lock": "tasuki"}}, "to another run"),
        ({"guest": None}, "workload output is not JSON"),
        ({"engine": None}, "engine output is missing"),
        ({"engine": ENGINE | {"complete": False}}, "engine output is incomplete"),
        ({"engine": ENGINE | {"memory_system": None}}, "what it asked of SST"),
        ({"statistics": None}, "SST's statistics are missing"),
        ({"statistics": HEADER + "\n"}, "SST's statistics are empty"),
        ({"statistics": csv(("l1_0", "Inv_recv", "", 2, 2)) + "l1_0, x\n"}, "line 3 is not"),
    ],
)
def test_a_bad_run_says_why(tmp_path: Path, changed: dict[str, Any], cause: str) -> None:
    found = read(tmp_path, **changed)
    assert cause in found.cause
    assert not found.metrics
