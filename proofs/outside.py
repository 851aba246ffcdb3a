"""Model checkers that a user may have: GenMC and Dartagnan, in the environment or on PATH.

Both take a client as one C file with Posix threads (proofs/pthreads/main.c). A waiting loop is an
assumption there, so they do not see that a thread waits for ever.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

from proofs.assumptions import assumptions
from proofs.models import WEAK, Flavour
from proofs.programs import INCLUDES, Program
from proofs.proving import Found, Job, Run
from proofs.stored import Verdict
from results.paths import ROOT
from sweeps.engines.base import ProcessResult
from sweeps.support.tools import Tool

_MAIN = ROOT / "proofs" / "pthreads" / "main.c"
_MIXED = "mixed-size accesses"


@cache
def _tool(variable: str, name: str, documentation: str, pattern: str) -> tuple[str, str]:
    """Its path and its version. Raises LockcrossError (1) where it is missing or does not run."""
    named = f"name it in {variable} or put it on PATH. It is in no package registry: "
    wanted = f"not an executable program; {named}{documentation}"
    tool = Tool(name, (name,), wanted, f"{named}{documentation}")
    path, _ = tool.locate(variable)
    return path, tool.version(pattern, path, "--version") or "of an unknown version"


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
    return any(program.lock in one.locks for one in assumptions() if one.model == WEAK.name)


# What tells that a tool has stopped, and why: assertions, LLVM's own words, Java's.
_STOPS = re.compile(
    r"^(Instruction not interpretable.*|LLVM ERROR: .*|.*Assertion .* failed.*"
    r"|UNREACHABLE executed.*|.*error: .*|.*\bERROR\b.*|.*Exception\b.*)$",
    re.MULTILINE,
)


def _stopped(name: str, said: str) -> str:
    """Why there is no verdict, as far as a tool says. Its folders on this machine are left out."""
    found = _STOPS.search(said)
    why = re.sub(r"(?:/[\w.+-]+)+/", "", found[1].strip())[:160] if found else ""
    return f"{name} ends with an internal error" + (f": {why}" if why else "")


class _Outside:
    """What both have in common: nothing is built, since they compile the sources themselves."""

    smallest = True  # they take long

    def bound(self, program: Program) -> str:
        """Threads and rounds; not that a thread waits for ever."""
        return f"{program.client.bound}; safety"

    def prepare(self, programs: Iterable[Program], done: Callable[[], None]) -> None:
        """Nothing to do."""
        for _ in programs:
            done()


def _is_inlined(program: Program) -> bool:
    """Whether GenMC is to inline functions. That leads to LLVM's `freeze`, at which its interpreter
    stops, so it is off, but for what needs it: monitor_cache copies a struct to where a function
    says, and GenMC does not see where that is; and the variants by signal have a function fill its
    caller's variable, which GenMC then takes for freed memory: a false alarm, since the thread has
    only just made it. Their `condition` has a `freeze`, and no such alarm."""
    fills = program.variant in ("suspend", "signal", "predicated")
    return program.lock == "monitor_cache" or (fills and program.client.name != "condition")


class Genmc(_Outside):
    """GenMC, a stateless model checker: RC11, IMM and TSO, for accesses of one size to a place."""

    name = "genmc"
    # Some of its transformations stop at our code with an internal error; they only save time.
    _OPTIONS = (
        "--disable-estimation --disable-loop-jump-threading --disable-load-annotation "
        "--disable-confirmation-annotation --v1"
    ).split()
    _NO_INLINER = "--disable-function-inliner"

    def version(self) -> str:
        """GenMC's own. Raises LockcrossError where it is missing."""
        return _genmc()[1]

    def models(self, program: Program) -> Sequence[str]:
        """By what the program may rely on."""
        return ("tso",) if program.flavour == Flavour.TSO else ("rc11", "imm")

    def run(self, job: Job) -> Run:
        """One command. It does not always notice mixed sizes itself."""
        if job.program.fence == "store_forward" or _is_mixed(job.program):
            return Run(refused=_MIXED)
        options = list(self._OPTIONS)
        if not _is_inlined(job.program):
            options.append(self._NO_INLINER)
        arguments = ["--", *_arguments(job.program), str(_MAIN)]
        return Run([_genmc()[0], f"--{job.model}", *options, *arguments])

    def found(self, job: Job, result: ProcessResult) -> Found:
        """From its words."""
        said = result.stdout + result.stderr
        if result.exceeded:
            return Found(Verdict.BOUND, reason=result.exceeded)
        executions = re.search(r"complete executions explored: (\d+)", said)
        count = int(executions[1]) if executions else 0
        if "Mixed-size" in said:
            return Found(Verdict.REFUSED, reason=_MIXED)
        if "No errors were detected" in said:
            return Found(Verdict.PROVED, count)
        if error := re.search(r"^Error: (.*)", said, flags=re.MULTILINE):
            return Found(Verdict.FAILED, count, reason=error[1], text=said)
        return Found(Verdict.REFUSED, reason=_stopped("GenMC", said))


class Dartagnan(_Outside):
    """Dartagnan, a bounded model checker: the architectures' own models, given as .cat files. It
    takes minutes, so it is for the pairs that matter."""

    name = "dartagnan"
    # It looks for the bound that it needs no more than twice through a loop.
    _OPTIONS = "--bound=2 --method=eager --property=program_spec".split()
    _MODELS: Mapping[str, tuple[str, ...]] = {
        "tso": ("tso.cat", "--target=tso"),
        "armv8": ("aarch64.cat", "--target=arm8", "--mixedSize=true"),
        "power": ("power.cat", "--target=power"),
    }

    def version(self) -> str:
        """Dartagnan's own. Raises LockcrossError where it is missing."""
        return _dartagnan()[1]

    def models(self, program: Program) -> Sequence[str]:
        """By what the program may rely on."""
        return ("tso",) if program.flavour == Flavour.TSO else ("armv8", "power")

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
        command = [_dartagnan()[0], *self._MODELS[job.model], *self._OPTIONS, str(_MAIN)]
        kept = [f"{name}={value}" for name, value in os.environ.items()]
        return Run(["/usr/bin/env", *kept, f"CFLAGS={flags}", *command])

    def found(self, job: Job, result: ProcessResult) -> Found:
        """From its words. UNKNOWN: nothing was found, but a loop could go on."""
        said = result.stdout + result.stderr
        if result.exceeded:
            return Found(Verdict.BOUND, reason=result.exceeded)
        verdict = re.search(r"^Result: (\w+)", said, flags=re.MULTILINE)
        if verdict is None:
            return Found(Verdict.REFUSED, reason=_stopped("Dartagnan", said))
        if verdict[1] == "PASS":
            return Found(Verdict.PROVED)
        if verdict[1] == "FAIL":
            return Found(Verdict.FAILED, reason="Dartagnan: FAIL", text=said)
        return Found(Verdict.BOUND, reason="a loop goes on behind the bound")


def _dartagnan() -> tuple[str, str]:
    documentation = "https://github.com/hernanponcedeleon/Dat3M"
    return _tool("DARTAGNAN", "dartagnan", documentation, r"(\d+\.\d[\d.]*)")


def _genmc() -> tuple[str, str]:
    return _tool("GENMC", "genmc", "https://github.com/MPI-SWS/genmc", r"GenMC v([\d.]+)")
