"""Optional packages, installed when they are first used."""

import fcntl
import importlib
import importlib.metadata
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from results.errors import LockcrossError
from results.paths import ROOT, WORK


@dataclass(frozen=True)
class Extra:
    """What a file of requirements pins, and the name that it is spoken of by."""

    name: str
    requirements: Path

    def installed(self) -> bool:
        """Every package of the requirements is there, in the version they pin."""
        for line in self.requirements.read_text(encoding="utf-8").splitlines():
            if pinned := re.match(r"([\w-]+)==([\w.]+)", line):
                try:
                    if importlib.metadata.version(pinned[1]) != pinned[2]:
                        return False
                except importlib.metadata.PackageNotFoundError:
                    return False
        return True

    def install(self) -> None:
        """Installs what is missing into this Python's environment. Raises LockcrossError."""
        if self.installed():
            return
        lock = WORK / "build" / "extras.lock"
        lock.parent.mkdir(parents=True, exist_ok=True)
        with lock.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # one at a time; those that waited find it done
            if not self.installed():
                self._install()

    def _install(self) -> None:
        print(f"lockcross: installing {self.name} from {self.requirements.name}", file=sys.stderr)
        done = subprocess.run(
            [sys.executable, "-m", "pip", "install", "--quiet", "--no-input",
             "--disable-pip-version-check", "-r", self.requirements,
             "-c", ROOT / "requirements.txt"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip
        importlib.invalidate_caches()
        if done.returncode or not self.installed():
            said = done.stderr.strip().splitlines()
            raise LockcrossError(
                f"{self.name} could not be installed; check the network and pip's index"
                + (f" ({said[-1]})" if said else ""),
                exit_code=1,
            )
