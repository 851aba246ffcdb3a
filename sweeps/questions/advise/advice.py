"""The answer of `advise`. Costs are core cycles per acquire-release pair."""

from collections.abc import Mapping
from dataclasses import dataclass

from sweeps.accuracy.errors import EngineError
from sweeps.model.axes import AXIS_WORDS, Quantity
from sweeps.model.locks import LockLabel
from sweeps.questions.advise.question import STORE_FORWARD, Input
from sweeps.study.leads import Win, winner

# Numbers of a use that may be moved, where they are others than those of a cell.
USE_QUANTITIES = {
    "owner_share": Quantity("owner's share, shared objects", "share"),
    "first_share": Quantity("owner's first share", "share"),
    "shared_objects": Quantity("objects that are shared", "share"),
    "acquisitions": Quantity("acquisitions, shared objects", "acquisitions"),
    "think": Quantity("work between sections", "cycles"),
}
# What may be moved, in words.
USE_AXES = AXIS_WORDS | {name: quantity.words for name, quantity in USE_QUANTITIES.items()}


@dataclass(frozen=True)
class LockCost:
    """What one lock costs beside the work that the program does."""

    label: LockLabel
    cost: float  # the mean of its seeds
    low: float  # the least of them
    high: float
    seeds: int
    # The first seed's cycles by cause, in which the work is, since the core does both at once.
    causes: Mapping[str, float]
    runs: tuple[int, ...]
    native: float | None = None  # the same on the host, if asked
    # The same with the cheapest and the dearest cancellation that the machine leaves open.
    cancelling: tuple[float, float] | None = None


@dataclass(frozen=True)
class Change:
    """From this value of an axis on, another lock is the cheapest."""

    lock: LockLabel
    value: float


@dataclass(frozen=True)
class AxisAnswer:
    """How far one parameter may move, all else the same."""

    axis: str
    unit: str
    now: float
    low: float  # the ends of what was searched
    high: float
    below: Change | None  # None: nothing changes down to `low`
    above: Change | None


@dataclass(frozen=True)
class Between:
    """What work lies between two sections, in cycles, and what that decides: with none, `cheapest`
    leads `other`, the next that it does not tie with, by `lead`; with `tie_from` and more it does
    not. None where it was not looked for, or there is no such lock or amount."""

    work: float  # the mean
    known: str
    source: str
    amounts: Mapping[int, float]  # with the shares of acquisitions that have them
    clock_mhz: float
    cheapest: LockLabel | None = None
    other: LockLabel | None = None
    lead: float | None = None
    tie_from: float | None = None
    searched_to: float | None = None

    def ns(self, cycles: float) -> float:
        """Return cycles in nanoseconds."""
        return cycles * 1e3 / self.clock_mhz


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
    """What the locks cost, with all waiting, where all threads want one object, as a `share` of the
    acquisitions does; in no other cost."""

    share: float
    costs: Mapping[LockLabel, float]


@dataclass(frozen=True)
class Share:
    """What a lock takes of a program's CPU time, in which it does its own work, too: cycles a
    second, the share of the time, and their intervals as far as the engine's error is known."""

    cycles: float
    low: float | None
    high: float | None
    share: float
    share_low: float | None
    share_high: float | None


@dataclass(frozen=True)
class OfProgram:
    """What the locks cost the program that was recorded."""

    per_second: float  # acquisitions of its CPU time that find the lock free
    plain: bool  # that time is known from a run without recording
    recording: tuple[float, float]  # else the least and the greatest share taken off for recording
    runtime: str  # the lock in whose place they stand
    costs: Mapping[LockLabel, Share]


@dataclass(frozen=True)
class Advice:
    """The whole answer. Leads are of the whole pair, the program's work too, since the error is
    known for whole pairs alone."""

    setting: Mapping[str, object]
    between: Between
    locks: tuple[LockCost, ...]
    tie: float  # the share of a lead below which it is a tie
    axes: tuple[AxisAnswer, ...]
    inputs: tuple[Input, ...]  # what it rests on
    parts: Mapping[str, float]  # shares of the acquisitions by what they do, in words
    work: float  # cycles a pair that the program itself takes, which are in no cost
    error: EngineError | None  # of costs of this kind; None: nothing like them was compared
    limits: Mapping[LockLabel, str]  # what locks that cannot replace all others cannot do
    notes: tuple[str, ...]
    flips: tuple[Flip, ...]
    contended: Contended | None  # if asked
    program: OfProgram | None  # if recorded

    @property
    def without_limits(self) -> Win | None:
        """Return the winner among the locks without limits, where the winner has some and two have
        none."""
        costs = {label: cost for label, cost in self._whole().items() if label not in self.limits}
        return winner(costs, self.tie) if self.win.lock not in costs and len(costs) > 1 else None

    @property
    def win(self) -> Win:
        """Return the cheapest lock and those that it ties with."""
        return winner(self._whole(), self.tie)

    @property
    def works(self) -> bool:
        """Tell whether the program does anything in or between its sections."""
        return bool(self.setting["critical"] or self.setting["think"])

    def _whole(self) -> dict[LockLabel, float]:
        """Return whole pairs' costs, the work too, of the locks that may be recommended."""
        return {
            lock.label: lock.cost + self.work
            for lock in self.locks
            if lock.label.fence != STORE_FORWARD
        }

    def beside_work(self, label: LockLabel) -> float:
        """Return a lock's cost beside the work."""
        return next(lock.cost for lock in self.locks if lock.label == label)
