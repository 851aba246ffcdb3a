"""The runs that a use of locks is made of, and what part of its acquisitions each stands for.

A use is a cell that is never run itself: its workload is USE, its parameters the keys of
`question.Settled`. Its cost is the sum of those of its strata, each times its weight: objects that
stay with one thread, and objects that change hands. Numbers that are not whole are met by two
strata, one with less and one with more, never by another number. Objects that live longer than can
be run are met by their beginning, and by what each further acquisition adds.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from results.errors import LockcrossError
from sweeps.model.cell import Cell
from sweeps.model.workloads import with_defaults
from sweeps.search.lines import parts

USE = "use"
SHARES = 1_000_000_000  # parts of a share: one object in a million is still exact to a thousandth
LIVES = 1_000  # parts of an acquisition, in mean numbers of them
PARTS = {  # what a use has as whole numbers: so many are 1
    "nested": 1_000_000,
    "first_share": SHARES,
    "local_acquisitions": LIVES,
    "shared_objects": SHARES,
    "acquisitions": LIVES,
    "owner_share": SHARES,
    "run_length": LIVES,
}
_LONG = 10_000  # acquisitions by one thread, behind which each costs what the last did
_MOST_PAIRS = 40_000  # of a run: a fraction of a second
_FEWEST_PAIRS = 3_200  # as on the winner map
_MOST_OBJECTS = 512
_LONGER = 1.05  # times what can be run: what is run where it cannot be taken apart
_MOST_TURNS = 100  # of an object, behind which each costs what the last did
_PARTS_OF_TURN = 4  # of what can be run: others' acquisitions of a turn, and the owner's
_ROUNDED = 1e-2  # of all acquisitions: what whole numbers of turns and returns may leave
_MOST_DELAY = 20_000_000  # cycles of work in a run
_FEWEST_LONG = 200  # acquisitions by one thread that are run, however much work lies between them

_Weighted = Iterator[tuple[Cell, Fraction]]  # runs with their weights


@dataclass(frozen=True)
class Stratum:
    """A run, the share of the acquisitions that it stands for, and what that is in words."""

    cell: Cell
    weight: Fraction
    words: str


@dataclass(frozen=True)
class _Life:
    """The life of an object: the owner's first acquisitions, others' turns, the owner's rest."""

    first: int
    turns: int = 0
    run_length: int = 1
    after: int = 0

    @property
    def pairs(self) -> int:
        return self.first + self.turns * self.run_length + self.after


def strata(use: Cell) -> list[Stratum]:
    """The strata of a use, whose weights are 1 in all. Raises LockcrossError for what cannot be
    run."""
    lives = _Lives(use)
    by_cell: dict[Cell, Stratum] = {}
    for words, weighted in (
        ("objects that stay with one thread", lives.local()),
        ("objects that change hands", lives.shared()),
    ):
        for cell, weight in weighted:
            known = by_cell.get(cell, Stratum(cell, Fraction(0), words))
            by_cell[cell] = replace(known, weight=known.weight + weight)
    whole = sum((stratum.weight for stratum in by_cell.values()), Fraction(0))
    if abs(whole - 1) > _ROUNDED:
        raise LockcrossError(
            f"whole acquisitions would make {float(whole):.4g} times as many as are asked for: an "
            "object's owner and the others take it once at least"
        )
    return [stratum for stratum in by_cell.values() if stratum.weight]


class _Lives:
    """What becomes of the objects of a use."""

    def __init__(self, use: Cell) -> None:
        self._use = use
        keys = {name: int(value) for name, value in use.parameters.items()}
        self._on_map = bool(keys["on_map"])
        self._work = {name: keys[name] for name in ("critical", "think")}
        exact = {name: Fraction(keys[name], whole) for name, whole in PARTS.items()}
        self._exact = exact
        # With much work between them fewer acquisitions are run.
        self._cycles = max(sum(self._work.values()), 1)
        self._long = min(_LONG, max(_MOST_DELAY // self._cycles // use.threads, _FEWEST_LONG))
        self._life, self._local = exact["acquisitions"], exact["local_acquisitions"]
        self._shared = Fraction(0)  # the share of the shared objects' acquisitions
        if share := exact["shared_objects"]:
            # Acquisitions of all objects for each that is shared.
            self._shared = self._life / (self._life + (1 / share - 1) * self._local)

    def local(self) -> _Weighted:
        """Objects that no other thread takes."""
        weight, most = 1 - self._shared, self._long
        for count, part in _whole(self._local) if weight else ():
            share = part * count / self._local  # of the acquisitions
            if count > most:
                yield from self._steady(weight * share * Fraction(count - most, count))
                share *= Fraction(most, count)
            yield self._run(_Life(min(count, most))), weight * share

    def shared(self) -> _Weighted:
        """Objects that change hands: their lives in whole numbers, each with the share of the
        objects that have it."""
        if not self._shared:
            return
        if self._on_map:
            yield self._as_on_the_map(), self._shared
            return
        first_share = self._exact["first_share"]
        foreign = self._life * (1 - self._exact["owner_share"])
        for (run, count, of_these), (own, share) in itertools.product(
            _turns(foreign, self._exact["run_length"]), _whole(self._life - foreign)
        ):
            first = Fraction(own, count) if first_share < 0 else first_share * self._life
            begin = min(max(round(first), 1), own)
            life = _Life(begin, count, run, own - begin)
            yield from self._beginning(life, self._shared * of_these * share / self._life)

    def _as_on_the_map(self) -> Cell:
        """The run of workload lock_sequence that the main job's tables have: where nothing was said
        of the use (`on_map`)."""
        length = int(self._exact["run_length"])
        runs = int(self._life / length)
        whole = parts("lock_sequence", "owner_share")
        parameters = {
            "objects": self._objects(runs * length),
            "runs": runs,
            "run_length": length,
            "owner_share": int(self._exact["owner_share"] * whole) / whole,
            **self._work,
        }
        return self._cell("lock_sequence", parameters)

    def _beginning(self, life: _Life, each: Fraction) -> _Weighted:
        """A life, or as much of it as can be run, and what each further acquisition adds. `each`:
        the weight of an acquisition."""
        most = self._long
        if life.pairs > 2 * most and life.first > most:
            yield from self._steady(each * (life.first - most))
            life = replace(life, first=most)
        turn = Fraction(life.run_length * life.turns + life.after, max(life.turns, 1))
        few = min(life.turns // 2, _MOST_TURNS, int(most / max(turn, Fraction(1))))
        # With whole numbers a life may be a little longer than the one that was asked for.
        if life.pairs <= 2 * most or (few < 1 and life.pairs <= 2 * most * _LONGER):
            yield self._run(life), each * life.pairs
            return
        if few < 1:
            yield from self._long_turns(life, each)
            return
        short, long = (
            replace(life, turns=turns, after=round(life.after * Fraction(turns, life.turns)))
            for turns in (few, 2 * few)
        )
        more = Fraction(life.turns - few, few)
        yield self._run(long), each * long.pairs * more
        yield self._run(short), each * short.pairs * (1 - more)

    def _long_turns(self, life: _Life, each: Fraction) -> _Weighted:
        """A life with more acquisitions between two changes of hands than can be run: fewer of
        them, and what each further one adds, by others and by the owner behind them."""
        most = max(self._long // _PARTS_OF_TURN, 1)
        turn = replace(
            life,
            first=min(life.first, most),
            turns=1,
            run_length=min(life.run_length, most),
            after=min(life.after // life.turns, most),
        )
        after = min(life.after, most * life.turns)
        for less, cut in (
            (life.turns * (life.run_length - turn.run_length), {"run_length": most}),
            (life.after - after, {"after": most}),
        ):
            if less:
                long = replace(turn, **{name: 2 * length for name, length in cut.items()})
                short = replace(turn, **cut)
                yield self._run(long), each * less * Fraction(long.pairs, most)
                yield self._run(short), -each * less * Fraction(short.pairs, most)
        yield from self._beginning(replace(life, run_length=turn.run_length, after=after), each)

    def _steady(self, weight: Fraction) -> _Weighted:
        """Acquisitions by an owner who has made many."""
        yield self._run(_Life(self._long)), 2 * weight
        yield self._run(_Life(self._long // 2)), -weight

    def _run(self, life: _Life) -> Cell:
        parameters = {
            "objects": self._objects(life.pairs),
            **vars(life),
            "recursive": float(self._exact["nested"]),
            **self._work,
        }
        return self._cell("lock_use", parameters)

    def _cell(self, workload: str, parameters: dict[str, float]) -> Cell:
        return replace(self._use, workload=workload, parameters=with_defaults(workload, parameters))

    def _objects(self, pairs: int) -> int:
        """How many objects of so many acquisitions each, a multiple of the threads: as many as on
        the winner map, or more where they have few."""
        wanted = min(
            max(_FEWEST_PAIRS // pairs, 8),
            _MOST_OBJECTS,
            max(_MOST_PAIRS // pairs, 1),
            max(_MOST_DELAY // (pairs * self._cycles), 1),
        )
        return -(-wanted // self._use.threads) * self._use.threads


def _turns(foreign: Fraction, length: Fraction) -> Iterator[tuple[int, int, Fraction]]:
    """Lengths of others' runs and how many there are, and the shares of objects that have them, so
    that they make `foreign` acquisitions in runs of a mean length. A run is no longer than all."""
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
    """The two whole numbers around a value, and the shares with which they make it; 1 at least."""
    low = max(int(value), 1)
    part = max(value - low, Fraction(0))
    return [(low, 1 - part), (low + 1, part)] if part else [(low, Fraction(1))]
