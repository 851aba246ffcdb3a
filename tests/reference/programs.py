"""The programs of the reference cycles, kept as they were compiled: so that the regression of the
engine tests the engine, and no compiler.

`./lockcross python -m tests.reference.programs` compiles them anew, with the compilers that are
here; `tests.reference.cycles` must follow.
"""

import hashlib
import io
import json
import subprocess
import sys
import tarfile
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

from results.paths import ROOT, WORK
from sweeps.programs import TARGETS, Program, compiler_version, find_compiler, loaded_digest
from tests.trees import made_once

FOLDER = Path(__file__).parent
SOURCES = ("lockimpl", "workloads")
ARCHIVE = FOLDER / "programs.tar.xz"
MANIFEST = FOLDER / "programs.json"  # how each was made, and its digest
# Python 3.11.4 and later can unpack so.
_SAFELY: Any = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}


def name(program: Program) -> str:
    """Return a program's name in the archive and in the manifest."""
    return f"{program.workload}-{program.lock}-{program.fence}-{program.flavour}"


def command(program: Program, output: str) -> list[str]:
    """The sweeps' own compile command, and no symbols."""
    return [*program.command(TARGETS[program.flavour].compiler, output), "-s"]


@cache
def unpacked() -> Path:
    """The folder with the programs; unpacked once for each archive."""
    digest = hashlib.sha256(ARCHIVE.read_bytes()).hexdigest()[:16]

    def unpack(folder: Path) -> None:
        with tarfile.open(ARCHIVE) as archive:
            archive.extractall(folder, **_SAFELY)

    return made_once(WORK / "build" / f"reference-programs-{digest}", unpack)


def _git(*arguments: str) -> bytes:
    return subprocess.check_output(["git", "-C", str(ROOT), *arguments])


def sources_of(revision: str, folder: Path) -> Path | None:
    """The C sources of a commit, in a folder; None where the clone does not have it."""
    try:
        packed = _git("archive", revision, *SOURCES)
    except subprocess.CalledProcessError:
        return None
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, **_SAFELY)
    return folder


def build(program: Program, sources: Path = ROOT) -> bytes:
    """Compile a program."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "program"
        subprocess.run(command(program, str(output)), cwd=sources, check=True)
        return output.read_bytes()


def pack(programs: list[Program]) -> None:
    """Compile the programs and write archive and manifest: the same bytes each time."""
    with ThreadPoolExecutor() as pool:
        built = dict(zip(map(name, programs), pool.map(build, programs), strict=True))
    with tarfile.open(ARCHIVE, "w:xz", preset=9, format=tarfile.USTAR_FORMAT) as archive:
        for file, content in sorted(built.items()):
            entry = tarfile.TarInfo(file)
            entry.size, entry.mode = len(content), 0o755
            archive.addfile(entry, io.BytesIO(content))
    flavours = sorted({program.flavour for program in programs})
    names = ("WORKLOAD", "LOCK", "FENCE")
    manifest = {
        "source_revision": _git("log", "-1", "--format=%H", "--", *SOURCES).decode().strip(),
        "compilers": {one: compiler_version(find_compiler(one)) for one in flavours},
        "commands": {one: " ".join(command(Program(*names, one), "OUTPUT")) for one in flavours},
        "digests": {file: loaded_digest(content) for file, content in sorted(built.items())},
    }
    MANIFEST.write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Write both files."""
    from tests.reference.cycles import CASES, programs

    if _git("status", "--porcelain", "--", *SOURCES):
        sys.exit("commit the C sources first: the manifest names the commit they are of")
    pack(list(dict.fromkeys(program for case in CASES for program in programs(case))))
    print(f"{ARCHIVE.name}: {ARCHIVE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
