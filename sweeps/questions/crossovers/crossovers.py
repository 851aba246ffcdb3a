"""Where two locks change places along one axis, in one setting or in those of a plan."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from results.errors import LockcrossError
from results.store.records import CrossoverRecord
from results.store.store import Store
from sweeps.model.cell import AXES, Cell, cell_of
from sweeps.model.cells import digest
from sweeps.model.isa import ISAS
from sweeps.model.label import FULL, LockLabel
from sweeps.model.machine import load_machine
from sweeps.model.workloads import WORKLOADS, with_defaults
from sweeps.plans.sweep import LoadedPlan
from sweeps.run.runner import Runner
from sweeps.search.facts import store_isas, store_machines
from sweeps.search.lines import NO_LOCK, AxisLine, axis_named, check_cell, set_to, with_lock
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
        lock=NO_LOCK, workload=workload, parameters=with_defaults(workload, {}),
        threads=WORKLOADS[workload].min_threads,
    )  # fmt: skip


def with_settings(base: Cell, given: Mapping[str, int | str]) -> Cell:
    """The cell with other values, by the names of axes and of the workload's keys. Raises
    LockcrossError."""
    for name, value in given.items():
        if name in base.parameters:
            base = replace(base, parameters={**base.parameters, name: value})
            continue
        axis = axis_named(name, base.workload)
        if not isinstance(value, int):
            raise LockcrossError(f"--set {name}={value}: a whole number is expected")
        base = set_to(base, axis, value)
    return base


def settings_of(plan: LoadedPlan, axis: str) -> list[Cell]:
    """The settings of a plan, whatever its locks are and where it stands on the axis."""
    own = {axis.name: axis.default for axis in AXES}
    found: dict[str, Cell] = {}
    for cell in plan.cells:
        name = axis_named(axis, cell.workload)
        plain = cell_of(cell, lock=NO_LOCK, variant="", fence=FULL, seed=1)
        if name in plain.parameters:
            default = WORKLOADS[cell.workload].keys[name].default
            plain = replace(plain, parameters={**plain.parameters, name: default})
        else:
            plain = cell_of(plain, **{name: own[name]})
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
        series = f"asked/{name}/{digest([vars(base), pair])[:12]}"
        # Whoever names values wants to see what happens between them.
        line = AxisLine(series, base, name, tuple(values), tolerance, modelled=False)
        for label, x in itertools.product(pair, line.limits):
            check_cell(with_lock(set_to(base, name, x), label))
        found.append(CrossoverTask(line, *pair, line.values))
    return found


def find(
    tasks: Sequence[CrossoverTask], seeds: int, store: Store, runner: Runner
) -> list[tuple[CrossoverTask, list[CrossoverRecord]]]:
    """Searches and stores what was found, in place of what an earlier search found there."""
    searched = search_all(partial(points, runner, PLAN), tasks, range(2, 1 + seeds))
    found = [(one.task, records(one)) for one in searched]
    for task, kept in found:
        store.set_crossovers(kept, task.line.series)
    store_machines(store, {task.line.base.machine for task in tasks})
    store_isas(store)
    return found
