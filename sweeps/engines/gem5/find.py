"""Finds the user's own gem5, in the environment or on PATH."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from results.errors import LockcrossError
from results.paths import ROOT
from sweeps.model.isa import ISAS

CONFIGS = ROOT / "gem5-configs"
OLDEST = (24, 0)
SCRIPT = CONFIGS / "run.py"
DOCUMENTATION = "https://www.gem5.org/documentation/general_docs/building"
VARIABLES = {"x86_64": "GEM5_X86", "aarch64": "GEM5_ARM", "ppc64le": "GEM5_POWER"}
_NAMES = ("gem5", "gem5.fast", "gem5.opt")  # as a build calls it
_PREFIX = "lockcross-gem5: "
_ASK_S = 60.0
_COMPLAINT = re.compile(r"^lockcross-gem5:|\bpanic\b|\bfatal\b|Error\b|assert", re.IGNORECASE)


class NoGem5Error(LockcrossError):
    """No gem5 was found, and none was named."""


@dataclass(frozen=True)
class Gem5:
    """One binary: where it is, its version, and the core models it has for each ISA."""

    path: str
    version: str
    models: dict[str, tuple[str, ...]] = field(compare=False)
    description: str = ""  # its whole self-description, as JSON


def find_gem5(isa: str) -> Gem5:
    """The gem5 that simulates an ISA. Raises LockcrossError (1) when it is missing, does not run,
    is too old or lacks the ISA, saying what to do."""
    path, where = _locate(isa)
    found = ask(path)
    if _number(found.version) < OLDEST:
        raise LockcrossError(
            f"gem5 ({path}, {where}) is version {found.version}; 24.0 or later is needed: "
            f"{DOCUMENTATION}",
            exit_code=1,
        )
    if not found.models.get(isa):
        have = ", ".join(ISAS[name].title for name, models in found.models.items() if models)
        raise LockcrossError(
            f"gem5 ({path}, {where}) has no {ISAS[isa].title} cores, only {have or 'none'}; build "
            f"one with that ISA ({DOCUMENTATION}) or name another in {VARIABLES[isa]}",
            exit_code=1,
        )
    return found


def _locate(isa: str) -> tuple[str, str]:
    for variable in (VARIABLES[isa], "GEM5"):
        if given := os.environ.get(variable):
            path = shutil.which(given)
            if path is None:
                raise LockcrossError(
                    f"{variable}={given}: not an executable program; name a gem5 binary there",
                    exit_code=1,
                )
            return str(Path(path).resolve()), variable
    for name in _NAMES:
        if path := shutil.which(name):
            return str(Path(path).resolve()), "PATH"
    raise NoGem5Error(
        f"gem5 is not found; name its binary in GEM5 (or {VARIABLES[isa]}) or put it on PATH. "
        "It is in no package registry; to build it, with the X86, ARM and POWER ISAs: "
        f"{DOCUMENTATION}",
        exit_code=1,
    )


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


@cache
def ask(path: str) -> Gem5:
    """Asks a gem5 for its version and core models. Raises LockcrossError when it does not run."""
    with tempfile.TemporaryDirectory(prefix="lockcross-") as folder:
        try:
            done = subprocess.run(
                [path, "-q", "-d", folder, str(SCRIPT), "--describe"],
                capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL,
                check=False, timeout=_ASK_S, cwd=folder,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise LockcrossError(f"gem5 ({path}) does not run: {error}", exit_code=1) from None
    for line in done.stdout.splitlines():
        if line.startswith(_PREFIX):
            text = line.removeprefix(_PREFIX)
            document = json.loads(text)
            models = {isa: tuple(names) for isa, names in document["models"].items()}
            return Gem5(path, document["gem5_version"], models, text)
    said = complaint(done.stderr or done.stdout)
    raise LockcrossError(
        f"gem5 ({path}) does not run its configuration; is it a gem5? It said: {said}", exit_code=1
    )


def complaint(stderr: str) -> str:
    """The line of gem5's standard error that says what went wrong; seldom the last one."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    said = [line for line in lines if _COMPLAINT.search(line)]
    return (said or lines[-1:] or ["it did not say why"])[0][:200]


@cache
def configs_digest() -> str:
    """A digest of gem5-configs/, which is part of the model: results stored for one model
    must never answer for another."""
    total = hashlib.sha256()
    for path in sorted(CONFIGS.rglob("*.py")):
        total.update(str(path.relative_to(CONFIGS)).encode() + b"\0" + path.read_bytes())
    return total.hexdigest()[:12]
