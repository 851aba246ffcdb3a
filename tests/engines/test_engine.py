"""The embedded engine on real programs: exact, deterministic, and strict about its options."""

import json
import re
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from sweeps.engines.qemu.engine import find_qemu, own_options
from sweeps.model.isa import ISAS
from sweeps.model.locks import Lock, load_locks
from sweeps.programs import TARGETS, Builder, Program
from sweeps.support.paths import ENGINE_PLUGIN
from tests.native_build import sampled

BUILDER = Builder()
FLAVOURS = list(TARGETS)
LOCKS = [lock for lock in load_locks().values() if lock.name != "nop"]
FULL_FENCE = {flavour: ISAS[target.isa].full_fence for flavour, target in TARGETS.items()}
# A core whose cycles can be counted by hand.
PLAIN = {"width": 1, "taken_branch": 0, "mispredict": 0, "blocking": 1, "lat_mul": 1, "lat_div": 1}

Options = dict[str, int | str]

# A core like gem5's MinorCPU.
PIPELINE: Options = {"width": 2, "pipeline": 1, "micro_operations": 1}


def invoke(
    program: Program, arguments: Options, options: Options, report: Path
) -> subprocess.CompletedProcess[str]:
    binary = BUILDER.build([program])[program].path
    return execute(binary, program.flavour, arguments, options, report)


def execute(
    binary: Path, flavour: str, arguments: Options, options: Options, report: Path
) -> subprocess.CompletedProcess[str]:
    plugin = ",".join(
        [f"file={ENGINE_PLUGIN},out={report}"] + [f"{k}={v}" for k, v in options.items()]
    )
    words = [f"{key}={value}" for key, value in arguments.items()]
    return subprocess.run(
        [find_qemu(TARGETS[flavour].isa).path, "-plugin", plugin, binary, *words, "marker=syscall"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def finished(
    binary: Path, flavour: str, arguments: Options, options: Options
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the result of a run, which must succeed, and the engine's report of it."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        done = execute(binary, flavour, arguments, options, report)
        assert done.returncode == 0, f"{binary.name} {arguments}: {done.stdout}{done.stderr}"
        document = json.loads(report.read_text("utf-8"))
    assert document["complete"]
    return json.loads(done.stdout), document


def report_of(binary: Path, flavour: str, arguments: Options, options: Options) -> dict[str, Any]:
    """Return the engine's report of a run that must succeed."""
    return finished(binary, flavour, arguments, options)[1]


def run(program: Program, arguments: Options, options: Options) -> dict[str, Any]:
    """Return the engine's report of a program that is compiled here."""
    binary = BUILDER.build([program])[program].path
    return report_of(binary, program.flavour, arguments, options)


def first_cores(
    program: Program, arguments: Options, sets: Iterable[Options]
) -> list[dict[str, Any]]:
    """Return what is said of core 0 with each set of options."""
    return [run(program, arguments, options)["cores"][0] for options in sets]


def calibrate(flavour: str, op: str, options: Options) -> int:
    program = Program("calibrate", "nop", "full", flavour)
    (core,) = first_cores(program, {"op": op, "iterations": 200}, [options])
    return core["cycles"]


def test_monitors_of_a_shared_pool_are_taken_in_one_order() -> None:
    """Before the region the host runs the threads as it likes; so many objects that the places of
    their monitors decide which lines share a set."""
    program = Program("lock_sequence", "hot", "full", "lock")
    arguments = {"threads": 2, "objects": 600, "runs": 2, "run_length": 2, "owner_share": 500_000}
    reports = [run(program, arguments, {}) for _ in range(6)]
    assert all(report == reports[0] for report in reports)


# A core that issues out of order, as wide as real ones.
WINDOW = {"out_of_order": 1, "width": 6, "retire_width": 8, "atomic_loads": 1, "full_fence": 1}


@pytest.mark.parametrize(
    ("lock", "flavour"),
    [(one, f) for one in LOCKS for f in FLAVOURS if sampled(one.name, "", "full", f)],
)
def test_locks_conform_on_the_simulated_cores(lock: Lock, flavour: str) -> None:
    """Recursion, wait and notify, illegal states, inflation, deflation and cancellation, in every
    fence kind: store forwarding, too, is in order there. Then out of order."""
    threads = min(4, lock.threads or 4)
    for fence in lock.fence_kinds if flavour == "lock" else ("full",):
        program = Program("conformance", lock.name, fence, flavour)
        options: Options = {"seed": 3, "offset_max": 50}
        document = run(program, {"threads": threads, "iterations": 1}, options)
        assert len(document["cores"]) == threads
    arguments: Options = {"threads": min(3, threads), "iterations": 1}
    program = Program("conformance", lock.name, "full", flavour)
    for core in run(program, arguments, WINDOW)["cores"]:
        assert sum(core["stalls"].values()) == core["cycles"]


def test_phases_lie_between_the_start_and_the_end_of_their_core() -> None:
    program = Program("rounds", "tasuki", "full", "lock")
    arguments: Options = {"threads": 2, "objects": 4, "rounds": 6}
    document = run(program, arguments, {"seed": 1, "offset_max": 5000})
    assert [mark["phase"] for mark in document["phases"]] == [1, 2, 3, 4, 5, 6]
    for mark in document["phases"]:
        core = document["cores"][mark["core"]]
        assert core["start"] < mark["cycle"] < core["start"] + core["cycles"]


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_one_cycle_an_instruction_plus_memory(flavour: str) -> None:
    """Width 1, unit latencies and blocking accesses: gem5's TimingSimpleCPU accounting."""
    program = Program("sync", "thin", "full", flavour)
    free = ("cas_success", "cas_failure", "rmw", *ISAS[TARGETS[flavour].isa].fences)
    options: Options = {**PLAIN, "lat_l1": 2, **dict.fromkeys(free, 0)}
    core = run(program, {"threads": 1, "iterations": 100}, options)["cores"][0]
    accesses = sum(
        count
        for event in ("load", "store", "atomic")
        for count in core["coherence"][event].values()
    )
    misses = core["stalls"]["memory"]
    assert core["stalls"]["issue"] == core["instructions"]
    assert core["cycles"] == core["instructions"] + 2 * accesses + misses


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize(
    ("core", "op", "option", "cycles"),
    [
        ({}, "cas", "cas_success", (10, 11, 60, 200)),
        ({}, "cas_fail", "cas_failure", (10, 11, 60, 200)),
        ({}, "fence", "full fence", (10, 11, 60, 200)),
        ({}, "stop", "charge_stop_running", (0, 1000)),
        *(({}, op, f"charge_{op}", (0, 1000)) for op in ("park", "unpark", "wake")),
        (PIPELINE, "cas", "cas_success", (200, 1200)),
        (PIPELINE, "fence", "full fence", (200, 1200)),
        (PIPELINE, "stop", "charge_stop_running", (200, 1200)),
    ],
)
def test_a_set_latency_or_charge_adds_exactly_itself(
    core: Options, op: str, option: str, cycles: tuple[int, ...], flavour: str
) -> None:
    name = FULL_FENCE[flavour] if option == "full fence" else option
    least, *more = cycles
    base = calibrate(flavour, op, {**core, name: least})
    # 200 operations, and none outside of the loop. With load-linked and store-conditional, a CAS
    # whose comparison fails never comes to its store-conditional.
    operations = 0 if op == "cas_fail" and flavour in ("larx", "llsc") else 200
    for latency in more:
        added = calibrate(flavour, op, {**core, name: latency}) - base
        assert added == operations * (latency - least)


SLEEPS: Options = {
    "charge_park": 1000,
    "charge_unpark": 3000,
    "charge_wake": 5000,
    "charge_falls_asleep": 4000,
    "charge_unpark_awake": 4000,
    "charge_wake_awake": 2000,
    "charge_sleeps_long": 200_000,
    "charge_unpark_long": 7000,
    "charge_wake_long": 20_000,
}


@pytest.mark.parametrize("out_of_order", [0, 1])
@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize(
    ("delay", "unpark", "wake"), [(1, 4000, 2000), (10_000, 3000, 5000), (300_000, 7000, 20_000)]
)
def test_waking_costs_what_the_sleepers_state_asks_for(
    delay: int, unpark: int, wake: int, flavour: str, out_of_order: int
) -> None:
    program = Program("sharing", "nop", "full", flavour)
    arguments: Options = {"threads": 2, "op": "unpark", "rounds": 10, "times": 1, "delay": delay}
    options: Options = SLEEPS | {"out_of_order": out_of_order}
    waker, sleeper = run(program, arguments, options)["cores"]
    # Out of order, a few cycles of each charge hide behind what is before it.
    hidden = 10 * 10 * out_of_order
    assert 10 * unpark - hidden <= waker["stalls"]["charge"] <= 10 * unpark
    assert 10 * (1000 + wake) - hidden <= sleeper["stalls"]["charge"] <= 10 * (1000 + wake)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_clusters_are_far_from_one_another(flavour: str) -> None:
    """Two cores hand a line round, in one cluster or each in its own."""
    program = Program("transfer", "nop", "full", flavour)
    arguments: Options = {"threads": 2, "op": "store", "iterations": 300}
    far: Options = {"lat_dirty_far": 400, "lat_upgrade_far": 300}
    sets = [far | {"cluster": cluster} for cluster in (0, 2, 1)]
    flat, near, apart = (core["cycles"] for core in first_cores(program, arguments, sets))
    assert flat == near
    # Of each hand-over, a load (40 cycles near) and an upgrade (12, and 20 to invalidate).
    assert apart - near >= 300 * 0.9 * (400 - 40)


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("options", [{}, PIPELINE])
def test_stalls_add_up_and_counts_agree(options: Options, flavour: str) -> None:
    """Reservations are lost when another core takes the line."""
    program = Program("threads", "cas_spin", "full", flavour)
    arguments: Options = {"threads": 4, "iterations": 100, "critical": 0, "think": 0}
    document = run(program, arguments, options)
    for core in document["cores"]:
        assert sum(core["stalls"].values()) == core["cycles"]
        assert core["cas"]["won"] >= 100
    assert document["handovers"] > 0
    lost = sum(core["reservations_lost"] for core in document["cores"])
    assert lost <= sum(core["cas"]["lost"] for core in document["cores"])
    assert (lost > 0) == (flavour in ("larx", "llsc"))


def test_a_bad_option_is_refused_in_one_line(tmp_path: Path) -> None:
    """What is refused: qemu-timing/tests/base/test_options.cc."""
    program = Program("nosync", "nop", "full", "lock")
    done = invoke(program, {"iterations": 1}, {"micro_operations": 1}, tmp_path / "report.json")
    assert done.returncode == 2
    assert done.stderr.startswith("lockcross-timing: option micro_operations: needs pipeline=1")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "report.json").exists()


@pytest.mark.parametrize("own", [0, 1], ids=["one host thread", "a host thread for each core"])
@pytest.mark.parametrize(
    ("limit", "said"),
    [({"max_instructions": 10**6}, "instruction limit: 1000000"), ({"max_cpu_ms": 500}, "0.5 s")],
)
def test_a_limit_says_where_each_core_was(
    limit: Options, said: str, own: int, tmp_path: Path
) -> None:
    """The message names the program's functions, and the store-conditionals of each core."""
    program = Program("threads", "cas_spin", "full", "larx")
    arguments: Options = {"threads": 5, "iterations": 10**9, "critical": 0, "think": 0}
    report = tmp_path / "report.json"
    done = invoke(program, arguments, limit | {"own_threads": own}, report)
    assert done.returncode == 3 and done.stderr.count("\n") == 1 and f"{said}; core" in done.stderr
    document = json.loads(report.read_text())
    assert document["complete"] is False
    if "max_instructions" in limit:
        assert 10**6 < sum(core["instructions"] for core in document["cores"]) < 2 * 10**6
    assert re.search(r", \d+ of \d+ store-conditionals lost their reservation", done.stderr)
    places = done.stderr.split("; core")[1:]
    # Cores that are alike stand together: "core 0 and 3: ...".
    cores = [int(core) for place in places for core in re.findall(r"\d+", place.partition(":")[0])]
    assert sorted(cores) == [0, 1, 2, 3, 4], done.stderr
    for place in places:
        assert re.search(r"\d: \S+ at 0x[0-9a-f]+ in (run|cas_spin_\w+)", place), place


def test_a_report_that_cannot_be_written_fails_the_run(tmp_path: Path) -> None:
    program = Program("nosync", "nop", "full", "lock")
    done = invoke(program, {"iterations": 10}, {}, tmp_path / "missing" / "report.json")
    assert done.returncode == 4
    assert "cannot write" in done.stderr


@pytest.mark.parametrize(
    ("lock", "flavour", "machine", "threads"),
    [
        ("thin", "lock", "generic", 8),
        ("mcs", "lock", "generic_inorder", 6),
        ("reservation", "lock", "gem5_timing", 4),
        ("tasuki", "larx", "generic", 4),
        ("asym_tasuki", "larx", "generic_inorder", 6),
        ("tnp", "lse", "gem5_minor", 4),
        ("monitor_table", "llsc", "generic", 4),
    ],
)
def test_a_loop_that_waits_takes_the_same_cycles(
    lock: str, flavour: str, machine: str, threads: int
) -> None:
    """Its core model alone runs it, as under QEMU."""
    program = Program("random_threads", lock, "full", flavour)
    settings = own_options(machine, TARGETS[flavour].isa) | {"seed": 3}
    executed, modelled = (
        run(program, {"threads": threads, "iterations": 40}, settings | {"execute_loops": every})
        for every in (1, 0)
    )
    hand_overs = [one.pop("handovers") for one in (executed, modelled)]
    assert modelled == executed
    assert hand_overs[1] < hand_overs[0]


FAR_ATOMICS: Options = {"out_of_order": 1, "time_of_flight": 1, "lat_far_atomic": 1000}


def test_only_single_instruction_atomics_run_at_a_lines_home() -> None:
    options = FAR_ATOMICS | {"returning_atomics": 2}
    for op in ("cas", "rmw"):
        cost = {flavour: calibrate(flavour, op, options) for flavour in FLAVOURS}
        assert cost["lse"] >= 200 * 1000
        assert all(cost[flavour] < 200 * 100 for flavour in ("lock", "larx", "llsc"))


@pytest.mark.parametrize("lock", ["thin", "art_thin", "hotspot_light"])
def test_a_lock_that_reads_its_word_first_owns_the_line(lock: str) -> None:
    """So an atomic that is far unless the core owns the line is near, as docs/crossover.md says."""
    program = Program("sync", lock, "full", "lse")
    sets = [FAR_ATOMICS | {"returning_atomics": place} for place in range(3)]
    near, unless_owned, far = first_cores(program, {"threads": 1, "iterations": 100}, sets)
    assert near["cycles"] == unless_owned["cycles"]
    assert far["cycles"] > near["cycles"] + 100 * 1000
