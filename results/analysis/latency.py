"""Do set latencies show? Line fits of the latency sweeps, mechanisms and regions compared.

Pure analysis of the calibrations and of the series `roi/<isa>/<model>`. Latencies are in cycles.
"""

import itertools
import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from results.analysis.study import label_of
from results.figures.style import engine_order, name

OPS = {"cas": "CAS", "fence": "full fence", "stop": "cancellation"}
_MECHANISM = {"cas": "mechanism_atomic", "fence": "mechanism_fence", "stop": "mechanism_charge"}
SLOPE = 0.05  # a mechanism is used when its slope is within this of 1,
AGREE = 0.05  # two of them agree when their latencies differ by no more than this,
SAME_REGION = 0.02  # and two ways to the region of interest by no more than this


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
class Region:
    """Cycles per pair of one workload by each way to the region of interest; None: not to be had.

    `spread` is the largest relative difference between two of them, None with one alone."""

    isa: str
    model: str
    workload: str
    by_m5: float | None
    by_pc_count: float | None
    by_differencing: float | None
    spread: float | None

    @property
    def ok(self) -> bool | None:
        """They agree; None where there is nothing to compare."""
        return None if self.spread is None else self.spread <= SAME_REGION


def sweeps(connection: sqlite3.Connection) -> list[Sweep]:
    """Every latency sweep on gem5 with two settings or more, by operation, ISA and engine."""
    found: dict[tuple[str, ...], dict[int, float]] = {}
    mechanisms: dict[tuple[str, ...], set[str]] = {}
    for engine, machine, isa, flavour, op, cas, fence, cancel, cycles, text in connection.execute(
        "SELECT c.engine, c.machine, c.isa, c.flavour, op, c.cas, c.fence_latency, cancel, cycles, "
        "resolved FROM calibrations c JOIN runs ON runs.id = c.run_id "
        "WHERE c.engine GLOB 'gem5/*' ORDER BY c.id"
    ):
        value = {"cas": cas, "fence": fence, "stop": cancel}.get(op)
        if value is None:
            continue  # another operation, or the machine's own latency
        key = (op, isa, flavour, engine, machine)
        found.setdefault(key, {})[value] = cycles
        mechanisms.setdefault(key, set()).add(json.loads(text).get(_MECHANISM[op], "unknown"))
    fits = [_fit(key, points, mechanisms[key]) for key, points in found.items() if len(points) > 1]
    order = list(OPS)
    return sorted(
        fits,
        key=lambda s: (order.index(s.op), s.isa, s.flavour, engine_order(s.engine), s.machine),
    )


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


def model_of(label: str) -> str:
    """An engine label without its variants: `gem5/minor/sentinel` is `gem5/minor`."""
    return "/".join(label.split("/")[:2])


def _subject(sweep: Sweep) -> tuple[str, ...]:
    return (model_of(sweep.engine), sweep.machine, sweep.isa, sweep.flavour, sweep.op)


def regions(connection: sqlite3.Connection) -> list[Region]:
    """The ways to the region of interest side by side, from the runs of `roi/<isa>/<model>`."""
    found = []
    for (series,) in connection.execute(
        "SELECT DISTINCT name FROM series WHERE name GLOB 'roi/*/*' ORDER BY name"
    ).fetchall():
        _, isa, model = series.split("/", 2)
        by_workload: dict[str, dict[str, list[_Length]]] = {}
        for workload, way, length in _lengths(connection, series):
            by_workload.setdefault(workload, {}).setdefault(way, []).append(length)
        found += [_region(isa, model, work, ways) for work, ways in by_workload.items()]
    return sorted(found, key=lambda r: (r.isa, engine_order(f"gem5/{r.model}"), r.workload))


@dataclass(frozen=True)
class _Length:
    """A run of one length: pairs, cycles per pair inside the region, cycles of the whole run."""

    pairs: float
    cost: float
    total: float


def _lengths(connection: sqlite3.Connection, series: str) -> Iterator[tuple[str, str, _Length]]:
    """Good runs of a series as (workload, way to the region, length)."""
    for engine, lock, fence, variant, flavour, workload, pairs, cost, total in connection.execute(
        "SELECT engine, lock, fence, variant, flavour, workload, pairs.value, cost.value, "
        "total.value FROM series JOIN runs ON runs.id = series.run_id AND status = 'ok' "
        "JOIN metrics pairs ON pairs.run_id = id AND pairs.name = 'pairs' "
        "JOIN metrics cost ON cost.run_id = id AND cost.name = 'cycles_per_pair' "
        "JOIN metrics total ON total.run_id = id AND total.name = 'total_cycles' "
        "WHERE series.name = ? ORDER BY id",
        (series,),
    ):
        words = f"{name(label_of(lock, fence, variant))}, {workload}, {flavour}"
        yield words, engine.split("/")[-1], _Length(pairs, cost, total)


def _region(isa: str, model: str, workload: str, ways: dict[str, list[_Length]]) -> Region:
    longest = {way: max(found, key=lambda one: one.pairs) for way, found in ways.items()}
    by_m5, by_pc = (longest[way].cost if way in longest else None for way in ("m5", "pc_count"))
    by_differencing = _difference(ways.get("pc_count", []))
    known = [value for value in (by_m5, by_pc, by_differencing) if value is not None]
    spread = max(known) / min(known) - 1 if len(known) > 1 else None
    return Region(isa, model, workload, by_m5, by_pc, by_differencing, spread)


def _difference(runs: Sequence[_Length]) -> float | None:
    """Cycles that each further pair costs, from the whole programs of two lengths."""
    if len({one.pairs for one in runs}) < 2:
        return None
    short, *_, long = sorted(runs, key=lambda one: one.pairs)
    return (long.total - short.total) / (long.pairs - short.pairs)
