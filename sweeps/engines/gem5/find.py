"""What a gem5 can do, shown by a litmus run.

A run of threads that count under a CAS lock: the program ends, and the count is right, only if
threads start and atomics are atomic across cores. The outcome is kept under build/gem5/, by
gem5's own description, the configuration and the program.
"""

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
from results.paths import ROOT, WORK
from sweeps.model.cells import digest
from sweeps.model.isa import ISAS
from sweeps.model.machine import Ordering, OutOfOrder, load_machine
from sweeps.programs import Binary, Builder, Program

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


PROBES = WORK / "build" / "gem5"  # what the litmus runs of each gem5 showed
_MACHINE = "generic_inorder"
_ITERATIONS = 30
_CYCLES = 2_000_000  # a hundred times as long as a good run takes
_TIME_S = 120.0


@dataclass(frozen=True)
class Probe:
    """`alone`: why a run on one core fails, or nothing; `together`: the same for two cores."""

    alone: str
    together: str


@cache
def probe(gem5: Gem5, isa: str, model: str) -> Probe:
    """Runs the litmus test on one core and on two, or returns what is stored of it."""
    flavour = ISAS[isa].flavours[0]
    program = Program("threads", "cas_spin", "full", flavour)
    binary = Builder().build([program])[program]
    key = digest([gem5.description, configs_digest(), binary.digest, isa, model, _CYCLES])
    path = PROBES / f"{isa}-{model}-{key[:16]}.json"
    if path.exists():
        known = json.loads(path.read_text(encoding="utf-8"))
        return Probe(known["alone"], known["together"])
    alone = _litmus(gem5, isa, model, binary, 1)
    together = alone or _litmus(gem5, isa, model, binary, 2)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"alone": alone, "together": together}), encoding="utf-8")
    return Probe(alone, together)


def figures_of(machine: str, isa: str) -> dict[str, int]:
    """Every figure of a machine, by name, with its clock; without those of the embedded engine's
    out-of-order core, for which gem5 has its own, and the cost of the thread scheduler, which does
    not run there."""
    loaded = load_machine(machine)
    window = {"out_of_order", *OutOfOrder.model_fields, *Ordering.model_fields}
    found = {
        name: figure.number
        for name, figure in loaded.figures(isa).items()
        if name not in window
    }  # fmt: skip
    del found["charge_switch"]
    return found | {"clock_mhz": loaded.clock_mhz.number}


def script_command(
    gem5: Gem5, isa: str, model: str, cores: int, figures: dict[str, int], more: list[str]
) -> list[str]:
    """The command that runs gem5-configs/run.py in the working directory, up to the program."""
    return [
        gem5.path, "-q", "-d", ".", str(SCRIPT), "--isa", isa, "--model", model,
        "--cores", str(cores),
        *[f"--set={name}={value}" for name, value in sorted(figures.items())], *more, "--",
    ]  # fmt: skip


def _litmus(gem5: Gem5, isa: str, model: str, binary: Binary, cores: int) -> str:
    """Why a run of `cores` threads fails, or nothing."""
    figures = {k: v for k, v in figures_of(_MACHINE, isa).items() if not k.startswith("charge_")}
    command = [
        *script_command(gem5, isa, model, cores, figures, [f"--limit={_CYCLES}"]),
        str(binary.path), f"threads={cores}", f"iterations={_ITERATIONS}", "critical=0", "think=0",
        "marker=watch",
    ]  # fmt: skip
    threads = "a thread" if cores == 1 else f"{cores} threads"
    with tempfile.TemporaryDirectory(prefix="lockcross-") as folder:
        try:
            done = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, errors="replace",
                stdin=subprocess.DEVNULL, check=False, timeout=_TIME_S,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"a litmus run of {threads} did not end in {_TIME_S:g} s"
        if done.returncode == 3:
            return f"a litmus run of {threads} did not end in {_CYCLES} cycles"
        if done.returncode != 0:
            return (
                f"gem5 fails with {threads} (exit code {done.returncode}): {complaint(done.stderr)}"
            )
        return _verdict(Path(folder) / "guest.out", threads)


def _verdict(output: Path, threads: str) -> str:
    try:
        line = json.loads(output.read_text(encoding="utf-8"))
        return "" if line["ok"] else f"a litmus run of {threads} counted wrongly: {line['error']}"
    except (OSError, ValueError, KeyError):
        return f"a litmus run of {threads} printed no result"
