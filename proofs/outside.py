"""Model checkers that a user may have: GenMC and Dartagnan, in the environment or on PATH.

Both take a client as one C file with Posix threads (proofs/pthreads/main.c). A waiting loop is an
assumption there, so they do not see that a thread waits for ever.
"""

import os
import re
from collections.abc import Mapping, Sequence
from functools import cached_property

from proofs.files import Entry, registry
from proofs.models import Flavour, stated
from proofs.programs import INCLUDES, Program, has
from proofs.proving import Found, Job, Tool
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
    known = [one.locks for one in stated().assumption if one.model == "weak"]
    return any(program.label.lock in locks for locks in known)


# What tells that a tool has stopped, and why: assertions, LLVM's own words, Java's.
_STOPS = re.compile(
    r"^(Instruction not interpretable.*|LLVM ERROR: .*|.*Assertion .* failed.*"
    r"|UNREACHABLE executed.*|.*error: .*|.*\bERROR\b.*|.*Exception\b.*)$",
    re.MULTILINE,
)


class _Outside(Tool):
    """What both have in common: nothing is built, since they compile the sources themselves.

    `variable`: of the environment, that names it; `source`: where it is to be had; `says`: its
    version, in its own words; `models_for`: by what a program may rely on; `answers`: what tells a
    verdict, the first that is there, and its reason."""

    smallest = True  # they take long
    variable: str
    source: str
    says: str
    models_for: Mapping[Flavour, Sequence[str]]
    answers: Sequence[tuple[str, Verdict, str]]

    @cached_property
    def _located(self) -> tuple[str, str]:
        """The binary and its version. Raises LockcrossError where there is none."""
        advice = f"name it in {self.variable} or put it on PATH. It is in no package registry: "
        advice += self.source
        wanted = f"not an executable program; {advice}"
        tool = tools.Tool(self.name, (self.name,), wanted, advice)
        path, _ = tool.locate(self.variable)
        return path, tool.version(self.says, path, "--version") or "of an unknown version"

    def version(self) -> str:
        """The tool's own."""
        return self._located[1]

    def models(self, program: Program) -> Sequence[str]:
        """By what the program may rely on."""
        return self.models_for[program.flavour]

    def found(self, job: Job, result: ProcessResult) -> Found:
        """From its words. Why there is no verdict, as far as it says, without its folders on this
        machine."""
        if result.exceeded:
            return Found(Verdict.BOUND, reason=result.exceeded)
        said = result.stdout + result.stderr
        executions = re.search(r"complete executions explored: (\d+)", said)
        for pattern, verdict, reason in self.answers:
            if answer := re.search(pattern, said, re.MULTILINE):
                count = int(executions[1]) if executions else 0
                text = said if verdict == Verdict.FAILED else ""
                return Found(verdict, count, reason=answer.expand(reason), text=text)
        error = _STOPS.search(said)
        why = re.sub(r"(?:/[\w.+-]+)+/", "", error[1].strip())[:160] if error else ""
        reason = f"{type(self).__name__} ends with an internal error" + (f": {why}" if why else "")
        return Found(Verdict.REFUSED, reason=reason)


class _Inlined(Entry):
    needs: tuple[str, ...]
    but: tuple[str, ...] = ()
    why: str


class _Inlining(Entry):
    inlined: tuple[_Inlined, ...]


class Genmc(_Outside):
    """GenMC, a stateless model checker: RC11, IMM and TSO, for accesses of one size to a place."""

    name = "genmc"
    variable = "GENMC"
    source = "https://github.com/MPI-SWS/genmc"
    says = r"GenMC v([\d.]+)"
    bounds = "safety"
    models_for = {Flavour.TSO: ("tso",), Flavour.WEAK: ("rc11", "imm")}
    answers = (
        ("Mixed-size", Verdict.REFUSED, _MIXED),
        ("No errors were detected", Verdict.PROVED, ""),
        ("^Error: (.*)", Verdict.FAILED, r"\1"),
    )
    # Some of its transformations stop at our code with an internal error; they only save time.
    _OPTIONS = (
        "--disable-estimation --disable-loop-jump-threading --disable-load-annotation "
        "--disable-confirmation-annotation --v1"
    ).split()

    def refuses(self, job: Job) -> str:
        """It does not always notice mixed sizes itself."""
        mixed = job.program.label.fence == "store_forward" or _is_mixed(job.program)
        return _MIXED if mixed else ""

    def command(self, job: Job) -> list[str]:
        """For a program of Posix threads."""
        label, client = job.program.label, job.program.client
        lock, file = load_locks()[label.lock], ROOT / "proofs" / "outside.toml"
        inlines = any(
            client.name not in one.but and has(lock, label.variant, one.needs)
            for one in registry(_Inlining, file).inlined
        )
        inliner = [] if inlines else ["--disable-function-inliner"]
        arguments = [*self._OPTIONS, *inliner, "--", *_arguments(job.program), str(_MAIN)]
        return [self._located[0], f"--{job.model}", *arguments]


class Dartagnan(_Outside):
    """Dartagnan, a bounded model checker: the architectures' own models, given as .cat files. It
    takes minutes, so it is for the pairs that matter."""

    name = "dartagnan"
    variable = "DARTAGNAN"
    source = "https://github.com/hernanponcedeleon/Dat3M"
    says = r"(\d+\.\d[\d.]*)"
    bounds = "safety; loops twice"
    models_for = {Flavour.TSO: ("tso",), Flavour.WEAK: ("armv8", "power")}
    answers = (
        ("^Result: PASS", Verdict.PROVED, ""),
        ("^Result: FAIL", Verdict.FAILED, "Dartagnan: FAIL"),
        (r"^Result: \w", Verdict.BOUND, "a loop goes on behind the bound"),
    )
    # It looks for the bound that it needs no more than twice through a loop.
    _OPTIONS = "--bound=2 --method=eager --property=program_spec".split()
    _MODELS: Mapping[str, tuple[str, ...]] = {
        "tso": ("tso.cat", "--target=tso"),
        "armv8": ("aarch64.cat", "--target=arm8", "--mixedSize=true"),
        "power": ("power.cat", "--target=power"),
    }

    def refuses(self, job: Job) -> str:
        """What its models lack."""
        if job.model == "power" and _is_mixed(job.program):
            return _MIXED
        if job.program.label.fence == "store_forward":
            return "no model of a wide load that waits for the store buffer"
        return ""

    def command(self, job: Job) -> list[str]:
        """Its compiler takes its flags from the environment."""
        flags = " ".join([*_arguments(job.program), "-DMODEL_BACK_OFFS=1"])
        kept = [f"{name}={value}" for name, value in os.environ.items()]
        command = [self._located[0], *self._MODELS[job.model], *self._OPTIONS, str(_MAIN)]
        return ["/usr/bin/env", *kept, f"CFLAGS={flags}", *command]
