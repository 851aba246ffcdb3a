"""Which lock is the cheapest in one setting, why, and how far that may move until another is.

Pure analysis of costs and searches, whoever ran them. Costs are core cycles per acquire-release
pair.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

from sweeps.model.axes import AXIS_WORDS, USE_QUANTITIES
from sweeps.model.locks import LockLabel
from sweeps.search.errors import EngineError
from sweeps.search.found import Win, winner
from sweeps.search.searches import Crossing, Crossover

# Where cycles go, by the metrics of a run; all else is the rest.
CAUSES = {
    "atomics": ("stall_atomic",),
    "fences": ("stall_fence",),
    "stores": ("stall_drain", "stall_store_buffer", "stall_forward"),
    "cancellations": ("stall_charge",),
    "misses": ("stall_l2", "stall_memory", "stall_transfer", "stall_upgrade", "stall_hold"),
    "branches": ("stall_mispredict", "stall_taken_branch"),
}
REST = "the rest"
STORE_FORWARD = "store_forward"  # fences of this kind are in no recommendation
TRIED = ("threads",)  # units of axes that have only some values: nothing lies between them
# What may be moved, in words.
USE_AXES = AXIS_WORDS | {name: one.words for name, one in USE_QUANTITIES.items()}
# How an input of an answer is known.
ASKED, MEASURED, QUOTED, ASSUMED = "asked", "measured", "quoted", "assumed"


@dataclass(frozen=True)
class Input:
    """What an answer rests on: its name (of an axis, where it is one), its value in words, how it
    is known and whence. `low` and `high`: the range of an assumption, in the terms of its axis;
    None where none is known."""

    name: str
    value: str
    kind: str
    source: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class LockCost:
    """What one lock costs beside the work that the program does: the mean of its seeds, the least
    and the greatest of them, and the first seed's cycles by cause. `native`: the same on the host;
    None if nobody asked."""

    label: LockLabel
    cost: float
    low: float
    high: float
    seeds: int
    causes: Mapping[str, float]
    runs: tuple[int, ...]
    native: float | None = None


@dataclass(frozen=True)
class Change:
    """From this value of an axis on, another lock is the cheapest."""

    lock: LockLabel
    value: float


@dataclass(frozen=True)
class AxisAnswer:
    """How far one parameter may move, all else the same. `low` and `high`: the ends of what was
    searched; None of `below` and `above`: nothing changes up to there."""

    axis: str
    unit: str
    now: float
    low: float
    high: float
    below: Change | None
    above: Change | None

    @property
    def nearest(self) -> Change | None:
        """The change that is nearer, relative to the value now."""
        found = [one for one in (self.below, self.above) if one is not None]
        return min(found, key=lambda one: abs(one.value - self.now), default=None)


@dataclass(frozen=True)
class Flip:
    """An assumption that decides: within its range another lock is the cheapest, from a value of
    its axis on, upwards or downwards."""

    given: Input
    axis: AxisAnswer
    change: Change
    upwards: bool


@dataclass(frozen=True)
class Contended:
    """What the locks cost, cycles a pair with all waiting, where all threads want one object, as a
    `share` of the acquisitions does; in no other cost."""

    share: float
    costs: Mapping[LockLabel, float]

    @property
    def best(self) -> LockLabel:
        """The cheapest there."""
        return min(self.costs, key=lambda label: (self.costs[label], label))


@dataclass(frozen=True)
class Part:
    """What a share of the acquisitions does, in words."""

    share: float
    words: str


@dataclass(frozen=True)
class Advice:
    """The whole answer. `tie`: the share of a lead below which it is a tie; `error`: how far costs
    of this kind were off on a reference, None where nothing like them was compared.
    `inputs`: what it rests on; `parts`: of what it is made; `work`: cycles a pair that the program
    itself takes, which are in no cost. `limits`: of locks that cannot replace all others, what they
    cannot do; `notes`: what else bears on the answer; `flips`: the assumptions that decide;
    `contended`: what was asked of contention. Leads are of the whole pair, the work too, since the
    error is known for whole pairs alone."""

    setting: Mapping[str, object]
    locks: tuple[LockCost, ...]
    tie: float
    axes: tuple[AxisAnswer, ...]
    inputs: tuple[Input, ...]
    parts: tuple[Part, ...]
    work: float = 0.0
    error: EngineError | None = None
    limits: Mapping[LockLabel, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    flips: tuple[Flip, ...] = ()
    contended: Contended | None = None

    @property
    def without_limits(self) -> Win | None:
        """The winner among the locks without limits, where the winner has some and two have
        none."""
        costs = {one: cost for one, cost in self._whole().items() if one not in self.limits}
        return winner(costs, self.tie) if self.win.lock not in costs and len(costs) > 1 else None

    @property
    def win(self) -> Win:
        """The cheapest lock and those that it ties with."""
        return winner(self._whole(), self.tie)

    def _whole(self) -> dict[LockLabel, float]:
        """Cycles of a whole pair, the work too, of the locks that may be recommended."""
        return {
            one.label: one.cost + self.work
            for one in self.locks
            if one.label.fence != STORE_FORWARD
        }

    def beside_work(self, label: LockLabel) -> float:
        """Cycles a pair of a lock beside the work."""
        return next(one.cost for one in self.locks if one.label == label)

    def with_native(self, costs: Mapping[LockLabel, float]) -> "Advice":
        """The same beside what the locks cost on the host."""
        locks = [replace(one, native=costs.get(one.label)) for one in self.locks]
        return replace(self, locks=tuple(locks))


def tie_of(error: EngineError | None, least: float) -> float:
    """The share of a lead below which it is a tie: from which on nine of ten pairs of locks were in
    the right order on the reference, and never below `least`. 1 where no lead is known to be."""
    if error is None:
        return least
    return max(error.decisive if error.decisive is not None else 1.0, least)


def lock_cost(
    label: LockLabel,
    seeds: Sequence[tuple[Sequence[int], Mapping[str, float]]],
    work: float = 0.0,
) -> LockCost:
    """From a lock's seeds: the numbers of its runs, and its metrics a pair. `work`: cycles a pair
    of the program itself, which are in the causes, since the core does both at once, and in no
    cost."""
    costs = [metrics["core_cycles"] - work for _, metrics in seeds]
    _, metrics = seeds[0]
    causes = {
        cause: sum(metrics.get(name, 0.0) for name in names) for cause, names in CAUSES.items()
    }
    causes[REST] = max(metrics["core_cycles"] - sum(causes.values()), 0.0)
    return LockCost(
        label, fmean(costs), min(costs), max(costs), len(seeds), causes,
        tuple(run for runs, _ in seeds for run in runs),
    )  # fmt: skip


def nearest(
    found: Sequence[Crossover], best: LockLabel, now: float, step: int = 1, tried: bool = False
) -> tuple[Change | None, Change | None]:
    """The first value below `now`, and the first above it, at which another lock becomes cheaper
    than the best. `found` are searches between the best and each other lock, in steps of an axis;
    `tried`: only values of the search itself count."""
    below: list[Change] = []
    above: list[Change] = []
    for one in found:
        other = LockLabel(one.lock_b if one.lock_a == best else one.lock_a)
        for crossing in one.crossings:
            # Equal here: it changes here.
            if crossing.below == best and crossing.high * step >= now:
                value = _value(crossing, step, crossing.high, tried)
                above.append(Change(other, max(value, now)))
            elif crossing.below != best and crossing.low * step <= now:
                value = _value(crossing, step, crossing.low, tried)
                below.append(Change(other, min(value, now)))
    return (
        max(below, key=lambda change: change.value, default=None),
        min(above, key=lambda change: change.value, default=None),
    )


def _value(crossing: Crossing, step: int, end: int, tried: bool) -> float:
    return float((end if tried else crossing.value) * step)


def why(best: LockCost, other: LockCost) -> list[tuple[str, float]]:
    """By how many cycles the other lock costs more, by cause, the largest difference first."""
    differences = [(cause, other.causes[cause] - best.causes[cause]) for cause in best.causes]
    return sorted(differences, key=lambda pair: -abs(pair[1]))
