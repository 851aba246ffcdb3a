"""The cost of stopping a thread: the programs that measure it, and the use of their output."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from results.errors import LockcrossError
from sweeps.engines.native import host
from sweeps.engines.native.measure import stopping, whole
from sweeps.engines.native.measure.stopping import Jvm, Sampled, Stop
from sweeps.engines.native.sample import estimate
from tests.commands import program
from tests.jdks import version_of

CPUS = [cpu.number for cpu in host.cpus()]
needs_two_cpus = pytest.mark.skipif(len(CPUS) < 2, reason="needs two CPUs")
OF_ALL = {"bulk_rebias", "bulk_revoke", "locking", "running_2cpus", "running_untrapped"}


def near() -> float:
    """CPUs that do not move."""
    return 100.0


def sampled(median: float, apart: float = 0) -> Sampled:
    """As a program prints it, around a median."""
    below = {"least": median - 20, "quarter": median - 10}
    above = {"three_quarters": median + 30, "percentile_99": median + 500, "mean": median + 9}
    about = {"mechanism": "revoke", "state": "parked", "samples": 100, "apart": apart}
    return Sampled(**about, **below, median=median, **above)


def test_the_quietest_run_counts_in_cycles_of_the_clock() -> None:
    stop = Stop("signal", "parked", "a signal", [sampled(700), sampled(500), sampled(900)])
    found = stop.finding(3000)
    assert (stop.name, found.value, found.spread) == ("stop_signal_parked", 1500, 120)
    for words in ("500 ns of 100 stops", "least 480", "99 % at most 1000", "of 3 runs", "futex"):
        assert words in found.meaning
    assert stop.distribution()["percentile_99"] == 1000


def test_runs_on_cpus_that_a_hypervisor_moved_do_not_count() -> None:
    runs = [sampled(500, 460), sampled(700, 110), sampled(600, 120)]
    stop = Stop("signal", "parked", "a signal", runs)
    assert stop.quietest.median == 600
    assert stop.finding(1000).meaning.endswith("on CPUs that hand a line over in 120 cycles")


def test_a_run_is_as_far_apart_as_its_cpus_were_before_or_after(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(stopping, "sampled", lambda *_: sampled(500))
    monkeypatch.setattr(stopping, "program", lambda: tmp_path / "stops")
    monkeypatch.setattr(stopping, "_RUNS", 1)
    probes = iter([100.0, 100.0, 400.0, 110.0, 110.0])
    stops = stopping.by_program("signal", [0, 1], lambda: next(probes))
    assert [stop.runs[0].apart for stop in stops] == [100, 400, 400, 110]


@pytest.mark.parametrize(
    ("release", "operation"),
    [(8, "revoke"), (17, "revoke"), (18, None), (19, "trace"), (25, "trace")],
)
def test_a_release_has_its_own_way_to_stop_a_thread(release: int, operation: str | None) -> None:
    found = Jvm("java", release).runtime()
    assert (found[0] if found else None) == operation


def test_a_jvm_is_asked_in_every_state_and_less_is_taken_off(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[list[str]] = []

    def one(command: list[str], _: object) -> Sampled:
        asked.append(command)
        return sampled(60 if "none" in command else 1060)

    monkeypatch.setattr(stopping, "sampled", one)
    monkeypatch.setattr(stopping, "_classes", lambda: tmp_path)
    stops = {stop.state: stop for stop in Jvm("/a/java", 17).stops([4, 5, 6], near)}
    assert set(stops) >= OF_ALL and "none" not in stops
    assert stops["ended"].finding(1000).value == 1000 and sampled(30).minus(60).least == 0
    two = next(words for words in asked if "-XX:ActiveProcessorCount=2" in words)
    assert two[-2:] == ["4", "5"] and two[two.index("Stops") + 1 :][:2] == ["revoke", "running"]
    bulk = next(words for words in asked if "bulk" in words)
    assert not any("RebiasThreshold" in word for word in bulk)


def test_no_jvm_is_said_and_one_that_fails_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> Iterator[Stop]:
        raise LockcrossError("it does not run")

    known: Any = SimpleNamespace(clock_mhz=lambda: estimate([2000.0]))
    monkeypatch.setattr(
        stopping, "by_program", lambda name, *_: iter([Stop(name, "ended", "so", [sampled(500)])])
    )
    measured = whole.Measurement("a processor", [], [0, 1])
    whole._stops(known, [], measured, lambda _: None)
    assert measured.notes == [stopping.NO_JVM] and measured.found["stop_signal_ended"].value == 1000
    monkeypatch.setattr(Jvm, "stops", fails)
    measured = whole.Measurement("a processor", [], [0, 1])
    whole._stops(known, [Jvm("java", 17)], measured, lambda _: None)
    assert measured.notes == ["stopping by HotSpot 17 was not measured: it does not run"]


def test_a_java_that_is_none_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "java"
    program(tmp_path, "java", "echo 'openjdk version \"17.0.1\"\nEclipse OpenJ9 VM' >&2")
    for java in (str(other), str(tmp_path / "none")):
        with pytest.raises(LockcrossError, match="no java of a HotSpot") as error:
            stopping.jvms([java])
        assert error.value.exit_code == 2
    program(tmp_path, "java", "echo 'openjdk version \"99\"\nOpenJDK 64-Bit Server VM' >&2")
    assert stopping.jvms([str(other)])[-1] == Jvm(str(other), 99)


# The programs themselves


@needs_two_cpus
@pytest.mark.parametrize("mechanism", stopping.MECHANISMS)
def test_every_mechanism_stops_an_owner_in_every_state(
    mechanism: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stopping, "_SAMPLES", 50)
    monkeypatch.setattr(stopping, "_RUNS", 1)
    stops = list(stopping.by_program(mechanism, CPUS, near))
    assert [stop.state for stop in stops] == list(stopping.OF_PROGRAM)
    runs = {stop.state: stop.quietest for stop in stops}
    assert all(run.samples == 50 and run.least <= run.median for run in runs.values())
    # One that runs has to answer; of one that has ended, memory or the kernel says so.
    assert runs["running"].median > runs["ended"].median


@needs_two_cpus
def test_an_owner_that_polls_now_and_then_is_waited_for() -> None:
    """It polls every 20 us, and the requester comes at any time."""
    places = map(str, CPUS[:2])
    words = [str(stopping.program()), "handshake", "unpolled", "200", *places]
    printed = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    assert json.loads(printed)["mean"] > 5_000


@pytest.mark.parametrize("words", ["", "handshake running 0", "shout ended 9", "signal asleep 9"])
def test_other_words_are_refused(words: str) -> None:
    done = subprocess.run([stopping.program(), *words.split()], capture_output=True, check=False)
    assert done.returncode == 2 and done.stderr


@needs_two_cpus
@pytest.mark.skipif(not 11 <= version_of("java") <= 17, reason="needs a JDK from 11 to 17")
def test_hotspot_revokes_a_bias_sooner_of_a_thread_that_has_ended() -> None:
    jvm = next(jvm for jvm in stopping.jvms() if jvm.release == version_of("java"))
    operation, known = jvm.runtime() or ("", stopping.KNOWN.runtimes["revoke"])
    runs = {}
    for state in ("none", "ended", "running_2cpus"):
        about = known.states.get(state, stopping.State())
        command = jvm.command(operation, known, state, about, CPUS)
        samples = command.index("Stops") + 3
        command[samples : samples + 2] = ["50", "1"]
        runs[state] = stopping.sampled(command)
    assert runs["none"].median < runs["ended"].median < runs["running_2cpus"].median
