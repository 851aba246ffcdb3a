"""Macro-benchmarks: sequences drawn to match a program's lock statistics, and what they predict.

A program of Table 5.6 or 6.2 becomes runs of the workload lock_mix with its shares: acquisitions
by an object's first locker before any other thread's, after another's, by other threads, nested
ones. Their cost with a lock, less their cost with the null lock, is the lock's cost of an
acquisition. After scaling most programs have less than one cancellation, and the run has none or
one: the difference from the published rate is added or subtracted, at the measured cost of a
cancellation on the same machine.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Annotated

from pydantic import Field

from results import published as paper
from results.published import Published
from sweeps.model import engines
from sweeps.model.cell import Cell
from sweeps.model.isa import ISAS
from sweeps.model.label import LockLabel
from sweeps.model.locks import cancels
from sweeps.model.machine import load_machine
from sweeps.questions.reproduce.planned import Measured, PlannedRow, identifier, in_words
from sweeps.support.toml import Document

PARTS = 1_000_000
THREADS = 2
BASE = "tasuki"
TRANSITION = 256  # objects of the run that a cancellation's cost is taken from
OBJECTS_MAX = 16384
_NOT_CHEAPER = "none: the lock is no cheaper here"
REMOVED_WITHIN = 0.1  # of a statement that says "about"


class MacroPlan(Document):
    """The table [macro] of a definition. `published` maps a lock to what precedes the program in
    the names of stated speedups; `acquisitions` is what a program is scaled to. `shares`: the
    stated share of locks in a program's run time."""

    table: str
    locks: list[str] = Field(min_length=1)
    fences: list[str] = ["full"]
    published: dict[str, str]
    acquisitions: Annotated[int, Field(ge=1000)]
    shares: dict[str, str] = {}
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
        """The rest."""
        return max(0.0, 1 - self.owned - self.returned - self.foreign)

    @property
    def rate(self) -> float:
        """Cancellations an acquisition."""
        return self.cancellations / self.acquisitions


def programs(table: str) -> list[str]:
    """The programs of a table of lock statistics."""
    return [str(row["program"]) for row in paper.table(table).rows]


def statistics(table: str, program: str) -> Statistics:
    """A program's row of Table 5.6 or 6.2, and what Tables 5.2 and 5.3 tell besides.

    The sources do not say how the acquisitions that hit no reservation part into nested ones and
    other threads'. Where Table 5.2 has the program, what lies outside of first repetitions is
    taken for other threads'; where not (Water, Barnes), all of them are.
    """
    row = paper.table(table)
    acquisitions = int(row.number(program, "acquisitions"))
    if table == "K_table_5_6":
        owned = float(row.number(program, "accelerated")) / 100
        returned = 0.0
        cancellations = float(row.number(program, "cancellations")) / 100 * acquisitions
        objects = int(paper.table("K_table_5_3").number(program, "objects_synchronized"))
    else:
        owned = float(row.number(program, "reservation_hits")) / 100
        returned = float(row.number(program, "asymmetric_hits")) / 100 - owned
        cancellations = float(row.number(program, "cancellations"))
        objects = int(row.number(program, "objects"))
    rest = 1 - owned - returned
    foreign = rest
    if program in programs("K_table_5_2"):
        first = float(paper.table("K_table_5_2").number(program, "first_repetitions")) / 100
        foreign = min(rest, max(1 - first - returned, 0.0))
    foreign = max(foreign, cancellations / acquisitions)  # each cancellation is another thread's
    return Statistics(program, objects, acquisitions, cancellations, owned, returned, foreign)


@dataclass(frozen=True)
class Mix:
    """The scaled sequence: parameters of lock_mix, and cancellations an acquisition in it."""

    parameters: dict[str, int]
    rate: float


def mix(of: Statistics, wanted: int) -> Mix:
    """Scales a program down to `wanted` acquisitions. Where other threads or returning owners have
    any of them, one object at least is shared."""
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
    parameters = {
        "objects": objects, "acquisitions": count, "owner_share": owned,
        "return_share": returned, "recursive": nested, "shared_objects": min(shared, objects),
        "owners": 1, "critical": 0, "think": 0,
    }  # fmt: skip
    return Mix(parameters, min(shared, objects) / count)


def mix_cell(machine: str, label: str, of: Mix) -> Cell:
    """The run of a lock label on a sequence."""
    built = LockLabel(label)
    isa = load_machine(machine).isas[0]
    return Cell(
        engine=engines.DEFAULT, machine=machine, isa=isa, flavour=ISAS[isa].flavours[0],
        lock=built.lock, variant=built.variant, fence=built.fence, workload="lock_mix",
        parameters=dict(of.parameters), threads=THREADS,
    )  # fmt: skip


def transition_cell(machine: str, label: str) -> Cell:
    """The run that a cancellation's cost is taken from: (phase 4 - phase 5) / TRANSITION."""
    parameters: dict[str, int | str] = {"objects": TRANSITION, "owner": "running"}
    return replace(
        mix_cell(machine, label, Mix({}, 0)), workload="transition", parameters=parameters
    )


def macro_cells(plan: MacroPlan, machine: str) -> dict[str, Measured]:
    """Every run of a definition's [macro], by its name."""
    cells = {}
    for program in programs(plan.table):
        drawn = _mix(plan, program)
        for label in ["null", *_labels(plan, [BASE, *plan.locks])]:
            name = _name(label, program)
            cells[name] = Measured(mix_cell(machine, label, drawn), "cycles")
    for label in _labels(plan, [lock for lock in plan.locks if cancels(lock)]):
        cells[_name(label, "transition")] = Measured(transition_cell(machine, label))
    return cells


def _mix(plan: MacroPlan, program: str) -> Mix:
    return mix(statistics(plan.table, program), plan.acquisitions)


def _labels(plan: MacroPlan, locks: Sequence[str]) -> list[LockLabel]:
    return [LockLabel.of(lock, fence=fence) for fence in plan.fences for lock in locks]


def _name(label: str, program: str) -> str:
    return identifier(f"{label} {program}")


def _cost(plan: MacroPlan, label: str, program: str) -> str:
    """Cycles of an acquisition and its release: an expression."""
    drawn, of = _mix(plan, program), statistics(plan.table, program)
    count = drawn.parameters["acquisitions"]
    cost = f"({_name(label, program)} - {_name('null', program)}) / {count}"
    if cancels(label):
        run = _name(label, "transition")
        missing = Decimal(of.rate - drawn.rate)
        cost += (
            f" + ({missing:.12f}) * ({run}.phase_4_cycles - {run}.phase_5_cycles) / {TRANSITION}"
        )
    return f"({cost})"


def _cancellation(label: str) -> str:
    """Cycles of a cancellation: an expression."""
    run = _name(label, "transition")
    return f"(({run}.phase_4_cycles - {run}.phase_5_cycles) / {TRANSITION})"


def macro_rows(plan: MacroPlan) -> Iterator[PlannedRow]:
    """What a definition's [macro] compares."""
    for program in programs(plan.table):
        for fence in plan.fences:
            yield from _rows_of(plan, program, f"/{fence}".removesuffix("/full"))


def _rows_of(plan: MacroPlan, program: str, kind: str) -> Iterator[PlannedRow]:
    base = _cost(plan, f"{BASE}{kind}", program)
    saved = {}
    for lock in plan.locks:
        saved[lock] = f"(1 - {_cost(plan, lock + kind, program)} / {base})"
        stated = stated_speedup(plan.published[lock], program)
        words = in_words(f"{program}, {lock}{kind}")
        yield PlannedRow(
            f"{words}: % of the base's lock time saved", f"100 * {saved[lock]}",
            _sign(stated) if program not in plan.few else None, group="sign",
            series=f"{lock}{kind}", x=program, mark=stated,
            note=f"published speedup: {stated} %" if stated else "",
        )  # fmt: skip
        yield from _by_share(plan, program, lock, words, saved[lock], base, stated)
        yield from _implied(plan, program, words, saved[lock], base, stated)
    yield from _cancelling(plan, program, kind)
    if len(plan.locks) == 2:
        first, second = plan.locks
        stated = stated_speedup(f"{second}_over_{first}", program)
        if stated:
            yield PlannedRow(
                in_words(f"{program}{kind}: {second} before {first}, % of lock time"),
                f"100 * ({saved[second]} - {saved[first]})", stated, group="before",
            )  # fmt: skip


def _by_share(
    plan: MacroPlan, program: str, lock: str, words: str, saved: str, base: str,
    stated: Published | None,
) -> Iterator[PlannedRow]:  # fmt: skip
    """What follows where the share of locks in the run time is stated."""
    if program not in plan.shares:
        return
    count = statistics(plan.table, program).acquisitions
    share = paper.stated("K", plan.shares[program]).value
    assert share is not None
    yield PlannedRow(
        f"{words}: % speedup with locks {share} % of the run time",
        f"100 * (1 / (1 - {share / 100} * {saved}) - 1)", stated, group="speedup",
    )  # fmt: skip
    yield PlannedRow(
        f"{words}: % of the lock time removed", f"100 * {saved}",
        stated_speedup(f"removed_{lock}", program), REMOVED_WITHIN, group="removed",
    )  # fmt: skip
    yield PlannedRow(
        f"{words}: run time in s, by the share of locks",
        f"{base} * {count} * s / {share / 100}", group="run time",
    )  # fmt: skip


def _implied(
    plan: MacroPlan, program: str, words: str, saved: str, base: str, stated: Published | None
) -> Iterator[PlannedRow]:
    """What a published speedup implies with our costs: nothing of it is compared."""
    if stated is None:
        return
    count = statistics(plan.table, program).acquisitions
    for speedup in dict.fromkeys(end for end in (stated.low, stated.high) if end):
        less = f"({1 - 1 / (1 + speedup / 100):.9f})"  # of the run time
        if (stated.low or 0) > 0:
            yield PlannedRow(
                f"{words}: % of the run time in locks that {speedup:g} % imply",
                f"100 * {less} / {saved}", group="share", if_not_positive=_NOT_CHEAPER,
            )  # fmt: skip
        if stated.value is not None:
            yield PlannedRow(
                f"{words}: run time in s that {speedup:g} % imply",
                f"{base} * {saved} * {count} * s / {less}", group="run time",
                if_not_positive=_NOT_CHEAPER,
            )  # fmt: skip


def _cancelling(plan: MacroPlan, program: str, kind: str) -> Iterator[PlannedRow]:
    """The time of all the cancellations that the source counted."""
    for lock in plan.locks:
        if cancels(lock):
            count = round(statistics(plan.table, program).cancellations)
            yield PlannedRow(
                in_words(f"{program}, {lock}{kind}: s that {count} cancellations take"),
                f"{count} * {_cancellation(f'{lock}{kind}')} * s", group="cancellations",
            )  # fmt: skip


def _sign(stated: Published | None) -> Published | None:
    """Faster or slower, of a published speedup."""
    if stated is None:
        return None
    if stated.low is not None and stated.low >= 0:
        return Published(0, None)
    return Published(None, 0)


def stated_speedup(prefix: str, program: str) -> Published | None:
    """What the text of the thesis states of a program, where it does."""
    short = {"SPECjbb2000": "jbb"}.get(program, program.lower().replace(" ", "_"))
    try:
        return paper.stated("K", f"{prefix}_{short.removeprefix('_')}")
    except KeyError:
        return None
