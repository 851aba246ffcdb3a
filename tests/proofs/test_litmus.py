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

TESTS = litmus.read()
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


# A fault in the checker: file, what stands there, what is put in its place, and a model under which
# the litmus tests must show it.
FAULTS = {
    "a full fence does not wait for the buffer": (
        "interleaved.cc",
        "node.op.order == Order::kSeqCst && buffer.count != 0",
        "!FAULT && node.op.order == Order::kSeqCst && buffer.count != 0",
        "tso",
    ),
    "an update does not wait for the buffer": (
        "interleaved.cc",
        "can = buffer.count == 0;",
        "can = true;",
        "tso",
    ),
    "a wider load does not wait": (
        "interleaved.cc",
        "return !contains(store.offset, store.size, at);",
        "return false;",
        "tso-wait",
    ),
    "a load does not see its own buffered store": (
        "interleaved.cc",
        "if (store.word == at.word)\n            word =",
        "if (store.word == at.word && !FAULT)\n            word =",
        "tso",
    ),
    "a load is served by the buffer at once": (
        "interleaved.cc",
        "if (node.at.shared || must_wait(buffer, node.at))",
        "if ((node.at.shared && !(FAULT && buffer.count != 0)) || must_wait(buffer, node.at))",
        "tso",
    ),
    "races with atomic accesses are missed": (
        "interleaved.cc",
        "        overlaps(next.at.offset, next.at.size, at);",
        "        overlaps(next.at.offset, next.at.size, at) && !FAULT;",
        "sc",
    ),
    "every load acquires": (
        "weak.cc",
        "if (acquires(order))\n                memory_",
        "if (acquires(order) || FAULT)\n                memory_",
        "weak",
    ),
    "every store releases": (
        "weak.cc",
        "return releases(op.order) ? kCur : kRel;",
        "return kCur;",
        "weak",
    ),
    "an update ends a release sequence": (
        "weak.cc",
        "memory_.join(passed_on_[part], passed_on);",
        "",
        "weak",
    ),
    "an update is not atomic": (
        "weak.cc",
        "node.op.is_update() ? parts_[part].units : UnitSet()",
        "node.op.is_update() && !FAULT ? parts_[part].units : UnitSet()",
        "weak",
    ),
    "stores are ordered as they are made": (
        "weak_memory.cc",
        "for (unsigned i = seen + 1; i <= history.messages.size(); i++) {",
        "for (unsigned i = FAULT ? history.messages.size() : seen + 1; "
        "i <= history.messages.size(); i++) {",
        "weak",
    ),
    "full fences are not ordered": (
        "weak_memory.cc",
        "std::copy_n(cur.words.begin(), timestamp_words_, fences_.words.begin());",
        "",
        "weak",
    ),
    "no thread's own store is read early": (
        "weak_memory.cc",
        "return buffered_[thread] >> slot & 1 &&",
        "return !FAULT && buffered_[thread] >> slot & 1 &&",
        "weak-si",
    ),
    "a CAS that fails waits for its thread's own store": (
        "weak.cc",
        "here.units, !option.writes, found);",
        "here.units, FAULT ? node.op.kind == Kind::kLoad : !option.writes, found);",
        "weak-si",
    ),
    "a full fence leaves a thread's own store to be read early": (
        "weak_memory.cc",
        "    buffered_[thread] = 0;\n}",
        "    if (!FAULT)\n        buffered_[thread] = 0;\n}",
        "weak-si",
    ),
    "a store may come between what a wide load has read together": (
        "weak_memory.cc",
        "history.messages[read.point].adjacent.add(UnitSet::only(u));",
        ";",
        "weak-si",
    ),
    "a fence from outside does not wait for the buffer": (
        "interleaved.cc",
        " && buffers_[other].count == 0)",
        " && (FAULT || buffers_[other].count == 0))",
        "tso",
    ),
    "no fence from outside comes before a buffered store": (
        "interleaved.cc",
        "(!buffers() || program_.interrupts())",
        "(!buffers() || (program_.interrupts() && !FAULT))",
        "tso",
    ),
    "a fence from outside is none": ("weak.cc", "memory_.full_fence(choice.option);", "", "weak"),
    "no fence from outside comes before a store": (
        "weak.cc",
        "(node.op.kind != Kind::kStore || program_.interrupts())",
        "(node.op.kind != Kind::kStore || (program_.interrupts() && !FAULT))",
        "weak",
    ),
    "a thread that ends executes no fence": (
        "weak_memory.cc",
        "    if (!interrupts) {",
        "    if (!interrupts || FAULT) {",
        "weak",
    ),
    "what a thread will access is not seen ahead": (
        "weak_memory.cc",
        "uses.slots |= uint64_t{history.units.bits()} << history.first_slot;",
        "",
        "weak",
    ),
    "what could race is not seen ahead": (
        "weak_memory.cc",
        "uses.events[event / 64] |= uint64_t{1} << event % 64;",
        ";",
        "weak",
    ),
    "full fences are not seen ahead": (
        "weak.cc",
        "uses.full_fence = op.order == Order::kSeqCst;",
        "",
        "weak",
    ),
    "acquire fences are not seen ahead": (
        "weak.cc",
        "uses.acquire_fence = acquires(op.order);",
        "",
        "weak",
    ),
    "stores that do not release are not seen ahead": (
        "weak.cc",
        "uses.store = op.is_atomic() && op.writes() && !releases(op.order);",
        "",
        "weak",
    ),
    "plain accesses are not noted": ("weak_memory.cc", "view.words[word] &= ~bit;", "", "weak"),
    "threads that wait for ever are not found": (
        "explorer.cc",
        "trap != UINT32_MAX)",
        "trap != UINT32_MAX && !FAULT)",
        "tso",
    ),
    "a state covers those that have seen less": (
        "saved_state.cc",
        "if (seen[i] > other_seen[i] + longer_[i])",
        "if (seen[i] > other_seen[i] + longer_[i] && !FAULT)",
        "weak",
    ),
    "a state covers those that know less": (
        "saved_state.cc",
        "if (more_[i] & ~less_[i])",
        "if ((more_[i] & ~less_[i]) && !FAULT)",
        "weak",
    ),
    "a state covers those with other old stores": (
        "saved_state.cc",
        "holds_ = covering == covered;",
        "",
        "weak",
    ),
    "a state covers those whose stores pass on less": (
        "saved_state.cc",
        "        compare_view();\n}",
        "if (FAULT) more_ += shape_.words, less_ += shape_.words; else compare_view();\n}",
        "weak",
    ),
    "a state covers what covers it": (
        "uncovered.cc",
        "machine_.covers(words_.at(kept), state)",
        "machine_.covers(FAULT ? state : words_.at(kept), FAULT ? words_.at(kept) : state)",
        "weak",
    ),
    "no end is looked for where states cover one another": (
        "explorer.cc",
        "if (machine_.has_subsumption()) {\n        go_through_classes(of_classes,",
        "if (machine_.has_subsumption() && !FAULT) {\n        go_through_classes(of_classes,",
        "weak",
    ),
}


@pytest.fixture(scope="module")
def broken(client: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All litmus tests, with a checker that has the fault that is asked for."""
    folder = tmp_path_factory.mktemp("broken")
    faults = [(name, old, new) for name, old, new, _ in FAULTS.values()]
    return litmus_runs.link(client, folder, litmus_runs.broken(folder, faults))


def test_a_checker_without_a_fault_is_right(broken: Path) -> None:
    assert not list(differing(broken, "weak"))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_checker_is_noticed(
    fault: str, broken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(litmus_runs.FAULT, str(list(FAULTS).index(fault)))
    ways = [(), LOOKS_AHEAD]
    for options in reversed(ways) if "seen ahead" in fault else ways:  # what is likelier first
        if any(differing(broken, FAULTS[fault][-1], *options)):
            return
    pytest.fail("every verdict is the literature's")


@pytest.mark.skipif(GENMC is None, reason="there is no genmc on PATH")
@pytest.mark.parametrize(
    ("model", "option"), [("sc", "--sc"), ("tso", "--tso"), ("weak", "--rc11")]
)
def test_genmc_agrees(model: str, option: str, tmp_path: Path) -> None:
    """Where an execution has a race and the outcome, GenMC may report either."""
    differ = []
    for test in TESTS:
        if test.has_mixed_sizes() or test.has_barriers() or test.waits():
            continue
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
