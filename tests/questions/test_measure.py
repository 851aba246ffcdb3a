"""`./lockcross measure`: the arithmetic on samples, and a host's permissions."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from results.errors import LockcrossError
from sweeps.engines.native import host
from sweeps.engines.native.measure import parts, programs, stopping, whole
from sweeps.engines.native.measure.programs import SHARE, Finding, of_alone, of_both
from sweeps.engines.native.measure.whole import CLOCK, Measurement
from sweeps.engines.native.sample import Estimate, estimate
from sweeps.model.workloads import WORKLOADS

CHAIN = 100
K = 1024
CACHES = [
    host.Cache(1, 48 * K, 12, 64),
    host.Cache(2, 2048 * K, 16, 64),
    host.Cache(3, 32768 * K, 16, 64),
]


def thread(end: int, phases: Sequence[tuple[int, int]] = ()) -> dict[str, Any]:
    """Two cycles a tick."""
    return {"begin": 0, "end": end, "before": 50, "after": 50, "phases": list(phases)}


def line(pairs: int, *threads: dict[str, Any]) -> dict[str, Any]:
    return {"pairs": pairs, "host": {"chain": CHAIN, "threads": list(threads)}}


def exactly(value: float) -> Estimate:
    return estimate([value])


def values(found: Iterable[tuple[str, Finding]]) -> dict[str, float]:
    return {name: finding.value for name, finding in found}


def test_phases_are_told_apart_by_their_number() -> None:
    phases = [(1, 0), (2, 10), (3, 15), (4, 35), (5, 40), (7, 60), (8, 90)]
    assert programs.measured_phases(line(1, thread(99, phases))) == ([20, 40], [40, 60])


def test_a_recorded_run() -> None:
    """Recorded from kernel sharing, op=upgrade, times=200: a line that another CPU has read costs
    more."""
    times = [114453, 117075, 143869, 178057, 178797, 181311, 223015, 260509]
    phases = [(number, 12143972_000000 + time) for number, time in enumerate(times, 1)]
    span = {"begin": 12143972_112987, "end": 12143972_261087, "before": 46160, "after": 46176}
    recorded = {"pairs": 400, "host": {"chain": 65536, "threads": [span | {"phases": phases}]}}
    first, second = programs.measured_phases(recorded)
    assert [cycles / 200 for cycles in first] == pytest.approx([18.61, 17.84], abs=0.01)
    assert [cycles / 200 for cycles in second] == pytest.approx([242.65, 266.11], abs=0.01)


def test_a_wake_is_measured_on_both_threads() -> None:
    waker = thread(99, [(1, 10), (2, 30), (5, 50), (6, 60)])
    woken = thread(99, [(1, 4), (3, 45), (5, 53), (7, 55)])
    expected = [programs.Waking(12, 40, 70), programs.Waking(-6, 20, 10)]
    assert programs.wakings(line(1, waker, woken)) == expected


@pytest.mark.parametrize(
    ("one", "other", "both", "share"),
    [(20, 24, 24, 1), (20, 24, 44, 0), (20, 24, 34, 0.5), (20, 24, 20, 1), (20, 24, 60, 0)],
)
def test_how_much_hides(one: float, other: float, both: float, share: float) -> None:
    assert parts.hidden_share(exactly(one), exactly(other), exactly(both))[0] == share


def test_the_parts_of_one_thread_are_differences() -> None:
    cycles = {"empty": 2.0, "width": 24.0, "pause": 40.0, "fence_0": 35.0, "cas": 160.0}
    cycles |= {"branch_random": 18.0, "branch_steady": 8.0, "adds": 24.0, "loads": 25.0}
    cycles |= {"cas_once": 20.0, "cas_adds": 24.0, "cas_loads": 35.0}
    cycles |= {"fence_adds": 59.0, "fence_loads": 60.0}
    cycles |= {"divisions": 300.0, "jumps_many": 100.0, "divisions_jumps": 360.0}

    def times(op: str, stores: str = "zero", inner: int = 1) -> Estimate:
        if op == "branches":  # a cycle a turn; what ends it is predicted up to 40 turns
            return exactly(2.0 + inner + (20.0 if inner > 40 else 0.0))
        return exactly(cycles.get(op, 80.0) + {"zero": 0, "one": 1, "four": 4}[stores])

    found = values(chain.from_iterable(part(times) for part in parts.all_alone([]).values()))
    full = next(name for name in found if name.endswith("_behind_4")).removesuffix("_behind_4")
    expected = {"mispredict": 20, "width": 4, "pause": 40, "cas": 20, "div": 10}
    expected |= {full: 33, f"{full}_behind_1": 33, f"{full}_behind_4": 33}
    expected |= {"cas_hides_adds": 1, "cas_hides_loads": 0.5, "fence_hidden": 0}
    expected |= {"fence_hides_adds": 0, "fence_hides_loads": 0, "adds_apart": 96 / 80}
    expected |= {"branches_in_flight": 40 * 2, "loop_predicted": 32}
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("both", "branches"),
    [(400.0, 0.0), (405.0, 0.0), (360.0, 80.0), (311.0, 178.0), (309.0, 0.0), (300.0, 0.0)],
)
def test_branches_in_flight_are_those_that_hide(both: float, branches: float) -> None:
    """Two a cycle. Where more than nine tenths of the shorter hide, nothing is known to bound
    them."""
    cycles = {"divisions": 300.0, "jumps_many": 100.0, "divisions_jumps": both}
    ((_, found),) = parts.in_flight(lambda op: exactly(cycles[op]))
    assert found.value == branches


PREDICTED = {  # cycles of loops by their turns -> the longest that is predicted
    "all": ({n: n for n in (8, 16, 32, 64, 128, 256)}, 256),
    "zero": ({n: n + 20 * (n > 1) for n in (8, 16, 32)}, 0),
    "up to 64": ({8: 8, 16: 16, 32: 32, 64: 64, 128: 148, 256: 276}, 64),
    "a quarter": ({8: 8, 16: 16, 32: 32 + 6.1, 64: 64 + 5.9}, 64),
    "none of the longer": ({8: 8, 16: 16 + 5.9, 32: 32 + 6.1}, 16),
}


@pytest.mark.parametrize(("ends", "longest"), PREDICTED.values(), ids=PREDICTED)
def test_the_longest_loop_whose_end_is_predicted(ends: dict[int, float], longest: int) -> None:
    assert parts.longest_predicted(ends, once=1.0, endless=1.0, mispredict=24.0) == longest


def test_a_recorded_core_predicts_loops_of_128() -> None:
    """Zen 5, three cycles a turn: loops of 112 turns and of 256 are missed, not those of 128."""
    cycles = {1: 4.0, 8: 25.0, 16: 48.9, 32: 97.1, 64: 193.0, 112: 358.2, 128: 384.7, 256: 796.1}
    once = cycles.pop(1)
    assert parts.longest_predicted(cycles, once, endless=3.027, mispredict=23.9) == 128


def test_every_loop_is_one_of_the_kernel_s() -> None:
    asked = set()

    class Checked(programs.Programs):
        def run(self, binary: str, cpus: Sequence[int], **arguments: int | str) -> dict[str, Any]:
            keys = WORKLOADS["micro"].keys
            asked.add(arguments["op"])
            for key, value in arguments.items():
                assert not keys[key].invalid_reason(value), (key, value)
            return line(int(arguments["iterations"]), thread(9 * int(arguments["iterations"])))

    times = partial(parts.run_loop, Checked(), "micro", 0)
    for part in parts.all_alone(parts.levels(CACHES, 2**30)).values():
        list(part(times))
    fences = {f"fence_{n}" for n in range(5)}
    assert asked | fences == {*WORKLOADS["micro"].keys["op"].choices}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("caches", "free", "names"),
    [
        (CACHES, 2**30, ["load_l1", "load_l2", "load_l3", "load_memory"]),
        (CACHES[:2], 2**30, ["load_l1", "load_l2", "load_memory"]),
        (CACHES, 20_000, ["load_l1", "load_l2", "load_l3"]),
        ([], 2**30, []),
    ],
)
def test_what_is_chased_through(caches: list[host.Cache], free: int, names: list[str]) -> None:
    found = parts.levels(caches, free)
    assert [level.name for level in found] == names
    sizes = [0, *(cache.size // K for cache in caches), 2**40]
    for number, level in enumerate(found):
        assert sizes[number] < level.kib < sizes[number + 1] and level.kib <= free


def test_pairs_are_chosen_evenly() -> None:
    assert parts.pairs_of([4, 2, 7]) == [(4, 2), (4, 7), (2, 7)]
    assert len(parts.pairs_of(range(12))) == parts.MOST_PAIRS
    some = parts.pairs_of(range(100))
    assert len(set(some)) == parts.MOST_PAIRS
    assert {one // 25 for one, _ in some} == {0, 1, 2, 3}


PARK = 1100.0


def woken_after(parked: float, awake: bool = True, long: bool = True) -> list[programs.Waking]:
    """Rounds on a host whose threads sleep 900 cycles after they begin to park, and have slept for
    long after 2,000,000. Who does not sleep yet is done 1,400 cycles after it began."""
    call, until = 33_000.0, 63_000.0
    if awake and parked < 900:
        call, until = 950.0, 1400 - parked
    if long and parked >= 2_000_000:
        call, until = 38_000.0, 134_000.0
    return [programs.Waking(parked + n % 3, call + n % 3, until) for n in range(20)]


@pytest.mark.parametrize("awake", [True, False])
@pytest.mark.parametrize("long", [True, False])
def test_waking_is_told_by_the_sleepers_state(awake: bool, long: bool) -> None:
    after = partial(woken_after, awake=awake, long=long)
    entering = [after(parked) for parked in range(-300, 3000, 100)]
    asleep = [after(100_000 * 2**step) for step in range(8)]
    found = dict(parts.waking(entering, after(100_000), asleep, PARK))
    assert not [name for name, finding in found.items() if finding.trouble()]
    told = values(found.items())
    assert (told["unpark"], told["unpark_until_awake"]) == (33_001, 63_000)
    # Without a thread that does not sleep yet, the permit is given behind the call.
    before = 0 if awake else 33_001
    assert told["wake"] == 63_000 - before
    assert ("falls_asleep" in told, "sleeps_long" in told) == (awake, long)
    if awake:
        assert told["unpark_awake"] == 951
        assert told["wake_awake"] == pytest.approx(1400 - PARK, abs=2)
        assert told["falls_asleep"] == pytest.approx(850, abs=51)
    if long:
        assert (told["unpark_long"], told["wake_long"]) == (38_001, 134_000 - before)
        assert told["sleeps_long"] == pytest.approx(2_400_000, rel=0.35)


def test_a_thread_that_wakes_by_itself_now_and_then_moves_no_threshold() -> None:
    entering = [woken_after(parked) for parked in range(0, 12_000, 100)]
    asleep = woken_after(100_000)
    found = dict(parts.waking(entering, asleep, [asleep], PARK))
    for late in (2_000, 7_000, 11_000):  # most of a run long after the threshold
        awake = [replace(each, call=950.0) for each in entering[late // 100]]
        entering[late // 100] = [*awake[:15], *entering[late // 100][15:]]
    disturbed = dict(parts.waking(entering, asleep, [asleep], PARK))
    threshold = found["falls_asleep"].value
    assert threshold == disturbed["falls_asleep"].value == pytest.approx(850, abs=51)
    assert not disturbed["unpark_awake"].trouble()


def test_a_thread_that_is_met_before_it_parks_tells_nothing() -> None:
    early = [woken_after(parked) for parked in (-500, -300)]
    found = dict(parts.waking(early, woken_after(100_000), [woken_after(10**6)], PARK))
    assert "falls_asleep" not in found and "wake" in found


def test_the_median_of_the_matrix_is_the_transfer() -> None:
    found = parts.of_transfers({(0, 1): [100.0] * 4, (0, 2): [200.0] * 4, (1, 2): [900.0] * 4})
    assert (found.value, found.spread) == (200, 0)


NOISY = estimate([100.0, 120.0, 190.0, 300.0])


def test_what_is_too_noisy_is_left_out() -> None:
    findings = Measurement("a processor", [], [0])
    assert findings.add("good", of_alone(estimate([100.0, 101.0, 102.0]), "so"))
    assert not findings.add("bad", of_alone(NOISY, "so"))
    assert findings.add("small", of_alone(estimate([0.1, 0.5, 0.9]), "below a cycle"))
    assert findings.add("both", of_both([100.0, 140.0, 100.0, 100.0, 60.0, 100.0], "so"))
    assert not findings.add("share", Finding(0.5, 0.4, "so", SHARE))
    assert set(findings.found) == {"good", "small", "both"}
    assert "cycles between the quartiles" in findings.left_out["bad"]
    assert findings.add("bad", of_alone(exactly(100.0), "again")) and "bad" in findings.found


def test_a_difference_that_is_nothing_is_held_to_what_it_is_a_difference_of() -> None:
    assert "allowed" in Finding(-2.2, 2.4, "so").trouble()
    assert Finding(-2.2, 2.4, "so", beside=94.0).trouble() == ""
    assert "allowed" in Finding(-2.2, 30.0, "so", beside=94.0).trouble()


def test_a_part_is_repeated_until_it_is_steady() -> None:
    good = exactly(100.0)
    rounds = iter([{"a": good, "b": NOISY}, {"a": NOISY, "b": NOISY}, {"a": NOISY, "b": good}])

    def part() -> Iterator[tuple[str, Finding]]:
        return iter([(name, of_alone(one, "so")) for name, one in next(rounds).items()])

    findings = Measurement("a processor", [], [0])
    findings.take(part)
    assert set(findings.found) == {"a", "b"} and not findings.left_out


class NoPrograms:
    """Builds nothing; the clock is known."""

    def build(self, *_: str, **__: bool) -> str:
        return "program"

    def clock_mhz(self) -> Estimate:
        return exactly(3000.0)


@pytest.fixture
def no_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    def part(*_: object, **__: object) -> Iterator[tuple[str, Finding]]:
        return iter(())

    monkeypatch.setattr(whole, "Programs", NoPrograms)
    monkeypatch.setattr(host, "no_clock", lambda: "")
    monkeypatch.setattr(parts, "all_alone", lambda _: {"one thread": part})
    for name in ("switching", "barriers", "lines", "parking", "stopping"):
        monkeypatch.setattr(parts, name, part)
    monkeypatch.setattr(stopping, "by_program", part)
    monkeypatch.setattr(stopping, "jvms", lambda _: [])
    monkeypatch.setattr(parts, "placement", lambda *_: 200.0)
    monkeypatch.setattr(parts, "transfers", lambda *_: {(0, 1): [200.0, 210.0]})


@pytest.mark.usefixtures("no_parts")
def test_a_host_with_one_cpu_says_what_it_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "cpus", lambda: [host.Cpu(3, 0, 3)])
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    said: list[str] = []
    found = whole.measure(said.append)
    assert "transfers between CPUs" not in said and found.matrix == {}
    assert set(parts.OF_TWO) <= set(found.left_out)
    assert "1 of 8 CPUs" in found.notes[0] and "with one CPU" in found.notes[1]


@pytest.mark.usefixtures("no_parts")
def test_a_host_with_many_cpus_says_which_pairs_it_took(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "cpus", lambda: [host.Cpu(n, 0, 0) for n in range(4)])
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    found = whole.measure(lambda _: None)
    pairs = "transfers were measured between 1 of 6 pairs of CPUs, evenly chosen"
    assert found.notes == [pairs, stopping.NO_JVM]
    assert found.found["transfer"].value == 205
    assert found.found[CLOCK].value == 3000


def apart_by_turns(*cycles: float) -> Callable[[], float]:
    """A probe that finds these hand-overs one after the other, and then the last for ever."""
    left = list(cycles)
    return lambda: left.pop(0) if len(left) > 1 else left[0]


@pytest.mark.parametrize(
    ("probes", "taken"),
    [
        ((170.0,), "ab"),
        ((170.0, 250.0, 250.0), "ab"),  # not far enough
        ((170.0, 170.0, 800.0, 800.0), "abab"),  # moved while b was measured
        ((800.0, 170.0), "aab"),  # moved while a was measured
        ((100.0, 120.0, 151.0, 151.0), "abab"),  # little by little, but too far from the first
        ((100.0, 200.0, 100.0, 200.0, 100.0, 200.0, 100.0), "aaaab"),
    ],
)
def test_what_was_measured_while_the_cpus_moved_is_measured_again(
    probes: tuple[float, ...], taken: str
) -> None:
    measured, said, runs = Measurement("a processor", CACHES, [0, 1]), [], iter(range(99))
    measured.left_out["before"] = "so"

    def part(name: str) -> Iterator[tuple[str, Finding]]:
        yield name, Finding(next(runs), 0.0, "so")

    group = {name: partial(part, name) for name in "ab"}
    measured.take_in_place(group, apart_by_turns(*probes), said.append)
    assert "".join(said) == taken
    # Both are of the last time.
    assert [measured.found[name].value for name in "ab"] == [len(taken) - 2, len(taken) - 1]
    assert measured.left_out == {"before": "so"}


def test_cpus_that_move_for_ever_end_it() -> None:
    measured, said = Measurement("a processor", CACHES, [0, 1]), []
    probe = apart_by_turns(*[170.0, 800.0] * 5)
    words = r"took 170 cycles before and 800 after.* 3 times again"
    with pytest.raises(LockcrossError, match=words) as error:
        measured.take_in_place({"a": lambda: iter(())}, probe, said.append)
    assert (error.value.exit_code, said) == (1, ["a"] * 4)


def test_single_accesses_to_lines_of_another_cpu() -> None:
    """Each figure is of its phase, a line."""
    cycles = {"dirty": (90, 95), "upgrade": (95, 180), "stores": (4, 21)}

    class Known(NoPrograms):
        def run(self, *_: object, **keys: Any) -> dict[str, Any]:
            assert not WORKLOADS["sharing"].keys["op"].invalid_reason(keys["op"])
            first, second = (each * keys["times"] // 2 for each in cycles[keys["op"]])  # ticks
            phases = [(1, 0), (2, first), (3, first), (4, first + second)]
            return line(1, thread(99, phases))

    found = values(parts.lines(Known(), [0, 1]))  # type: ignore[arg-type]
    expected = {"load_dirty": 90, "upgrade": 85, "upgrade_after_dirty": 0}
    assert found == expected | {"store_dirty_apart": 4, "add_dirty_apart": 21}
    assert {*found} < {*parts.OF_TWO}


def test_a_probe_is_of_the_least_hand_overs() -> None:
    """Each is a turn of the slower thread."""

    class Busy(NoPrograms):
        ticks = iter([*[1000] * 6, 5000, 9000])

        def run(self, *_: object, **__: object) -> dict[str, Any]:
            return line(200, thread(900), thread(next(self.ticks)))

    assert parts.placement(Busy(), [0, 1]) == 2 * 1000 / 200  # type: ignore[arg-type]


def test_a_host_without_a_steady_counter_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "no_clock", lambda: "its counter has no constant rate")
    with pytest.raises(LockcrossError, match="no constant rate") as error:
        whole.measure(lambda _: None)
    assert error.value.exit_code == 1


def test_memory_that_is_free(tmp_path: Path) -> None:
    file = tmp_path / "meminfo"
    file.write_text("MemTotal:  900 kB\nMemAvailable:   700 kB\n")
    assert whole.free_kib(file) == 700
    assert whole.free_kib(tmp_path / "none") == 0
    limit, used = tmp_path / "limit", tmp_path / "used"
    used.write_text("102400\n")
    for text, free in (("max\n", 700), ("512000\n", 400), ("100\n", 0), ("999999999\n", 700)):
        limit.write_text(text)
        assert whole.free_kib(file, [(limit, used)]) == free
