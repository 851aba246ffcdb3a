"""Litmus tests in C, and the instructions that they are compiled to: shapes of which a primitive
plays a part (primitives.toml, shapes.toml), and two threads of a lock where its order matters, from
the lock's own functions (pairs.toml). An ordering instruction that is weakened by itself shows that
a test can fail."""

import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Literal

from pydantic import RootModel

from proofs.files import Entry, registry
from results.errors import LockcrossError
from results.paths import ROOT
from sweeps.programs import COMMON_FLAGS, TARGETS, find_compiler
from sweeps.support import tools

FOLDER = ROOT / "proofs" / "assembly"
Role = Literal["acquire", "release", "behind", "order", "before", "fence"]
_AT = {8: "0, ", 16: "0, "}  # which byte or half-word `_then_load_next` stores
_OTHER = {"x": "y", "y": "x", "r": "s", "s": "r"}
Threads = tuple[tuple[str, ...], ...]


class Part(Entry):
    """How a primitive plays a part of the shapes."""

    code: str
    saw: str = ""
    missed: str = "r=0"
    without: tuple[str, ...] = ()


class Shape(Entry):
    """One entry of shapes.toml."""

    threads: Threads
    forbidden: str


class Own(Shape):
    """A litmus test of one primitive alone."""

    name: str
    mixed: bool = False
    orders: bool = True
    narrow: str = ""
    contrast: Threads = ()


class Primitive(Entry):
    """One entry of primitives.toml."""

    promise: str
    probe: str
    widths: tuple[int, ...] = ()
    bits: int = 32
    narrow: str = ""  # the places that are of the primitive's width
    pair: str = ""  # the place that is two words
    fences: tuple[str, ...] = ("full",)
    parts: dict[Role, Part] = {}
    own: tuple[Own, ...] = ()
    beyond: tuple[Own, ...] = ()


class Pair(Shape):
    """One entry of pairs.toml."""

    says: str
    first: int = 0
    fences: bool = False


class Litmus(Own):
    """A litmus test in C, of a primitive or a lock. `bits`: of places that are no words; `first`:
    the first values of places, where not 0."""

    primitive: str
    promise: str
    promised: bool = True
    bits: dict[str, int] = {}
    first: dict[str, int] = {}

    @property
    def tested(self) -> list[int]:
        """The threads that hold the primitive."""
        call = f"{self.primitive}("
        return [i for i, thread in enumerate(self.threads) if call in " ".join(thread)]


@cache
def primitives() -> dict[str, Primitive]:
    """The primitives, one for each width, which stands in its strings."""
    known = registry(RootModel[dict[str, Primitive]], FOLDER / "primitives.toml").root
    of_widths = {}
    for name, primitive in known.items():
        for bits in primitive.widths or (primitive.bits,):
            text = primitive.model_copy(update={"bits": bits}).model_dump_json()
            text = text.replace("{bits}", str(bits)).replace("{at}", _AT.get(bits, ""))
            of_widths[name.replace("{bits}", str(bits))] = Primitive.model_validate_json(text)
    return of_widths


@cache
def pairs() -> dict[str, dict[str, Pair]]:
    """Lock -> name -> pair."""
    return registry(RootModel[dict[str, dict[str, Pair]]], FOLDER / "pairs.toml").root


def litmus_tests(fence: str) -> Iterator[Litmus]:
    """All tests of the primitives that a fence kind changes; of all, for the full fence."""
    roles = registry(RootModel[dict[Role, dict[str, Shape]]], FOLDER / "shapes.toml").root
    for name, primitive in primitives().items():
        shaped = [
            test
            for role, shapes in roles.items()
            if role in primitive.parts and fence in primitive.fences
            for test in _of_role(primitive, role, shapes)
        ]
        for test in (*shaped, *primitive.own, *primitive.beyond):
            bits = dict.fromkeys(test.narrow, primitive.bits)
            if primitive.pair:
                bits[primitive.pair] = 64
            threads, contrast = (_in_c(code, bits) for code in (test.threads, test.contrast))
            yield Litmus(
                **dict(test) | {"threads": threads, "contrast": contrast}, primitive=name,
                promise=primitive.promise, promised=test not in primitive.beyond, bits=bits,
            )  # fmt: skip


def _of_role(primitive: Primitive, role: Role, shapes: Mapping[str, Shape]) -> Iterator[Own]:
    """The shapes of a role, with the primitive in its place."""
    part = primitive.parts[role]
    reverse = re.sub(r"\b[xyrs]\b", lambda word: _OTHER[word[0]], part.code)
    words = {role: part.code, "reverse": reverse}
    for title, shape in shapes.items():
        if title not in part.without:
            filled = ([line.format_map(words) for line in thread] for thread in shape.threads)
            yield Own(
                name=f"{role}: {title}", threads=tuple(map(tuple, filled)), narrow=primitive.narrow,
                forbidden=shape.forbidden.format(saw=part.saw, missed=part.missed),
            )  # fmt: skip


def pair_tests(lock: str) -> list[Litmus]:
    """The tests of a lock."""
    return [
        Litmus(
            primitive=lock, name=name, threads=_in_c(pair.threads, {"x": 64}), promise=pair.says,
            forbidden=pair.forbidden, mixed=True, bits={"x": 64}, first={"x": pair.first},
        )
        for name, pair in pairs()[lock].items()
    ]  # fmt: skip


def _in_c(threads: Sequence[Sequence[str]], bits: Mapping[str, int]) -> Threads:
    """Threads in which `x = 1`, `r = x` and `fence` are written out."""

    def written(line: str) -> str:
        if line == "fence":
            return "arch_fence_full()"
        if not (short := re.fullmatch(r"([a-z]) = (\w+)", line)):
            return line
        to, what = short.groups()
        if what.isdecimal():
            return f"store_rlx_u{bits.get(to, 32)}({to}, {what})"
        return f"*{to} = load_rlx_u{bits.get(what, 32)}({what})"

    return tuple(tuple(written(line) for line in thread) for thread in threads)


_PLACES = "xyz"
_SEEN = "rstuv"
_LINKING = ("-nostdlib", "-static", "-Wl,--build-id=none", "-Wl,-z,noexecstack", "-no-pie")
# Behind a function: what aligns the next one, and POWER's traceback table.
_PADDING = re.compile(r"nop\w*\b.*|ori r2,r2,0|xchg %ax,%ax|cs nop.*|data16 .*|\.long .*|udf .*")


class InstructionSet(Entry):
    """An entry of instructions.toml, which says what the fields are."""

    called: str
    title: str
    arguments: tuple[str, ...]
    jump: str
    rules: tuple[tuple[str, ...], ...]
    weaker: tuple[tuple[str, ...], ...]


@cache
def instruction_set(flavour: str) -> InstructionSet:
    """That of a flavour."""
    kind = RootModel[dict[str, InstructionSet]]
    return registry(kind, FOLDER / "instructions.toml").root[TARGETS[flavour].isa]


@dataclass(frozen=True)
class Instruction:
    """One instruction as objdump shows it; `target` is the address that a branch names."""

    address: int
    mnemonic: str
    operands: str
    target: int | None


Code = tuple[Instruction, ...]  # of a thread


def touches_memory(instruction: Instruction) -> bool:
    """Whether an instruction loads or stores: a load or store of POWER, or an operand in brackets.
    `lea` and padding only look so."""
    if instruction.target is not None or re.match(r"lea|nop|data16|cs ", instruction.mnemonic):
        return False
    power = r"l([bhwd]z?|wa)x?|l[bhwd]arx|st[bhwd]x?|st[bhwd]cx\."
    return (
        "[" in instruction.operands
        or "(%" in instruction.operands
        or bool(re.fullmatch(power, instruction.mnemonic))
    )


def sequence_of(threads: Iterable[Code]) -> str:
    """The instructions of a test that access memory or order, and the branches that POWER's isync
    needs. Registers and what computes in them differ between compilers and order nothing here."""
    orders = r"bne-|dmb|isb|(hw|lw|i)?sync|eieio|[mls]fence"
    return " | ".join(
        " ".join(
            f"{instruction.mnemonic} {instruction.operands}"
            if instruction.mnemonic == "dmb"
            else instruction.mnemonic
            for instruction in code
            if touches_memory(instruction) or re.fullmatch(orders, instruction.mnemonic)
        )
        for code in threads
    )


def arguments_of(thread: Sequence[str]) -> tuple[str, ...]:
    """The places that a thread uses, then where it puts what it saw."""
    words = set(re.findall(r"\b[a-z]\b", " ".join(thread)))
    return tuple(name for name in _PLACES + _SEEN if name in words)


def _function(name: str, thread: Sequence[str], bits: Mapping[str, int]) -> str:
    """A thread as a C function. It tells what it saw at its end, where that orders nothing: a store
    that depends on a load would let a barrier between stores order the load. A pair of words is
    reached as words."""

    def width(argument: str) -> int:
        pair = bits.get(argument) == 64 and not any(f"u64({argument}" in line for line in thread)
        return 32 if pair else bits.get(argument, 32)

    arguments = arguments_of(thread)
    parameters = ", ".join(
        f"volatile uint{width(argument)}_t *{argument}" for argument in arguments
    )
    steps = "; ".join(thread).split("; ")
    lines = [re.sub(rf"^\*([{_SEEN}]) =", r"uint32_t seen_\1 =", step) for step in steps]
    lines += [f"*{argument} = seen_{argument}" for argument in arguments if argument in _SEEN]
    body = "".join(f"    {line};\n" for line in lines)
    return f"void {name}({parameters}) {{\n{body}}}\n"


_HEAD = '#include "arch/arch.h"\n'


def compile_threads(
    tests: Sequence[Litmus], flavour: str, fence: str, head: str = _HEAD, *options: str
) -> list[tuple[Code, ...]]:
    """The threads of each test; `head` stands before them, `options` are the compiler's."""
    names = [[f"t{n}_{i}" for i in range(len(test.threads))] for n, test in enumerate(tests)]
    functions = [
        _function(name, thread, test.bits)
        for test, of_test in zip(tests, names, strict=True)
        for name, thread in zip(of_test, test.threads, strict=True)
    ]
    codes = _compiled("\n".join([head, *functions]), flavour, fence, ROOT, *options)
    return [tuple(codes[name] for name in of_test) for of_test in names]


@cache
def compile_probes(flavour: str, fence: str, root: Path = ROOT) -> dict[str, Code]:
    """Each primitive of a fence kind as a function of its own; `root`: of which tree."""
    probes = _compiled(probe_source(fence), flavour, fence, root)
    return {name.removeprefix("probe_"): code for name, code in probes.items()}


def probe_source(fence: str) -> str:
    """A function `probe_<primitive>` for each primitive of a fence kind."""
    texts = (
        re.sub(r"\bf\(", f"probe_{name}(", primitive.probe, count=1)
        for name, primitive in primitives().items()
        if fence in primitive.fences
    )
    return "\n".join([_HEAD, *texts, ""])


def compiler_flags(flavour: str, fence: str) -> list[str]:
    """As workload programs are compiled, but without linking."""
    kept = [flag for flag in (*COMMON_FLAGS, *TARGETS[flavour].flags) if flag not in _LINKING]
    return [*kept, f"-DLOCKCROSS_FENCE=FENCE_{fence.upper()}"]


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
    """What objdump shows, by function, without the padding behind each."""
    functions: dict[str, list[Instruction]] = {}
    current: list[Instruction] = []
    for line in lines:
        if head := re.fullmatch(r"[0-9a-f]+ <(.+)>:", line):
            current = functions.setdefault(head[1], [])
        elif shown := re.fullmatch(r"\s*([0-9a-f]+):\t(.*)", line):
            text = " ".join(re.sub(r"\s+(# |//).*", "", shown[2]).split())
            target = re.search(r"([0-9a-f]+) <[^>]+>$", text)
            prefix = "lock " if text.startswith("lock ") else ""
            mnemonic, _, operands = text.removeprefix(prefix).partition(" ")
            operands = re.sub(r"[0-9a-f]+ <[^>]+>$", "", operands).rstrip(", ")
            to = int(target[1], 16) if target else None
            current.append(Instruction(int(shown[1], 16), prefix + mnemonic, operands, to))
    for code in functions.values():
        while code and _PADDING.fullmatch(f"{code[-1].mnemonic} {code[-1].operands}".strip()):
            code.pop()
    return {name: tuple(code) for name, code in functions.items()}


def weakenings(
    threads: Sequence[Code], tested: Iterable[int], flavour: str
) -> Iterator[tuple[str, tuple[Code, ...]]]:
    """What was weakened, and the threads then. The n-th ordering instruction of every thread that
    holds the primitive is weakened at once: it is the same one."""
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
        said, changed = "", list(threads)
        for i, ordering in ways.items():
            place, weaker = ordering[n] if n < len(ordering) else (0, [])
            if which < len(weaker):
                code = threads[i]
                said = said or f"{_text(code[place])} -> {_text(weaker[which])}"
                changed[i] = (*code[:place], weaker[which], *code[place + 1 :])
        if said:
            yield said if count == 1 else f"{n + 1}: {said}", tuple(changed)


def _text(instruction: Instruction) -> str:
    return f"dmb {instruction.operands}" if instruction.mnemonic == "dmb" else instruction.mnemonic


def _weaker(instruction: Instruction, flavour: str) -> list[Instruction]:
    """What an instruction becomes, in each way to weaken it; nothing where it orders nothing."""
    for pattern, *ways in instruction_set(flavour).weaker:
        if ordering := re.fullmatch(pattern, _text(instruction)):
            words = [ordering.expand(way).partition(" ") for way in ways]
            return [
                replace(
                    instruction,
                    mnemonic=name,
                    operands=operands or instruction.operands * (name != "nop"),
                )
                for name, _, operands in words
            ]
    return []
