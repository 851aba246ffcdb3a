"""Finds the user's own herd7 and asks it for verdicts."""

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from results.errors import LockcrossError

VARIABLE = "HERD7"
DOCUMENTATION = "https://diy.inria.fr/doc/herd.html"
LIMIT_S = 600.0
_ASK_S = 20.0
_OBSERVATION = re.compile(r"^Observation \S+ (Never|Sometimes|Always) (\d+) (\d+)", re.MULTILINE)


class NoHerdError(LockcrossError):
    """No herd7 was found, and none was named."""


@dataclass(frozen=True)
class Herd:
    """One binary and its version."""

    path: str
    version: str


@dataclass(frozen=True)
class Verdict:
    """What herd7 said: `allowed`, `forbidden`, or `undecided` within the limit of time. `bounded`:
    some loop has more turns than were looked at."""

    verdict: str
    executions: int
    seconds: float
    bounded: bool


def find_herd() -> Herd:
    """The herd7 in HERD7 or on PATH. Raises LockcrossError (1) when there is none that runs."""
    given = os.environ.get(VARIABLE)
    path = shutil.which(given or "herd7")
    if path is None and given:
        raise LockcrossError(
            f"{VARIABLE}={given}: not an executable program; name a herd7 binary there", exit_code=1
        )
    if path is None:
        raise NoHerdError(
            f"herd7 is not found; name its binary in {VARIABLE} or put it on PATH. It is part of "
            f"herdtools7: {DOCUMENTATION}",
            exit_code=1,
        )
    return Herd(path, _version(path))


@cache
def _version(path: str) -> str:
    try:
        done = subprocess.run(
            [path, "-version"], capture_output=True, text=True, check=True, timeout=_ASK_S,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        return re.split(r"[,\s]", done.stdout.strip())[0]
    except (OSError, subprocess.SubprocessError) as error:
        raise LockcrossError(f"herd7 ({path}) does not run: {error}", exit_code=1) from None


def ask(herd: Herd, text: str, options: Sequence[str]) -> Verdict:
    """Whether the outcome of a litmus test can be. Raises LockcrossError when herd7 refuses it."""
    with tempfile.TemporaryDirectory(prefix="lockcross-") as folder:
        path = Path(folder) / "test.litmus"
        path.write_text(text)
        begun = time.monotonic()
        try:
            done = subprocess.run(
                [herd.path, *options, str(path)], capture_output=True, text=True, check=False,
                timeout=LIMIT_S, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return Verdict("undecided", 0, LIMIT_S, False)
        seconds = time.monotonic() - begun
    found = _OBSERVATION.search(done.stdout)
    executions = int(found[2]) + int(found[3]) if found else 0
    if not found or not executions:
        said = " ".join((done.stderr or done.stdout).split())[-300:]
        raise LockcrossError(f"herd7 refuses a test: {said}\n{text}", exit_code=1)
    verdict = "forbidden" if found[1] == "Never" else "allowed"
    return Verdict(verdict, executions, seconds, "unrolling limit" in done.stderr)
