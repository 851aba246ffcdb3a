"""`lockcross crossover`: the main job."""

import sys
import time
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import Annotated

import typer

from results.errors import LockcrossError, check_known
from results.paths import DATABASE
from results.store.store import Store
from sweeps.cli import options
from sweeps.cli.options import ClusterFile, Database, Jobs, NoServer, names_of, pool_of, served
from sweeps.cli.progress import one_bar
from sweeps.engines.base import load_engine
from sweeps.model.isa import ISAS
from sweeps.run.runner import Runner
from sweeps.study.job import Job, load_study


def crossover(
    isas: Annotated[list[str] | None, options.several_of_isas()] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A coarse grid: a first look in seconds.")
    ] = False,
    study: Annotated[
        str,
        options.option(
            "A study in sweeps/plans/studies, e.g. gem5_o3; not with --quick.", options.studies
        ),
    ] = "",
    jobs: Jobs = 0,
    no_server: NoServer = False,
    cluster: ClusterFile = "",
    db: Database = DATABASE,
    output: options.Folder = None,
) -> None:
    """The main job: measure, find the crossovers, draw the figures, write the report."""
    if quick and study:
        raise LockcrossError("--quick is a study of its own; give either --quick or --study")
    name = study or ("crossover_quick" if quick else "crossover")
    loaded, chosen = load_study(name), names_of(isas, "--isas")
    check_known("--isas:", chosen, ISAS)
    runs_on = {(cell.engine, cell.isa) for cell in loaded.cells}
    if chosen and not (runs_on := {(engine, isa) for engine, isa in runs_on if isa in chosen}):
        known = dict.fromkeys(cell.isa for cell in loaded.cells)
        raise LockcrossError(f"--isas: this study has {', '.join(known)} only")
    for engine, isa in sorted(runs_on):  # reports a missing engine before it creates a database
        load_engine(engine).version(isa)
    started, begin = datetime.now(UTC).isoformat(timespec="seconds"), time.monotonic()
    with pool_of(cluster) as pool, Store(db) as store:
        before = _count_runs(store)
        runner = Runner(store, jobs, None, served(no_server), True, pool=pool)
        job = Job(loaded, store, runner, chosen)
        missing = len(runner.missing(job.known_cells()))  # searches follow from what is found
        with one_bar(missing, at_least=True) if missing else nullcontext() as runner.progress:
            job.run()
        if new := _count_runs(store) - before:
            words = ["--quick"] * quick + [f"--study {study}"] * bool(study)
            words += [f"--isas {','.join(chosen)}"] if chosen else []
            from sweeps.study.results import JOB, JobFact

            command = " ".join(["./lockcross crossover", *words])
            duration = round(time.monotonic() - begin, 1)
            JOB.write(
                store,
                JobFact(command=command, started=started, duration_s=duration, new_runs=new),
            )
    folder = output or db.parent
    print(f"drawing figures, writing the report into {folder}", file=sys.stderr, flush=True)
    from sweeps.report.report import present

    present(db, folder)


def _count_runs(store: Store) -> int:
    (count,) = store.connection.execute("SELECT count(*) FROM runs").fetchone()
    return int(count)
