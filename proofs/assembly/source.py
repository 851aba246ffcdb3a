"""Litmus tests in C, compiled for a flavour, as the instructions of their threads."""

import re
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from proofs.assembly.litmus import Litmus, primitives
from results.errors import LockcrossError
from results.paths import ROOT
from sweeps.programs import COMMON_FLAGS, TARGETS, find_compiler

_PLACES = "xyz"
_SEEN = "rstuv"
_LINKING = ("-nostdlib", "-static", "-Wl,--build-id=none", "-Wl,-z,noexecstack", "-no-pie")
# Behind a function: what aligns the next one, and POWER's traceback table.
_PADDING = re.compile(r"nop\w*\b.*|ori r2,r2,0|xchg %ax,%ax|cs nop.*|data16 .*|\.long .*|udf .*")


@dataclass(frozen=True)
class Instruction:
    """One instruction as objdump shows it; `target` is the address that a branch names."""

    address: int
    mnemonic: str
    operands: str
    target: int | None


def touches_memory(one: Instruction) -> bool:
    """Whether an instruction loads or stores: a load or store of POWER, or an operand in brackets.
    `lea` and padding only look so."""
    if one.target is not None or re.match(r"lea|nop|data16|cs ", one.mnemonic):
        return False
    power = r"l([bhwd]z?|wa)x?|l[bhwd]arx|st[bhwd]x?|st[bhwd]cx\."
    return "[" in one.operands or "(%" in one.operands or bool(re.fullmatch(power, one.mnemonic))


@dataclass(frozen=True)
class Thread:
    """A compiled thread of a litmus test, and what its arguments are, in their order."""

    arguments: tuple[str, ...]
    code: tuple[Instruction, ...]


def arguments_of(thread: Sequence[str]) -> tuple[str, ...]:
    """The places that a thread uses, then where it puts what it saw."""
    words = set(re.findall(r"\b[a-z]\b", " ".join(thread)))
    return tuple(name for name in _PLACES + _SEEN if name in words)


def _function(name: str, thread: Sequence[str], bits: Mapping[str, int]) -> str:
    """A thread as a C function. It tells what it saw at its end, where that orders nothing: a store
    that depends on a load would let a barrier between stores order the load. A pair of words is
    reached as words."""
    types = {place: 32 if (b := bits.get(place, 32)) == 64 and _is_pair(place, thread) else b
             for place in _PLACES}  # fmt: skip
    arguments = arguments_of(thread)
    parameters = ", ".join(f"volatile uint{types.get(one, 32)}_t *{one}" for one in arguments)
    steps = "; ".join(thread).split("; ")
    lines = [re.sub(rf"^\*([{_SEEN}]) =", r"uint32_t seen_\1 =", step) for step in steps]
    lines += [f"*{one} = seen_{one}" for one in arguments if one in _SEEN]
    body = "".join(f"    {line};\n" for line in lines)
    return f"void {name}({parameters}) {{\n{body}}}\n"


def _is_pair(place: str, thread: Sequence[str]) -> bool:
    return not any(f"u64({place}" in line for line in thread)


_HEAD = '#include "arch/arch.h"\n'


@cache
def compile_tests(
    tests: tuple[Litmus, ...], flavour: str, fence: str
) -> list[tuple[list[Thread], list[Thread]]]:
    """The threads of each test, and those of its contrast."""
    contrasts = [replace(test, threads=test.contrast) for test in tests]
    found = compile_threads([*tests, *contrasts], flavour, fence)
    return list(zip(found[: len(tests)], found[len(tests) :], strict=True))


def compile_threads(
    tests: Sequence[Litmus],
    flavour: str,
    fence: str,
    head: str = _HEAD,
    options: tuple[str, ...] = (),
) -> list[list[Thread]]:
    """The threads of each test; `head` stands before them, `options` are the compiler's."""
    parts = [
        _function(f"t{index}_{i}", thread, test.bits)
        for index, test in enumerate(tests)
        for i, thread in enumerate(test.threads)
    ]
    functions = _compiled("\n".join([head, *parts]), flavour, fence, options=options)
    return [
        [
            Thread(arguments_of(thread), functions[f"t{index}_{i}"])
            for i, thread in enumerate(test.threads)
        ]
        for index, test in enumerate(tests)
    ]


@cache
def compile_probes(
    flavour: str, fence: str, root: Path = ROOT
) -> dict[str, tuple[Instruction, ...]]:
    """Each primitive of a fence kind as a function of its own; `root`: of which tree."""
    named = {n: p.probe for n, p in primitives().items() if fence in p.fences}
    found = _compiled(probe_source(named), flavour, fence, root)
    return {name.removeprefix("probe_"): code for name, code in found.items()}


def probe_source(probes: Mapping[str, str]) -> str:
    """Functions `probe_<primitive>`."""
    texts = (re.sub(r"\bf\(", f"probe_{name}(", text, count=1) for name, text in probes.items())
    return '#include "arch/arch.h"\n' + "\n".join(texts) + "\n"


def compiler_flags(flavour: str, fence: str) -> list[str]:
    """As workload programs are compiled, but without linking."""
    kept = [flag for flag in (*COMMON_FLAGS, *TARGETS[flavour].flags) if flag not in _LINKING]
    return [*kept, f"-DLOCKCROSS_FENCE=FENCE_{fence.upper()}"]


def _compiled(
    source: str, flavour: str, fence: str, root: Path = ROOT, options: tuple[str, ...] = ()
) -> dict[str, tuple[Instruction, ...]]:
    compiler = find_compiler(flavour)
    with tempfile.TemporaryDirectory(prefix="lockcross-") as folder:
        path = Path(folder) / "threads.c"
        path.write_text(source)
        output = path.with_suffix(".o")
        done = subprocess.run(
            [compiler, *compiler_flags(flavour, fence), *options,
             "-c", str(path), "-o", str(output)],
            cwd=root, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        if done.returncode != 0:
            raise LockcrossError(
                f"the litmus tests of proofs/assembly/ do not compile ({flavour}, fence {fence}):\n"
                + done.stderr[:2000],
                exit_code=1,
            )
        shown = subprocess.run(
            [f"{TARGETS[flavour].binutils}objdump", "-d", "-w", "--no-show-raw-insn", str(output)],
            capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    return _functions(shown.stdout.splitlines())


def _functions(lines: Iterable[str]) -> dict[str, tuple[Instruction, ...]]:
    """What objdump shows, by function, without the padding behind each."""
    found: dict[str, list[Instruction]] = {}
    current: list[Instruction] = []
    for line in lines:
        if head := re.fullmatch(r"[0-9a-f]+ <(.+)>:", line):
            current = found.setdefault(head[1], [])
        elif one := re.fullmatch(r"\s*([0-9a-f]+):\t(.*)", line):
            text = " ".join(re.sub(r"\s+(# |//).*", "", one[2]).split())
            target = re.search(r"([0-9a-f]+) <[^>]+>$", text)
            prefix = "lock " if text.startswith("lock ") else ""
            mnemonic, _, operands = text.removeprefix(prefix).partition(" ")
            current.append(
                Instruction(
                    int(one[1], 16),
                    prefix + mnemonic,
                    re.sub(r"[0-9a-f]+ <[^>]+>$", "", operands).rstrip(", "),
                    int(target[1], 16) if target else None,
                )
            )
    for code in found.values():
        while code and _PADDING.fullmatch(f"{code[-1].mnemonic} {code[-1].operands}".strip()):
            code.pop()
    return {name: tuple(code) for name, code in found.items()}
