"""Which programs a library can be preloaded into, from their files."""

import os
import struct
from dataclasses import dataclass
from pathlib import Path

_DYNAMIC, _INTERPRETER, _LOAD = 2, 3, 1
_NEEDED, _STRINGS = 1, 5
_MACHINES = {
    3: "x86",
    8: "MIPS",
    20: "POWER",
    21: "POWER",
    22: "s390",
    40: "Arm",
    62: "x86-64",
    183: "AArch64",
    243: "RISC-V",
    258: "LoongArch",
}
_GLIBC = ("ld-linux", "ld64.so", "ld.so", "ld-2.")  # how the names of its loaders begin
_PRIVILEGES = "security.capability"


@dataclass(frozen=True)
class Elf:
    """What a program's header says. `interpreter`: its loader; empty: none, it is linked
    statically. `needed`: the libraries that it names."""

    bits: int
    little: bool
    machine: int
    interpreter: str
    needed: tuple[str, ...]

    @property
    def kind(self) -> str:
        name = _MACHINES.get(self.machine, f"machine {self.machine}")
        return f"{self.bits} bits, {name}{'' if self.little else ', big-endian'}"


def read_elf(program: Path) -> Elf | None:
    """Return what a file says; None: no ELF file, such as a script, or one that is not whole."""
    try:
        with program.open("rb") as file:
            if file.read(4) != b"\x7fELF":
                return None
            file.seek(0)
            return _parsed(file.read())
    except (OSError, struct.error, IndexError, ValueError):
        return None


def _parsed(content: bytes) -> Elf:
    wide, order = content[4] == 2, "<" if content[5] == 1 else ">"
    machine = struct.unpack_from(f"{order}H", content, 18)[0]
    word = "Q" if wide else "I"
    offset = struct.unpack_from(f"{order}{word}", content, 32 if wide else 28)[0]
    size, count = struct.unpack_from(f"{order}HH", content, 54 if wide else 42)
    parts = []
    for one in range(count):
        at = offset + one * size
        if wide:
            kind, _, begin, address, _, length = struct.unpack_from(f"{order}IIQQQQ", content, at)
        else:
            kind, begin, address, _, length = struct.unpack_from(f"{order}IIIII", content, at)
        parts.append((kind, begin, address, length))
    interpreter = next(
        (
            content[begin : begin + length]
            for kind, begin, _, length in parts
            if kind == _INTERPRETER
        ),
        b"",
    )
    entries = []
    for kind, begin, _, length in parts:
        if kind == _DYNAMIC:
            step = struct.calcsize(f"{order}{word}{word}")
            entries = [
                struct.unpack_from(f"{order}{word}{word}", content, begin + at)
                for at in range(0, length - step + 1, step)
            ]
    names = next((value for tag, value in entries if tag == _STRINGS), 0)
    strings = next(
        (
            begin + names - address
            for kind, begin, address, length in parts
            if kind == _LOAD and address <= names < address + length
        ),
        0,
    )
    needed = tuple(
        _text(content[strings + value : strings + value + 4096])
        for tag, value in entries
        if tag == _NEEDED and strings
    )
    return Elf(64 if wide else 32, order == "<", machine, _text(interpreter), needed)


def _text(content: bytes) -> str:
    return content.split(b"\0", 1)[0].decode(errors="replace")


def why_not(program: Path, library: Path) -> str:
    """Return why the library cannot be preloaded into a program; empty: it can, as far as its file
    shows."""
    elf, own = read_elf(program), read_elf(library)
    if elf is None or own is None:
        return ""
    loader = Path(elf.interpreter).name
    if not elf.interpreter:
        return (
            "is linked statically, so its locks cannot be seen; link it with the shared C library "
            "(without -static)"
        )
    if (elf.bits, elf.little, elf.machine) != (own.bits, own.little, own.machine):
        return (
            f"is a program of {elf.kind}, and the recorder is one of {own.kind}: compile the "
            "program for that"
        )
    if not loader.startswith(_GLIBC):
        whose = "musl" if "musl" in loader else loader
        return (
            f"uses the C library of {whose}; the recorder is for glibc: compile the program with it"
        )
    if _gains_rights(program):
        return (
            "gains rights when it starts (setuid, setgid or capabilities), so the system loads no "
            "library into it; record it as the user whose rights it gains"
        )
    return ""


def _gains_rights(program: Path) -> bool:
    status = program.stat()
    if os.geteuid() == 0 or os.statvfs(program).f_flag & os.ST_NOSUID:
        return False
    if status.st_mode & 0o4000 and status.st_uid != os.geteuid():
        return True
    if status.st_mode & 0o2010 == 0o2010 and status.st_gid != os.getegid():
        return True
    return _PRIVILEGES in os.listxattr(program)


def needs_first_place(program: Path) -> bool:
    """Return whether it is compiled with AddressSanitizer's shared library, which ends a program
    that loads another one before it, unless it is told not to look."""
    elf = read_elf(program)
    return elf is not None and any(one.startswith("libasan.so") for one in elf.needed)
