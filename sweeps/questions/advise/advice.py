"""The answer of `advise`. Costs are core cycles per acquire-release pair."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sweeps.accuracy.errors import EngineError
from sweeps.model.axes import AXIS_WORDS, Quantity
from sweeps.model.locks import LockLabel
from sweeps.questions.advise.question import STORE_FORWARD, Input
from sweeps.study.leads import EngineErrors, Rule, Win
from sweeps.study.untold import Untold

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
    """The cost of one lock beside the work that the program does."""

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
    known: Untold | None = None  # within which values, by the engine's error


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
    """The work between two sections, in cycles, and its effect: with none, `cheapest` leads
    `other`, the next that it does not tie with, by `lead`; with `tie_from` and more it does not.
    None where it was not looked for, or there is no such lock or amount."""

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
    """The costs of the locks, with all waiting, where all threads want one object, as a `share` of
    the acquisitions does; in no other cost. `verdict`: on the lead of the cheapest."""

    share: float
    costs: Mapping[LockLabel, float]
    verdict: str


@dataclass(frozen=True)
class Share:
    """A lock's part of a program's CPU time, in which it does its own work, too: cycles a second,
    the share of the time, and their intervals as far as the engine's error is known."""

    cycles: float
    low: float | None
    high: float | None
    share: float
    share_low: float | None
    share_high: float | None


@dataclass(frozen=True)
class Saving:
    """The saving by the cheapest lock beside another: cycles a pair, and the share of the program's
    CPU time if its rate is known. The intervals are those of differences, which are known where the
    lead is reliable."""

    lock: LockLabel
    beside: LockLabel
    today: bool  # the other is what the program has today, or a runtime ships
    cycles: float
    share: float | None
    low: float | None  # times both
    high: float | None
    lead: float
    tie: bool


@dataclass(frozen=True)
class OfProgram:
    """The costs of the locks in the program that was recorded."""

    per_second: float  # acquisitions of its CPU time that find the lock free
    plain: bool  # that time is known from a run without recording
    recording: tuple[float, float]  # else the least and the greatest share taken off for recording
    runtime: str  # the lock in whose place they stand
    costs: Mapping[LockLabel, Share]


@dataclass(frozen=True)
class Advice:
    """The whole answer. A lead is a share of the next lock's cost beside the program's work."""

    setting: Mapping[str, object]
    between: Between
    locks: tuple[LockCost, ...]
    tie: float  # the share of a lead below which it is a tie, whatever is known of the engine
    axes: tuple[AxisAnswer, ...]
    inputs: tuple[Input, ...]  # what it rests on
    parts: Mapping[str, float]  # shares of the acquisitions by what they do, in words
    work: float  # cycles a pair that the program itself takes, which are in no cost
    limits: Mapping[LockLabel, str]  # what locks that cannot replace all others cannot do
    notes: tuple[str, ...]
    flips: tuple[Flip, ...]
    contended: Contended | None  # if asked
    program: OfProgram | None  # if recorded
    known: EngineErrors = field(compare=False)  # the engine's error at what most of the cost is
    saving: Saving | None = None

    @property
    def asked(self) -> Mapping[str, int]:
        """Return the latencies that were given, in cycles."""
        asked: Mapping[str, int] = self.setting["asked"]  # type: ignore[assignment]
        return asked

    @property
    def error(self) -> EngineError | None:
        """Return the engine's error for the first two; None: nothing like them was compared."""
        return self.known(self.win.lock, self.win.runner_up)

    def interval(self, label: LockLabel) -> tuple[float, float] | None:
        """Return the interval of a lock's cost, as far as the engine's error is known."""
        error, cost = self.known(label, label), self.beside_work(label)
        return None if error is None else (error.low * cost, error.high * cost)

    @property
    def rule(self) -> Rule:
        """Return the rule of leads."""
        return Rule(self.known, self.tie)

    @property
    def seeds(self) -> Mapping[LockLabel, tuple[float, float]]:
        """Return the least and the greatest cost of each lock over its seeds."""
        return {lock.label: (lock.low, lock.high) for lock in self.locks}

    @property
    def without_limits(self) -> Win | None:
        """Return the winner among the locks without limits, where the winner has some and two have
        none."""
        costs = {label: cost for label, cost in self._sound().items() if label not in self.limits}
        if self.win.lock in costs or len(costs) < 2:
            return None
        return self.rule.winner(costs, self.seeds)

    @property
    def win(self) -> Win:
        """Return the cheapest lock and those that it ties with."""
        return self.rule.winner(self._sound(), self.seeds)

    @property
    def works(self) -> bool:
        """Tell whether the program does anything in or between its sections."""
        return bool(self.setting["critical"] or self.setting["think"])

    def lead_over(self, label: LockLabel) -> float:
        """Return the lead of the cheapest lock as a share of another's cost."""
        cost = self.beside_work(label)
        return 1 - self.beside_work(self.win.lock) / cost if cost else 0.0

    def _sound(self) -> dict[LockLabel, float]:
        """Return the costs of the locks that may be recommended."""
        return {lock.label: lock.cost for lock in self.locks if lock.label.fence != STORE_FORWARD}

    def beside_work(self, label: LockLabel) -> float:
        """Return a lock's cost beside the work."""
        return next(lock.cost for lock in self.locks if lock.label == label)
