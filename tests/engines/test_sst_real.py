"""The SST engine on a real SST; skipped where there is none."""

import json
import subprocess
from pathlib import Path

import pytest

from results.errors import LockcrossError
from results.store.store import Store
from sweeps.engines.base import Limits, load_engine
from sweeps.engines.sst.engine import INPUT, probe
from sweeps.engines.sst.find import find_sst
from sweeps.model.cell import Cell
from sweeps.model.isa import ISAS
from sweeps.model.machine import load_machine
from sweeps.programs import TARGETS
from sweeps.run.runner import Runner
from sweeps.support.tools import Probe
from tests.engines.outcomes import metrics_of as run
from tests.engines.outcomes import set_latencies_are_added
from tests.engines.sst_link import answers, peer
from tests.fakes.cells import cell_of

try:
    SST = find_sst()
except LockcrossError as error:
    pytest.skip(error.message, allow_module_level=True)


def threads(engine: str, machine: str, count: int, **more: object) -> Cell:
    """A cell of threads on one lock."""
    keys = {"iterations": 20, "critical": 20, "think": 100}
    given = {"lock": "tasuki", "workload": "threads", "threads": count, "parameters": keys}
    return cell_of(engine=engine, machine=machine, **given | more)


@pytest.mark.parametrize("flavour", list(TARGETS))
def test_the_litmus_is_passed(flavour: str) -> None:
    assert probe(SST, flavour) == Probe("", "")


def test_the_bus_is_what_its_machine_says_of_it(tmp_path: Path) -> None:
    """[memory] of sst_bus, which the embedded engine uses, and the latencies of its [sst]."""
    one = threads("sst", "sst_bus", 4)
    (text,) = load_engine("sst").inputs(one, Path("/prog"), Limits()).values()
    script = "0,r,9 1,r,9,1000 0,w,9,3000 1,r,9,3000 2,r,9,5000 3,w,9,6000 2,w,9,2000"
    given = json.loads(text) | {"guest": peer("script", *script.split())}
    (tmp_path / INPUT).write_text(json.dumps(given), encoding="utf-8")
    subprocess.run(
        load_engine("sst").command(one, Path("/prog"), Limits()), cwd=tmp_path, env={}, check=True
    )
    found = sorted(answers(tmp_path), key=lambda line: int(line[3]))
    memory, clean, upgrade, dirty, shared, invalidating, taken = (int(line[4]) for line in found)
    figures = {name: one.number for name, one in load_machine("sst_bus").figures("x86_64").items()}
    hit = figures["lat_l1"]
    assert memory - hit == figures["lat_memory"]
    assert shared - hit == figures["lat_l2"]
    assert {clean - hit, dirty - hit, taken - hit} == {figures["lat_dirty"]}
    assert upgrade - hit == figures["lat_upgrade"] + figures["lat_invalidate"]
    # A cycle more for each copy but the first, which the embedded engine does not know.
    assert invalidating - hit == figures["lat_l2"] + figures["lat_invalidate"] + 2


@pytest.mark.parametrize("flavour", list(TARGETS))
def test_a_set_latency_is_added(flavour: str) -> None:
    set_latencies_are_added("sst", "sst_bus", flavour)


@pytest.mark.parametrize("isa", list(ISAS))
def test_uncontended_costs_are_those_of_the_embedded_engine(isa: str) -> None:
    cells = [
        threads(engine, "sst_bus", 1, flavour=ISAS[isa].flavours[0], lock="reservation")
        for engine in ("qemu", "sst")
    ]
    ours, theirs = (found["cycles_per_pair"] for found in run(cells))
    assert ours == pytest.approx(theirs, rel=0.02)


@pytest.mark.parametrize("machine", ["sst_bus", "sst_mesh16"])
def test_the_same_run_has_the_same_cycles(machine: str) -> None:
    cells = [threads("sst", machine, 4)]
    assert run(cells) == run(cells)


def test_a_mesh_counts_what_passes_its_network() -> None:
    near, far = run([threads(f"sst/{name}", "sst_mesh16", 2) for name in ("near", "far")])
    for found in (near, far):
        assert found["network_bytes"] >= 8 * found["network_messages"] > 0
        assert 0 < found["home_events_most"] <= found["home_events"]
        assert found["memory_reads"] > 0 and found["coherence_l1_FetchInv"] > 0
    ways = [one["network_link_bytes"] / one["network_bytes"] for one in (near, far)]
    assert ways[0] < ways[1]  # links on the way of a byte


def test_an_instruction_limit_ends_a_run_with_its_cause(tmp_path: Path) -> None:
    cell = threads("sst", "sst_mesh16", 2)
    with Store(tmp_path / "runs.db") as store:
        (found,) = Runner(store, 1, None, Limits(instructions=500)).run([cell], "test")
    assert found.status == "failed" and found.cause.startswith("instruction limit: 500; core 0")
