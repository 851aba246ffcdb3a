"""Commands that run single cells: run, calibrate."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from results.errors import LockcrossError, writing
from results.paths import DATABASE
from results.text.rows import Form, Format, Rows, print_parts, whole
from sweeps.cli import options
from sweeps.model.axes import LATENCIES, option
from sweeps.support.text import quoted

if TYPE_CHECKING:
    from results.store.records import StoredRun
    from results.store.store import Store
    from sweeps.engines.base import Limits
    from sweeps.model.cell import Cell
    from sweeps.model.workloads import Value

_COST = "cycles_per_pair"
_WITHOUT_COST = ("cycles", "core_cycles")  # shown instead of a cost
_REFUSED = "refused."  # before the name of a figure that a core model has no parameter for


# What `run` works out where it is left out.
_WORKED_OUT = {"machine": "", "isa": "", "flavour": "", "threads": None}


@options.with_axes(_WORKED_OUT)
def run(
    parameters: Annotated[
        list[str] | None,
        typer.Argument(help="The workload's keys, as key=value; those left out have defaults."),
    ] = None,
    seeds: options.Seeds = 1,
    no_server: options.NoServer = False,
    time_limit: options.TimeLimit = options.DEFAULT_TIME_LIMIT,
    instruction_limit: options.InstructionLimit = options.DEFAULT_INSTRUCTION_LIMIT,
    keep: options.Keep = False,
    events: Annotated[
        Path | None,
        typer.Option(help="Write the run's lock-event log to this file, for `locality`."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Print every number that is not zero.")
    ] = False,
    form: Format = Form.TABLE,
    db: Annotated[
        Path | None,
        typer.Option("--db", help="The database; default: none, nothing is stored."),
    ] = None,
    **axes: Any,
) -> None:
    """Run one cell and print its cost and what it assumed.

    A run with --db is not repeated if it is stored. csv and json have the numbers alone.
    """
    if events is not None:
        axes["engine"] = _engine_with_events(axes["engine"], db, events)
    cell = _cell(axes, given := _parameters(parameters or []))
    cells = [replace(cell, seed=cell.seed + more) for more in range(seeds)]
    if events is not None and seeds > 1:
        raise LockcrossError("--events records one run; leave --seeds out")
    bounds = options.limits(time_limit, instruction_limit, no_server)
    with _ran(cells, db, bounds, keep, events) as (store, done):
        _print_runs(store, cell, given, done, everything, form)


def _cell(axes: "Mapping[str, Any]", given: "Mapping[str, Value]") -> "Cell":
    """Return the cell of the axes and keys that are given, the others worked out."""
    from sweeps.engines.base import load_engine
    from sweeps.model.cell import Cell, isa_and_flavour
    from sweeps.model.locks import load_locks
    from sweeps.model.machine import isas_of, machine_named
    from sweeps.model.workloads import WORKLOADS, with_defaults

    chosen = dict(axes)
    on_host = load_engine(chosen["engine"]).capabilities().host_machines
    chosen["machine"] = machine_named(chosen["machine"]) or (on_host[0] if on_host else "generic")
    isas_of(chosen["machine"])  # reports an unknown name before anything else
    isa, flavour = isa_and_flavour(chosen["machine"], chosen["isa"], chosen["flavour"])
    lock, variant, workload = (chosen[name] for name in ("lock", "variant", "workload"))
    if lock in (known := load_locks()) and variant in known[lock].variants[:1]:
        chosen["variant"] = ""  # the default by its name
    if chosen["threads"] is None:
        chosen["threads"] = WORKLOADS[workload].min_threads if workload in WORKLOADS else 1
    parameters = with_defaults(workload, given)
    return Cell(**chosen | {"isa": isa, "flavour": flavour, "parameters": parameters})


def _said(store: "Store", run: "StoredRun") -> tuple[str, dict[str, Any]]:
    """Return the output that is kept of a run, and its resolved options."""
    output, resolved = store.connection.execute(
        "SELECT output, resolved FROM runs JOIN resolved ON run_id = id WHERE id = ?", (run.id,)
    ).fetchone()
    return output.strip(), json.loads(resolved)


def _print_runs(
    store: "Store",
    cell: "Cell",
    given: "Mapping[str, Any]",
    runs: "Sequence[StoredRun]",
    all: bool,
    form: Form,
) -> None:
    """Print a run, or several that differ in their seed alone: the cost, the assumptions, and
    with `all` every number that is not zero. `given`: the workload's keys that the user gave."""
    from results.text.terminal import console, say
    from sweeps.model.workloads import WORKLOADS

    units = dict(
        store.connection.execute("SELECT name, unit FROM metrics WHERE run_id = ?", (runs[0].id,))
    )
    costs = [_COST] if _COST in units else _WITHOUT_COST
    first = [name for name in (*costs, *WORKLOADS[cell.workload].metrics) if name in units]
    rest = [
        name
        for name in sorted(units)
        if name not in first and any(run.metrics.get(name) for run in runs)
    ]
    if form != Form.TABLE:
        print_parts(form, _numbers(first + rest * all, units, runs))
        return
    out = console(fold=False)
    out.print(_numbers(first, units, runs))
    output, resolved = _said(store, runs[0])
    for line in filter(None, [*_assumed(cell, given, resolved), output]):
        say(line)
    if all:
        out.print(_numbers(rest, units, runs))
    elif rest:
        print(f"--all shows {len(rest)} more numbers")


def _numbers(names: Sequence[str], units: Mapping[str, str], runs: "Sequence[StoredRun]") -> Rows:
    columns = ["value"] if len(runs) == 1 else ["median", "least", "most"]
    records = []
    for name in names:
        values = [run.metrics[name] for run in runs if name in run.metrics]
        numbers = map(whole, (median(values), min(values), max(values)))
        of_metric = dict(zip(columns, numbers, strict=False))
        records.append({"metric": name, **of_metric, "unit": units[name]})
    shown = {name: partial(_number, name) for name in columns}
    return Rows(records, {"metric": "{metric}", **shown, "unit": "{unit}"})


def _number(name: str, record: Mapping[str, Any]) -> str:
    value = record[name]
    return f"{value:g}" if value % 1 else f"{value:.0f}"


def _assumed(cell: "Cell", given: "Mapping[str, Any]", resolved: "Mapping[str, Any]") -> list[str]:
    """Return the assumptions of a run, neither given nor measured, a line each."""
    keys = [f"{key}={value}" for key, value in cell.parameters.items() if key not in given]
    refused = [key.removeprefix(_REFUSED) for key in resolved if key.startswith(_REFUSED)]
    lines = {
        "keys left at their defaults: ": ", ".join(keys),
        f"assumed by machine {cell.machine}: ": _assumed_figures(cell),
        "machine figures that the core model has no parameter for: ": ", ".join(refused),
        "cycles by the ": resolved.get("cycles_by"),
        "cancellation: ": resolved.get("cancellation"),
    }
    return [f"{words}{what}" for words, what in lines.items() if what]


def _assumed_figures(cell: "Cell") -> str:
    """Return the machine's assumed costs, those of a CAS, a full fence and a cancellation by
    name."""
    from sweeps.model.isa import ISAS
    from sweeps.model.machine import HOST, STOPS, load_machine

    if cell.machine == HOST:
        return ""
    machine = load_machine(cell.machine)
    stops = [f"charge_{stop}" for stop in STOPS]
    set_here = {
        "cas_success": cell.cas_latency,
        "cas_failure": cell.cas_latency,
        "rmw": cell.cas_latency,
        ISAS[cell.isa].full_fence: cell.fence_latency,
        **dict.fromkeys(stops, cell.cancel_latency),
    }
    assumed = {
        name: figure.number
        for name, figure in machine.figures(cell.isa).items()
        if figure.assumption is not None and set_here.get(name) is None
    }
    decisive = ("cas_success", ISAS[cell.isa].full_fence, *stops)
    named = [f"{name}={assumed[name]}" for name in decisive if name in assumed]
    if more := len(assumed) - len(named):
        named.append(f"{more} more")
    where = f"; `lockcross machines {machine.name}` says why" if named else ""
    return ", ".join(named) + where


@contextmanager
def _ran(
    cells: "Sequence[Cell]", db: Path | None, bounds: "Limits", keep: bool, events: Path | None
) -> "Iterator[tuple[Store, Sequence[StoredRun]]]":
    """Yield cells that differ in their seed alone, run if they are not in `db`, with their store.
    Raises LockcrossError if one is not ok."""
    from results.store.store import Store
    from sweeps.engines.base import load_engine
    from sweeps.model.cell import invalid_reason
    from sweeps.run.runner import Runner

    def save(folder: Path) -> None:
        from sweeps.lock_logs.log import convert

        assert events is not None
        with writing(events, "name another file with --events"):
            convert(folder / load_engine(cells[0].engine).capabilities().event_log, events)

    if why := next(filter(None, map(invalid_reason, cells)), None):
        raise LockcrossError(why)  # before there is a database
    with (
        TemporaryDirectory(prefix="lockcross-") as folder,
        Store(db or Path(folder) / "run.db") as store,
    ):
        runner = Runner(store, 1, None, bounds, keep=keep, collect=save if events else None)
        runs = runner.run(cells, "run")
        for run in runs:
            if run.status != "ok":
                output, _ = _said(store, run)
                message = f"{run.status}: {run.cause}" + (f"\n{output}" if output else "")
                raise LockcrossError(message, exit_code=2 if run.status == "refused" else 1)
        yield store, runs


def _engine_with_events(engine: str, db: Path | None, events: Path) -> str:
    """Return an engine that records lock events. Raises LockcrossError without one, or a place."""
    from sweeps.engines.base import load_engine
    from sweeps.model.engines import ENGINES

    label = load_engine(engine).capabilities().events
    if not label:
        able = [entry.label for entry in ENGINES if load_engine(entry.label).capabilities().events]
        raise LockcrossError(f"--events: engine {engine} records no events; {', '.join(able)} does")
    if db is not None:
        raise LockcrossError(
            "--events cannot be combined with --db: recording events slows the program, and "
            "a stored run would not be repeated"
        )
    if events.is_dir() or not events.parent.is_dir():
        raise LockcrossError(f"--events {events}: must name a file in an existing folder")
    return label


def _parameters(words: Sequence[str]) -> dict[str, "Value"]:
    from sweeps.model.workloads import read_value

    parameters: dict[str, Value] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or key in parameters:
            raise LockcrossError(f"parameter {quoted(word)}: key=value is expected, each key once")
        parameters[key] = read_value(value)
    return parameters


@options.with_axes({}, only=("cas_latency", "fence_latency", "engine"))
def calibrate(
    machine: Annotated[
        str,
        options.argument("A machine's name (see `machines`).", options.machines),
    ],
    isa: Annotated[str | None, options.isa("all of the machine's")] = None,
    flavour: Annotated[str | None, options.flavour("all of the ISA's")] = None,
    jobs: options.Jobs = 0,
    no_server: options.NoServer = False,
    form: Format = Form.TABLE,
    db: options.Database = DATABASE,
    **axes: Any,
) -> None:
    """Measure what atomics, fences and charges cost on a machine, and store it."""
    from results.store.store import Store
    from sweeps.cli.progress import Bar
    from sweeps.model.isa import ISAS
    from sweeps.model.machine import load_machine, machine_named
    from sweeps.run.runner import Runner
    from sweeps.study.calibrate import Setting
    from sweeps.study.calibrate import calibrate as measure

    machine = machine_named(machine)
    known = [
        (name, atomic) for name in load_machine(machine).isas for atomic in ISAS[name].flavours
    ]
    settings = [
        Setting(machine, name, atomic, **axes)
        for name, atomic in known
        if isa in (None, name) and flavour in (None, atomic)
    ]
    if not settings:
        raise LockcrossError(
            f"machine {machine} has no ISA {isa or 'any'} with flavour {flavour or 'any'}; "
            f"it has {', '.join(map(' '.join, known))}"
        )
    with Store(db) as store, Bar() as progress:
        runner = Runner(store, jobs, progress, options.served(no_server))
        measured = measure(runner, store, settings)
    names = [f"{setting.isa} {setting.flavour}" for setting in settings]
    rows = [
        {"operation": op}
        | {name: whole(records[op].cycles) for name, records in zip(names, measured, strict=True)}
        for op in measured[0]
    ]
    shown = {"operation": "{operation}"} | {name: f"{{{name}:.2f}}" for name in names}
    if form != Form.TABLE:
        cycles = [
            {"isa": one.isa, "flavour": one.flavour, "op": op, "cycles": whole(record.cycles)}
            for one, records in zip(settings, measured, strict=True)
            for op, record in records.items()
        ]
        print_parts(form, Rows(cycles))
        return
    latencies = [(option(axis)[2:], axes[axis]) for axis in LATENCIES if axes.get(axis) is not None]
    set_to = [f"{name} {cycles}" for name, cycles in latencies]
    where = f" set to {', '.join(set_to)}" if set_to else ""
    print_parts(form, f"measured cycles on {machine}{where}", Rows(rows, shown))
