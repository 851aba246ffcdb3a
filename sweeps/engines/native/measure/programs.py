"""Runs programs for the host and reads what they printed in cycles; and what is found in that: a
figure with its spread and its meaning, or why there is none."""

import json
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from pydantic import ValidationError

from results.errors import LockcrossError
from sweeps.engines.native.output import CHAIN_ISAS, NO_CYCLES, NativeLine
from sweeps.engines.native.sample import (
    SMALL,
    SPREAD,
    Estimate,
    Line,
    Round,
    cycles_of,
    cycles_per_tick,
    estimate,
    steady,
)
from sweeps.model.isa import ISAS, host_isa
from sweeps.programs import Builder, Program

_TIME_LIMIT_S = 30.0  # of one process
_TRIES = 3  # of a run whose clock changed
Arguments = Mapping[str, int | str]


class Programs:
    """The programs, built once, and the clock as their runs tell it."""

    def __init__(self, builder: Builder | None = None) -> None:
        self.flavour = ISAS[host_isa()].flavours[0]
        self._builder = builder or Builder()
        self._clock: list[tuple[float, int]] = []  # seconds, ticks
        self._scales: list[float] = []  # cycles of a tick

    def build(
        self, workload: str, lock: str = "null", variant: str = "", scheduled: bool = False
    ) -> str:
        """The path of a program; with `scheduled` its threads may share cores.

        Raises LockcrossError when it cannot be built.
        """
        program = Program(
            workload, lock, "full", self.flavour, variant=variant, scheduled=scheduled, host=True
        )
        return str(self._builder.build([program])[program].path)

    def run(self, binary: str, arguments: Arguments, cpus: Sequence[int]) -> Line:
        """One run on these CPUs, with a thread on each unless the arguments say `threads`; again
        when the clock changed.

        Raises LockcrossError (exit code 1) when the program fails, or cycles cannot be told.
        """
        given = {"threads": len(cpus), **arguments, "cpus": ",".join(map(str, cpus))}
        for _ in range(_TRIES):
            began = time.monotonic()
            line: Line = _line(binary, given)
            _checked(binary, line)
            if steady(line):
                break
        first = line["host"]["threads"][0]
        if not first.get("chain_cycles") and host_isa() not in CHAIN_ISAS:
            why = NO_CYCLES.format(isa=host_isa())
            raise LockcrossError(f"this host cannot be measured: {why}", exit_code=1)
        self._clock.append((began, first["begin"]))
        self._scales.append(cycles_per_tick(line, first))
        return line

    def clock_mhz(self) -> Estimate:
        """Core cycles of a microsecond, over all runs so far: at least two."""
        (first, tick), (last, end) = self._clock[0], self._clock[-1]
        mhz = (end - tick) / (last - first) / 1e6
        scale = estimate(self._scales)
        middle = scale.median
        return Estimate(middle * mhz, scale.least * mhz, middle * mhz, scale.iqr * mhz)


def _line(binary: str, arguments: Arguments) -> Line:
    words = [f"{key}={value}" for key, value in arguments.items()]
    try:
        done = subprocess.run(
            [binary, *words], capture_output=True, text=True, timeout=_TIME_LIMIT_S, check=False
        )
        line: Line = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        raise _failure(binary, words, f"it did not end within {_TIME_LIMIT_S:g} s") from None
    except (ValueError, OSError) as error:
        said = done.stderr.strip() if isinstance(error, ValueError) else str(error)
        raise _failure(binary, words, said or f"exit code {done.returncode}") from None
    if not isinstance(line, dict) or done.returncode != 0 or not line.get("ok"):
        raise _failure(binary, words, str(line.get("error")) if isinstance(line, dict) else "")
    return line


def _checked(binary: str, line: Line) -> None:
    try:
        NativeLine.model_validate_json(json.dumps(line))
    except ValidationError as error:
        raise _failure(binary, [], f"its output is not understood: {error}") from None


def _failure(binary: str, words: Sequence[str], why: str) -> LockcrossError:
    name = binary.rpartition("/")[2]
    return LockcrossError(f"{name} {' '.join(words)}: {why}", exit_code=1)


def per_turn(rounds: Sequence[Sequence[Line]]) -> Estimate:
    """Cycles of a turn of a loop: from the difference of two lengths where there are two."""
    return Round([list(lines) for lines in rounds]).cycles_per_pair()


def measured_phases(line: Line) -> tuple[list[float], list[float]]:
    """Cycles of what kernel sharing measures first, and second, in each round that it recorded."""
    thread = line["host"]["threads"][0]
    scale = cycles_per_tick(line, thread)
    first: list[float] = []
    second: list[float] = []
    for (number, start), (_, end) in pairwise(thread["phases"]):
        if number % 2:  # the even ones are ends
            (second if number % 4 == 3 else first).append((end - start) * scale)
    return first, second


def wakes(line: Line) -> list[tuple[float, float]]:
    """Of each round of kernel sharing's `unpark` that was recorded: cycles of the unpark, and from
    its beginning until the woken thread ran. The host's counter is the same on all CPUs."""
    waker, woken = line["host"]["threads"]
    scale = cycles_per_tick(line, waker)
    times = []
    for (_, began), (_, ended), (_, ran) in zip(
        waker["phases"][::2], waker["phases"][1::2], woken["phases"], strict=False
    ):
        times.append(((ended - began) * scale, (ran - began) * scale))
    return times


def handover(line: Line) -> float:
    """Cycles of a hand-over, of a run of kernel transfer."""
    return max(cycles_of(line)) / float(line["pairs"])


CYCLES, SHARE = "cycles", "share"


@dataclass(frozen=True)
class Finding:
    """A measured figure. `spread`: between the quartiles, in the same unit. `alone`: one thread
    took part."""

    value: float
    spread: float
    meaning: str
    unit: str = CYCLES
    alone: bool = True

    def trouble(self) -> str:
        """Why it says nothing, or nothing. Cycles by the sampler's own bounds; a share, whose range
        is from 0 to 1, by the bound of one thread."""
        if self.unit == SHARE:
            bound = SPREAD[True]
            return f"{self.spread:.2f} between the quartiles" if self.spread > bound else ""
        bound = SPREAD[self.alone]
        if self.spread <= SMALL or self.spread <= bound * abs(self.value):
            return ""
        return (
            f"{self.spread:.1f} {self.unit} between the quartiles of {self.value:.1f}; allowed are "
            f"{bound:.0%}"
        )


@dataclass
class Findings:
    """Figures by name, and the reasons of those that were left out."""

    found: dict[str, Finding] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, finding: Finding) -> bool:
        """Keeps a finding, or says why not. Whether it was kept."""
        self.found.pop(name, None)
        self.left_out.pop(name, None)
        if why := finding.trouble():
            self.left_out[name] = f"too noisy: {why}"
            return False
        self.found[name] = finding
        return True

    def get(self, name: str) -> Finding | None:
        """The finding of a name, if it was kept."""
        return self.found.get(name)


def of_alone(value: Estimate, meaning: str) -> Finding:
    """A figure of one thread: interference only adds, so the least values are near the truth."""
    return Finding(value.value, value.iqr, meaning)


def of_both(values: Sequence[float], meaning: str) -> Finding:
    """A figure of two threads: the way between two processors differs from line to line, so the
    median stands for all."""
    estimated = estimate(values)
    return Finding(median(values), estimated.iqr, meaning, alone=False)
