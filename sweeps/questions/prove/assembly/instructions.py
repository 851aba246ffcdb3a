"""The instructions that litmus tests and primitives are compiled to, as objdump shows them. An
ordering instruction that is weakened by itself shows that a test can fail."""

import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path

from pydantic import RootModel

from results.errors import LockcrossError
from results.paths import ROOT
from sweeps.programs import COMMON_FLAGS, TARGETS, find_compiler
from sweeps.questions.prove.assembly.litmus import DATA, Litmus, function_in_c, primitives
from sweeps.support import tools
from sweeps.support.toml import Entry, read_registry

_LINKING = ("-nostdlib", "-static", "-Wl,--build-id=none", "-Wl,-z,noexecstack", "-no-pie")
# After a function: what aligns the next one, and POWER's traceback table.
_PADDING = re.compile(r"nop\w*\b.*|ori r2,r2,0|xchg %ax,%ax|cs nop.*|data16 .*|\.long .*|udf .*")


class InstructionSet(Entry):
    """An entry of instructions.toml, which explains the fields."""

    called: str
    title: str
    arguments: tuple[str, ...]
    jump: str
    rules: tuple[tuple[str, ...], ...]
    weaker: tuple[tuple[str, ...], ...]


@cache
def instruction_set(flavour: str) -> InstructionSet:
    kind = RootModel[dict[str, InstructionSet]]
    return read_registry(kind, DATA / "instructions.toml").root[TARGETS[flavour].isa]


@dataclass(frozen=True)
class Instruction:
    """One instruction as objdump shows it; `target` is the address that a branch names."""

    address: int
    mnemonic: str
    operands: str
    target: int | None

    @property
    def order(self) -> str:
        """Return its ordering: its mnemonic, and for a dmb which accesses."""
        return f"dmb {self.operands}" if self.mnemonic == "dmb" else self.mnemonic

    def touches_memory(self) -> bool:
        """Say whether it loads or stores: a load or store of POWER, or an operand in brackets.
        `lea` and padding only look so."""
        if self.target is not None or re.match(r"lea|nop|data16|cs ", self.mnemonic):
            return False
        power = r"l([bhwd]z?|wa)x?|l[bhwd]arx|st[bhwd]x?|st[bhwd]cx\."
        in_brackets = "[" in self.operands or "(%" in self.operands
        return in_brackets or bool(re.fullmatch(power, self.mnemonic))


Code = tuple[Instruction, ...]  # of a thread


def sequence_of(threads: Iterable[Code]) -> str:
    """Return the instructions of a test that access memory or order, and the branches that POWER's
    isync needs. Registers and computations in them differ between compilers and order nothing
    here."""
    orders = r"bne-|dmb|isb|(hw|lw|i)?sync|eieio|[mls]fence"
    return " | ".join(
        " ".join(
            instruction.order
            for instruction in code
            if instruction.touches_memory() or re.fullmatch(orders, instruction.mnemonic)
        )
        for code in threads
    )


_HEAD = '#include "arch/arch.h"\n'


def compile_threads(
    tests: Sequence[Litmus], flavour: str, fence: str, head: str = _HEAD, *options: str
) -> list[tuple[Code, ...]]:
    """Compile the threads of each test; `head` stands before them, `options` are the compiler's."""
    names = [[f"t{n}_{i}" for i in range(len(test.threads))] for n, test in enumerate(tests)]
    functions = [
        function_in_c(name, thread, test.bits)
        for test, of_test in zip(tests, names, strict=True)
        for name, thread in zip(of_test, test.threads, strict=True)
    ]
    codes = _compiled("\n".join([head, *functions]), flavour, fence, ROOT, *options)
    return [tuple(codes[name] for name in of_test) for of_test in names]


@cache
def compile_probes(flavour: str, fence: str, root: Path = ROOT) -> dict[str, Code]:
    """Compile each primitive of a fence kind as a function of its own; `root`: of which tree."""
    probes = _compiled(probe_source(fence), flavour, fence, root)
    return {name.removeprefix("probe_"): code for name, code in probes.items()}


def probe_source(fence: str) -> str:
    """Write a function `probe_<primitive>` for each primitive of a fence kind."""
    texts = (
        re.sub(r"\bf\(", f"probe_{name}(", primitive.probe, count=1)
        for name, primitive in primitives().items()
        if fence in primitive.fences
    )
    return "\n".join([_HEAD, *texts, ""])


def compiler_flags(flavour: str, fence: str) -> list[str]:
    """Return the flags of workload programs, but without linking."""
    flags = [flag for flag in (*COMMON_FLAGS, *TARGETS[flavour].flags) if flag not in _LINKING]
    return [*flags, f"-DLOCKCROSS_FENCE=FENCE_{fence.upper()}"]


def _compiled(source: str, flavour: str, fence: str, root: Path, *options: str) -> dict[str, Code]:
    compiler = [find_compiler(flavour), *compiler_flags(flavour, fence), *options]
    with tempfile.TemporaryDirectory(prefix="lockcross-") as folder:
        path, output = Path(folder) / "threads.c", str(Path(folder) / "threads.o")
        path.write_text(source)
        done = tools.run([*compiler, "-c", str(path), "-o", output], cwd=root)
        if done.returncode == 0:
            objdump = f"{TARGETS[flavour].binutils}objdump"
            done = tools.run([objdump, "-d", "-w", "--no-show-raw-insn", output])
    if done.returncode != 0:
        raise LockcrossError(
            f"the litmus tests of proofs/assembly/ do not compile ({flavour}, fence {fence}):\n"
            + done.stderr[:2000],
            exit_code=1,
        )
    return _functions(done.stdout.splitlines())


def _functions(lines: Iterable[str]) -> dict[str, Code]:
    """Read the output of objdump, by function, without the padding after each."""
    functions: dict[str, list[Instruction]] = {}
    current: list[Instruction] = []
    for line in lines:
        if head := re.fullmatch(r"[0-9a-f]+ <(.+)>:", line):
            current = functions.setdefault(head[1], [])
        elif listed := re.fullmatch(r"\s*([0-9a-f]+):\t(.*)", line):
            current.append(_instruction(int(listed[1], 16), listed[2]))
    for code in functions.values():
        while code and _PADDING.fullmatch(f"{code[-1].mnemonic} {code[-1].operands}".strip()):
            code.pop()
    return {name: tuple(code) for name, code in functions.items()}


def _instruction(address: int, text: str) -> Instruction:
    text = " ".join(re.sub(r"\s+(# |//).*", "", text).split())
    target = re.search(r"([0-9a-f]+) <[^>]+>$", text)
    prefix = "lock " if text.startswith("lock ") else ""
    mnemonic, _, operands = text.removeprefix(prefix).partition(" ")
    operands = re.sub(r"[0-9a-f]+ <[^>]+>$", "", operands).rstrip(", ")
    return Instruction(address, prefix + mnemonic, operands, int(target[1], 16) if target else None)


def weakenings(
    threads: Sequence[Code], tested: Iterable[int], flavour: str
) -> Iterator[tuple[str, tuple[Code, ...]]]:
    """Yield the weakened instruction, and the threads then. The n-th ordering instruction of every
    thread that holds the primitive is weakened at once: it is the same one."""
    ways = {
        i: [
            (n, ways)
            for n, instruction in enumerate(threads[i])
            if (ways := _weaker(instruction, flavour))
        ]
        for i in tested
    }
    count = max(map(len, ways.values()), default=0)
    for n, which in product(range(count), range(2)):
        change, changed = "", list(threads)
        for i, ordering in ways.items():
            place, weaker = ordering[n] if n < len(ordering) else (0, [])
            if which < len(weaker):
                code = threads[i]
                change = change or f"{code[place].order} -> {weaker[which].order}"
                changed[i] = (*code[:place], weaker[which], *code[place + 1 :])
        if change:
            yield change if count == 1 else f"{n + 1}: {change}", tuple(changed)


def _weaker(instruction: Instruction, flavour: str) -> list[Instruction]:
    """Return an instruction's weaker forms; nothing where it orders nothing."""
    for pattern, *ways in instruction_set(flavour).weaker:
        if ordering := re.fullmatch(pattern, instruction.order):
            words = [ordering.expand(way).partition(" ") for way in ways]
            return [
                replace(instruction, mnemonic=mnemonic, operands=operands or unchanged)
                for mnemonic, _, operands in words
                for unchanged in [instruction.operands * (mnemonic != "nop")]
            ]
    return []
