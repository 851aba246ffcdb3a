"""Runs a plan: its cells, then the searches along its axes; and stores series, crossovers and the
plan itself. A second run has nothing to do, one that was stopped goes on."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from results.store.facts import Fact
from results.store.store import Store
from sweeps.model.cell import NO_LOCK, Cell, unsupported_reason
from sweeps.model.locks import LockLabel
from sweeps.plans import STUDIES
from sweeps.run.runner import Runner
from sweeps.study import nodes
from sweeps.study.calibrate import LATENCY_OPS, Setting, calibrate, store_isas, store_machines
from sweeps.study.costs import Value, coordinates
from sweeps.study.crossings import pairs, points, search_all, store_crossovers
from sweeps.study.lines import FIRST_SEED, AxisLine, exact, set_to
from sweeps.study.plan import Along, LoadedPlan, Plan, load_plan

STUDY: Fact[Plan] = Fact("study", Plan)  # by the name of the plan


@dataclass(frozen=True)
class Search:
    """A line, and the locks of which each two are searched for along it."""

    line: AxisLine
    labels: Sequence[LockLabel]


def searches(plan: Plan) -> list[Search]:
    """Return every search of a plan. Raises ValueError for cells that do not make lines."""
    return [search for along in plan.along for search in _searches_along(plan, along)]


def _searches_along(plan: Plan, along: Along) -> list[Search]:
    if along.tolerance < along.step:
        raise ValueError(f"along: tolerance {along.tolerance:g} is less than step {along.step:g}")
    blocks = plan.named(along.cells)
    # A line has one cell for each value of the axis; its locks and seeds are still to be named.
    lines: dict[tuple[Value, ...], dict[float, Cell]] = {}
    for block in blocks:
        for cell in block.model_copy(update={"lock": [NO_LOCK], "variant": [""]}).cells():
            at = coordinates(cell)
            if missing := [name for name in (along.axis, *along.by) if name not in at]:
                raise ValueError(f"along: {missing[0]}: unknown; {along.cells} has {', '.join(at)}")
            line = lines.setdefault(tuple(at[name] for name in along.by), {})
            first, x = replace(cell, seed=FIRST_SEED), float(at[along.axis] or 0)
            if line.setdefault(x, first) != first:
                raise ValueError(
                    f"along: {along.cells}: two cells have {along.axis} = {x:g}; "
                    "`by` names what else differs"
                )
    labels = list(dict.fromkeys(cell.label for block in blocks for cell in plan.cells_of(block)))
    totals = blocks[0].totals
    return [
        Search(_line(along, dict(zip(along.by, held, strict=True)), cells, totals), labels)
        for held, cells in lines.items()
    ]


def _line(
    along: Along, held: dict[str, Any], cells: dict[float, Cell], totals: dict[str, int]
) -> AxisLine:
    """`held`: what else tells the line from others."""
    base = cells[min(cells)]

    def move(_: Cell, axis: str, x: Any) -> Cell:
        if x in cells:
            return cells[x]
        # As the cell of the next value: its machine has room.
        like = cells[min((value for value in cells if value > x), default=max(cells))]
        if axis == "links":
            return nodes.moved(like, x)
        parts = {key: -(-total // x) for key, total in totals.items() if axis == "threads"}
        return set_to(replace(like, parameters={**like.parameters, **parts}), axis, x)

    same = {
        key: value
        for key, value in {"threads": base.threads, **base.parameters}.items()
        if all(value == coordinates(cell).get(key) for cell in cells.values())
    }
    same.pop(along.axis, None)
    return AxisLine(
        "/".join((along.cells, *map(str, held.values()))),
        base,
        along.axis,
        tuple(map(exact, sorted(cells))),
        exact(along.tolerance),
        exact(along.step),
        {**same, **totals, **held},
        along.unit,
        move=move,
    )


class Job:
    """Runs a plan and stores the results."""

    def __init__(self, loaded: LoadedPlan, store: Store, runner: Runner) -> None:
        self._name, self._plan = loaded.name, loaded.plan
        self._store, self._runner = store, runner
        self.series: dict[str, list[Cell]] = {}
        for block in self._plan.blocks.values():
            for cell in self._plan.cells_of(block):
                if not (block.skip_unsupported and unsupported_reason(cell)):
                    at = coordinates(cell)
                    name = "/".join((block.name, *(str(at[axis]) for axis in block.apart)))
                    self.series.setdefault(name, []).append(cell)
        self._searches = searches(self._plan)

    def known_cells(self) -> list[Cell]:
        """Return every cell that can be named before anything has been run."""
        cells = [cell for some in self.series.values() for cell in some]
        cells += [cell for setting in self._settings() for cell in setting.loops().values()]
        return cells + [
            search.line.cell(label, x)
            for search in self._searches
            for x in search.line.values
            for label in search.labels
        ]

    def run(self) -> None:
        """Run everything and store series, crossovers and facts.

        Raises LockcrossError (exit code 1) when a run fails.
        """
        plan, runner, store = self._plan, self._runner, self._store
        runner.require(self.known_cells(), self._name)
        calibrate(runner, store, self._settings())
        tasks = [task for one in self._searches for task in pairs(one.line, one.labels)]
        seeds = range(FIRST_SEED + 1, FIRST_SEED + plan.seeds)
        found = search_all(partial(points, runner, self._name), tasks, seeds)
        store_crossovers(store, found, [search.line.series for search in self._searches])
        store_series(store, runner, self._name, self.series)
        store_machines(store, {cell.machine for cell in self.known_cells()})
        store_isas(store)
        STUDY.of(self._name).write(store, plan)

    def _settings(self) -> list[Setting]:
        """Return what is calibrated: every machine as it is, and those whose latencies are set at
        those of the plan."""
        if (calibration := self._plan.calibration) is None:
            return []
        settings: dict[Setting, None] = {}  # a set, in order
        for cell in (cell for some in self.series.values() for cell in some):
            for x in (None, *calibration.latencies):
                if x is None or cell.cas_latency is not None:
                    on = cell.machine, cell.isa, cell.flavour
                    settings[Setting(*on, x, x, cell.engine, ops=LATENCY_OPS)] = None
        return list(settings)


def store_series(
    store: Store, runner: Runner, plan: str, series: Mapping[str, Sequence[Cell]]
) -> None:
    """Store which runs make up each series. Raises LockcrossError (exit code 1) when one fails."""
    for name, cells in series.items():
        store.set_series(name, [run.id for run in runner.require(cells, plan)])


def study_of_cells(name: str) -> LoadedPlan | None:
    """Read a study by its name or its path; None for one that has no cells of its own, as those of
    the main job's kind. Raises LockcrossError (exit code 2)."""
    if not {"cells", "sweep"} & STUDIES.read(tomllib.loads, name).keys():
        return None
    return load_plan(name, STUDIES, lambda loaded: check(loaded.plan))


def check(plan: Plan) -> None:
    """Raise ValueError for names of axes that the cells do not have, and for cells that do not make
    lines."""
    searches(plan)
    asked = [(where, cells, cells.apart) for where, cells in plan.blocks.items()]
    asked += [
        (f"show.{number}", cells, [*([one.along] if one.along else []), *one.by])
        for number, one in enumerate(plan.show)
        for cells in plan.named(one.lines or one.map)
    ]
    for where, cells, axes in asked:
        known = coordinates(next(cells.cells()))
        if unknown := [axis for axis in axes if axis not in known]:
            raise ValueError(
                f"{where}: axis {unknown[0]!r} is unknown; known are {', '.join(known)}"
            )
