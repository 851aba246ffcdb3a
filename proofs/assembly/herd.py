"""herd7: instructions as objdump shows them in its syntax, its models, and asking it. Nothing is
added or left out but what only computes in registers and what herd7 has no word for, each said
here."""

import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

from proofs.assembly.instructions import Instruction, Thread
from proofs.assembly.litmus import FOLDER, Litmus
from results.errors import LockcrossError
from sweeps.programs import TARGETS
from sweeps.support.tools import Tool

END = "LEND"


class TranslationError(LockcrossError):
    """herd7 has no word for an instruction."""


@dataclass(frozen=True)
class Dialect:
    """How herd7 writes an instruction set."""

    title: str
    arguments: tuple[str, ...]  # registers
    jump: str
    translate: Callable[[Instruction], list[str]]


def _label(address: int) -> str:
    return f"L{address:x}"


def _to(one: Instruction, mnemonic: str) -> str:
    """A branch, with what it looks at."""
    assert one.target is not None
    operands = f"{one.operands}," if one.operands else ""
    return f"{mnemonic} {operands}{_label(one.target)}"


def _decimal(text: str) -> str:
    return re.sub(r"-?0x[0-9a-f]+", lambda number: str(int(number[0], 16)), text)


def _unknown(isa: str, one: Instruction) -> TranslationError:
    return TranslationError(
        f"{isa} instruction {one.mnemonic} {one.operands} is not known to herd7; "
        "proofs/assembly/herd.py says which are",
        exit_code=1,
    )


_AARCH64 = re.compile(
    r"add|sub|ands?|orr|tst|cmp|cset|movk?|ubfx|lsr|dmb|nop|(ldr|ldar|ldapr|str|stlr)[bh]?|"
    r"ld[ax]?xr|ldaxr|stl?xr|(cas|swp|ldadd)(a|l|al)?"
)


def _aarch64(one: Instruction) -> list[str]:
    """Registers in capitals, numbers in decimal."""
    operands = re.sub(r"\b([wx])(\d+|zr)\b", lambda name: name[0].upper(), one.operands)
    operands = _decimal(operands).replace(" ", "")
    if one.target is not None:
        if not re.fullmatch(r"b|b\.\w+|cbn?z|tbn?z", one.mnemonic):
            raise _unknown("AArch64", one)
        return [_to(Instruction(one.address, "", operands, one.target), one.mnemonic)]
    if not _AARCH64.fullmatch(one.mnemonic):
        raise _unknown("AArch64", one)
    if (large := re.fullmatch(r"(W\d+),#(\d{6,})", operands)) and one.mnemonic == "mov":
        low, high = int(large[2]) & 0xFFFF, int(large[2]) >> 16
        return [f"mov {large[1]},#{low}", f"movk {large[1]},#{high},lsl #16"]
    return [f"{one.mnemonic} {operands}".strip()]


_POWER = re.compile(
    r"addi?|subf|x?ori?|and|andi\.|rlwinm|clrldi|li|lis|mr|nop|cmpl?wi|cmpw|lwsync|isync|"
    r"l(bz|hz|wz|d)|st[bhwd]|lwarx|stwcx\.|lwzx|stwx"
)


def _power(one: Instruction) -> list[str]:
    """Branches without the hint of their direction; hwsync is sync; cmplw is cmpw, since no value
    here has the sign's bit. herd7's branches look at condition field 0 alone."""
    operands = one.operands.replace(" ", "")
    mnemonic = {"hwsync": "sync", "cmplw": "cmpw"}.get(one.mnemonic, one.mnemonic)
    if "cr" in operands:
        raise _unknown("POWER", one)
    if one.target is not None:
        if mnemonic.rstrip("+-") not in ("b", "beq", "bne", "bge", "blt", "ble", "bgt"):
            raise _unknown("POWER", one)
        return [_to(one, mnemonic.rstrip("+-"))]
    if leaving := re.fullmatch(r"(b(?:eq|ne|lt|le|gt|ge))lr[+-]?", mnemonic):
        return [f"{leaving[1]} {END}"]
    if computing := _power_computing(mnemonic, operands.split(",")):
        return computing
    if not _POWER.fullmatch(mnemonic) and mnemonic != "sync":
        raise _unknown("POWER", one)
    # Register 0 as a base is the number 0, in herd7 too.
    operands = re.sub(r"^(r[0-9]+),0,", r"\1,r0,", operands)
    return [f"{mnemonic} {operands}".strip()]


def _power_computing(mnemonic: str, operands: Sequence[str]) -> list[str]:
    """What computes in registers and herd7 has no word for; nothing for what it knows. Register 31
    is used by no test."""
    to, *values = operands
    match mnemonic:
        case "ori" if values[-1] == "0":
            return ["nop"]
        case "oris":
            return [f"lis r31,{values[1]}", f"or {to},{values[0]},r31"]
        case "andis.":
            return [f"lis r31,{values[1]}", f"and {to},{values[0]},r31", f"cmpwi {to},0"]
        case "rlwinm.":
            return [f"rlwinm {','.join(operands)}", f"cmpwi {to},0"]
        case "clrrwi":
            return [f"rlwinm {to},{values[0]},0,0,{31 - int(values[1])}"]
        case "clrlwi":
            return [f"rlwinm {to},{values[0]},0,{values[1]},31"]
    return []


# The upper half of a register. herd7 has no shift to the right: the half stays where it is, all of
# the register is stored into a place of eight bytes, and is zero just when the half is.
_UPPER = "and $-4294967296"
_SUFFIXES = (
    (r"%r([a-d]x|[sd]i|\d+)$", "q"),
    (r"%(e([a-d]x|[sd]i)|r\d+d)$", "l"),
    (r"%([a-d]l|[sd]il|r\d+b)$", "b"),
    (r"%([a-d]x|[sd]i|r\d+w)$", "w"),
)


# No value here has the sign's bit, so that signed and unsigned comparisons agree, and `js` is never
# taken. herd7's own `js` and `jlt` are taken otherwise than an x86-64's.
_JUMPS = {"jmp": "jmp", "je": "je", "jne": "jne", "ja": "jgt", "jae": "jge", "jbe": "jle"}


def _suffix(operands: Sequence[str]) -> str:
    """The letter of an access's size, from its register."""
    for operand in operands:
        for pattern, letter in _SUFFIXES:
            if re.match(pattern, operand):
                return letter
    raise KeyError(operands)


def _x86_64(one: Instruction) -> list[str]:
    """The size of every access as a letter. herd7 has no xadd: an exchange with the addend stands
    for it, the same locked access that stores another value, which no test looks at."""
    operands = [_decimal(part) for part in re.split(r",(?![^(]*\))", one.operands)]
    name = one.mnemonic
    if one.target is not None and name in _JUMPS:
        return [_to(one, _JUMPS[name])]
    if name == "js":
        return ["nop"]
    if name == "mfence" or name in ("nop", "nopw", "nopl", "cs", "data16"):
        return [name if name == "mfence" else "nop"]
    if re.fullmatch(r"mov[bwlq]", name):
        return [f"{name} {','.join(operands)}"]
    if name in ("mov", "xchg", "lock xadd"):
        letter = _suffix(operands)
        return [f"{name.replace('lock xadd', 'xchg')}{letter} {','.join(operands)}"]
    if name in ("lock cmpxchg", "cmpxchg"):
        return [f"{name}{_suffix(operands)} {operands[1]},{operands[0]}"]
    if widening := re.fullmatch(r"movz([bw])l", name):
        narrow = {"b": r"%\1l", "w": r"%\1x"}[widening[1]]
        register = re.sub(r"%e([a-d])x", narrow, operands[1])
        return [f"movl $0,{operands[1]}", f"mov{widening[1]} {operands[0]},{register}"]
    return _x86_64_computing(one, operands)


def _x86_64_computing(one: Instruction, operands: Sequence[str]) -> list[str]:
    """What only computes in registers."""
    first, last = operands[0], operands[-1]
    if one.mnemonic == "shr" and first == "$32":
        return [f"{_UPPER},{last}"]
    if one.mnemonic == "test" and first.startswith("$") and _suffix(operands) == "l":
        return [f"movl {last},%r15d", f"and {first},%r15d", "cmpl $0,%r15d"]
    if one.mnemonic == "test" and first == last:
        return [f"cmp{_suffix(operands)} $0,{first}"]
    if one.mnemonic == "cmp" and first.startswith("$"):
        return [f"cmp{_suffix(operands)} {first},{last}"]
    if one.mnemonic in ("add", "and", "or", "sub") and first.startswith("$"):
        # herd7 has no `sub`, knows `and` without a size, and sets no flags there.
        letter = _suffix(operands)
        name = {"and": "and", "or": f"or{letter}"}.get(one.mnemonic, f"add{letter}")
        value = f"$-{first[1:]}" if one.mnemonic == "sub" else first
        return [f"{name} {value},{last}", f"cmp{letter} $0,{last}"]
    if one.mnemonic == "xor" and first == last:
        return [f"movl $0,{first}"]
    if one.mnemonic == "lea" and (sum_of := re.fullmatch(r"(\d+)\(%r([a-d])x\)", first)):
        return [f"movl %e{sum_of[2]}x,{last}", f"addl ${sum_of[1]},{last}"]
    raise _unknown("x86-64", one)


DIALECTS = {
    "x86_64": Dialect("X86_64", ("rdi", "rsi", "rdx", "rcx", "r8", "r9"), "jmp", _x86_64),
    "ppc64le": Dialect("PPC", tuple(f"r{n}" for n in range(3, 11)), "b", _power),
    "aarch64": Dialect("AArch64", tuple(f"X{n}" for n in range(8)), "b", _aarch64),
}


def column(thread: Thread, flavour: str) -> list[str]:
    """A thread as herd7 reads it, a label or an instruction each."""
    dialect = DIALECTS[TARGETS[flavour].isa]
    leave = f"{dialect.jump} {END}"
    labels = {one.target for one in thread.code if one.target is not None}
    lines: list[str] = []
    for one in thread.code:
        if one.address in labels:
            lines.append(f"{_label(one.address)}:")
        lines += [leave] if one.mnemonic in ("ret", "blr") else dialect.translate(one)
    for n, line in enumerate(lines):
        if line.startswith(_UPPER):
            narrow, wide = f"movl %e{line[-2:]},(", f"movq %r{line[-2:]},("
            lines[n:] = [other.replace(narrow, wide) for other in lines[n:]]
    if lines and lines[-1] == leave:
        lines.pop()
    return [*lines, f"{END}:"] if any(END in line for line in lines) else lines


def litmus_text(test: Litmus, threads: Sequence[Thread], flavour: str) -> str:
    """A whole litmus test of compiled threads; what a thread saw in `r` is in the place `saw_r`.
    Raises TranslationError."""
    if test.mixed:
        threads = [_without_reservations(thread) for thread in threads]
    dialect = DIALECTS[TARGETS[flavour].isa]
    bits = dict(test.bits)
    columns = []
    for i, thread in enumerate(threads):
        lines = column(thread, flavour)
        if any(line.startswith(_UPPER) for line in lines):
            bits |= {one: 64 for one in thread.arguments if one not in "xyz"}
        # herd7 wants the labels of threads to differ.
        columns.append([re.sub(r"\bL([0-9a-f]+|END)\b", rf"T{i}L\1", line) for line in lines])
    places = sorted({one for thread in threads for one in thread.arguments})
    head = [f"uint{bits.get(one, 32)}_t {_place(one)}={test.first.get(one, 0)};" for one in places]
    head += [
        f"{i}:{register}={_place(one)};"
        for i, thread in enumerate(threads)
        for register, one in zip(dialect.arguments, thread.arguments, strict=False)
    ]
    columns = [[f"P{i}", *lines] for i, lines in enumerate(columns)]
    body = [" | ".join(row) + " ;" for row in zip_longest(*columns, fillvalue="")]
    terms = test.forbidden.split(" & ")
    terms = [re.sub(r"^([a-z])=", lambda place: f"{_place(place[1])}=", term) for term in terms]
    outcome = " /\\ ".join(terms)
    lines = [f"{dialect.title} {test.primitive}", "{", *head, "}", *body, f"exists ({outcome})", ""]
    return "\n".join(lines)


def _without_reservations(thread: Thread) -> Thread:
    """A thread whose lwarx and stwcx. are a plain load and store: herd7 knows the pair only where
    all accesses have one size. power_apart.cat and power_together.cat keep the pair atomic."""
    plain = {"lwarx": "lwzx", "stwcx.": "stwx"}
    code = (replace(one, mnemonic=plain.get(one.mnemonic, one.mnemonic)) for one in thread.code)
    return replace(thread, code=tuple(code))


def _place(name: str) -> str:
    return name if name in "xyz" else f"saw_{name}"


_VARIABLE = "HERD7"
_DOCUMENTATION = "https://diy.inria.fr/doc/herd.html"
_LIMIT_S = 600.0
_OBSERVATION = re.compile(r"^Observation \S+ (Never|Sometimes|Always) (\d+) (\d+)", re.MULTILINE)


@dataclass(frozen=True)
class Herd:
    """One binary and its version."""

    path: str
    version: str


@dataclass(frozen=True)
class Verdict:
    """What herd7 said: `allowed`, `forbidden`, or `undecided` within the limit of time. `bounded`:
    some loop has more turns than were looked at."""

    verdict: str
    executions: int
    seconds: float
    bounded: bool


def find_herd() -> Herd:
    """The herd7 in HERD7 or on PATH. Raises LockcrossError (1) when there is none that runs."""
    tool = Tool(
        "herd7",
        ("herd7",),
        "not an executable program; name a herd7 binary there",
        f"name its binary in {_VARIABLE} or put it on PATH. It is part of herdtools7: "
        f"{_DOCUMENTATION}",
    )
    path, _ = tool.locate(_VARIABLE)
    if version := tool.version(r"^(\d[^,\s]*)", path, "-version"):
        return Herd(path, version)
    raise LockcrossError(f"herd7 ({path}) prints no version; is it a herd7?", 1)


def ask(herd: Herd, text: str, options: Sequence[str]) -> Verdict:
    """Whether the outcome of a litmus test can be. Raises LockcrossError when herd7 refuses it."""
    with tempfile.TemporaryDirectory(prefix="lockcross-") as folder:
        path = Path(folder) / "test.litmus"
        path.write_text(text)
        begun = time.monotonic()
        try:
            done = subprocess.run(
                [herd.path, *options, str(path)], capture_output=True, text=True, check=False,
                timeout=_LIMIT_S, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return Verdict("undecided", 0, _LIMIT_S, False)
        seconds = time.monotonic() - begun
    observed = _OBSERVATION.search(done.stdout)
    executions = int(observed[2]) + int(observed[3]) if observed else 0
    if not observed or not executions:
        said = " ".join((done.stderr or done.stdout).split())[-300:]
        raise LockcrossError(f"herd7 refuses a test: {said}\n{text}", exit_code=1)
    verdict = "forbidden" if observed[1] == "Never" else "allowed"
    return Verdict(verdict, executions, seconds, "unrolling limit" in done.stderr)


@dataclass(frozen=True)
class Model:
    """A memory model of herd7, or one of proofs/assembly/ that builds on it."""

    name: str
    options: tuple[str, ...] = ()


def _own(name: str, *options: str) -> Model:
    return Model(name, ("-I", str(FOLDER), "-model", str(FOLDER / name), *options))


_MIXED = ("-variant", "mixed")
_LITTLE = ("-endian", "little")


def models_of(flavour: str, test: Litmus) -> list[Model]:
    """The models for a test. The last one is that under which the promise is to be shown."""
    isa = TARGETS[flavour].isa
    mixed = _MIXED if test.mixed else ()
    if isa == "aarch64":
        return [Model("aarch64.cat", mixed)]
    if isa == "x86_64":
        return [_own("x86_64.cat", *mixed)]
    if test.mixed:
        return [_own(f"power_{how}.cat", *_LITTLE, *_MIXED) for how in ("apart", "together")]
    atomic = any(word in test.primitive for word in ("cas_", "swap_", "fetch_"))
    return [Model("ppc.cat", _LITTLE), *[_own("power_reserved.cat", *_LITTLE)] * atomic]
