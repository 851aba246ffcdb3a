"""`lockcross bench`: how fast the engine and large databases are on this machine."""

import os
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from results.errors import LockcrossError
from results.text.rows import Form, Format, print_parts
from sweeps.cli import complete
from sweeps.model import engines
from sweeps.model.isa import ISAS

_TURNS = 20_000
bench = typer.Typer()


@bench.callback(invoke_without_command=True)
def bench_cell(
    context: typer.Context,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the figures as those of a release.")
    ] = False,
    form: Format = Form.TABLE,
) -> None:
    """Measure speed on this machine.

    It runs the main job, too, and takes some minutes.
    """
    if context.invoked_subcommand:
        return
    from sweeps.run import bench as of_runs

    with TemporaryDirectory() as folder:
        found = [row for one in [of_runs, *_of_questions()] for row in one.rows(Path(folder))]
    print_parts(form, of_runs.beside(found, of_runs.last_release()), of_runs.NOTE)
    if keep:
        of_runs.keep(found)


def _of_questions() -> list[Any]:
    """The modules `bench` that questions have."""
    folders = [one.parent.name for one in sorted(Path(__file__).parents[1].glob("*/bench.py"))]
    return [import_module(f"sweeps.questions.{name}.bench") for name in folders]


@bench.command("engine")
def bench_engine(
    isas: Annotated[
        list[str] | None,
        typer.Argument(
            help="Instruction sets; all when none is given.", autocompletion=complete.isas
        ),
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            help="The engine to measure; one that has a benchmark of its own.",
            autocompletion=complete.engines,
        ),
    ] = engines.DEFAULT,
    beside: Annotated[
        str,
        typer.Option(
            help="Another engine to run one of the cells on, as gem5/o3.",
            autocompletion=complete.engines,
        ),
    ] = "",
    form: Format = Form.TABLE,
) -> None:
    """Measure an engine: for the embedded one, instructions and hand-overs per second, memory."""
    unknown = [isa for isa in isas or [] if isa not in ISAS]
    if unknown:
        raise LockcrossError(f"ISA {unknown[0]!r} is unknown; known are {', '.join(ISAS)}")
    measured = _benchmark(engine)
    rows = measured.bench(isas or list(ISAS))
    print_parts(form, rows, measured.NOTE, *([_beside(beside)] if beside else []))


def _benchmark(label: str) -> Any:
    """The module `bench` of an engine. Raises LockcrossError where there is none."""
    from sweeps.engines import load_engine

    load_engine(label)  # says which engines are known
    able = [one.label for one in engines.ENGINES if find_spec(f"sweeps.engines.{one.family}.bench")]
    if label not in able:
        raise LockcrossError(f"engine {label} has no benchmark; {', '.join(able)} have")
    return import_module(f"sweeps.engines.{label}.bench")


def _beside(other: str) -> str:
    """How much faster the embedded engine runs a cell than another engine does, in words."""
    from results.store.store import Store
    from sweeps.engines.base import Limits
    from sweeps.model.cell import Cell
    from sweeps.run.runner import Runner

    cells = [
        Cell(
            engine=label, machine="generic", isa="x86_64", flavour="lock", lock="thin", variant="",
            fence="full", workload="sync", parameters={"iterations": _TURNS}, threads=1, cores=None,
            cas_latency=None, fence_latency=None, cancel_latency=None, seed=1,
        )
        for label in (engines.DEFAULT, other)
    ]  # fmt: skip
    with TemporaryDirectory() as folder, Store(Path(folder) / "bench.db") as store:
        runs = Runner(store, 1, None, Limits(0.0, 10**9), True).run(cells, "bench")
        if failed := next((run for run in runs if run.status != "ok"), None):
            raise LockcrossError(f"benchmark run failed: {failed.cause}", exit_code=1)
        durations = dict(store.connection.execute("SELECT id, duration_s FROM runs"))
    own, its = (durations[run.id] for run in runs)
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
    from sweeps.run.cluster.bench import NOTE, rows
    from sweeps.run.cluster.description import load_cluster

    before = os.getloadavg()[0]
    print_parts(form, rows(load_cluster(file)), fold=False)
    print(NOTE, file=sys.stderr)
    print(
        f"this machine: {len(os.sched_getaffinity(0))} CPUs, load {before:.1f} before and "
        f"{os.getloadavg()[0]:.1f} after",
        file=sys.stderr,
    )
