"""States that another covers are left out under the weak models (proofs/checker/src/search), and no
verdict changes."""

from pathlib import Path

import pytest

from sweeps.questions.prove.proofs.own_checker import compiled, make_library
from tests import litmus_runs
from tests.proofs.checked import program, report


@pytest.fixture(scope="module")
def none_covered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library of a checker that goes through all states."""
    make_library(2)
    folder = tmp_path_factory.mktemp("none-covered")
    old = "constexpr uint64_t kAdjacent = 0xff00;"
    return litmus_runs.broken(folder, "weak_memory.cc", old, f"{old} if (threads_) return false;")


@pytest.mark.parametrize(
    ("label", "client", "model"),
    [
        ("tasuki", "exclusion:2x2", "weak"),
        ("tasuki", "condition:2", "weak"),
        ("j9_flat", "exclusion:2x2", "weak"),
        ("art_thin", "exclusion:2x2", "weak"),
        ("reservation", "exclusion:2x1", "weak"),
        ("asym_spin1", "exclusion:2x2", "weak-si"),
        ("go_mutex", "exclusion:3x1", "weak"),
    ],
)
def test_of_a_lock(label: str, client: str, model: str, none_covered: Path, tmp_path: Path) -> None:
    binary = compiled(program(label, client, model), tmp_path)
    said = report(binary, model)
    whole = report(litmus_runs.link(tmp_path / "client.o", tmp_path, none_covered), model)
    assert said["verdict"] == whole["verdict"] == "proved"
    assert said["executions"] == whole["executions"]
    assert said["states"] < whole["states"]
