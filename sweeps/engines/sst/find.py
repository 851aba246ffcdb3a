"""Finds the user's own SST, in the environment or on PATH."""

import hashlib
import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from results.errors import LockcrossError
from results.paths import ROOT

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
