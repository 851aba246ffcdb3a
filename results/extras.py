"""Optional packages, installed when they are first used."""

import fcntl
import importlib
import importlib.metadata
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement

from results import children
from results.errors import LockcrossError
from results.paths import ROOT, WORK

REQUIREMENTS = ROOT / "requirements"
_TICK_S = 20.0  # an installation says at least so often that it goes on
_INSTALL = (
    "-m pip install --quiet --no-input --disable-pip-version-check --only-binary :all: "
    "--no-compile --require-hashes -r"
).split()


def pinned(path: Path) -> Iterator[Requirement]:
    """Return the packages of a file of requirements, without the hashes of their files."""
    text = re.sub(r"#.*|--hash=\S+|\\\n", "", path.read_text(encoding="utf-8"))
    yield from map(Requirement, filter(None, map(str.strip, text.splitlines())))


@dataclass(frozen=True)
class Extra:
    """The packages that a file of requirements pins, their name for people, and about how many
    megabytes they load."""

    name: str
    requirements: Path
    megabytes: int

    def installed(self) -> bool:
        """Tell whether every package of the requirements is there, in the version they pin."""
        for wanted in pinned(self.requirements):
            if wanted.marker and not wanted.marker.evaluate():
                continue
            try:
                if not wanted.specifier.contains(importlib.metadata.version(wanted.name)):
                    return False
            except importlib.metadata.PackageNotFoundError:
                return False
        return True

    def install(self) -> None:
        """Install the missing packages into this Python's environment. Raises LockcrossError."""
        if self.installed():
            return
        lock = WORK / "build" / "extras.lock"
        lock.parent.mkdir(parents=True, exist_ok=True)
        with lock.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # one at a time; those that waited find it done
            if not self.installed():
                self._install()

    def _install(self) -> None:
        _say(f"installing {self.name} from {self.requirements.name} ({self.megabytes} MB to load)")
        begun = time.monotonic()
        process = children.start(
            [sys.executable, *_INSTALL, self.requirements],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        complaint = None
        try:
            while complaint is None:
                try:
                    complaint = process.communicate(timeout=_TICK_S)[1]
                except subprocess.TimeoutExpired:
                    _say(f"still installing {self.name} after {time.monotonic() - begun:.0f} s")
        finally:
            children.end(process)  # where this was interrupted
        importlib.invalidate_caches()
        if process.returncode or not self.installed():
            print(complaint, end="", file=sys.stderr)
            raise LockcrossError(
                f"{self.name} could not be installed; check the network and pip's index",
                exit_code=1,
            )
        _say(f"{self.name}: ready after {time.monotonic() - begun:.0f} s")


def _say(message: str) -> None:
    print(f"lockcross: {message}", file=sys.stderr, flush=True)
