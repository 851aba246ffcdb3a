"""The checker of proofs/checker knows the literature's litmus tests, agrees with GenMC and with
brute force, and a fault in it is noticed."""

import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import litmus, litmus_runs, memory_models
from tests.litmus import MODELS, Instruction, Litmus
from tests.proofs.checked import faults, with_faults

TESTS = litmus.read()
FAULTS = faults("checker")
GENMC = shutil.which("genmc")
# Looks ahead at once, as it does else with programs of many states.
LOOKS_AHEAD = ("--at-once", "0")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All litmus tests, compiled."""
    return litmus_runs.compile_client(litmus.program(TESTS), tmp_path_factory.mktemp("litmus"))


@pytest.fixture(scope="module")
def program(client: Path) -> Path:
    """All litmus tests in one program."""
    return litmus_runs.link(client, client.parent, litmus_runs.library())


def differing(program: Path, model: str, *options: str) -> Iterator[str]:
    """Tests whose verdict is not the literature's."""
    for number, test in enumerate(TESTS):
        found = litmus_runs.verdict(program, model, number, *options)
        if found != test.verdicts[model]:
            yield f"{test.name}: {found}, not {test.verdicts[model]}"


@pytest.mark.parametrize(
    ("model", "options"),
    [*((model, ()) for model in MODELS), ("weak", LOOKS_AHEAD), ("weak-si", LOOKS_AHEAD)],
)
def test_the_checker_gives_the_verdict_of_the_literature(
    program: Path, model: str, options: tuple[str, ...]
) -> None:
    assert not list(differing(program, model, *options))


def test_the_tests_tell_the_models_apart() -> None:
    """Every model allows something that another forbids, and the other way round unless one is
    weaker than the other."""
    assert len(TESTS) >= 40
    assert len({test.name for test in TESTS}) == len(TESTS)
    columns = {model: tuple(test.verdicts[model] for test in TESTS) for model in MODELS}
    assert len(set(columns.values())) == len(MODELS)
    for model in MODELS[1:]:
        assert sum(test.verdicts[model] == "end" for test in TESTS) >= 10, model
        assert sum(test.verdicts[model] == "proved" for test in TESTS) >= 10, model


@pytest.fixture(scope="module")
def broken(client: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All litmus tests, with a checker that has the fault that is asked for."""
    folder = tmp_path_factory.mktemp("broken")
    return litmus_runs.link(client, folder, with_faults(folder, "checker"))


def test_a_checker_without_a_fault_is_right(broken: Path) -> None:
    assert not list(differing(broken, "weak"))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_checker_is_noticed(
    fault: str, broken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(litmus_runs.FAULT, str(list(FAULTS).index(fault)))
    ways = [(), LOOKS_AHEAD]
    for options in reversed(ways) if "seen ahead" in fault else ways:  # what is likelier first
        if any(differing(broken, FAULTS[fault]["model"], *options)):
            return
    pytest.fail("every verdict is the literature's")


@pytest.mark.skipif(GENMC is None, reason="there is no genmc on PATH")
@pytest.mark.parametrize(
    ("model", "option"), [("sc", "--sc"), ("tso", "--tso"), ("weak", "--rc11")]
)
def test_genmc_agrees(model: str, option: str, tmp_path: Path) -> None:
    """Where an execution has a race and the outcome, GenMC may report either."""
    differ = []
    for test in filter(Litmus.is_for_genmc, TESTS):
        source = tmp_path / "test.c"
        source.write_text(litmus.posix_program(test), encoding="utf-8")
        assert GENMC
        done = subprocess.run(
            [GENMC, option, str(source)], capture_output=True, text=True, check=False, timeout=300
        )
        said = done.stdout + done.stderr
        fails = "No errors were detected" not in said
        assert not fails or "Safety violation" in said or "race" in said, said
        if fails != (test.genmc[model] != "proved"):
            differ.append(test.name)
    assert not differ


def random_test(number: int, choose: random.Random, sizes: bool) -> Litmus:
    """A program of two or three short threads on few places."""
    registers = iter(f"r{i}" for i in range(99))

    def instruction() -> Instruction:
        kind = choose.choice("W W W R R R F add cas swap".split())
        if kind == "F":
            return Instruction(kind, order=choose.choice("sc sc rel acq acqrel".split()))
        size, offset = choose.choice([(1, 0), (1, 1), (2, 0)]) if sizes else (4, 0)
        values = [1, 2, 0x101, 0x203] if sizes else [1, 2]
        orders = {"W": "rlx rel", "R": "rlx acq"}.get(kind, "rlx acq rel acqrel")
        return Instruction(
            kind,
            "" if kind == "W" else next(registers),
            choose.choice("xxxy" if sizes else "xy"),
            size,
            offset,
            choose.choice(values) % (1 << 8 * size),
            choose.choice([0, 1]) if kind == "cas" else 0,
            choose.choice(orders.split()),
        )

    count = choose.choice([2, 2, 3])
    longest = (3 if sizes else 4) - (count == 3)
    threads = [
        tuple(instruction() for _ in range(choose.randint(2, longest))) for _ in range(count)
    ]
    return Litmus(f"random-{number}", tuple(threads), "0", {}, {})


@pytest.mark.parametrize("sizes", [False, True], ids=["words", "mixed sizes"])
@pytest.mark.parametrize(
    ("model", "options"),
    [("sc", ()), ("tso", ()), ("tso-wait", ()), ("weak", ()), ("weak", LOOKS_AHEAD)],
)
def test_random_programs_end_as_by_brute_force(
    model: str, options: tuple[str, ...], sizes: bool, tmp_path: Path
) -> None:
    choose = random.Random(20)
    tests = [random_test(i, choose, sizes) for i in range(15 if sizes else 40)]
    source = litmus.program(tests, prints=True)
    program = litmus_runs.build(source, tmp_path, litmus_runs.library())
    for number, test in enumerate(tests):
        printed, _ = litmus_runs.run(program, model, number, *options)
        found = set()
        for line in printed.splitlines():
            pairs = (word.split("=") for word in line.split())
            found.add(tuple(sorted((name, int(value)) for name, value in pairs)))
        assert found == memory_models.outcomes(test, model), test.threads
