"""`lockcross crossover`: the main job."""

import sys
import time
from collections.abc import Callable, Collection
from contextlib import nullcontext
from datetime import UTC, datetime
from functools import partial
from typing import Annotated

import typer

from results.errors import LockcrossError, check_known
from results.paths import DATABASE
from results.store.store import Store
from sweeps.cli import options
from sweeps.cli.options import ClusterFile, Database, Jobs, NoServer, names_of, pool_of, served
from sweeps.cli.progress import one_bar
from sweeps.engines.base import load_engine
from sweeps.model.isa import ISAS, isa_of
from sweeps.plans.study import load_study
from sweeps.questions.crossover.study import Study
from sweeps.run.runner import Runner
from sweeps.study.job import Job, study_of_cells


def _flavours(known: Collection[str], isas: list[str]) -> list[str]:
    check_known("--isas:", isas, ISAS)
    flavours = [flavour for flavour in known if not isas or isa_of(flavour) in isas]
    if not flavours:
        raise LockcrossError(f"--isas: this study has {', '.join(known)} only")
    return flavours


def _job(
    name: str, isas: list[str]
) -> tuple[Callable[[Store, Runner], Job | Study], set[tuple[str, str]]]:
    """Return what makes the job of a study, and the engines and ISAs that it runs on. Raises
    LockcrossError."""
    if (cells := study_of_cells(name)) is not None:
        known = dict.fromkeys(cell.flavour for cell in cells.cells)
        if len(_flavours(known, isas)) < len(known):
            raise LockcrossError("--isas: a study of cells is run whole")
        return partial(Job, cells), {(cell.engine, cell.isa) for cell in cells.cells}
    plan = load_study(name)
    flavours = _flavours(plan.flavours, isas)
    return partial(Study, plan, flavours), {(plan.engine, isa_of(one)) for one in flavours}


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
    make, runs_on = _job(name, chosen := names_of(isas, "--isas"))
    for engine, isa in sorted(runs_on):  # reports a missing engine before it creates a database
        load_engine(engine).version(isa)
    started, begin = datetime.now(UTC).isoformat(timespec="seconds"), time.monotonic()
    with Store(db) as store, pool_of(cluster) as pool:
        before = _count_runs(store)
        runner = Runner(store, jobs, None, served(no_server), True, pool=pool)
        job = make(store, runner)
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
