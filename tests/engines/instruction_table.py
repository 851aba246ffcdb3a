"""Every form of instruction in the study's programs, with the registers that other people's
decoders say it reads and writes: qemu-timing/tests/isa/instructions.def, which the engine's unit
tests read.

`./lockcross python -m tests.engines.instruction_table` adds the forms of the programs that are
kept, and of every lock and every workload as the compiler that is here makes them.
"""

import io
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path

from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

from results.paths import ROOT
from sweeps.model.locks import load_locks
from sweeps.model.workloads import WORKLOADS
from sweeps.programs import TARGETS, Builder, Program
from tests.engines.decoders import DECODERS, Decoded, decode, instructions
from tests.native_build import EACH_ISA, sampled
from tests.reference import programs as reference_programs

TABLE = ROOT / "qemu-timing" / "tests" / "isa" / "instructions.def"
_ISAS = {"EM_X86_64": "x86_64", "EM_AARCH64": "aarch64", "EM_PPC64": "ppc64le"}
_HEAD = """\
// The registers of every form of instruction in the study's programs, as other decoders have them:
// iced-x86 of x86-64, Ghidra's semantics of AArch64 and POWER. Made by
// ./lockcross python -m tests.engines.instruction_table
//
// SAME(isa, code, text, reads, writes): the engine's decoder must have the same.
// OTHER(isa, code, text, reads, writes, their_reads, their_writes, reason): it must have the first
// two, and differs from the other decoder for a reason.
// clang-format off
"""


def sections(program: Path) -> Iterator[tuple[str, bytes]]:
    """The ISA and the bytes of each section of a program that holds code."""
    elf = ELFFile(io.BytesIO(program.read_bytes()))
    isa = _ISAS[elf["e_machine"]]
    for section in elf.iter_sections():
        if section["sh_flags"] & SH_FLAGS.SHF_EXECINSTR and section["sh_type"] != "SHT_NOBITS":
            yield isa, section.data()


def codes_of(programs: Iterable[Path]) -> set[tuple[str, bytes]]:
    """The distinct instructions of programs, with their ISA."""
    return {
        (isa, code)
        for program in programs
        for isa, section in set(sections(program))
        for code in instructions(isa, section)
    }


def kept_programs() -> list[Path]:
    """Those of the reference cycles."""
    return sorted(reference_programs.unpacked().iterdir())


def compiled_programs() -> list[Path]:
    """Every lock in its variants and with its fences, and every workload, as other tests do it."""
    wanted = [
        Program("footprint", lock.name, fence, flavour, variant=variant)
        for lock in load_locks().values()
        for variant, fence, flavour in product(("", *lock.variants[1:]), lock.fence_kinds, TARGETS)
        if sampled(lock.name, variant, fence, flavour)
    ]
    wanted += [
        Program(name, "tasuki", "full", flavour, scheduled=workload.needs_cores)
        for name, workload in WORKLOADS.items()
        for flavour in EACH_ISA
    ]
    return [binary.path for binary in Builder().build(wanted).values()]


def row(decoded: Decoded) -> str:
    """A line of the table."""
    reads, writes = decoded.engines.named(decoded.isa)
    words = [decoded.isa, decoded.code.hex(" "), decoded.text, reads, writes]
    if decoded.engines != decoded.theirs:
        words += [*decoded.theirs.named(decoded.isa), decoded.reason]
    macro = "SAME" if decoded.engines == decoded.theirs else "OTHER"
    quoted = ", ".join(f'"{word}"' for word in words)
    return f"{macro}({quoted})"


def forms(codes: Iterable[tuple[str, bytes]]) -> dict[tuple[str, str], Decoded]:
    """An example of each form: the one with the most registers, so that none hides another."""
    known: dict[tuple[str, str], Decoded] = {}
    for isa, code in sorted(codes):
        if decoded := decode(isa, code):
            best = known.setdefault((isa, decoded.form), decoded)
            if decoded.registers > best.registers:
                known[isa, decoded.form] = decoded
    return known


def rows() -> list[str]:
    """The lines of the table, an instruction each."""
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.startswith(("SAME(", "OTHER("))]


def table() -> list[tuple[str, bytes]]:
    """The instructions that are in the table."""
    quoted = [line.split('"') for line in rows()]
    return [(isa, bytes.fromhex(code)) for _, isa, _, code, *_ in quoted]


def main() -> None:
    """Write the table: its rows, and the new ones in the programs."""
    DECODERS.install()
    kept = forms(table()) if TABLE.exists() else {}
    programs = kept_programs() + compiled_programs()
    codes = codes_of(programs)
    every = forms(codes) | kept
    lines = [row(every[key]) for key in sorted(every)]
    TABLE.write_text(_HEAD + "\n".join(lines) + "\n", encoding="utf-8")
    print(
        f"{len(programs)} programs, {len(codes):,} distinct instructions; {len(lines)} forms, "
        f"{len(every) - len(kept)} of them new"
    )


if __name__ == "__main__":
    main()
