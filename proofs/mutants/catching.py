"""What catches a mutant: the conformance kernel on simulated cores, and the clients of our own
checker. Both give the same verdict on a busy machine: they are bounded by what they do, not by how
long it takes."""

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

from proofs.models import Flavour
from proofs.mutants.mutants import Mutant, known_headers, mutated
from proofs.own_checker import compiled
from proofs.programs import Program, assumed, clients, programs
from results.paths import ROOT
from sweeps import programs as workloads
from sweeps.engines import load_engine
from sweeps.engines.base import Limits
from sweeps.model.cell import Cell
from sweeps.model.label import LockLabel
from sweeps.model.locks import load_locks
from sweeps.support import tools

_FLAVOUR, _MACHINE = "lock", "generic_inorder"
_RUN_S = 60  # a run of the kernel takes a second or two


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


QUICK_RUNS = (Run(3, 2, 1, 12_000_000),)
LONG_RUNS = (Run(2, 4, 2, 12_000_000), Run(4, 3, 3, 40_000_000, None), Run(3, 6, 4, 36_000_000))


def by_conformance(target: str, mutant: Mutant | None, runs: Sequence[Run] = QUICK_RUNS) -> str:
    """What the kernel says of the mutant in a lock's program; "" if nothing. Without a mutant: of
    the lock itself."""
    label = LockLabel(target)
    program = workloads.Program("conformance", label.lock, "full", _FLAVOUR, variant=label.variant)
    few = [
        f"-D{macro}={value}"
        for header in known_headers().values()
        for macro, value in header.few.items()
    ]
    with TemporaryDirectory() as folder:
        binary = Path(folder) / "conformance"
        command = program.command(workloads.find_compiler(_FLAVOUR), str(binary))
        command = mutated([*command, *few], mutant, Path(folder))
        subprocess.run(command, cwd=ROOT, check=True, stdin=subprocess.DEVNULL)
        return next(filter(None, (_kernel_says(binary, label, run) for run in runs)), "")


def _kernel_says(binary: Path, label: LockLabel, run: Run) -> str:
    cell = Cell(
        machine=_MACHINE,
        isa=workloads.TARGETS[_FLAVOUR].isa,
        flavour=_FLAVOUR,
        lock=label.lock,
        variant=label.variant,
        workload="conformance",
        threads=min(run.threads, load_locks()[label.lock].threads or run.threads),
        cancel=run.cancel,
        seed=run.seed,
        parameters={"iterations": run.iterations},
    )
    command = load_engine(cell.engine).command(cell, binary, Limits(instructions=run.most))
    try:
        done = tools.run(command, _RUN_S, binary.parent)
    except subprocess.TimeoutExpired:  # a crash of one core, for which the others wait
        return "does not end"
    if done.returncode == 0:
        return ""
    if done.stdout.startswith("{"):
        return str(json.loads(done.stdout)["error"])
    return "waits for ever" if done.returncode == 3 else "crashes"


_WEAK, _SC = "weak", "sc"  # models; the second is sequential consistency
_FAILED, _BOUND = 1, 3  # exit codes of a client's program
_EXPLORATION_S = 300  # at most


@dataclass(frozen=True)
class Effort:
    """How far a client is explored: up to a bound of states, and where that ends before all
    executions were looked at, random ones follow. `long`: also clients that are not for CI, and
    steps left out under the weak model."""

    states: int
    random_runs: int
    long: bool


QUICK = Effort(40_000, 1_000, long=False)
LONG = Effort(600_000, 20_000, long=True)
_one_at_a_time = Lock()


def by_checker(target: str, mutant: Mutant, effort: Effort) -> dict[str, str]:
    """Looks for an execution of a lock's clients that the mutant breaks, and the lock does not: the
    cheapest client first. Which `lock` and `client` caught it, under which `model`, in which `way`,
    and what the `checker` said; nothing where none does."""
    with TemporaryDirectory() as folder:
        for program in programs_of(target, effort.long):
            binary = _compiled(program, mutant, Path(folder))
            # Most steps left out show in any order; sequential consistency has the fewest states.
            models = [_SC] if mutant.kind == "logic" else []
            if mutant.kind == "order" or effort.long:
                needed = assumed(program, _WEAK)
                models.append(needed.instead if needed else _WEAK)
            for model in models:
                way, said = _explored(binary, model, effort)
                if said:
                    with _one_at_a_time:
                        itself = _said_of_the_lock(program, model, effort)
                    if not itself:
                        caught = {"client": program.client.label, "model": model, "way": way}
                        return {"lock": target, **caught, "checker": said}
    return {}


def programs_of(target: str, deep: bool) -> list[Program]:
    """The clients of a lock, those for CI first."""
    of_lock = [
        program
        for program, refused in programs([load_locks()[LockLabel(target).lock]], clients(), deep)
        if not refused and (program.label, program.flavour) == (target, Flavour.WEAK)
    ]
    return sorted(of_lock, key=lambda program: program.client.size.deep)


def _compiled(program: Program, mutant: Mutant | None, folder: Path) -> Path:
    return compiled(program, folder, lambda command: mutated(command, mutant, folder))


def _explored(binary: Path, model: str, effort: Effort) -> tuple[str, str]:
    """In which way the search ended before a bound, of its own or of the checker itself, and what
    failed; nothing if none fails."""
    ways = {
        "all executions": ["--states", str(effort.states)],
        "random executions": ["--random", str(effort.random_runs)],
    }
    for way, options in ways.items():
        limit = ["--seconds", str(_EXPLORATION_S)]
        done = tools.run([str(binary), "--model", model, *options, *limit])
        if done.returncode == _BOUND or done.stderr.startswith("prover: "):
            continue
        if done.returncode == 0:
            return way, ""
        if done.returncode != _FAILED or not done.stdout.startswith("{"):
            return way, f"crashes: {done.stderr.strip()[:200]}"
        failure = json.loads(done.stdout)["failure"]
        return way, f"{failure['kind']}: {failure['what']}"
    return "", ""


@cache
def _said_of_the_lock(program: Program, model: str, effort: Effort) -> str:
    """What fails without a mutant, so that the lock's mutants show nothing."""
    with TemporaryDirectory() as folder:
        return _explored(_compiled(program, None, Path(folder)), model, effort)[1]
