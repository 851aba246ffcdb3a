"""Holds `advise` to the JVM of this host: `./lockcross python -m tests.java_programs.against_jvm
MACHINE [PROGRAM...]` prints a table as those in docs/java.md, about a minute for each program.

A JVM with two locking modes runs each program under both, in turn. The difference in user CPU time
stands beside the difference that `advise` predicts from a log of the same program, on the machine
that describes this host (`./lockcross measure`). Differences are ns for each pair of acquire and
release: the second mode's less the first's.
"""

import json
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from math import comb
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from results.errors import LockcrossError
from results.paths import ROOT
from sweeps.lock_logs.log import Kind, read_events
from sweeps.model.machine import load_machine
from tests.java_programs.programs import PROGRAMS, Program, build, chosen, environment, java

_UNLOCKED = ("-XX:+UnlockDiagnosticVMOptions", "-XX:+UnlockExperimentalVMOptions")
KEEP_ALL = "-XX:-EliminateLocks"  # the JVM's compiler then leaves out no lock that the log has
_SURE = 0.95  # that the interval of a median has it
_SECONDS, _FEWEST, _MOST = 20.0, 6, 20  # CPU time of a program, about; runs of it in each mode
_HEADS = (
    "program", "threads", "acquisitions", "runs", "CPU, s", "measured, ns a pair",
    "no lock left out, ns", "predicted, ns a pair",
)  # fmt: skip


class Mode(NamedTuple):
    """A locking mode of a JVM: its options, and the lock that it is."""

    title: str
    lock: str
    options: tuple[str, ...]


BIASED = ("-XX:+UseBiasedLocking", "-XX:BiasedLockingStartupDelay=0")
NOT_BIASED = ("-XX:-UseBiasedLocking",)
_STACK = ("stack locking", "hotspot_stack")
_MODES = {  # the flag that JDK 17 has, and JDK 21 to 25
    "UseBiasedLocking": (Mode("biased locking", "biased", BIASED), Mode(*_STACK, NOT_BIASED)),
    "LockingMode": (
        Mode(*_STACK, ("-XX:LockingMode=1",)),
        Mode("lightweight locking", "hotspot_light", ("-XX:LockingMode=2",)),
    ),
}


class Difference(NamedTuple):
    """A difference in ns, and the interval in which it lies."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:+.2f} ({self.low:+.2f} to {self.high:+.2f})"


def measured_difference(pairs: Sequence[tuple[float, float]], acquisitions: int) -> Difference:
    """Return the median of the pairs' differences (seconds), for each acquisition, and the interval
    in which the true median lies by the sign test, whatever the distribution."""
    differences = sorted(second - first for first, second in pairs)
    below, cut = 0.0, 0
    for left_out in range((len(pairs) + 1) // 2):
        below += comb(len(pairs), left_out) / 2 ** len(pairs)
        if 1 - 2 * below < _SURE:
            break
        cut = left_out
    ends = (median(differences), differences[cut], differences[-1 - cut])
    return Difference(*(1e9 * seconds / acquisitions for seconds in ends))


def predicted_difference(
    advice: Mapping[str, Any], first: str, second: str, clock_mhz: float
) -> Difference:
    """Return the second lock's cost less the first's, from an answer of `advise` in JSON. Each is
    off by itself as far as the engine's error is known. Acquisitions that find the lock held are in
    no cost, and take no part."""
    costs = {row["label"].partition("/")[0]: row["cost"] for row in advice["locks"]}
    contended = advice["contended"]
    ns = (1 - (contended["share"] if contended else 0)) * 1e3 / clock_mhz
    error = advice["error"] or {"low": 1.0, "high": 1.0}
    low = costs[second] * error["low"] - costs[first] * error["high"]
    high = costs[second] * error["high"] - costs[first] * error["low"]
    return Difference((costs[second] - costs[first]) * ns, low * ns, high * ns)


def modes() -> tuple[Mode, Mode]:
    """Return the two modes of the JVM of PATH. Exit where it has none: a flag may also be there
    and do nothing."""
    for flag, both in _MODES.items():
        values = {_flag(flag, mode.options) for mode in both}
        if None not in values and len(values) > 1:
            return both
    raise SystemExit("this JVM has no two locking modes; put JDK 17, or 21 to 25, first in PATH")


def _flag(flag: str, options: Sequence[str]) -> str | None:
    command = ["java", *_UNLOCKED, *options, "-XX:+PrintFlagsFinal", "-version"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), check=False)
    found = re.search(rf"^\s*\S+\s+{flag}\s*:?=\s*(\S*)", done.stdout, re.MULTILINE)
    return found[1] if found and not done.returncode else None


def cpu_seconds(command: Sequence[str]) -> float:
    """Return the user CPU time of a run, with the JVM's threads. Raises CalledProcessError."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    with tempfile.TemporaryDirectory() as folder:
        subprocess.check_call(command, cwd=folder, env=environment(), stdout=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def lockcross(*words: object) -> str:
    """Return the output of a command of this tree. Raises CalledProcessError."""
    command = [str(ROOT / "lockcross"), *map(str, words)]
    return subprocess.check_output(command, text=True, env=environment())


def row(program: Program, both: tuple[Mode, Mode], machine: str) -> list[str]:
    """Record, advise and measure a program, and return its row of the table."""
    with tempfile.TemporaryDirectory() as name:
        log, database = Path(name, "program.locks"), Path(name, "advice.db")
        lockcross("record", "--compare", "--force", "--output", log, "--", *java(program))
        locks = ",".join(mode.lock for mode in both)
        asked = ("advise", "--log", log, "--machines", machine, "--locks", locks)
        advice = json.loads(lockcross(*asked, "--ranking", "--format", "json", "--db", database))
        events = read_events(log).events
    acquisitions = int((events["kind"] == Kind.ACQUIRED).sum())
    commands = [
        [java(program, *_UNLOCKED, *options, *mode.options) for mode in both]
        for options in ((), (KEEP_ALL,))
    ]
    # The first run finds files that nobody has read yet, and is not counted.
    wanted = round(_SECONDS / (4 * max(cpu_seconds(commands[0][0]), 0.01)))
    rounds = min(max(wanted, _FEWEST), _MOST)
    times: list[list[tuple[float, float]]] = [[], []]
    for number in range(rounds):
        for (first, second), pairs in zip(commands, times, strict=True):
            # The first mode of a round changes, so that what drifts is in both.
            if number % 2:
                pairs.append((cpu_seconds(first), cpu_seconds(second)))
            else:
                other = cpu_seconds(second)
                pairs.append((cpu_seconds(first), other))
    clock_mhz = load_machine(machine).clock_mhz.number
    return [
        program.title,
        str(events["thread"].nunique()),
        f"{acquisitions:,}",
        str(rounds),
        f"{median(first for first, _ in times[0]):.2f}",
        *(str(measured_difference(pairs, acquisitions)) for pairs in times),
        str(predicted_difference(advice, both[0].lock, both[1].lock, clock_mhz)),
    ]


def main(machine: str, *names: str) -> None:
    """Print the table of the named programs, or of all but the two with the fewest locks."""
    load_machine(machine)  # a name that is wrong is said at once
    both = modes()
    programs = chosen(names, PROGRAMS[:-2])
    build(libraries=any(program.libraries for program in programs))
    print(f"### {both[1].title} less {both[0].title}, machine {machine}\n")
    print(f"| {' | '.join(_HEADS)} |\n|{'---|' * len(_HEADS)}")
    for program in programs:
        print(f"| {' | '.join(row(program, both, machine))} |", flush=True)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except LockcrossError as error:
        sys.exit(error.message)
