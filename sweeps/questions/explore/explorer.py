"""What the report's interactive map is made of: the costs of every lock over CAS, fence and
cancellation latency and the owner's share.

A map comes from the grid of `./lockcross explore` (series `explore/...`); where there is none, from
the study's winner map, with one cancellation cost and one share. Beside them stand the machines as
they are, with the runs of the study's winner table, or those that the exploration makes of them.
"""

import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from results.errors import NoDataError
from results.store.facts import Fact
from results.store.queries import show_run
from sweeps.model import engines
from sweeps.model.axes import LATENCIES
from sweeps.model.cell import option
from sweeps.model.locks import FULL, LockLabel
from sweeps.model.workloads import Value
from sweeps.search.found import PLAN as STUDY
from sweeps.search.found import (
    Check,
    FactModel,
    Isa,
    MapCrossing,
    Mark,
    PlanFact,
    SeriesRun,
    accuracy,
    engine,
    isa,
    map_check,
    map_crossings,
    measured,
    places,
    series,
)
from sweeps.search.lines import value_of

KIND = "explore"  # of the series
AS_IS = "explore/as_is"  # of the series of machines as they are
_SHARE = "owner_share"


class ExploreFact(FactModel):
    """The plan of the maps."""

    machines: list[str]
    flavours: list[str]
    aside: list[str] = []
    tie_percent: float
    limits: dict[str, str] = {}


PLAN: Fact[ExploreFact] = Fact(KIND, ExploreFact)
CHECK: Fact[dict[str, Check]] = Fact("explore/check", dict[str, Check])  # by MACHINE/FLAVOUR


@dataclass(frozen=True)
class LockCosts:
    """A lock's cycles per pair, of shape (CAS, fence, cancellation, share). An axis that the lock
    does not depend on has length 1. `command` repeats one of the runs, with `{cas_latency}`,
    `{fence_latency}`, `{cancel_latency}` and `{owner_share}` for what is set."""

    label: LockLabel
    costs: NDArray[np.float64]
    command: str

    def at(self, axes: Sequence[Sequence[float]], point: Sequence[float]) -> float:
        """The cost at a point of the map's axes, along straight lines between those of the grid."""
        costs = self.costs
        for axis, value in zip(axes, point, strict=True):
            along = np.reshape(costs, (costs.shape[0], -1))
            xs = axis if len(along) > 1 else [value]
            line = [float(np.interp(value, xs, column)) for column in along.T]
            costs = np.reshape(line, costs.shape[1:])
        return float(costs)


@dataclass(frozen=True)
class ExplorerMap:
    """The costs on one machine in one flavour. `cas` and `fence` are measured cycles, and beside
    them those that were set. `explored`: it is a grid of `./lockcross explore`. `searched`: the
    cancellation cost and the share with which the crossings were searched."""

    machine: str
    title: str
    out_of_order: bool
    isa: Isa
    flavour: str
    explored: bool
    cas: tuple[float, ...]
    cas_set: tuple[float, ...]
    fence: tuple[float, ...]
    fence_set: tuple[float, ...]
    cancel: tuple[float, ...]
    share: tuple[float, ...]
    locks: tuple[LockCosts, ...]
    aside: tuple[str, ...]
    tie: float
    threads: int
    parameters: Mapping[str, Value]
    own: Mark | None
    crossings: tuple[MapCrossing, ...] = ()
    searched: tuple[int | None, float] = (None, 0)


@dataclass(frozen=True)
class RunCost:
    """What a lock costs in one run (cycles per pair), and the command that repeats it."""

    label: LockLabel
    cost: float
    command: str


@dataclass(frozen=True)
class Processor:
    """A machine as it is: its own core, caches and latencies, and its own cost of a cancellation.
    `place`: its measured CAS and fence. `cancel`: cycles; `share`: the owner's;
    `locks`: a run each, the cheapest first; `tie`: a lead below this share is a tie."""

    place: Mark
    isa: Isa
    flavour: str
    out_of_order: bool
    cancel: int
    share: float
    threads: int
    parameters: Mapping[str, Value]
    locks: tuple[RunCost, ...]
    tie: float


@dataclass(frozen=True)
class Explorer:
    """Every map, those on the grid of `./lockcross explore` first, and why some are missing; and
    every machine as it is, the study's own first."""

    maps: tuple[ExplorerMap, ...]
    processors: tuple[Processor, ...]
    notes: tuple[str, ...]
    limits: Mapping[str, str]
    accuracy: Check | None = None


def explorer(connection: sqlite3.Connection) -> Explorer:
    """Every map that a database holds runs for."""
    explored, study = PLAN.optional(connection), STUDY.optional(connection)
    checked = CHECK.optional(connection) or {}
    kinds: dict[tuple[str, ...], str] = {}  # a map is shown once
    for kind, plan in ((KIND, explored), ("map", study)):
        for name in _names(connection, kind, plan):
            if name.count("/") == 3:
                kinds.setdefault(tuple(name.split("/")[1:]), kind)
    maps, notes, checks = [], [], list[Check]()
    for (machine, isa_name, flavour), kind in kinds.items():
        try:
            maps.append(_map(connection, kind, machine, isa_name, flavour))
        except NoDataError as missing:
            notes.append(f"machine {machine}, {isa_name} {flavour}: {missing.message}")
            continue
        check: Check | None
        if kind == KIND:
            check = checked.get(f"{machine}/{flavour}")
        else:
            check = map_check(connection, f"{kind}/{machine}/{isa_name}/{flavour}")
        checks += [check] if check else []
    limits = (study.limits if study else {}) | (explored.limits if explored else {})
    return Explorer(tuple(maps), processors(connection), tuple(notes), limits, accuracy(checks))


def _names(
    connection: sqlite3.Connection, kind: str, plan: ExploreFact | PlanFact | None
) -> list[str]:
    """The series of a kind, in the order of the plan's machines and flavours."""
    own, flavours = (plan.machines, plan.flavours) if plan else ([], [])

    def place(name: str) -> tuple[int, int, str]:
        machine, _, flavour = parts = name.split("/")[-3:]
        return (
            own.index(machine) if machine in own else len(own),
            flavours.index(flavour) if flavour in flavours else len(flavours),
            "/".join(parts),
        )

    rows = connection.execute(
        "SELECT DISTINCT name FROM series WHERE name GLOB ?", (f"{kind}/*",)
    ).fetchall()
    return sorted((name for (name,) in rows), key=place)


def processors(connection: sqlite3.Connection) -> tuple[Processor, ...]:
    """The machines as they are: those of the study's winner table, then what else an exploration
    has run."""
    known: dict[tuple[str, ...], Processor] = {}
    for kind, plan in (("table", STUDY.optional(connection)), (AS_IS, PLAN.optional(connection))):
        if plan is None:
            continue
        label = engine(connection) if kind == "table" else engines.DEFAULT
        own = plan.machines
        for name in _names(connection, kind, plan):
            machine, isa_name, flavour = key = tuple(name.split("/")[-3:])
            # As in the table: a core model with costs of its own is not a real processor's.
            if key in known or (engines.entry(label).own_costs and machine not in own):
                continue
            place = _place(connection, machine, isa_name, flavour, label)
            runs = series(connection, name)
            if place is None or not runs:
                continue  # not calibrated, or without a good run
            if machine in own:  # neutral by intent, not for want of a figure
                place = replace(place, assumed=False)
            first = runs[0]
            known[key] = Processor(
                place, isa(connection, isa_name), flavour, _titled(connection, machine)[1],
                first.latency("cancel_latency", "charge_stop") or 0,
                value_of(first.cell, _SHARE), first.cell.threads, _parameters(first),
                tuple(
                    RunCost(run.label, run.cost, _command(connection, run.id))
                    for run in sorted(runs, key=lambda run: (run.cost, run.label))
                ),
                plan.tie_percent / 100,
            )  # fmt: skip
    return tuple(known.values())


def _place(
    connection: sqlite3.Connection, machine: str, isa_name: str, flavour: str, label: str
) -> Mark | None:
    """Where a machine stands that was calibrated on an engine."""
    every = places(connection, isa_name, flavour, label)
    return next((one for one in every if one.machine == machine), None)


def _titled(connection: sqlite3.Connection, machine: str) -> tuple[str, bool]:
    """The title of a machine, and whether its core is out of order."""
    title, ooo = connection.execute(
        "SELECT title, json_extract(description, '$.out_of_order') IS NOT NULL FROM machines "
        "WHERE name = ?",
        (machine,),
    ).fetchone() or (machine, 0)
    return str(title), bool(ooo)


def _parameters(run: SeriesRun) -> dict[str, Value]:
    """Of the workload, but for the owner's share."""
    return {key: value for key, value in run.cell.parameters.items() if key != _SHARE}


def _command(connection: sqlite3.Connection, run: int) -> str:
    return str(show_run(connection, run).columns["command"])


def _map(
    connection: sqlite3.Connection, kind: str, machine: str, isa_name: str, flavour: str
) -> ExplorerMap:
    """One map. Raises NoDataError when some of its runs or calibrations are missing."""
    known, explored = isa(connection, isa_name), kind == KIND
    plan = PLAN.optional(connection) if explored else STUDY.optional(connection)
    label = engines.DEFAULT if explored else engine(connection)
    name = f"{kind}/{machine}/{isa_name}/{flavour}"
    runs = series(connection, name)
    if not runs:
        raise NoDataError("all of its runs failed")
    # A run at the machine's own cancellation may be one that a study asked for without setting it.
    cancelling = {run.label for run in runs if run.cell.cancel_latency is not None}
    # What is set of a run along each axis; None for a latency that its lock does not pay, or that
    # the map does not set.
    points: dict[int, tuple[float | None, ...]] = {
        run.id: (
            run.latency("cas_latency", "cas_success"),
            run.latency("fence_latency", f"fence_{known.full_fence}")
            if run.label.fence == FULL
            else None,
            run.latency("cancel_latency", "charge_stop") if run.label in cancelling else None,
            value_of(run.cell, _SHARE),
        )
        for run in runs
    }
    if not explored and (check := map_check(connection, name)):
        cas_nodes, fence_nodes = check.cas_latency, [None, *check.fence_latency]
        runs = [
            run
            for run in runs
            if points[run.id][0] in cas_nodes and points[run.id][1] in fence_nodes
        ]
    axes = [sorted({x for run in runs if (x := points[run.id][n]) is not None}) for n in range(4)]
    first = runs[0]
    if not axes[2]:  # no run sets it: they have the machine's own
        axes[2] = [first.latency("cancel_latency", "charge_stop") or 0]
    cas, fence = (
        tuple(map(measured(connection, machine, isa_name, flavour, axis, label), values))
        for axis, values in (("cas_latency", axes[0]), ("fence_latency", axes[1]))
    )
    title, ooo = _titled(connection, machine)
    crossings, searched = _crossings(connection, machine, isa_name, flavour, first)
    return ExplorerMap(
        machine, title, ooo, known, flavour, explored, cas, tuple(axes[0]), fence,
        tuple(axes[1]), tuple(axes[2]), tuple(axes[3]), _locks(connection, runs, points, axes),
        tuple(plan.aside if isinstance(plan, ExploreFact) else plan.table_locks if plan else ()),
        (plan.tie_percent if plan else 0.0) / 100, first.cell.threads, _parameters(first),
        _place(connection, machine, isa_name, flavour, label), crossings, searched,
    )  # fmt: skip


def _locks(
    connection: sqlite3.Connection,
    runs: Iterable[SeriesRun],
    points: Mapping[int, tuple[float | None, ...]],
    axes: Sequence[Sequence[float]],
) -> tuple[LockCosts, ...]:
    """The costs of every lock on the grid. Raises NoDataError when a point is missing."""
    by_label: dict[LockLabel, list[SeriesRun]] = {}
    for run in runs:
        by_label.setdefault(run.label, []).append(run)
    locks = []
    for label, own in by_label.items():
        fixed = [all(points[run.id][n] is None for run in own) for n in range(4)]
        costs = np.full([1 if fixed[n] else len(axes[n]) for n in range(4)], np.nan)
        for run in own:
            place = zip(points[run.id], axes, fixed, strict=True)
            costs[tuple(0 if no else list(axis).index(x or 0) for x, axis, no in place)] = run.cost
        if np.isnan(costs).any():
            raise NoDataError(f"runs of {label} are missing; run ./lockcross explore")
        fullest = max(own, key=lambda run: sum(getattr(run.cell, x) is not None for x in LATENCIES))
        command = _command(connection, fullest.id)
        for axis in LATENCIES:
            command = re.sub(rf"({option(axis)}) \d+", rf"\1 {{{axis}}}", command)
        command = re.sub(rf"({_SHARE}=)[\d.]+", rf"\1{{{_SHARE}}}", command)
        locks.append(LockCosts(label, costs, command))
    return tuple(locks)


def _crossings(
    connection: sqlite3.Connection, machine: str, isa_name: str, flavour: str, like: SeriesRun
) -> tuple[tuple[MapCrossing, ...], tuple[int | None, float]]:
    """The study's searched crossovers on this map, if they are of the same workload, with the
    cancellation cost and the share that they were searched with."""
    name = f"map/{machine}/{isa_name}/{flavour}"
    runs = []
    if STUDY.optional(connection) is not None and engine(connection) == like.cell.engine:
        runs = series(connection, name)
    if not runs or _workload(runs[0]) != _workload(like):
        return (), (None, 0)
    cas, fence = (
        measured(connection, machine, isa_name, flavour, axis)
        for axis in ("cas_latency", "fence_latency")
    )
    at = (runs[0].latency("cancel_latency", "charge_stop"), value_of(runs[0].cell, _SHARE))
    return tuple(map_crossings(connection, name, cas, fence)), at


def _workload(run: SeriesRun) -> tuple[Any, ...]:
    return run.cell.workload, run.cell.threads, _parameters(run)
