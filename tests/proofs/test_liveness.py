"""Data that the checker takes for dead on a thread's stack are dead: junk there changes nothing,
and where everything is kept the verdicts are the same (proofs/checker/liveness)."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from sweeps.questions.prove.proofs.own_checker import ANALYSED, is_analysed, with_table
from sweeps.questions.prove.proofs.programs import compiler
from tests import litmus, litmus_runs
from tests.proofs.checked import built, faults, program, report, with_faults

# A lock of each kind; revocable's sections are the largest pieces of code.
LOCKS = (
    "dekker mcs tasuki reservation asym_spin1 to_lock revocable hotspot_light art_thin j9_flat"
).split()
TESTS = litmus.read()
FAULTS = faults("liveness")
pytestmark = pytest.mark.skipif(
    not is_analysed(), reason=f"the analysis is held to GCC {ANALYSED[0]} to {ANALYSED[-1]}"
)


def _call(command: Sequence[str]) -> None:
    subprocess.run(command, check=True)


def with_all_live(folder: Path) -> Path:
    """Return the program that was compiled into a folder, without the table of live data."""
    made = folder / "whole.o"
    _call([compiler(), "-c", str(folder / "client.s"), "-o", str(made)])
    return litmus_runs.link(made, folder, litmus_runs.BUILT / "libprove.a")


@pytest.mark.parametrize("model", ["tso", "weak"])
@pytest.mark.parametrize("label", LOCKS)
def test_of_a_lock(tmp_path: Path, label: str, model: str) -> None:
    model += "-si" * (label == "asym_spin1" and model == "weak")
    binary = built(program(label, "exclusion:2x1", model), tmp_path)
    said = report(binary, model)
    assert said["verdict"] == "proved"
    assert report(binary, model, "--junk", "1") == said
    whole = report(with_all_live(tmp_path), model)
    assert (whole["verdict"], whole["executions"]) == (said["verdict"], said["executions"])
    assert whole["states"] >= said["states"]


@pytest.fixture(scope="module")
def litmus_tests(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("litmus")
    return litmus_runs.build(litmus.program(TESTS), folder, litmus_runs.library())


@pytest.mark.parametrize("model", ["tso", "weak"])
def test_of_the_litmus_tests(litmus_tests: Path, model: str) -> None:
    for number in range(len(TESTS)):
        plain, junk = (
            litmus_runs.run(litmus_tests, model, number, "--junk", seed) for seed in ("0", "1")
        )
        for _, said in (plain, junk):
            del said["seconds"]
        assert plain == junk, TESTS[number].name


@pytest.mark.parametrize("model", ["sc", "tso", "weak"])
@pytest.mark.parametrize("label", ["revocable", "revocable:unmodified"])
@pytest.mark.parametrize("client", ["crowd:4", "several:2"])
def test_revocable_is_proved(tmp_path: Path, client: str, label: str, model: str) -> None:
    """Nodes that only seemed to behave alike once made these fail."""
    binary = built(program(label, client, model), tmp_path)
    said = report(binary, model, "--states", "100000")
    assert "failure" not in said
    assert report(binary, model, "--states", "100000", "--junk", "1") == said


# Junk in what a faulty analysis takes for dead must show the fault in one of these.
CLIENTS = [("tasuki", "several:2"), ("revocable", "exclusion:2x1")]


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Path]]:
    """A library with the fault that is asked for, and the folders of two compiled clients."""
    library = with_faults(tmp_path_factory.mktemp("broken"), "liveness")
    folders = [tmp_path_factory.mktemp("client") for _ in CLIENTS]
    for folder, (label, client) in zip(folders, CLIENTS, strict=True):
        built(program(label, client, "tso"), folder)
    return library, folders


def shows(library: Path, folder: Path) -> bool:
    """Tell whether junk in what a checker takes for dead changes what it says of a client."""
    made = with_table(folder / "client.s", _call, library.parent / "liveness")
    binary = litmus_runs.link(made, folder, library)
    bounds = ["--states", "20000", "--seconds", "20"]
    said = [report(binary, "tso", *bounds, "--junk", seed) for seed in ("0", "1")]
    return said[0] != said[1]


@pytest.mark.parametrize("fault", [-1, *range(len(FAULTS))], ids=["none", *FAULTS])
def test_a_fault_is_noticed(
    fault: int, broken: tuple[Path, list[Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(litmus_runs.FAULT, str(fault))
    library, folders = broken
    assert any(shows(library, folder) for folder in folders) == (fault >= 0)
