"""The one rule of who is cheapest: how far a lock leads, when that is a tie, when it is reliable.

A lead is a share of the next lock's cost, which is the dearer one. It is a tie where it is less
than a plan lets count (TIE_PERCENT, if the plan does not say), and where it is less than the error
that is known of the engine for such a core, such work and such locks. It is reliable where an error
is known, and the lead is no less.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from results.errors import LockcrossError
from sweeps.accuracy.errors import EngineError, error_of, kind_of, work_of
from sweeps.model import engines
from sweeps.model.cell import Cell
from sweeps.model.locks import LockLabel
from sweeps.model.machine import load_machine

TIE_PERCENT = 2.0


@dataclass(frozen=True)
class Lead:
    """The lead of a cost over one that is no less. `least`: the share that counts; `error`: the
    share from which on the engine is known to be right, None where nothing is known."""

    cost: float
    next_cost: float
    least: float = TIE_PERCENT / 100
    error: float | None = None

    @property
    def margin(self) -> float:
        """Return the lead in the unit of the costs."""
        return self.next_cost - self.cost

    @property
    def share(self) -> float:
        """Return the lead as a share of the next cost."""
        return self.margin / self.next_cost if self.margin else 0.0

    @property
    def is_none(self) -> bool:
        """Tell whether the two costs count as equal, whatever is known of the engine."""
        return self.share < self.least or not self.margin

    @property
    def is_tie(self) -> bool:
        """Tell whether the two locks cannot be told apart."""
        return self.is_none or (self.error is not None and self.share < self.error)

    @property
    def is_reliable(self) -> bool:
        """Tell whether the engine had nine in ten such leads in the order of its reference."""
        return self.error is not None and not self.is_tie


KnownError = Callable[[LockLabel, LockLabel], float | None]
EngineErrors = Callable[[LockLabel, LockLabel], EngineError | None]


def error_in(setting: Cell) -> KnownError:
    """Return the engine's error in a setting: a function that gives, for two locks, the least lead
    that is reliable; 1 where no lead is, None where nothing is known."""
    known = engine_errors(setting)

    def least(one: LockLabel, other: LockLabel) -> float | None:
        return None if (error := known(one, other)) is None else error.least

    return least


def engine_errors(setting: Cell) -> EngineErrors:
    """Return a function that gives, for two locks, the engine's error in a setting; None where
    nothing like them was compared: on another engine, where threads share cores, or at work of
    several kinds."""
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


@dataclass(frozen=True)
class Win:
    """The cheapest lock and its cost, the next one, and how many cycles per pair lie between them.
    `tied`: the locks over which the lead is a tie, cheapest first."""

    lock: LockLabel
    cost: float
    runner_up: LockLabel
    margin: float
    tied: tuple[LockLabel, ...] = ()

    @property
    def lead(self) -> float:
        """Return the lead as a share of the next lock's cost."""
        return Lead(self.cost, self.cost + self.margin).share


def winner(
    costs: Mapping[LockLabel, float], tie: float = 0.0, error: KnownError = lambda *_: None
) -> Win:
    """Return the winner among two locks or more (cycles per pair); of equal ones the first by name.
    `tie`: the least lead that counts; `error`: the engine's known error in the setting."""
    first, second, *others = sorted(costs, key=lambda lock: (costs[lock], lock))
    best = costs[first]
    tied = tuple(
        lock
        for lock in (second, *others)
        if Lead(best, costs[lock], tie, error(first, lock)).is_tie
    )
    return Win(first, best, second, costs[second] - best, tied)
