"""How far one number of a question may move until another lock is the cheapest."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

from results.errors import LockcrossError
from sweeps.model.axes import LATENCIES, QUANTITIES
from sweeps.model.cell import NO_LOCK
from sweeps.model.locks import LockLabel, load_locks
from sweeps.questions.advise.advice import USE_QUANTITIES, AxisAnswer, Change
from sweeps.questions.advise.mixture import Scenario
from sweeps.questions.advise.question import Question
from sweeps.questions.advise.use import ACQUISITION, SHARE, STEPS
from sweeps.study.crossings import Crossover, Point, find_all, search
from sweeps.study.leads import Rule
from sweeps.study.lines import value_of
from sweeps.study.untold import Untold, untold

_LATENCY_VALUES = (0, 300)
_CANCEL_VALUES, _CANCEL_TOLERANCE = (0, 100_000), 20
_SHARES = (0.5, 0.7, 0.9, 0.95, 0.99, 0.999)
_SHARED = (0.0001, 0.001, 0.01, 0.1, 1.0)
_TIMES = (0.25, 4, 16)  # the acquisitions now
_THINK = (0, 100, 1_000)
_THREADS = (2, 4, 8)
_PROBES = 8  # between two values of an axis, at whether uses there can be run

Evaluate = Callable[[Sequence[Scenario]], Sequence[Point]]


@dataclass(frozen=True)
class Axis:
    """A latency or a number of the use that is moved through a scenario. Its values, in steps, are
    those that a search begins with, the present one among them."""

    name: str
    scenario: Scenario
    values: tuple[int, ...]
    tolerance: int
    cut: bool = False  # it cannot be run as far as it was to be searched

    @property
    def now(self) -> int:
        """Where the scenario stands."""
        return _now(self.scenario, self.name)

    @property
    def unit(self) -> str:
        """Return the unit of the values as shown."""
        return (USE_QUANTITIES.get(self.name) or QUANTITIES[self.name]).unit

    def at(self, label: str, x: int) -> Scenario:
        """Return the scenario of a lock at a value."""
        return self.scenario.moved(self.name, x).with_lock(label)

    def can_be_run(self, x: int) -> bool:
        """Return whether the use can be run at a value."""
        try:
            self.at(NO_LOCK, x).check()
        except LockcrossError:
            return False
        return True


def axes_of(question: Question, scenario: Scenario) -> list[Axis]:
    """Return the axes to search: latencies, numbers that bear on objects that change hands, work
    between sections; each with the range within which an assumption lies."""
    axes = []
    for name, values, tolerance in _begin_with(question, scenario):
        ends = [
            round(end * STEPS.get(name, 1))
            for entry in question.inputs
            for end in (entry.low, entry.high)
            if entry.name == name and end is not None
        ]
        if name not in LATENCIES and values:
            ends = [min(max(x, min(values)), max(values)) for x in ends]
        begin = {*values, *ends, _now(scenario, name)}
        axis = Axis(name, scenario, tuple(sorted(begin)), tolerance)
        axes.append(axis if name in LATENCIES else _that_can_be_run(axis))
    return axes


def _begin_with(question: Question, scenario: Scenario) -> Iterator[tuple[str, list[int], int]]:
    """Yield each axis with values and the tolerance, in its steps."""
    use = scenario.use
    for name in question.latencies:
        if name in ("cancel_latency", "membarrier_latency"):
            yield name, list(_CANCEL_VALUES), _CANCEL_TOLERANCE
        else:
            yield name, list(_LATENCY_VALUES), 1
    if use.shared_objects:
        life, length = (int(x * ACQUISITION) for x in (use.acquisitions, use.run_length))
        owner, others, step = int(use.owner_share * SHARE), int(use.foreign), SHARE // 1000
        # Others take a shared object at least once.
        most = SHARE - max(int(SHARE / use.acquisitions), step)
        least = int((use.first_share or 0) * SHARE)
        shares = [x for share in _SHARES if least <= (x := round(share * SHARE)) <= most]
        lives = [x for times in _TIMES if (x := round(life * times)) * others >= life]
        lengths = {ACQUISITION, length // 2, 4 * length, others * ACQUISITION}
        limits = [load_locks()[label.lock].threads for label in question.labels]
        threads = min(limit or _THREADS[-1] for limit in limits)
        yield "shared_objects", [round(x * SHARE) for x in _SHARED], SHARE // 100_000
        yield "acquisitions", lives, max(life // 50, 1)
        yield "owner_share", shares, step
        yield "first_share", [owner // 100, owner // 2, owner], step
        yield "run_length", [x for x in lengths if ACQUISITION <= x <= others * ACQUISITION], 500
        yield "threads", [n for n in _THREADS if n <= threads], 1
    yield "think", list(_THINK), 1


def _now(scenario: Scenario, name: str) -> int:
    """Return where a scenario stands on an axis, in its steps."""
    if name in LATENCIES:
        return int(value_of(scenario.base, name))
    value: Fraction = getattr(scenario.use, "before_others" if name == "first_share" else name)
    return round(value * STEPS.get(name, 1))


def _that_can_be_run(axis: Axis) -> Axis:
    """Return the part of an axis, around where the use stands, in which every use can be run: a
    search may ask for any value. It ends where the first cannot, to the tolerance."""
    now, cut = axis.now, False
    if not axis.can_be_run(now):
        return replace(axis, values=(now,), cut=True)
    kept = {now}
    for values in (sorted(axis.values), sorted(axis.values, reverse=True)):
        last = now
        for x in values[values.index(now) + 1 :]:
            probes = [last + (x - last) * n // _PROBES for n in range(1, _PROBES + 1)]
            beyond = next((n for n, at in enumerate(probes) if not axis.can_be_run(at)), None)
            if beyond is None:
                last = x
                kept.add(x)
                continue
            low, high = (probes[beyond - 1] if beyond else last), probes[beyond]
            while abs(high - low) > axis.tolerance:
                middle = (low + high) // 2
                low, high = (middle, high) if axis.can_be_run(middle) else (low, middle)
            kept.add(low)
            cut = True
            break
    return replace(axis, values=tuple(sorted(kept)), cut=cut)


def find_changes(
    axes: Sequence[Axis],
    best: LockLabel,
    others: Sequence[LockLabel],
    evaluate: Evaluate,
    shown: Callable[[str, float], float],
    rule: Rule,
    work: float,
) -> list[AxisAnswer]:
    """Search along each axis for where the best lock and each other cost the same. `shown` turns a
    value of an axis, in steps, into the one that is shown; `rule` judges costs beside `work`, which
    all of them have."""

    by_name = {axis.name: axis for axis in axes}

    def costs(wanted: Sequence[tuple[tuple[str, LockLabel], str, Fraction]]) -> Sequence[Point]:
        return evaluate([by_name[name].at(label, int(x)) for (name, _), label, x in wanted])

    searches = {
        (axis.name, other): search(best, other, axis.values, axis.tolerance)
        for axis, other in product(axes, others)
    }
    found = find_all(costs, searches)
    answers = []
    for axis in axes:
        of_axis = [found[axis.name, other] for other in others]
        # Between two numbers of threads lies none.
        changes = nearest(of_axis, best, axis.now, tried=axis.name == "threads")
        below, above = (
            change
            and Change(
                change.lock,
                shown(axis.name, change.value),
                _known(axis, change, of_axis[others.index(change.lock)], best, shown, rule, work),
            )
            for change in changes
        )
        now, low, high = (shown(axis.name, x) for x in (axis.now, axis.values[0], axis.values[-1]))
        answers.append(AxisAnswer(axis.name, axis.unit, now, low, high, below, above))
    return answers


def _known(
    axis: Axis,
    change: Change,
    found: Crossover,
    best: LockLabel,
    shown: Callable[[str, float], float],
    rule: Rule,
    work: float,
) -> Untold | None:
    """Return within which values a change lies, by the engine's error. Of threads none lie between
    two, and with other work the costs have another part of it."""
    if axis.name in ("threads", "think"):
        return None
    costs: dict[str, dict[float, float]] = {best: {}, change.lock: {}}
    for (label, x), point in found.points.items():
        costs[label][float(x)] = float(point.cost) - work
    known = untold(
        costs[best], costs[change.lock], change.value, rule.reliable_from(best, change.lock)
    )
    if known is None:
        return None
    return Untold(*(None if x is None else shown(axis.name, x) for x in (known.low, known.high)))


def tie_from(
    axis: Axis, best: LockLabel, other: LockLabel, tie: float, evaluate: Evaluate
) -> float | None:
    """Return from which value of an axis on the best lock no longer leads another by more than a
    tie, in steps; None: it leads throughout."""

    def costs(wanted: Sequence[tuple[str, str, Fraction]]) -> Sequence[Point]:
        found = evaluate([axis.at(label, int(x)) for _, label, x in wanted])
        left = 1 - Fraction(tie)  # of the other's cost, which a tie makes the same as the best's
        return [
            replace(point, cost=point.cost * left) if label == other else point
            for (_, label, _), point in zip(wanted, found, strict=True)
        ]

    crossover = find_all(costs, {"tie": search(best, other, axis.values, axis.tolerance)})["tie"]
    ends = (float(one.value) for one in crossover.crossings if one.below == best)
    return next(ends, None)


def nearest(
    searches: Sequence[Crossover], best: LockLabel, now: float, tried: bool = False
) -> tuple[Change | None, Change | None]:
    """Return the first value below `now`, and the first above it, at which another lock becomes
    cheaper than the best, by searches between the best and each other lock. `tried`: only values of
    the search itself count."""
    below: list[Change] = []
    above: list[Change] = []
    for found in searches:
        other = LockLabel(found.lock_b if found.lock_a == best else found.lock_a)
        for crossing in found.crossings:
            # Equal here: it changes here.
            if crossing.below == best and crossing.high >= now:
                value = crossing.high if tried else crossing.value
                above.append(Change(other, max(float(value), now)))
            elif crossing.below != best and crossing.low <= now:
                value = crossing.low if tried else crossing.value
                below.append(Change(other, min(float(value), now)))
    return (
        max(below, key=lambda change: change.value, default=None),
        min(above, key=lambda change: change.value, default=None),
    )
