"""The litmus tests of proofs/checker/litmus/: reads them and writes them as C.

A test has threads, each a line of instructions:

    W x 1 rlx         a store; rlx, rel, acq, acqrel, sc or plain
    R a x acq         a load into a register
    F sc              a fence
    B                 a process-wide barrier
    add a x 1 rlx     an update that returns the old value; swap, too
    cas a x 0 1 acq   compares with 0, stores 1; returns the old value
    if a == 1         the rest is done only then
    await x 1 rlx     loads until it finds 1

x, y, z and w are words of four bytes; x:1@0 is a part, its size and first byte. `outcome` speaks
of registers at the end and of places, [x]. `allowed` names the models under which it occurs (tso
stands for tso-wait too, weak for weak-si; the tests of sizes name all), `race` and `deadlock`
those under which that is found, and `genmc` GenMC's verdict where it differs.
"""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass

from results.paths import ROOT

FOLDER = ROOT / "proofs" / "checker" / "litmus"
MODELS = ("sc", "tso", "tso-wait", "weak", "weak-si")
PLACES = ("x", "y", "z", "w")
_ORDERS = {
    "rlx": "__ATOMIC_RELAXED",
    "acq": "__ATOMIC_ACQUIRE",
    "rel": "__ATOMIC_RELEASE",
    "acqrel": "__ATOMIC_ACQ_REL",
    "sc": "__ATOMIC_SEQ_CST",
}
_FOUND = {"race": "race", "deadlock": "deadlock", "allowed": "end"}  # what a key names
_UPDATES = {"add": "__atomic_fetch_add", "swap": "__atomic_exchange_n"}


@dataclass(frozen=True)
class Instruction:
    """One instruction of a thread."""

    kind: str  # W, R, F, B, add, swap, cas, if, await
    register: str = ""
    place: str = ""
    size: int = 4
    offset: int = 0
    value: int = 0  # of `if` and `await`: what is compared with
    expected: int = 0  # of cas
    order: str = "rlx"


@dataclass(frozen=True)
class Litmus:
    """A test and its verdict in the literature."""

    name: str
    threads: tuple[tuple[Instruction, ...], ...]
    outcome: str
    verdicts: dict[str, str]  # by model: proved, end (the outcome occurs), race or deadlock
    genmc: dict[str, str]  # what GenMC says, by model

    def registers(self) -> list[str]:
        """All registers, in order."""
        names = {
            instruction.register
            for thread in self.threads
            for instruction in thread
            if instruction.register
        }
        return sorted(names)

    def has_mixed_sizes(self) -> bool:
        """Tell whether some access is not of a whole word."""
        return any(instruction.size != 4 for thread in self.threads for instruction in thread)

    def has_barriers(self) -> bool:
        """Tell whether a thread makes a process-wide barrier."""
        return any(instruction.kind == "B" for thread in self.threads for instruction in thread)

    def waits(self) -> bool:
        """Tell whether a thread waits for another."""
        return any(instruction.kind == "await" for thread in self.threads for instruction in thread)


def _instruction(text: str) -> Instruction:
    words = text.split()
    kind = words[0]
    if kind == "F":
        return Instruction(kind, order=words[1])
    if kind == "B":
        return Instruction(kind)
    if kind == "if":
        return Instruction(kind, words[1], value=int(words[3], 0))
    register = "" if kind in ("W", "await") else words.pop(1)
    place, size, offset = re.fullmatch(r"(\w)(?::(\d)@(\d))?", words[1]).groups()  # type: ignore[union-attr]
    values = [int(word, 0) for word in words[2:-1]]
    return Instruction(
        kind,
        register,
        place,
        int(size or 4),
        int(offset or 0),
        values[-1] if values else 0,
        values[0] if kind == "cas" else 0,
        words[-1],
    )


def thread_of(text: str) -> tuple[Instruction, ...]:
    """The instructions of a line."""
    return tuple(_instruction(line) for line in text.split(";"))


def read() -> list[Litmus]:
    """All tests of the folder."""
    tests = []
    for path in sorted(FOLDER.glob("*.toml")):
        for name, entry in tomllib.loads(path.read_text(encoding="utf-8")).items():
            explicit = path.stem == "sizes"
            verdicts = {}
            for model in MODELS:
                named = {model} if explicit else {model, model.split("-", maxsplit=1)[0]}
                found = (_FOUND[key] for key in _FOUND if named & set(entry.get(key, ())))
                verdicts[model] = next(found, "proved")
            threads = tuple(thread_of(line) for line in entry["threads"])
            genmc = {**verdicts, **entry.get("genmc", {})}
            tests.append(Litmus(name, threads, entry["outcome"], verdicts, genmc))
    return tests


def _access(instruction: Instruction) -> str:
    """The address of an access, as C."""
    return f"(uint{8 * instruction.size}_t *)((char *)&{instruction.place} + {instruction.offset})"


def _c(instruction: Instruction) -> str:
    """An instruction as C."""
    if instruction.kind == "if":
        return f"if ({instruction.register} != {instruction.value}) return;"
    if instruction.kind == "F":
        return f"__atomic_thread_fence({_ORDERS[instruction.order]});"
    if instruction.kind == "B":
        return "prove_process_barrier();"
    address = _access(instruction)
    if instruction.order == "plain":
        store, load = f"*{address} = {instruction.value};", f"*{address}"
    else:
        store = f"__atomic_store_n({address}, {instruction.value}, {_ORDERS[instruction.order]});"
        load = f"__atomic_load_n({address}, {_ORDERS[instruction.order]})"
    if instruction.kind == "W":
        return store
    if instruction.kind == "R":
        return f"{instruction.register} = {load};"
    if instruction.kind == "await":
        return f"while ({load} != {instruction.value}) prove_wait();"
    return _update(instruction, address)


def _update(instruction: Instruction, address: str) -> str:
    """An update as C."""
    order = _ORDERS[instruction.order]
    if instruction.kind == "cas":
        failing = "__ATOMIC_SEQ_CST" if instruction.order == "sc" else "__ATOMIC_RELAXED"
        return (
            f"{{ uint{8 * instruction.size}_t old = {instruction.expected}; "
            f"__atomic_compare_exchange_n({address}, &old, {instruction.value}, 0, {order}, "
            f"{failing}); {instruction.register} = old; }}"
        )
    call = f"{_UPDATES[instruction.kind]}({address}, {instruction.value}, {order})"
    return f"{instruction.register} = {call};"


def outcome_in_c(outcome: str) -> str:
    """An outcome as a C expression."""
    return re.sub(r"\[(\w)\]", r"\1", outcome)


def program(tests: Sequence[Litmus], prints: bool = False) -> str:
    """One client with all tests: prove_parameter chooses. Threads that a test lacks do nothing.
    `prints`: it prints each outcome, instead of testing for one."""
    registers = sorted({name for test in tests for name in test.registers()})
    threads = max(len(test.threads) for test in tests)
    lines = [
        "#include <stdint.h>",
        "#include <stdio.h>",
        '#include "prove.h"',
        '#include "barrier.h"',
        f"static uint32_t {', '.join(PLACES)};",
        *(f"static uint32_t {name};" for name in registers),
        f"const unsigned prove_threads = {threads};",
        "void prove_setup(void) {}",
    ]
    body = {"prove_thread": [], "prove_end": []}  # type: dict[str, list[str]]
    for number, test in enumerate(tests):
        for index, thread in enumerate(test.threads):
            lines.append(f"static void test_{number}_{index}(void) {{ /* {test.name} */")
            lines += [f"    {_c(instruction)}" for instruction in thread]
            lines.append("}")
            condition = f"prove_parameter == {number} && index == {index}"
            body["prove_thread"].append(f"    if ({condition}) test_{number}_{index}();")
        final = f'prove_assert(!({outcome_in_c(test.outcome)}), "{test.name}");'
        if prints:
            names = sorted([*PLACES, *test.registers()])
            shown = " ".join(f"{name}=%u" for name in names)
            final = f'printf("{shown}\\n", {", ".join(names)});'
        body["prove_end"].append(f"    if (prove_parameter == {number}) {final}")
    lines += ["void prove_thread(unsigned index) {", *body["prove_thread"], "}"]
    lines += ["void prove_end(void) {", *body["prove_end"], "}"]
    return "\n".join(lines) + "\n"


def posix_program(test: Litmus) -> str:
    """A test as a program of Posix threads, for GenMC; the outcome fails an assertion."""
    lines = [
        "#include <assert.h>",
        "#include <pthread.h>",
        "#include <stdint.h>",
        f"static uint32_t {', '.join(PLACES)};",
        *(f"static uint32_t {name};" for name in test.registers()),
    ]
    calls = [f"    pthread_t threads[{len(test.threads)}];"]
    for index, thread in enumerate(test.threads):
        lines.append(f"static void test_{index}(void) {{")
        lines += [f"    {_c(instruction)}" for instruction in thread]
        lines.append("}")
        lines.append(f"static void *run_{index}(void *_) {{ test_{index}(); return _; }}")
        calls.append(f"    pthread_create(&threads[{index}], 0, run_{index}, 0);")
    calls += [f"    pthread_join(threads[{i}], 0);" for i in range(len(test.threads))]
    calls.append(f"    assert(!({outcome_in_c(test.outcome)}));")
    return "\n".join([*lines, "int main(void) {", *calls, "    return 0;", "}"]) + "\n"
