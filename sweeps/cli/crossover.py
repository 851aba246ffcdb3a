"""`lockcross crossover`: the main job."""

import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from results.errors import LockcrossError
from results.paths import DATABASE
from results.store.store import Store
from sweeps.cli.lists import complete
from sweeps.cli.options import ClusterFile, Database, Jobs, NoServer, pool_of, served
from sweeps.cli.progress import one_bar
from sweeps.engines import load_engine
from sweeps.engines.base import Limits
from sweeps.execution.pool import Pool
from sweeps.execution.runner import Runner
from sweeps.experiments.crossover.cells import isa_of
from sweeps.experiments.crossover.plan import StudyPlan, load_study
from sweeps.experiments.crossover.study import Study
from sweeps.experiments.many_cores.plan import ManyCoresPlan, is_of_many_cores, load_many_cores
from sweeps.experiments.many_cores.study import ManyCoresStudy
from sweeps.model.isa import ISAS


def _flavours(plan: StudyPlan | ManyCoresPlan, isas: list[str] | None) -> list[str]:
    if unknown := [isa for isa in isas or [] if isa not in ISAS]:
        raise LockcrossError(f"--isa: {unknown[0]!r} is unknown; known are {', '.join(ISAS)}")
    found = [flavour for flavour in plan.flavours if not isas or isa_of(flavour) in isas]
    if not found:
        raise LockcrossError(f"--isa: this study has {', '.join(plan.flavours)} only")
    return found


def crossover(
    isa: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this ISA; may be given more than once.", autocompletion=complete.isas
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A coarse grid: a first look in seconds.")
    ] = False,
    study: Annotated[
        str,
        typer.Option(
            help="A study in sweeps/studies, e.g. gem5_o3; not with --quick.",
            autocompletion=complete.studies,
        ),
    ] = "",
    jobs: Jobs = 0,
    no_server: NoServer = False,
    cluster: ClusterFile = "",
    db: Database = DATABASE,
    output: Annotated[
        Path | None, typer.Option(help="Folder for figures and report; default: the database's.")
    ] = None,
) -> None:
    """The main job: measure, find the crossovers, draw the figures, write the report."""
    if quick and study:
        raise LockcrossError("--quick is a study of its own; give either --quick or --study")
    name = study or ("crossover_quick" if quick else "crossover")
    plan = load_many_cores(name) if is_of_many_cores(name) else load_study(name)
    flavours = _flavours(plan, isa)
    for flavour in flavours:  # reports a missing engine before it creates a database
        load_engine(plan.engine).version(isa_of(flavour))
    started, begin = datetime.now(UTC).isoformat(timespec="seconds"), time.monotonic()
    with Store(db) as store, pool_of(cluster) as pool:
        new = _measure(store, plan, flavours, jobs, pool, served(no_server))
        if new:
            duration = round(time.monotonic() - begin, 1)
            store.set_fact(
                "job",
                {
                    "command": " ".join(
                        ["./lockcross crossover", *(["--quick"] if quick else []),
                         *([f"--study {study}"] if study else []),
                         *(f"--isa {name}" for name in isa or [])]
                    ),
                    "started": started, "duration_s": duration, "new_runs": new,
                },
            )  # fmt: skip
    folder = output or db.parent
    print(f"drawing figures, writing the report into {folder}", file=sys.stderr, flush=True)
    from results.report.present import present

    present(db, folder)


def _measure(
    store: Store,
    plan: StudyPlan | ManyCoresPlan,
    flavours: list[str],
    jobs: int,
    pool: Pool | None,
    bounds: Limits,
) -> int:
    """Runs the study; returns how many runs were new."""

    def study(runner: Runner) -> Study | ManyCoresStudy:
        if isinstance(plan, ManyCoresPlan):
            return ManyCoresStudy(plan, store, runner)
        return Study(plan, flavours, store, runner)

    before = _count_runs(store)
    look = Runner(store, jobs, retry_failed=True, pool=pool)
    looking = study(look)
    missing = len(look.look_up(looking.known_cells()).missing)
    if missing:
        with one_bar(missing, at_least=True) as progress:  # searches follow from what is found
            study(Runner(store, jobs, progress, bounds, True, pool=pool)).run()
    else:
        looking.run()
    return _count_runs(store) - before


def _count_runs(store: Store) -> int:
    (count,) = store.connection.execute("SELECT count(*) FROM runs").fetchone()
    return int(count)


def register(app: typer.Typer) -> None:
    """Adds the `crossover` command."""
    app.command()(crossover)
