"""The gem5 engine on a real gem5; skipped where there is none."""

from dataclasses import replace
from pathlib import Path

import pytest

from results.errors import LockcrossError
from results.store.store import Store
from sweeps.engines.base import Limits
from sweeps.engines.gem5 import engine as gem5_latency
from sweeps.engines.gem5.engine import RUBY
from sweeps.engines.gem5.find import find_gem5, probe
from sweeps.model.cell import Cell
from sweeps.model.isa import ISAS
from sweeps.run.runner import Runner
from tests.engines.outcomes import metrics_of as run
from tests.engines.outcomes import set_latencies_are_added
from tests.fakes.cells import cell_of

MACHINES = {model: f"gem5_{model}" for model in ("timing", "minor", "o3")}


try:
    for isa in ISAS:
        find_gem5(isa)
except LockcrossError as error:
    pytest.skip(error.message, allow_module_level=True)


def uncontended(engine: str, isa: str, lock: str) -> Cell:
    how = {"engine": engine, "machine": "gem5_timing", "flavour": ISAS[isa].flavours[0]}
    return cell_of(lock, **how, parameters={"iterations": 2000})


def contended(model: str, isa: str, lock: str) -> Cell:
    how = {"engine": f"gem5/{model}", "machine": MACHINES[model], "flavour": ISAS[isa].flavours[0]}
    keys = {"iterations": 20, "critical": 5, "think": 5}
    return cell_of(lock, "threads", **how, threads=2, parameters=keys)


@pytest.mark.parametrize("isa", list(ISAS))
@pytest.mark.parametrize("model", ["timing", "minor", "o3"])
def test_the_probe_tells_what_holds(isa: str, model: str) -> None:
    found = probe(find_gem5(isa), isa, model)
    power = isa == "ppc64le"
    assert bool(found.alone) == (power and model == "o3")
    assert bool(found.together) == power


@pytest.mark.parametrize("isa", list(ISAS))
@pytest.mark.parametrize("lock", ["nop", "tasuki", "asym_tasuki"])
def test_the_embedded_engine_costs_what_timing_simple_does(isa: str, lock: str) -> None:
    cells = [uncontended(engine, isa, lock) for engine in ("qemu", "gem5/timing")]
    ours, theirs = (found["cycles_per_pair"] for found in run(cells))
    assert ours == pytest.approx(theirs, rel=0.03)


@pytest.mark.parametrize(("isa", "model"), list(gem5_latency.ATOMIC))
def test_a_set_latency_is_added(isa: str, model: str) -> None:
    set_latencies_are_added(f"gem5/{model}", MACHINES[model], ISAS[isa].flavours[0])


def test_with_ruby_threads_that_spin_cost_what_they_do_in_the_embedded_engine() -> None:
    if RUBY not in find_gem5("x86_64").memories:
        pytest.skip("this gem5 was built without Ruby's MESI_Two_Level")
    how = {"machine": "gem5_ruby", "flavour": "lock", "threads": 2}
    keys = {"iterations": 50, "critical": 20, "think": 100}
    for lock in ("cas_spin", "ticket"):
        cells = [
            cell_of(lock, "threads", engine=engine, parameters=keys, **how)
            for engine in ("qemu", "gem5/o3/ruby")
        ]
        ours, theirs = (found["cycles_per_pair"] for found in run(cells))
        assert ours == pytest.approx(theirs, rel=0.15)


@pytest.mark.parametrize("model", ["timing", "o3"])
def test_the_ways_to_the_region_agree(model: str) -> None:
    for isa in ("x86_64", "aarch64"):
        cells = [
            replace(
                uncontended(f"gem5/{model}/{method}", isa, "tasuki"),
                machine=MACHINES[model],
                parameters={"iterations": length},
            )
            for method in ("m5", "pc_count")
            for length in (1000, 2000)
        ]
        m5_short, m5, short, long = run(cells)
        per_pair = (long["total_cycles"] - short["total_cycles"]) / (long["pairs"] - short["pairs"])
        assert m5["cycles_per_pair"] == pytest.approx(per_pair, rel=0.02)
        assert long["cycles_per_pair"] == pytest.approx(per_pair, rel=0.02)
        assert m5_short["pairs"] < m5["pairs"]


def test_what_the_probe_rules_out_is_refused(tmp_path: Path) -> None:
    cell = contended("timing", "ppc64le", "thin")
    with Store(tmp_path / "runs.db") as store:
        (found,) = Runner(store, 1).run([cell], "test")
    assert found.status == "refused"
    assert "atomics are not atomic across cores" in found.cause


def test_a_livelock_ends_at_the_limit_and_leaves_its_folder(tmp_path: Path) -> None:
    cell = uncontended("gem5/timing", "x86_64", "tasuki")
    with Store(tmp_path / "runs.db") as store:
        (found,) = Runner(store, 1, None, Limits(instructions=1000)).run([cell], "test")
        (output,) = store.connection.execute("SELECT output FROM runs").fetchone()
    assert found.status == "failed"
    assert found.cause == "cycle limit: 1000"
    assert "folder: build/kept-runs/" in output


def test_the_same_run_has_the_same_cycles() -> None:
    cell = contended("o3", "aarch64", "asym_tasuki")
    assert run([cell]) == run([cell])
