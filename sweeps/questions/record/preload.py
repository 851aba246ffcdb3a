"""The library that records mutexes: compiled by the user's compiler, preloaded."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from results.errors import LockcrossError
from results.paths import ROOT, WORK
from sweeps.questions.record.fitness import needs_first_place, why_not
from sweeps.questions.record.jvm import Launch
from sweeps.support.tools import run

SOURCES = ROOT / "pthread-recorder"
# It is the first to be set up, is not entered by a compiler's own calls of the C library (those
# may be another library's), and leaves a cancelled wait by the unwinder.
_FLAGS = (
    "-O2 -shared -fPIC -fexceptions -fvisibility=hidden -fno-builtin -fno-stack-protector "
    "-fno-tree-loop-distribute-patterns -Wl,-z,initfirst,-z,now"
).split()
_SECONDS = 120  # that a compiler takes at most
_SEPARATORS = " :$\t\n;"  # in LD_PRELOAD, or given a meaning by the loader


def preloaded(command: Sequence[str], log: Path, most: int, report: Path | None = None) -> Launch:
    """Return the program with the library, which writes `log`, ends with `most` bytes, and writes
    events into `report`. Raises LockcrossError where there is no such program, or it cannot be
    recorded."""
    program = shutil.which(command[0])
    if program is None:
        raise LockcrossError(f"{command[0]}: no such program; behind -- comes what runs yours")
    made = library()
    if reason := why_not(Path(program), made):
        raise LockcrossError(f"{program}: {reason}")
    environment = {
        "LD_PRELOAD": str(_loadable(made)),
        "LOCKCROSS_PTHREAD_LOG": str(log),
        "LOCKCROSS_PTHREAD_MOST": str(most),
        "LOCKCROSS_PTHREAD_REPORT": str(report or ""),
    }
    if needs_first_place(Path(program)):
        environment["ASAN_OPTIONS"] = "verify_asan_link_order=0"
    return Launch((program, *command[1:]), environment)


def library() -> Path:
    """Return the library, compiled where its source or its compiler is another one."""
    compiler = os.environ.get("CC") or "cc"
    sources = sorted(SOURCES.glob("*.[ch]"))
    content = (
        b"".join(path.read_bytes() for path in sources) + " ".join((compiler, *_FLAGS)).encode()
    )
    digest = hashlib.sha256(content).hexdigest()[:16]
    made = WORK / "build" / "pthread-recorder" / f"{digest}.so"
    if made.exists():
        return made
    made.parent.mkdir(parents=True, exist_ok=True)
    new = made.with_suffix(f".{os.getpid()}")
    units = [str(path) for path in sources if path.suffix == ".c"]
    command = [*compiler.split(), *_FLAGS, "-o", str(new), *units, "-pthread", "-ldl"]
    try:
        done = run(command, _SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LockcrossError(f"{compiler}: {error}; CC names another C compiler") from None
    if done.returncode:
        why = done.stderr[-400:]
        raise LockcrossError(f"{compiler}: pthread-recorder/ was not compiled: {why}")
    new.rename(made)
    return made


def _loadable(made: Path) -> Path:
    """Return the library at a path that LD_PRELOAD can name: a copy, which stays, since the
    program's children may start others later. Raises LockcrossError where there is no such
    place."""
    if not set(_SEPARATORS) & set(str(made)):
        return made
    for place in (tempfile.gettempdir(), "/tmp", "/var/tmp", "/dev/shm"):
        folder = Path(place) / f"lockcross-{os.geteuid()}"
        if set(_SEPARATORS) & set(place) or os.statvfs(place).f_flag & os.ST_NOEXEC:
            continue
        try:
            folder.mkdir(mode=0o755, exist_ok=True)
            status = folder.lstat()
            if folder.is_symlink() or status.st_uid != os.geteuid() or status.st_mode & 0o022:
                continue  # another user's, who could put another library there
            copy = folder / made.name
            if not copy.exists() or copy.read_bytes() != made.read_bytes():
                new = folder / f"{made.name}.{os.getpid()}"
                shutil.copyfile(made, new)
                new.chmod(0o755)
                new.rename(copy)
        except OSError:
            continue
        return copy
    raise LockcrossError(
        f"{made}: its path has a character that LD_PRELOAD cannot name, and no folder for "
        "temporary files can have a copy"
    )
