"""The runs that a use of locks is made of, and what part of its acquisitions each stands for.

A use is a cell that is never run itself: its workload is USE, its parameters the keys of
`use.Settled`. Its cost is the sum of those of its strata, each times its weight: objects that stay
with one thread, and objects that change hands. Numbers that are not whole are met by two strata,
one with less and one with more, never by another number. Objects that live longer than can be run
are met by their beginning, and by what each further acquisition adds.
"""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from results.errors import LockcrossError
from sweeps.model.cell import Cell
from sweeps.model.workloads import with_defaults
from sweeps.questions.advise.use import LIVES, SHARES
from sweeps.search.lines import parts

USE = "use"
_LONG = 10_000  # acquisitions by one thread, behind which each costs what the last did
_MOST_PAIRS = 40_000  # of a run: a fraction of a second
_FEWEST_PAIRS = 3_200  # as on the winner map
_MOST_OBJECTS = 512
_LONGER = 1.05  # times what can be run: what is run where it cannot be taken apart
_MOST_TURNS = 100  # of an object, behind which each costs what the last did
_ROUNDED = 1e-2  # of all acquisitions: what whole numbers of turns and returns may leave
_MOST_DELAY = 20_000_000  # cycles of work in a run
_FEWEST_LONG = 200  # acquisitions by one thread that are run, however much work lies between them


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
    turns: int
    run_length: int
    after: int

    @property
    def pairs(self) -> int:
        return self.first + self.turns * self.run_length + self.after


def strata(use: Cell) -> list[Stratum]:
    """The strata of a use, whose weights are 1 in all. Raises LockcrossError for what cannot be
    run."""
    keys = {name: int(value) for name, value in use.parameters.items()}
    lives = _Lives(use, keys)
    found: dict[tuple[object, ...], Stratum] = {}
    for one in (*lives.local(), *lives.shared()):
        key = (one.cell.workload, *sorted(one.cell.parameters.items()))
        weight = found[key].weight if key in found else Fraction(0)
        found[key] = replace(one, weight=weight + one.weight)
    whole = sum((one.weight for one in found.values()), Fraction(0))
    if abs(whole - 1) > _ROUNDED:
        raise LockcrossError(
            f"whole acquisitions would make {float(whole):.4g} times as many as are asked for: an "
            "object's owner and the others take it once at least"
        )
    return [one for one in found.values() if one.weight]


class _Lives:
    """What becomes of the objects of a use."""

    def __init__(self, use: Cell, keys: Mapping[str, int]) -> None:
        self._use = use
        self._keys = keys
        self._work = {name: keys[name] for name in ("critical", "think")}
        # With much work between them fewer acquisitions are run.
        work = max(sum(self._work.values()), 1)
        self._long = min(_LONG, max(_MOST_DELAY // work // use.threads, _FEWEST_LONG))
        share = Fraction(keys["shared_objects"], SHARES)
        self._life = Fraction(keys["acquisitions"], LIVES)  # of a shared object
        self._local = Fraction(keys["local_acquisitions"], LIVES)
        # Acquisitions of all objects for each that is shared, and the share of the shared ones.
        each = self._life + (1 / share - 1) * self._local if share else Fraction(0)
        self._shared = self._life / each if share else Fraction(0)

    def local(self) -> Iterator[Stratum]:
        """Objects that no other thread takes."""
        weight = 1 - self._shared
        words = "objects that stay with one thread"
        if not weight:
            return
        for count, part in _whole(self._local):
            share = part * count / self._local  # of the acquisitions
            most = self._long
            if count > most:
                yield from self._steady(weight * share * Fraction(count - most, count), words)
                share *= Fraction(most, count)
            yield Stratum(self._run(_Life(min(count, most), 0, 1, 0)), weight * share, words)

    def shared(self) -> Iterator[Stratum]:
        """Objects that change hands."""
        if not self._shared:
            return
        words = "objects that change hands"
        if self._keys["on_map"]:
            yield Stratum(self._as_on_the_map(), self._shared, words)
            return
        for life, part in self._shared_lives():
            each = self._shared * part / self._life  # for each acquisition of such an object
            yield from self._beginning(life, each, words)

    def _as_on_the_map(self) -> Cell:
        """The run of workload lock_sequence that the main job's tables have: where nothing was said
        of the use (`on_map`)."""
        keys = self._keys
        length = keys["run_length"] // LIVES
        runs = int(self._life / length)
        whole = parts("lock_sequence", "owner_share")
        parameters = {
            "objects": self._objects(runs * length), "runs": runs, "run_length": length,
            "owner_share": keys["owner_share"] * whole // SHARES / whole, **self._work,
        }  # fmt: skip
        return replace(
            self._use,
            workload="lock_sequence",
            parameters=with_defaults("lock_sequence", parameters),
        )

    def _shared_lives(self) -> Iterator[tuple[_Life, Fraction]]:
        """The lives of shared objects in whole numbers, and the share of the objects that have
        each."""
        keys, life = self._keys, self._life
        foreign = life * (SHARES - keys["owner_share"]) / SHARES
        for (run, count, of_these), (own, share) in itertools.product(
            _turns(foreign, Fraction(keys["run_length"], LIVES)), _whole(life - foreign)
        ):
            first = Fraction(keys["first_share"], SHARES) * life
            if keys["first_share"] < 0:
                first = Fraction(own, count)
            begin = min(max(round(first), 1), own)
            yield _Life(begin, count, run, own - begin), of_these * share

    def _beginning(self, life: _Life, each: Fraction, words: str) -> Iterator[Stratum]:
        """A life, or as much of it as can be run, and what each further acquisition adds. `each`:
        the weight of an acquisition."""
        most = self._long
        if life.pairs > 2 * most and life.first > most:
            yield from self._steady(each * (life.first - most), words)
            life = replace(life, first=most)
        turn = Fraction(life.run_length * life.turns + life.after, max(life.turns, 1))
        few = min(life.turns // 2, _MOST_TURNS, int(most / max(turn, Fraction(1))))
        # With whole numbers a life may be a little longer than the one that was asked for.
        if life.pairs <= 2 * most or (few < 1 and life.pairs <= 2 * most * _LONGER):
            yield Stratum(self._run(life), each * life.pairs, words)
            return
        if few < 1:
            raise LockcrossError(
                f"between two changes of hands lie {float(turn):,.0f} acquisitions: too many to "
                f"run; {most:,} are the most (--run-length, --acquisitions, --owner-share, --think)"
            )
        short = replace(life, turns=few, after=round(life.after * Fraction(few, life.turns)))
        long = replace(life, turns=2 * few, after=round(life.after * Fraction(2 * few, life.turns)))
        more = Fraction(life.turns - few, few)
        yield Stratum(self._run(long), each * long.pairs * more, words)
        yield Stratum(self._run(short), each * short.pairs * (1 - more), words)

    def _steady(self, weight: Fraction, words: str) -> Iterator[Stratum]:
        """Acquisitions by an owner who has made many."""
        long, short = _Life(self._long, 0, 1, 0), _Life(self._long // 2, 0, 1, 0)
        yield Stratum(self._run(long), 2 * weight, words)
        yield Stratum(self._run(short), -weight, words)

    def _run(self, life: _Life) -> Cell:
        parameters = {
            "objects": self._objects(life.pairs), "first": life.first, "turns": life.turns,
            "run_length": life.run_length, "after": life.after,
            "recursive": self._keys["nested"] / parts("lock_use", "recursive"), **self._work,
        }  # fmt: skip
        return replace(
            self._use, workload="lock_use", parameters=with_defaults("lock_use", parameters)
        )

    def _objects(self, pairs: int) -> int:
        """How many objects of so many acquisitions each, a multiple of the threads: as many as on
        the winner map, or more where they have few."""
        threads = self._use.threads
        work = pairs * max(sum(self._work.values()), 1)
        wanted = min(max(_FEWEST_PAIRS // pairs, 8), _MOST_OBJECTS, max(_MOST_PAIRS // pairs, 1),
                     max(_MOST_DELAY // work, 1))  # fmt: skip
        return -(-wanted // threads) * threads


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
