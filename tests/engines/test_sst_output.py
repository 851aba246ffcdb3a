"""Results of runs on SST, from outputs made by hand: metrics, and a cause for every failure."""

import json
from pathlib import Path

import pytest

from sweeps.engines.base import Limits, ProcessResult
from sweeps.engines.qemu.engine import REPORT
from sweeps.engines.sst import output as sst_output
from sweeps.model.cell import Cell
from tests.engines.outcomes import GUEST

CELL = Cell(
    engine="sst",
    machine="sst_mesh16",
    isa="x86_64",
    flavour="lock",
    lock="thin",
    workload="sync",
    parameters={"iterations": 10},
)
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
ENDED = ProcessResult(0, "", "", exceeded="", duration_s=1.0)


def write(folder: Path, **changed: object) -> None:
    """Write the files of a good run, except the changes; None: nothing."""
    files: dict[str, object] = {
        "record": RECORD,
        "engine": ENGINE,
        "guest": GUEST,
        "error": "",
        "statistics": STATISTICS,
    }
    names = {
        "record": sst_output.RECORD,
        "engine": REPORT,
        "guest": sst_output.GUEST_OUT,
        "error": sst_output.GUEST_ERR,
        "statistics": "sst-statistics.csv",
    }
    for key, content in {**files, **changed}.items():
        if content is not None:
            text = content if isinstance(content, str) else json.dumps(content)
            (folder / names[key]).write_text(text)


def test_a_good_run_is_read(tmp_path: Path) -> None:
    write(tmp_path)
    found = sst_output.read(CELL, Limits(), ENDED, tmp_path, {"sst_topology": "mesh"})
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


def incomplete(cause: str, **more: object) -> dict[str, object]:
    return {**RECORD, "complete": False, "cause": cause, **more}


@pytest.mark.parametrize(
    ("end", "changed", "cause"),
    [
        (ProcessResult(-9, "", "", "CPU time limit: 9 s", 1.0), {}, "CPU time limit: 9 s"),
        (ProcessResult(-9, "", "", "", 1.0), {"record": None}, "SST was killed by SIGKILL"),
        (
            ProcessResult(0, "Event queue empty\n", "", "", 1.0),
            {"record": None},
            "SST ended without a record (exit code 0): Event queue empty",
        ),
        (ENDED, {"record": incomplete("deadlock: core 1 waits")}, "deadlock: core 1 waits"),
        (ENDED, {"record": incomplete("")}, "not complete, and does not say why"),
        (ProcessResult(1, "", "Error: no library", "", 1.0), {}, "SST failed (exit code 1): Error"),
        (ENDED, {"record": "{"}, "SST's record is not JSON"),
        (ENDED, {"record": {**RECORD, "more": 1}}, "SST's record does not match the schema"),
        (
            ENDED,
            {"record": incomplete("", guest_exit=-11)},
            "the guest was killed by SIGSEGV",
        ),
        (
            ENDED,
            {"record": incomplete("x", guest_exit=3), "error": "lockcross-timing: a limit; core 0"},
            "a limit; core 0",
        ),
        (
            ENDED,
            {"record": incomplete("x", guest_exit=4), "error": "lockcross-timing: lost"},
            "engine failure: lockcross-timing: lost",
        ),
        (
            ENDED,
            {"record": incomplete("x", guest_exit=2), "error": "threads=x: no number"},
            "arguments refused: threads=x: no number",
        ),
        (
            ENDED,
            {"record": incomplete("", guest_exit=1), "guest": {**GUEST, "ok": False, "error": "z"}},
            "check failed: z",
        ),
        (ENDED, {"guest": {**GUEST, "lock": "tasuki"}}, "to another run"),
        (ENDED, {"guest": None}, "workload output is not JSON"),
        (ENDED, {"engine": None}, "engine output is missing"),
        (ENDED, {"engine": {**ENGINE, "complete": False}}, "engine output is incomplete"),
        (ENDED, {"engine": {**ENGINE, "memory_system": None}}, "what it asked of SST"),
        (ENDED, {"statistics": None}, "SST's statistics are missing"),
        (ENDED, {"statistics": HEADER + "\n"}, "SST's statistics are empty"),
        (ENDED, {"statistics": csv(("l1_0", "Inv_recv", "", 2, 2)) + "l1_0, x\n"}, "line 3 is not"),
    ],
)
def test_a_bad_run_says_why(
    tmp_path: Path, end: ProcessResult, changed: dict[str, object], cause: str
) -> None:
    write(tmp_path, **changed)
    found = sst_output.read(CELL, Limits(instructions=5), end, tmp_path, {})
    assert cause in found.cause
    assert not found.metrics
