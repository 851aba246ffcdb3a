"""Model checkers that a user may have: GenMC and Dartagnan, in the environment or on PATH.

Both take a client as one C file with Posix threads (proofs/pthreads/main.c). A waiting loop is an
assumption there, so they do not see that a thread waits for ever.
"""

import os
import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from typing import Literal

from pydantic import RootModel

from proofs.files import Entry, registry
from proofs.models import Flavour, assumptions
from proofs.programs import INCLUDES, Program, has
from proofs.proving import Found, Job, Run, Tool
from proofs.stored import Verdict
from results.paths import ROOT
from sweeps.engines.base import ProcessResult
from sweeps.model.locks import load_locks
from sweeps.support import tools

_MAIN = ROOT / "proofs" / "pthreads" / "main.c"
_MIXED = "mixed-size accesses"


def _arguments(program: Program) -> list[str]:
    """For clang, as both tools call it. Objects are the zeros that they are, so that nothing but
    the lock itself decides about the sizes of its accesses."""
    return [
        *(f"-I{ROOT / one.removeprefix('-I')}" for one in INCLUDES),
        *program.defines(),
        "-DCLIENT_WORDS=1",
        "-include",
        str(ROOT / program.client.source),
    ]


def _is_mixed(program: Program) -> bool:
    """Whether a lock's accesses of one place have several sizes: that is what `weak` breaks."""
    return any(program.lock in one.locks for one in assumptions() if one.model == "weak")


# What tells that a tool has stopped, and why: assertions, LLVM's own words, Java's.
_STOPS = re.compile(
    r"^(Instruction not interpretable.*|LLVM ERROR: .*|.*Assertion .* failed.*"
    r"|UNREACHABLE executed.*|.*error: .*|.*\bERROR\b.*|.*Exception\b.*)$",
    re.MULTILINE,
)


class _Outside(Tool):
    """What both have in common: nothing is built, since they compile the sources themselves.

    `variable`: of the environment, that names it; `source`: where it is to be had; `says`: its
    version, in its own words; `models_for`: by what a program may rely on."""

    smallest = True  # they take long
    variable: str
    source: str
    says: str
    models_for: Mapping[Flavour, Sequence[str]]

    @cached_property
    def _tool(self) -> tools.Tool:
        advice = f"name it in {self.variable} or put it on PATH. It is in no package registry: "
        advice += self.source
        return tools.Tool(self.name, (self.name,), f"not an executable program; {advice}", advice)

    @cached_property
    def path(self) -> str:
        """The binary. Raises LockcrossError where there is none."""
        return self._tool.locate(self.variable)[0]

    @cache  # noqa: B019 there is one of each tool
    def version(self) -> str:
        """The tool's own."""
        said = self._tool.version(self.says, self.path, "--version")
        return said or "of an unknown version"

    def models(self, program: Program) -> Sequence[str]:
        """By what the program may rely on."""
        return self.models_for[program.flavour]

    def bound(self, program: Program) -> str:
        """Not that a thread waits for ever."""
        return f"{super().bound(program)}; safety"

    def found(self, job: Job, result: ProcessResult) -> Found:
        """From its words."""
        if result.exceeded:
            return Found(Verdict.BOUND, reason=result.exceeded)
        return self._judged(result.stdout + result.stderr)

    @abstractmethod
    def _judged(self, said: str) -> Found: ...

    def _stopped(self, said: str) -> Found:
        """Why there is no verdict, as far as a tool says; without its folders on this machine."""
        error = _STOPS.search(said)
        why = re.sub(r"(?:/[\w.+-]+)+/", "", error[1].strip())[:160] if error else ""
        reason = f"{type(self).__name__} ends with an internal error" + (f": {why}" if why else "")
        return Found(Verdict.REFUSED, reason=reason)


class _Inlined(Entry):
    needs: tuple[str, ...]
    but: tuple[str, ...] = ()
    why: str


@cache
def _inlined() -> tuple[_Inlined, ...]:
    tables = RootModel[dict[Literal["inlined"], tuple[_Inlined, ...]]]
    return registry(tables, ROOT / "proofs" / "outside.toml").root["inlined"]


class Genmc(_Outside):
    """GenMC, a stateless model checker: RC11, IMM and TSO, for accesses of one size to a place."""

    name = "genmc"
    variable = "GENMC"
    source = "https://github.com/MPI-SWS/genmc"
    says = r"GenMC v([\d.]+)"
    models_for = {Flavour.TSO: ("tso",), Flavour.WEAK: ("rc11", "imm")}
    # Some of its transformations stop at our code with an internal error; they only save time.
    _OPTIONS = (
        "--disable-estimation --disable-loop-jump-threading --disable-load-annotation "
        "--disable-confirmation-annotation --v1"
    ).split()

    def run(self, job: Job) -> Run:
        """One command. It does not always notice mixed sizes itself."""
        if job.program.fence == "store_forward" or _is_mixed(job.program):
            return Run(refused=_MIXED)
        program, lock = job.program, load_locks()[job.program.lock]
        inlines = any(
            program.client.name not in one.but and has(lock, program.variant, one.needs)
            for one in _inlined()
        )
        inliner = [] if inlines else ["--disable-function-inliner"]
        arguments = [*self._OPTIONS, *inliner, "--", *_arguments(program), str(_MAIN)]
        return Run([self.path, f"--{job.model}", *arguments])

    def _judged(self, said: str) -> Found:
        executions = re.search(r"complete executions explored: (\d+)", said)
        count = int(executions[1]) if executions else 0
        if "Mixed-size" in said:
            return Found(Verdict.REFUSED, reason=_MIXED)
        if "No errors were detected" in said:
            return Found(Verdict.PROVED, count)
        if error := re.search(r"^Error: (.*)", said, flags=re.MULTILINE):
            return Found(Verdict.FAILED, count, reason=error[1], text=said)
        return self._stopped(said)


class Dartagnan(_Outside):
    """Dartagnan, a bounded model checker: the architectures' own models, given as .cat files. It
    takes minutes, so it is for the pairs that matter."""

    name = "dartagnan"
    variable = "DARTAGNAN"
    source = "https://github.com/hernanponcedeleon/Dat3M"
    says = r"(\d+\.\d[\d.]*)"
    models_for = {Flavour.TSO: ("tso",), Flavour.WEAK: ("armv8", "power")}
    # It looks for the bound that it needs no more than twice through a loop.
    _OPTIONS = "--bound=2 --method=eager --property=program_spec".split()
    _MODELS: Mapping[str, tuple[str, ...]] = {
        "tso": ("tso.cat", "--target=tso"),
        "armv8": ("aarch64.cat", "--target=arm8", "--mixedSize=true"),
        "power": ("power.cat", "--target=power"),
    }

    def bound(self, program: Program) -> str:
        """Also how often it goes through a loop."""
        return f"{super().bound(program)}; loops twice"

    def run(self, job: Job) -> Run:
        """Its compiler takes its flags from the environment."""
        if job.model == "power" and _is_mixed(job.program):
            return Run(refused=_MIXED)
        if job.program.fence == "store_forward":
            return Run(refused="no model of a wide load that waits for the store buffer")
        flags = " ".join([*_arguments(job.program), "-DMODEL_BACK_OFFS=1"])
        command = [self.path, *self._MODELS[job.model], *self._OPTIONS, str(_MAIN)]
        kept = [f"{name}={value}" for name, value in os.environ.items()]
        return Run(["/usr/bin/env", *kept, f"CFLAGS={flags}", *command])

    def _judged(self, said: str) -> Found:
        """UNKNOWN: nothing was found, but a loop could go on."""
        verdict = re.search(r"^Result: (\w+)", said, flags=re.MULTILINE)
        if verdict is None:
            return self._stopped(said)
        if verdict[1] == "PASS":
            return Found(Verdict.PROVED)
        if verdict[1] == "FAIL":
            return Found(Verdict.FAILED, reason="Dartagnan: FAIL", text=said)
        return Found(Verdict.BOUND, reason="a loop goes on behind the bound")
