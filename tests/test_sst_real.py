"""The SST engine on a real SST; skipped where there is none."""

import json
import subprocess
from pathlib import Path

import pytest

from results.errors import LockcrossError
from results.model.cell import Cell
from results.store.store import Store
from sweeps.engines import load_engine
from sweeps.engines.base import Limits
from sweeps.engines.sst.command import INPUT, command
from sweeps.engines.sst.find import find_sst
from sweeps.engines.sst.probe import Probe, probe
from sweeps.execution.runner import Runner
from sweeps.model.machine import load_machine
from sweeps.programs.builder import TARGETS
from tests.sst_link import answers, peer

try:
    SST = find_sst()
except LockcrossError as error:
    pytest.skip(error.message, allow_module_level=True)


def threads(engine: str, machine: str, count: int, **more: object) -> Cell:
    """A cell of threads on one lock."""
    given = {
        "engine": engine, "machine": machine, "isa": "x86_64", "flavour": "lock", "lock": "tasuki",
        "workload": "threads", "threads": count,
        "parameters": {"iterations": 20, "critical": 20, "think": 100},
    }  # fmt: skip
    return Cell(**{**given, **more})  # type: ignore[arg-type]


def run(folder: Path, cells: list[Cell], limits: Limits | None = None) -> list[dict[str, float]]:
    """Metrics of cells that must all be good."""
    with Store(folder / "runs.db") as store:
        found = Runner(store, 1, None, limits).run(cells, "test")
    assert [one.cause for one in found] == [""] * len(cells)
    return [one.metrics for one in found]


@pytest.mark.parametrize("flavour", list(TARGETS))
def test_the_litmus_is_passed(flavour: str) -> None:
    assert probe(SST, flavour) == Probe("", "")


def test_the_bus_is_what_its_machine_says_of_it(tmp_path: Path) -> None:
    """[memory] of sst_bus, which the embedded engine uses, and what its [sst] gives."""
    one = threads("sst", "sst_bus", 4)
    (text,) = load_engine("sst").inputs(one, Path("/prog"), Limits()).values()
    script = (
        "0,r,9", "1,r,9,1000", "0,w,9,3000", "1,r,9,3000", "2,r,9,5000", "3,w,9,6000", "2,w,9,2000"
    )  # fmt: skip
    given = json.loads(text) | {"guest": peer("script", *script)}
    (tmp_path / INPUT).write_text(json.dumps(given), encoding="utf-8")
    subprocess.run(command(SST), cwd=tmp_path, env={}, check=True)
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
