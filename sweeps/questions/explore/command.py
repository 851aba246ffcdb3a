"""`lockcross explore`: the grid behind the report's interactive map."""

import sys
from contextlib import nullcontext
from typing import Annotated

from results.paths import DATABASE
from results.store.store import Store
from sweeps.cli import options
from sweeps.cli.options import Database, Jobs, NoServer, names_of, served
from sweeps.cli.progress import one_bar
from sweeps.engines.base import load_engine
from sweeps.model import engines
from sweeps.questions.explore.explore import Exploration, asked_of, load_exploration
from sweeps.questions.explore.presentation import KIND
from sweeps.run.runner import Runner


def explore(
    machines: Annotated[list[str] | None, options.several_of_machines("generic")] = None,
    isas: Annotated[list[str] | None, options.several_of_isas()] = None,
    jobs: Jobs = 0,
    no_server: NoServer = False,
    db: Database = DATABASE,
    output: options.Folder = None,
) -> None:
    """Run the grid over CAS, fence, cancellation and owner's share that the report's map shows."""
    plan = load_exploration()
    asked = names_of(machines, "--machines"), names_of(isas, "--isas")
    for cells in asked_of(plan, *asked).named(KIND):  # before a database is created
        for isa in cells.given("isa"):
            load_engine(engines.DEFAULT).version(isa)
    with Store(db) as store:
        runner = Runner(store, jobs, None, served(no_server), retry_failed=True)
        job = Exploration(plan, *asked, store, runner)
        missing = len(runner.missing(job.cells()))
        with one_bar(missing) if missing else nullcontext() as runner.progress:
            job.run()
    folder = output or db.parent
    print(f"drawing figures, writing the report into {folder}", file=sys.stderr, flush=True)
    from sweeps.report.report import write_all

    print(f"report    {write_all(db, folder)[0]}")
