"""Our own checker, proofs/checker: build it, and programs for it, and read their output."""

import fcntl
import hashlib
import json
import os
import re
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from results.errors import LockcrossError
from results.paths import ROOT, WORK
from sweeps.engines.base import ProcessResult
from sweeps.programs import compiler_version
from sweeps.questions.prove.proofs.programs import (
    INCLUDES,
    PROOFS,
    Program,
    compiler,
    sources_digest,
)
from sweeps.questions.prove.proofs.proving import Finding, Job, Tool
from sweeps.support import tools
from sweeps.verdicts import OWN_CHECKER, Flavour, Verdict, models

_SOURCES = PROOFS / "checker"
_BUILT = WORK / "build" / "proofs"
_LIBRARY = _BUILT / "checker" / "libprove.a"
_LIVENESS = _BUILT / "checker" / "liveness"
# The compilers whose assembly text the liveness analysis is held to by junk: clients of others go
# without, and have more states.
ANALYSED = range(11, 16)
# ipa-reference assumes that only functions that name a variable change it (sweeps/programs.py);
# the others are what the checker asks for (proofs/checker/README.md).
COMPILE = (
    "-std=gnu17 -O1 -g -Wall -Wextra -Werror -Wno-tsan -fsanitize=thread -fno-ipa-reference "
    "-fno-pie -fno-stack-protector -fcf-protection=none --param tsan-instrument-func-entry-exit=0"
).split()
SC = "sc"  # sequential consistency, of which models.toml says nothing: it stands for no ISA
LINK = "-no-pie -Wl,--wrap=memcpy,--wrap=memset,--wrap=memmove".split()
_OUTDATED_S = 3 * 24 * 3600.0  # programs of other sources, built days ago, go
_VERDICTS = {0: Verdict.PROVED, 1: Verdict.FAILED, 3: Verdict.BOUND}  # by exit code


@dataclass(frozen=True)
class Checker(Tool):
    """The tool, built by so many jobs. `states` bounds each proof; whoever runs it bounds its CPU
    time."""

    jobs: int
    states: int
    name = OWN_CHECKER

    def version(self) -> str:
        return _version()

    def models(self, program: Program) -> list[str]:
        """Return the first model of the program's flavour. Where that needs an assumption, it is
        tried with one client alone, which has to fail: else the assumption would not be needed."""
        if program.client.size.sc:
            return [SC] * (program.flavour == Flavour.WEAK)
        first = next(
            name for name, model in models().own.items() if model.flavour == program.flavour
        )
        if (needed := program.assumption(first)) is None:
            return [first]
        return [first] * (program.client.label == needed.witness) + [needed.instead]

    def prepare(self, programs: Sequence[Program], done: Callable[[], None]) -> None:
        make_library(self.jobs)
        with ThreadPoolExecutor(self.jobs) as pool:
            for _ in pool.map(build, programs):
                done()

    def command(self, job: Job) -> list[str]:
        return [str(path_of(job.program)), "--model", job.model, "--states", str(self.states)]

    def finding(self, job: Job, result: ProcessResult) -> Finding:
        if result.exceeded:
            return Finding(Verdict.BOUND, reason=result.exceeded)
        if -result.code in (signal.SIGKILL, signal.SIGTERM):
            return Finding(Verdict.BOUND, reason="killed from outside: perhaps no memory was left")
        if (verdict := _VERDICTS.get(result.code)) is None:
            reason = result.stderr.strip()[:300] or f"exit code {result.code}"
            return Finding(Verdict.FAILED, reason=reason)
        report = json.loads(result.stdout)
        bounds, reason = report["bounds"], ""
        if "failure" in report:
            reason = failure_of(report)
        elif bounds["reached"]:
            reason = f"bound reached: {bounds['reached']}"
        met = [f"{bounds['buffer']} buffered stores"] * bool(bounds["buffer_was_full"])
        met += ["the client's own bound"] * bool(bounds["beyond_client_bound"])
        counts = report["executions"], report["states"]
        return Finding(verdict, *counts, reason, "; ".join(met), report.get("trace", ()))


def failure_of(report: dict[str, dict[str, str]]) -> str:
    return f"{report['failure']['kind']}: {report['failure']['what']}"


@cache
def _version() -> str:
    total = hashlib.sha256()
    for path in sorted(_SOURCES.rglob("*")):
        if path.suffix in (".cc", ".h") and "tests" not in path.parts:
            total.update(f"{path.relative_to(_SOURCES)}\0".encode() + path.read_bytes())
    return total.hexdigest()[:12]


@contextmanager
def building() -> Iterator[None]:
    """Hold the lock under which one process at a time builds the checker's library."""
    _LIBRARY.parent.mkdir(parents=True, exist_ok=True)
    with (_LIBRARY.parent / "building.lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@cache
def make_library(jobs: int) -> None:
    """Build the library that every program is linked with. Raises LockcrossError (1)."""
    # Without its own symbols for debuggers: it is linked into a thousand programs.
    command = ["make", "-C", str(_SOURCES), f"BUILD={_LIBRARY.parent}", "CXXFLAGS=-O2", f"-j{jobs}"]
    with building():
        done = tools.run(command)
    if done.returncode != 0:
        raise LockcrossError(f"proofs/checker does not build:\n{done.stderr[-2000:]}", exit_code=1)


def path_of(program: Program) -> Path:
    """Return where a program is built: its name is a digest of all that it is made of."""
    parts = [*COMPILE, *LINK, compiler(), compiler_version(compiler()), _version()]
    key = hashlib.sha256("\0".join([*parts, sources_digest(program)]).encode()).hexdigest()[:16]
    folder = f"{program.label}-{program.client.label}-{program.flavour}"
    return _BUILT / "clients" / re.sub(r"[:/]", "-", folder) / key


def build(program: Program) -> Path:
    """Build a program, unless it is there. Raises LockcrossError if it does not compile."""
    path = path_of(program)
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    for old in path.parent.iterdir():  # another run may use what is newer
        with suppress(OSError):
            if old.is_file() and time.time() - old.stat().st_mtime > _OUTDATED_S:
                old.unlink()
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        compiled(program, Path(folder)).replace(path)
    return path


def compiled(
    program: Program, folder: Path, change: Callable[[list[str]], list[str]] = list
) -> Path:
    """Compile a program into a folder; `change` may change the compiler's command."""
    binary = folder / "program"
    command = [compiler(), *COMPILE, *INCLUDES, *program.defines(), program.client.source]
    made = object_file(change(command), folder, _run)
    _run(["g++", *LINK, str(made), str(_LIBRARY), "-o", str(binary)])
    return binary


@cache
def is_analysed() -> bool:
    """Tell whether the liveness analysis is held to this compiler."""
    version = re.search(r"\bgcc\b.* (\d+)\.[\d.]+$", compiler_version(compiler()))
    return version is not None and int(version[1]) in ANALYSED


def object_file(command: Sequence[str], folder: Path, run: Callable[[Sequence[str]], None]) -> Path:
    text = folder / "client.s"
    run([*command, "-S", "-o", str(text)])
    return with_table(text, run)


def with_table(
    text: Path, run: Callable[[Sequence[str]], None], liveness: Path = _LIVENESS
) -> Path:
    """Make the object file of a client's assembly text, beside it, with the table of live data
    after each of its calls."""
    tabled, made = text.with_suffix(".live.s"), text.with_suffix(".o")
    if is_analysed():
        run([str(liveness), str(text), str(tabled)])
    else:
        tabled = text
    run([compiler(), "-c", str(tabled), "-o", str(made)])
    return made


def _run(command: Sequence[str]) -> None:
    done = tools.run(command, cwd=ROOT, env={**os.environ, "LC_ALL": "C"})
    if done.returncode != 0:
        raise LockcrossError(
            f"a client does not compile:\n{done.stderr[-2000:]}\nfor the whole output, in the root "
            f"of the tree: {' '.join(command)}",
            exit_code=1,
        )
