"""`lockcross runtimes`: questions that runtimes' engineers have asked, with their answers."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from results.errors import writing
from results.paths import DATABASE, ROOT
from results.store.store import Store, store_to_read
from results.text.rows import Form, Format, Rows, print_parts
from results.text.terminal import console
from sweeps.cli import options
from sweeps.cli.options import ClusterFile, Database, DryRun, Jobs, NoServer, RetryFailed
from sweeps.plans import RUNTIMES
from sweeps.questions.runtimes.answer import Answered, load, run
from sweeps.study.plan import LoadedPlan
from sweeps.study.runs import Value

PAGE = ROOT / "docs" / "runtimes.md"
_TITLE = "ns of all threads together for a pair of acquire and release"
_INSTRUCTIONS = 2_000_000_000  # a run may execute, over all cores


def _names(incomplete: str) -> list[str]:
    return options.beginning(RUNTIMES.names(), incomplete)


def runtimes(
    names: Annotated[
        list[str] | None,
        options.argument("Questions, or files of your own; default: all.", _names, "[NAME]..."),
    ] = None,
    list_them: options.List = False,
    page: options.Page = None,
    dry_run: DryRun = False,
    retry_failed: RetryFailed = False,
    jobs: Jobs = 0,
    no_server: NoServer = False,
    cluster: ClusterFile = "",
    form: Format = Form.TABLE,
    db: Database = DATABASE,
) -> None:
    """Answer questions that runtimes' engineers have asked about locks.

    Each is a plan in sweeps/plans/runtimes/ that says who asked. What the database has not yet is
    run first.
    """
    from sweeps.cli.options import at_a_time, limits, pool_of
    from sweeps.cli.progress import Bar
    from sweeps.run.runner import Runner

    asked = [load(name) for name in names or RUNTIMES.names()]
    if list_them:
        print_parts(form, _list(asked), fold=False)
        return
    bounds = limits(0.0, _INSTRUCTIONS, no_server)
    if dry_run:
        with store_to_read(db) as store:
            runner = Runner(store, jobs, None, bounds, retry_failed)
            wanted = [cell for one in asked for cell in one.cells]
            print(runner.describe(wanted, at_a_time(cluster, jobs)))
        return
    with pool_of(cluster) as pool, Store(db) as store:
        with Bar() as progress:
            runner = Runner(store, jobs, progress, bounds, retry_failed, pool=pool)
            for one in asked:
                run(one, runner, store)
        answered = [Answered(one, store.connection) for one in asked]
    if form == Form.TABLE:
        for answer in answered:
            _print(answer)
    else:
        print_parts(form, _rows(answered))
    if page is not None:
        with writing(page, "name another file with --page"):
            page.write_text(page_of(answered), encoding="utf-8")


def page_of(answered: Sequence[Answered]) -> str:
    """Return the answers as a page of Markdown."""
    import jinja2

    folder = jinja2.FileSystemLoader(Path(__file__).with_name("templates"))
    environment = jinja2.Environment(
        loader=folder, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined, autoescape=False,
    )  # fmt: skip
    environment.filters["words"] = words_of
    return environment.get_template("page.md").render(answered=answered)


def _list(asked: Sequence[LoadedPlan]) -> Rows:
    return Rows(
        [
            {
                "name": one.name,
                "cells": len(one.cells),
                "question": one.title,
                "asked": one.plan.asked,
            }
            for one in asked
        ]
    )


def _print(answered: Answered) -> None:
    out = console(fold=False)
    out.print(f"{answered.asked.name}: {answered.question.title}", style="bold")
    out.print(f"{answered.answer()}\n")
    shown = {name: _words_of(name) for name in answered.question.settings}
    shown |= {label.words("/"): _words_of(label) for label in answered.labels}
    look = {label.words("/"): {"justify": "right"} for label in answered.labels}
    out.print(Rows(answered.rows(), shown, title=_TITLE, heads=look))
    for lock, runtimes in answered.ships().items():
        out.print(f"{lock}: {runtimes}")
    out.print()


def _words_of(name: str) -> Callable[[Mapping[str, Any]], str]:
    return lambda row: words_of(row[name])


def words_of(value: Value) -> str:
    """Return a value of a table's cell: costs with a decimal."""
    if value is None:
        return ""
    return f"{value:.1f}" if isinstance(value, float) else str(value)


def _rows(answered: Sequence[Answered]) -> Rows:
    """Return one row per cost."""
    settings = dict.fromkeys(name for one in answered for name in one.question.settings)
    return Rows(
        [
            {"question": one.asked.name}
            | {name: row.get(name) for name in settings}
            | {"lock": label, "ns_per_pair": row[label]}
            for one in answered
            for row in one.rows()
            for label in one.labels
            if row[label] is not None
        ]
    )
