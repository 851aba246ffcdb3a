"""The user's SST: its place, its parts, and our element compiled for it."""

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
from sweeps.engines.base import sources_digest
from sweeps.support import tools
from sweeps.support.paths import ENGINE_SOURCES

CONFIGS = ROOT / "sst-configs"
SCRIPT = CONFIGS / "run.py"
VARIABLE = "SST"
NEEDED = ("memHierarchy", "merlin")  # libraries of elements
DOCUMENTATION = "https://sst-simulator.org/SSTPages/SSTMainDownloads"
_TOOL = tools.Tool(
    "SST",
    ("sst",),
    "neither the program sst nor a folder with it",
    f"name its program sst, or its folder, in {VARIABLE}, or put it on PATH. It is in no package "
    f"registry; to build its core and elements: {DOCUMENTATION}",
    ("sst", "bin/sst"),
)


@dataclass(frozen=True)
class Sst:
    """An installed SST: where its programs are, its version, and why it is used."""

    path: str
    config: str  # sst-config
    version: str
    why: str


def find_sst() -> Sst:
    """Return the SST in use, with all that it needs. Raises LockcrossError (1)."""
    return _ask(*_TOOL.locate(VARIABLE))


@cache
def _ask(path: str, why: str) -> Sst:
    config, info = (str(Path(path).with_name(name)) for name in ("sst-config", "sst-info"))
    named = f"SST ({path}, {why})"
    if not os.access(config, os.X_OK):
        raise LockcrossError(f"{named} has no sst-config beside it; install SST's core again", 1)
    if not (version := _TOOL.version(r"SST-Core Version \(([^)]*)\)", path, "--version")):
        raise LockcrossError(f"{named} prints no version; is it an SST?", 1)
    for library in NEEDED:
        if not int(_TOOL.version(r"(?m)^PROCESSED (\d+) ", info, library) or 0):
            advice = f"build and install sst-elements with it: {DOCUMENTATION}"
            raise LockcrossError(f"{named} has no {library}; {advice}", exit_code=1)
    return Sst(path, config, version, why)


def flags(sst: Sst, name: str) -> list[str]:
    """Return the words of one key of sst-config."""
    return shlex.split(_TOOL.ask(sst.config, f"--{name}").stdout)


def complaint(output: str) -> str:
    """Return the line of SST's standard error, or output, that names the fault."""
    return tools.complaint(output, "lockcross|fatal|error")


@cache
def configs_digest() -> str:
    return sources_digest(CONFIGS, ".py", ".cc", ".h")


SOURCES = CONFIGS / "element"
ELEMENTS = WORK / "build" / "sst-element"
LIBRARY = "liblockcross.so"  # SST loads elements of a name from the library of that name
_LINK = ENGINE_SOURCES / "link"  # what the element and the plugin have in common
_COMPILE_S = 600.0


@cache
def element(sst: Sst) -> Path:
    """Return the folder of the compiled element. Raises LockcrossError (1) with the first error."""
    # By SST, its version and the sources.
    total = hashlib.sha256(f"{sst.path}\0{sst.version}\0{flags(sst, 'CXX')}".encode())
    # SST built anew may need another element, though its version is the same.
    with suppress(OSError):
        total.update(str(Path(sst.config).stat().st_mtime_ns).encode())
    for path in sorted([*SOURCES.glob("*"), *_LINK.glob("*.h")]):
        total.update(path.name.encode() + b"\0" + path.read_bytes())
    folder = ELEMENTS / total.hexdigest()[:16]
    if not (folder / LIBRARY).exists():
        ELEMENTS.mkdir(parents=True, exist_ok=True)
        with (ELEMENTS / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # one process compiles, others wait for it
            if not (folder / LIBRARY).exists():
                _build(sst, folder)
    return folder


def _build(sst: Sst, folder: Path) -> None:
    compiler = [*flags(sst, "CXX"), "-O2"]
    flags_of_element = [*flags(sst, "ELEMENT_CXXFLAGS"), f"-I{ENGINE_SOURCES}", f"-I{SOURCES}"]
    new = Path(tempfile.mkdtemp(dir=ELEMENTS, prefix=".new-"))
    try:
        with tempfile.TemporaryDirectory(dir=new) as objects:
            linked = []
            for source in sorted(SOURCES.glob("*.cc")):
                linked.append(str(Path(objects, f"{source.stem}.o")))
                _run(sst, [*compiler, *flags_of_element, "-c", str(source), "-o", linked[-1]])
            # Flags of libraries come last: they serve what stands before them.
            linked += flags(sst, "ELEMENT_LDFLAGS")
            _run(sst, [*compiler, "-o", str(new / LIBRARY), *linked])
        new.rename(folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _run(sst: Sst, command: list[str]) -> None:
    where = f"the element for SST {sst.version} ({sst.path}) cannot be compiled"
    try:
        done = tools.run(command, _COMPILE_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LockcrossError(
            f"{where}: {command[0]}, the compiler that sst-config names, does not run: {error}", 1
        ) from None
    if done.returncode != 0:
        errors = (line for line in done.stderr.splitlines() if re.search(r"(?i)\berror\b", line))
        message = next(errors, "it did not say why")
        raise LockcrossError(f"{where}: {message.strip()[:400]}", exit_code=1)
