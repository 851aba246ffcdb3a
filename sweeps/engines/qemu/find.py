"""Which QEMU runs the programs: the one that ./lockcross has chosen, or the one on PATH."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from results.errors import LockcrossError

_WHY = "the first on PATH"


@dataclass(frozen=True)
class Qemu:
    """One QEMU for an ISA: its path, its version, and why it is used and not another."""

    path: str
    version: str
    why: str


@cache
def find_qemu(isa: str) -> Qemu:
    """The QEMU of an ISA, which can load plugins. Raises LockcrossError (1), saying what to do."""
    program = f"qemu-{isa}"
    folder = os.environ.get("LOCKCROSS_QEMU")
    path = shutil.which(str(Path(folder, program)) if folder else program)
    if path is None:
        where = f"not in LOCKCROSS_QEMU={folder}" if folder else "missing"
        raise LockcrossError(f"{program} is {where}; ./lockcross finds or builds one", 1)
    if "-plugin" not in _ask(path, "--help"):
        raise LockcrossError(
            f"{program} ({path}) was built without plugins, which the engine needs; "
            "./lockcross finds or builds another, unless LOCKCROSS_QEMU names this one",
            exit_code=1,
        )
    found = re.search(r"version (\d\S*)", _ask(path, "--version"))
    if found is None:
        raise LockcrossError(f"{path} --version prints no version; install it again", 1)
    return Qemu(path, found[1], os.environ.get("LOCKCROSS_QEMU_WHY", _WHY))


def _ask(path: str, option: str) -> str:
    try:
        done = subprocess.run(
            [path, option], capture_output=True, text=True, stdin=subprocess.DEVNULL,
            check=False, timeout=30, errors="replace",
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LockcrossError(f"{path} does not run ({error}); install it again", 1) from None
    return done.stdout
