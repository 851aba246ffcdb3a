"""A difference between two locking modes, measured and predicted, in ns a pair of acquire and
release; and what is held against it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb
from statistics import median
from typing import Any

from results.store.facts import Fact
from sweeps.questions.validate.jvm.definition import MAGNITUDE, SIGN

_SURE = 0.95  # that the interval of a median has it
WHOLE_S = 1e9  # ns


@dataclass(frozen=True)
class Difference:
    """The second mode's less the first's, ns a pair, and the interval in which it lies; None where
    nothing is known of that."""

    value: float
    low: float | None
    high: float | None

    @property
    def clear(self) -> bool:
        """Whether it exceeds its spread: 0 lies outside of its interval."""
        return self.low is not None and self.high is not None and self.low * self.high > 0


@dataclass(frozen=True)
class Held:
    """A program on a JVM, and what `advise` says of it. `seconds`: user CPU time of each run, by
    the mode, in pairs; `kept_seconds`: the same where the JVM leaves out no lock. `acquisitions`:
    those of the log, nested ones too. `machine`: that describes the host. `magnitude`: the bar."""

    program: str
    title: str
    flag: str
    first: str
    second: str
    options: Mapping[str, Sequence[str]]
    java: str
    processor: str
    machine: str
    measured_on: str
    acquisitions: int
    threads: int
    seconds: Mapping[str, Sequence[float]]
    kept_seconds: Mapping[str, Sequence[float]]
    measured: Difference
    kept: Difference
    predicted: Difference
    magnitude: float

    @property
    def cpu_seconds(self) -> float:
        """Of a run in the first mode."""
        return median(self.seconds[self.first])

    @property
    def share(self) -> float:
        """The measured difference, as a share of the CPU time in the first mode."""
        return self.measured.value * self.acquisitions / WHOLE_S / self.cpu_seconds

    @property
    def off(self) -> float:
        """By how much the predicted difference is off, as a share of the measured one."""
        return _off(self.predicted, self.measured)

    @property
    def kept_within(self) -> bool:
        """Whether the magnitude is right where the JVM leaves out no lock."""
        return self.kept.clear and _off(self.predicted, self.kept) <= self.magnitude

    @property
    def missed_bars(self) -> list[str]:
        """Those of SIGN and MAGNITUDE that are missed. Nothing is held against a difference within
        its spread."""
        if not self.measured.clear:
            return []
        wrong = self.predicted.value * self.measured.value <= 0
        return [SIGN] * wrong + [MAGNITUDE] * (self.off > self.magnitude)


HELD: Fact[Held] = Fact(
    "jvm",
    Held,
    "this database holds no validation against a JVM; ./lockcross validate --against jvm makes one",
)


def _off(predicted: Difference, measured: Difference) -> float:
    return abs(predicted.value - measured.value) / abs(measured.value)


def measured_difference(
    first: Sequence[float], second: Sequence[float], acquisitions: int
) -> Difference:
    """From seconds of runs in pairs: the median of the pairs' differences, and the interval in
    which the true median lies, whatever their distribution is."""
    differences = sorted(b - a for a, b in zip(first, second, strict=True))
    a_pair = WHOLE_S / acquisitions
    cut = _cut(len(differences))
    low, high = differences[cut], differences[-1 - cut]
    return Difference(median(differences) * a_pair, low * a_pair, high * a_pair)


def _cut(size: int) -> int:
    """So many of the least and as many of the greatest values may be left out, and those that
    remain still have the median between them as surely as is asked for: by the binomial
    distribution of how many lie below it."""
    below, most = 0.0, 0
    for cut in range((size + 1) // 2):
        below += comb(size, cut) / 2**size
        if 1 - 2 * below < _SURE:
            break
        most = cut
    return most


def predicted_difference(
    advice: Mapping[str, Any], locks: tuple[str, str], clock_mhz: float
) -> Difference:
    """From an answer of `advise` in JSON: the second lock's cost less the first's. Each is off by
    itself as far as the engine's error is known, so the interval is that of both ends. Acquisitions
    that find the lock held are in no cost, and take no part."""
    costs = {label["label"].partition("/")[0]: label["cost"] for label in advice["locks"]}
    first, second = (costs[lock] for lock in locks)
    contended = advice["contended"]
    ns = (1 - (contended["share"] if contended else 0)) * 1e3 / clock_mhz
    error = advice["error"]
    if error is None:
        return Difference((second - first) * ns, None, None)
    low = second * error["low"] - first * error["high"]
    high = second * error["high"] - first * error["low"]
    return Difference((second - first) * ns, low * ns, high * ns)
