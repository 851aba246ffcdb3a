"""Commands that run single cells: run, calibrate."""

import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from results.errors import LockcrossError
from results.paths import DATABASE
from results.text.rows import Form, Format, Rows, print_parts, whole
from sweeps.cli import complete
from sweeps.cli.options import (
    DEFAULT_INSTRUCTION_LIMIT,
    DEFAULT_TIME_LIMIT,
    RENAMED,
    Cancel,
    Cas,
    Database,
    FenceLatency,
    InstructionLimit,
    Jobs,
    Keep,
    NoServer,
    Seed,
    Seeds,
    TimeLimit,
    limits,
    served,
)
from sweeps.model import engines
from sweeps.model.cell import option
from sweeps.questions.run.outcome import print_runs, said
from sweeps.support.text import shown

if TYPE_CHECKING:
    from results.store.records import StoredRun
    from results.store.store import Store
    from sweeps.engines.base import Limits
    from sweeps.model.cell import Cell

_NUMBER = r"[0-9]{1,30}"  # longer ones are out of bounds, and Python may not convert them

SETTINGS = {"run": RENAMED, "calibrate": RENAMED}

# Options of `run` alone.
_Parameters = Annotated[
    list[str] | None,
    typer.Argument(help="The workload's keys, as key=value; those left out have defaults."),
]
_Machine = Annotated[
    str,
    typer.Option(
        help="A machine's name (see `machines`); default: generic, natively the host.",
        autocompletion=complete.machines,
    ),
]
_Isa = Annotated[
    str,
    typer.Option(
        help="x86_64, ppc64le or aarch64; default: x86_64, natively the host's.",
        autocompletion=complete.isas,
    ),
]
_Threads = Annotated[
    int | None,
    typer.Option(help="Threads, a core each unless --cores is given; default: the fewest allowed."),
]
_Cores = Annotated[
    int | None, typer.Option(min=1, help="Cores that the threads share; default: a core each.")
]
_Events = Annotated[
    Path | None,
    typer.Option(help="Write the run's lock-event log to this file, for `locality`."),
]
_OneDatabase = Annotated[
    Path | None,
    typer.Option("--db", help="Store the run in this database; default: store nothing."),
]


def run(
    lock: Annotated[
        str, typer.Option(help="A lock's name (see `locks`).", autocompletion=complete.locks)
    ],
    workload: Annotated[
        str, typer.Option(help="A workload's name.", autocompletion=complete.workloads)
    ],
    parameters: _Parameters = None,
    machine: _Machine = "",
    isa: _Isa = "",
    threads: _Threads = None,
    cores: _Cores = None,
    variant: Annotated[str, typer.Option(help="The lock's variant; default: its first.")] = "",
    flavour: Annotated[
        str,
        typer.Option(
            help="Atomic flavour; default: the ISA's first.", autocompletion=complete.flavours
        ),
    ] = "",
    fence: Annotated[
        str, typer.Option(help="full, rmw or store_forward.", autocompletion=complete.fences)
    ] = "full",
    cas: Cas = None,
    fence_latency: FenceLatency = None,
    cancel: Cancel = None,
    seed: Seed = 1,
    seeds: Seeds = 1,
    engine: Annotated[
        str, typer.Option(help="The engine.", autocompletion=complete.engines)
    ] = engines.DEFAULT,
    no_server: NoServer = False,
    time_limit: TimeLimit = DEFAULT_TIME_LIMIT,
    instruction_limit: InstructionLimit = DEFAULT_INSTRUCTION_LIMIT,
    keep: Keep = False,
    events: _Events = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Print every number that is not zero.")
    ] = False,
    form: Format = Form.TABLE,
    db: _OneDatabase = None,
) -> None:
    """Run one cell and print its cost and what it assumed.

    A run with --db is not repeated if it is stored. csv and json have the numbers alone.
    """
    from sweeps.model.cell import Cell
    from sweeps.model.isa import ISAS
    from sweeps.model.workloads import with_defaults

    if events is not None:
        engine = _engine_with_events(engine, db, events)
    machine, isa = _target(engine, machine, isa)
    given = _parameters(parameters or [])
    cell = Cell(
        engine=engine, machine=machine, isa=isa,
        flavour=flavour or (ISAS[isa].flavours[0] if isa in ISAS else ""), lock=lock,
        variant="" if variant in _first_variant(lock) else variant, fence=fence,
        workload=workload, parameters=with_defaults(workload, given),
        threads=_fewest_threads(workload) if threads is None else threads, cores=cores,
        cas=cas, fence_latency=fence_latency, cancel=cancel, seed=seed,
    )  # fmt: skip
    cells = [replace(cell, seed=seed + more) for more in range(seeds)]
    if events is not None and seeds > 1:
        raise LockcrossError("--events records one run; leave --seeds out")
    bounds = limits(time_limit, instruction_limit, no_server)
    with _ran(cells, db, bounds, keep, events) as (store, done):
        print_runs(store, cell, given, done, everything, form)


def _target(engine: str, machine: str, isa: str) -> tuple[str, str]:
    """Machine and ISA, the engine's own where none is given."""
    from sweeps.engines import load_engine
    from sweeps.model.isa import host_isa
    from sweeps.model.machine import isas_of, machine_named

    on_host = load_engine(engine).capabilities().host_machines
    machine = machine_named(machine) or (on_host[0] if on_host else "generic")
    isas_of(machine)  # reports an unknown name before anything else
    return machine, isa or (host_isa() if on_host else "x86_64")


@contextmanager
def _ran(
    cells: "Sequence[Cell]", db: Path | None, bounds: "Limits", keep: bool, events: Path | None
) -> "Iterator[tuple[Store, Sequence[StoredRun]]]":
    """Cells that differ in their seed alone, run if they are not in `db`, with their store. Raises
    LockcrossError if one is not ok."""
    from results.store.store import Store
    from sweeps.engines import load_engine
    from sweeps.model.cells import invalid_reason
    from sweeps.run.runner import Runner

    for cell in cells:
        if why := invalid_reason(cell):
            raise LockcrossError(why)
    with (
        TemporaryDirectory(prefix="lockcross-") as folder,
        Store(db or Path(folder) / "run.db") as store,
    ):
        log = load_engine(cells[0].engine).capabilities().event_log
        collect = None if events is None else partial(_save_events, name=log, file=events)
        runner = Runner(store, 1, None, bounds, keep=keep, collect=collect)
        done = runner.run(cells, "run")
        for one in done:
            _check_run(store, one)
        yield store, done


def _engine_with_events(engine: str, db: Path | None, events: Path) -> str:
    """The label of an engine that records lock events. Raises LockcrossError if there is none, or
    no place for them."""
    from sweeps.engines import load_engine
    from sweeps.model.engines import ENGINES

    label = load_engine(engine).capabilities().events
    if not label:
        able = [one.label for one in ENGINES if load_engine(one.label).capabilities().events]
        raise LockcrossError(f"--events: engine {engine} records no events; {', '.join(able)} does")
    if db is not None:
        raise LockcrossError(
            "--events cannot be combined with --db: recording events slows the program, and "
            "a stored run would not be repeated"
        )
    if events.is_dir() or not events.parent.is_dir():
        raise LockcrossError(f"--events {events}: must name a file in an existing folder")
    return label


def _save_events(folder: Path, name: str, file: Path) -> None:
    try:
        shutil.copyfile(folder / name, file)
    except OSError as error:
        raise LockcrossError(
            f"{file}: cannot be written ({error.strerror}); name another file with --events", 1
        ) from None


def _check_run(store: "Store", done: "StoredRun") -> None:
    """Raises LockcrossError for a run that is not ok."""
    if done.status != "ok":
        output, _ = said(store, done)
        raise LockcrossError(
            f"{done.status}: {done.cause}" + (f"\n{output.strip()}" if output else ""),
            exit_code=2 if done.status == "refused" else 1,
        )


def _fewest_threads(workload: str) -> int:
    from sweeps.model.workloads import WORKLOADS

    return WORKLOADS[workload].min_threads if workload in WORKLOADS else 1


def _first_variant(lock: str) -> tuple[str, ...]:
    """The name of a lock's default variant, if it has variants."""
    from sweeps.model.locks import load_locks

    locks = load_locks()
    return locks[lock].variants[:1] if lock in locks else ()


def _parameters(words: Sequence[str]) -> dict[str, int | str]:
    """The keys of a workload that are given as words."""
    found: dict[str, int | str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or key in found:
            raise LockcrossError(f"parameter {shown(word)}: key=value is expected, each key once")
        found[key] = int(value) if re.fullmatch(_NUMBER, value) else value
    return found


def calibrate(
    machine: Annotated[
        str,
        typer.Argument(help="A machine's name (see `machines`).", autocompletion=complete.machines),
    ],
    isa: Annotated[
        str | None, typer.Option(help="Only this one of its ISAs.", autocompletion=complete.isas)
    ] = None,
    flavour: Annotated[
        str | None, typer.Option(help="Only this atomic flavour.", autocompletion=complete.flavours)
    ] = None,
    cas: Cas = None,
    fence_latency: FenceLatency = None,
    engine: Annotated[
        str, typer.Option(help="The engine.", autocompletion=complete.engines)
    ] = engines.DEFAULT,
    jobs: Jobs = 0,
    no_server: NoServer = False,
    form: Format = Form.TABLE,
    db: Database = DATABASE,
) -> None:
    """Measure what atomics, fences and charges cost on a machine, and store it."""
    from results.store.store import Store
    from sweeps.cli.progress import Bar
    from sweeps.model.isa import ISAS
    from sweeps.model.machine import load_machine, machine_named
    from sweeps.run.runner import Runner
    from sweeps.search.calibrate import Setting
    from sweeps.search.calibrate import calibrate as measure

    machine = machine_named(machine)
    isas = [name for name in load_machine(machine).isas if isa in (None, name)]
    settings = [
        Setting(machine, name, one, cas, fence_latency, engine)
        for name in isas
        for one in ISAS[name].flavours
        if flavour in (None, one)
    ]
    if not settings:
        known = [f"{n} {f}" for n in load_machine(machine).isas for f in ISAS[n].flavours]
        raise LockcrossError(
            f"machine {machine} has no ISA {isa or 'any'} with flavour {flavour or 'any'}; "
            f"it has {', '.join(known)}"
        )
    with Store(db) as store, Bar() as progress:
        found = measure(Runner(store, jobs, progress, served(no_server)), store, settings)
    names = [f"{one.isa} {one.flavour}" for one in settings]
    rows = [
        {"operation": op}
        | {name: whole(records[op].cycles) for name, records in zip(names, found, strict=True)}
        for op in found[0]
    ]
    shown = {"operation": "{operation}"} | {name: f"{{{name}:.2f}}" for name in names}
    given = {"cas": cas, "fence_latency": fence_latency}
    set_to = [f"{option(axis)[2:]} {n}" for axis, n in given.items() if n is not None]
    where = f" set to {', '.join(set_to)}" if set_to else ""
    print_parts(form, f"measured cycles on {machine}{where}", Rows(rows, shown))
