"""The library that records pthread mutexes: compiled by the user's compiler, preloaded."""

import hashlib
import os
import shutil
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

from results.errors import LockcrossError
from results.paths import ROOT, WORK
from sweeps.questions.record.jvm import Program
from sweeps.support.tools import run

SOURCE = ROOT / "pthread-recorder" / "recorder.c"
_SECONDS = 120  # that a compiler takes at most
_INTERPRETER = 3  # PT_INTERP: the program asks for a dynamic linker


def preloaded(command: Sequence[str], log: Path, most: int) -> Program:
    """The program with the library, which writes `log` and ends with `most` bytes. Raises
    LockcrossError where there is no such program, or it is linked statically."""
    program = shutil.which(command[0])
    if program is None:
        raise LockcrossError(f"{command[0]}: no such program; behind -- comes what runs yours")
    if linked_statically(Path(program)):
        raise LockcrossError(
            f"{program}: is linked statically, so its locks cannot be seen; link it with the "
            "shared C library (without -static)"
        )
    environment = {
        "LD_PRELOAD": str(_library()),
        "LOCKCROSS_PTHREAD_LOG": str(log),
        "LOCKCROSS_PTHREAD_MOST": str(most),
    }
    return Program((program, *command[1:]), environment)


def linked_statically(program: Path) -> bool:
    """Whether an ELF program names no dynamic linker; False for scripts."""
    with program.open("rb") as file:
        start = file.read(64)
        if not start.startswith(b"\x7fELF\x02\x01"):
            return False
        offset, size, count = (
            *struct.unpack_from("<Q", start, 32),
            *struct.unpack_from("<HH", start, 54),
        )
        file.seek(offset)
        table = file.read(size * count)
    kinds = (struct.unpack_from("<I", table, size * one)[0] for one in range(count))
    return _INTERPRETER not in kinds


def _library() -> Path:
    """Compiles it where its source or its compiler is another one."""
    compiler = os.environ.get("CC") or "cc"
    digest = hashlib.sha256(SOURCE.read_bytes() + compiler.encode()).hexdigest()[:16]
    library = WORK / "build" / "pthread-recorder" / f"{digest}.so"
    if library.exists():
        return library
    library.parent.mkdir(parents=True, exist_ok=True)
    new = library.with_suffix(f".{os.getpid()}")
    command = [*compiler.split(), "-O2", "-shared", "-fPIC", "-o", str(new), str(SOURCE)]
    try:
        done = run([*command, "-pthread", "-ldl"], _SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LockcrossError(f"{compiler}: {error}; CC names another C compiler") from None
    if done.returncode:
        raise LockcrossError(f"{compiler}: {SOURCE.name} was not compiled: {done.stderr[-400:]}")
    new.rename(library)
    return library
