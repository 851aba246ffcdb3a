"""Build stand-ins of the plugin and of SST for the tests of the link between the two."""

import hashlib
import json
import subprocess
import time
from functools import cache
from pathlib import Path
from typing import Any

from results.paths import ROOT
from sweeps.support.paths import BINARIES, ENGINE_SOURCES
from tests.trees import made_once

ELEMENT = ROOT / "sst-configs" / "element"
HERE = ROOT / "tests" / "link"


@cache
def build(name: str, *parts: str) -> Path:
    """A program of tests/link/ with parts of the element. Cached by its content."""
    sources = [HERE / f"{name}.cc", *(ELEMENT / f"{part}.cc" for part in parts)]
    headers = [*ELEMENT.glob("*.h"), *(ENGINE_SOURCES / "link").glob("*.h")]
    content = b"".join(path.read_bytes() for path in [*sources, *sorted(headers)])
    options = ["-std=c++17", "-O2", "-Wall", "-Wextra", f"-I{ENGINE_SOURCES}", f"-I{ELEMENT}"]

    def compile_to(program: Path) -> None:
        subprocess.run(["g++", *options, *sources, "-o", program], check=True)

    digest = hashlib.sha256(content).hexdigest()[:16]
    return made_once(BINARIES / f"test-link-{name}-{digest}", compile_to)


def peer(*words: object) -> list[str]:
    """The command of a peer that plays the plugin (tests/link/peer.cc)."""
    return [str(build("peer")), "@FD@", *map(str, words)]


def memory(folder: Path, guest: list[str], **changed: int) -> subprocess.CompletedProcess[str]:
    """Run a guest with a memory that is not SST (tests/link/memory.cc)."""
    words = {"cores": 4, "lines": 1000, "oldest": 1000, "latency": 10} | changed
    program = build("memory", "session", "guest", "link_server")
    return subprocess.run(
        [program, *map(str, words.values()), *guest],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def gone(folder: Path) -> bool:
    """Whether, in a moment, no process is left that works in a folder."""
    for _ in range(100):
        if not any(_works_in(process, folder) for process in Path("/proc").glob("[0-9]*")):
            return True
        time.sleep(0.05)
    return False


def _works_in(process: Path, folder: Path) -> bool:
    try:
        return (process / "cwd").readlink() == folder.resolve()
    except OSError:
        return False


def document(guest: list[str], topology: str = "bus", **changed: Any) -> dict[str, Any]:
    """sst.json of a small system; figures of the memory system and other values at will."""
    usual = json.loads((HERE / "sst.json").read_text("utf-8"))
    figures = {"topology": topology} | usual["every"]
    figures |= usual["bus" if topology == "bus" else "network"]
    if topology == "mesh":
        figures["rows"] = 4
    figures |= {name: changed.pop(name) for name in figures.keys() & changed.keys()}
    figures |= changed.pop("more", {})
    given: dict[str, Any] = usual["settings"] | {"sst": figures, "guest": guest} | changed
    if topology != "bus":
        given.setdefault("place", list(range(given["cores"])))
    return given


def answers(folder: Path) -> list[list[str]]:
    """The output of a scripted peer: core, kind, line, cycle, latency of each request."""
    return [line.split() for line in (folder / "guest.out").read_text("utf-8").splitlines()]


def record(folder: Path) -> dict[str, Any]:
    """The record of a run on SST."""
    return json.loads((folder / "sst-record.json").read_text("utf-8"))
