"""What an SST can do, shown by litmus runs.

Threads that count under a CAS lock, and threads that pass on a message by plain stores and loads:
programs verify themselves, and end only if every request is answered. The outcome is kept under
build/sst/, by SST, the configuration, the plugin and the programs.
"""

import fcntl
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from results.errors import LockcrossError
from results.paths import ROOT, WORK
from sweeps.support.paths import ENGINE_SOURCES

CONFIGS = ROOT / "sst-configs"
SCRIPT = CONFIGS / "run.py"
VARIABLE = "SST"
NEEDED = ("memHierarchy", "merlin")  # libraries of elements
DOCUMENTATION = "https://sst-simulator.org/SSTPages/SSTMainDownloads"
_ASK_S = 60.0
_VERSION = re.compile(r"SST-Core Version \(([^)]*)\)")
_FOUND = re.compile(r"^PROCESSED (\d+) ", re.MULTILINE)


class NoSstError(LockcrossError):
    """No SST was found, and none was named."""


@dataclass(frozen=True)
class Sst:
    """An installed SST: where its programs are, its version, and why it is used."""

    path: str
    config: str  # sst-config
    version: str
    why: str


def find_sst() -> Sst:
    """The SST in use, with all that it needs. Raises LockcrossError (1), saying what to do."""
    path, why = _locate()
    found = _ask_version(path, why)
    for name in NEEDED:
        if lack := missing(found, name):
            raise LockcrossError(lack, exit_code=1)
    return found


def _locate() -> tuple[str, str]:
    if given := os.environ.get(VARIABLE):
        places = [Path(given), Path(given, "sst"), Path(given, "bin", "sst")]
        for place in places:
            if place.is_file() and os.access(place, os.X_OK):
                return str(place.resolve()), VARIABLE
        raise LockcrossError(
            f"{VARIABLE}={given}: neither the program sst nor a folder with it", exit_code=1
        )
    if path := shutil.which("sst"):
        return str(Path(path).resolve()), "PATH"
    raise NoSstError(
        f"SST is not found; name its program sst, or its folder, in {VARIABLE}, or put it on PATH. "
        f"It is in no package registry; to build its core and elements: {DOCUMENTATION}",
        exit_code=1,
    )


@cache
def _ask_version(path: str, why: str) -> Sst:
    config = str(Path(path).with_name("sst-config"))
    if not os.access(config, os.X_OK):
        raise LockcrossError(
            f"SST ({path}, {why}) has no sst-config beside it; install SST's core again", 1
        )
    found = _VERSION.search(_ask(path, "--version"))
    if found is None:
        raise LockcrossError(f"SST ({path}, {why}) prints no version; is it an SST?", 1)
    return Sst(path, config, found[1].strip(), why)


@cache
def missing(sst: Sst, library: str) -> str:
    """What to do about a library of elements that an SST lacks, or nothing."""
    said = _ask(str(Path(sst.path).with_name("sst-info")), library)
    found = _FOUND.search(said)
    if found is not None and int(found[1]):
        return ""
    return (
        f"SST ({sst.path}, {sst.why}) has no {library}; build and install sst-elements with it: "
        f"{DOCUMENTATION}"
    )


def flags(sst: Sst, name: str) -> list[str]:
    """Words of what sst-config says of one of its keys."""
    return shlex.split(_ask(sst.config, f"--{name}"))


def _ask(program: str, argument: str) -> str:
    try:
        done = subprocess.run(
            [program, argument], capture_output=True, text=True, errors="replace",
            stdin=subprocess.DEVNULL, check=False, timeout=_ASK_S,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LockcrossError(f"{program} does not run ({error}); install SST again", 1) from None
    return done.stdout


def complaint(said: str) -> str:
    """The line of SST's standard error, or output, that says what went wrong."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    marked = [line for line in lines if re.search(r"lockcross|fatal|error", line, re.IGNORECASE)]
    return (marked or lines[-1:] or ["it did not say why"])[0][:300]


@cache
def configs_digest() -> str:
    """A digest of sst-configs/, which is part of the model: results stored for one model must never
    answer for another."""
    total = hashlib.sha256()
    for path in sorted(p for p in CONFIGS.rglob("*") if p.suffix in (".py", ".cc", ".h")):
        total.update(str(path.relative_to(CONFIGS)).encode() + b"\0" + path.read_bytes())
    return total.hexdigest()[:12]


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
