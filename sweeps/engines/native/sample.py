"""Runs a program of the host again and again, until its cycles are beyond doubt or proven noisy.

Started by its path, once for each cell, so it imports nothing but Python's own library. It takes
one argument, a JSON document with the fields of Job, and leaves `samples.json` in the working
directory.
"""

import fcntl
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

SAMPLES = "samples.json"
REPEATS = 40  # of each length, in a round
ROUNDS = 3  # that a cell may take
WARM_UP = 3  # repeats before the first round
CLOCKS_DIFFER = 0.02  # of the chains before and after a run
MOVED = 1.5  # times the hand-over before a run is that after it: the CPUs are placed otherwise
FEWEST = 10  # repeats of a round whose clock was steady
SPREAD = {True: 0.25, False: 0.5}  # alone or not: interquartile range over median, at most
SMALL = 1.0  # cycles per pair: a range that is never too wide
_TIME_LIMIT_S = 10.0  # of one process
_PRIORITY = 5  # of the real-time ones, so that a busy machine does not interrupt a run

Line = dict[str, Any]  # what the program printed


@dataclass(frozen=True)
class Job:
    """`lengths`: the program's command lines, one or two, the shorter first. `lock`: a file that
    keeps other samplers away meanwhile."""

    lengths: list[list[str]]
    lock: str


@dataclass(frozen=True)
class Estimate:
    """One quantity over the repeats: what it is taken to be, the least value, the median, the
    interquartile range."""

    value: float
    least: float
    median: float
    iqr: float

    @property
    def spread(self) -> float:
        """The interquartile range over the median."""
        return self.iqr / self.median if self.median > 0 else float("inf")

    def minus(self, other: "Estimate") -> "Estimate":
        """The difference; the ranges add up."""
        return Estimate(
            self.value - other.value,
            self.least - other.least,
            self.median - other.median,
            self.iqr + other.iqr,
        )

    def over(self, number: float) -> "Estimate":
        """Divided by a number."""
        return Estimate(
            self.value / number, self.least / number, self.median / number, self.iqr / number
        )


def estimate(values: Sequence[float], alone: bool = True) -> Estimate:
    """Of one value or more. One thread alone: interference only adds cycles, so the least ones are
    nearest to the truth; the median of a quarter of them does not hang on a single one. Threads
    that meet: how often they do differs from run to run, the least runs are those in which they
    happen to meet least, and the value is the median."""
    ordered = sorted(values)
    quarter = max(1, len(ordered) // 4)
    upper = ordered[min(len(ordered) - 1, 3 * quarter)]
    middle = median(ordered)
    value = median(ordered[:quarter]) if alone else middle
    return Estimate(value, ordered[0], middle, upper - ordered[quarter - 1])


def steady(line: Line) -> bool:
    """Whether the clock of each thread was the same before and after the run, as far as the chains
    say, and the CPUs as far apart."""
    host = line["host"]
    before, after = host.get("handover_ticks", (1, 1))
    return max(before, after) <= MOVED * min(before, after) and all(
        abs(thread["before"] - thread["after"]) <= CLOCKS_DIFFER * thread["after"]
        for thread in host["threads"]
    )


def handover(line: Line) -> float:
    """Cycles in which a line went from one thread to the next right before and after the run; 0 of
    one thread."""
    host = line["host"]
    if "handover_ticks" not in host:
        return 0.0
    ticks = sum(host["handover_ticks"]) / (2 * host["handovers"])
    return float(ticks * cycles_per_tick(line, host["threads"][0]))


def near_each_other(repeats: Sequence[list[Line]]) -> list[list[Line]]:
    """Those of the placement of CPUs that most of the repeats had: a hypervisor may change it
    between two."""
    middle = median([handover(lines[-1]) for lines in repeats] or [0.0])
    return [
        lines
        for lines in repeats
        if all(middle / MOVED <= handover(line) <= MOVED * middle for line in lines)
    ]


def cycles_of(line: Line) -> list[float]:
    """Core cycles of each thread in the region.

    One thread that the kernel counted: the user-mode cycles. Else its ticks, times the core cycles
    of a tick as the chains have them: a thread that waits in the kernel is not counted there, but
    its core does nothing else.
    """
    threads = line["host"]["threads"]
    if len(threads) == 1 and threads[0].get("chain_cycles"):
        return [float(threads[0]["cycles"])]
    return [(thread["end"] - thread["begin"]) * cycles_per_tick(line, thread) for thread in threads]


def cycles_per_tick(line: Line, thread: Line) -> float:
    """Core cycles of a tick of the host's counter."""
    if thread.get("chain_cycles"):
        return float(thread["chain_cycles"] / thread["before"])
    return float(2 * line["host"]["chain"] / (thread["before"] + thread["after"]))


@dataclass
class Round:
    """The repeats of a round: for each the lines of its lengths, in pairs or alone. `left_out`: how
    many were dropped because the clock changed, or the placement of the CPUs."""

    repeats: list[list[Line]] = field(default_factory=list)
    left_out: int = 0

    def by_length(self) -> list[tuple[Line, ...]]:
        """The lines of each length."""
        return list(zip(*self.repeats, strict=True))

    def cycles_per_pair(self) -> Estimate:
        """Of all threads together; with two lengths from their difference."""
        lengths = self.by_length()
        if len(lengths) == 1:  # a workload may run for a time, and then its pairs differ, too
            each = [sum(cycles_of(line)) / line["pairs"] for line in lengths[0]]
            return estimate(each, self.alone)
        short, long = ([sum(cycles_of(line)) for line in lines] for lines in lengths)
        pairs = lengths[1][0]["pairs"] - lengths[0][0]["pairs"]
        return estimate(long, self.alone).minus(estimate(short, self.alone)).over(pairs)

    @property
    def alone(self) -> bool:
        """Whether one thread ran."""
        return len(self.repeats[0][0]["host"]["threads"]) == 1

    def trouble(self) -> str:
        """Why it says nothing, or nothing."""
        taken = len(self.repeats) + self.left_out
        if len(self.repeats) < FEWEST:
            return (
                f"the clock changed by more than {CLOCKS_DIFFER:.0%}, or the CPUs moved, in "
                f"{self.left_out} of {taken} repeats"
            )
        cost = self.cycles_per_pair()
        bound = SPREAD[self.alone]
        if cost.spread > bound and cost.iqr > SMALL:
            return (
                f"{cost.iqr:.1f} cycles per pair between the quartiles, {cost.spread:.0%} of the "
                f"median; allowed are {bound:.0%}"
            )
        return ""


def _run(command: list[str]) -> Line:
    """One process. Ends this one as that ended, when it failed."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_TIME_LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        print(f"the program did not end within {_TIME_LIMIT_S:g} s", file=sys.stderr)
        sys.exit(3)
    try:
        line: Line = json.loads(done.stdout)
    except ValueError:
        line = {}
    if done.returncode != 0 or not line.get("ok"):
        sys.stdout.write(done.stdout)
        sys.stderr.write(done.stderr)
        sys.exit(128 - done.returncode if done.returncode < 0 else done.returncode or 1)
    return line


def take_round(lengths: Sequence[list[str]]) -> Round:
    """Runs every length in turn, REPEATS times."""
    measured = Round()
    for _ in range(REPEATS):
        lines = [_run(command) for command in lengths]
        if all(steady(line) for line in lines):
            measured.repeats.append(lines)
        else:
            measured.left_out += 1
    near = near_each_other(measured.repeats)
    return Round(near, measured.left_out + len(measured.repeats) - len(near))


def sample(lengths: Sequence[list[str]]) -> list[Round]:
    """Rounds, until one is without trouble or there were ROUNDS."""
    for _ in range(WARM_UP):
        for command in lengths:
            _run(command)
    rounds = [take_round(lengths)]
    while rounds[-1].trouble() and len(rounds) < ROUNDS:
        rounds.append(take_round(lengths))
    return rounds


def tick_mhz(lengths: Sequence[list[str]]) -> float:
    """Ticks of the host's counter in a microsecond, from two runs and the time between them."""

    def now() -> tuple[float, int]:
        began = time.monotonic()
        line = _run(lengths[0])
        return (began + time.monotonic()) / 2, line["host"]["threads"][0]["begin"]

    first = now()
    time.sleep(0.05)
    last = now()
    return (last[1] - first[1]) / (last[0] - first[0]) / 1e6


def take_priority() -> bool:
    """A fixed priority for this process and those that it starts, above all that has none. Whether
    the system allows it."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(_PRIORITY))
    except (OSError, AttributeError):  # not allowed; no such system
        return False
    return True


def main() -> None:
    """Takes the samples of one cell."""
    job = Job(**json.loads(sys.argv[1]))
    with Path(job.lock).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one cell at a time, whoever started it
        fixed = take_priority()
        rounds = sample(job.lengths)
        last = rounds[-1]
        clock = tick_mhz(job.lengths)
        document = {"rounds": len(rounds), "tick_mhz": clock, "fixed": fixed, **asdict(last)}
    Path(SAMPLES).write_text(json.dumps(document), encoding="utf-8")


if __name__ == "__main__":
    main()
