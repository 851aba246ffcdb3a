"""`lockcross bench`: how fast the engine and large databases are on this machine."""

import os
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from results.errors import LockcrossError, check_known
from results.text.rows import Form, Format, print_parts
from sweeps.cli import options
from sweeps.cli.options import Store
from sweeps.cli.progress import first_word
from sweeps.model import engines
from sweeps.model.isa import ISAS

_TURNS = 20_000
bench = typer.Typer()


@bench.callback(invoke_without_command=True)
def bench_cell(
    context: typer.Context,
    store: Store = False,
    form: Format = Form.TABLE,
) -> None:
    """Measure speed on this machine.

    It runs the main job, too, and takes some minutes.
    """
    if context.invoked_subcommand:
        return
    first_word("measuring; it takes some minutes")
    from sweeps.run import bench as of_runs

    # Of the questions that have a module `bench`.
    folders = [path.parent.name for path in sorted(Path(__file__).parents[1].glob("*/bench.py"))]
    measures = [of_runs, *(import_module(f"sweeps.questions.{name}.bench") for name in folders)]
    with TemporaryDirectory() as folder:
        rows = [row for measure in measures for row in measure.rows(Path(folder))]
    print_parts(form, of_runs.beside(rows, of_runs.last_release()), of_runs.NOTE)
    if store:
        of_runs.keep(rows)


@bench.command("engine")
def bench_engine(
    isas: Annotated[
        list[str] | None,
        options.argument("Instruction sets; all when none is given.", options.isas),
    ] = None,
    engine: Annotated[
        str,
        options.option("The engine.", options.engines),
    ] = engines.DEFAULT,
    beside: Annotated[
        str,
        options.option("Another engine to run one of the cells on, as gem5/o3.", options.engines),
    ] = "",
    form: Format = Form.TABLE,
) -> None:
    """Measure an engine: for the embedded one, instructions and hand-overs per second, memory.

    Only an engine that has a benchmark of its own.
    """
    from sweeps.engines.base import load_engine

    check_known("ISA", isas or [], ISAS)
    load_engine(engine)  # says which engines are known
    able = [
        entry.label
        for entry in engines.ENGINES
        if find_spec(f"sweeps.engines.{entry.family}.bench")
    ]
    if engine not in able:
        raise LockcrossError(f"engine {engine} has no benchmark; {', '.join(able)} have")
    measured = import_module(f"sweeps.engines.{engine}.bench")
    first_word("measuring; it takes a minute or more")
    rows = measured.bench(isas or list(ISAS))
    print_parts(form, rows, measured.NOTE, *([_compared(beside)] if beside else []))


def _compared(other: str) -> str:
    """How much faster the embedded engine runs a cell than another engine does, in words."""
    from sweeps.engines.base import Limits
    from sweeps.model.cell import usual
    from sweeps.run.bench import seconds

    cells = [
        usual("generic", "lock", "sync", {"iterations": _TURNS}, lock="thin", engine=label)
        for label in (engines.DEFAULT, other)
    ]
    own, its = seconds(cells, Limits(instructions=10**9))
    return (
        f"{_TURNS:,} turns of workload sync, start included: {engines.title(engines.DEFAULT)} "
        f"{own:.2f} s, {engines.title(other)} {its:.2f} s, {its / own:.0f} times as long."
    )


@bench.command("results")
def bench_results(
    runs: Annotated[int, typer.Option(min=100, help="How many runs.")] = 200_000,
    form: Format = Form.TABLE,
) -> None:
    """Measure a large database: size, pages in the browser, winners, memory of an export."""
    first_word("making a large database, and measuring it; it takes some minutes")
    from sweeps.questions.bench.large import NOTE, measured

    print_parts(form, measured(runs), NOTE)


@bench.command("cluster")
def bench_cluster(
    file: Annotated[str, typer.Argument(help="A cluster file; see sweeps/clusters.")],
    form: Format = Form.TABLE,
) -> None:
    """Measure what a cluster costs beside the cells: gaps between chunks, CPU time of the driver.

    Most of it with stand-ins that only wait, so that few cores can have many workers.
    """
    first_word("measuring; it takes some minutes")
    from sweeps.run.cluster.bench import NOTE, rows
    from sweeps.run.cluster.description import load_cluster

    before = os.getloadavg()[0]
    print_parts(form, rows(load_cluster(file)), fold=False)
    load = f"load {before:.1f} before and {os.getloadavg()[0]:.1f} after"
    cpus = len(os.sched_getaffinity(0))
    print(f"{NOTE}\nthis machine: {cpus} CPUs, {load}", file=sys.stderr)
