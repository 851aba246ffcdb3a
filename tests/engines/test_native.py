"""The host as an engine: arithmetic of samples, refusals, real runs. No test looks at a time."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from results.errors import LockcrossError
from results.store.store import Store
from sweeps.engines.base import Capabilities, ProcessResult, load_engine, refusal
from sweeps.engines.native import host
from sweeps.engines.native import output as native_output
from sweeps.engines.native.sample import (
    FEWEST,
    SAMPLES,
    SPREAD,
    Estimate,
    Round,
    cycles_of,
    estimate,
    handover,
    near_each_other,
    steady,
)
from sweeps.model.cell import Cell, arguments, unsupported_reason
from sweeps.model.isa import ISAS, host_isa
from sweeps.model.locks import load_locks
from sweeps.model.machine import HOST
from sweeps.model.workloads import with_defaults
from sweeps.programs import Builder
from sweeps.questions.validate import validate
from sweeps.questions.validate.validate import cells_of, load_validation
from tests.commands import lockcross
from tests.engines.outcomes import GUEST, ended, runs_of

CPUS = len(os.sched_getaffinity(0))
_SEEDS, _TURNS = 10, 36  # runs per lock with real threads, and iterations per run
ISA = host_isa()
OTHER = next(isa for isa in ISAS if isa != ISA)
needs_host = pytest.mark.skipif(
    ISA not in ISAS or not load_engine("native").doctor()[0].ok,
    reason="the host cannot be an engine here",
)


def cell(workload: str = "sync", lock: str = "thin", **changes: Any) -> Cell:
    parameters = with_defaults(workload, changes.pop("parameters", {}))
    flavour = ISAS[changes.get("isa", ISA)].flavours[0]
    settings = {"engine": "native", "isa": ISA, "flavour": flavour, "machine": HOST} | changes
    return Cell(lock=lock, workload=workload, parameters=parameters, **settings)


def thread(ticks: int, chain: tuple[int, int] = (1000, 1000), **more: Any) -> dict[str, Any]:
    before, after = chain
    return {"begin": 500, "end": 500 + ticks, "before": before, "after": after, "phases": []} | more


def line(*threads: dict[str, Any], pairs: int = 100, chain: int = 1000) -> dict[str, Any]:
    """A program's line; with these chains a tick is a core cycle."""
    return {"pairs": pairs, "host": {"chain": chain, "threads": list(threads)}}


# Arithmetic -----------------------------------------------------------------------------------


def test_an_estimate_is_the_median_of_the_least_quartile_or_of_threads_that_meet_of_all() -> None:
    values = [30.0, 10.0, 11.0, 12.0, 13.0, 20.0, 21.0, 900.0]
    found = Estimate(value=10.5, least=10.0, median=16.5, iqr=30.0 - 11.0)
    assert estimate(values) == found
    assert estimate([7.0]) == Estimate(7.0, 7.0, 7.0, 0.0)
    assert estimate([*values[:-1], 1e9]).value == found.value  # one disturbed repeat
    assert estimate(values, alone=False) == replace(found, value=16.5)
    met = Round([[line(thread(100 * n), thread(100 * n))] for n in range(1, 12)])
    assert met.cycles_per_pair().value == 12.0


def apart(before: int, after: int) -> dict[str, Any]:
    """A line of two threads that handed a line over 400 times before and after."""
    document = line(thread(100), thread(100))
    document["host"] |= {"handovers": 400, "handover_ticks": [before, after]}
    return document


def test_cpus_that_a_hypervisor_moves_are_noticed() -> None:
    assert handover(apart(40_000, 80_000)) == 150.0
    assert handover(line(thread(100))) == 0.0
    assert steady(apart(40_000, 50_000))
    assert not steady(apart(40_000, 320_000))
    near, far = [apart(40_000, 44_000)], [apart(320_000, 330_000)]
    assert near_each_other([near, far, near, near]) == [near] * 3
    assert near_each_other([]) == []
    alone = [line(thread(100))]
    assert near_each_other([alone, alone]) == [alone] * 2


def test_ticks_become_core_cycles_by_the_kernels_counter_or_the_chains() -> None:
    """At twice the counter's rate the chain takes half as many ticks as it has additions."""
    assert cycles_of(line(thread(100, (500, 500)))) == [200.0]
    assert cycles_of(line(thread(100, (500, 500)), thread(40))) == [200.0, 40.0]
    counted = thread(100, (500, 500), cycles=180, chain_cycles=1000)
    assert cycles_of(line(counted)) == [180.0]
    # A thread that waits in the kernel is not counted there: its time counts, by the counter.
    assert cycles_of(line(counted, counted)) == [200.0, 200.0]


def test_a_clock_that_changed_is_noticed() -> None:
    assert steady(line(thread(5), thread(5, (1019, 1000))))
    assert not steady(line(thread(5), thread(5, (1000, 1021))))


def test_a_round_says_what_is_wrong_with_it() -> None:
    def taken(costs: list[int], left_out: int = 0, threads: int = 1) -> Round:
        one = [line(*[thread(100 * cost)] * threads) for cost in costs]
        return Round([[each] for each in one], left_out)

    assert taken([100] * FEWEST).trouble() == ""
    assert "clock changed" in taken([100] * (FEWEST - 1), left_out=31).trouble()
    wide = [100] * FEWEST + [140] * FEWEST
    assert "between the quartiles" in taken(wide).trouble()
    assert taken(wide, threads=2).trouble() == ""  # several threads may differ more
    assert taken([1] * FEWEST + [2] * FEWEST).trouble() == ""  # less than a cycle is never much


# What a cell's files say --------------------------------------------------------------------


def said(one: Cell, threads: list[dict[str, Any]], pairs: int) -> dict[str, Any]:
    axes = ("workload", "lock", "isa", "flavour", "fence", "threads")
    return GUEST | {axis: getattr(one, axis) for axis in axes} | line(*threads, pairs=pairs)


def read(
    one: Cell, folder: Path, repeats: list[list[dict[str, Any]]], left_out: int = 0
) -> tuple[str, dict[str, tuple[float, str]]]:
    document = {"rounds": 1, "tick_mhz": 2000.0, "repeats": repeats, "left_out": left_out}
    (folder / SAMPLES).write_text(json.dumps(document), encoding="utf-8")
    outcome = native_output.read(one, ended(), folder)
    return outcome.cause, outcome.metrics


def test_metrics_of_two_lengths(tmp_path: Path) -> None:
    """Their difference is free of the beginning."""
    one = cell()
    repeats = [
        [said(one, [thread(1000 + 5 * n)], n) for n in (1000, 2000)] for _ in range(2 * FEWEST)
    ]
    cause, metrics = read(one, tmp_path, repeats, left_out=3)
    assert cause == ""
    assert metrics["cycles_per_pair"] == (5.0, "cycles/pair")
    assert metrics["cycles_per_pair_iqr"][0] == 0
    assert metrics["pairs"] == (1000, "pairs")
    assert metrics["core_cycles"] == metrics["cycles"] == (5000.0, "cycles")
    assert metrics["repeats"] == (2 * FEWEST, "repeats")
    assert metrics["repeats_left_out"] == (3, "repeats")
    assert metrics["clock"] == (2000.0, "MHz")


def test_metrics_of_phases(tmp_path: Path) -> None:
    """From a phase to the next, on whichever thread it is announced, or to the end."""
    one = cell("rounds", threads=2)
    first = thread(1000, phases=[[1, 600], [3, 900]])
    second = thread(1200, phases=[[2, 700]])
    cause, metrics = read(one, tmp_path, [[said(one, [first, second], 100)]] * FEWEST)
    assert cause == ""
    phases = {n: metrics[f"phase_{n}_cycles"][0] for n in (1, 2, 3)}
    assert phases == {1: 100, 2: 200, 3: 800}
    assert metrics["cycles"][0] == 1200
    assert metrics["cycles_per_pair"][0] == 22


def test_a_noisy_cell_is_no_number(tmp_path: Path) -> None:
    wild = [[said(cell(), [thread(1000 * n * n)], m) for m in (1000, 2000)] for n in range(1, 41)]
    cause, metrics = read(cell(), tmp_path, wild)
    assert cause.startswith("the machine is too noisy: ") and not metrics


def test_a_line_of_another_cell_is_no_result(tmp_path: Path) -> None:
    cause, _ = read(cell(), tmp_path, [[said(cell(lock="tasuki"), [thread(9)], 1000)]] * FEWEST)
    assert "belongs to another run: lock" in cause


@pytest.mark.parametrize(
    ("end", "cause"),
    [
        (ended(), "the sampler's output is missing"),
        (ended(2, stderr="sync: cpus: wrong"), "arguments refused: sync: cpus:"),
        (ended(139), "killed by SIGSEGV"),
        (ended(-9), "the sampler was killed by SIGKILL"),
        (ended(3, stderr="the program did not end"), "the program did not end"),
        (ended(exceeded="CPU time limit: 5 s"), "CPU time limit: 5 s"),
    ],
)
def test_every_bad_end_has_its_cause(end: ProcessResult, cause: str, tmp_path: Path) -> None:
    assert cause in native_output.read(cell(), end, tmp_path).cause


def test_a_check_that_failed_is_named(tmp_path: Path) -> None:
    failed = said(cell(), [thread(9)], 0) | {"ok": False, "error": "the counter is wrong"}
    end = ended(1, json.dumps(failed))
    assert native_output.read(cell(), end, tmp_path).cause == "check failed: the counter is wrong"


# The host ---------------------------------------------------------------------------------------


def test_a_processor_is_known_by_what_the_kernel_says() -> None:
    zen = host.parse_cpuinfo(
        "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t\t: 68\n"
        "model name\t: AMD Ryzen\nflags\t\t: fpu constant_tsc\n\nprocessor\t: 1\n"
        "vendor_id\t: other\n"
    )
    assert (zen["vendor_id"], zen["cpu family"]) == ("AuthenticAMD", "26")
    assert "constant_tsc" in zen["flags"].split()


def test_cores_come_before_hardware_threads_and_caches_one_by_one(tmp_path: Path) -> None:
    """Two caches with two cores each of two hardware threads, numbered as Linux likes to."""
    for number in range(8):
        core = f"{number % 4},{number % 4 + 4}"
        for name, text in (
            ("topology/core_cpus_list", core),
            ("cache/index0/level", "1"),
            ("cache/index0/shared_cpu_list", core),
            ("cache/index3/level", "3"),
            ("cache/index3/shared_cpu_list", "1,3,5,7" if number % 2 else "0,2,4,6"),
        ):
            file = tmp_path / f"cpu{number}" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text + "\n")
    every = host.cpus(tmp_path, frozenset(range(8)))
    assert [cpu.number for cpu in every] == [0, 2, 1, 3, 4, 6, 5, 7]
    # In a container with a CPU set the second hardware thread of a core may stand alone.
    assert [cpu.number for cpu in host.cpus(tmp_path, frozenset({1, 4, 5}))] == [4, 1, 5]


def test_a_system_that_tells_nothing_has_cpus_all_the_same(tmp_path: Path) -> None:
    assert [cpu.number for cpu in host.cpus(tmp_path, frozenset({3, 5}))] == [3, 5]
    assert host.caches(tmp_path) == []


@needs_host
@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"cas_latency": 5}, "cas_latency: 5: engine native cannot set it"),
        ({"fence_latency": 5}, "fence_latency: 5: engine native cannot set it"),
        ({"cancel_latency": 5}, "cancel_latency: 5: engine native cannot set it"),
        ({"machine": "p3"}, "machine: p3: engine native runs on this host"),
        ({"threads": 64}, "threads: 64: engine native has"),
        ({"workload": "footprint"}, "workload: footprint: its paths are counted"),
        (
            {"workload": "calibrate", "lock": "nop", "parameters": {"op": "park"}},
            "parameters.op: park: the host charges nothing",
        ),
        ({"isa": OTHER}, f"isa: {OTHER}: engine native simulates {ISA} only"),
        ({"engine": "qemu"}, "machine: host: engine qemu simulates"),
    ],
)
def test_what_the_host_cannot_answer_is_refused(changes: dict[str, Any], why: str) -> None:
    assert why in refusal(cell(**changes))


def described(monkeypatch: pytest.MonkeyPatch, isa: str, cpus: int, *machines: str) -> None:
    """The host is of this ISA, and these machines describe it."""
    can = Capabilities((isa,), cpus, shared_cores=True, latencies=(), host_machines=machines)
    monkeypatch.setattr(type(load_engine("native")), "capabilities", lambda _: can)
    monkeypatch.setattr("sweeps.model.machine.host_isa", lambda: isa)


def test_a_machine_of_the_host_s_kind_describes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind, machines in (
        ("vendor_id AuthenticAMD, cpu family 25, model 17, stepping 1", ("zen4", HOST)),
        ("vendor_id GenuineIntel, cpu family 5", (HOST,)),
    ):
        monkeypatch.setattr("sweeps.engines.native.host.processor", lambda kind=kind: kind)
        assert load_engine("native").capabilities().host_machines == machines


def test_a_cell_is_as_far_apart_as_the_host_s_cpus_were(monkeypatch: pytest.MonkeyPatch) -> None:
    takes = {"qemu": 137.0}
    monkeypatch.setattr(validate, "_handover_on", lambda label, *_: takes[label])
    cells = [cell(threads=2, engine="qemu", seed=seed) for seed in (1, 2, 3)]
    apart = {replace(cells[0], engine=""): 600.0, replace(cells[1], engine=""): 98.0}
    for far, first in ((764.0, "qemu/far"), (None, "qemu")):  # a machine without clusters
        takes["qemu/far"] = far
        placed = validate._as_placed(load_validation("native"), cells, apart, None)
        assert [one.engine for one in placed] == [first, "qemu", "qemu"]


@pytest.mark.parametrize(("isa", "machine"), [("x86_64", "zen4"), ("aarch64", "neoverse_n1")])
def test_validation_takes_the_cells_that_the_host_can_run(
    monkeypatch: pytest.MonkeyPatch, isa: str, machine: str
) -> None:
    described(monkeypatch, isa, 4, machine, HOST)
    for one in load_validation("native").set:
        cells = cells_of(one, seeds=2)
        assert {(cell.machine, cell.isa) for cell in cells} == {(machine, isa)}
        assert {cell.engine for cell in cells} == {"qemu", "native"}
        assert {cell.seed for cell in cells} == {1, 2}
        assert max(cell.threads for cell in cells) <= 4
        assert not any(unsupported_reason(cell) for cell in cells)
        locks = {cell.lock for cell in cells}
        if one.name == "native_work":  # one lock of each fast path
            assert locks < set(load_locks())
            continue
        assert locks | {"nop"} == set(load_locks())
        kinds = {cell.fence for cell in cells}
        x86 = {"full", "rmw", "lock_add", "store_forward", "membarrier"}
        if one.name == "native_contended":  # two threads may enter with store forwarding
            x86.remove("store_forward")
        assert kinds == (x86 if isa == "x86_64" else {"full", "membarrier"})
        variants = {cell.variant for cell in cells if cell.lock == "reservation"}
        assert variants == {"", *load_locks()["reservation"].variants[1:]}


def test_validation_needs_a_machine_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    described(monkeypatch, "x86_64", 2, HOST)
    (one, *_) = load_validation("native").set
    with pytest.raises(LockcrossError, match="measure NAME makes one"):
        cells_of(one)
    described(monkeypatch, "x86_64", 2, "zen4", HOST)
    why = "machine p3: does not describe this host; known are zen4"
    with pytest.raises(LockcrossError, match=why):
        cells_of(one, "p3")


@needs_host
def test_a_cpu_set_bounds_the_threads() -> None:
    """As in a container."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        assert refusal(cell()) == ""
        why = refusal(cell("threads", threads=2))
    finally:
        os.sched_setaffinity(0, before)
    assert "threads: 2: engine native has 1 cores at most" in why


@needs_host
def test_a_host_without_a_steady_counter_is_no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    if ISA != "x86_64":
        pytest.skip("only x86-64's counter may change its rate")
    monkeypatch.setattr(host, "features", lambda: frozenset({"fpu"}))
    assert "no constant rate" in refusal(cell())
    assert not load_engine("native").doctor()[0].ok


# Real runs ------------------------------------------------------------------------------------


def good(*cells: Cell) -> list[dict[str, float]]:
    """The metrics of cells that must all be good, unless the host is too noisy."""
    runs = runs_of(list(cells))
    if any(one.cause.startswith("the machine is too noisy") for one in runs):
        pytest.skip("this host is too noisy for samples")
    assert [one.cause for one in runs] == [""] * len(runs)
    return [one.metrics for one in runs]


@needs_host
def test_three_locks_on_the_host() -> None:
    """They verify themselves, and a CAS costs more than a load."""
    ops = [
        cell("calibrate", "nop", parameters={"op": op, "iterations": 2000})
        for op in ("load", "cas")
    ]
    locks = [cell(lock=lock, parameters={"iterations": 2000}) for lock in ("nop", "thin", "mcs")]
    found = good(*ops, *locks)
    load, cas, nop, thin, mcs = (one["cycles_per_pair"] for one in found)
    assert load < cas
    assert 0 < nop < min(thin, mcs)


@needs_host
@pytest.mark.skipif(CPUS < 2, reason="needs two CPUs")
@pytest.mark.parametrize("lock", ["tasuki", "reservation", "asym_tasuki", "relaxed", "to_lock"])
def test_locks_conform_with_real_parallelism(lock: str) -> None:
    """Waiting threads sleep in the kernel here. The engine's program without its sampler, which
    would repeat one seed until it has a number: here every run draws other moments."""
    one = cell("conformance", lock, threads=2, parameters={"iterations": _TURNS})
    program = load_engine("native").program(one)
    binary = Builder().build([program])[program].path
    cpus = load_engine("native").options(one)["cpus"]
    for seed in range(1, _SEEDS + 1):
        words = arguments(replace(one, seed=seed))
        command = [binary, *words, f"cpus={cpus}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        assert json.loads(done.stdout)["ok"] is True


@needs_host
@pytest.mark.skipif(ISA != "x86_64" or CPUS < 2, reason="needs two CPUs of x86-64")
@pytest.mark.parametrize("variant", ["", "suspend", "signal", "predicated"])
def test_reservations_are_really_cancelled(variant: str) -> None:
    keys = {"objects": 8, "rounds": 12}
    (found,) = good(cell("rounds", "reservation", variant=variant, threads=2, parameters=keys))
    assert found["phase_4_cycles"] > found["phase_3_cycles"]


@needs_host
def test_threads_share_cores_of_the_host() -> None:
    parameters = {"duration": 500_000, "slice": 20_000}
    (found,) = good(cell("counter", "tnp", threads=3, cores=1, parameters=parameters))
    assert found["least"] <= found["most"]
    assert found["wait_max"] >= found["wait_mean"]


@needs_host
def test_interference_ends_as_noise_or_within_the_spread() -> None:
    """A busy process on the same CPU."""
    one = cell(parameters={"iterations": 2000})
    (quiet,) = good(one)
    burn = f"import os; os.sched_setaffinity(0, {{{host.cpus()[0].number}}})\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", burn]) as busy:
        try:
            (disturbed,) = runs_of([replace(one, seed=2)])
        finally:
            busy.kill()
    if disturbed.status != "ok":
        assert disturbed.cause.startswith("the machine is too noisy")
        return
    allowed = SPREAD[True] * quiet["cycles_per_pair_median"]
    apart = disturbed.metrics["cycles_per_pair"] - quiet["cycles_per_pair"]
    assert abs(apart) <= max(allowed, disturbed.metrics["cycles_per_pair_iqr"])


@needs_host
def test_the_command_runs_on_the_host_and_says_how(tmp_path: Path) -> None:
    words = "run --engine native --lock thin --workload sync --seeds 2 --db runs.db"
    done = lockcross(words, folder=tmp_path)
    if "too noisy" in done.stderr:
        pytest.skip("this host is too noisy for samples")
    assert done.returncode == 0, done.stderr
    assert "cycles by the " in done.stdout and "median" in done.stdout
    with Store(tmp_path / "runs.db", read_only=True) as store:
        rows = store.connection.execute("SELECT engine, seed, engine_version FROM runs").fetchall()
    assert sorted((engine, seed) for engine, seed, _ in rows) == [("native", 1), ("native", 2)]
    assert host.processor() in rows[0][2]
