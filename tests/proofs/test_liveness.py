"""Data that the checker takes for dead on a thread's stack are dead: junk there changes nothing,
and where everything is kept the verdicts are the same (proofs/checker/liveness)."""

import subprocess
from pathlib import Path

import pytest

from sweeps.questions.prove.proofs.own_checker import (
    ANALYSED,
    LINK,
    compiled,
    is_analysed,
    make_library,
    with_table,
)
from sweeps.questions.prove.proofs.programs import compiler
from tests import litmus, litmus_runs
from tests.proofs.checked import program, report

# A lock of each kind; revocable's sections are the largest pieces of code.
LOCKS = (
    "dekker mcs tasuki reservation asym_spin1 to_lock revocable hotspot_light art_thin j9_flat"
).split()
TESTS = litmus.read()
pytestmark = pytest.mark.skipif(
    not is_analysed(), reason=f"the analysis is held to GCC {ANALYSED[0]} to {ANALYSED[-1]}"
)


@pytest.mark.parametrize("model", ["tso", "weak"])
@pytest.mark.parametrize("label", LOCKS)
def test_of_a_lock(tmp_path: Path, label: str, model: str) -> None:
    make_library(2)
    one = program(label, "exclusion:2x1", model)
    model += "-si" * (label == "asym_spin1" and model == "weak")
    binary = compiled(one, tmp_path)
    said = report(binary, model)
    assert said["verdict"] == "proved"
    assert report(binary, model, "--junk", "1") == said
    whole = report(with_all_live(tmp_path), model)
    assert (whole["verdict"], whole["executions"]) == (said["verdict"], said["executions"])
    assert whole["states"] >= said["states"]


def with_all_live(folder: Path) -> Path:
    """Return the program that was compiled into a folder, without the table of live data."""
    made, binary = folder / "whole.o", folder / "whole"
    _call(compiler(), "-c", str(folder / "client.s"), "-o", str(made))
    library = litmus_runs.BUILT / "libprove.a"
    _call("g++", *LINK, str(made), str(library), "-o", str(binary))
    return binary


def _call(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


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
    make_library(2)
    one = program(label, client, model)
    binary = compiled(one, tmp_path)
    said = report(binary, model, "--states", "100000")
    assert "failure" not in said
    assert report(binary, model, "--states", "100000", "--junk", "1") == said


# A fault in what finds the dead: file, what stands there, and what is put in its place. Junk in
# what is not dead must show it in a client of revocable or tasuki.
FAULTS = {
    "a compare-and-exchange does not read what it expects": (
        "liveness.cc",
        "place < objects_[call].second; place++)",
        "place < objects_[call].second && !FAULT; place++)",
    ),
    "a pop reads nothing": ("liveness.cc", "live[kKept + below] |= needed;", ";"),
    "a function gives no register back": ("liveness.cc", "live[r] |= at_return(r);", ";"),
    "what is changed is not read": (
        "liveness.cc",
        "read(i, last, bytes, kRead, live);",
        "written(i, last, bytes, live);",
    ),
    "the base of an address is not read": (
        "liveness.cc",
        "if (operand.kind == Kind::kMemory && is_kept(reg))",
        "if (operand.kind == Kind::kMemory && is_kept(reg) && !FAULT)",
    ),
    "jumps go nowhere": ("liveness.cc", "next.push_back(label->second);", ";"),
    "nothing is behind a jump that may not be taken": (
        "liveness.cc",
        "bool stops = action == Action::kJump ||",
        "bool stops = (FAULT ? jumps : action == Action::kJump) ||",
    ),
    "a function is gone through once": ("liveness.cc", "changed |= before != live_[i];", ""),
    "a slot is elsewhere": (
        "liveness.cc",
        "int64_t{depths_[i]} - displacement;",
        "FAULT ? displacement : int64_t{depths_[i]} - displacement;",
    ),
    "a caller needs no register": (
        "frames.cc",
        "uint8_t live = 0xff;",
        "uint8_t live = FAULT ? 0 : 0xff;",
    ),
    "a register is taken for another": (
        "frames.cc",
        "8 * (kSavedRegisters - 1 - r)",
        "8 * (FAULT ? r : kSavedRegisters - 1 - r)",
    ),
    "callers are looked at after those that they call": (
        "frames.cc",
        "size_t i = frames_.size(); i-- > 0;",
        "size_t n = frames_.size(), k = n, i; k-- > 0 && (i = FAULT ? n - 1 - k : k, true);",
    ),
}
CLIENTS = [("tasuki", "several:2"), ("revocable", "exclusion:2x1")]


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Path]]:
    """A library with the fault that is asked for, and the folders of two compiled clients."""
    library = litmus_runs.broken(tmp_path_factory.mktemp("broken"), list(FAULTS.values()))
    folders = [tmp_path_factory.mktemp("client") for _ in CLIENTS]
    for folder, (label, client) in zip(folders, CLIENTS, strict=True):
        compiled(program(label, client, "tso"), folder)
    return library, folders


@pytest.mark.parametrize("fault", [-1, *range(len(FAULTS))], ids=["none", *FAULTS])
def test_a_fault_is_noticed(
    fault: int, broken: tuple[Path, list[Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(litmus_runs.FAULT, str(fault))
    library, folders = broken
    assert any(shows(library, folder) for folder in folders) == (fault >= 0)


def shows(library: Path, folder: Path) -> bool:
    """Tell whether a checker says something else of a client where junk is in data that it takes
    for dead."""
    liveness = library.parent / "liveness"
    made = with_table(folder / "client.s", lambda command: _call(*command), liveness)
    _call("g++", *LINK, str(made), str(library), "-o", str(folder / "broken"))
    bounds = ["--states", "20000", "--seconds", "20"]
    said = [report(folder / "broken", "tso", *bounds, "--junk", seed) for seed in ("0", "1")]
    return said[0] != said[1]
