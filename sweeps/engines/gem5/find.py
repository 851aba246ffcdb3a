"""The abilities of a gem5, shown by a litmus run.

A run of threads that count under a CAS lock: the program ends, and the count is right, only if
threads start and atomics are atomic across cores. The outcome is kept under build/gem5/, by
gem5's own description, the configuration and the program.
"""

import json
import re
import subprocess
import tempfile
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from results.errors import LockcrossError
from results.paths import ROOT, WORK
from sweeps.engines.base import sources_digest
from sweeps.model.cell import digest
from sweeps.model.isa import ISAS
from sweeps.model.machine import STOPS, Charges, Ordering, OutOfOrder, load_machine
from sweeps.programs import Builder, Program
from sweeps.support import tools
from sweeps.support.tools import Probe

CONFIGS = ROOT / "gem5-configs"
OLDEST = (24, 0)
SCRIPT = CONFIGS / "run.py"
DOCUMENTATION = "https://www.gem5.org/documentation/general_docs/building"
VARIABLES = {"x86_64": "GEM5_X86", "aarch64": "GEM5_ARM", "ppc64le": "GEM5_POWER"}
_PREFIX = "lockcross-gem5: "
_COMPLAINT = r"^lockcross-gem5:|\bpanic\b|\bfatal\b|Error\b|assert"


@dataclass(frozen=True)
class Gem5:
    """One binary: where it is, its version, the core models it has for each ISA, and the kinds of
    caches."""

    path: str
    version: str
    models: dict[str, tuple[str, ...]] = field(compare=False)
    memories: tuple[str, ...] = field(compare=False)
    description: str = ""  # its whole self-description, as JSON


_TOOL = tools.Tool(
    "gem5",
    ("gem5", "gem5.fast", "gem5.opt"),  # as a build calls it
    "not an executable program; name a gem5 binary there",
)


def find_gem5(isa: str) -> Gem5:
    """Return the gem5 that simulates an ISA. Raises LockcrossError (1) when it is missing, does not
    run, is too old or lacks the ISA, with the remedy."""
    advice = (
        f"name its binary in GEM5 (or {VARIABLES[isa]}) or put it on PATH. It is in no package "
        f"registry; to build it, with the X86, ARM and POWER ISAs: {DOCUMENTATION}"
    )
    path, where = replace(_TOOL, advice=advice).locate(VARIABLES[isa], "GEM5")
    gem5 = ask(path)
    why = ""
    if tuple(int(part) for part in re.findall(r"\d+", gem5.version)[:2]) < OLDEST:
        why = f"is version {gem5.version}; 24.0 or later is needed: {DOCUMENTATION}"
    elif not gem5.models.get(isa):
        have = ", ".join(ISAS[name].title for name, models in gem5.models.items() if models)
        why = (
            f"has no {ISAS[isa].title} cores, only {have or 'none'}; build one with that ISA "
            f"({DOCUMENTATION}) or name another in {VARIABLES[isa]}"
        )
    if why:
        raise LockcrossError(f"gem5 ({path}, {where}) {why}", exit_code=1)
    return gem5


@cache
def ask(path: str) -> Gem5:
    """Ask a gem5 for its version and core models. Raises LockcrossError when it does not run."""
    with tempfile.TemporaryDirectory(prefix="lockcross-") as folder:
        words = (path, "-q", "-d", folder, str(SCRIPT), "--describe")
        done = _TOOL.ask(*words, cwd=folder)
    for line in done.stdout.splitlines():
        if line.startswith(_PREFIX):
            text = line.removeprefix(_PREFIX)
            document = json.loads(text)
            models = {isa: tuple(names) for isa, names in document["models"].items()}
            version, memories = document["gem5_version"], tuple(document["memories"])
            return Gem5(path, version, models, memories, text)
    message = complaint(done.stderr or done.stdout)
    raise LockcrossError(
        f"gem5 ({path}) does not run its configuration; is it a gem5? It said: {message}",
        exit_code=1,
    )


def complaint(output: str) -> str:
    """Return the line of gem5's standard error that names the fault; seldom the last one."""
    return tools.complaint(output, _COMPLAINT)


@cache
def configs_digest() -> str:
    return sources_digest(CONFIGS, ".py")


PROBES = WORK / "build" / "gem5"  # what the litmus runs of each gem5 showed
_MACHINE = "generic_inorder"
_ITERATIONS = 30
_CYCLES = 2_000_000  # a hundred times as long as a good run takes
_TIME_S = 120.0


@cache
def probe(gem5: Gem5, isa: str, model: str) -> Probe:
    """Run the litmus test on one core and on two, or return its stored result."""
    program = Program("threads", "cas_spin", "full", ISAS[isa].flavours[0])
    binary = Builder().build([program])[program]
    key = digest([gem5.description, configs_digest(), binary.digest, isa, model, _CYCLES])

    def litmus(cores: int) -> str:
        """Return why a run of so many threads fails, or nothing."""
        command = script_command(gem5, isa, model, cores, _MACHINE, [f"--limit={_CYCLES}"])
        keys = f"threads={cores} iterations={_ITERATIONS} critical=0 think=0 marker=watch".split()
        threads = "a thread" if cores == 1 else f"{cores} threads"
        what = f"a litmus run of {threads}"
        with tempfile.TemporaryDirectory(prefix="lockcross-") as folder:
            try:
                done = tools.run([*command, str(binary.path), *keys], _TIME_S, folder)
            except subprocess.TimeoutExpired:
                return f"{what} did not end in {_TIME_S:g} s"
            if done.returncode == 3:
                return f"{what} did not end in {_CYCLES} cycles"
            if done.returncode != 0:
                why = f"(exit code {done.returncode}): {complaint(done.stderr)}"
                return f"gem5 fails with {threads} {why}"
            try:
                line = json.loads(Path(folder, "guest.out").read_text(encoding="utf-8"))
                return "" if line["ok"] else f"{what} counted wrongly: {line['error']}"
            except (OSError, ValueError, KeyError):
                return f"{what} printed no result"

    return tools.probed(PROBES / f"{isa}-{model}-{key[:16]}.json", litmus)


# There is no thread scheduler, and nobody knows how a parked thread sleeps.
CHARGES = (*STOPS, "park", "unpark", "wake")
UNREAD_CHARGES = tuple(name for name in Charges.model_fields if name not in CHARGES)


def figures_of(machine: str, isa: str) -> dict[str, int]:
    """Return the figures of a machine, by name, with its clock; without those of the embedded
    engine's out-of-order core, for which gem5 has its own, and charges that are not known there."""
    loaded = load_machine(machine)
    left_out = {"out_of_order", *OutOfOrder.model_fields, *Ordering.model_fields}
    left_out |= {f"charge_{name}" for name in UNREAD_CHARGES}
    known = {k: figure.number for k, figure in loaded.figures(isa).items() if k not in left_out}
    return known | {"clock_mhz": loaded.clock_mhz.number}


def script_command(
    gem5: Gem5, isa: str, model: str, cores: int, machine: str, more: list[str]
) -> list[str]:
    """Return the command that runs gem5-configs/run.py in the working directory, up to the program.
    The program has the machine's charges."""
    script = [gem5.path, "-q", "-d", ".", str(SCRIPT), "--isa", isa, "--model", model]
    figures = sorted(figures_of(machine, isa).items())
    settings = [f"--set={name}={n}" for name, n in figures if not name.startswith("charge_")]
    return [*script, "--cores", str(cores), *settings, *more, "--"]
