"""`lockcross crossings`: where locks change places along an axis, in one setting or in those of a
plan."""

import itertools
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Annotated

import typer

from results.errors import LockcrossError, check_known
from results.paths import DATABASE
from results.store.records import CrossoverRecord
from results.store.store import Store
from results.text.rows import Form, Format, Rows, print_parts
from sweeps.cli import options
from sweeps.cli.options import Database, Jobs, NoServer, Seeds, names_of, served
from sweeps.cli.progress import one_bar
from sweeps.model import engines
from sweeps.model.axes import AXES
from sweeps.model.cell import NO_LOCK, Cell, cell_of, digest, isa_and_flavour
from sweeps.model.isa import ISAS
from sweeps.model.locks import FULL, LockLabel
from sweeps.model.machine import machine_named
from sweeps.model.workloads import WORKLOADS, Value, read_value, with_defaults
from sweeps.questions.crossings.answer import ENGINE, TABLE, cheapest_words, row_of
from sweeps.run.runner import Runner
from sweeps.study.calibrate import store_isas, store_machines
from sweeps.study.crossings import CrossoverTask, points, search_all, store_crossovers
from sweeps.study.lines import (
    AxisLine,
    axis_named,
    check_cell,
    check_label,
    exact,
    granularity,
    set_to,
)
from sweeps.study.plan import LoadedPlan, load_plan

PLAN = "crossovers"
_MOST_SETTINGS = 100  # of a plan: each is a search of its own
_POINTS = 5  # with which a search begins
# What is chosen by its name, and the option that chooses it; the locks are what is compared.
_OWN_OPTIONS = {name: f"--{name}" for name in ("engine", "machine", "isa", "flavour", "workload")}
_OWN_OPTIONS |= dict.fromkeys(("lock", "variant", "fence"), "--locks, as tasuki/rmw")
_SHARE = 250  # of the axis: the tolerance if none is given


def crossings(  # noqa: PLR0913, PLR0917 its options are its arguments
    locks: Annotated[
        str,
        options.option(f"{options.LOCKS}; two or more.", options.several_locks),
    ],
    axis: Annotated[
        str, typer.Option(help="cas_latency, fence_latency, cancel_latency, threads, a key, ...")
    ],
    low: Annotated[float, typer.Option(help="Where the axis begins.")],
    high: Annotated[float, typer.Option(help="Where it ends.")],
    plan: Annotated[str, options.of_plan("the one setting that the other options name")] = "",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="key=value: what stays the same; a key, threads, cas_latency..."
        ),
    ] = None,
    workload: Annotated[
        str, options.option("A workload's name.", options.workloads)
    ] = "lock_sequence",
    machine: Annotated[str, options.machine("")] = "generic",
    isa: Annotated[str, options.isa()] = "",
    flavour: Annotated[str, options.flavour()] = "",
    engine: Annotated[str, options.option("The engine.", options.engines)] = engines.DEFAULT,
    tolerance: Annotated[
        float, typer.Option(min=0, help="Width of the bracket; 0: 1/250 of the axis.")
    ] = 0,
    coarse_points: Annotated[
        int, typer.Option("--points", min=2, max=1000, help="Values to begin with.")
    ] = _POINTS,
    seeds: Seeds = 1,
    form: Format = Form.TABLE,
    figure: options.FigureFile = None,
    jobs: Jobs = 0,
    no_server: NoServer = False,
    db: Database = DATABASE,
) -> None:
    """Find where one lock starts to beat another along any numeric axis of any workload.

    With --plan, in every setting of the plan; of more than two locks, also which is the cheapest.
    """
    labels = [check_label(name) for name in names_of([locks], "--locks")]
    if len(labels) < 2 or len({*labels}) < len(labels):
        raise LockcrossError(
            "--locks: two different locks are expected, or more, e.g. thin,reservation"
        )
    if low >= high:
        raise LockcrossError(f"--low {low:g} --high {high:g}: --high must be the larger one")
    given: dict[str, Value] = {}
    for text in settings or []:
        key, equals, value = text.partition("=")
        if option := _OWN_OPTIONS.get(key):
            raise LockcrossError(f"--set {text}: has an option of its own: {option}")
        if not equals or key in given:
            raise LockcrossError(f"--set {text}: key=value is expected, each key once")
        given[key] = read_value(value)
    if plan:
        bases = settings_of(load_plan(plan), axis)
    else:
        bases = [base_cell(machine_named(machine), isa, flavour, workload, engine)]
    bases = [with_settings(base, given) for base in bases]
    if figure is not None:
        from results.draw.painter import check_file, save

        if len(bases) > 1:
            raise LockcrossError("--figure: one setting at a time")
        check_file(figure)
    tasks = [
        task_of(base, pair, axis, (low, high), tolerance, coarse_points)
        for base in bases
        for pair in itertools.combinations(labels, 2)
    ]
    cells = len(bases) * len(labels) * coarse_points
    with Store(db) as store, one_bar(cells, at_least=True) as progress:
        found = find(tasks, seeds, store, Runner(store, jobs, progress, served(no_server), True))
    every = [one for some in found.values() for one in some]
    rows = [row_of(series, one) for series, some in found.items() for one in some]
    words = [*cheapest_words(every, len(labels)), *work_around(bases, axis)]
    print_parts(form, Rows(rows, TABLE), ENGINE, *words, fold=False)
    if figure is not None:
        from sweeps.questions.crossings.figure import draw_crossings

        save(figure, lambda: draw_crossings(every))
        print(figure, file=sys.stderr)


def work_around(bases: Sequence[Cell], axis: str) -> list[str]:
    """Return in words the work assumed around the lock, which `advise` leaves out unless told."""
    work = {
        f"{key}={cell.parameters[key]}": None
        for cell in bases
        for key in ("critical", "think")
        if key in cell.parameters and key != axis
    }
    if all(words.endswith("=0") for words in work):
        return []
    zero = " ".join(f"--set {name}=0" for name in ("critical", "think") if name != axis)
    return [
        f"Work around the lock: {', '.join(work)} turns of a delay loop. `advise` assumes none; "
        f"{zero} asks the same here."
    ]


def base_cell(machine: str, isa: str, flavour: str, workload: str, engine: str) -> Cell:
    """Return a cell with defaults for all that is not given; its lock is still to be named."""
    check_known("workload", [workload], WORKLOADS)
    isa, flavour = isa_and_flavour(machine, isa, flavour)
    check_known("--isa:", [isa], ISAS)
    return Cell(
        engine=engine,
        machine=machine,
        isa=isa,
        flavour=flavour,
        lock=NO_LOCK,
        workload=workload,
        parameters=with_defaults(workload, {}),
        threads=WORKLOADS[workload].min_threads,
    )


def with_settings(base: Cell, given: Mapping[str, Value]) -> Cell:
    """Return the cell with other values, by the names of axes and of the workload's keys. Raises
    LockcrossError."""
    for name, value in given.items():
        if name in base.parameters:
            given_here = with_defaults(base.workload, {**base.parameters, name: value})
            base = replace(base, parameters=given_here)
            continue
        axis = axis_named(name, base.workload)
        if not isinstance(value, int):
            raise LockcrossError(f"--set {name}={value}: a whole number is expected")
        base = set_to(base, axis, value)
    return base


def settings_of(plan: LoadedPlan, axis: str) -> list[Cell]:
    """Return the settings of a plan, whatever its locks are and where it stands on the axis."""
    own = {axis.name: axis.default for axis in AXES}
    settings: dict[str, Cell] = {}
    for cell in plan.cells:
        name = axis_named(axis, cell.workload)
        plain = cell_of(cell, lock=NO_LOCK, variant="", fence=FULL, seed=1)
        if name in plain.parameters:
            default = WORKLOADS[cell.workload].keys[name].default
            plain = replace(plain, parameters={**plain.parameters, name: default})
        else:
            plain = cell_of(plain, **{name: own[name]})
        settings.setdefault(digest(vars(plain)), plain)
    if len(settings) > _MOST_SETTINGS:
        raise LockcrossError(
            f"plan {plan.name} has {len(settings)} settings; {_MOST_SETTINGS} at most are searched"
        )
    return list(settings.values())


def coarse(low: Fraction, high: Fraction, count: int, step: Fraction) -> tuple[Fraction, ...]:
    """Return so many values from `low` to `high`, evenly spaced, or all there are."""
    between = ((high - low) * n / (count - 1) // step * step for n in range(count))
    return tuple(sorted({low + distance for distance in between}))


def task_of(
    base: Cell,
    pair: tuple[LockLabel, LockLabel],
    axis: str,
    ends: tuple[float, float],
    tolerance: float,
    count: int,
) -> CrossoverTask:
    """Return the search in a setting, which begins with `count` values between both ends. Raises
    LockcrossError for an axis that cannot be run."""
    name = axis_named(axis, base.workload)
    series = f"asked/{name}/{digest([vars(base), pair])[:12]}"
    step = granularity(base.workload, name)
    for option, value in (("--low", ends[0]), ("--high", ends[1]), ("--tolerance", tolerance)):
        if step == 1 and value != round(value):
            raise LockcrossError(f"{option} {value:g}: {name} takes whole numbers")
    low, high, width = (round(exact(x) / step) * step for x in (*ends, tolerance))
    width = width or max((high - low) / _SHARE // step * step, step)
    line = AxisLine(series, base, name, coarse(low, high, count, step), width, step)
    for label, x in itertools.product(pair, (low, high)):
        check_cell(line.cell(label, x))
    return CrossoverTask(line, *pair)


def find(
    tasks: Sequence[CrossoverTask], seeds: int, store: Store, runner: Runner
) -> dict[str, list[CrossoverRecord]]:
    """Search, store the result in place of an earlier search's, and return it by
    its series."""
    searched = search_all(partial(points, runner, PLAN), tasks, range(2, 1 + seeds))
    store_machines(store, {task.line.base.machine for task in tasks})
    store_isas(store)
    return store_crossovers(store, searched)
