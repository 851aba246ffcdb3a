"""Compiles the element of sst-configs/element against the user's SST, at first use."""

import fcntl
import hashlib
import re
import shutil
import subprocess
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

from results.errors import LockcrossError
from results.paths import WORK
from sweeps.engines.sst.find import CONFIGS, Sst, flags
from sweeps.support.paths import ENGINE_SOURCES

SOURCES = CONFIGS / "element"
ELEMENTS = WORK / "build" / "sst-element"
LIBRARY = "liblockcross.so"  # SST loads elements of a name from the library of that name
_LINK = ENGINE_SOURCES / "link"  # what the element and the plugin have in common
_ERROR = re.compile(r"\berror\b", re.IGNORECASE)
_COMPILE_S = 600.0


@cache
def element(sst: Sst) -> Path:
    """The folder of the compiled element, for SST's --add-lib-path. Raises LockcrossError (1) with
    the compiler's first error."""
    folder = place(sst)
    if not (folder / LIBRARY).exists():
        ELEMENTS.mkdir(parents=True, exist_ok=True)
        with (ELEMENTS / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # one process compiles, others wait for it
            if not (folder / LIBRARY).exists():
                _build(sst, folder)
    return folder


def place(sst: Sst) -> Path:
    """Where the element for this SST is, once compiled: by SST, its version and the sources."""
    total = hashlib.sha256(f"{sst.path}\0{sst.version}\0{flags(sst, 'CXX')}".encode())
    # SST built anew may need another element, though its version is the same.
    with suppress(OSError):
        total.update(str(Path(sst.config).stat().st_mtime_ns).encode())
    for path in sorted([*SOURCES.glob("*"), *_LINK.glob("*.h")]):
        total.update(path.name.encode() + b"\0" + path.read_bytes())
    return ELEMENTS / total.hexdigest()[:16]


def _build(sst: Sst, folder: Path) -> None:
    compiler = [*flags(sst, "CXX"), "-O2"]
    new = Path(tempfile.mkdtemp(dir=ELEMENTS, prefix=".new-"))
    try:
        objects: list[Path] = []
        for source in sorted(SOURCES.glob("*.cc")):
            made = new / f"{source.stem}.o"
            own = [*flags(sst, "ELEMENT_CXXFLAGS"), f"-I{ENGINE_SOURCES}", f"-I{SOURCES}"]
            _run(sst, [*compiler, *own, "-c", str(source), "-o", str(made)])
            objects.append(made)
        # Flags of libraries come last: they serve what stands before them.
        linked = [*compiler, "-o", str(new / LIBRARY), *map(str, objects)]
        _run(sst, [*linked, *flags(sst, "ELEMENT_LDFLAGS")])
        for made in objects:
            made.unlink()
        new.rename(folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _run(sst: Sst, command: list[str]) -> None:
    where = f"the element for SST {sst.version} ({sst.path}) cannot be compiled"
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL,
            check=False, timeout=_COMPILE_S,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LockcrossError(
            f"{where}: {command[0]}, the compiler that sst-config names, does not run: {error}", 1
        ) from None
    if done.returncode != 0:
        lines = done.stderr.splitlines()
        said = next((line for line in lines if _ERROR.search(line)), "it did not say why")
        raise LockcrossError(f"{where}: {said.strip()[:400]}", exit_code=1)
