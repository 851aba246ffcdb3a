"""The conformance kernel as a catcher of mutants: on simulated cores, so that a mutant which it
catches once it always catches."""

import json
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from proofs.mutants.mutants import Mutant, mutated
from results.paths import ROOT
from sweeps.engines import load_engine
from sweeps.engines.base import Limits
from sweeps.model.cell import Cell
from sweeps.model.locks import load_locks
from sweeps.programs import TARGETS, Program, find_compiler

_FLAVOUR, _MACHINE = "lock", "generic_inorder"
_LIMIT_S = 60  # a run takes a second or two
# Few monitors, buckets and hot locks, so that they go from object to object.
FEW = (
    "-DMONITOR_CACHE_SIZE=4", "-DMONITOR_FREE_MAX=2", "-DHOT_LOCKS=2", "-DHOT_THRESHOLD=2",
    "-DMONITOR_BUCKETS=8",
)  # fmt: skip


@dataclass(frozen=True)
class Run:
    """Threads, iterations and seed of the kernel. A thread that waits for ever is seen when all
    have executed `most` instructions, twice of what any lock takes. `cancel`: so few cycles that
    an owner is still in its fast path when it is stopped; None: the machine's."""

    threads: int
    iterations: int
    seed: int
    most: int
    cancel: int | None = 40


QUICK = (Run(3, 2, 1, 12_000_000),)
LONG = (Run(2, 4, 2, 12_000_000), Run(4, 3, 3, 40_000_000, None), Run(3, 6, 4, 36_000_000))


def caught(target: str, mutant: Mutant | None, runs: Sequence[Run] = QUICK) -> str:
    """What the kernel says of the mutant in a lock's program; "" if nothing. Without a mutant: of
    the lock itself."""
    with tempfile.TemporaryDirectory() as folder:
        binary = Path(folder) / "conformance"
        _build(target, mutant, Path(folder), binary)
        for run in runs:
            try:
                said = _said(binary, _cell(target, run), run.most, Path(folder))
            except subprocess.TimeoutExpired:  # a crash of one core, for which the others wait
                said = "does not end"
            if said:
                return said
    return ""


def _cell(target: str, run: Run) -> Cell:
    lock, _, variant = target.partition(":")
    return Cell(
        machine=_MACHINE,
        isa=TARGETS[_FLAVOUR].isa,
        flavour=_FLAVOUR,
        lock=lock,
        variant=variant,
        workload="conformance",
        threads=min(run.threads, load_locks()[lock].threads or run.threads),
        cancel=run.cancel,
        seed=run.seed,
        parameters={"iterations": run.iterations},
    )


def _build(target: str, mutant: Mutant | None, folder: Path, binary: Path) -> None:
    lock, _, variant = target.partition(":")
    program = Program("conformance", lock, "full", _FLAVOUR, variant=variant)
    command = [*program.command(find_compiler(_FLAVOUR), str(binary)), *FEW]
    subprocess.run(mutated(command, mutant, folder), cwd=ROOT, check=True, stdin=subprocess.DEVNULL)


def _said(binary: Path, cell: Cell, most: int, folder: Path) -> str:
    done = subprocess.run(
        load_engine(cell.engine).command(cell, binary, Limits(instructions=most)),
        capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, cwd=folder,
        timeout=_LIMIT_S,
    )  # fmt: skip
    if done.returncode == 0:
        return ""
    if done.stdout.startswith("{"):
        return str(json.loads(done.stdout)["error"])
    return "waits for ever" if done.returncode == 3 else "crashes"
