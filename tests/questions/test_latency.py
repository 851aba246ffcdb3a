"""Line fits of latency sweeps and the ways to the region of interest, from known lines."""

from pathlib import Path

import pytest

from results.store.records import CalibrationRecord
from results.store.store import Store
from sweeps.questions.validate.latency import TWO_LENGTHS, agreements, regions, slope_checks, sweeps
from tests.fakes.validation import LATENCIES, Gem5Data


@pytest.fixture
def data(tmp_path: Path) -> Gem5Data:
    return Gem5Data(Store(tmp_path / "latency.db"))


def test_a_line_is_found_as_it_is(data: Gem5Data) -> None:
    data.sweep("gem5/timing", "quiesce", "stop", slope=0.9, offset=7)
    data.sweep("gem5/o3", "sentinel", "cas", slope=1.05, offset=-2)
    first, second = sweeps(data.store.connection)
    assert (first.op, first.engine, first.mechanism) == ("cas", "gem5/o3", "sentinel")
    assert (first.slope, first.offset) == (pytest.approx(1.05), pytest.approx(-2))
    assert first.residual == pytest.approx(0, abs=1e-9)
    assert [x for x, _ in first.points] == list(LATENCIES)
    assert (second.op, second.mechanism, second.ok) == ("stop", "quiesce", False)


def test_the_residual_is_the_largest_distance_from_the_line(data: Gem5Data) -> None:
    points = {0: 0.0, 10: 10.0, 20: 26.0}  # the line: 1.3 x - 1
    for set_to, measured in points.items():
        mechanism = {"mechanism_fence": "padding" if set_to else "none"}
        run = data.run("gem5/minor", "nop", 1.0, resolved=mechanism, cas_latency=set_to)
        data.store.add_calibrations(
            [
                CalibrationRecord(
                    "generic",
                    "x86_64",
                    "lock",
                    "gem5/minor",
                    set_to,
                    set_to,
                    "fence",
                    measured,
                    run,
                    run,
                )
            ]
        )
    (one,) = sweeps(data.store.connection)
    assert (one.slope, one.offset, one.residual) == (
        pytest.approx(1.3),
        pytest.approx(-1),
        pytest.approx(2),
    )
    assert one.mechanism == "padding"


@pytest.mark.parametrize(
    ("slope", "ok"), [(0.94, False), (0.96, True), (1.04, True), (1.06, False)]
)
def test_a_slope_must_be_near_one(data: Gem5Data, slope: float, ok: bool) -> None:
    data.sweep("gem5/timing", "quiesce", slope=slope)
    assert sweeps(data.store.connection)[0].ok is ok


def test_the_machines_own_latency_and_the_embedded_engine_are_no_sweep(data: Gem5Data) -> None:
    run = data.run("gem5/timing", "nop", 1.0)
    for engine, cas in (("gem5/timing", None), ("qemu", 0), ("qemu", 50)):
        data.store.add_calibrations(
            [CalibrationRecord("generic", "x86_64", "lock", engine, cas, cas, "cas", 5, run, run)]
        )
    assert sweeps(data.store.connection) == []


def test_mechanisms_of_one_model_are_compared(data: Gem5Data) -> None:
    data.sweep("gem5/minor", "fu_timing", isa="aarch64", flavour="lse", offset=3)
    data.sweep(
        "gem5/minor/sentinel", "sentinel", isa="aarch64", flavour="lse", slope=1.04, offset=16
    )
    data.sweep("gem5/o3", "sentinel", isa="aarch64", flavour="lse")  # another model
    data.sweep("gem5/minor", "sentinel", isa="x86_64")  # another ISA
    (one,) = agreements(sweeps(data.store.connection))
    assert (one.first.mechanism, one.second.mechanism) == ("fu_timing", "sentinel")
    assert (one.difference, one.offset) == (pytest.approx(0.04), pytest.approx(13))
    assert one.ok
    data.sweep("gem5/minor/sentinel", "sentinel", isa="aarch64", flavour="lse", slope=0.94)
    assert not agreements(sweeps(data.store.connection))[0].ok


def test_the_candidates_slopes_are_held_against_the_references(data: Gem5Data) -> None:
    data.sweep("gem5/o3", "sentinel", slope=1.04)
    data.sweep("gem5/o3/chain", "chain", slope=0.94)
    data.sweep("gem5/o3", "sentinel", "fence")  # the candidate has none
    data.sweep("qemu", "unknown", slope=0.988, offset=50)
    data.sweep("qemu", "unknown", isa="aarch64", flavour="lse")  # the reference has none
    assert slope_checks(data.store.connection) == []
    data.store.set_fact("validation_slopes", {"candidate": "qemu", "bar": 0.0505})
    near, far = slope_checks(data.store.connection)
    assert (near.reference.engine, near.candidate.engine) == ("gem5/o3", "qemu")
    assert (near.difference, near.met) == (pytest.approx(0.05), True)
    assert (far.difference, far.met) == (pytest.approx(0.988 / 0.94 - 1), False)


def test_regions_of_interest_by_three_methods(data: Gem5Data) -> None:
    # A start of 1000 cycles, then 20.2 a pair: 3020 and 5040.
    data.regions("x86_64", {"m5": 20.0, "pc_count": 20.1}, (3020.0, 5040.0))
    data.regions("ppc64le", {"pc_count": 20.0}, (3000.0, 5100.0))
    power, intel = regions(data.store.connection)
    assert (intel.engine, power.engine) == ("gem5/timing", "gem5/timing")
    assert intel.costs == {"m5": 20.0, "pc_count": 20.1, TWO_LENGTHS: 20.2}
    assert (intel.spread, intel.ok) == (pytest.approx(0.01), True)
    assert power.costs == {"pc_count": 20.0, TWO_LENGTHS: 21.0}
    assert (power.spread, power.ok) == (pytest.approx(0.05), False)


def test_one_method_alone_proves_nothing(data: Gem5Data) -> None:
    data.regions("x86_64", {"m5": 10.0}, (1000.0, 2000.0))
    data.store.connection.execute(
        "DELETE FROM run_metrics WHERE run_id IN "
        "(SELECT run_id FROM metrics WHERE name = 'pairs' AND value = 200)"
    )
    (one,) = regions(data.store.connection)
    assert (one.costs, one.spread, one.ok) == ({"m5": 10.0}, None, None)
