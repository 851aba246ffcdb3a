"""The checks that catch a mutant: the conformance kernel on simulated cores, and the clients of our
own checker. Both give the same verdict on a busy machine: they are bounded by their work, not by
their time."""

import json
import re
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

from results.paths import ROOT
from sweeps import programs as workloads
from sweeps.engines.base import Limits, load_engine
from sweeps.model.cell import Cell
from sweeps.model.locks import LockLabel, load_locks
from sweeps.questions.prove.mutants.mutants import Mutant, known_headers, mutated
from sweeps.questions.prove.proofs.own_checker import SC, compiled, failure_of
from sweeps.questions.prove.proofs.programs import Program, clients, programs
from sweeps.support import tools
from sweeps.verdicts import Flavour

_FLAVOUR, _MACHINE = "lock", "generic_inorder"
_RUN_S = 60  # a run of the kernel takes a second or two


@dataclass(frozen=True)
class KernelRun:
    """Threads, iterations and seed of the kernel. A thread that waits for ever is seen when all
    have executed `instructions`, twice the number of any lock. `cancel_latency`: so few cycles that
    an owner is still in its fast path when it is stopped; None: the machine's."""

    threads: int
    iterations: int
    seed: int
    instructions: int
    cancel_latency: int | None = 40


@dataclass(frozen=True)
class Effort:
    """How far is looked: with which runs of the kernel; a client up to a bound of states, and where
    that ends before all executions were looked at, random ones follow. `long`: also clients that
    are not for CI, and steps left out under the weak model."""

    runs: tuple[KernelRun, ...]
    states: int
    random_runs: int
    long: bool


QUICK = Effort((KernelRun(3, 2, 1, 12_000_000),), 40_000, 1_000, long=False)
LONG = Effort(
    (
        KernelRun(2, 4, 2, 12_000_000),
        KernelRun(4, 3, 3, 40_000_000, None),
        KernelRun(3, 6, 4, 36_000_000),
    ),
    600_000,
    20_000,
    long=True,
)


def by_conformance(target: str, mutant: Mutant | None, effort: Effort = QUICK) -> str:
    """Return the kernel's complaint about the mutant in a lock's program; "" if there is none.
    Without a mutant: about the lock itself."""
    cells = [_cell(LockLabel(target), run) for run in effort.runs]
    pools = [
        f"-D{macro}={value}"
        for header in known_headers().values()
        for macro, value in header.few.items()
    ]
    with TemporaryDirectory() as folder:
        binary = Path(folder) / "conformance"
        program = workloads.Program.of(cells[0])
        command = program.command(workloads.find_compiler(_FLAVOUR), str(binary))
        command = mutated([*command, *pools], mutant, Path(folder))
        tools.run(command, cwd=ROOT).check_returncode()
        runs = zip(cells, effort.runs, strict=True)
        complaints = (_complaint(binary, cell, run.instructions) for cell, run in runs)
        return next(filter(None, complaints), "")


def _cell(label: LockLabel, run: KernelRun) -> Cell:
    return Cell(
        machine=_MACHINE,
        isa=workloads.TARGETS[_FLAVOUR].isa,
        flavour=_FLAVOUR,
        lock=label.lock,
        variant=label.variant,
        fence=label.fence,
        workload="conformance",
        threads=min(run.threads, load_locks()[label.lock].threads or run.threads),
        cancel_latency=run.cancel_latency,
        seed=run.seed,
        parameters={"iterations": run.iterations},
    )


def _complaint(binary: Path, cell: Cell, instructions: int) -> str:
    command = load_engine(cell.engine).command(cell, binary, Limits(instructions=instructions))
    try:
        done = tools.run(command, _RUN_S, binary.parent)
    except subprocess.TimeoutExpired:  # a crash of one core, for which the others wait
        return "does not end"
    if done.returncode == 0:
        return ""
    if done.stdout.startswith("{"):
        return str(json.loads(done.stdout)["error"])
    return "waits for ever" if done.returncode == 3 else "crashes"


_WEAK = "weak"
_FAILED, _BOUND = 1, 3  # exit codes of a client's program
_EXPLORATION_S = 300  # at most
_SETUP_FAILED = re.compile(r"prover: (prove_setup failed: .*)")
_one_at_a_time = Lock()


def by_checker(target: str, mutant: Mutant, effort: Effort) -> dict[str, str]:
    """Look for an execution of a lock's clients that the mutant breaks, and the lock does not: the
    cheapest client first. Returns which `lock` and `client` caught it, under which `model`, in
    which `way`, and the `checker`'s words; nothing where none does."""
    with TemporaryDirectory() as folder:
        for program in programs_of(target, effort.long):
            binary = _compiled(program, mutant, Path(folder))
            # Most steps left out show in any order; sequential consistency has the fewest states.
            models = [] if mutant.kind == "order" else [SC]
            if (mutant.kind == "order" or effort.long) and not program.client.size.sc:
                needed = program.assumption(_WEAK)
                models.append(needed.instead if needed else _WEAK)
            for model in models:
                way, failure = _explored(binary, model, effort)
                if not failure:
                    continue
                with _one_at_a_time:
                    unchanged = _failure_of_the_lock(program, model, effort)
                if not unchanged:
                    client = program.client.label
                    return {"lock": target, "client": client, "model": model, "way": way,
                            "checker": failure}  # fmt: skip
    return {}


def programs_of(target: str, deep: bool) -> list[Program]:
    """Return the clients of a lock, those for CI first."""
    of_lock = programs([load_locks()[LockLabel(target).lock]], clients(), deep)
    proved = (program for program, refusal in of_lock if not refusal)
    same = (one for one in proved if (one.label, one.flavour) == (target, Flavour.WEAK))
    return sorted(same, key=lambda program: program.client.size.deep)


def _compiled(program: Program, mutant: Mutant | None, folder: Path) -> Path:
    return compiled(program, folder, lambda command: mutated(command, mutant, folder))


def _explored(binary: Path, model: str, effort: Effort) -> tuple[str, str]:
    """Return in which way the search ended before a bound, of the client or of the checker, and the
    failure; "" if nothing fails."""
    ways = {
        "all executions": ["--states", str(effort.states)],
        "random executions": ["--random", str(effort.random_runs)],
    }
    for way, options in ways.items():
        limit = ["--seconds", str(_EXPLORATION_S)]
        done = tools.run([str(binary), "--model", model, *options, *limit])
        if message := _SETUP_FAILED.match(done.stderr):
            return way, message[1]
        if done.returncode == _BOUND or done.stderr.startswith("prover: "):
            continue
        if done.returncode == 0:
            return way, ""
        if done.returncode != _FAILED or not done.stdout.startswith("{"):
            return way, f"crashes: {done.stderr.strip()[:200]}"
        return way, failure_of(json.loads(done.stdout))
    return "", ""


@cache
def _failure_of_the_lock(program: Program, model: str, effort: Effort) -> str:
    """Return the failure without a mutant: then the lock's mutants show nothing."""
    with TemporaryDirectory() as folder:
        return _explored(_compiled(program, None, Path(folder)), model, effort)[1]
