"""The one rule of who is cheapest: how far a lock leads, when that is a tie, when it is reliable.

A lead is a share of the next lock's cost, which is the dearer one. Costs are beside the work that
the program does around its locks (sweeps/study/baseline.py). A lead is reliable from the share on
from which the engine was right nine times in ten about such locks at such work on such a core
(sweeps/accuracy/curve.py). Below that it is a tie. So is one below the least that a plan lets count
(TIE_PERCENT, if it does not say), and one over a lock that costs no more with some seed than the
cheaper one with another.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from results.errors import LockcrossError
from sweeps.accuracy.curve import Reliability
from sweeps.accuracy.errors import EngineError, error_of, kind_of, work_of
from sweeps.model import engines
from sweeps.model.cell import Cell
from sweeps.model.locks import LockLabel
from sweeps.model.machine import load_machine

TIE_PERCENT = 2.0
# The rule in words, wherever winners are shown.
WORDS = (
    "A lead is a share of the next lock's cost, without the work around the lock. It is a tie "
    f"below {TIE_PERCENT:g} %, where costs of different seeds meet, and where the engine has the "
    "order of such locks at such work right less than nine times in ten (`./lockcross validate "
    "--errors`)."
)
_NAMED = 4  # locks in a sentence

EngineErrors = Callable[[LockLabel, LockLabel], EngineError | None]
Seeds = Mapping[LockLabel, tuple[float, float]]  # the least and the greatest cost of each lock


@dataclass(frozen=True)
class Lead:
    """The lead of a cost over one that is no less. `tie`: the share that counts at least; `error`:
    the engine's for these two locks, None where nothing is known; `meet`: their costs with some
    seeds do."""

    cost: float
    next_cost: float
    tie: float = TIE_PERCENT / 100
    error: EngineError | None = None
    meet: bool = False

    @property
    def margin(self) -> float:
        """Return the lead in the unit of the costs."""
        return self.next_cost - self.cost

    @property
    def share(self) -> float:
        """Return the lead as a share of the next cost."""
        return self.margin / self.next_cost if self.margin and self.next_cost > 0 else 0.0

    @property
    def is_tie(self) -> bool:
        """Tell whether the two locks cannot be told apart."""
        return self.meet or self.share < _least(self.tie, self.error) or not self.margin

    @property
    def right(self) -> Reliability | None:
        """Return how often the engine had such leads in the order of its reference; None for a tie,
        and where that is not known."""
        return None if self.is_tie or self.error is None else self.error.reliability(self.share)


@dataclass(frozen=True)
class Win:
    """The cheapest lock and its cost, the next one, and how many cycles per pair lie between them.
    `tied`: the locks over which the lead is a tie, cheapest first; `right`: how often leads like
    that over the next one were right, None where one ties or it is not known."""

    lock: LockLabel
    cost: float
    runner_up: LockLabel
    margin: float
    tied: tuple[LockLabel, ...] = ()
    right: Reliability | None = None

    @property
    def lead(self) -> float:
        """Return the lead as a share of the next lock's cost."""
        return Lead(self.cost, self.cost + self.margin).share

    @property
    def words(self) -> str:
        """Return the verdict on the lead, the same wherever one is given."""
        if self.tied:
            named = [label.words() for label in self.tied]
            few = len(named) <= _NAMED
            return f"in a tie with {' and '.join(named) if few else f'{len(named)} others'}"
        return "reliability unknown" if self.right is None else f"reliable: {self.right.words}"


@dataclass(frozen=True)
class Rule:
    """The rule in one setting, of which `known` gives the engine's error for two locks."""

    known: EngineErrors
    tie: float = TIE_PERCENT / 100

    @classmethod
    def of(cls, setting: Cell, tie: float = TIE_PERCENT / 100) -> "Rule":
        """Return the rule in a setting. Nothing is known of another engine, where threads share
        cores, or at work of several kinds."""
        return cls(_errors(setting), tie)

    def least(self, one: LockLabel, other: LockLabel) -> float:
        """Return the least lead of a lock over another that is no tie; 1 where none is."""
        return _least(self.tie, self.known(one, other))

    def reliable_from(self, one: LockLabel, other: LockLabel) -> float | None:
        """Return the same; None where the engine's error for the two is not known."""
        return None if self.known(one, other) is None else self.least(one, other)

    def lead(
        self,
        costs: Mapping[LockLabel, float],
        one: LockLabel,
        other: LockLabel,
        seeds: Seeds | None = None,
    ) -> Lead:
        """Return the lead of the cheaper one of two locks."""
        low, high = sorted((one, other), key=lambda lock: costs[lock])
        meet = seeds is not None and seeds[low][1] >= seeds[high][0]
        return Lead(costs[low], costs[high], self.tie, self.known(one, other), meet)

    def winner(self, costs: Mapping[LockLabel, float], seeds: Seeds | None = None) -> Win:
        """Return the winner among two locks or more (cycles per pair)."""
        first, *others = sorted(costs, key=lambda lock: (costs[lock], lock))
        leads = {other: self.lead(costs, first, other, seeds) for other in others}
        second = leads[others[0]]
        tied = tuple(other for other, lead in leads.items() if lead.is_tie)
        right = None if tied else second.right
        return Win(first, costs[first], others[0], second.margin, tied, right)


def cheapest(costs: Mapping[LockLabel, float]) -> LockLabel:
    """Return the cheapest lock; of equal ones the first by name."""
    return min(costs, key=lambda lock: (costs[lock], lock))


def _least(tie: float, error: EngineError | None) -> float:
    return tie if error is None else max(tie, error.least)


def _errors(setting: Cell) -> EngineErrors:
    work = work_of(setting.workload, setting.threads)
    if setting.engine != engines.DEFAULT or setting.cores is not None or work is None:
        return lambda *_: None
    try:
        machine = load_machine(setting.machine)
    except LockcrossError:  # its description is gone, its runs are still there
        return lambda *_: None

    def known(one: LockLabel, other: LockLabel) -> EngineError:
        kinds = {kind_of(one), kind_of(other)}
        return error_of(machine.out_of_order is not None, work, kinds, title=machine.title)

    return known
