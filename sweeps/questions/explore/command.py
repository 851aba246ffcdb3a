"""`lockcross explore`: the grid behind the report's interactive map."""

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from results.paths import DATABASE
from results.store.store import Store
from sweeps.cli import options
from sweeps.cli.options import Database, Jobs, NoServer, served
from sweeps.cli.progress import one_bar
from sweeps.engines.base import load_engine
from sweeps.model import engines
from sweeps.model.isa import isa_of
from sweeps.questions.explore.explore import Exploration, load_exploration, maps
from sweeps.run.runner import Runner


def explore(
    machine: Annotated[
        list[str] | None,
        options.option(
            "A machine with a map; may be given more than once. Default: generic.", options.machines
        ),
    ] = None,
    isa: Annotated[
        list[str] | None,
        options.option("Only this ISA; may be given more than once.", options.isas),
    ] = None,
    jobs: Jobs = 0,
    no_server: NoServer = False,
    db: Database = DATABASE,
    output: Annotated[
        Path | None, typer.Option(help="Folder for the report; default: the database's.")
    ] = None,
) -> None:
    """Run the grid over CAS, fence, cancellation and owner's share that the report's map shows."""
    plan = load_exploration()
    asked = maps(plan, machine or [], isa or [])
    for _, flavour in asked:  # reports a missing engine before it creates a database
        load_engine(engines.DEFAULT).version(isa_of(flavour))
    with Store(db) as store:
        runner = Runner(store, jobs, None, served(no_server), retry_failed=True)
        job = Exploration(plan, asked, store, runner)
        missing = len(runner.missing(job.cells()))
        with one_bar(missing) if missing else nullcontext() as runner.progress:
            job.run()
    folder = output or db.parent
    print(f"drawing figures, writing the report into {folder}", file=sys.stderr, flush=True)
    from sweeps.report.report import write_all

    print(f"report    {write_all(db, folder)[0]}")
