"""The registers that an instruction reads and writes by other people's decoders, to which the
engine's are held: iced-x86 of x86-64, Ghidra's semantics (pypcode) of AArch64 and POWER."""

import importlib
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from results.extras import REQUIREMENTS, Extra

DECODERS = Extra("decoders to compare with", REQUIREMENTS / "decoders.txt", megabytes=15)

# Numbers of registers, as the engine has them (qemu-timing/src/isa/insn.h).
_X86 = {
    name: number
    for number, name in enumerate(
        "RAX RCX RDX RBX RSP RBP RSI RDI R8 R9 R10 R11 R12 R13 R14 R15".split()
    )
}
_ARM = {
    **{f"{kind}{number}": number for kind in "xw" for number in range(31)},
    **dict.fromkeys(("sp", "wsp"), 31),
    **dict.fromkeys(("ng", "zr", "cy", "ov"), 32),
}
_PPC = {
    **{f"r{number}": number for number in range(32)},
    **{f"cr{number}": 32 + number for number in range(8)},
    "lr": 40,
    "ctr": 41,
    "xer_ca": 42,
}
FLAGS = 32  # of x86-64 and AArch64
_NAMES = {
    "x86_64": {**{number: name.lower() for name, number in _X86.items()}, FLAGS: "flags"},
    "aarch64": {**{number: f"x{number}" for number in range(31)}, 31: "sp", FLAGS: "flags"},
    "ppc64le": {number: name.removeprefix("xer_") for name, number in _PPC.items()},
}


@dataclass(frozen=True)
class Registers:
    """The registers that an instruction reads and writes, by number, if the engine follows them."""

    reads: frozenset[int]
    writes: frozenset[int]

    def named(self, isa: str) -> tuple[str, str]:
        """Both sets, as words."""
        names = _NAMES[isa]
        reads, writes = ([names[n] for n in sorted(part)] for part in (self.reads, self.writes))
        return " ".join(reads), " ".join(writes)


@dataclass(frozen=True)
class Decoded:
    """An instruction. `form`: the common part with those that differ only in the registers
    and constants that they name. `reason`: why the engine's registers are others, if they are."""

    isa: str
    code: bytes
    text: str
    form: str
    theirs: Registers
    engines: Registers
    reason: str

    @property
    def registers(self) -> int:
        """How many it has to do with."""
        return len(self.theirs.reads | self.theirs.writes)


def decode(isa: str, code: bytes) -> Decoded | None:
    """The instruction that `code` begins with; None where it begins with none."""
    return _decode_x86(code) if isa == "x86_64" else _decode_fixed(isa, code[:4])


def instructions(isa: str, section: bytes) -> set[bytes]:
    """The distinct instructions of a section of a program. Data between them are taken for some."""
    if isa != "x86_64":
        return {section[place : place + 4] for place in range(0, len(section) - 3, 4)}
    iced = importlib.import_module("iced_x86")
    return {
        section[one.ip : one.ip + one.len] for one in iced.Decoder(64, section) if one.len and one
    }


def _decode_x86(code: bytes) -> Decoded | None:
    iced = importlib.import_module("iced_x86")
    one = iced.Decoder(64, code).decode()
    if not one:
        return None
    access = iced.OpAccess
    reading = (access.READ, access.COND_READ, access.READ_WRITE, access.READ_COND_WRITE)
    # What is perhaps written keeps its value otherwise.
    writing = (access.WRITE, access.COND_WRITE, access.READ_WRITE, access.READ_COND_WRITE)
    by_name = {getattr(iced.Register, name): number for name, number in _X86.items()}
    reads = {FLAGS} if one.rflags_read else set()
    writes = {FLAGS} if one.rflags_modified else set()
    for used in _x86_info().info(one).used_registers():
        number = by_name.get(iced.RegisterExt.full_register(used.register))
        if number is None:
            continue
        if used.access in reading or used.access == access.COND_WRITE:
            reads.add(number)
        if used.access in writing:
            writes.add(number)
    theirs = Registers(frozenset(reads), frozenset(writes))
    text = iced.Formatter(iced.FormatterSyntax.INTEL).format(one)
    engines, reason = theirs, ""
    same = one.op_count == 2 and one.op_register(0) == one.op_register(1) != iced.Register.NONE
    if re.match(r"(xor|sub) ", text) and same:
        number = by_name[iced.RegisterExt.full_register(one.op0_register)]
        engines = Registers(theirs.reads | {number}, theirs.writes)
        reason = "a zeroing idiom: the engine has it wait for its register"
    if text.startswith("nop"):
        engines, reason = Registers(frozenset(), frozenset()), "a no-op" if theirs.reads else ""
    marks = {
        "lock": one.has_lock_prefix,
        "memory": one.memory_base or one.memory_index,
        "rip": one.is_ip_rel_memory_operand,
        "same": same,
    }
    form = " ".join([_x86_code(one.code), *(mark for mark, has_it in marks.items() if has_it)])
    return Decoded("x86_64", code[: one.len], text, form, theirs, engines, reason)


@cache
def _x86_info() -> Any:
    return importlib.import_module("iced_x86").InstructionInfoFactory()


@cache
def _x86_code(number: int) -> str:
    code = importlib.import_module("iced_x86").Code
    return next(name for name in dir(code) if name.isupper() and getattr(code, name) == number)


_LANGUAGES = {"aarch64": "AARCH64:LE:64:v8A", "ppc64le": "PowerPC:LE:64:default"}


@cache
def _ghidra(isa: str) -> Any:
    return importlib.import_module("pypcode").Context(_LANGUAGES[isa])


def _decode_fixed(isa: str, code: bytes) -> Decoded | None:
    pypcode = importlib.import_module("pypcode")
    try:
        operations = _ghidra(isa).translate(code, 0x1000).ops
        shown = _ghidra(isa).disassemble(code, 0x1000).instructions[0]
    except (pypcode.BadDataError, pypcode.UnimplError):
        return None
    numbers = _ARM if isa == "aarch64" else _PPC
    reads: set[int] = set()
    writes: set[int] = set()

    def number(place: Any) -> int | None:
        named = place is not None and place.space.name == "register"
        return numbers.get(place.getRegisterName().lower()) if named else None

    for operation in operations:
        if operation.opcode == pypcode.OpCode.IMARK:
            continue
        reads |= {found for one in operation.inputs if (found := number(one)) is not None} - writes
        if (found := number(operation.output)) is not None:
            writes.add(found)
    theirs = Registers(frozenset(reads), frozenset(writes))
    text = f"{shown.mnem} {shown.body}".strip()
    engines, reason = theirs, ""
    if isa == "ppc64le":
        engines, reason = _engines_ppc(int.from_bytes(code, "little"), shown.mnem, theirs)
    operands = re.sub(r"#?-?0x[0-9a-f]+", "N", shown.body)
    operands = re.sub(r"\b([xw])(\d+)\b", r"\1", operands)  # not xzr, wzr, sp
    operands = re.sub(r"\b(c?r)(\d+)\b", r"\1", operands)
    return Decoded(isa, code, text, f"{shown.mnem} {operands}".strip(), theirs, engines, reason)


def _engines_ppc(word: int, mnemonic: str, theirs: Registers) -> tuple[Registers, str]:
    """Correct Ghidra's semantics of POWER where they differ from the architecture."""
    fields = frozenset(range(32, 40))
    target, first, second = word >> 21 & 31, word >> 16 & 31, word >> 11 & 31
    if (mnemonic == "or" and target == first == second) or word == 0x60000000:
        return Registers(frozenset(), frozenset()), "a hint, which needs no register"
    if mnemonic in ("bl", "bctrl", "blrl"):
        return Registers(theirs.reads - {2}, theirs.writes), "the table of contents is not read"
    if mnemonic in ("mtcrf", "mtocrf"):
        named = frozenset(32 + field for field in range(8) if word >> (19 - field) & 1)
        return Registers(theirs.reads - fields, named), "it writes the fields that it names"
    if mnemonic.endswith("."):
        reads = theirs.reads - fields
        return Registers(reads, theirs.writes), "Ghidra sets the bits of the field one by one"
    return theirs, ""
