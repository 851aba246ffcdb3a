"""The runs that stand for a use of locks, each weighted by its part of the acquisitions.

A use's cost is the sum of its runs', each times its weight: objects that stay with one thread, and
objects that change hands, both with each amount of work between sections. Numbers that are not
whole are met by two runs, one with less and one with more, never by another number. Objects that
live longer than can be run are met by their beginning, and by the cost that each further
acquisition adds.
"""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from results.errors import LockcrossError
from sweeps.model.axes import LATENCIES
from sweeps.model.cell import Cell
from sweeps.model.workloads import Value, with_defaults
from sweeps.questions.advise.use import ExactUse
from sweeps.study.lines import FIRST_SEED, check_cell, moved, with_lock

_LONG = 10_000  # acquisitions by one thread, behind which each costs what the last did
_MOST_PAIRS = 40_000  # of a run: a fraction of a second
_FEWEST_PAIRS = 3_200  # as on the winner map
_MOST_OBJECTS = 512
_FEWEST_OF_CLASS = 256  # objects of a large class: half of them are more than any runtime counts
_LONGER = 1.05  # times what can be run: what is run where it cannot be taken apart
_MOST_TURNS = 100  # of an object, behind which each costs what the last did
_PARTS_OF_TURN = 4  # of what can be run: others' acquisitions of a turn, and the owner's
_ROUNDED = 1e-2  # of all acquisitions: what whole numbers of turns and returns may leave
_MOST_DELAY = 20_000_000  # cycles of work in a run
_FEWEST_LONG = 200  # acquisitions by one thread that are run, however much work lies between them
_KEPT = 4096  # mixtures: each use is asked about with every lock and seed


@dataclass(frozen=True)
class WeightedRun:
    """A run, the share of the acquisitions that it stands for, and their objects in words."""

    workload: str
    parameters: Mapping[str, Value]
    weight: Fraction
    words: str


@dataclass(frozen=True)
class Scenario:
    """A use on a processor, which is that of `base`, as are latencies, lock and seed."""

    base: Cell
    use: ExactUse

    def with_lock(self, label: str, seed: int = FIRST_SEED) -> "Scenario":
        """Return the same with a lock and a seed."""
        return replace(self, base=with_lock(self.base, label, seed))

    def moved(self, axis: str, x: int) -> "Scenario":
        """Return the same with another latency, or another number of the use, in its steps."""
        if axis in LATENCIES:
            return replace(self, base=moved(self.base, axis, x))
        return replace(self, use=self.use.moved(axis, x))

    @property
    def cells(self) -> list[Cell]:
        """Return the runs of its mixture."""
        return [
            replace(
                self.base,
                workload=run.workload,
                threads=self.use.threads,
                parameters=run.parameters,
            )
            for run in mixture(self.use)
        ]

    def check(self) -> None:
        """Raise LockcrossError for a scenario that cannot be run."""
        for cell in self.cells:
            check_cell(cell)


@lru_cache(_KEPT)
def mixture(use: ExactUse) -> tuple[WeightedRun, ...]:
    """Return the runs of a use, with weights that add up to 1. Raises LockcrossError for a use that
    cannot be run."""
    merged: dict[tuple[object, ...], WeightedRun] = {}
    for think, share in use.works or ((use.think, Fraction(1)),):
        lifetimes = _Lifetimes(replace(use, think=think))
        for words, runs in (
            ("objects that stay with one thread", lifetimes.local()),
            ("objects that change hands", lifetimes.shared()),
        ):
            for (workload, keys), weight in runs:
                parameters = with_defaults(workload, keys)
                key = workload, *parameters.values()
                known = merged.get(key, WeightedRun(workload, parameters, Fraction(0), words))
                merged[key] = replace(known, weight=known.weight + share * weight)
    total = sum((run.weight for run in merged.values()), Fraction(0))
    if abs(total - 1) > _ROUNDED:
        raise LockcrossError(
            f"whole acquisitions would make {float(total):.4g} times as many as are asked for: an "
            "object's owner and the others take it once at least"
        )
    return tuple(run for run in merged.values() if run.weight)


@dataclass(frozen=True)
class _Lifetime:
    """An object's: the owner's first acquisitions, others' turns, the owner's rest."""

    first: int
    turns: int = 0
    run_length: int = 1
    after: int = 0

    @property
    def pairs(self) -> int:
        return self.first + self.turns * self.run_length + self.after


_Run = tuple[str, dict[str, Value]]  # a workload and its keys
_Weighted = Iterator[tuple[_Run, Fraction]]


class _Lifetimes:
    """The lifetimes of a use's objects as runs."""

    def __init__(self, use: ExactUse) -> None:
        self._use = use
        # With much work between them fewer acquisitions are run.
        self._cycles = max(use.critical + use.think, 1)
        self._long = min(_LONG, max(_MOST_DELAY // self._cycles // use.threads, _FEWEST_LONG))
        self._shared = Fraction(0)  # the share of the shared objects' acquisitions
        if share := use.shared_objects:
            # Acquisitions of all objects for each that is shared.
            each = use.acquisitions + (1 / share - 1) * use.local_acquisitions
            self._shared = use.acquisitions / each

    def local(self) -> _Weighted:
        """Yield the runs of objects that no other thread takes."""
        weight, most = 1 - self._shared, self._long
        for count, part in _whole(self._use.local_acquisitions) if weight else ():
            share = part * count / self._use.local_acquisitions  # of the acquisitions
            if count > most:
                yield from self._steady(weight * share * Fraction(count - most, count))
                share *= Fraction(most, count)
            yield self._run(_Lifetime(min(count, most))), weight * share

    def shared(self) -> _Weighted:
        """Yield the runs of objects that change hands: their lifetimes in whole numbers, each with
        the share of the objects that have it."""
        use = self._use
        if not self._shared:
            return
        for (run, count, of_these), (own, share) in itertools.product(
            _turns(use.foreign, use.run_length), _whole(use.acquisitions - use.foreign)
        ):
            first = use.first_share
            first = Fraction(own, count) if first is None else first * use.acquisitions
            begin = min(max(round(first), 1), own)
            lifetime = _Lifetime(begin, count, run, own - begin)
            each = self._shared * of_these * share / use.acquisitions
            yield from self._beginning(lifetime, each)

    def _beginning(self, lifetime: _Lifetime, each: Fraction) -> _Weighted:
        """Yield a lifetime, or as much of it as can be run, and the runs for each further
        acquisition. `each`: the weight of an acquisition."""
        most = self._long
        if lifetime.pairs > 2 * most and lifetime.first > most:
            yield from self._steady(each * (lifetime.first - most))
            lifetime = replace(lifetime, first=most)
        turns, pairs = lifetime.turns, lifetime.pairs
        turn = Fraction(lifetime.run_length * turns + lifetime.after, max(turns, 1))
        few = min(turns // 2, _MOST_TURNS, int(most / max(turn, Fraction(1))))
        # With whole numbers it may be a little longer than the one that was asked for.
        if pairs <= 2 * most or (few < 1 and pairs <= 2 * most * _LONGER):
            yield from self._of_class(lifetime, each * pairs)
            return
        if few < 1:
            yield from self._long_turns(lifetime, each)
            return
        short, long = (
            replace(lifetime, turns=count, after=round(lifetime.after * Fraction(count, turns)))
            for count in (few, 2 * few)
        )
        more = Fraction(turns - few, few)
        yield from self._of_class(long, each * long.pairs * more)
        yield from self._of_class(short, each * short.pairs * (1 - more))

    def _long_turns(self, lifetime: _Lifetime, each: Fraction) -> _Weighted:
        """Yield a lifetime with more acquisitions between two changes of hands than can be run:
        fewer of them, and the runs for each further one, by others and by the owner behind them."""
        most = max(self._long // _PARTS_OF_TURN, 1)
        turn = replace(
            lifetime,
            first=min(lifetime.first, most),
            turns=1,
            run_length=min(lifetime.run_length, most),
            after=min(lifetime.after // lifetime.turns, most),
        )
        after = min(lifetime.after, most * lifetime.turns)
        for less, cut in (
            (lifetime.turns * (lifetime.run_length - turn.run_length), "run_length"),
            (lifetime.after - after, "after"),
        ):
            if less:
                long, short = (replace(turn, **{cut: times * most}) for times in (2, 1))
                yield from self._of_class(long, each * less * Fraction(long.pairs, most))
                yield from self._of_class(short, -each * less * Fraction(short.pairs, most))
        shorter = replace(lifetime, run_length=turn.run_length, after=after)
        yield from self._beginning(shorter, each)

    def _steady(self, weight: Fraction) -> _Weighted:
        """Yield acquisitions by an owner who has made many."""
        yield self._run(_Lifetime(self._long)), 2 * weight
        yield self._run(_Lifetime(self._long // 2)), -weight

    def _of_class(self, lifetime: _Lifetime, weight: Fraction) -> _Weighted:
        """Yield the run of a class's shared objects; of more than can be run the first, and the
        runs for each further one."""
        threads, usual = self._use.threads, self._objects(lifetime.pairs)
        if (wanted := self._use.class_objects) is None:
            yield self._run(lifetime), weight
            return
        # No more than there are, since a runtime's limits are numbers of objects.
        count = max(wanted // threads, 1) * threads
        half = max(usual, _FEWEST_OF_CLASS) // 2 // threads * threads
        if count <= 2 * half:
            yield self._run(lifetime, count), weight
            return
        more = Fraction(wanted - half, half)
        yield self._run(lifetime, 2 * half), weight * more * Fraction(2 * half, wanted)
        yield self._run(lifetime, half), weight * (1 - more) * Fraction(half, wanted)

    def _run(self, lifetime: _Lifetime, objects: int = 0) -> _Run:
        return "lock_use", {
            "objects": objects or self._objects(lifetime.pairs),
            **vars(lifetime),
            "recursive": float(self._use.nested),
            "critical": self._use.critical,
            "think": self._use.think,
        }

    def _objects(self, pairs: int) -> int:
        """Return how many objects of so many acquisitions each are run, a multiple of the threads:
        as many as on the winner map, or more where they have few."""
        wanted = min(
            max(_FEWEST_PAIRS // pairs, 8),
            _MOST_OBJECTS,
            max(_MOST_PAIRS // pairs, 1),
            max(_MOST_DELAY // (pairs * self._cycles), 1),
        )
        return -(-wanted // self._use.threads) * self._use.threads


def _turns(foreign: Fraction, length: Fraction) -> Iterator[tuple[int, int, Fraction]]:
    """Yield lengths of others' runs, how many there are, and the shares of objects that have them,
    so that they make `foreign` acquisitions in runs of a mean length. A run is no longer than all.
    """
    # The two whole lengths around the mean, and the shares of acquisitions with which they make it.
    low = max(int(length), 1)
    part = Fraction(1)
    if length > low:
        part = (1 / length - Fraction(1, low + 1)) / (Fraction(1, low) - Fraction(1, low + 1))
    for run, share in ((low, part), (low + 1, 1 - part)):
        if share and run >= foreign:
            yield from ((whole, 1, share * of_these) for whole, of_these in _whole(foreign))
        elif share:
            yield from ((run, n, share * of_these) for n, of_these in _whole(foreign / run))


def _whole(value: Fraction) -> list[tuple[int, Fraction]]:
    """Return the two whole numbers around a value, and the shares with which they make it; 1 at
    least."""
    low = max(int(value), 1)
    part = max(value - low, Fraction(0))
    return [(low, 1 - part), (low + 1, part)] if part else [(low, Fraction(1))]
