"""Runs on SST, from outputs made by hand (outputs/): metrics, and a cause for every failure."""

import json
from pathlib import Path
from typing import Any

import pytest

from sweeps.engines.base import Limits, ProcessResult, RunOutcome
from sweeps.engines.qemu.engine import REPORT
from sweeps.engines.sst import output as sst_output
from tests.engines.outcomes import ENDED, OUTPUTS, ended
from tests.fakes.cells import cell_of

FILES = {
    "record": sst_output.RECORD,
    "engine": REPORT,
    "guest": sst_output.GUEST_OUT,
    "error": sst_output.GUEST_ERR,
    "statistics": sst_output.STATISTICS,
}
GOOD = {key: (OUTPUTS / name).read_text("utf-8") for key, name in FILES.items()}


def read(folder: Path, end: ProcessResult = ENDED, **changed: str | None) -> RunOutcome:
    """Read a good run, except the changes of its files; None: it has not left it."""
    for key, text in (GOOD | changed).items():
        if text is not None:
            (folder / FILES[key]).write_text(text)
    cell = cell_of(engine="sst", machine="sst_mesh16")
    return sst_output.read(cell, Limits(instructions=5), end, folder, {"sst_topology": "mesh"})


def but(file: str, **changed: object) -> str:
    """A file of a good run, with other values."""
    return json.dumps(json.loads(GOOD[file]) | changed)


def incomplete(cause: str, guest_exit: int = 0, **changed: str) -> dict[str, str]:
    """Files of a run that SST has not completed."""
    record = but("record", complete=False, cause=cause, guest_exit=guest_exit)
    return {"record": record, **changed}


def test_a_good_run_is_read(tmp_path: Path) -> None:
    found = read(tmp_path)
    assert found.cause == ""
    values = {name: value for name, (value, _) in found.metrics.items()}
    assert values["cycles_per_pair"] == 60 and values["holds"] == 3
    links = [values[f"link_{name}"] for name in ("requests", "touches", "turns", "late")]
    assert links == [5, 6, 7, 0]
    assert values["coherence_l1_Inv"] == 3 and values["coherence_slice_GetX"] == 4
    assert "coherence_l1_FetchInv" not in values  # none occurred
    assert values["home_occupancy"] == pytest.approx(40 / 600)
    assert values["home_occupancy_most"] == pytest.approx(30 / 600)
    assert (values["home_events"], values["home_events_most"]) == (10, 8)
    assert (values["memory_reads"], values["memory_writes"]) == (3, 1)
    assert found.resolved["sst_version"] == "14.1.0" and found.resolved["sst_topology"] == "mesh"
    assert found.resolved["width"] == 1


@pytest.mark.parametrize(
    ("changed", "cause"),
    [
        ({"end": ended(-9, exceeded="CPU time limit: 9 s")}, "CPU time limit: 9 s"),
        ({"end": ended(-9), "record": None}, "SST was killed by SIGKILL"),
        (
            {"end": ended(stdout="Event queue empty\n"), "record": None},
            "SST ended without a record (exit code 0): Event queue empty",
        ),
        (incomplete("deadlock: core 1 waits"), "deadlock: core 1 waits"),
        (incomplete(""), "not complete, and does not say why"),
        ({"end": ended(1, stderr="Error: no library")}, "SST failed (exit code 1): Error"),
        ({"record": "{"}, "SST's record is not JSON"),
        ({"record": but("record", more=1)}, "SST's record does not match the schema"),
        (incomplete("", -11), "the guest was killed by SIGSEGV"),
        (incomplete("x", 3, error="lockcross-timing: a limit; core 0"), "a limit; core 0"),
        (incomplete("x", 4, error="lockcross-timing: z"), "engine failure: lockcross-timing: z"),
        (incomplete("x", 2, error="threads=x: none"), "arguments refused: threads=x: none"),
        (incomplete("", 1, guest=but("guest", ok=False, error="z")), "check failed: z"),
        ({"guest": but("guest", lock="tasuki")}, "to another run"),
        ({"guest": None}, "workload output is not JSON"),
        ({"engine": None}, "engine output is missing"),
        ({"engine": but("engine", complete=False)}, "engine output is incomplete"),
        ({"engine": but("engine", memory_system=None)}, "what it asked of SST"),
        ({"statistics": None}, "SST's statistics are missing"),
        ({"statistics": GOOD["statistics"].partition("\n")[0]}, "SST's statistics are empty"),
        ({"statistics": GOOD["statistics"] + "l1_0, x\n"}, "line 13 is not"),
    ],
)
def test_a_bad_run_says_why(tmp_path: Path, changed: dict[str, Any], cause: str) -> None:
    found = read(tmp_path, **changed)
    assert cause in found.cause
    assert not found.metrics
