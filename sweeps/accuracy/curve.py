"""How often a predicted order of two locks is right, as a smooth curve over the predicted lead.

Two locks of equal cost are in the right order every other time, and more often the greater the
lead: right(lead) = 1 - 1/2 / (1 + (lead / scale) ** slope). Every scale and slope of a grid is
weighed by how well it explains the counted pairs, so that one pair more or less moves the curve
little, and a few pairs leave it uncertain instead of certain.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, product
from typing import NamedTuple

RELIABLE = 0.9  # the share of pairs in the right order from which on a lead is reliable
_SCALES = [10 ** (n / 20) for n in range(-20, 61)]  # percent
_SLOPES = [2 ** (n / 4) for n in range(-4, 9)]
_TENTH = 0.1  # of the weight lies below an interval, and above it
_FINE = 1e-4  # to which a threshold is found


class Steps(NamedTuple):
    """Pairs with leads around a value, percent, and how many of them were in the right order."""

    lead: float
    right: int
    pairs: int


class Reliability(NamedTuple):
    """The share of pairs in the right order, and its interval: 8 in 10 curves lie within it. The
    pairs share locks, so that it is as narrow as it may be."""

    share: float
    low: float
    high: float

    @property
    def words(self) -> str:
        """Return it in a hundred, with its interval."""
        if self.low > 0.99:
            return "more than 99 of 100"
        low, high = (f"{100 * end:.0f}" for end in (self.low, self.high))
        return f"{100 * self.share:.0f} of 100" + f" ({low} to {high})" * (low != high)


@dataclass(frozen=True)
class Curve:
    counts: tuple[Steps, ...]

    def at(self, lead: float) -> Reliability:
        """Return how often pairs with a lead (a share) are in the right order."""
        shares = sorted(
            (_right(100 * lead, scale, slope), weight) for scale, slope, weight in self._weighed
        )
        below = list(accumulate(weight for _, weight in shares))
        low, high = (
            next(share for (share, _), sum_ in zip(shares, below, strict=True) if sum_ >= part)
            for part in (_TENTH * below[-1], (1 - _TENTH) * below[-1])
        )
        return Reliability(sum(share * weight for share, weight in shares) / below[-1], low, high)

    @cached_property
    def decisive(self) -> float | None:
        """Return the least lead (a share) that is reliable; None: no lead is."""
        low, high = 0.0, 1.0
        if self.at(high).share < RELIABLE:
            return None
        while high - low > _FINE:
            middle = (low + high) / 2
            low, high = (middle, high) if self.at(middle).share < RELIABLE else (low, middle)
        return high

    @cached_property
    def _weighed(self) -> Sequence[tuple[float, float, float]]:
        """Return scales and slopes with their weights, without those that explain nothing."""
        explained = []
        for scale, slope in product(_SCALES, _SLOPES):
            shares = [_right(step.lead, scale, slope) for step in self.counts]
            explained.append(
                sum(
                    step.right * math.log(share)
                    + (step.pairs - step.right) * math.log(max(1 - share, 1e-300))
                    for step, share in zip(self.counts, shares, strict=True)
                )
            )
        most = max(explained)
        return [
            (scale, slope, math.exp(log - most))
            for (scale, slope), log in zip(product(_SCALES, _SLOPES), explained, strict=True)
            if log - most > -20
        ]


def _right(lead: float, scale: float, slope: float) -> float:
    return 1 - 0.5 / (1 + math.pow(lead / scale, slope))
