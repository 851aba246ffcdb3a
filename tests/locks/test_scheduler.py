"""Threads that share cores: the M:N runtime, and the locks whose subject it is."""

import pytest

from sweeps.engines.qemu.engine import find_qemu
from sweeps.model.locks import load_locks
from sweeps.programs import TARGETS
from tests.locks.footprint_values import REFERENCE, compiler
from tests.locks.running import bare, simulated
from tests.native_build import FLAVOURS, build_native, run

SLICE = 50_000


def count(lock: str, flavour: str = "lock", critical: int = 20) -> dict[str, int]:
    """The counter's own metrics, its pairs and its switches; eight threads on a core."""
    keys = {"duration": 1_000_000, "critical": critical, "think": 0, "slice": SLICE}
    found = simulated("counter", lock, flavour, threads=8, cores=1, **keys)
    switches = found.total("charges", "switch")
    return {**found.extra, "pairs": found.result["pairs"], "switches": switches}


# Every lock of Java on x86-64; elsewhere one that stops its owner, and one that hands over.
SHARED = [(name, "lock") for name, lock in load_locks().items() if lock.java]
SHARED += [(lock, flavour) for lock in ("reservation", "handover") for flavour in ("larx", "lse")]


@pytest.mark.parametrize(("lock", "flavour"), SHARED)
def test_java_locks_conform_where_threads_share_cores(lock: str, flavour: str) -> None:
    """Short slices end inside sections of any kind."""
    for cores in (1, 2):
        keys = {"threads": 4, "cores": cores, "iterations": 1, "slice": 3000}
        found = simulated("conformance", lock, flavour, **keys)
        assert len(found.cores) == cores
        assert all(core["charges"]["switch"] > 20 for core in found.cores)


@pytest.mark.parametrize("flavour", ["lock", "larx", "lse"])
def test_they_conform_without_an_engine(flavour: str) -> None:
    """Yield points then read the host's counter."""
    alone = (find_qemu(TARGETS[flavour].isa).path,)
    keys = {"threads": 4, "cores": 1, "iterations": 2, "slice": 2000}
    outcome = bare("conformance", "handover", flavour, launcher=alone, **keys)
    assert (outcome.code, outcome.result["error"], outcome.result["cores"]) == (0, "", 1)


def test_a_switch_costs_what_is_charged() -> None:
    """Threads that never meet, and no slice: each is taken up as often whatever that costs."""
    keys = {"threads": 4, "cores": 1, "iterations": 50, "slice": 0}
    (free,), (dear,) = (
        simulated("sync", "thin", options={"charge_switch": cost}, **keys).cores
        for cost in (0, 700)
    )
    assert free["charges"]["switch"] == dear["charges"]["switch"] == 4
    assert dear["cycles"] - free["cycles"] == 4 * 700


def test_a_slice_is_as_long_as_it_says() -> None:
    """Two threads that only count: one switch for each slice that passes, and one each to begin. A
    slice ends at the next yield point, which is never far."""
    keys = {"threads": 2, "iterations": 400, "critical": 0, "think": 1000, "slice": 20_000}
    (core,) = simulated("threads", "cas_spin", cores=1, **keys).cores
    assert core["charges"]["switch"] == pytest.approx(core["cycles"] / 20_000, rel=0.05)


def test_a_slice_that_nobody_else_wants_is_renewed_once() -> None:
    """The yield point behind its end asks the scheduler, some 75 instructions; no other does."""
    keys = {"threads": 1, "cores": 1, "iterations": 2000}
    (whole,), (sliced,) = (
        simulated("sync", "thin", slice=cycles, **keys).cores for cycles in (0, 5000)
    )
    renewals = sliced["cycles"] // 5000
    assert 0 < sliced["instructions"] - whole["instructions"] < 110 * renewals


def test_handover_switches_at_nearly_every_section_renouncement_hardly() -> None:
    """Odaira and Hiraki: the one is fair and slow, the other fast and unfair."""
    handover, renouncement = (count(lock) for lock in ("handover", "renouncement"))
    assert handover["switches"] > 0.8 * handover["pairs"]
    assert handover["gap_deviation"] <= 2
    assert renouncement["pairs"] > 2 * handover["pairs"]
    # By how much more is a matter of when slices end, so of the compiler too: 9 to 2,000.
    assert renouncement["most"] > 5 * renouncement["least"]
    assert handover["most"] < 3 * handover["least"]
    assert renouncement["wait_max"] > SLICE, "a slice ends inside a section"
    assert renouncement["wait_max"] > 20 * handover["wait_max"]
    assert renouncement["wait_variation"] > 10 * handover["wait_variation"]


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_tnp_never_switches_inside_a_section(flavour: str) -> None:
    """So nobody ever finds the lock held: one switch a slice, no wait as long as a slice, and the
    dispersion that the slides give for that, sqrt(x) * (n - 1)."""
    found = count("tnp", flavour)
    slices = found["switches"] - 8
    assert found["wait_max"] < SLICE / 10
    assert slices < 1_200_000 / SLICE + 8
    expected = (found["pairs"] / found["switches"]) ** 0.5 * 7
    assert found["gap_deviation"] == pytest.approx(expected, rel=0.3)


def test_tnp_selective_costs_an_uncontended_lock_a_branch() -> None:
    """A compare and a branch, where the source replaces code; some compilers load first, and then
    everywhere costs no more."""
    keys = {"threads": 1, "cores": 1, "iterations": 200, "slice": 0}
    base, selective, everywhere = (
        simulated("sync", lock, **keys).cores[0]["instructions"]
        for lock in ("renouncement", "tnp_selective", "tnp")
    )
    added = (selective - base) / 200
    if compiler() == REFERENCE:
        assert added == 2 and everywhere > selective
    else:
        assert added in {2, 3} and everywhere >= selective


def test_tnp_selective_is_switched_on_by_contention() -> None:
    """After the first few sections the site executes TNP's code: as fair, where the renouncement
    lock is not (above), and nearly as fast."""
    selective, everywhere = (count(lock) for lock in ("tnp_selective", "tnp"))
    assert selective["most"] < 4 * selective["least"]
    assert selective["pairs"] > 0.9 * everywhere["pairs"]


def test_a_starved_thread_has_an_open_gap() -> None:
    """Most threads of the renouncement lock are in few sections or none; the others' gaps alone
    do not show it."""
    found = count("renouncement", critical=21)
    assert found["least"] < 0.1 * found["pairs"] / 8
    assert found["open_deviation"] > 1.5 * found["gap_deviation"]
    fair = count("tnp")
    assert fair["open_deviation"] == pytest.approx(fair["gap_deviation"], rel=0.2)


def mix(label: str = "revocable", **changes: int | str) -> dict[str, int]:
    """The report of ten threads, of which two are of higher priority, on a core."""
    usual = {"threads": 10, "high": 2, "sections": 5, "high_iterations": 100, "writes": 0}
    usual |= {"low_iterations": 500, "pause": 0, "slice": 8000, "run_queue": "round_robin"}
    return simulated("priority_mix", label, cores=1, **usual | changes).extra


def test_threads_that_sleep_leave_the_core_to_others() -> None:
    """A sleep lasts as long as it says on average, and ten threads sleep at once."""
    awake, asleep, longer = (mix(sleep=cycles) for cycles in (0, 40_000, 400_000))
    assert asleep["elapsed"] > awake["elapsed"]
    assert 5 * 200_000 < longer["elapsed"] < 5 * 800_000


def test_ticks_end_slices_inside_sections_that_are_shorter() -> None:
    """A section that begins with a whole slice and takes less is never interrupted."""
    whole, ticks = (mix(low_iterations=100, sleep=8000, timer=timer) for timer in ("slice", "tick"))
    assert whole["roll_backs"] == 0 < ticks["roll_backs"]


@pytest.mark.parametrize("queue", ["priority", "round_robin"])
def test_priorities_count_where_the_run_queue_has_them(queue: str) -> None:
    """A thread of high priority that always can run keeps the core, or has its turns only."""
    changes = {"threads": 3, "high": 1, "sections": 20, "low_iterations": 100}
    changes |= {"pause": 2000, "slice": 5000, "run_queue": queue}
    extra = mix("revocable:unmodified", **changes)
    share = extra["high_elapsed"] / extra["elapsed"]
    assert share < 0.5 if queue == "priority" else share > 0.7


def test_a_lost_wake_up_is_told() -> None:
    """A program in which every thread is parked fails with the reason, and does not hang."""
    binary = build_native("parked", "thin", "lock", "full", scheduled=True)
    alone = (find_qemu("x86_64").path,)
    outcome = run(binary, "lock", launcher=alone, threads=2, cores=1)
    assert outcome.code == 1
    assert "every thread is parked" in outcome.result["error"]
