"""Set against measured latency: a row an operation, a column an engine."""

import itertools
import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

import numpy as np

from results.store.facts import Fact
from sweeps.model import engines
from sweeps.model.cell import read_cell, selected

OPS = {"cas": "CAS", "fence": "full fence", "stop": "cancellation"}
_MECHANISM = {"cas": "mechanism_atomic", "fence": "mechanism_fence", "stop": "mechanism_charge"}
SLOPE = 0.05  # a mechanism is used when its slope is within this of 1,
AGREE = 0.05  # two of them agree when their latencies differ by no more than this,
SAME_REGION = 0.02  # and two methods of finding the region of interest by no more than this
TWO_LENGTHS = "two lengths"
_UNKNOWN = "unknown"  # stands for a mechanism that a run does not name


@dataclass(frozen=True)
class SlopeBar:
    """The engine whose slopes are judged, and how far they may be off, as a share."""

    candidate: str
    bar: float


SLOPES: Fact[SlopeBar] = Fact("validation_slopes", SlopeBar)


@dataclass(frozen=True)
class Sweep:
    """Set against measured latency of one operation, with the line of least squares through it.

    `offset` is the line's measured latency at 0 set cycles, `residual` the largest distance of a
    point from it (cycles)."""

    engine: str
    machine: str
    isa: str
    flavour: str
    op: str
    mechanism: str
    points: tuple[tuple[int, float], ...]
    slope: float
    offset: float
    residual: float

    def words(self) -> str:
        return f"{self.slope:.3f} x {'+' if self.offset >= 0 else '-'} {abs(self.offset):.1f}"

    @property
    def place(self) -> tuple[str, ...]:
        """Where and of what it is, whatever the engine."""
        return (self.machine, self.isa, self.flavour, self.op)

    @property
    def ok(self) -> bool:
        return abs(self.slope - 1) <= SLOPE


@dataclass(frozen=True)
class Agreement:
    """Two mechanisms for the same operation of the same core model."""

    first: Sweep
    second: Sweep

    @property
    def difference(self) -> float:
        """Of the slopes of their lines, measured cycles a set cycle."""
        return abs(self.first.slope - self.second.slope)

    @property
    def offset(self) -> float:
        """How much more the second line costs at 0, in cycles."""
        return self.second.offset - self.first.offset

    @property
    def ok(self) -> bool:
        return self.difference <= AGREE


@dataclass(frozen=True)
class SlopeCheck:
    """A latency sweep of a reference engine, and the candidate's of the same operation on the same
    machine. `bar`: by how much the slopes may differ, relative to the reference's."""

    reference: Sweep
    candidate: Sweep
    bar: float

    @property
    def difference(self) -> float:
        """Of the slopes, relative to the reference's."""
        return abs(self.candidate.slope / self.reference.slope - 1)

    @property
    def met(self) -> bool:
        return self.difference <= self.bar


@dataclass(frozen=True)
class Region:
    """Cycles per pair of one workload, by each method of finding the region of interest: the
    options of the engine label that choose one, and `two lengths` of the whole program.

    `spread` is the largest relative difference between two of them, None with one alone."""

    isa: str
    engine: str
    workload: str
    costs: Mapping[str, float]
    spread: float | None

    @property
    def ok(self) -> bool | None:
        """They agree; None where there is nothing to compare."""
        return None if self.spread is None else self.spread <= SAME_REGION


def _lines(connection: sqlite3.Connection) -> list[Sweep]:
    """Every sweep of a latency with two settings or more, by operation, ISA and engine."""
    measured: dict[tuple[str, str, str, str, str], dict[int, float]] = {}
    mechanisms: dict[tuple[str, ...], set[str]] = {}
    for *key, cas, fence, cancel, cycles, text in connection.execute(
        "SELECT c.engine, c.machine, c.isa, c.flavour, op, c.cas_latency, c.fence_latency, "
        "cancel_latency, cycles, resolved FROM calibrations c JOIN runs ON runs.id = c.run_id "
        "JOIN resolved ON resolved.run_id = runs.id ORDER BY c.id"
    ):
        engine, machine, isa, flavour, op = key
        value = {"cas": cas, "fence": fence, "stop": cancel}.get(op)
        if value is not None:  # neither another operation, nor the machine's own latency
            place = (engine, machine, isa, flavour, op)
            measured.setdefault(place, {})[value] = cycles
            mechanism = json.loads(text).get(_MECHANISM[op]) or _UNKNOWN
            mechanisms.setdefault(place, set()).add(mechanism)
    lines = []
    for place, by_value in measured.items():
        if len(by_value) > 1:
            points = tuple(sorted(by_value.items()))
            x, y = np.array(points, dtype=float).T
            slope, offset = map(float, np.polyfit(x, y, 1))
            residual = float(np.abs(y - (slope * x + offset)).max())
            # Where nothing is to be added, none is needed.
            mechanism = " and ".join(sorted(mechanisms[place] - {"none"})) or "none"
            lines.append(Sweep(*place, mechanism, points, slope, offset, residual))
    ops = list(OPS)
    return sorted(
        lines,
        key=lambda s: (ops.index(s.op), s.isa, s.flavour, engines.order(s.engine), s.machine),
    )


def sweeps(connection: sqlite3.Connection) -> list[Sweep]:
    """Every sweep of a latency with two settings or more, by operation, ISA and engine, of engines
    whose runs name the mechanism by which they add a set latency, or whose core models have costs
    of their own."""
    return [
        line
        for line in _lines(connection)
        if line.mechanism != _UNKNOWN or engines.entry(line.engine).own_costs
    ]


def slope_checks(connection: sqlite3.Connection) -> list[SlopeCheck]:
    """The candidate of a validation beside each mechanism of its references; none where the
    validation has no bar for slopes."""
    fact = SLOPES.optional(connection)
    if fact is None:
        return []
    lines = _lines(connection)
    own = {line.place: line for line in lines if line.engine == fact.candidate}
    return [
        SlopeCheck(reference, own[reference.place], fact.bar)
        for reference in sweeps(connection)
        if reference.place in own
    ]


def agreements(swept: Sequence[Sweep]) -> list[Agreement]:
    """Each two mechanisms that serve the same operation of the same core model and machine."""
    return [
        Agreement(first, second)
        for first, second in itertools.combinations(swept, 2)
        if first.place == second.place
        and first.mechanism != second.mechanism
        and engines.entry(first.engine).label == engines.entry(second.engine).label
    ]


def regions(connection: sqlite3.Connection) -> list[Region]:
    """The methods of finding the region of interest side by side, from the series `roi/...`."""
    # (ISA, engine, workload in words) -> method -> (pairs, cycles per pair, cycles of the whole
    # run) of each run that ended well
    by_place: dict[tuple[str, str, str], dict[str, list[tuple[float, float, float]]]] = {}
    for pairs, cost, total, *columns in connection.execute(
        f"SELECT pairs.value, cycles_per_pair, total.value, {selected(connection)} "
        "FROM series JOIN runs ON runs.id = series.run_id AND status = 'ok' "
        "JOIN metrics pairs ON pairs.run_id = id AND pairs.name = 'pairs' "
        "JOIN metrics total ON total.run_id = id AND total.name = 'total_cycles' "
        "WHERE series.name GLOB 'roi/*' AND cycles_per_pair IS NOT NULL ORDER BY series.name, id"
    ):
        cell = read_cell(columns)
        engine = engines.entry(cell.engine).label
        words = f"{cell.label.words()}, {cell.workload}, {cell.flavour}"
        methods = by_place.setdefault((cell.isa, engine, words), {})
        methods.setdefault(cell.engine.removeprefix(f"{engine}/"), []).append((pairs, cost, total))
    regions = []
    for key, methods in by_place.items():
        costs = {method: max(runs, key=itemgetter(0))[1] for method, runs in methods.items()}
        for runs in methods.values():
            short, _, least = min(runs, key=itemgetter(0))
            long, _, most = max(runs, key=itemgetter(0))
            if short < long:  # what each further pair costs, the same by whatever method
                costs[TWO_LENGTHS] = (most - least) / (long - short)
        spread = max(costs.values()) / min(costs.values()) - 1 if len(costs) > 1 else None
        regions.append(Region(*key, costs, spread))
    return sorted(regions, key=lambda r: (r.isa, engines.order(r.engine), r.workload))
