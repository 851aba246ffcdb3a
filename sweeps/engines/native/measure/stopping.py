"""The cost of stopping a thread, by mechanism and by the thread's state: measured by separate
programs, in C and, where JVMs are found, in Java (stops/)."""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field, ValidationError

from results.errors import LockcrossError
from results.paths import WORK
from sweeps.engines.native.measure.programs import Finding
from sweeps.engines.native.sample import MOVED
from sweeps.model.isa import ISAS, host_isa
from sweeps.programs import find_compiler
from sweeps.support.toml import Document
from sweeps.support.tools import run

SOURCES = Path(__file__).with_name("stops")
_BUILT = WORK / "build" / "stops"
_SAMPLES, _ROUNDS, _RUNS = 2000, 3, 3  # of a program in C; of a JVM's, in each of so many runs
_JAVA_SAMPLES, _BULK_SAMPLES = 400, 30
_TIME_LIMIT_S = 60.0  # of one process
_OLDEST = 11  # release whose class files Stops has
_JVMS = "/usr/lib/jvm/*/bin/java"
# As users run a JVM, which depends on the slack of the kernel's timers: without a fixed priority,
# and with the slack that it has then (50 us), which children of one with it do not get back by
# themselves. What else runs is kept away by the least niceness.
_AS_USUAL = (
    *("chrt", "--other", "0", "nice", "-n", "-20"),
    *("sh", "-c", 'echo 50000 >/proc/self/timerslack_ns; exec "$@"', "sh"),
)
# Variables by which users set options for programs of their own.
_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")


NO_JVM = (
    "no JVM was found, so what stopping a thread takes one was not measured; on Debian: apt-get "
    "install default-jdk-headless, or name a java with --jvms"
)

# Cycles of a hand-over between the two CPUs, now.
Apart = Callable[[], float]


class State(Document):
    """A state of the owner as a JVM's program has it."""

    operation: str = ""
    program: str = ""
    options: list[str] = []


class Runtime(Document):
    """How JVMs of some releases stop a thread."""

    first: int = Field(alias="from")
    last: int = Field(99, alias="to")
    meaning: str
    options: list[str]
    single: list[str] = []
    less: str = ""
    states: dict[str, State]


class _Stops(Document):
    states: dict[str, str]
    mechanisms: dict[str, str]
    runtimes: dict[str, Runtime]


KNOWN = _Stops(**tomllib.loads((SOURCES / "stops.toml").read_text("utf-8")))
# States of stops.c that are measured. An owner that polls now and then (unpolled) is met anywhere
# between two polls, so that takes half of the time between them on average.
OF_PROGRAM = ("running", "blocked", "parked", "ended")
MECHANISMS = tuple(KNOWN.mechanisms)
_NS = ("least", "quarter", "median", "three_quarters", "percentile_99", "mean")


class Sampled(Document):
    """The output of a program: ns of single stops. `apart`: cycles in which a line went from one of
    the two CPUs to the other, before or after, whichever took longer: a hypervisor may move them.
    """

    mechanism: str
    state: str
    samples: int
    least: float
    quarter: float
    median: float
    three_quarters: float
    percentile_99: float
    mean: float
    apart: float = 0.0

    def minus(self, ns: float) -> "Sampled":
        """Return the same, each less so many ns."""
        return self.model_copy(update={name: max(0.0, getattr(self, name) - ns) for name in _NS})


@dataclass(frozen=True)
class Stop:
    """The cost of stopping by one mechanism in one state, over some runs; in ns."""

    mechanism: str
    state: str
    meaning: str
    runs: Sequence[Sampled]

    @property
    def name(self) -> str:
        return f"stop_{self.mechanism}_{self.state}"

    @property
    def quietest(self) -> Sampled:
        """Return the run of the least median, since other work on the host only adds; only runs
        with the CPUs nearest to each other count."""
        nearest = min(each.apart for each in self.runs)
        near = [each for each in self.runs if each.apart <= MOVED * nearest]
        return min(near, key=lambda each: each.median)

    def distribution(self) -> dict[str, float]:
        """Return ns of the quietest run by name, and how far apart its CPUs were."""
        return self.quietest.model_dump(include={"samples", "apart", *_NS})

    def finding(self, mhz: float) -> Finding:
        """Return the median as a figure in cycles of this clock."""
        run, cycles = self.quietest, mhz / 1e3
        text = (
            f"{self.meaning}; the owner {KNOWN.states[self.state]}: median {run.median:.0f} ns of "
            f"{run.samples} stops, least {run.least:.0f}, 99 % at most {run.percentile_99:.0f}; of "
            f"{len(self.runs)} runs the one with the least median"
        )
        if run.apart:
            text += f", on CPUs that hand a line over in {run.apart:.0f} cycles"
        spread = run.three_quarters - run.quarter
        return Finding(run.median * cycles, spread * cycles, text, alone=False)


def sampled(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Sampled:
    """Return the output of a program. Raises LockcrossError (exit code 1) where it fails."""
    try:
        done = run(command, _TIME_LIMIT_S, env=environment)
        if done.returncode == 0:
            return Sampled.model_validate_json(done.stdout.splitlines()[-1])
        why = done.stderr.strip() or f"exit code {done.returncode}"
    except subprocess.TimeoutExpired:
        why = f"it did not end within {_TIME_LIMIT_S:g} s"
    except (OSError, IndexError, ValidationError) as error:
        why = str(error)
    raise LockcrossError(f"{' '.join(command)}: {why}", exit_code=1)


def _made(name: str, sources: Sequence[Path], command: Callable[[str], Sequence[str]]) -> Path:
    """Return the folder that a compiler fills, which it does once for these sources. `command`: how
    it is called for a folder. Raises LockcrossError (exit code 1)."""
    text = "".join([*command(name), *(path.read_text("utf-8") for path in sources)])
    folder = _BUILT / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    if folder.exists():
        return folder
    _BUILT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=_BUILT) as own:
        done = run([*command(own), *map(str, sources)], _TIME_LIMIT_S)
        if done.returncode != 0:
            raise LockcrossError(f"{sources[0]}: {done.stderr}", exit_code=1)
        with suppress(OSError):  # another one was first
            Path(own).rename(folder)
            Path(own).mkdir()
    return folder


def program() -> Path:
    """Return the program in C, compiled. Raises LockcrossError without a compiler."""
    compiler = find_compiler(ISAS[host_isa()].flavours[0])
    options = [compiler, "-O2", "-pthread", "-o"]
    return _made("c", [SOURCES / "stops.c"], lambda into: [*options, f"{into}/stops"]) / "stops"


def by_program(mechanism: str, cpus: Sequence[int], apart: Apart) -> Iterator[Stop]:
    """Yield the cost of stopping by a mechanism of the kernel or of memory, in every state."""
    rest = [str(_SAMPLES), *(str(cpu) for cpu in cpus[:2])]
    states = {state: [str(program()), mechanism, state, *rest] for state in OF_PROGRAM}
    for state, runs in _in_turn(states, apart).items():
        yield Stop(mechanism, state, KNOWN.mechanisms[mechanism], runs)


def _in_turn(
    commands: Mapping[str, Sequence[str]],
    apart: Apart,
    environment: Mapping[str, str] | None = None,
) -> dict[str, list[Sampled]]:
    """Run every command, and again, so that changes on the host affect all."""
    runs: dict[str, list[Sampled]] = {name: [] for name in commands}
    before = apart()
    for _ in range(_RUNS):
        for name, command in commands.items():
            run = sampled(command, environment)
            after = apart()
            runs[name].append(run.model_copy(update={"apart": max(before, after)}))
            before = after
    return runs


@dataclass(frozen=True)
class Jvm:
    """A HotSpot of this host: its program and its release."""

    java: str
    release: int

    @property
    def mechanism(self) -> str:
        return f"hotspot{self.release}"

    @property
    def title(self) -> str:
        return f"HotSpot {self.release}"

    def runtime(self) -> tuple[str, Runtime] | None:
        """Return the operation by which it stops a thread, and all about it; None where it has none
        that is known."""
        for operation, known in KNOWN.runtimes.items():
            if known.first <= self.release <= known.last:
                return operation, known
        return None

    def stops(self, cpus: Sequence[int], apart: Apart) -> Iterator[Stop]:
        """Yield its cost of stopping, in every state. Raises LockcrossError (exit code 1)."""
        if (way := self.runtime()) is None:
            raise LockcrossError(f"{self.java}: no operation of this release is known", exit_code=1)
        operation, known = way
        environment = {k: v for k, v in os.environ.items() if k not in _VARIABLES}
        states = {**known.states, **({known.less: State()} if known.less else {})}
        runs = _in_turn(
            {name: self.command(operation, known, name, states[name], cpus) for name in states},
            apart,
            environment,
        )
        less = min(each.median for each in runs.pop(known.less)) if known.less else 0.0
        meaning = known.meaning.format(release=self.release)
        if less:
            meaning += f", less {less:.0f} ns of an acquisition without"
        for name, found in runs.items():
            yield Stop(self.mechanism, name, meaning, [each.minus(less) for each in found])

    def command(
        self, operation: str, known: Runtime, name: str, state: State, cpus: Sequence[int]
    ) -> list[str]:
        """Return the command for a state."""
        bulk = state.operation == "bulk"
        options = [*known.options, *([] if bulk else known.single), *state.options]
        samples = [str(_BULK_SAMPLES if bulk else _JAVA_SAMPLES), str(_ROUNDS)]
        words = [state.operation or operation, state.program or name, *samples]
        places = [str(cpu) for cpu in cpus[:2]]
        return [*_AS_USUAL, self.java, *options, "-cp", str(_classes()), "Stops", *words, *places]


def _classes() -> Path:
    """Return the folder of the Java program's classes. Raises LockcrossError without a compiler."""
    compiler = next(filter(None, map(shutil.which, ("javac", *sorted(map(str, _javacs()))))), None)
    if compiler is None:
        raise LockcrossError(
            "no javac was found; on Debian: apt-get install default-jdk-headless",
            exit_code=1,
        )
    options = [compiler, "-nowarn", "--release", str(_OLDEST), "-d"]
    return _made("java", [SOURCES / "Stops.java"], lambda into: [*options, into])


def _javacs() -> Iterator[Path]:
    return Path("/").glob(_JVMS.lstrip("/").replace("bin/java", "bin/javac"))


def jvms(named: Sequence[str] = ()) -> list[Jvm]:
    """Return the HotSpot JVMs of this host, one of each release: those that are `named`, that of
    PATH, those where the system has them. Raises LockcrossError where a named one is none."""
    found: dict[int, Jvm] = {}
    others = ["java", *sorted(map(str, Path("/").glob(_JVMS.lstrip("/"))))]
    for java in (*named, *others):
        program = shutil.which(java)
        release = _release(program) if program else 0
        if release:
            found.setdefault(release, Jvm(str(program), release))
        elif java in named:
            raise LockcrossError(f"--jvms {java}: is no java of a HotSpot JVM that runs here")
    return [found[release] for release in sorted(found)]


def _release(java: str) -> int:
    """Return the feature release of a HotSpot; 0 of anything else."""
    try:
        said = run([java, "-version"], _TIME_LIMIT_S).stderr
    except (OSError, subprocess.TimeoutExpired):
        return 0
    version = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(version[1]) if version and "Server VM" in said else 0
