"""A proof that is to be made, what a tool needs for it, and what comes back."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from results.model.proof import Verdict
from sweeps.engines.base import ProcessResult
from sweeps.proofs.programs import Program


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
class Step:
    """One row of a counterexample: what a thread did, where, and what was in its buffer."""

    thread: int
    place: str
    function: str
    access: str
    object: str
    value: str
    buffer: str


@dataclass(frozen=True)
class Found:
    """What a tool found.

    `reason`: why a proof failed, or which bound was reached, or what the tool cannot take; `bound`:
    what was bounded besides what Tool.bound says; `steps`: the counterexample; `text`: the same in
    a tool's own words.
    """

    verdict: Verdict
    executions: int = 0
    states: int = 0
    reason: str = ""
    bound: str = ""
    steps: Sequence[Step] = ()
    text: str = ""


@dataclass(frozen=True)
class Run:
    """How a tool checks a job: a command, or why it cannot."""

    argv: Sequence[str] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    refused: str = ""


class Tool(Protocol):
    """A model checker. `smallest`: without --deep it tries each client in its smallest size alone,
    and else in all that are not for --deep."""

    name: str
    smallest: bool

    def version(self) -> str:
        """Its version. Raises LockcrossError where it is missing, saying what to do."""

    def models(self, program: Program) -> Sequence[str]:
        """The models that it has for a program."""

    def bound(self, program: Program) -> str:
        """What a proof bounds, in words."""

    def prepare(self, programs: Iterable[Program], done: Callable[[], None]) -> None:
        """Builds what the jobs of these programs need; calls `done` after each."""

    def run(self, job: Job) -> Run:
        """The command of a job."""

    def found(self, job: Job, result: ProcessResult) -> Found:
        """What came of it."""
