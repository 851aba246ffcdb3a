"""The gem5 engine as far as it can be shown without a gem5: finding, refusing and reading."""

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from results.errors import LockcrossError
from sweeps.engines.base import Limits, ProcessResult, RunOutcome, load_engine
from sweeps.engines.gem5 import engine as gem5_latency
from sweeps.engines.gem5 import find as gem5_find
from sweeps.engines.gem5 import output as gem5_output
from sweeps.engines.gem5.find import CONFIGS, figures_of
from sweeps.model.cell import Cell
from sweeps.model.isa import ISAS
from sweeps.programs import Builder, Mechanisms, Program
from tests.commands import lockcross, program
from tests.engines.outcomes import ENDED, GUEST, OUTPUTS, ended
from tests.fakes.cells import cell_of

sys.path.insert(0, str(CONFIGS))
from lockcross_gem5 import elf, exits, figures

MODELS = ("timing", "minor", "o3")
COMPILED = ("sentinel", "padding", "quiesce", "chain")


def cell(engine: str = "gem5/timing", isa: str = "x86_64", **more: object) -> Cell:
    """An uncontended cell."""
    return cell_of(engine=engine, flavour=ISAS[isa].flavours[0], **more)


# What is found ----------------------------------------------------------------------------------


@pytest.fixture
def no_gem5(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A PATH without gem5, whose only folder is returned."""
    for name in ("GEM5", *gem5_find.VARIABLES.values()):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    gem5_find.ask.cache_clear()
    return tmp_path


def gem5_that_says(folder: Path, version: str, models: dict[str, list[str]]) -> Path:
    """A program that describes itself as a gem5 would."""
    said = json.dumps({"gem5_version": version, "models": models, "memories": ["classic"]})
    program(folder, "gem5", f"echo 'banner'\necho 'lockcross-gem5: {said}'")
    return folder / "gem5"


ALL = {isa: list(MODELS) for isa in ISAS}


def test_a_missing_gem5_is_said_with_its_documentation(no_gem5: Path) -> None:
    with pytest.raises(LockcrossError, match="gem5 is not found; name its binary in GEM5") as error:
        gem5_find.find_gem5("x86_64")
    assert gem5_find.DOCUMENTATION in error.value.message
    assert error.value.exit_code == 1


@pytest.mark.parametrize("version", ["22.1.0.0", "23.1", "DEVELOP-FOR-23.2"])
def test_an_old_gem5_is_said(no_gem5: Path, version: str) -> None:
    gem5_that_says(no_gem5, version, ALL)
    with pytest.raises(LockcrossError, match=f"is version {version}; 24.0 or later is needed"):
        gem5_find.find_gem5("x86_64")


def test_a_gem5_without_an_isa_is_said(no_gem5: Path) -> None:
    gem5_that_says(no_gem5, "24.0.0.1", {"x86_64": ["timing"], "aarch64": [], "ppc64le": []})
    assert gem5_find.find_gem5("x86_64").models["x86_64"] == ("timing",)
    with pytest.raises(LockcrossError, match=r"no POWER cores, only x86-64.*GEM5_POWER"):
        gem5_find.find_gem5("ppc64le")


def test_one_binary_an_isa(no_gem5: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gem5_that_says(no_gem5, "24.0.0.1", {"x86_64": ["o3"]})
    folder = no_gem5 / "arm"
    folder.mkdir()
    path = gem5_that_says(folder, "25.0", {"aarch64": ["o3"]})
    monkeypatch.setenv("GEM5_ARM", str(path))
    assert gem5_find.find_gem5("aarch64").version == "25.0"
    assert gem5_find.find_gem5("x86_64").version == "24.0.0.1"


def test_something_that_is_no_gem5_is_said(no_gem5: Path) -> None:
    program(no_gem5, "gem5.opt", "echo 'what is run.py?' >&2\nexit 1")
    with pytest.raises(LockcrossError, match=r"is it a gem5\? It said: what is run.py"):
        gem5_find.find_gem5("x86_64")


def test_a_variable_that_names_nothing_is_said_in_one_line() -> None:
    done = lockcross("run --engine gem5/o3 --lock thin --workload sync", GEM5_X86="/nowhere/gem5")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "GEM5_X86=/nowhere/gem5: not an executable program" in done.stderr


def test_the_doctor_does_not_ask_for_a_gem5(no_gem5: Path) -> None:
    assert "absent  engine gem5: gem5 for x86_64 (optional): " in lockcross("doctor").stdout
    path = gem5_that_says(no_gem5, "22.1", ALL)
    said = lockcross("doctor", GEM5=str(path)).stdout
    assert "not ok  engine gem5: gem5 for x86_64: " in said and "absent  engine gem5" not in said


# Labels and mechanisms --------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_labels(model: str) -> None:
    for label in (f"gem5/{model}", f"gem5/{model}/pc_count", "gem5/o3/ruby/pc_count"):
        assert load_engine(label).name == label


@pytest.mark.parametrize(
    "label", ["gem5", "gem5/", "gem5/o4", "gem5/o3/x", "gem5/minor/ruby", "gem6"]
)
def test_unknown_labels_are_the_users_mistake(label: str) -> None:
    with pytest.raises(LockcrossError, match=r"known are|allowed are") as error:
        load_engine(label)
    assert error.value.exit_code == 2


def test_a_gem5_without_ruby_is_said(no_gem5: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEM5", str(gem5_that_says(no_gem5, "24.0.0.1", ALL)))
    why = load_engine("gem5/o3/ruby").refuses(cell("gem5/o3/ruby"))
    assert why == "engine: gem5/o3/ruby: this gem5 was built without Ruby's MESI_Two_Level"


def test_nothing_set_nothing_built_in() -> None:
    found = gem5_latency.latencies(cell(), "timing", "", {"stop_running": 0, "park": 0}, 1)
    assert found.built_in == Mechanisms()
    assert found.program == found.config == {}
    assert Program.of(cell(), found.built_in) == Program.of(cell())


@pytest.mark.parametrize(
    ("isa", "model", "atomic", "fence"),
    [
        ("x86_64", "timing", "quiesce", "quiesce"),
        ("aarch64", "minor", "fu_timing", "fu_timing"),
        ("aarch64", "o3", "sentinel", "sentinel"),
        ("ppc64le", "minor", "sentinel", "padding"),
        ("ppc64le", "timing", "padding", "padding"),
    ],
)
def test_mechanisms(isa: str, model: str, atomic: str, fence: str) -> None:
    wanted = cell(f"gem5/{model}", isa, cas_latency=60, fence_latency=30)
    found = gem5_latency.latencies(wanted, model, "", {"stop_running": 100}, 2)
    assert found.mechanisms == {"atomic": atomic, "fence": fence, "charge": "padding"}
    assert "fu_timing" not in vars(found.built_in).values()
    amounts = {**found.program, **found.config}
    turn = gem5_latency.CYCLES_PER_TURN[isa, model]
    assert amounts["latency_stop_running"] == round(100 / turn)
    told = {"quiesce": 60, "sentinel": 60, "fu_timing": 60, "padding": round(60 / turn)}[atomic]
    assert told in amounts.values()


def test_a_forced_mechanism_takes_the_place_of_the_default() -> None:
    wanted = cell("gem5/minor/sentinel", "aarch64", cas_latency=60)
    found = gem5_latency.latencies(wanted, "minor", "sentinel", {}, 2)
    assert found.config == {"sentinel_atomic": 60}


@pytest.mark.parametrize(
    ("flavour", "mechanism", "fence"),
    [
        *((flavour, m, m) for flavour in ("lock", "lse", "llsc") for m in COMPILED),
        ("larx", "sentinel", "padding"),
        ("larx", "padding", "padding"),
    ],
)
def test_programs_with_mechanisms_compile(flavour: str, mechanism: str, fence: str) -> None:
    plain = Program("sync", "reservation", "full", flavour)
    changed = replace(plain, mechanisms=Mechanisms(mechanism, fence, "padding", 9, 7))
    built = Builder().build([changed, plain])
    assert built[changed].digest != built[plain].digest


# Figures, ends, addresses -----------------------------------------------------------------------


COSTS = {"rmw", "fence_mfence"}
# What the model timing does anyway.
OWN = {"width": 1, "blocking": 1, "lat_mul": 1, "mispredict": 0, "offset_max": 0}
CODE = {"fetch_bytes": 0, "micro_operations": 0}


@pytest.mark.parametrize(
    ("model", "isa", "told", "refused"),
    [
        ("timing", "ppc64le", OWN, set()),
        ("timing", "ppc64le", OWN | {"width": 2, "lat_mul": 3}, {"width", "lat_mul"}),
        # x86 code is fetched and cracked as gem5 does.
        ("timing", "x86_64", CODE, {"fetch_bytes"}),
        ("o3", "x86_64", CODE, {"micro_operations"}),
        ("minor", "aarch64", CODE, {"micro_operations"}),
        ("o3", "ppc64le", CODE, set()),
        # A fill that is faster than the path.
        ("timing", "ppc64le", {"lat_l2": 4, "lat_memory": 15}, {"lat_l2", "lat_memory"}),
        # Costs of atomics and fences are the model's own.
        *((one, "x86_64", dict.fromkeys(COSTS, 9), COSTS) for one in MODELS),
    ],
)
def test_what_a_model_does_otherwise_is_refused(
    model: str, isa: str, told: dict[str, int], refused: set[str]
) -> None:
    found = figures.refused(model, isa, told, "classic")
    assert set(found) == refused and all(found.values())


def test_rubys_caches_refuse_other_figures_than_the_classic_ones() -> None:
    told = {"time_of_flight": 1, "lat_l1": 1, "lat_l2": 5, "lat_memory": 16, "lat_dirty": 24}
    assert set(figures.refused("o3", "x86_64", told, "ruby")) == {"lat_l1", "lat_l2", "lat_dirty"}
    classic = figures.refused("o3", "x86_64", told, "classic")
    assert set(classic) == {"time_of_flight", "lat_memory", "lat_dirty"}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("isa", ["x86_64", "ppc64le", "aarch64"])
def test_every_figure_of_a_machine_is_known(model: str, isa: str) -> None:
    told = {k: n for k, n in figures_of("generic", isa).items() if not k.startswith("charge_")}
    found = figures.refused(model, isa, {**told, "surprise": 1}, "classic")
    assert [k for k, why in found.items() if "no such figure" in why] == ["surprise"]
    assert {"lat_dirty", "lat_upgrade", "lat_invalidate", "cas_success"} <= set(found)
    assert not {"line", "lat_l1", "l2_size", "clock_mhz"} & set(found)


LAST = "exiting with last active thread context"


@pytest.mark.parametrize(
    ("cause", "code", "meaning"),
    [
        (LAST, 0, "finished"),
        (LAST, 1, "guest"),
        ("simulate() limit reached", 0, "limit"),
        ("user interrupt received", 0, "interrupted"),
        ("checkpoint", 0, "unexpected"),
    ],
)
def test_every_end_is_classified(cause: str, code: int, meaning: str) -> None:
    assert exits.classify(cause, code) == meaning


def test_work_items_are_events() -> None:
    assert exits.announced("workbegin", 3) == ("begin", 3, 0)
    assert exits.announced("workbegin", 7 << 8 | 1) == ("phase", 1, 7)
    assert exits.announced("workend", 2) == ("end", 2, 0)
    assert exits.announced("m5_exit instruction encountered", 0) is None


@pytest.mark.parametrize("flavour", ["lock", "larx", "lse"])
def test_functions_are_found_in_programs(flavour: str) -> None:
    nop = Program("sync", "nop", "full", flavour)
    path = Builder().build([nop])[nop].path
    names = ["runtime_region_begin", "runtime_phase", "runtime_region_end"]
    found = elf.addresses(path, names)
    assert sorted(found) == sorted(names) and len(set(found.values())) == 3
    with pytest.raises(ValueError, match="no function nobody"):
        elf.addresses(path, ["nobody"])


# What a run says --------------------------------------------------------------------------------

REPORT = json.loads((OUTPUTS / gem5_output.REPORT).read_text("utf-8"))
BEGIN, END = REPORT["events"]


def read(
    folder: Path,
    report: Mapping[str, object] = {},
    guest: Mapping[str, object] = {},
    end: ProcessResult = ENDED,
) -> RunOutcome:
    """Read a run of which these parts of the report and of the program's line are others."""
    (folder / "lockcross.json").write_text(json.dumps({**REPORT, **report}))
    (folder / "guest.out").write_text(json.dumps({**GUEST, **guest}) + "\n")
    return gem5_output.read(cell(), Limits(instructions=5), end, folder, {"atomic": "quiesce"})


def test_a_good_run_is_read_with_its_units(tmp_path: Path) -> None:
    found = read(tmp_path)
    assert found.cause == ""
    assert found.metrics["cycles"] == (600.0, "cycles")
    assert found.metrics["cycles_per_pair"] == (60.0, "cycles/pair")
    assert found.metrics["instructions"] == (300.0, "Count")
    assert found.metrics["micro_operations"] == (400.0, "Count")
    assert found.resolved["refused.lat_dirty"] == "the crossbar decides"
    assert found.resolved["mechanism_atomic"] == "quiesce"
    assert found.resolved["mechanism_fence"] == "none"


@pytest.mark.parametrize(
    ("changed", "cause"),
    [
        ({"end": ended(3)}, "cycle limit: 5"),
        ({"end": ended(-9, exceeded="CPU time limit: 9 s")}, "CPU time limit: 9 s"),
        ({"end": ended(-6, stderr="panic: lost\nmore")}, "killed by SIGABRT: panic: lost"),
        ({"end": ended(-40)}, "gem5 was killed by signal 40"),
        ({"end": ended(4, stderr="lockcross-gem5: unexpected: checkpoint")}, "checkpoint"),
        ({"guest": {"ok": False, "error": "lost update"}}, "check failed: lost update"),
        ({"guest": {"lock": "tasuki"}}, "to another run"),
        ({"guest": {"pairs": -1}}, "pairs: -1"),
        ({"report": {"events": []}}, "not every core was in the region"),
        ({"report": {"cores": 2}}, "to another run"),
        ({"report": {"end": {"cause": "x", "class": "guest"}}}, "end.code: missing"),
        ({"report": {"total_cycles": -1.0}}, "total_cycles is -1"),
        ({"report": {"events": [BEGIN, END | {"cycle": 99.0}]}}, "cycles is -1"),
        ({"report": {"events": [BEGIN, END | {"cycle": math.nan}]}}, "is nan"),
        ({"report": {"surprise": 1}}, "does not match the schema"),
    ],
)
def test_a_bad_run_says_why(tmp_path: Path, changed: dict[str, Any], cause: str) -> None:
    found = read(tmp_path, **changed)
    assert cause in found.cause
    assert not found.metrics


def test_phases_last_until_the_next_one(tmp_path: Path) -> None:
    phases = [
        {"event": "phase", "core": 0, "phase": n, "cycle": c} for n, c in ((1, 150.0), (2, 400.0))
    ]
    metrics = read(tmp_path, {"events": [BEGIN, END, *phases]}).metrics
    assert metrics["phase_1_cycles"][0] == 250.0
    assert metrics["phase_2_cycles"][0] == 300.0
