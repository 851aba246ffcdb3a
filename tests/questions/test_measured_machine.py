"""The machine file that comes of a measurement, and `./lockcross measure`, which writes it."""

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sweeps.engines.native import host
from sweeps.engines.native.measure import machine_file
from sweeps.engines.native.measure.machine_file import document, power_of_two_sets
from sweeps.engines.native.measure.programs import Finding
from sweeps.engines.native.measure.whole import Measurement
from sweeps.model.isa import ISAS
from sweeps.model.machine import Figure, Machine, load_machine
from sweeps.support.toml import parse
from tests.commands import lockcross
from tests.questions.test_measure import CACHES, K

ORIGIN = ("test", "A test", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
MECHANISMS = tomllib.loads(Path(__file__).with_name("mechanisms.toml").read_text("utf-8"))
WHOLE = MECHANISMS.pop("whole")


@pytest.fixture(autouse=True)
def isa(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Of the host: x86_64 but where the test is of another."""
    host_isa: str = getattr(request, "param", "x86_64")
    monkeypatch.setattr(machine_file, "host_isa", lambda: host_isa)
    return host_isa


def measurement(**findings: float) -> Measurement:
    """A whole measurement; `findings` replace its own."""
    values = WHOLE | {name: 30.0 for isa in ISAS.values() for name in isa.fences} | findings
    found = Measurement('a "processor", model 1', CACHES, [0, 1])
    for name, value in values.items():
        found.found[name] = Finding(value, 0.5, f"what {name} means")
    return found


def machine(found: Measurement) -> Machine:
    return parse(Machine, document(found, *ORIGIN))


def figures(found: Measurement) -> Mapping[str, Figure]:
    return machine(found).figures("x86_64")


@pytest.mark.parametrize("isa", ISAS, indirect=True)
def test_a_measurement_is_a_machine_on_every_isa(isa: str) -> None:
    found = measurement()
    made = machine(found)
    assert (made.name, made.processor) == ("test", found.processor)
    assert (made.measured_on, made.clock_mhz.number) == (ORIGIN[2], 3210)
    own = made.figures(isa)
    expected = {"lat_l1": 5, "lat_l2": 12, "lat_memory": 395, "l1_size": 48 * K, "width": 6}
    expected |= {"l2_size": 2048 * K, "cas_success": 19, "cas_failure": 19, "rmw": 19}
    expected |= {"charge_unpark": 40000, "charge_stop_running": 0, "charge_yield": 1800}
    assert {name: own[name].number for name in expected} == expected
    assert "measured.stop_by_handshake is 900" in (own["charge_stop_ended"].why or "")
    for word in ("./lockcross measure test", "2026-01-02", found.processor, "spread 0.5", "means"):
        assert word in (own["cas_success"].source or "")
    assert made.measured["upgrade"].value == 250
    assert made.measured["l3_size"].value == CACHES[2].size


def test_the_machine_has_the_states_of_a_sleeper_that_were_told() -> None:
    awake = {"falls_asleep": 6000, "unpark_awake": 40_000, "wake_awake": 35_000}
    found = measurement(**awake, sleeps_long=2e6, unpark_long=38_000)
    assert not found.add("wake_long", Finding(100_000.0, 90_000.0, "noisy", alone=False))
    charges = machine(found).charges
    assert charges.number("falls_asleep") == 6000
    assert charges.number("wake_awake") == 35_000
    assert charges.unpark_long is None and charges.sleeps_long is None  # type: ignore[attr-defined]


def test_a_hand_over_takes_as_long_on_an_engine() -> None:
    """It is a load of the line, the end of a loop and a store, which retires and drains (3): the
    figures add up to it."""
    parts_of_it = "lat_l1 lat_dirty lat_upgrade lat_invalidate front_end mispredict lat_alu".split()
    for after in (-0.4, 60.0):
        own = figures(measurement(upgrade_after_dirty=after))
        total = sum(own[name].number for name in parts_of_it) + 1 + 3
        assert total == pytest.approx(210, abs=1)


def test_single_accesses_are_not_fitted_to_a_hand_over() -> None:
    """Where a load of a line that another CPU has written was measured."""
    for transfer in (210.0, 800.0):
        found = measurement(transfer=transfer, load_dirty=90.1)
        own = figures(found)
        expected = {"lat_dirty": 85, "lat_upgrade": 250, "lat_invalidate": 0, "time_of_flight": 1}
        assert {name: own[name].number for name in expected} == expected
        # The line goes whole to its reader, so nothing is upgraded.
        assert own["migratory"].value == 1
    del found.found["upgrade"]
    own, generic = figures(found), load_machine("generic").figures("x86_64")
    for name in ("lat_upgrade", "lat_invalidate", "migratory"):
        assert (own[name].number, own[name].value) == (generic[name].number, None)


@pytest.mark.parametrize(
    ("runs", "jitter"),
    [
        ([200.0] * 9, 0),
        ([0.0, *[200.0] * 9, 999.0], 0),  # a tenth at either end is left out
        ([200.0 + n for n in range(6)], 4),
        ([100.0, 150.0, 200.0, 300.0], 8),  # a tenth of lat_dirty
    ],
)
def test_hand_overs_vary_within_bounds(runs: list[float], jitter: int) -> None:
    found = measurement(load_dirty=90.1)
    assert figures(found)["lat_jitter"].assumption == 0
    found.matrix = {(0, 1): runs}
    assert figures(found)["lat_jitter"].value == jitter


def test_figures_of_the_window_follow_from_the_findings() -> None:
    """Those of machine redwood_cove were derived by hand from findings on the same processor."""
    found = Measurement("a processor", CACHES, [0, 1])
    for name, one in load_machine("granite_rapids").measured.items():
        found.found[name] = Finding(one.value, one.spread, one.meaning, one.unit)
    ours, by_hand = figures(found), load_machine("redwood_cove").figures("x86_64")
    compared = "width lat_forward_part forward_fail lat_pause atomic_tail atomic_start atomic_loads"
    compared += " cas_success cas_failure rmw fence_mfence fence_lfence full_fence store_order"
    compared += " acquire_load lat_l1 lat_l2 lat_memory warm"
    measured = {name for name in compared.split() if ours[name].value is not None}
    assert len(measured) > len(compared.split()) / 2  # the rest was too noisy that day
    for name in measured:
        assert ours[name].number == pytest.approx(by_hand[name].number, rel=0.2, abs=1), name


@pytest.mark.parametrize(
    ("case", "isa"),
    [(case, case.get("isa", "x86_64")) for case in MECHANISMS.values()],
    ids=MECHANISMS,
    indirect=["isa"],
)
def test_mechanisms_follow_from_their_loops(case: dict[str, Any], isa: str) -> None:
    made = machine(measurement(**case["findings"]))
    own, order = made.figures(isa), made.ordering[isa]
    figures, ordering = case.get("figures", {}), case.get("ordering", {})
    known = {name: own[name].value for name in figures}
    known |= {name: getattr(order, name).value for name in ordering}
    expected = (figures | ordering).items()
    assert known == {name: None if value is False else value for name, value in expected}
    sources = [own[name].source for name in figures]
    assert all("spread 0.5" in source for source in sources if source)


def test_the_machine_of_the_same_kind_stands_in_for_what_was_not_measured() -> None:
    kind = "vendor_id AuthenticAMD, cpu family 25, model 17, stepping 1"
    own = figures(replace(measurement(), processor=kind))
    assert own["rob"] == Figure(assumption=320, why="not measured; as machine zen4")


@pytest.mark.parametrize("isa", ISAS, indirect=True)
def test_what_was_left_out_is_assumed_with_its_reason(isa: str) -> None:
    unknown = [host.Cache(1, 64 * K, 0, 0), host.Cache(2, 1024 * K, 0, 0)]
    found = Measurement("unknown", unknown, [0])
    found.left_out |= {"wake": "it takes two CPUs", "call": "too noisy"}
    text, made = document(found, *ORIGIN), machine(found)
    generic = load_machine("generic").figures(isa)
    for name, figure in made.figures(isa).items():
        assert figure.source is None
        if name != "warm" and not name.startswith("charge_stop"):
            assert figure.number == generic[name].number, name
    assert made.charges.wake.why == "it takes two CPUs; as machine generic"
    why = made.figures(isa)["taken_return"].why or ""
    assert why.startswith("too noisy; as machine generic")
    assert "# wake is left out: it takes two CPUs" in text


def test_what_a_runtime_takes_to_stop_a_thread_is_charged_beside_a_handshake() -> None:
    handshake = {"stop_handshake_running": 1600.0, "stop_handshake_blocked": 40.0}
    hotspot = {"stop_hotspot17_running": 47600.0, "stop_hotspot17_running_2cpus": 301600.0}
    hotspot |= {"stop_hotspot17_parked_anew": 3440.0, "stop_hotspot17_parked_40frames": 5040.0}
    hotspot |= {"stop_hotspot17_ended": 640.0}
    charges = machine(measurement(**handshake, **hotspot)).charges
    running, blocked, ended = charges.stop_running, charges.stop_blocked, charges.stop_ended
    assert (running.number, running.interval) == (46000, (0, 300000))
    assert (blocked.number, blocked.interval) == (3400, (0, 5000))
    assert (ended.number, ended.interval) == (640, (0, 640))
    assert "less 1.6e+03 of a handshake" in (running.source or "")


def test_figures_that_contradict_one_another_are_refused() -> None:
    with pytest.raises(ValueError, match=r"cas_success: 2 is less than memory\.lat_l1, 5"):
        document(measurement(cas=2.0), *ORIGIN)


def test_a_cache_has_a_power_of_two_of_sets() -> None:
    assert [power_of_two_sets(cache) for cache in CACHES] == CACHES
    odd = host.Cache(2, 1280 * K, 20, 64)
    assert power_of_two_sets(odd) == odd
    assert power_of_two_sets(host.Cache(2, 1536 * K, 16, 64)).size == 1024 * K


def test_a_machine_is_listed_with_what_was_measured() -> None:
    assert load_machine("granite_rapids").measured["cas"].value > 0
    listed = lockcross("machines", "granite_rapids").stdout
    assert "stop_by_signal" in listed and "no-ops in a cycle" in listed
