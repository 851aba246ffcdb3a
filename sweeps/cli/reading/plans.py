"""The named queries of a plan: who wins in each setting, and what every lock costs there."""

import sqlite3
from pathlib import Path

from results.errors import LockcrossError
from sweeps.cli.reading.rows import Form, print_compact, print_rows

OF_A_PLAN = ("winners", "costs")  # the named queries that a plan has too
_ALWAYS = ("winner", "lock", "cycles_per_pair")


def print_of_plan(connection: sqlite3.Connection, query: str, plan: str, form: Form) -> None:
    """Prints a named query of a plan's runs. Raises LockcrossError."""
    from results.analysis.plans.sweep import groups, runs_of_plan
    from results.report.sweep_table import compared_words, cost_rows, winner_rows
    from results.report.terminal import console

    if query not in OF_A_PLAN:
        raise LockcrossError(
            f"--plan: goes with the queries {' and '.join(OF_A_PLAN)} alone; SQL has the runs of a "
            "sweep in the table series, by the name plan/NAME"
        )
    found = groups(runs_of_plan(connection, plan))
    if not found:
        raise LockcrossError(
            f"--plan: no run of plan {plan!r} has a cost per acquire-release pair; `lockcross "
            f"runs --plan {plan}` lists them"
        )
    answer = winner_rows(found) if query == "winners" else cost_rows(found)
    if form != Form.TABLE:
        print_rows(answer, form)
        return
    out = console(fold=False)
    print_compact(answer, out, _ALWAYS)
    out.print(compared_words(found))


def print_figures_of_plan(connection: sqlite3.Connection, plan: str, folder: Path) -> None:
    """Draws the figures of a plan and prints their paths, and what they compare."""
    from results.analysis.plans.sweep import groups, runs_of_plan
    from results.figures.plans.plan import draw_plan
    from results.report.sweep_table import compared_words
    from results.store.plans import plan_name

    runs = runs_of_plan(connection, plan)
    for _, path in draw_plan(runs, plan_name(plan), folder):
        print(path)
    print(compared_words(groups(runs)))


def compared_in_study(connection: sqlite3.Connection) -> str:
    """Which locks and fence kinds the winner table of the main job compares."""
    from results.analysis.study import fact
    from results.model.label import LockLabel
    from results.report.sweep_table import labels_words

    rows = connection.execute(
        "SELECT DISTINCT lock, variant, fence FROM series JOIN runs ON runs.id = run_id "
        "WHERE series.name GLOB 'table/*' AND status = 'ok' ORDER BY 1, 2, 3"
    )
    labels = [LockLabel.of(*row) for row in rows]
    aside = fact(connection, "plan")["table_locks"]
    return labels_words(labels) + (f" Locks 'compared': without {', '.join(aside)}." * bool(aside))
