"""How much the main job asks for, on this machine."""

import time
from collections.abc import Iterator
from pathlib import Path

from results.store.store import Store
from sweeps.plans.study import load_study
from sweeps.questions.crossover.study import PLAN, Study
from sweeps.run.bench import Row
from sweeps.run.runner import Runner

QUICK = f"{PLAN}_quick"


def runs(study: str, folder: Path) -> int:
    """How many runs a study makes that finds none in its database, a new one in the folder. Raises
    LockcrossError (1) when one fails."""
    plan = load_study(study)
    with Store(folder / f"{study}.db") as store:
        Study(plan, plan.flavours, store, Runner(store)).run()
        (count,) = store.connection.execute("SELECT count(*) FROM runs").fetchone()
    return int(count)


def rows(folder: Path) -> Iterator[Row]:
    """The main job and its first look: how long, without figures and report, and how many runs."""
    for study, name in ((QUICK, "crossover --quick"), (PLAN, "crossover")):
        began = time.perf_counter()
        count = runs(study, folder)
        yield Row(name, time.perf_counter() - began, "s")
        yield Row(f"{name}, runs", count, "", count)
