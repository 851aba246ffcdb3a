"""Macro-benchmarks: sequences drawn to match a program's lock statistics, and their predictions.

A program of Table 5.6 or 6.2 becomes runs of the workload lock_mix with its shares: acquisitions
by an object's first locker before any other thread's, after another's, by other threads, nested
ones. Their cost with a lock, less their cost with the nop lock, is the lock's cost of an
acquisition. After scaling most programs have less than one cancellation, and the run has none or
one: the difference from the published rate is added or subtracted, at the measured cost of a
cancellation on the same machine.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Annotated

from pydantic import Field

from sweeps.accuracy import published as paper
from sweeps.accuracy.published import Published
from sweeps.model.cell import Cell
from sweeps.model.locks import FENCE_KINDS, FULL, LockLabel, cancels
from sweeps.model.machine import load_machine
from sweeps.model.workloads import Value
from sweeps.questions.reproduce.answer import Lookup, PlannedRow, PublishedRow, cell_on, in_words
from sweeps.study.lines import parts
from sweeps.support.toml import Document

PARTS = parts("lock_mix", "owner_share")
THREADS = 2
BASE = "tasuki"
TRANSITION = 256  # objects of the run that a cancellation's cost is taken from
OBJECTS_MAX = 16384
_NOT_CHEAPER = "none: the lock is no cheaper here"


class MacroPlan(Document):
    """The table [macro] of a definition. `published` maps a lock to the prefix of the program in
    the names of stated speedups; a program is scaled to `acquisitions`. `shares`: the stated share
    of locks in a program's run time. `aside`: why each fence kind of these does not judge."""

    table: str
    locks: list[str] = Field(min_length=1)
    fences: list[str] = ["full"]
    aside: dict[str, str] = {}
    published: dict[str, str]
    acquisitions: Annotated[int, Field(ge=1000)]
    shares: dict[str, str] = {}
    base: str = BASE  # the lock whose time is saved
    few: list[str] = []  # programs with so few lock operations that their speedup means nothing


@dataclass(frozen=True)
class Statistics:
    """A program's locks, as published, in parts of all acquisitions."""

    program: str
    objects: int
    acquisitions: int
    cancellations: float
    owned: float  # by the first locker, outermost, before another thread's: reservation hits
    returned: float  # by the first locker after another thread's: hits of a permanent owner
    foreign: float  # by other threads

    @property
    def nested(self) -> float:
        """Return the rest."""
        return max(0.0, 1 - self.owned - self.returned - self.foreign)

    @property
    def rate(self) -> float:
        return self.cancellations / self.acquisitions


def programs(table: str) -> list[str]:
    return [str(row["program"]) for row in paper.table(table).rows]


def statistics(table: str, program: str) -> Statistics:
    """Return a program's row of Table 5.6 or 6.2, and the entries of Tables 5.2 and 5.3.

    The sources do not say how the acquisitions that hit no reservation part into nested ones and
    other threads'. Where Table 5.2 has the program, acquisitions outside of first repetitions are
    taken for other threads'; where not (Water, Barnes), all of them are.
    """

    def number(column: str, table: str = table) -> float:
        return float(paper.table(table).number(program, column))

    acquisitions = int(number("acquisitions"))
    if table == "K_table_5_6":
        owned, returned = number("accelerated") / 100, 0.0
        cancellations = number("cancellations") / 100 * acquisitions
        objects = number("objects_synchronized", "K_table_5_3")
    else:
        owned = number("reservation_hits") / 100
        returned = number("asymmetric_hits") / 100 - owned
        cancellations, objects = number("cancellations"), number("objects")
    foreign = 1 - owned - returned
    if program in programs("K_table_5_2"):
        first = number("first_repetitions", "K_table_5_2") / 100
        foreign = min(foreign, max(1 - first - returned, 0.0))
    foreign = max(foreign, cancellations / acquisitions)  # each cancellation is another thread's
    return Statistics(program, int(objects), acquisitions, cancellations, owned, returned, foreign)


def mix(of: Statistics, wanted: int) -> dict[str, float]:
    """Scale a program down to `wanted` acquisitions and return the parameters of lock_mix. Where
    other threads or returning owners have any of them, one object at least is shared."""
    count = min(of.acquisitions, wanted)
    objects = min(max(1, round(of.objects * count / of.acquisitions)), OBJECTS_MAX)
    shared = min(objects, round(of.rate * count))
    if shared == 0 and max(of.foreign, of.returned) * count >= 1:
        shared = 1
    owned, returned, nested = (round(PARTS * share) for share in (of.owned, of.returned, of.nested))
    if shared == 0:  # no other thread comes: its share is the owner's
        owned, returned = PARTS - nested, 0
    else:  # at least one acquisition by another thread for each
        foreign = max(PARTS - owned - returned - nested, -(-shared * PARTS // count) + 1)
        owned = PARTS - foreign - returned - nested
    objects = min(objects, count * owned // PARTS)
    return {
        "objects": objects,
        "acquisitions": count,
        "owner_share": owned / PARTS,
        "return_share": returned / PARTS,
        "recursive": nested / PARTS,
        "shared_objects": min(shared, objects),
        "owners": 1,
        "critical": 0,
        "think": 0,
    }


def rate(drawn: Mapping[str, float]) -> float:
    """Return the cancellations per acquisition of a drawn sequence: each shared object has one."""
    return drawn["shared_objects"] / drawn["acquisitions"]


def mix_cell(machine: str, label: str, drawn: Mapping[str, Value]) -> Cell:
    """Return the run of a lock label on a sequence. In lock_mix an owner waits while others have
    their turn; in the sources' programs it may run, so a cancellation is set to that cost."""
    stop = load_machine(machine).charges.number("stop_running") if cancels(label) else None
    return cell_on(machine, label, "lock_mix", drawn, threads=THREADS, cancel_latency=stop)


def transition_cell(machine: str, label: str) -> Cell:
    """Return the run that a cancellation's cost is taken from: (phase 4 - phase 5) / TRANSITION."""
    objects: dict[str, Value] = {"objects": TRANSITION, "owner": "running"}
    return cell_on(machine, label, "transition", objects, threads=THREADS)


def macro_cells(plan: MacroPlan, machine: str) -> dict[str, Cell]:
    """Return every run of a definition's [macro], by its name."""

    def labels(locks: Iterable[str]) -> list[LockLabel]:
        kinds = [*plan.fences, *plan.aside]
        return [LockLabel.of(lock, fence=kind) for kind, lock in product(kinds, locks)]

    cells = {}
    for program in programs(plan.table):
        drawn = mix(statistics(plan.table, program), plan.acquisitions)
        for label in ("nop", *labels([plan.base, *plan.locks])):
            cells[f"{label} {program}"] = mix_cell(machine, label, drawn)
    for label in labels(filter(cancels, plan.locks)):
        cells[f"{label} transition"] = transition_cell(machine, label)
    return cells


def macro_rows(plan: MacroPlan) -> list[PlannedRow]:
    """Return the rows that a definition's [macro] compares."""
    places = product(programs(plan.table), [*plan.fences, *plan.aside])
    return [row for program, kind in places for row in _ProgramRows(plan, program, kind).rows()]


class _ProgramRows:
    """A program of a definition's [macro] with one kind of fence: its rows, and its costs from the
    runs, in cycles."""

    def __init__(self, plan: MacroPlan, program: str, kind: str) -> None:
        self._plan, self._program, self._kind = plan, program, kind
        self._of = statistics(plan.table, program)
        self._drawn = mix(self._of, plan.acquisitions)

    def _label(self, lock: str) -> LockLabel:
        return LockLabel.of(lock, fence=self._kind)

    def _cost(self, lookup: Lookup, lock: str) -> float:
        runs = (f"{self._label(lock)} {self._program}", f"nop {self._program}")
        cycles, floor = (lookup(run, "cycles") for run in runs)
        cost = (cycles - floor) / self._drawn["acquisitions"]
        if cancels(lock):
            missing = round(self._of.rate - rate(self._drawn), 12)
            cost += missing * self._cancellation(lookup, lock)
        return cost

    def _uncancelled(self, lookup: Lookup, lock: str) -> float:
        cost = self._cost(lookup, lock)
        return cost - self._of.rate * self._cancellation(lookup, lock) if cancels(lock) else cost

    def _cancellation(self, lookup: Lookup, lock: str) -> float:
        run = f"{self._label(lock)} transition"
        return (lookup(run, "phase_4_cycles") - lookup(run, "phase_5_cycles")) / TRANSITION

    def _saved(self, lookup: Lookup, lock: str) -> float:
        """Return the share that is saved of the base's lock time."""
        return 1 - self._cost(lookup, lock) / self._cost(lookup, self._plan.base)

    def _run_time(self, lookup: Lookup, cycles: float, share: float) -> float:
        """Return the seconds of the program where so many cycles an acquisition are a share of
        it."""
        return self._seconds(lookup, cycles) / share

    def _seconds(self, lookup: Lookup, cycles: float) -> float:
        """Return the seconds that so many cycles an acquisition take in the whole program."""
        return cycles * self._of.acquisitions * lookup("s", "")

    def rows(self) -> Iterator[PlannedRow]:
        """Yield the compared rows, and the implications of our costs."""
        why = self._plan.aside.get(self._kind, "")
        kind = FENCE_KINDS[self._kind] if why else ""
        for planned in self._compared_rows():
            row = replace(planned.row, aside=why, kind=kind)
            if why and row.value is not None:  # only a statement can stand aside
                row = replace(row, published=None)
            yield replace(planned, row=row)

    def _compared_rows(self) -> Iterator[PlannedRow]:
        for lock in self._plan.locks:
            yield from self._compared(lock)
        yield from map(self._cancelling, filter(cancels, self._plan.locks))
        if len(self._plan.locks) == 2:
            first, second = self._plan.locks
            if stated := stated_speedup(f"{second}_over_{first}", self._program):
                kind = "" if self._kind == FULL else f"/{self._kind}"
                words = f"{self._program}{kind}: {second} before {first}, % of lock time"
                yield PlannedRow(
                    PublishedRow(in_words(words), stated, group="before"),
                    lambda lookup: 100 * (self._saved(lookup, second) - self._saved(lookup, first)),
                )

    def _compared(self, lock: str) -> Iterator[PlannedRow]:
        plan, program, label = self._plan, self._program, self._label(lock)
        words = in_words(f"{program}, {label}")
        stated = stated_speedup(plan.published[lock], program)

        def removed(lookup: Lookup) -> float:
            return 100 * self._saved(lookup, lock)

        sign = None
        if stated and program not in plan.few:  # faster or slower
            faster = stated.low is not None and stated.low >= 0
            sign = Published(0, None) if faster else Published(None, 0)
        saved = PublishedRow(
            f"{words}: % of the base's lock time saved",
            sign,
            series=label,
            x=program,
            group="sign",
            note=f"published speedup: {stated} %" if stated else "",
            mark=stated,
        )
        yield PlannedRow(saved, removed)
        if stated:
            hits = f"{words}: s saved on the acquisitions, cancellations apart"
            yield PlannedRow(
                PublishedRow(hits, group="run time"),
                lambda lookup: self._seconds(
                    lookup, self._cost(lookup, self._plan.base) - self._uncancelled(lookup, lock)
                ),
            )
        if program in plan.shares:
            share = paper.stated("K", plan.shares[program]).value
            assert share is not None
            part = share / 100
            speedup = f"{words}: % speedup with locks {share} % of the run time"
            yield PlannedRow(
                PublishedRow(speedup, stated, group="speedup"),
                lambda lookup: 100 * (1 / (1 - part * self._saved(lookup, lock)) - 1),
            )
            less = f"{words}: % of the lock time removed"
            name = stated_name(f"removed_{lock}", program)
            about, (bound, origin) = paper.stated("K", name), paper.bound("K", name)
            yield PlannedRow(
                PublishedRow(less, about, None, bound, bound_from=origin, group="removed"), removed
            )
            yield PlannedRow(
                PublishedRow(f"{words}: run time in s, by the share of locks", group="run time"),
                lambda lookup: self._run_time(lookup, self._cost(lookup, self._plan.base), part),
            )
        if stated:
            for percent in dict.fromkeys(end for end in (stated.low, stated.high) if end):
                yield from self._implied(lock, words, stated, percent)

    def _implied(
        self, lock: str, words: str, stated: Published, speedup: float
    ) -> Iterator[PlannedRow]:
        """Yield the implications of a published speedup (%) with our costs: nothing of it is
        compared."""
        less = round(1 - 1 / (1 + speedup / 100), 9)  # of the run time

        def removed(lookup: Lookup) -> float:
            return self._cost(lookup, self._plan.base) * self._saved(lookup, lock)

        if (stated.low or 0) > 0:
            share = f"{words}: % of the run time in locks that {speedup:g} % imply"
            yield PlannedRow(
                PublishedRow(share, group="share"),
                lambda lookup: 100 * less / self._saved(lookup, lock),
                _NOT_CHEAPER,
            )
        if stated.value is not None:
            time = f"{words}: run time in s that {speedup:g} % imply"
            yield PlannedRow(
                PublishedRow(time, group="run time"),
                lambda lookup: self._run_time(lookup, removed(lookup), less),
                _NOT_CHEAPER,
            )

    def _cancelling(self, lock: str) -> PlannedRow:
        """Return the time of all the cancellations that the source counted."""
        count = round(self._of.cancellations)
        words = f"{self._program}, {self._label(lock)}: s that {count} cancellations take"
        return PlannedRow(
            PublishedRow(in_words(words), group="cancellations"),
            lambda lookup: count * self._cancellation(lookup, lock) * lookup("s", ""),
        )


def stated_name(prefix: str, program: str) -> str:
    """Return the name of the thesis's statement on a program."""
    short = {"SPECjbb2000": "jbb"}.get(program, program.lower().replace(" ", "_"))
    return f"{prefix}_{short.removeprefix('_')}"


def stated_speedup(prefix: str, program: str) -> Published | None:
    """Return the thesis's statement on a program, if there is one."""
    try:
        return paper.stated("K", stated_name(prefix, program))
    except KeyError:
        return None
