"""What catches a mutant: the conformance kernel on simulated cores, and the clients of our own
checker. Both give the same verdict on a busy machine: they are bounded by what they do, not by how
long it takes."""

import json
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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

_FLAVOUR, _MACHINE = "lock", "generic_inorder"
_RUN_S = 60  # a run of the kernel takes a second or two


@dataclass(frozen=True)
class Run:
    """Threads, iterations and seed of the kernel. A thread that waits for ever is seen when all
    have executed `most` instructions, twice of what any lock takes. `cancel_latency`: so few
    cycles that an owner is still in its fast path when it is stopped; None: the machine's."""

    threads: int
    iterations: int
    seed: int
    most: int
    cancel_latency: int | None = 40


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
        cancel_latency=run.cancel_latency,
        seed=run.seed,
        parameters={"iterations": run.iterations},
    )
    try:
        done = subprocess.run(
            load_engine(cell.engine).command(cell, binary, Limits(instructions=run.most)),
            capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
            cwd=binary.parent, timeout=_RUN_S,
        )  # fmt: skip
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

    @property
    def ways(self) -> dict[str, list[str]]:
        """The options of each way to explore."""
        return {
            "all executions": ["--states", str(self.states)],
            "random executions": ["--random", str(self.random_runs)],
        }


QUICK = Effort(40_000, 1_000, long=False)
LONG = Effort(600_000, 20_000, long=True)


@dataclass(frozen=True)
class Catch:
    """Which client caught a mutant, under which model, in which way, and what the checker said."""

    lock: str
    client: str
    model: str
    way: str
    checker: str


def by_checker(target: str, mutant: Mutant, effort: Effort) -> Catch | None:
    """Looks for an execution of a lock's clients that the mutant breaks, and the lock does not: the
    cheapest client first."""
    with TemporaryDirectory() as folder:
        for program in _programs(target, effort.long):
            binary = _compiled(program, mutant, Path(folder))
            for model in _models(program, mutant.kind, effort):
                for way, options in effort.ways.items():
                    said = _checker_says(binary, model, options)
                    if said and not _fails_itself(program, model, effort):
                        return Catch(target, program.client.label, model, way, said)
                    if said is not None:
                        break
    return None


def _programs(target: str, deep: bool) -> list[Program]:
    """The clients of a lock, those for CI first."""
    of_lock = [
        program
        for program, refused in programs([load_locks()[LockLabel(target).lock]], clients(), deep)
        if not refused and program.label == target and program.flavour == Flavour.WEAK
    ]
    return sorted(of_lock, key=lambda program: program.client.size.deep)


def _compiled(program: Program, mutant: Mutant | None, folder: Path) -> Path:
    return compiled(program, folder, lambda command: mutated(command, mutant, folder))


def _models(program: Program, kind: str, effort: Effort) -> Iterator[str]:
    """Most steps left out show in any order; sequential consistency has the fewest states."""
    if kind == "logic":
        yield _SC
    if kind == "order" or effort.long:
        needed = assumed(program, _WEAK)
        yield needed.instead if needed else _WEAK


def _checker_says(binary: Path, model: str, options: Sequence[str]) -> str | None:
    """What failed; "" if all executions were looked at and none fails; None if a bound was reached,
    of the search or of the checker itself."""
    done = subprocess.run(
        [str(binary), "--model", model, *options, "--seconds", str(_EXPLORATION_S)],
        capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if done.returncode == _BOUND or done.stderr.startswith("prover: "):
        return None
    if done.returncode == 0:
        return "" if "--random" not in options else None
    if done.returncode != _FAILED or not done.stdout.startswith("{"):
        return f"crashes: {done.stderr.strip()[:200]}"
    failure = json.loads(done.stdout)["failure"]
    return f"{failure['kind']}: {failure['what']}"


_known: dict[tuple[Program, str, Effort], bool] = {}
_one_at_a_time = Lock()


def _fails_itself(program: Program, model: str, effort: Effort) -> bool:
    """Whether the lock without a mutant fails, so that its mutants show nothing."""
    key = (program, model, effort)
    with _one_at_a_time, TemporaryDirectory() as folder:
        if key not in _known:
            binary = _compiled(program, None, Path(folder))
            said = (_checker_says(binary, model, options) for options in effort.ways.values())
            _known[key] = bool(next((one for one in said if one is not None), ""))
        return _known[key]
