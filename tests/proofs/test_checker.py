"""The checker of proofs/checker: its unit tests, its reports on failures, bounds, random runs."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from sweeps.questions.prove.proofs.own_checker import building
from tests import litmus_runs
from tests.litmus import MODELS
from tests.litmus_runs import SOURCES
from tests.proofs.checked import report

# As in `bodies` of clients.c.
NAMES = (
    "assertion fatal wild endless waits circles copies beyond invariant large local late stuck "
    "perhaps-beyond halts-beyond flood"
).split()


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All clients of clients.c."""
    text = Path(__file__).with_name("clients.c").read_text(encoding="utf-8")
    return litmus_runs.build(text, tmp_path_factory.mktemp("client"), litmus_runs.library())


def result_of(program: Path, name: str, *options: str, model: str = "sc") -> dict[str, Any]:
    return report(program, model, "--parameter", str(NAMES.index(name)), *options)


@pytest.mark.long
def test_unit_tests() -> None:
    command = ["make", "-C", str(SOURCES), f"BUILD={litmus_runs.BUILT}", "test"]
    with building():
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("name", "kind", "what"),
    [
        ("assertion", "assertion", "the word is 8"),
        ("fatal", "assertion", "it ends here"),
        ("wild", "assertion", "null pointer"),
        ("endless", "loop", "without prove_wait"),
        ("stuck", "assertion", "accesses no shared memory"),
        ("waits", "deadlock", "wait for ever"),
        ("circles", "deadlock", "wait for ever"),
        ("invariant", "invariant", "x stays 0"),
        ("local", "assertion", "another thread's local variable"),
        ("late", "deadlock", "wait for ever"),
    ],
)
def test_failures(program: Path, model: str, name: str, kind: str, what: str) -> None:
    result = result_of(program, name, model=model)
    assert (result["verdict"], result["failure"]["kind"]) == ("failed", kind)
    assert what in result["failure"]["what"]


@pytest.mark.parametrize("model", MODELS)
def test_the_clients_own_bound_is_no_end(program: Path, model: str) -> None:
    """Where nothing but the bound can be reached nobody knows whether a thread waits for ever."""
    for name in ("beyond", "halts-beyond"):
        result = result_of(program, name, model=model)
        assert (result["verdict"], result["bounds"]["reached"]) == ("bound", "the client's own")


@pytest.mark.parametrize("model", MODELS)
def test_structures_are_copied(program: Path, model: str) -> None:
    assert result_of(program, "copies", model=model)["verdict"] == "proved"


def test_a_trace_says_where_and_what(program: Path) -> None:
    first, last = result_of(program, "assertion")["trace"]
    assert (first["access"], last["access"]) == ("load rlx", "fails")
    assert (first["object"], first["value"], first["function"]) == ("word", "7", "load")
    assert first["place"].startswith("client.c:")
    assert result_of(program, "waits")["trace"][-1]["access"].startswith("waits for ever")
    buffered = result_of(program, "late", model="tso")["trace"]
    assert any(row["buffer"].endswith(":4=1") for row in buffered)
    assert any(row["access"] == "becomes visible" for row in buffered)


def test_bounds_are_told(program: Path) -> None:
    result = result_of(program, "flood", model="weak")
    assert result["verdict"] == "bound"
    assert result["bounds"]["reached"] == "stores to one place that threads may still read"
    result = result_of(program, "large", "--states", "50")
    bounds = result["bounds"]
    assert (result["verdict"], bounds["reached"], bounds["states"]) == ("bound", "states", 50)
    small = result_of(program, "large", "--buffer", "2", "--states", "5000", model="tso")
    assert small["bounds"]["buffer_was_full"]
    assert bounds["buffer"] == 63
    some = result_of(program, "perhaps-beyond")
    assert some["verdict"] == "proved" and some["bounds"]["beyond_client_bound"] > 0


def test_random_runs(program: Path) -> None:
    found = result_of(program, "waits", "--random", "5", model="weak")
    assert found["failure"]["kind"] == "deadlock"
    assert result_of(program, "late", "--random", "200")["failure"]["kind"] == "deadlock"
    none = result_of(program, "copies", "--random", "5")
    assert (none["verdict"], none["bounds"]["reached"]) == ("bound", "runs")


@pytest.mark.parametrize(
    "options", [["--model", "arm"], ["--states"], ["--seed", "x"], ["-h", "1"]]
)
def test_a_wrong_command_line(program: Path, options: list[str]) -> None:
    done = subprocess.run([program, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("prover: ")
    assert "usage" in done.stderr


def test_text_is_for_people(program: Path) -> None:
    command = [program, "--model", "sc", "--text"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stdout.startswith("failed under sc")
