"""The parts that the checker leaves out of a state under the weak models, since nobody will ask for
them (proofs/checker/src/models/weak.h), change no verdict, however much it knew when it looked."""

from pathlib import Path

import pytest

from tests import litmus_runs
from tests.proofs.checked import built, program, report

CLIENT = "exclusion:2x2"


@pytest.mark.parametrize("label", ["tasuki", "j9_flat"])
def test_of_a_lock(tmp_path: Path, label: str) -> None:
    binary = built(program(label, CLIENT, "weak"), tmp_path)
    whole, early, late = (
        report(binary, "weak", "--at-once", states) for states in ("1000000", "100", "4000")
    )
    assert early["states"] == late["states"] < whole["states"]
    for said in (whole, early, late):
        assert (said["verdict"], said["executions"]) == ("proved", whole["executions"])


def test_what_was_not_ahead_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without that, the parts left out depend on the knowledge at the time."""
    right = built(program("tasuki", CLIENT, "weak"), tmp_path)
    library = litmus_runs.broken(tmp_path, [("weak.cc", "looked_wrong_ = true;", ";")])
    wrong = litmus_runs.link(tmp_path / "client.o", tmp_path, library)
    monkeypatch.setenv(litmus_runs.FAULT, "0")
    said = [report(binary, "weak", "--at-once", "8000") for binary in (right, wrong)]
    assert said[0]["states"] != said[1]["states"]
