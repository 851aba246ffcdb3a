"""The interactive map on the page: the costs of every lock over CAS, fence and cancellation latency
and the owner's share, as the page's script reads them (templates/data.js).

A map comes from the grid of `./lockcross explore` (series `explore/...`); where there is none, from
the study's winner map, with one cancellation cost and one share. Beside them stand the machines as
they are, with the runs of the study's winner table, or those that the exploration makes of them.
"""

import itertools
import re
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from results.draw.drawing import Drawing
from results.errors import NoDataError
from results.store.facts import Fact
from results.store.queries import show_run
from sweeps.accuracy.errors import kind_of
from sweeps.model import engines
from sweeps.model.axes import LATENCIES, option
from sweeps.model.cell import Cell
from sweeps.model.isa import FLAVOURS, isa_words
from sweeps.model.locks import FENCE_KINDS, FULL, LOCK_ADD, LockLabel
from sweeps.report.presentation import Part, Presentation, References, Section
from sweeps.report.style import style_of
from sweeps.study.job import STUDY as STUDY_OF_CELLS
from sweeps.study.leads import Rule
from sweeps.study.lines import value_of
from sweeps.study.plan import MAP, Plan
from sweeps.study.results import Mark, StudyResults
from sweeps.study.runs import StudyRun

KIND = "explore"  # of the series
AS_IS = "explore/as_is"  # of the series of machines as they are
HOW = "./lockcross explore"  # the command that computes the grid
_SHARE = "owner_share"
# The kinds of fence that a page begins with, where they are: x86-64's production fence is a locked
# operation, the others have full fences alone.
_CHOSEN = ("rmw", FULL)
_DIGITS = 4  # behind the point, of cycles: what is shown with two is then rounded but once


class Check(BaseModel):
    """How far interpolated costs are off, as shares, where they were checked: in so many points,
    of so many costs; and in how many points another lock is the cheapest."""

    model_config = ConfigDict(strict=True, defer_build=True)
    points: int
    costs: int
    mean: float
    worst: float
    wrong: int


PLAN = STUDY_OF_CELLS.of("explore")
CHECK: Fact[dict[str, Check]] = Fact("explore/check", dict[str, Check])  # by MACHINE/FLAVOUR


def part(connection: sqlite3.Connection, _: References, __: Collection[Drawing]) -> Part | None:
    """Return the map; beside a study without any, how it is made."""
    results = StudyResults(connection)
    data, of_study = explorer_data(results), results.stored_plan is not None
    if not (data or of_study):
        return None
    return Part(
        [Section("explorer", "Explore the map")],
        {"explorer": data, "of_study": of_study, "how": HOW},
        title="Which Java lock is cheapest, and where the answer changes",
        style="explorer.css" if data else "",
    )


PRESENTATION = Presentation(part, alone=lambda connection: PLAN.optional(connection) is not None)


def explorer_data(results: StudyResults) -> dict[str, Any] | None:
    """Everything that the map shows, or None where the database has no map. Maps on the grid of
    `./lockcross explore` come first; `notes`: why some maps are missing."""
    explored, study = PLAN.optional(results.connection), results.stored_plan
    checked = CHECK.optional(results.connection) or {}
    kinds: dict[tuple[str, ...], str] = {}  # a map is shown once
    for kind, plan in ((KIND, explored), ("map", study)):
        for key in _keys(results, kind, plan):
            kinds.setdefault(key, kind)
    maps, notes, checks = [], [], []
    for (machine, isa_name, flavour), kind in kinds.items():
        name = f"{kind}/{machine}/{isa_name}/{flavour}"
        try:
            maps.append(_map(results, name, explored if kind == KIND else study))
        except NoDataError as missing:
            notes.append(f"machine {machine}, {isa_name} {flavour}: {missing.message}")
            continue
        if kind == KIND and (check := checked.get(f"{machine}/{flavour}")):
            checks.append(check)
    if not maps:
        return None
    locks = [lock for of_map in maps for lock in of_map["locks"]]
    names = dict.fromkeys(lock["lock"] for lock in locks)
    fences = {lock["kind"] for lock in locks}
    first = ("rmw", LOCK_ADD, FULL)  # as runtimes fence on x86-64, then mfence
    ordered = [kind for kind in first if kind in fences] + sorted(fences - {*first})
    off = accuracy(checks)
    return {
        "maps": maps,
        "processors": processors(results),
        "locks": [(name, LockLabel(name).words()) for name in names],
        "fences": [(kind, FENCE_KINDS.get(kind, kind)) for kind in ordered],
        "chosen": [kind for kind in _CHOSEN if kind in fences],
        "limits": (study.limits if study else {}) | (explored.limits if explored else {}),
        "notes": notes,
        "how": HOW,
        "accuracy": vars(off) if off else None,
    }


def accuracy(checks: Sequence[Check]) -> Check | None:
    """Return how far costs are off over several maps that were checked; None without one."""
    if not (costs := sum(check.costs for check in checks)):
        return None
    return Check(
        points=sum(check.points for check in checks),
        costs=costs,
        mean=sum(check.mean * check.costs for check in checks) / costs,
        worst=max(check.worst for check in checks),
        wrong=sum(check.wrong for check in checks),
    )


def _keys(results: StudyResults, kind: str, plan: Plan | None) -> list[tuple[str, ...]]:
    """Machine, ISA and flavour of the series of a kind, in the order of the plan's machines and of
    flavours."""
    machines = _machines(plan)

    def sort_key(key: tuple[str, ...]) -> tuple[int, int, str]:
        machine, _, flavour = key
        return (
            machines.index(machine) if machine in machines else len(machines),
            FLAVOURS.index(flavour) if flavour in FLAVOURS else len(FLAVOURS),
            "/".join(key),
        )

    keys = results.keys(kind)
    return sorted((key for key in keys if len(key) == 3), key=sort_key)  # series of AS_IS have more


def _machines(plan: Plan | None) -> list[str]:
    """Return the machines of a plan's maps, be it an exploration's or a main job's."""
    cells = (plan.named(KIND) or plan.named(MAP)) if plan else []
    return [machine for of_map in cells for machine in of_map.given("machine")]


@dataclass(frozen=True)
class CostGrid:
    """A map's costs. `given` and `axes`: the set values along CAS, fence, cancellation and share,
    and the same as on the map, where CAS and fence are measured cycles. `costs`: cycles per pair of
    each lock, in this shape; an axis that the lock does not depend on has length 1. `runs`: for
    each lock the one that sets the most latencies."""

    given: Sequence[Sequence[float]]
    axes: Sequence[Sequence[float]]
    costs: Mapping[LockLabel, NDArray[np.float64]]
    runs: Mapping[LockLabel, StudyRun]

    def at(self, label: LockLabel, point: Sequence[float]) -> float:
        """Return a lock's cost at a point of `axes`, along straight lines between those of the
        grid."""
        costs = self.costs[label]
        for axis, value in zip(self.axes, point, strict=True):
            along = np.reshape(costs, (costs.shape[0], -1))
            xs = axis if len(along) > 1 else [value]
            line = [float(np.interp(value, xs, column)) for column in along.T]
            costs = np.reshape(line, costs.shape[1:])
        return float(costs)


def cost_grid(results: StudyResults, name: str) -> CostGrid:
    """Return the grid of a series. Raises NoDataError when some of its runs or calibrations are
    missing."""
    _, machine, isa_name, flavour = name.split("/")
    runs = results.series(name)
    if not runs:
        raise NoDataError("all of its runs failed")
    axes = (*LATENCIES[:3], _SHARE)
    given = [sorted({x for run in runs for x in run.values(axis)}) for axis in axes]
    if not (given[0] and given[1]):
        raise NoDataError(f"its runs do not say at which latencies they are; run {HOW}")
    if not given[2]:  # no run sets it: they have the machine's own
        given[2] = [runs[0].cancel or 0]
    engine_label = runs[0].cell.engine
    cas, fence = (
        list(map(results.measured(machine, isa_name, flavour, axis, engine_label), values))
        for axis, values in zip(LATENCIES, given[:2], strict=False)
    )
    by_label: dict[LockLabel, list[StudyRun]] = {}
    for run in runs:
        by_label.setdefault(run.label, []).append(run)
    costs, fullest = {}, {}
    for label, own in by_label.items():
        # A lock does not depend on an axis where each run of it stands at several values, or none.
        fixed = [all(len(run.values(axis)) != 1 for run in own) for axis in axes]
        costs[label] = np.full([1 if fixed[n] else len(given[n]) for n in range(4)], np.nan)
        free = [axis for axis, no in zip(axes, fixed, strict=True) if not no]
        for run in own:
            for values in run.points(*free):
                at = dict(zip(free, values, strict=True))
                place = (
                    xs.index(at[axis]) if axis in at else 0
                    for axis, xs in zip(axes, given, strict=True)
                )
                costs[label][tuple(place)] = run.cost
        if np.isnan(costs[label]).any():
            raise NoDataError(f"runs of {label} are missing; run {HOW}")
        fullest[label] = max(
            own, key=lambda run: sum(getattr(run.cell, axis) is not None for axis in LATENCIES)
        )
    return CostGrid(given, [cas, fence, *given[2:]], costs, fullest)


def _map(results: StudyResults, name: str, plan: Plan | None) -> dict[str, Any]:
    """Return one map. `searched`: the cancellation cost and the share of the crossings' search.
    Raises NoDataError when some of its runs or calibrations are missing."""
    grid = cost_grid(results, name)
    first, *_ = grid.runs.values()
    aside = plan.aside if plan else []
    cas, fence, cancel, share = grid.axes
    own = _mark_of(results, first)
    return {
        **_common(results, first, plan.tie if plan else 0.0, grid.costs),
        **_crossings(results, first),
        "explored": name.startswith(f"{KIND}/"),
        "cas": {"measured": _rounded(cas), "set": grid.given[0]},
        "fence": {"measured": _rounded(fence), "set": grid.given[1]},
        "cancel": cancel,
        "share": share,
        "runs": first.cell.parameters.get("runs", 0),
        "locks": [
            {
                **of_label(label),
                "aside": label.lock in aside,
                "shape": costs.shape,
                "costs": _rounded(np.ravel(costs)),
                "command": _template(_command(results, grid.runs[label])),
            }
            for label, costs in grid.costs.items()
        ],
        "own": _mark(own, own.assumed) if own else None,
    }


def processors(results: StudyResults) -> list[dict[str, Any]]:
    """Return the machines as they are, with their cores, caches and latencies: those of the study's
    winner table, then further ones of an exploration. Their locks come cheapest first; costs are as
    stored, and beside them as the tables of the page have them."""
    known: dict[tuple[str, ...], dict[str, Any]] = {}
    explored = PLAN.optional(results.connection)
    for kind, plan in (("table", results.stored_plan), (AS_IS, explored)):
        if plan is None:
            continue
        label = results.engine if kind == "table" else engines.DEFAULT
        for key in _keys(results, kind, plan):
            neutral = key[0] in _machines(plan)  # by intent, not for want of a figure
            # As in the table: a core model with costs of its own is not a real processor's.
            if key in known or (engines.entry(label).own_costs and not neutral):
                continue
            runs = results.series("/".join((kind, *key)))
            if not runs or (place := _mark_of(results, runs[0])) is None:
                continue  # without a good run, or not calibrated
            known[key] = {
                **_common(results, runs[0], plan.tie, [run.label for run in runs]),
                **_mark(place, place.assumed and not neutral),
                "cancel": runs[0].cancel or 0,
                "share": value_of(runs[0].cell, _SHARE),
                "locks": [
                    {
                        **of_label(run.label),
                        "cost": run.cost,
                        "shown": f"{run.cost:.1f}",
                        "command": _command(results, run),
                    }
                    for run in sorted(runs, key=lambda run: (run.cost, run.label))
                ],
            }
    return list(known.values())


def _crossings(results: StudyResults, like: StudyRun) -> dict[str, Any]:
    """Return the study's searched crossovers on a map, if they are of the same workload, with the
    cancellation cost and the share that they were searched with."""
    cell = like.cell
    place = cell.machine, cell.isa, cell.flavour
    name = "/".join(("map", *place))
    runs = []
    if results.stored_plan and results.engine == cell.engine:
        runs = results.series(name)
    if not runs or _workload(runs[0].cell) != _workload(cell):
        return {"crossings": [], "searched": {"cancel": None, "share": 0}}
    cas, fence = (results.measured(*place, axis) for axis in ("cas_latency", "fence_latency"))
    return {
        "crossings": [
            {
                "pair": [crossing.lock_a, crossing.lock_b],
                "cas": round(crossing.cas, _DIGITS),
                "fence": round(crossing.fence, _DIGITS),
            }
            for crossing in results.map_crossings(name, cas, fence)
        ],
        "searched": {
            "cancel": runs[0].cancel,
            "share": value_of(runs[0].cell, _SHARE),
        },
    }


def _workload(cell: Cell) -> tuple[Any, ...]:
    keys = {key: value for key, value in cell.parameters.items() if key != _SHARE}
    return cell.workload, cell.threads, keys


def _common(
    results: StudyResults, run: StudyRun, tie: float, labels: Iterable[LockLabel]
) -> dict[str, Any]:
    """Return the common part of a map and a machine as it is."""
    cell = run.cell
    title, out_of_order = results.connection.execute(
        "SELECT title, json_extract(description, '$.out_of_order') IS NOT NULL FROM machines "
        "WHERE name = ?",
        (cell.machine,),
    ).fetchone() or (cell.machine, False)
    known, keys = results.isa(cell.isa), cell.parameters
    threads = "1 thread" if cell.threads == 1 else f"{cell.threads} threads"
    return {
        "machine": cell.machine,
        "title": title,
        "core": "out of order" if out_of_order else "in order",
        "isa": isa_words(known.title, cell.flavour),
        "flavour": cell.flavour,
        "fenceName": known.full_fence,
        "tie": tie,
        "least": least_leads(Rule.of(cell, tie), labels),
        "workload": f"{threads}; {keys.get('objects')} objects, each of which goes through "
        f"{keys.get('runs')} runs of {keys.get('run_length')} acquisitions by one thread",
    }


def _mark_of(results: StudyResults, run: StudyRun) -> Mark | None:
    """Return where a run's machine stands, if it was calibrated on the run's engine."""
    cell = run.cell
    every = results.marks(cell.isa, cell.flavour, cell.engine)
    return next((mark for mark in every if mark.machine == cell.machine), None)


def _mark(mark: Mark, assumed: bool) -> dict[str, Any]:
    return {
        "name": mark.machine + "*" * assumed,
        "title": mark.title,
        "cas": round(mark.cas, _DIGITS),
        "fence": round(mark.fence, _DIGITS),
    }


def least_leads(rule: Rule, labels: Iterable[LockLabel]) -> dict[str, float]:
    """Return the least lead that is no tie, by the kinds of two locks."""
    kinds = {kind_of(label): label for label in labels}
    return {
        f"{one}/{other}": rule.least(kinds[one], kinds[other])
        for one, other in itertools.product(kinds, repeat=2)
    }


def of_label(label: LockLabel) -> dict[str, Any]:
    return {
        "label": label,
        "lock": label.lock,
        "kind": label.fence,
        "atomics": kind_of(label),
        "words": label.words(),
        "colour": style_of(label).colour,
    }


def _command(results: StudyResults, run: StudyRun) -> str:
    return str(show_run(results.connection, run.id).columns["command"])


def _template(command: str) -> str:
    """Return a run's command with `{cas_latency}`, `{fence_latency}`, `{cancel_latency}` and
    `{owner_share}` for the set values."""
    for axis in LATENCIES:
        command = re.sub(rf"({option(axis)}) \d+", rf"\1 {{{axis}}}", command)
    return re.sub(rf"({_SHARE}=)[\d.]+", rf"\1{{{_SHARE}}}", command)


def _rounded(values: Iterable[float]) -> list[float]:
    return [round(float(value), _DIGITS) for value in values]
