"""Run programs for the host and read their output in cycles; and findings: a figure with its spread
and its meaning."""

import json
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

from pydantic import ValidationError

from results.errors import LockcrossError
from sweeps.engines.native.output import CHAIN_ISAS, NO_CYCLES, NativeLine
from sweeps.engines.native.sample import (
    SMALL,
    SPREAD,
    Estimate,
    Line,
    cycles_of,
    cycles_per_tick,
    estimate,
    steady,
)
from sweeps.model.isa import ISAS, host_isa
from sweeps.programs import Builder, Program
from sweeps.support.tools import run

_TIME_LIMIT_S = 30.0  # of one process
_TRIES = 3  # of a run whose clock changed


class Programs:
    """The programs, built once, and the clock as their runs tell it."""

    def __init__(self) -> None:
        self._builder = Builder()
        self._clock: list[tuple[float, int]] = []  # seconds, ticks
        self._scales: list[float] = []  # cycles of a tick

    def build(
        self, workload: str, lock: str = "nop", variant: str = "", scheduled: bool = False
    ) -> str:
        """Return the path of a program; with `scheduled` its threads may share cores.

        Raises LockcrossError when it cannot be built.
        """
        flavour = ISAS[host_isa()].flavours[0]
        program = Program(
            workload, lock, "full", flavour, variant=variant, scheduled=scheduled, host=True
        )
        return str(self._builder.build([program])[program].path)

    def run(self, binary: str, cpus: Sequence[int], **arguments: int | str) -> Line:
        """Return one run on these CPUs, with a thread on each unless the arguments say `threads`;
        again when the clock changed.

        Raises LockcrossError (exit code 1) when the program fails, or cycles cannot be told.
        """
        keys = {"threads": len(cpus), **arguments, "cpus": ",".join(map(str, cpus))}
        for _ in range(_TRIES):
            began = time.monotonic()
            line = _run(binary, [f"{key}={value}" for key, value in keys.items()])
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
        """Return core cycles of a microsecond, over all runs so far: at least two."""
        (first, tick), (last, end) = self._clock[0], self._clock[-1]
        mhz = (end - tick) / (last - first) / 1e6
        scale = estimate(self._scales)
        middle = scale.median * mhz
        return Estimate(middle, scale.least * mhz, middle, scale.iqr * mhz)


def _run(binary: str, words: list[str]) -> Line:
    """Return the output of a program that verified itself. Raises LockcrossError (1)."""
    try:
        done = run([binary, *words], _TIME_LIMIT_S)
        line: Line = json.loads(done.stdout)
        if done.returncode == 0 and line.get("ok"):
            NativeLine.model_validate_json(done.stdout)
            return line
        why = str(line.get("error"))
    except subprocess.TimeoutExpired:
        why = f"it did not end within {_TIME_LIMIT_S:g} s"
    except OSError as error:
        why = str(error)
    except ValidationError as error:
        why = f"its output is not understood: {error}"
    except ValueError:
        why = done.stderr.strip() or f"exit code {done.returncode}"
    raise LockcrossError(f"{Path(binary).name} {' '.join(words)}: {why}", exit_code=1)


def measured_phases(line: Line) -> tuple[list[float], list[float]]:
    """Return cycles of the first and second measurement of kernel sharing, in each round."""
    thread = line["host"]["threads"][0]
    scale = cycles_per_tick(line, thread)
    cycles: dict[int, list[float]] = {1: [], 3: []}
    for (number, start), (_, end) in pairwise(thread["phases"]):
        if number % 2:  # the even ones are ends
            cycles[number % 4].append((end - start) * scale)
    return cycles[1], cycles[3]


@dataclass(frozen=True)
class Waking:
    """One round of kernel sharing's `unpark`, in cycles: how long before the unpark the thread had
    begun to park (`parked`; less than 0: it did so later), the time of the `call`, and how long
    after its beginning the woken thread ran (`until`)."""

    parked: float
    call: float
    until: float


def wakings(line: Line) -> list[Waking]:
    """Return every round that was recorded. The host's counter is the same on all CPUs."""
    waker, woken = line["host"]["threads"]
    scale = cycles_per_tick(line, waker)
    marks = (thread["phases"][of::2] for thread in (waker, woken) for of in (0, 1))
    return [
        Waking((began - parked) * scale, (ended - began) * scale, (ran - began) * scale)
        for (_, began), (_, ended), (_, parked), (_, ran) in zip(*marks, strict=False)
    ]


def handover(line: Line) -> float:
    return max(cycles_of(line)) / float(line["pairs"])


CYCLES, SHARE = "cycles", "share"


@dataclass(frozen=True)
class Finding:
    """A measured figure. `spread`: between the quartiles, in the same unit. `alone`: one thread
    took part. `beside`: for a difference that may be nothing, the minuend; a spread
    that is narrow for that is narrow for it."""

    value: float
    spread: float
    meaning: str
    unit: str = CYCLES
    alone: bool = True
    beside: float = 0.0

    def trouble(self) -> str:
        """Return why it says nothing, or nothing. Cycles by the sampler's own bounds; a share,
        whose range is from 0 to 1, by the bound of one thread."""
        if self.unit == SHARE:
            wide = self.spread > SPREAD[True]
            return f"{self.spread:.2f} between the quartiles" if wide else ""
        bound = SPREAD[self.alone]
        if self.spread <= max(SMALL, bound * max(abs(self.value), self.beside)):
            return ""
        return (
            f"{self.spread:.1f} {self.unit} between the quartiles of {self.value:.1f}; allowed are "
            f"{bound:.0%}"
        )


def of_alone(value: Estimate, meaning: str) -> Finding:
    """Return a figure of one thread: interference only adds, so the least values are near it."""
    return Finding(value.value, value.iqr, meaning)


def of_both(values: Sequence[float], meaning: str) -> Finding:
    """Return a figure of two threads: the way differs from line to line, so the median stands for
    all."""
    return Finding(median(values), estimate(values).iqr, meaning, alone=False)
