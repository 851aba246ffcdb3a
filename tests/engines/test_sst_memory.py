"""The memory systems of sst-configs/ on a real SST; skipped where there is none."""

import csv
import json
import random
import subprocess
import time
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from results.errors import LockcrossError
from sweeps.engines.sst.find import SCRIPT, element, find_sst
from tests.engines.sst_link import answers, document, gone, peer, record

try:
    SST = find_sst()
except LockcrossError as error:
    pytest.skip(error.message, allow_module_level=True)

TOPOLOGIES = ("bus", "ring", "mesh")


def start(folder: Path, given: dict[str, Any]) -> subprocess.Popen[str]:
    folder.mkdir(exist_ok=True)
    (folder / "sst.json").write_text(json.dumps(given), "utf-8")
    command = [SST.path, f"--add-lib-path={element(SST)}", str(SCRIPT), "--", "sst.json"]
    return subprocess.Popen(
        command, cwd=folder, env={}, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def run(folder: Path, given: dict[str, Any]) -> tuple[int, str]:
    """Exit code and standard error of SST. Nothing is left of the run."""
    with start(folder, given) as started:
        errors = started.communicate(timeout=120)[1]
    assert gone(folder)
    return started.returncode, errors


def latencies(folder: Path, *script: str, **changed: Any) -> list[int]:
    """Cycles of a script's requests, in the order in which they were made."""
    code, errors = run(folder, document(peer("script", *script), **changed))
    assert code == 0, errors
    assert record(folder)["complete"] is True
    found = sorted(answers(folder), key=lambda line: int(line[3]))
    return [int(line[4]) for line in found]


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "sst-statistics.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_latencies_on_a_bus_are_the_sums_of_their_parts(tmp_path: Path) -> None:
    memory, hit, transfer, shared, upgrade, dirty = latencies(
        tmp_path, "0,r,9", "0,r,9", "1,r,9,1000", "2,r,9,2000", "0,w,9,3000", "1,r,9,4000"
    )
    path = 5  # cycles to the shared cache and back: lookups in the L1, the bus
    assert hit == 2  # lat_l1
    assert shared == 12 + path  # lat_slice
    assert memory == 120 + 12 + path + 3  # lat_memory_access
    # Other L1s are asked on the way: for the line, or to give it up.
    assert transfer == dirty == 12 + path + 5
    assert upgrade == 12 + path + 6


def test_bus_latency_is_of_each_transfer(tmp_path: Path) -> None:
    script = ("0,r,9", "1,r,9,1000", "2,r,9,2000")
    base = latencies(tmp_path, *script)
    slow = latencies(tmp_path / "slow", *script, bus_latency=11)
    # To the shared cache and back; where another L1 is asked, to it and back too.
    assert [b - a for a, b in zip(base, slow, strict=True)] == [20, 40, 20]


def test_a_touching_write_makes_a_line_the_cores_own(tmp_path: Path) -> None:
    script = ("0,r,9", "0,t,9,100", "0,u,9,100", "1,r,9,1000", "0,u,9,2000", "0,r,20,1000")
    latencies(tmp_path, *script)
    found = {
        (row["StatisticName"], row["StatisticSubId"]): int(row["Sum.u64"])
        for row in rows(tmp_path)
        if row["ComponentName"] == "frontend"
    }
    assert found["touches", "core0"] == 3
    assert found["touches_missed", "core0"] == 1  # the last: core 1 has the line, too


@pytest.mark.parametrize("mhz", [1000, 2300, 3000, 5200])
def test_a_clock_changes_no_cycles(tmp_path: Path, mhz: int) -> None:
    found = latencies(tmp_path, "0,r,9", "0,r,9", "1,r,9,1000", "2,r,9,2000", clock_mhz=mhz)
    assert found == [140, 2, 22, 17]


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_twice_the_same_cycles(tmp_path: Path, topology: str) -> None:
    given = document(peer("contend", 50), topology)
    records, counts = [], []
    for name in ("a", "b"):
        assert run(tmp_path / name, given)[0] == 0
        records.append(record(tmp_path / name))
        counts.append((tmp_path / name / "sst-statistics.csv").read_text("utf-8"))
    assert records[0] == records[1]
    assert records[0]["requests"] == 4 * 50
    assert counts[0] == counts[1]


@pytest.mark.parametrize("topology", ["ring", "mesh"])
def test_what_is_farther_takes_longer(tmp_path: Path, topology: str) -> None:
    # Line 0 is at the slice of node 2 (ring: node 0). Core 1 takes it from core 0.
    def taken(place: list[int], **changed: Any) -> int:
        folder = Path(mkdtemp(dir=tmp_path))
        changed |= {"place": place, "columns": 8 if topology == "ring" else 4}
        script = ("0,w,0", "1,r,0,1000")
        return latencies(folder, *script, topology=topology, cores=2, **changed)[1]

    near, far = taken([0, 1]), taken([0, 4 if topology == "ring" else 15])
    assert far > near
    assert taken([0, 1], lat_link=5) > near
    assert taken([0, 1], lat_router=5) > near


def test_a_hop_takes_its_link_and_its_router(tmp_path: Path) -> None:
    # Cores at the corner, and three and six hops from it, where the line is; it is shared already.
    script = ("0,r,0", "1,r,0,1000", "2,r,0,2000", "3,r,0,3000")

    def taken(**changed: int) -> int:
        folder, place = Path(mkdtemp(dir=tmp_path)), [0, 1, 3, 15]
        found = latencies(folder, *script, topology="mesh", slices=16, place=place, **changed)
        return found[3] - found[2]

    assert taken() == 2 * 3 * (1 + 1)
    assert taken(lat_link=4) == 2 * 3 * (4 + 1)
    assert taken(lat_router=3) == 2 * 3 * (1 + 3)


def test_narrow_links_make_queues(tmp_path: Path) -> None:
    # All cores read at once, each its own line, from one slice.
    script = [f"{core},r,{core}" for core in range(16)]
    mesh = {"topology": "mesh", "cores": 16, "slices": 1}
    wide, narrow = (
        latencies(tmp_path / str(width), *script, link_bytes=width, **mesh) for width in (72, 8)
    )
    assert max(narrow) > max(wide) + 15 * 4


def test_statistics_count_what_was_done(tmp_path: Path) -> None:
    latencies(tmp_path, "0,w,0", "1,w,0,1000", "0,r,0,2000", topology="mesh", cores=2)
    table = rows(tmp_path)

    def total(component: str, name: str, column: str = "Sum.u64") -> int:
        return sum(
            int(row[column])
            for row in table
            if row["ComponentName"].startswith(component) and row["StatisticName"] == name
        )

    fetched = sum(total("memory_", f"requests_received_{kind}") for kind in ("GetS", "GetX"))
    assert fetched == total("directory_", "GetX_recv")
    assert total("l1_", "Write_recv") == 2
    assert total("slice_", "GetX_recv") == 2
    assert total("slice_", "GetS_recv") == 1
    assert total("slice_", "MSHR_occupancy") > 0
    # What interfaces send is what routers deliver, and their bytes are at most what links carry.
    messages = sum(total(kind, "send_bit_count", "Count.u64") for kind in ("l1_", "slice_"))
    assert messages >= 10
    assert total("router_", "send_packet_count") >= messages


@pytest.mark.parametrize(
    ("guest", "changed", "code", "cause"),
    [
        (("fail", 3), {}, 3, "the plugin failed: the peer was told to fail"),
        (("idle", 0), {}, 5, "deadlock: in cycle 0 every core waits, and no request is open"),
        (("leave", 3), {}, 3, "the guest ended in its turn: exit code 9"),
        (("script", "9,r,0"), {}, 4, "by core 9 in cycle 0: there are 4 cores"),
        (("contend", 3), {"oldest_request": 10}, 5, "deadlock in the memory system"),
    ],
)
def test_failures_have_their_cause(
    tmp_path: Path, guest: tuple[object, ...], changed: dict[str, Any], code: int, cause: str
) -> None:
    found, errors = run(tmp_path, document(peer(*guest), **changed))
    assert found == code
    assert f"lockcross: {record(tmp_path)['cause']}" in errors
    assert cause in record(tmp_path)["cause"]
    assert record(tmp_path)["complete"] is False


@pytest.mark.parametrize("turn", random.Random(1).sample(range(3000), 5))
def test_a_guest_that_is_killed_is_a_failed_run(tmp_path: Path, turn: int) -> None:
    code, _ = run(tmp_path, document(peer("die", turn), "bus"))
    assert code == 3
    said = record(tmp_path)
    assert (said["cause"], said["guest_exit"]) == ("the guest ended in its turn: signal 9", -9)


@pytest.mark.parametrize("seed", range(5))
def test_a_killed_simulator_leaves_no_guest_and_no_record(tmp_path: Path, seed: int) -> None:
    with start(tmp_path, document(peer("contend", 10**9))) as started:
        time.sleep(random.Random(seed).uniform(0.3, 2.0))
        started.kill()
    assert gone(tmp_path)
    assert not (tmp_path / "sst-record.json").exists()


def test_a_simulator_that_is_told_to_end_says_so(tmp_path: Path) -> None:
    with start(tmp_path, document(peer("contend", 10**9))) as started:
        while not (tmp_path / "guest.out").exists():
            time.sleep(0.05)
        time.sleep(0.3)
        started.terminate()
    assert gone(tmp_path)
    assert record(tmp_path)["complete"] is False
    assert "or a signal" in record(tmp_path)["cause"]


@pytest.mark.parametrize(
    ("topology", "changed", "message"),
    [
        ("star", {}, "sst.topology: 'star' is none of bus, ring, mesh"),
        ("bus", {"slices": 2}, "sst.slices: 2, but a bus has one shared cache"),
        ("bus", {"more": {"columns": 4}}, "sst (bus): columns cannot be used"),
        ("bus", {"place": [0, 1, 2, 3]}, "place: cores on a bus have no place"),
        ("bus", {"speed": 3}, "sst.json: speed cannot be used"),
        ("bus", {"line": 48}, "line: 48 bytes, a power of two is needed"),
        ("bus", {"l1_size": 1000}, "l1_size: 1000 bytes are no whole sets of 8 x 64 bytes"),
        ("bus", {"lat_l1": 1}, "lat_l1: 1, a whole number from 2 is needed"),
        ("ring", {"rows": 2}, "sst.rows: 2, but a ring has one row"),
        ("ring", {"cores": 5}, "cores: 5, but the ring has 4 nodes"),
        ("mesh", {"cores": 17}, "cores: 17, but the mesh has 16 nodes"),
        ("mesh", {"slices": 17}, "sst.slices: 17, but it has 16 nodes for them"),
        ("mesh", {"memory_controllers": 13}, "sst.memory_controllers: 13, but it has 12 nodes for"),
        ("mesh", {"place": [0, 1, 2]}, "place: 3 nodes for 4 cores"),
        ("mesh", {"place": [0, 1, 2, 16]}, "place: 16 is no node from 0 to 15"),
        ("mesh", {"place": [0, 1, 1, 2]}, "place: two cores at node 1"),
        ("mesh", {"lat_link": 0}, "sst.lat_link: 0, a whole number from 1 is needed"),
    ],
)
def test_what_cannot_be_built_is_refused_in_one_line(
    tmp_path: Path, topology: str, changed: dict[str, Any], message: str
) -> None:
    code, errors = run(tmp_path, document(peer("contend", 1), topology, **changed))
    assert code == 2
    assert errors.startswith(f"lockcross-sst: {message}")
    assert errors.count("\n") == 1
    assert not (tmp_path / "guest.out").exists()
