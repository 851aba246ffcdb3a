"""The runs that a use of locks is made of, and what part of its acquisitions each stands for.

A use is a cell that is never run itself: its workload is USE, its parameters the keys of
`use.Settled`. Its cost is the sum of those of its strata, each times its weight: objects that stay
with one thread, objects that change hands, acquisitions under contention. Numbers that are not
whole are met by two strata, one with less and one with more, never by another number. Objects that
live longer than can be run are met by their beginning, and by what each further acquisition adds.
"""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from results.errors import LockcrossError
from results.model.cell import Cell
from sweeps.experiments.questions.use import LIVES, SHARES
from sweeps.model.workloads import with_defaults

USE = "use"
_LONG = 10_000  # acquisitions by one thread, behind which each costs what the last did
_LONGEST = 20_000  # of an object, by all threads, that are run as they are
_RUNS, _RUN_LENGTH = 20, 20  # of an object that lives so long that its first does not count
_MOST_PAIRS = 40_000  # of a run: a fraction of a second
_FEWEST_PAIRS = 3_200  # as on the winner map
_MOST_OBJECTS = 512
_MOST_TURNS = 100  # of an object, behind which each costs what the last did
_MOST_DELAY = 20_000_000  # cycles of work in a run
_CONTENDED_PAIRS = 400  # of each thread
_RUNS_OF_MAP = 1_000  # of an object, as workload lock_sequence can still have them exactly
_PPM = 1_000_000


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


def strata(use: Cell, delay: float) -> list[Stratum]:
    """The strata of a use, whose weights are 1 in all. `delay`: cycles that an iteration of the
    delay loop takes. Raises LockcrossError for what cannot be run."""
    keys = {name: int(value) for name, value in use.parameters.items()}
    lives = _Lives(use, keys, delay)
    found: dict[tuple[object, ...], Stratum] = {}
    for one in (*lives.local(), *lives.shared(), *lives.contended()):
        key = (one.cell.workload, *sorted(one.cell.parameters.items()))
        weight = found[key].weight if key in found else Fraction(0)
        found[key] = replace(one, weight=weight + one.weight)
    return [one for one in found.values() if one.weight]


class _Lives:
    """What becomes of the objects of a use."""

    def __init__(self, use: Cell, keys: Mapping[str, int], delay: float) -> None:
        self._use = use
        self._keys = keys
        self._work = {name: round(keys[name] / delay) for name in ("critical", "think")}
        share = Fraction(keys["shared_objects"], SHARES)
        self._life = Fraction(keys["acquisitions"], LIVES)  # of a shared object
        local = Fraction(keys["local_acquisitions"], LIVES)
        self._local = local
        # Acquisitions of all objects for each that is shared, and the share of the shared ones.
        each = self._life + (1 / share - 1) * local if share else Fraction(0)
        self._alone = 1 - Fraction(keys["contended"], _PPM)
        self._shared = self._alone * self._life / each if share else Fraction(0)

    def local(self) -> Iterator[Stratum]:
        """Objects that no other thread takes."""
        weight = self._alone - self._shared
        words = "objects that stay with one thread"
        if not weight:
            return
        if not self._local:
            yield Stratum(self._sequence(_RUNS, _RUN_LENGTH, _PPM), weight, words)
            return
        for count, part in _whole(self._local):
            share = part * count / self._local  # of the acquisitions
            if count > _LONG:
                yield from self._steady(weight * share * Fraction(count - _LONG, count), words)
                share *= Fraction(_LONG, count)
            yield Stratum(self._run(_Life(min(count, _LONG), 0, 1, 0)), weight * share, words)

    def shared(self) -> Iterator[Stratum]:
        """Objects that change hands."""
        if not self._shared:
            return
        words = "objects that change hands"
        if (cell := self._as_on_the_map()) is not None:
            yield Stratum(cell, self._shared, words)
            return
        for life, part in self._shared_lives():
            each = self._shared * part / self._life  # for each acquisition of such an object
            yield from self._beginning(life, each, words)

    def contended(self) -> Iterator[Stratum]:
        """Acquisitions of one object that all threads want at once."""
        if self._alone == 1:
            return
        parameters = {"iterations": _CONTENDED_PAIRS, **self._work}
        cell = replace(
            self._use, workload="random_threads",
            parameters=with_defaults("random_threads", parameters),
        )  # fmt: skip
        yield Stratum(cell, 1 - self._alone, "acquisitions under contention")

    def _as_on_the_map(self) -> Cell | None:
        """The run of workload lock_sequence, which the main job's map has, where it is this use.
        Not where `on_map` is 0: along an axis all runs are of one workload."""
        keys, threads = self._keys, self._use.threads
        length = keys["run_length"]
        runs = self._life / length
        owned = runs * keys["owner_share"] / SHARES
        # Owner's shares are kept in billionths: a whole number of runs may be off by so little.
        near = round(owned)
        plain = keys["on_map"] and threads == 2 and not keys["nested"] and keys["first_share"] < 0
        whole = runs.denominator == 1 and abs(owned - near) <= runs / SHARES
        if not (plain and whole and 0 < near < runs <= _RUNS_OF_MAP and self._life <= _LONGEST):
            return None
        return self._sequence(int(runs), length, near * _PPM // int(runs))

    def _sequence(self, runs: int, length: int, share: int) -> Cell:
        parameters = {
            "objects": self._objects(runs * length), "runs": runs,
            "run_length": length, "owner_share": share, **self._work,
        }  # fmt: skip
        return replace(
            self._use,
            workload="lock_sequence",
            parameters=with_defaults("lock_sequence", parameters),
        )

    def _shared_lives(self) -> Iterator[tuple[_Life, Fraction]]:
        """The lives of shared objects in whole numbers, and the share of the objects that have
        each."""
        keys = self._keys
        length, life = keys["run_length"], self._life
        foreign = life * (SHARES - keys["owner_share"]) / SHARES
        turns = max(foreign / length, Fraction(1))
        if foreign < length:  # a run is no longer than all that others do with an object
            length = max(round(foreign), 1)
            turns = max(foreign / length, Fraction(1))
        own = life - foreign
        for (count, part), (mine, share) in itertools.product(_whole(turns), _whole(own)):
            first = Fraction(keys["first_share"], SHARES) * life
            if keys["first_share"] < 0:
                first = Fraction(mine, count)
            begin = min(max(round(first), 1), mine)
            yield _Life(begin, count, length, mine - begin), part * share

    def _beginning(self, life: _Life, each: Fraction, words: str) -> Iterator[Stratum]:
        """A life, or as much of it as can be run, and what each further acquisition adds. `each`:
        the weight of an acquisition."""
        if life.pairs > _LONGEST and life.first > _LONG:
            yield from self._steady(each * (life.first - _LONG), words)
            life = replace(life, first=_LONG)
        if life.pairs <= _LONGEST:
            yield Stratum(self._run(life), each * life.pairs, words)
            return
        turn = Fraction(life.run_length * life.turns + life.after, life.turns)
        few = min(life.turns // 2, _MOST_TURNS, int(_LONG / turn))
        if few < 1:
            raise LockcrossError(
                f"between two changes of hands lie {float(turn):,.0f} acquisitions: too many to "
                f"run; {_LONG:,} are the most (--run-length, --acquisitions, --owner-share)"
            )
        short = replace(life, turns=few, after=round(life.after * Fraction(few, life.turns)))
        long = replace(life, turns=2 * few, after=round(life.after * Fraction(2 * few, life.turns)))
        more = Fraction(life.turns - few, few)
        yield Stratum(self._run(long), each * long.pairs * more, words)
        yield Stratum(self._run(short), each * short.pairs * (1 - more), words)

    def _steady(self, weight: Fraction, words: str) -> Iterator[Stratum]:
        """Acquisitions by an owner who has made many."""
        long, short = _Life(_LONG, 0, 1, 0), _Life(_LONG // 2, 0, 1, 0)
        yield Stratum(self._run(long), 2 * weight, words)
        yield Stratum(self._run(short), -weight, words)

    def _run(self, life: _Life) -> Cell:
        parameters = {
            "objects": self._objects(life.pairs), "first": life.first, "turns": life.turns,
            "run_length": life.run_length, "after": life.after, "recursive": self._keys["nested"],
            **self._work,
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


def _whole(value: Fraction) -> list[tuple[int, Fraction]]:
    """The two whole numbers around a value, and the shares with which they make it; 1 at least."""
    low = max(int(value), 1)
    part = max(value - low, Fraction(0))
    return [(low, 1 - part), (low + 1, part)] if part else [(low, Fraction(1))]
