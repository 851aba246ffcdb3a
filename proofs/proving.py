"""Makes proofs side by side, and tells what came of them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from proofs.programs import Client, Program, assumed, programs, sources
from proofs.stored import Proof, Verdict
from results.errors import LockcrossError
from sweeps.engines.base import ProcessResult
from sweeps.model.locks import Lock
from sweeps.run.processes import Processes, Task
from sweeps.support.paths import RUN_FOLDERS


@dataclass(frozen=True)
class Job:
    """A program, to be checked by a tool under a model."""

    program: Program
    tool: str
    model: str

    @property
    def words(self) -> str:
        """For people."""
        return f"{self.program.label}, {self.program.client.label}, {self.model} ({self.tool})"


@dataclass(frozen=True)
class Found:
    """What a tool found.

    `reason`: why a proof failed, or which bound was reached, or what the tool cannot take; `bound`:
    what was bounded besides Tool.bounds; `steps`: the counterexample, of each step what the thread
    did, where, and what was in its buffer; `text`: the same in a tool's own words.
    """

    verdict: Verdict
    executions: int = 0
    states: int = 0
    reason: str = ""
    bound: str = ""
    steps: Sequence[Mapping[str, object]] = ()
    text: str = ""


class Tool(ABC):
    """A model checker. `bounds`: what it bounds besides threads and rounds, in words; `defines`:
    what it tells every program; `smallest`: without --deep it tries each client in its smallest
    size alone, else in all that are not for --deep."""

    name: str
    bounds = ""
    defines: tuple[str, ...] = ()
    smallest = False

    @abstractmethod
    def version(self) -> str:
        """Its version. Raises LockcrossError where it is missing, saying what to do."""

    @abstractmethod
    def models(self, program: Program) -> Iterable[str]:
        """The models that it has for a program."""

    def prepare(self, programs: Sequence[Program], done: Callable[[], None]) -> None:
        """Builds what the jobs of these programs need; calls `done` after each."""
        for _ in programs:
            done()

    def refuses(self, _: Job) -> str:
        """Why it cannot take a job, or nothing."""
        return ""

    @abstractmethod
    def command(self, job: Job) -> list[str]:
        """What checks a job."""

    @abstractmethod
    def found(self, job: Job, result: ProcessResult) -> Found:
        """What came of it."""


@dataclass(frozen=True)
class Outcome:
    """A proof, and what its tool found."""

    proof: Proof
    found: Found
    job: Job

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong: what ran into a bound is not proved, but no failure."""
        return self.proof.verdict != Verdict.FAILED


def plan(
    locks: Iterable[Lock],
    clients: Sequence[Client],
    tool: Tool,
    deep: bool,
    wanted: Collection[str] = (),
) -> tuple[list[Job], list[Outcome]]:
    """The jobs of a tool under the models that are wanted (none: all), and what is refused. Raises
    LockcrossError where there is neither."""
    jobs, refused, known = [], [], set[str]()
    if tool.smallest and not deep:
        clients = [next(sizes) for _, sizes in groupby(clients, key=lambda client: client.name)]
        deep = True
    for program, reason in programs(locks, clients, deep):
        for model in tool.models(program):
            known.add(model)
            if wanted and model not in wanted:
                continue
            job = Job(program, tool.name, model)
            if why := reason or tool.refuses(job):
                refused.append(_outcome(job, tool, Found(Verdict.REFUSED, reason=why), 0.0))
            else:
                jobs.append(job)
    if not known:
        raise LockcrossError("no lock is for these clients")
    if not jobs and not refused:
        raise LockcrossError(
            f"none of these proofs is under {' or '.join(wanted)}; they are under "
            f"{', '.join(sorted(known))}"
        )
    return jobs, refused


def prove(
    jobs: Sequence[Job], tool: Tool, at_once: int, limit_s: float, built: Callable[[], None]
) -> Iterator[Outcome]:
    """Builds and runs jobs, each within `limit_s` seconds of CPU time, and yields what came of
    each, in the order in which they end."""
    tool.prepare(list(dict.fromkeys(job.program for job in jobs)), built)
    with Processes[Job](at_once, RUN_FOLDERS) as processes:
        tasks = (Task(job, tool.command(job), limit_s) for job in jobs)
        for job, result, _folder in processes.run(tasks):
            judged = _judged(job, tool.found(job, result))
            yield _outcome(job, tool, judged, result.duration_s)


def _judged(job: Job, result: Found) -> Found:
    """With the assumption that a failure shows to be needed; without one that is not needed, the
    proof has failed."""
    assumption = assumed(job.program, job.model)
    if assumption and result.verdict == Verdict.FAILED and result.steps:
        reason = f"assumed under {assumption.instead}: {assumption.says}"
        return replace(result, verdict=Verdict.ASSUMED, reason=reason)
    if assumption and result.verdict == Verdict.PROVED:
        why = f"proofs/assumptions.toml says that it fails under {job.model}, and it is proved"
        return replace(result, verdict=Verdict.FAILED, reason=why)
    return result


def _outcome(job: Job, tool: Tool, result: Found, seconds: float) -> Outcome:
    label, client = job.program.label, job.program.client
    bound = "; ".join(filter(None, (client.bound, tool.bounds, result.bound)))
    proof = Proof(
        label.lock,
        label.variant,
        label.fence,
        client.label,
        tool.name,
        tool.version(),
        job.model,
        bound,
        result.verdict,
        result.executions,
        seconds,
        sources(job.program, tool.defines),
        result.reason,
    )
    return Outcome(proof, result, job)
