"""What a gem5 can do, shown by a litmus run.

A run of threads that count under a CAS lock: the program ends, and the count is right, only if
threads start and atomics are atomic across cores. The outcome is kept under build/gem5/, by
gem5's own description, the configuration and the program.
"""

import json
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from results.paths import WORK
from sweeps.engines.gem5.find import SCRIPT, Gem5, complaint, configs_digest
from sweeps.model.cells import digest
from sweeps.model.isa import ISAS
from sweeps.model.machine import Ordering, OutOfOrder, load_machine
from sweeps.programs.builder import Binary, Builder, Program

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
