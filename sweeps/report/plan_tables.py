"""The named queries of a plan: who wins in each setting, and what every lock costs there."""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from results.errors import LockcrossError
from results.store.queries import Answer, condition, plan_name, values_of_plan
from results.text.rows import Form, print_compact, print_rows
from sweeps.model.cell import AXES, values
from sweeps.model.label import FENCE_KINDS, LockLabel
from sweeps.report.plan_figures import draw_plan
from sweeps.report.report import TEMPLATES, svg_uri, write_page
from sweeps.search.plan_costs import TIE_PERCENT, Group, PlanRun, groups, runs_of_plan

_OF_LOCK = ("lock", "variant", "fence", "seed")  # axes that are no part of a setting


def winner_rows(found: Sequence[Group]) -> Answer:
    """The winner in each setting, with full fences and with any kind where there are others."""
    names = _names(found)
    rows: list[tuple[Any, ...]] = []
    for group in found:
        place = _place(group, names)
        absent = ", ".join(group.absent)
        for fences, win in group.contests(TIE_PERCENT / 100):
            if win is None:
                (label,) = [one for one in group.costs if fences in ("any", one.fence)]
                alone = ("", None, None, "alone", absent)
                rows.append((*place, fences, label, round(group.costs[label].median, 2), *alone))
                continue
            lead = round(100 * win.lead, 2)
            verdict = "tie" if win.tied else ""
            rows.append(
                (*place, fences, win.lock, round(win.cost, 2), win.runner_up,
                 round(win.margin, 2), lead, verdict, absent)
            )  # fmt: skip
    return Answer(
        [*names, "fences", "winner", "cycles_per_pair", "next", "lead_cycles", "lead_percent",
         "verdict", "absent"],
        rows,
    )  # fmt: skip


def cost_rows(found: Sequence[Group]) -> Answer:
    """What every lock costs in each setting, cheapest first."""
    names = _names(found)
    rows = [
        (*_place(group, names), label, label.fence, *(round(x, 2) for x in
         (band.median, band.least, band.most)), band.seeds)
        for group in found
        for label, band in group.costs.items()
    ]  # fmt: skip
    return Answer([*names, "lock", "fences", "cycles_per_pair", "least", "most", "seeds"], rows)


def compared_words(found: Iterable[Group]) -> str:
    """Which locks and fence kinds some settings compare, and what is a tie."""
    labels = sorted({label for group in found for label in group.costs})
    return (
        f"{labels_words(labels)}\nCost: cycles per acquire-release pair, the median of the seeds. "
        f"A lead below {TIE_PERCENT:g} % is a tie."
    )


def labels_words(labels: Iterable[str]) -> str:
    """Which locks and fence kinds stand in a table."""
    known = [LockLabel(label) for label in labels]
    locks = dict.fromkeys(str(label.partition("/")[0]) for label in known)
    kinds = [words for kind, words in FENCE_KINDS.items() if kind in {one.fence for one in known}]
    return f"Compared: {', '.join(locks)}; with {', '.join(kinds)}."


def _names(found: Iterable[Group]) -> list[str]:
    """The names of what is set in some settings, axes first."""
    axes = dict.fromkeys(axis.name for axis in AXES if axis.name not in _OF_LOCK)
    keys = dict.fromkeys(name for group in found for name in values(group.setting))
    return list(axes | {name: None for name in keys if name not in _OF_LOCK})


def _place(group: Group, names: Sequence[str]) -> tuple[Any, ...]:
    every = values(group.setting)
    return tuple(every.get(name) for name in names)


_ALWAYS = ("winner", "lock", "cycles_per_pair")


def write_plan_page(connection: sqlite3.Connection, plan: str, output: Path) -> Path:
    """Draws the figures of a plan and writes its page into `output`; returns the page's path.
    Raises LockcrossError."""
    runs, name = runs_of_plan(connection, plan), plan_name(plan)
    found = groups(runs)
    if not found:
        raise LockcrossError(f"no run of plan {name!r} has a cost per acquire-release pair")
    drawn = draw_plan(runs, name, output / "figures")
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined
    )
    page = environment.get_template("plan.html").render(
        name=name,
        compared=compared_words(found).splitlines(),
        tables=[
            ("winners", "The cheapest lock", *_apart(winner_rows(found))),
            ("costs", "What every lock costs", *_apart(cost_rows(found))),
        ],
        figures=[(title, svg_uri(path)) for title, path in drawn],
        failures=_failures(runs),
        provenance=_provenance(connection, plan, runs),
    )
    return write_page(page, output / f"report_{name}.html")


def _apart(answer: Answer) -> tuple[str, list[str], list[list[str]]]:
    """What rows have in common, in words; the columns in which they differ; the rows of those."""
    columns = list(zip(*answer.rows, strict=True))
    kept, same = [], []
    for place, name in enumerate(answer.columns):
        if set(columns[place]) <= {None, ""}:
            continue
        if name in _ALWAYS or len(set(columns[place])) > 1:
            kept.append(place)
        else:
            same.append(f"{name}={columns[place][0]}")
    rows = [["" if row[n] is None else str(row[n]) for n in kept] for row in answer.rows]
    return ", ".join(same), [answer.columns[n] for n in kept], rows


def _failures(runs: list[PlanRun]) -> list[tuple[int, str, str, int]]:
    """Runs that failed or were refused, by cause: how many, status, cause, the last one's id."""
    last = {(run.status, run.cause): run.id for run in runs if run.status != "ok"}
    counts = Counter((run.status, run.cause) for run in runs if run.status != "ok")
    return [(count, *key, last[key]) for key, count in counts.most_common()]


def _provenance(
    connection: sqlite3.Connection, plan: str, runs: list[PlanRun]
) -> list[tuple[str, list[Any]]]:
    found: list[tuple[str, list[Any]]] = [("Runs", [f"{len(runs):,}"])]
    for what, column in (
        ("Source revision", "source_revision"),
        ("Compiler", "compiler"),
        ("Engine", "engine_version"),
    ):
        rows = connection.execute(
            f"SELECT DISTINCT {column} FROM runs WHERE {column} != '' "
            f"AND {condition(connection, plan)} ORDER BY 1",
            values_of_plan(plan),
        )
        found.append((what, [value for (value,) in rows]))
    return found


OF_A_PLAN = ("winners", "costs")  # the named queries that a plan has too


def print_of_plan(connection: sqlite3.Connection, query: str, plan: str, form: Form) -> None:
    """Prints a named query of a plan's runs. Raises LockcrossError."""
    from results.text.terminal import console
    from sweeps.search.plan_costs import groups, runs_of_plan

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
    from results.store.queries import plan_name
    from sweeps.report.plan_figures import draw_plan
    from sweeps.search.plan_costs import groups, runs_of_plan

    runs = runs_of_plan(connection, plan)
    for _, path in draw_plan(runs, plan_name(plan), folder):
        print(path)
    print(compared_words(groups(runs)))


def compared_in_study(connection: sqlite3.Connection) -> str:
    """Which locks and fence kinds the winner table of the main job compares."""
    from sweeps.model.label import LockLabel
    from sweeps.search.found import PLAN

    rows = connection.execute(
        "SELECT DISTINCT lock, variant, fence FROM series JOIN runs ON runs.id = run_id "
        "WHERE series.name GLOB 'table/*' AND status = 'ok' ORDER BY 1, 2, 3"
    )
    labels = [LockLabel.of(*row) for row in rows]
    aside = PLAN.read(connection).table_locks
    return labels_words(labels) + (f" Locks 'compared': without {', '.join(aside)}." * bool(aside))
