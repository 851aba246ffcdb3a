"""A mutation run: each mutant against the conformance kernel on simulated cores and the clients of
our own checker. Both give the same verdict on a busy machine: they are bounded by what they do, not
by how long it takes. What is known is stored, and what nothing catches is explained
(explanations.toml)."""

import hashlib
import json
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Literal

from pydantic import RootModel

from proofs import files
from proofs.mutants.mutants import Mutant, known_headers, mutated
from proofs.mutants.operators import all_mutants
from proofs.own_checker import compiled, make_library
from proofs.programs import Flavour, Program, assumed, clients, programs
from results.errors import LockcrossError
from results.paths import REFERENCE, ROOT, WORK
from results.store.queries import Answer
from sweeps import programs as workloads
from sweeps.engines.base import Limits, load_engine
from sweeps.model.cell import Cell
from sweeps.model.locks import LockLabel, load_locks
from sweeps.support import tools

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


@dataclass(frozen=True)
class Effort:
    """How far is looked: with which runs of the kernel; a client up to a bound of states, and where
    that ends before all executions were looked at, random ones follow. `long`: also clients that
    are not for CI, and steps left out under the weak model."""

    runs: tuple[Run, ...]
    states: int
    random_runs: int
    long: bool


QUICK = Effort((Run(3, 2, 1, 12_000_000),), 40_000, 1_000, long=False)
_LONG_RUNS = Run(2, 4, 2, 12_000_000), Run(4, 3, 3, 40_000_000, None), Run(3, 6, 4, 36_000_000)
LONG = Effort(_LONG_RUNS, 600_000, 20_000, long=True)


def by_conformance(target: str, mutant: Mutant | None, effort: Effort = QUICK) -> str:
    """What the kernel says of the mutant in a lock's program; "" if nothing. Without a mutant: of
    the lock itself."""
    label = LockLabel(target)
    program = workloads.Program(
        "conformance", label.lock, label.fence, _FLAVOUR, variant=label.variant
    )
    few = [
        f"-D{macro}={value}"
        for header in known_headers().values()
        for macro, value in header.few.items()
    ]
    with TemporaryDirectory() as folder:
        binary = Path(folder) / "conformance"
        command = program.command(workloads.find_compiler(_FLAVOUR), str(binary))
        command = mutated([*command, *few], mutant, Path(folder))
        tools.run(command, cwd=ROOT).check_returncode()
        return next(filter(None, (_kernel_says(binary, label, run) for run in effort.runs)), "")


def _kernel_says(binary: Path, label: LockLabel, run: Run) -> str:
    cell = Cell(
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
_SETUP_FAILED = re.compile(r"prover: (prove_setup failed: .*)")
_one_at_a_time = Lock()


def by_checker(target: str, mutant: Mutant, effort: Effort) -> dict[str, str]:
    """Looks for an execution of a lock's clients that the mutant breaks, and the lock does not: the
    cheapest client first. Which `lock` and `client` caught it, under which `model`, in which `way`,
    and what the `checker` said; nothing where none does."""
    with TemporaryDirectory() as folder:
        for program in programs_of(target, effort.long):
            binary = _compiled(program, mutant, Path(folder))
            # Most steps left out show in any order; sequential consistency has the fewest states.
            models = [] if mutant.kind == "order" else [_SC]
            if (mutant.kind == "order" or effort.long) and not program.client.size.sc:
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
        if said := _SETUP_FAILED.match(done.stderr):
            return way, said[1]
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


STORED = REFERENCE / "mutants.csv"
_UNFINISHED = WORK / "build" / "proofs" / "mutants.csv"  # of runs so far, to be resumed
# What decides whether a mutant is caught, besides the header: clients, checker, conformance kernel.
_CATCHERS = (
    "proofs/clients/*.[ch]",
    "proofs/clients/clients.toml",
    "proofs/checker/*.h",
    "proofs/checker/src/**/*",
    "proofs/checker/liveness/*",
    "proofs/mutants/*.h",
    "workloads/kernels/conformance*.[ch]",
)
_NO_COMMENT = re.compile(r"/\*.*?\*/|\s+", re.DOTALL)


class Explanation(files.Entry):
    """`verdict`: unneeded, an order that nothing relies on; equivalent, a step whose change keeps
    every promise; policy, one that keeps them in another way, which costs more or less; outside,
    wrong, but only beyond what the checker can look at; missed, wrong and within it. Of the last
    two `tried` says how far was looked."""

    mutants: tuple[str, ...]
    verdict: Literal["unneeded", "equivalent", "policy", "outside", "missed"]
    reason: str
    tried: str = ""


@cache
def explanations() -> dict[str, Explanation]:
    """By mutant. Raises LockcrossError for a file that cannot be read, or one explained twice."""
    file = Path(__file__).parent / "explanations.toml"
    kind = RootModel[dict[Literal["explanation"], tuple[Explanation, ...]]]
    known: dict[str, Explanation] = {}
    for explanation in files.registry(kind, file).root["explanation"]:
        for name in explanation.mutants:
            if name in known:
                raise LockcrossError(f"{file.name}: {name} is explained twice", exit_code=1)
            known[name] = explanation
    return known


class Verdict(StrEnum):
    """What came of a mutant. The last: nothing catches it, and nobody has said why."""

    CAUGHT = "caught"
    UNNEEDED = "unneeded"
    EQUIVALENT = "equivalent"
    POLICY = "policy"
    OUTSIDE = "outside"
    MISSED = "missed"
    SURVIVES = "survives"


@dataclass(frozen=True)
class Row:
    """A row of mutants.csv. `conformance` and `checker`: what they say, if they catch it;
    `sources`: a digest of the changed header and of what looks for mutants."""

    mutant: str
    kind: str
    file: str
    line: int
    change: str
    verdict: Verdict
    conformance: str = ""
    lock: str = ""
    client: str = ""
    model: str = ""
    way: str = ""
    checker: str = ""
    seconds: float = 0.0
    sources: str = ""
    reason: str = ""

    @property
    def is_caught(self) -> bool:
        """By whatever."""
        return self.verdict == Verdict.CAUGHT

    def explained(self) -> "Row":
        """With today's explanation, if nothing caught it."""
        if self.verdict == Verdict.CAUGHT:
            return replace(self, reason="")
        if (why := explanations().get(self.mutant)) is None:
            return replace(self, verdict=Verdict.SURVIVES, reason="")
        reason = f"{why.reason} Tried: {why.tried}." if why.tried else why.reason
        return replace(self, verdict=Verdict(why.verdict), reason=reason)


def sources(mutant: Mutant) -> str:
    """A digest of the header with the change and of the catchers, but for comments. Not of other
    headers: a lock that changes elsewhere would have all its mutants judged again."""
    return _digest(f"{_NO_COMMENT.sub(' ', mutant.text())}\0{_catchers()}")


@cache
def _catchers() -> str:
    paths = sorted({path for pattern in _CATCHERS for path in ROOT.glob(pattern) if path.is_file()})
    texts = (path.read_text(encoding="utf-8") for path in paths)
    return _digest("\0".join(_NO_COMMENT.sub(" ", text) for text in texts))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def read_rows(path: Path = STORED) -> dict[str, Row]:
    """The stored rows by mutant; none where there is no file. Raises LockcrossError for any other
    text."""
    return {row.mutant: row for row in files.read_rows(Row, path)}


class Campaign:
    """The mutants that are looked for in programs of some locks (all, without locks), and what is
    known of them: from the reference, and from runs that were stopped. `deep`: those that survive
    are tried again, with larger clients."""

    def __init__(self, locks: Sequence[str], deep: bool) -> None:
        self._deep = deep
        self._names = {
            mutant.name
            for mutant in all_mutants()
            if not locks or any(LockLabel(target).lock in locks for target in mutant.targets)
        }
        self._known = {**read_rows(), **read_rows(_UNFINISHED)}
        every = [mutant for mutant in all_mutants() if mutant.name in self._names]
        self.missing = [mutant for mutant in every if not self._is_judged(mutant)]

    def _is_judged(self, mutant: Mutant) -> bool:
        row = self._known.get(mutant.name)
        if row is None or row.sources != sources(mutant):
            return False
        verdict = row.explained().verdict
        return verdict == Verdict.CAUGHT or not (self._deep or verdict == Verdict.SURVIVES)

    def run(self, at_once: int) -> Iterator[Row]:
        """Judges what is missing, side by side; yields each row as it is known and kept."""
        if self.missing:
            make_library(at_once)
        with ThreadPoolExecutor(at_once) as pool:
            waiting = [pool.submit(judge, mutant, self._deep) for mutant in self.missing]
            try:
                for done in as_completed(waiting):
                    row = done.result()
                    self._known[row.mutant] = row
                    files.write_rows(Row, self._known.values(), _UNFINISHED)
                    yield row
            finally:
                pool.shutdown(cancel_futures=True)

    def rows(self) -> list[Row]:
        """What is known, in the order of the mutants, with today's explanations."""
        return [row for row in self._every() if row.mutant in self._names]

    def store(self) -> None:
        """Keeps all that is known of today's mutants as the reference."""
        files.write_rows(Row, self._every(), STORED)

    def _every(self) -> list[Row]:
        known = (self._known.get(mutant.name) for mutant in all_mutants())
        return [row.explained() for row in known if row]


def judge(mutant: Mutant, deep: bool = False) -> Row:
    """What catches a mutant: the conformance kernel and the clients, each by itself, the cheapest
    first; where neither does, with more effort. Orders are not for the kernel: simulated cores are
    in order."""
    began = time.monotonic()

    def conformance(effort: Effort) -> dict[str, str]:
        for target in mutant.targets if mutant.kind != "order" else ():
            if said := by_conformance(target, mutant, effort):
                return {"conformance": f"{target}: {said}"}
        return {}

    def checker(effort: Effort) -> dict[str, str]:
        catches = (by_checker(target, mutant, effort) for target in mutant.targets)
        return next(filter(None, catches), {})

    catch = conformance(QUICK) | checker(QUICK)
    catch = catch or conformance(LONG)
    if not catch and (deep or mutant.name not in explanations()):
        catch = checker(LONG)
    return Row(
        mutant.name,
        mutant.kind,
        f"lockimpl/{mutant.file}",
        mutant.line,
        mutant.change,
        Verdict.CAUGHT if catch else Verdict.SURVIVES,
        seconds=time.monotonic() - began,
        sources=sources(mutant),
        **catch,
    ).explained()


def share(rows: Sequence[Row], by: Callable[[Row], object] = lambda row: row.is_caught) -> str:
    """How many are caught of those that are not shown to be no mistake."""
    fine = Verdict.UNNEEDED, Verdict.EQUIVALENT, Verdict.POLICY
    wrong = [row for row in rows if row.verdict not in fine]
    caught = sum(bool(by(row)) for row in wrong)
    return f"{100 * caught / len(wrong):.1f} %" if wrong else ""


def summary(rows: Sequence[Row]) -> Answer:
    """A row for each kind. How many the proofs catch, the conformance kernel, and each of them
    alone; the shares are of those mutants that are wrong."""
    head = ["mutants", "all", *Verdict, "by proofs", "by conformance", "by both"]
    head += ["proofs", "conformance", "either"]
    answer = Answer(head, [])
    for kind in (*dict.fromkeys(row.kind for row in rows), "together"):
        of_kind = [row for row in rows if kind in (row.kind, "together")]
        verdicts = [row.verdict for row in of_kind]
        answer.rows.append(
            (
                kind,
                len(of_kind),
                *map(verdicts.count, Verdict),
                sum(bool(row.checker) for row in of_kind),
                sum(bool(row.conformance) for row in of_kind),
                sum(bool(row.checker and row.conformance) for row in of_kind),
                share(of_kind, lambda row: row.checker),
                share(of_kind, lambda row: row.conformance),
                share(of_kind),
            )
        )
    return answer


def by_mutant(rows: Sequence[Row]) -> Answer:
    """A row for each mutant: what catches it, or why nothing does."""
    answer = Answer("mutant line change verdict by model says seconds".split(), [])
    for row in rows:
        both = f"{row.lock} {row.client}".strip(), "conformance" * bool(row.conformance)
        by = ", ".join(filter(None, both))
        says = row.checker or row.conformance or row.reason
        described = (row.mutant, row.line, row.change, row.verdict.value)
        answer.rows.append((*described, by, row.model, says, row.seconds))
    return answer
