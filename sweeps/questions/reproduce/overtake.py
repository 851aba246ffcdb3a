"""`lockcross reproduce overtake`: when the asymmetric lock overtakes the reservation lock."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

from results.store.facts import Fact
from sweeps.model.axes import LATENCIES, QUANTITIES
from sweeps.model.cell import NO_LOCK, Cell
from sweeps.model.isa import ISAS
from sweeps.model.locks import FULL, LockLabel, cancels
from sweeps.model.machine import load_machine
from sweeps.questions.reproduce import macro
from sweeps.study.crossings import Crossover, Point, find_all, search
from sweeps.study.lines import own_latency, set_to, with_lock

if TYPE_CHECKING:
    from results.store.records import StoredRun
    from results.store.store import Store
    from sweeps.run.runner import Runner

AXES = {axis: QUANTITIES[axis].cost_of for axis in LATENCIES}
NAME = "overtake"
TITLE = "when the asymmetric lock overtakes the reservation lock"
PROGRAMS = ("Barnes", "Water", "_227_mtrt", "_209_db")
MACHINES = ("p3", "p4xeon", "skylake", "zen4", "neoverse_n1", "power9")
LOCKS = ("reservation", "asym_tasuki")
TABLE = "K_table_6_2"
ACQUISITIONS = 4000  # of a scaled sequence; costs of an acquisition hardly depend on it
# The values a search begins with, in cycles as set, and the tolerance.
COARSE = dict.fromkeys(AXES, (0, 30, 120, 480)) | {"cancel_latency": (0, 10**6)}
TOLERANCE = dict.fromkeys(AXES, 1) | {"cancel_latency": 50}


@dataclass(frozen=True)
class Border:
    """The latency of one kind, in cycles, at which both locks cost the same, everything else as the
    machine has it; None with the lock that is cheaper over the whole range looked at.

    `above`: the lock that is cheaper just above.
    """

    axis: str
    own: float
    value: float | None
    above: str
    low: int
    high: int

    @property
    def words(self) -> str:
        """Return the border beside the machine's own latency."""
        if self.value is None:
            cheaper = LockLabel(self.above).words()
            return f"none ({cheaper} from {self.low:,} to {self.high:,})"
        factor = f", {self.value / self.own:.2g} times its own" if self.own else ""
        return f"{self.value:,.0f}{factor}"


@dataclass(frozen=True)
class Case:
    """A program's locks on a machine, with one kind of fence. Costs are cycles an acquisition."""

    program: str
    machine: str
    kind: str
    tasuki: float
    reservation: float
    asymmetric: float
    borders: tuple[Border, ...]

    @property
    def lead(self) -> float:
        """Return the reservation lock's cost over the asymmetric lock's: above 1 where it is
        overtaken."""
        return self.reservation / self.asymmetric

    @property
    def equal(self) -> list[str]:
        """Return the borders along all AXES in words; nothing along one that was not looked at."""
        words = {border.axis: border.words for border in self.borders}
        return [words.get(axis, "") for axis in AXES]


@dataclass(frozen=True)
class Overtaken:
    cases: list[Case]


KEPT: Fact[Overtaken] = Fact("overtake", Overtaken)


def load(connection: sqlite3.Connection) -> list[Case]:
    """Return the stored result; nothing, if there is none."""
    kept = KEPT.optional(connection)
    return kept.cases if kept else []


@dataclass(frozen=True)
class Place:
    """A program's locks on a machine with one kind of fence."""

    program: str
    machine: str
    kind: str

    @property
    def axes(self) -> tuple[str, ...]:
        """Return those that are searched: of a kind without fence there is no fence latency, and
        of locked instructions in their place CAS and fence are one."""
        without = ("cas_latency", "cancel_latency")
        return {"full": tuple(AXES), "store_forward": without, "rmw": ()}[self.kind]

    @property
    def base(self) -> Cell:
        """Return the run of the lock that cancels, everything as the machine has it."""
        return macro.mix_cell(self.machine, LOCKS[0], drawn(self.program)[1])

    def access(self, axis: str) -> int:
        """Return the cycles that a source counts to a latency on an axis beyond the set ones: an
        atomic is the whole operation."""
        figures = load_machine(self.machine).figures(self.base.isa)
        return figures["lat_l1"].number if axis == "cas_latency" else 0

    def default(self, axis: str) -> int:
        """Return the machine's own latency, as a source would give it."""
        return own_latency(self.base, axis) + self.access(axis)

    def label(self, lock: str) -> LockLabel:
        """Return the lock label, without a fence kind that the lock does not have."""
        return LockLabel.of(lock, fence=FULL if lock == NO_LOCK else self.kind)

    def cell(self, lock: str, axis: str, x: int) -> Cell:
        """Return a lock's run at a value of an axis, everything else as the machine has it."""
        return with_lock(set_to(self.base, axis, x), self.label(lock))

    def cells(self) -> list[Cell]:
        """Return its locks as the machine is: the base, those compared, and none."""
        return [with_lock(self.base, self.label(lock)) for lock in (macro.BASE, *LOCKS, NO_LOCK)]

    def transition(self) -> Cell:
        """Return the run with the cost of a revocation."""
        return macro.transition_cell(self.machine, self.label(LOCKS[0]))

    def border(self, axis: str, crossover: Crossover) -> Border:
        """Return the result of a search along an axis, as a source would give it."""
        access, own = self.access(axis), self.default(axis)
        low, high = int(crossover.low) + access, int(crossover.high) + access
        if not crossover.crossings:
            return Border(axis, own, None, crossover.always or "both alike", low, high)
        first = crossover.crossings[0]
        above = LOCKS[1] if first.below == LOCKS[0] else LOCKS[0]
        return Border(axis, own, float(first.value) + access, above, low, high)


def places() -> list[Place]:
    """Return every program on every machine, with each kind of fence that the ISA allows."""
    return [
        Place(program, machine, kind)
        for machine in MACHINES
        for kind in ("full", "rmw", "store_forward")
        if kind not in ISAS[load_machine(machine).isas[0]].refused_fence_kinds
        for program in PROGRAMS
    ]


@cache
def drawn(program: str) -> tuple[macro.Statistics, dict[str, float]]:
    """Return a program's statistics and the sequence drawn to them."""
    of = macro.statistics(TABLE, program)
    return of, macro.mix(of, ACQUISITIONS)


def known_cells() -> list[Cell]:
    """Return every cell that can be named before anything has been run."""
    cells = [place.transition() for place in places()]
    for place in places():
        cells += place.cells()
        for axis in place.axes:
            cells += [place.cell(lock, axis, x) for lock in LOCKS for x in COARSE[axis]]
    return cells


def find(runner: "Runner") -> tuple[list[Case], list[int]]:
    """Run the missing cells and return the cases, and the ids of the runs as they were asked
    for."""
    ids: list[int] = []
    overheads: dict[Place, Fraction] = {}  # what a cancellation costs besides stopping the owner

    def run_all(cells: Sequence[Cell]) -> list["StoredRun"]:
        runs = runner.require(cells, "reproduce")
        ids.extend(run.id for run in runs)
        return runs

    def cost(place: Place, cell: Cell, run: "StoredRun") -> Fraction:
        """Return cycles per acquisition, with as many revocations as published."""
        of, scaled = drawn(place.program)
        cycles = Fraction(int(run.metrics["cycles"]), int(scaled["acquisitions"]))
        if not cancels(cell.lock):
            return cycles
        missing = Fraction(of.rate) - Fraction(macro.rate(scaled))
        stop = (
            place.default("cancel_latency") if cell.cancel_latency is None else cell.cancel_latency
        )
        return cycles + missing * (stop + overheads[place])

    def evaluate(wanted: Sequence[tuple[tuple[Place, str], str, Fraction]]) -> list[Point]:
        cells = [place.cell(lock, axis, int(x)) for (place, axis), lock, x in wanted]
        return [
            Point(cost(place, cell, run), run.id)
            for ((place, _), _, _), cell, run in zip(wanted, cells, run_all(cells), strict=True)
        ]

    run_all(known_cells())
    for place in places():
        (run,) = run_all([place.transition()])
        cycles = int(run.metrics["phase_4_cycles"] - run.metrics["phase_5_cycles"])
        overheads[place] = Fraction(cycles, macro.TRANSITION) - place.default("cancel_latency")
    searches = {
        (place, axis): search(*LOCKS, COARSE[axis], TOLERANCE[axis])
        for place in places()
        for axis in place.axes
    }
    crossovers, cases = find_all(evaluate, searches), []
    for place in places():
        cells = place.cells()
        *costs, floor = (
            cost(place, cell, run) for cell, run in zip(cells, run_all(cells), strict=True)
        )
        tasuki, reservation, asymmetric = (float(cost - floor) for cost in costs)
        borders = tuple(place.border(axis, crossovers[place, axis]) for axis in place.axes)
        where = (place.program, place.machine, place.kind)
        cases.append(Case(*where, tasuki, reservation, asymmetric, borders))
    return cases, ids


def run(runner: "Runner", store: "Store") -> list[Case]:
    """Run the missing cells, store the result and return it."""
    cases, ids = find(runner)
    KEPT.write(store, Overtaken(cases))
    store.set_series(f"reproduce/{NAME}", ids)
    return cases
