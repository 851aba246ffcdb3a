"""`lockcross crossovers`: where two locks change places along an axis of one's own."""

import csv
import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from results.errors import LockcrossError
from results.paths import DATABASE
from sweeps.cli import complete
from sweeps.cli.options import Database, Jobs, NoServer, served
from sweeps.model import engines

if TYPE_CHECKING:
    from results.store.records import CrossoverRecord

_FORMATS = ("table", "csv", "json")
_POINTS = 5  # with which a search begins
_SHARE = 250  # of the axis: the tolerance if none is given


def crossovers(  # noqa: PLR0913, PLR0917 its options are its arguments
    locks: Annotated[
        str,
        typer.Option(
            help="Two locks, e.g. thin,reservation or thin,tasuki/rmw.",
            autocompletion=complete.several_locks,
        ),
    ],
    axis: Annotated[
        str, typer.Option(help="cas_latency, fence_latency, cancel_latency, threads, a key, ...")
    ],
    low: Annotated[int, typer.Option("--from", help="Where the axis begins.")],
    high: Annotated[int, typer.Option("--to", help="Where it ends.")],
    plan: Annotated[
        str,
        typer.Option(
            help="Search in every setting of this plan (a name or a file).",
            autocompletion=complete.plans,
        ),
    ] = "",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="key=value: what stays the same; a key, threads, cas_latency..."
        ),
    ] = None,
    workload: Annotated[
        str, typer.Option(help="Without a plan.", autocompletion=complete.workloads)
    ] = "lock_sequence",
    machine: Annotated[
        str, typer.Option(help="A machine's name or file.", autocompletion=complete.machines)
    ] = "generic",
    isa: Annotated[
        str, typer.Option(help="Default: the machine's first.", autocompletion=complete.isas)
    ] = "",
    flavour: Annotated[
        str,
        typer.Option(
            help="Atomic flavour; default: the ISA's first.", autocompletion=complete.flavours
        ),
    ] = "",
    engine: Annotated[
        str, typer.Option(help="The engine.", autocompletion=complete.engines)
    ] = engines.DEFAULT,
    tolerance: Annotated[
        int, typer.Option(min=0, help="Width of the bracket; 0: 1/250 of the axis.")
    ] = 0,
    coarse_points: Annotated[
        int, typer.Option("--points", min=2, max=1000, help="Values to begin with.")
    ] = _POINTS,
    seeds: Annotated[int, typer.Option(min=1, max=100, help="Search with so many seeds.")] = 1,
    form: Annotated[str, typer.Option("--format", help="table, csv or json.")] = "table",
    jobs: Jobs = 0,
    no_server: NoServer = False,
    db: Database = DATABASE,
) -> None:
    """Find where one lock starts to beat another along any numeric axis of any workload."""
    from results.store.store import Store
    from sweeps.cli.progress import one_bar
    from sweeps.model.machine import machine_named
    from sweeps.plans.sweep import load_plan
    from sweeps.questions.crossovers import crossovers as search
    from sweeps.run.runner import Runner
    from sweeps.search.lines import check_label

    if form not in _FORMATS:
        raise LockcrossError(f"--format: {form!r} is unknown; allowed are {', '.join(_FORMATS)}")
    pair = [check_label(name.strip()) for name in locks.split(",")]
    if len(pair) != 2 or pair[0] == pair[1]:
        raise LockcrossError("--locks: two different locks are expected, e.g. thin,reservation")
    values = search.coarse(low, high, coarse_points)
    given: dict[str, int | str] = {}
    for text in settings or []:
        key, equals, value = text.partition("=")
        if not equals or key in given:
            raise LockcrossError(f"--set {text}: key=value is expected, each key once")
        given[key] = int(value) if value.isdecimal() and len(value) < 30 else value
    bases = (
        search.settings_of(load_plan(plan), axis)
        if plan
        else [search.base_cell(machine_named(machine), isa, flavour, workload, engine)]
    )
    bases = [search.with_settings(base, given) for base in bases]
    wide = tolerance or max((high - low) // _SHARE, 1)
    tasks = search.tasks_of(bases, (pair[0], pair[1]), axis, values, wide)
    total, bounds = sum(2 * len(task.coarse) for task in tasks), served(no_server)
    with Store(db) as store, one_bar(total) as progress:
        found = search.find(tasks, seeds, store, Runner(store, jobs, progress, bounds, True))
    rows = [_row(task.line.series, one) for task, kept in found for one in kept]
    if form == "json":
        print(json.dumps(rows, indent=1))
    elif form == "csv":
        writer = csv.DictWriter(sys.stdout, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    else:
        from rich.table import Table

        from results.text.terminal import console

        table = Table(*rows[0], box=None)
        for row in rows:
            table.add_row(*("" if value is None else str(value) for value in row.values()))
        console(fold=False).print(table)


def _row(series: str, one: "CrossoverRecord") -> dict[str, Any]:
    """A crossing, or that there is none, for people."""
    values = [seed.value for seed in one.seeds if seed.value is not None]
    other = one.lock_b if one.below == one.lock_a else one.lock_a
    found = {
        "crosses": f"{one.below} below, {other} above",
        "tie": "the same everywhere",
    }.get(one.verdict, f"{one.below} everywhere from {one.low} to {one.high}")
    return {
        "machine": one.machine, "isa": one.isa, "flavour": one.flavour, "workload": one.workload,
        "axis": one.axis,
        "cheaper": found, "value": None if one.value is None else round(one.value, 2),
        "bracket_low": one.bracket_low, "bracket_high": one.bracket_high,
        "least": round(min(values), 2) if values else None,
        "greatest": round(max(values), 2) if values else None,
        "seeds": len(one.seeds),
        "modelled": sum(seed.error is not None for seed in one.seeds), "unit": one.unit,
        "setting": ", ".join(f"{key}={value}" for key, value in one.setting.items()),
        "series": series,
    }  # fmt: skip
