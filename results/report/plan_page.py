"""The report of a plan: one HTML page with its winners, figures and costs."""

import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from results.analysis.plans.sweep import PlanRun, groups, runs_of_plan
from results.errors import LockcrossError
from results.figures.plans.plan import draw_plan
from results.report.report import TEMPLATES, svg_uri, write_page
from results.report.sweep_table import compared_words, cost_rows, winner_rows
from results.store.plans import bound, condition, plan_name
from results.store.queries import Answer

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
            bound(plan),
        )
        found.append((what, [value for (value,) in rows]))
    return found
