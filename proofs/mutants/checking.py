"""Our own checker as a catcher of mutants: the clients of a lock one after the other, the cheapest
first, each up to a bound of states; where that ends before all executions were looked at, random
ones follow."""

import json
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

from proofs.assumptions import assumed
from proofs.models import WEAK, Flavour, Model
from proofs.mutants.mutants import Mutant, mutated
from proofs.own_checker import compiled
from proofs.programs import Program, clients, programs
from sweeps.model.locks import load_locks

SC = Model("sc", Flavour.WEAK, "sequential consistency", ())
_FAILED, _BOUND = 1, 3
_MOST_S = 300  # of any exploration


@dataclass(frozen=True)
class Effort:
    """How far a client is explored. Bounds of states and executions give the same verdict on a busy
    machine."""

    states: int
    random_runs: int
    long: bool  # also clients that are not for CI, and steps left out under the weak model


QUICK = Effort(40_000, 1_000, long=False)
LONG = Effort(600_000, 20_000, long=True)


@dataclass(frozen=True)
class Catch:
    """Which client caught a mutant, under which model, in which way, and what the checker said."""

    lock: str
    client: str
    model: str
    way: str
    said: str


def caught(target: str, mutant: Mutant, folder: Path, effort: Effort) -> Catch | None:
    """Looks for an execution of a lock's clients that the mutant breaks, and the lock does not."""
    for program in _programs(target, effort.long):
        binary = compiled(program, folder, lambda command: mutated(command, mutant, folder))
        for model in _models(program, mutant.kind, effort):
            for way, options in _ways(effort):
                said = _said(binary, model, options)
                if said and not _baseline(program, model, effort):
                    return Catch(target, program.client.label, model, way, said)
                if said is not None:
                    break
    return None


def _programs(target: str, deep: bool) -> Iterator[Program]:
    """The clients of a lock, those for CI first."""
    name, _, variant = target.partition(":")
    found = [
        program
        for program, refused in programs([load_locks()[name]], clients(), deep)
        if not refused and program.flavour == Flavour.WEAK and program.variant == variant
    ]
    yield from sorted(found, key=lambda program: program.client.size.deep)


def _models(program: Program, kind: str, effort: Effort) -> Sequence[str]:
    """Most steps left out show in any order; sequential consistency has the fewest states."""
    needed = assumed(program, WEAK.name)
    weak = needed.instead if needed else WEAK.name
    if kind == "order":
        return (weak,)
    return (SC.name, weak) if effort.long else (SC.name,)


def _ways(effort: Effort) -> tuple[tuple[str, list[str]], ...]:
    return (
        ("all executions", ["--states", str(effort.states)]),
        ("random executions", ["--random", str(effort.random_runs)]),
    )


def _said(binary: Path, model: str, options: Sequence[str]) -> str | None:
    """What failed; "" if all executions were looked at and none fails; None if a bound was reached,
    of the search or of the checker itself."""
    done = subprocess.run(
        [str(binary), "--model", model, *options, "--seconds", str(_MOST_S)],
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


def _baseline(program: Program, model: str, effort: Effort) -> bool:
    """Whether the lock itself fails, so that its mutants show nothing."""
    with _one_at_a_time:
        key = (program, model, effort)
        if key not in _known:
            _known[key] = _fails(program, model, effort)
        return _known[key]


def _fails(program: Program, model: str, effort: Effort) -> bool:
    with TemporaryDirectory() as folder:
        path = Path(folder)
        binary = compiled(program, path, lambda command: mutated(command, None, path))
        for _, options in _ways(effort):
            said = _said(binary, model, options)
            if said is not None:
                return bool(said)
    return False
