"""States that another covers are left out under the weak models (proofs/checker/src/search), and no
verdict changes. The checker's unit tests compare the cover relation with enumeration."""

from pathlib import Path

import pytest

from tests.proofs.checked import built, program, report


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
def test_of_a_lock(label: str, client: str, model: str, tmp_path: Path) -> None:
    binary = built(program(label, client, model), tmp_path)
    said = report(binary, model)
    whole = report(binary, model, "--no-subsumption")
    assert said["verdict"] == whole["verdict"] == "proved"
    assert said["executions"] == whole["executions"]
    assert said["states"] < whole["states"]
