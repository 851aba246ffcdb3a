"""Set against measured latency: a row an operation, a column an engine."""

import itertools
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

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
        """The line, readable."""
        return f"{self.slope:.3f} x {'+' if self.offset >= 0 else '-'} {abs(self.offset):.1f}"

    @property
    def ok(self) -> bool:
        """The slope is near enough to 1 for the mechanism to be used."""
        return abs(self.slope - 1) <= SLOPE


@dataclass(frozen=True)
class Agreement:
    """Two mechanisms for the same operation of the same core model. `difference`: of the slopes of
    their lines, measured cycles a set cycle; `offset`: of what their lines cost at 0, in cycles."""

    first: Sweep
    second: Sweep
    difference: float
    offset: float

    @property
    def ok(self) -> bool:
        """They agree."""
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
        """It is within the bar."""
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


def sweeps(connection: sqlite3.Connection) -> list[Sweep]:
    """Every sweep of a latency with two settings or more, by operation, ISA and engine, of engines
    whose runs name the mechanism by which they add a set latency, or whose core models have costs
    of their own."""
    return _sweeps(
        connection, lambda engine, named: named is not None or engines.entry(engine).own_costs
    )


def _sweeps(
    connection: sqlite3.Connection, wanted: Callable[[str, str | None], bool]
) -> list[Sweep]:
    """The sweeps of engines and mechanisms that are wanted: labels, and names or None."""
    found: dict[tuple[str, ...], dict[int, float]] = {}
    mechanisms: dict[tuple[str, ...], set[str]] = {}
    for engine, machine, isa, flavour, op, cas, fence, cancel, cycles, text in connection.execute(
        "SELECT c.engine, c.machine, c.isa, c.flavour, op, c.cas, c.fence_latency, cancel, cycles, "
        "resolved FROM calibrations c JOIN runs ON runs.id = c.run_id "
        "JOIN resolved ON resolved.run_id = runs.id ORDER BY c.id"
    ):
        value = {"cas": cas, "fence": fence, "stop": cancel}.get(op)
        if value is None:
            continue  # another operation, or the machine's own latency
        mechanism = json.loads(text).get(_MECHANISM[op])
        if not wanted(engine, mechanism):
            continue
        key = (op, isa, flavour, engine, machine)
        found.setdefault(key, {})[value] = cycles
        mechanisms.setdefault(key, set()).add(mechanism or "unknown")
    fits = [_fit(key, points, mechanisms[key]) for key, points in found.items() if len(points) > 1]
    order = list(OPS)
    return sorted(
        fits,
        key=lambda s: (order.index(s.op), s.isa, s.flavour, engines.order(s.engine), s.machine),
    )


def slope_checks(connection: sqlite3.Connection) -> list[SlopeCheck]:
    """The candidate of a validation beside each mechanism of its references; none where the
    validation has no bar for slopes."""
    fact = SLOPES.optional(connection)
    if fact is None:
        return []
    own = _sweeps(connection, lambda engine, _: engine == fact.candidate)
    of_place = {_place(sweep): sweep for sweep in own}
    return [
        SlopeCheck(reference, of_place[_place(reference)], fact.bar)
        for reference in sweeps(connection)
        if _place(reference) in of_place
    ]


def _fit(key: tuple[str, ...], points: dict[int, float], mechanisms: set[str]) -> Sweep:
    op, isa, flavour, engine, machine = key
    # Where nothing is to be added, none is needed.
    mechanism = " and ".join(sorted(mechanisms - {"none"})) or "none"
    placed = tuple(sorted(points.items()))
    x, y = np.array(placed, dtype=float).T
    slope, offset = np.polyfit(x, y, 1)
    residual = np.abs(y - (slope * x + offset)).max()
    return Sweep(
        engine, machine, isa, flavour, op, mechanism, placed, float(slope), float(offset),
        float(residual),
    )  # fmt: skip


def agreements(found: Sequence[Sweep]) -> list[Agreement]:
    """Each two mechanisms that serve the same operation of the same core model and machine."""
    return [
        Agreement(first, second, abs(first.slope - second.slope), second.offset - first.offset)
        for first, second in itertools.combinations(found, 2)
        if _subject(first) == _subject(second) and first.mechanism != second.mechanism
    ]


def _subject(sweep: Sweep) -> tuple[str, ...]:
    return (engines.entry(sweep.engine).label, *_place(sweep))


def _place(sweep: Sweep) -> tuple[str, ...]:
    return (sweep.machine, sweep.isa, sweep.flavour, sweep.op)


def regions(connection: sqlite3.Connection) -> list[Region]:
    """The methods of finding the region of interest side by side, from the series `roi/...`."""
    found: dict[tuple[str, str, str], dict[str, list[_Length]]] = {}
    for key, method, length in _lengths(connection):
        found.setdefault(key, {}).setdefault(method, []).append(length)
    return sorted(
        (_region(key, methods) for key, methods in found.items()),
        key=lambda r: (r.isa, engines.order(r.engine), r.workload),
    )


@dataclass(frozen=True)
class _Length:
    """A run of one length: pairs, cycles per pair inside the region, cycles of the whole run."""

    pairs: float
    cost: float
    total: float


def _lengths(
    connection: sqlite3.Connection,
) -> Iterator[tuple[tuple[str, str, str], str, _Length]]:
    """Good runs as ((ISA, engine, workload in words), method, length)."""
    for pairs, cost, total, *columns in connection.execute(
        f"SELECT pairs.value, cycles_per_pair, total.value, {selected()} "
        "FROM series JOIN runs ON runs.id = series.run_id AND status = 'ok' "
        "JOIN metrics pairs ON pairs.run_id = id AND pairs.name = 'pairs' "
        "JOIN metrics total ON total.run_id = id AND total.name = 'total_cycles' "
        "WHERE series.name GLOB 'roi/*' AND cycles_per_pair IS NOT NULL ORDER BY series.name, id"
    ):
        cell = read_cell(columns)
        engine = engines.entry(cell.engine).label
        words = f"{cell.label.words()}, {cell.workload}, {cell.flavour}"
        method = cell.engine.removeprefix(f"{engine}/")
        yield (cell.isa, engine, words), method, _Length(pairs, cost, total)


def _region(key: tuple[str, str, str], methods: Mapping[str, Sequence[_Length]]) -> Region:
    costs = {method: max(runs, key=lambda one: one.pairs).cost for method, runs in methods.items()}
    differences = [found for runs in methods.values() if (found := _difference(runs)) is not None]
    if differences:  # whichever the method, the whole program is the same
        costs[TWO_LENGTHS] = differences[-1]
    spread = max(costs.values()) / min(costs.values()) - 1 if len(costs) > 1 else None
    return Region(*key, costs, spread)


def _difference(runs: Sequence[_Length]) -> float | None:
    """Cycles that each further pair costs, from the whole programs of two lengths."""
    if len({one.pairs for one in runs}) < 2:
        return None
    short, *_, long = sorted(runs, key=lambda one: one.pairs)
    return (long.total - short.total) / (long.pairs - short.pairs)
