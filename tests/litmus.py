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
from collections.abc import Iterable, Iterator, Sequence
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
_C = {
    "W": "__atomic_store_n({address}, {value}, {order});",
    "R": "{register} = __atomic_load_n({address}, {order});",
    "F": "__atomic_thread_fence({order});",
    "B": "prove_process_barrier();",
    "add": "{register} = __atomic_fetch_add({address}, {value}, {order});",
    "swap": "{register} = __atomic_exchange_n({address}, {value}, {order});",
    "cas": "{{ uint{bits}_t old = {expected}; __atomic_compare_exchange_n({address}, &old, "
    "{value}, 0, {order}, {failing}); {register} = old; }}",
    "if": "if ({register} != {value}) return;",
    "await": "while (__atomic_load_n({address}, {order}) != {value}) prove_wait();",
}
_PLAIN = {
    "W": "*{address} = {value};",
    "R": "{register} = *{address};",
    "await": "while (*{address} != {value}) prove_wait();",
}


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

    @property
    def _instructions(self) -> list[Instruction]:
        return [instruction for thread in self.threads for instruction in thread]

    def registers(self) -> list[str]:
        """All registers, in order."""
        return sorted({one.register for one in self._instructions} - {""})

    def is_for_genmc(self) -> bool:
        """Tell whether all accesses are of whole words, and no thread waits for another or makes a
        process-wide barrier."""
        return all(one.size == 4 and one.kind not in ("B", "await") for one in self._instructions)


def _instruction(text: str) -> Instruction:
    kind, *words = text.split()
    if kind == "F":
        return Instruction(kind, order=words[0])
    if kind == "B":
        return Instruction(kind)
    if kind == "if":
        return Instruction(kind, words[0], value=int(words[2], 0))
    register = "" if kind in ("W", "await") else words.pop(0)
    name, *numbers, order = words
    place, size, offset = re.fullmatch(r"(\w)(?::(\d)@(\d))?", name).groups()  # type: ignore[union-attr]
    values = [int(number, 0) for number in numbers] or [0]
    at = (place, int(size or 4), int(offset or 0))
    return Instruction(kind, register, *at, values[-1], values[0] if kind == "cas" else 0, order)


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
            threads = tuple(tuple(map(_instruction, t.split(";"))) for t in entry["threads"])
            genmc = {**verdicts, **entry.get("genmc", {})}
            tests.append(Litmus(name, threads, entry["outcome"], verdicts, genmc))
    return tests


def _c(instruction: Instruction) -> str:
    """An instruction as C."""
    bits, order = 8 * instruction.size, instruction.order
    given = vars(instruction) | {
        "bits": bits,
        "address": f"(uint{bits}_t *)((char *)&{instruction.place} + {instruction.offset})",
        "order": _ORDERS.get(order),
        "failing": _ORDERS["sc" if order == "sc" else "rlx"],
    }
    return (_PLAIN if order == "plain" else _C)[instruction.kind].format_map(given)


def _holds(test: Litmus) -> str:
    """A test's outcome as a C expression."""
    return re.sub(r"\[(\w)\]", r"\1", test.outcome)


def _head(includes: str, registers: Iterable[str]) -> list[str]:
    """What stands before the functions of a program."""
    variables = f"static uint32_t {', '.join([*PLACES, *registers])};"
    return [*(f"#include {name}" for name in includes.split()), variables]


def _functions(test: Litmus, number: int = 0) -> Iterator[str]:
    """A function for each thread of a test, whose name has the numbers of both."""
    for index, thread in enumerate(test.threads):
        yield f"static void test_{number}_{index}(void) {{ /* {test.name} */"
        yield from (f"    {_c(instruction)}" for instruction in thread)
        yield "}"


def program(tests: Sequence[Litmus], prints: bool = False) -> str:
    """One client with all tests: prove_parameter chooses. Threads that a test lacks do nothing.
    `prints`: it prints each outcome, instead of testing for one."""
    registers = {name for test in tests for name in test.registers()}
    lines = _head('<stdint.h> <stdio.h> "prove.h" "barrier.h"', sorted(registers))
    lines.append(f"const unsigned prove_threads = {max(len(test.threads) for test in tests)};")
    lines.append("void prove_setup(void) {}")
    calls, ends = [], []
    for number, test in enumerate(tests):
        lines += _functions(test, number)
        chosen = f"    if (prove_parameter == {number}"
        for index in range(len(test.threads)):
            calls.append(f"{chosen} && index == {index}) test_{number}_{index}();")
        if prints:
            names = sorted([*PLACES, *test.registers()])
            shown = " ".join(f"{name}=%u" for name in names)
            ends.append(f'{chosen}) printf("{shown}\\n", {", ".join(names)});')
        else:
            ends.append(f'{chosen}) prove_assert(!({_holds(test)}), "{test.name}");')
    lines += ["void prove_thread(unsigned index) {", *calls, "}"]
    return "\n".join([*lines, "void prove_end(void) {", *ends, "}\n"])


def posix_program(test: Litmus) -> str:
    """A test as a program of Posix threads, for GenMC; the outcome fails an assertion."""
    lines = [*_head("<assert.h> <pthread.h> <stdint.h>", test.registers()), *_functions(test)]
    calls = [f"    pthread_t threads[{len(test.threads)}];"]
    for index in range(len(test.threads)):
        lines.append(f"static void *run_{index}(void *_) {{ test_0_{index}(); return _; }}")
        calls.append(f"    pthread_create(&threads[{index}], 0, run_{index}, 0);")
    calls += [f"    pthread_join(threads[{index}], 0);" for index in range(len(test.threads))]
    calls.append(f"    assert(!({_holds(test)}));")
    return "\n".join([*lines, "int main(void) {", *calls, "    return 0;", "}\n"])
