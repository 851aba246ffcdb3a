"""Our own checker, proofs/checker: builds it, and programs for it, and reads what they say."""

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

from proofs.programs import INCLUDES, Flavour, Program, assumed, compiler, sources
from proofs.proving import Found, Job, Tool
from proofs.stored import OWN_CHECKER, Verdict, models
from results.errors import LockcrossError
from results.paths import ROOT, WORK
from sweeps.engines.base import ProcessResult
from sweeps.programs import compiler_version
from sweeps.support import tools

_SOURCES = ROOT / "proofs" / "checker"
_BUILT = WORK / "build" / "proofs"
_LIBRARY = _BUILT / "checker" / "libprove.a"
_LIVENESS = _BUILT / "checker" / "liveness"
# The compilers whose assembly text the liveness analysis is held to by junk: clients of others go
# without, and have more states.
ANALYSED = range(11, 16)
# ipa-reference assumes that only functions that name a variable change it (programs/builder.py);
# the others are what the checker asks for (proofs/checker/README.md).
COMPILE = (
    "-std=gnu17 -O1 -g -Wall -Wextra -Werror -Wno-tsan -fsanitize=thread -fno-ipa-reference "
    "-fno-pie -fno-stack-protector -fcf-protection=none --param tsan-instrument-func-entry-exit=0"
).split()
SC = "sc"  # sequential consistency, of which models.toml says nothing: it stands for no ISA
LINK = "-no-pie -Wl,--wrap=memcpy,--wrap=memset,--wrap=memmove".split()
_KEPT_S = 3 * 24 * 3600.0  # programs of other sources, built days ago
_VERDICTS = {0: Verdict.PROVED, 1: Verdict.FAILED, 3: Verdict.BOUND}


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
        """The first of its flavour. Where that needs an assumption, it is tried with one client
        alone, which has to fail: else the assumption would not be needed."""
        if program.client.size.sc:
            return [SC] * (program.flavour == Flavour.WEAK)
        own = models().own
        first = next(name for name in own if own[name].flavour == program.flavour)
        if (needed := assumed(program, first)) is None:
            return [first]
        return [first] * (program.client.label == needed.witness) + [needed.instead]

    def prepare(self, programs: Sequence[Program], done: Callable[[], None]) -> None:
        make_library(self.jobs)
        with ThreadPoolExecutor(self.jobs) as pool:
            for _ in pool.map(build, programs):
                done()

    def command(self, job: Job) -> list[str]:
        bounds = ["--states", str(self.states)]
        return [str(path_of(job.program)), "--model", job.model, *bounds]

    def found(self, job: Job, result: ProcessResult) -> Found:
        if result.exceeded:
            return Found(Verdict.BOUND, reason=result.exceeded)
        if -result.code in (signal.SIGKILL, signal.SIGTERM):
            return Found(Verdict.BOUND, reason="killed from outside: perhaps no memory was left")
        if (verdict := _VERDICTS.get(result.code)) is None:
            why = result.stderr.strip()[:300] or f"exit code {result.code}"
            return Found(Verdict.FAILED, reason=why)
        said = json.loads(result.stdout)
        bounds, reason = said["bounds"], ""
        if "failure" in said:
            reason = f"{said['failure']['kind']}: {said['failure']['what']}"
        elif bounds["reached"]:
            reason = f"bound reached: {bounds['reached']}"
        left_out = [f"{bounds['buffer']} buffered stores"] * bool(bounds["buffer_was_full"])
        left_out += ["the client's own bound"] * bool(bounds["beyond_client_bound"])
        counts = said["executions"], said["states"]
        return Found(verdict, *counts, reason, "; ".join(left_out), said.get("trace", ()))


@cache
def _version() -> str:
    total = hashlib.sha256()
    for path in sorted(_SOURCES.rglob("*")):
        if path.suffix in (".cc", ".h") and "tests" not in path.parts:
            total.update(f"{path.relative_to(_SOURCES)}\0".encode() + path.read_bytes())
    return total.hexdigest()[:12]


@contextmanager
def building() -> Iterator[None]:
    """While the checker's library is built: one process at a time, others wait."""
    _LIBRARY.parent.mkdir(parents=True, exist_ok=True)
    with (_LIBRARY.parent / "building.lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@cache
def make_library(jobs: int) -> None:
    """Builds what every program is linked with."""
    # Without its own symbols for debuggers: it is linked into a thousand programs.
    command = ["make", "-C", str(_SOURCES), f"BUILD={_LIBRARY.parent}", "CXXFLAGS=-O2", f"-j{jobs}"]
    with building():
        done = tools.run(command)
    if done.returncode != 0:
        raise LockcrossError(f"proofs/checker does not build:\n{done.stderr[-2000:]}", exit_code=1)


def path_of(program: Program) -> Path:
    """Where a program is built: its name says all that it is made of."""
    made_of = [*COMPILE, *LINK, compiler(), compiler_version(compiler()), _version()]
    key = hashlib.sha256("\0".join([*made_of, sources(program)]).encode()).hexdigest()[:16]
    folder = f"{program.label}-{program.client.label}-{program.flavour}"
    return _BUILT / "clients" / re.sub(r"[:/]", "-", folder) / key


def build(program: Program) -> Path:
    """Builds a program, unless it is there. Raises LockcrossError if it does not compile."""
    path = path_of(program)
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    for old in path.parent.iterdir():  # another run may use what is newer
        with suppress(OSError):
            if old.is_file() and time.time() - old.stat().st_mtime > _KEPT_S:
                old.unlink()
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        compiled(program, Path(folder)).replace(path)
    return path


def compiled(
    program: Program, folder: Path, change: Callable[[list[str]], list[str]] = list
) -> Path:
    """Compiles a program into a folder; `change` may change the compiler's command."""
    binary = folder / "program"
    command = [compiler(), *COMPILE, *INCLUDES, *program.defines(), program.client.source]
    made = object_file(change(command), folder, _run)
    _run(["g++", *LINK, str(made), str(_LIBRARY), "-o", str(binary)])
    return binary


@cache
def is_analysed() -> bool:
    """Whether the liveness analysis is held to this compiler."""
    version = re.search(r"\bgcc\b.* (\d+)\.[\d.]+$", compiler_version(compiler()))
    return version is not None and int(version[1]) in ANALYSED


def object_file(command: Sequence[str], folder: Path, run: Callable[[Sequence[str]], None]) -> Path:
    """Compiles a client into a folder."""
    text = folder / "client.s"
    run([*command, "-S", "-o", str(text)])
    return with_table(text, run)


def with_table(
    text: Path, run: Callable[[Sequence[str]], None], liveness: Path = _LIVENESS
) -> Path:
    """The object file of a client's assembly text, beside it, with the table of what is live behind
    each of its calls."""
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
