"""Where two locks change places along one axis, in one setting or in those of a plan."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from results.errors import LockcrossError
from results.store.records import CrossoverRecord
from results.store.store import Store
from sweeps.model.axes import QUANTITIES
from sweeps.model.cell import Cell
from sweeps.model.cells import digest
from sweeps.model.isa import ISAS
from sweeps.model.label import LockLabel
from sweeps.model.machine import load_machine
from sweeps.model.workloads import WORKLOADS, with_defaults
from sweeps.plans.sweep import LoadedPlan
from sweeps.run.runner import Runner
from sweeps.search.crossing import Point
from sweeps.search.facts import store_isas, store_machines
from sweeps.search.lines import axis_named, changed, check_cell, line_through, moved, with_lock
from sweeps.search.searches import CrossoverTask, points, records, search_all

PLAN = "crossovers"
_MOST_SETTINGS = 100  # of a plan: each is a search of its own


def base_cell(machine: str, isa: str, flavour: str, workload: str, engine: str) -> Cell:
    """A cell with defaults for all that is not given; its lock is still to be named."""
    if workload not in WORKLOADS:
        raise LockcrossError(f"workload {workload!r} is unknown; known are {', '.join(WORKLOADS)}")
    isa = isa or load_machine(machine).isas[0]
    if isa not in ISAS:
        raise LockcrossError(f"--isa: {isa!r} is unknown; known are {', '.join(ISAS)}")
    return Cell(
        engine=engine, machine=machine, isa=isa, flavour=flavour or ISAS[isa].flavours[0],
        lock="null", workload=workload, parameters=with_defaults(workload, {}),
        threads=WORKLOADS[workload].min_threads,
    )  # fmt: skip


def with_settings(base: Cell, given: Mapping[str, int | str]) -> Cell:
    """The cell with other values, by the names of axes and of the workload's keys. Raises
    LockcrossError."""
    for name, value in given.items():
        if name in base.parameters:
            base = replace(base, parameters={**base.parameters, name: value})
        elif isinstance(value, int):
            base = changed(base, axis_named(name, base.workload), value)
        else:
            axis_named(name, base.workload)  # reports an unknown name
            raise LockcrossError(f"--set {name}={value}: a whole number is expected")
    return base


def settings_of(plan: LoadedPlan, axis: str) -> list[Cell]:
    """The settings of a plan, whatever its locks are and where it stands on the axis."""
    found: dict[str, Cell] = {}
    for cell in plan.cells:
        name = axis_named(axis, cell.workload)
        plain = replace(cell.setting(), engine=cell.engine, lock="null", fence="full", seed=1)
        if name in plain.parameters:
            default = WORKLOADS[cell.workload].keys[name].default
            plain = replace(plain, parameters={**plain.parameters, name: default})
        else:
            changes: dict[str, Any] = {name: QUANTITIES[name].default}
            plain = replace(plain, **changes)
        found.setdefault(digest(vars(plain)), plain)
    if len(found) > _MOST_SETTINGS:
        raise LockcrossError(
            f"plan {plan.name} has {len(found)} settings; {_MOST_SETTINGS} at most are searched"
        )
    return list(found.values())


def coarse(low: int, high: int, count: int) -> tuple[int, ...]:
    """So many values from `low` to `high`, evenly spaced, or all there are. Raises
    LockcrossError."""
    if low >= high:
        raise LockcrossError(f"--from {low} --to {high}: --to must be the larger one")
    return tuple(sorted({low + (high - low) * n // (count - 1) for n in range(count)}))


def tasks_of(
    bases: Sequence[Cell], pair: tuple[LockLabel, LockLabel], axis: str, values: Sequence[int],
    tolerance: int,
) -> list[CrossoverTask]:  # fmt: skip
    """A search for each setting. Raises LockcrossError for an axis that cannot be run."""
    found = []
    for base in bases:
        name = axis_named(axis, base.workload)
        for label in pair:
            for x in (values[0], values[-1]):
                check_cell(with_lock(moved(base, name, x), label))
        series = f"asked/{name}/{digest([vars(base), pair])[:12]}"
        # Whoever names values wants to see what happens between them.
        line = replace(line_through(base, name, values, series, tolerance), modelled=False)
        found.append(CrossoverTask(line, *pair, tuple(values)))
    return found


def find(
    tasks: Sequence[CrossoverTask], seeds: int, store: Store, runner: Runner
) -> list[tuple[CrossoverTask, list[CrossoverRecord]]]:
    """Searches and stores what was found, in place of what an earlier search found there."""

    def evaluate(cells: Sequence[Cell]) -> list[Point]:
        return points(runner, cells, PLAN)

    searched = search_all(evaluate, tasks, range(2, 1 + seeds))
    found = [
        (one.task, records(one, one.task.line.cell(one.task.lock_a, one.task.coarse[0], 1).engine))
        for one in searched
    ]
    for task, kept in found:
        store.set_crossovers(kept, task.line.series)
    store_machines(store, {task.line.machine for task in tasks})
    store_isas(store)
    return found
