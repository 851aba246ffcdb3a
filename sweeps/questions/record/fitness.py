"""Which programs a library can be preloaded into, from their files."""

import os
from dataclasses import dataclass
from pathlib import Path

_GLIBC = ("ld-linux", "ld64.so", "ld.so", "ld-2.")  # how the names of its loaders begin
_PRIVILEGES = "security.capability"


@dataclass(frozen=True)
class Elf:
    bits: int
    little: bool
    machine: str
    interpreter: str  # its loader; empty: none, it is linked statically
    needed: tuple[str, ...]  # the libraries that it names

    @property
    def kind(self) -> str:
        return f"{self.bits} bits, {self.machine}{'' if self.little else ', big-endian'}"


def read_elf(program: Path) -> Elf | None:
    """Return a file's header; None: no ELF file, such as a script, or one that is not whole."""
    from elftools.common.exceptions import ELFError
    from elftools.construct import ConstructError
    from elftools.elf.dynamic import DynamicSegment
    from elftools.elf.elffile import ELFFile
    from elftools.elf.segments import InterpSegment

    try:
        with program.open("rb") as file:
            elf, loader, needed = ELFFile(file), "", list[str]()
            for part in elf.iter_segments():
                if isinstance(part, InterpSegment):
                    loader = part.get_interp_name()
                elif isinstance(part, DynamicSegment):
                    needed += [vars(tag)["needed"] for tag in part.iter_tags("DT_NEEDED")]
            machine = elf.get_machine_arch().replace("x64", "x86-64")
            return Elf(elf.elfclass, elf.little_endian, machine, loader, tuple(needed))
    except (OSError, ELFError, ConstructError, ValueError, AttributeError):
        return None


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
    return elf is not None and any(name.startswith("libasan.so") for name in elf.needed)
