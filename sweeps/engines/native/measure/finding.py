"""What a measurement found: a figure with its spread and its meaning, or why there is none."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from sweeps.engines.native.sample import SMALL, SPREAD, Estimate, estimate

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
    found = estimate(values)
    return Finding(median(values), found.iqr, meaning, alone=False)
