"""Make proofs side by side, and report the results."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from results.errors import LockcrossError
from sweeps.engines.base import ProcessResult
from sweeps.model.locks import Lock
from sweeps.questions.prove.proofs.programs import Client, Program, programs, sources_digest
from sweeps.run.processes import Processes, Task
from sweeps.support.paths import RUN_FOLDERS
from sweeps.verdicts import Proof, Verdict


@dataclass(frozen=True)
class Job:
    """A program, to be checked by a tool under a model."""

    program: Program
    tool: str
    model: str

    def __str__(self) -> str:
        return f"{self.program.label}, {self.program.client.label}, {self.model} ({self.tool})"


@dataclass(frozen=True)
class Finding:
    """The finding of a tool.

    `reason`: why a proof failed, or which bound was reached, or the part that the tool cannot take;
    `bound`: further bounds besides Tool.bounds; `steps`: the counterexample, for each step the
    thread's action, its place and its buffer; `text`: the same in the tool's words.
    """

    verdict: Verdict
    executions: int = 0
    states: int = 0
    reason: str = ""
    bound: str = ""
    steps: Sequence[Mapping[str, object]] = ()
    text: str = ""

    @property
    def looked_at(self) -> int:
        """States, or executions of a tool that counts no states."""
        return self.states or self.executions


class Tool(ABC):
    """A model checker. `bounds`: its bounds besides threads and rounds, in words; `defines`: its
    macros for every program; `smallest`: without --deep it tries each client in its smallest size
    alone, else in all that are not for --deep."""

    name: str
    bounds = ""
    defines: tuple[str, ...] = ()
    smallest = False

    @abstractmethod
    def version(self) -> str:
        """Return its version. Raises LockcrossError where it is missing, with the remedy."""

    @abstractmethod
    def models(self, program: Program) -> Iterable[str]:
        """Name the models that it has for a program."""

    def prepare(self, programs: Sequence[Program], done: Callable[[], None]) -> None:
        """Build the needs of these programs' jobs; call `done` after each."""
        for _ in programs:
            done()

    def refuses(self, _: Job) -> str:
        """Say why it cannot take a job; "" where it can."""
        return ""

    @abstractmethod
    def command(self, job: Job) -> list[str]:
        """Return the command that checks a job."""

    @abstractmethod
    def finding(self, job: Job, result: ProcessResult) -> Finding:
        """Read the result."""


@dataclass(frozen=True)
class Outcome:
    """A proof, and its tool's finding."""

    proof: Proof
    finding: Finding
    job: Job

    @property
    def ok(self) -> bool:
        """Tell whether nothing is wrong: a proof that ran into a bound is no failure."""
        return self.proof.verdict != Verdict.FAILED


def plan(
    locks: Iterable[Lock],
    clients: Sequence[Client],
    tool: Tool,
    deep: bool,
    wanted: Collection[str] = (),
) -> tuple[list[Job], list[Outcome]]:
    """Return the jobs of a tool under the models that are wanted (none: all), and the refused ones.
    Raises LockcrossError where there is neither."""
    jobs, refused, known = [], [], set[str]()
    if tool.smallest and not deep:
        clients = [next(sizes) for _, sizes in groupby(clients, key=lambda client: client.name)]
        deep = True
    for program, refusal in programs(locks, clients, deep):
        for model in tool.models(program):
            known.add(model)
            if wanted and model not in wanted:
                continue
            job = Job(program, tool.name, model)
            if reason := refusal or tool.refuses(job):
                refused.append(_outcome(job, tool, Finding(Verdict.REFUSED, reason=reason), 0.0))
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
    """Build and run jobs, each within `limit_s` seconds of CPU time, and yield each result,
    in the order in which they end."""
    tool.prepare(list(dict.fromkeys(job.program for job in jobs)), built)
    with Processes[Job](at_once, RUN_FOLDERS) as processes:
        tasks = (Task(job, tool.command(job), limit_s) for job in jobs)
        for job, result, _folder in processes.run(tasks):
            finding = _judged(job, tool.finding(job, result))
            yield _outcome(job, tool, finding, result.duration_s)


def _judged(job: Job, finding: Finding) -> Finding:
    """Return a failure that an assumption explains as assumed, and a proof that makes one needless
    as failed."""
    assumption = job.program.assumption(job.model)
    if assumption and finding.verdict == Verdict.FAILED and finding.steps:
        reason = f"assumed under {assumption.instead}: {assumption.says}"
        return replace(finding, verdict=Verdict.ASSUMED, reason=reason)
    if assumption and finding.verdict == Verdict.PROVED:
        reason = f"proofs/assumptions.toml says that it fails under {job.model}, and it is proved"
        return replace(finding, verdict=Verdict.FAILED, reason=reason)
    return finding


def _outcome(job: Job, tool: Tool, finding: Finding, seconds: float) -> Outcome:
    label, client = job.program.label, job.program.client
    proof = Proof(
        lock=label.lock,
        variant=label.variant,
        fence=label.fence,
        client=client.label,
        tool=tool.name,
        version=tool.version(),
        model=job.model,
        bound="; ".join(filter(None, (client.bound, tool.bounds, finding.bound))),
        verdict=finding.verdict,
        executions=finding.executions,
        seconds=seconds,
        sources=sources_digest(job.program, tool.defines),
        reason=finding.reason,
    )
    return Outcome(proof, finding, job)
