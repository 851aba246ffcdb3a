"""Model checkers that a user may have: GenMC and Dartagnan, in the environment or on PATH.

Both take a client as one C file with Posix threads (proofs/pthreads/main.c). A waiting loop is an
assumption there, so they do not see that a thread waits for ever.
"""

import os
import re
from collections.abc import Iterable
from functools import cache, cached_property

from results.paths import ROOT
from sweeps.engines.base import ProcessResult
from sweeps.model.locks import MEMBARRIER, load_locks
from sweeps.questions.prove.proofs.programs import INCLUDES, PROOFS, Program, assumptions, has
from sweeps.questions.prove.proofs.proving import Finding, Job, Tool
from sweeps.support import tools
from sweeps.support.toml import Entry, read_registry
from sweeps.verdicts import Flavour, Verdict

_MAIN = str(PROOFS / "pthreads" / "main.c")
_MIXED = "mixed-size accesses"
_NO_BARRIER = "no model of a process-wide barrier, which makes other threads execute a fence"
# What tells that a tool has stopped, and why: assertions, LLVM's own words, Java's.
_STOPS = re.compile(
    r"^(Instruction not interpretable.*|LLVM ERROR: .*|.*Assertion .* failed.*"
    r"|UNREACHABLE executed.*|.*error: .*|.*\bERROR\b.*|.*Exception\b.*)$",
    re.MULTILINE,
)


class _Description(Entry):
    """A tool of outside.toml, which explains the fields."""

    variable: str
    source: str
    version: str
    bounds: str
    defines: tuple[str, ...]
    options: str
    models: dict[Flavour, dict[str, str]]
    answers: tuple[tuple[str, Verdict, str], ...]


class _Inlined(Entry):
    needs: tuple[str, ...]
    but: tuple[str, ...] = ()
    why: str


class _Tools(Entry):
    tool: dict[str, _Description]
    inlined: tuple[_Inlined, ...]


@cache
def _known() -> _Tools:
    return read_registry(_Tools, PROOFS / "outside.toml")


class _Outside(Tool):
    """The common part of both: nothing is built, since they compile the sources themselves."""

    smallest = True  # they take long

    def __init__(self) -> None:
        self._described = _known().tool[self.name]
        self.bounds = self._described.bounds
        self.defines = self._described.defines

    @cached_property
    def _located(self) -> tuple[str, str]:
        """Return the binary and its version. Raises LockcrossError where there is none."""
        known = self._described
        advice = f"name it in {known.variable} or put it on PATH. It is in no package registry: "
        advice += known.source
        wanted = f"not an executable program; {advice}"
        tool = tools.Tool(self.name, (self.name,), wanted, advice)
        path, _ = tool.locate(known.variable)
        return path, tool.version(known.version, path, "--version") or "of an unknown version"

    def version(self) -> str:
        return self._located[1]

    def models(self, program: Program) -> Iterable[str]:
        return self._described.models[program.flavour]

    def _mixed(self, job: Job) -> str:
        """Refuse locks that fail under `weak` since it breaks accesses of several sizes to one
        place: a tool does not always notice them itself."""
        lock = job.program.label.lock
        weak = (one.locks for one in assumptions().assumption if one.model == "weak")
        return _MIXED if any(lock in locks for locks in weak) else ""

    def _options(self, job: Job) -> list[str]:
        of_model = self._described.models[job.program.flavour][job.model]
        return [*of_model.split(), *self._described.options.split()]

    def _compiler_options(self, program: Program) -> list[str]:
        """Return the options of clang, as both call it."""
        includes = (f"-I{ROOT / option.removeprefix('-I')}" for option in INCLUDES)
        client = ["-include", str(ROOT / program.client.source)]
        return [*includes, *program.defines(), *self.defines, *client]

    def finding(self, job: Job, result: ProcessResult) -> Finding:
        """Read a tool's words. Why there is no verdict, as far as it says, stands there without its
        folders on this machine."""
        if result.exceeded:
            return Finding(Verdict.BOUND, reason=result.exceeded)
        output = result.stdout + result.stderr
        executions = re.search(r"complete executions explored: (\d+)", output)
        count = int(executions[1]) if executions else 0
        for pattern, verdict, reason in self._described.answers:
            if answer := re.search(pattern, output, re.MULTILINE):
                text = output if verdict == Verdict.FAILED else ""
                return Finding(verdict, count, reason=answer.expand(reason), text=text)
        error = _STOPS.search(output)
        why = re.sub(r"(?:/[\w.+-]+)+/", "", error[1].strip())[:160] if error else ""
        reason = f"{type(self).__name__} ends with an internal error" + (f": {why}" if why else "")
        return Finding(Verdict.REFUSED, reason=reason)


class Genmc(_Outside):
    name = "genmc"

    def refuses(self, job: Job) -> str:
        """Refuse all but accesses of one size to a place."""
        if job.program.label.fence == MEMBARRIER:
            return _NO_BARRIER
        return _MIXED if job.program.label.fence == "store_forward" else self._mixed(job)

    def command(self, job: Job) -> list[str]:
        label, client = job.program.label, job.program.client.name
        inlines = any(
            client not in function.but
            and has(load_locks()[label.lock], label.variant, function.needs)
            for function in _known().inlined
        )
        options = [*self._options(job), *["--disable-function-inliner"] * (not inlines)]
        return [self._located[0], *options, "--", *self._compiler_options(job.program), _MAIN]


class Dartagnan(_Outside):
    name = "dartagnan"

    def refuses(self, job: Job) -> str:
        """Refuse parts that its models lack."""
        if job.program.label.fence == MEMBARRIER:
            return _NO_BARRIER
        if job.model == "power" and (mixed := self._mixed(job)):
            return mixed
        if job.program.label.fence == "store_forward":
            return "no model of a wide load that waits for the store buffer"
        return ""

    def command(self, job: Job) -> list[str]:
        """Return its command; its compiler takes its flags from the environment."""
        flags = " ".join(self._compiler_options(job.program))
        inherited = [f"{name}={value}" for name, value in os.environ.items()]
        command = [self._located[0], *self._options(job), _MAIN]
        return ["/usr/bin/env", *inherited, f"CFLAGS={flags}", *command]
