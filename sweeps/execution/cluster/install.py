"""Parsl, an optional package: installed when a cluster is first used."""

import fcntl
import importlib
import importlib.metadata
import re
import subprocess
import sys

from results.errors import LockcrossError
from results.paths import ROOT, WORK

_REQUIREMENTS = ROOT / "requirements-cluster.txt"


def installed() -> bool:
    """Every package of the requirements is there, in the version they pin."""
    for line in _REQUIREMENTS.read_text(encoding="utf-8").splitlines():
        if pinned := re.match(r"([\w-]+)==([\w.]+)", line):
            try:
                if importlib.metadata.version(pinned[1]) != pinned[2]:
                    return False
            except importlib.metadata.PackageNotFoundError:
                return False
    return True


def install() -> None:
    """Installs what is missing into this Python's environment. Raises LockcrossError."""
    if installed():
        return
    lock = WORK / "build" / "cluster.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # one at a time; those that waited find it done
        if not installed():
            _install()


def _install() -> None:
    print("lockcross: installing Parsl from requirements-cluster.txt", file=sys.stderr)
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-input",
         "--disable-pip-version-check", "-r", _REQUIREMENTS, "-c", ROOT / "requirements.txt"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    importlib.invalidate_caches()
    if done.returncode or not installed():
        said = done.stderr.strip().splitlines()
        raise LockcrossError(
            "Parsl could not be installed; check the network and pip's index"
            + (f" ({said[-1]})" if said else ""),
            exit_code=1,
        )
