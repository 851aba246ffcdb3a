"""`lockcross runs`: lists runs, by their differences."""

import itertools
import sqlite3
import sys
from contextlib import nullcontext
from typing import Annotated, Any

import typer

from results.paths import DATABASE
from results.store.database import code_of
from results.store.former import current_sql
from results.store.queries import Answer, QueryError, condition, guarded
from results.store.store import reading
from results.text.rows import Form, Format, print_compact, print_rows
from sweeps.cli import options
from sweeps.cli.options import QUERY_TIMEOUT_S, Database, QueryTimeout, with_axes
from sweeps.model.axes import AXES
from sweeps.model.cell import read_cell, selected, values

_NAMES = [axis.name for axis in AXES]
_STATUSES = ("ok", "failed", "refused")
_ALWAYS = ("id", "lock", "cycles_per_pair", "cause")


@with_axes(dict.fromkeys(_NAMES), filters=True)
def runs(
    plan: Annotated[str | None, options.of_plan("all runs")] = None,
    status: Annotated[str | None, typer.Option(help="ok, failed or refused.")] = None,
    compiler: Annotated[
        str | None, typer.Option(help="Part of its version line, e.g. 12.2.0 or clang.")
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(
            help="Only runs for which this is true: a condition in SQL on the columns and the "
            "workload's keys, e.g. 'cas_latency > 20 AND iterations = 500'."
        ),
    ] = None,
    timeout: QueryTimeout = QUERY_TIMEOUT_S,
    limit: Annotated[int, typer.Option(min=1, help="Print at most this many.")] = 50,
    form: Format = Form.TABLE,
    db: Database = DATABASE,
    **axes: Any,
) -> None:
    """List runs, the latest first: their costs, and what they differ in.

    Only those for which everything is as the options say. A table shows what fits; csv and json
    have every axis and key.
    """
    with reading(db) as connection:
        answer = list_runs(
            connection,
            limit,
            plan=plan,
            where=where,
            limit_s=timeout,
            status=status,
            compiler=compiler,
            **axes,
        )
    if form == Form.TABLE and answer.rows:
        from results.text.terminal import console

        rows = [(*row[:-2], row[-2] and round(row[-2], 2), row[-1]) for row in answer.rows]
        print_compact(Answer(answer.columns, rows), console(fold=False), _ALWAYS)
    else:
        print_rows(answer, form)
    if not answer.rows:
        print("no run in the database matches", file=sys.stderr)


def list_runs(
    connection: sqlite3.Connection,
    limit: int,
    *,
    plan: str | None = None,
    where: str | None = None,
    limit_s: float = 0,
    **filters: str | int | None,
) -> Answer:
    """Return the latest runs: id, status, every axis and key of the workloads, cost, cause.

    `filters` are columns of the table `runs` and the values they must have, `plan` a plan's name
    or path, `where` a condition in SQL on columns and keys, which may take `limit_s` seconds (0:
    any time). Raises QueryError.
    """
    given = {column: value for column, value in filters.items() if value is not None}
    if given.get("status", "ok") not in _STATUSES:
        raise QueryError(
            f"status {given['status']!r} is unknown; allowed are {', '.join(_STATUSES)}"
        )
    tests = {"compiler": "instr(compiler, :compiler)"}  # its line is longer than what one types
    terms = [tests.get(name, f"{name} = :{name}") for name in given]
    bound: dict[str, str | int] = {**given, "limit": limit}
    if plan is not None:
        test, bound_by_plan = condition(connection, plan)
        terms.append(test)
        bound |= bound_by_plan
    source = "runs"
    if where is not None:
        terms.append(f"({current_sql(where)}\n)")
        source = _with_keys(connection)
    sql = (
        f"SELECT runs.id, status, cycles_per_pair, cause, {selected(connection)} FROM {source} "
        f"WHERE {' AND '.join(terms) or '1'} ORDER BY runs.id DESC LIMIT :limit"
    )
    try:
        with nullcontext() if where is None else guarded(connection, limit_s):
            rows = connection.execute(sql, bound).fetchall()
    except (sqlite3.Error, UnicodeEncodeError) as error:
        if where is None or code_of(error) == sqlite3.SQLITE_INTERRUPT:
            raise
        raise QueryError(
            f"--where {where!r}: {error}; give a condition in SQL on the columns that `lockcross "
            "runs --format csv` prints, e.g. \"cas_latency > 20 AND lock != 'thin'\""
        ) from None
    cells = [values(read_cell(columns)) for _, _, _, _, *columns in rows]
    names = dict.fromkeys([*_NAMES, *itertools.chain(*cells)])
    return Answer(
        ["id", "status", *names, "cycles_per_pair", "cause"],
        [
            (run, status, *(cell.get(name) for name in names), cost, cause)
            for (run, status, cost, cause, *_), cell in zip(rows, cells, strict=True)
        ],
    )


def _with_keys(connection: sqlite3.Connection) -> str:
    """Return the table runs with a column for each key of a workload that is no column yet."""
    columns = {row[1] for row in connection.execute("PRAGMA table_info(runs)")}
    keys = connection.execute("SELECT DISTINCT each.key FROM runs, json_each(parameters) AS each")
    more = "".join(
        f", json_extract(parameters, '$.{key}') AS {key}"
        for (key,) in keys.fetchall()
        if key not in columns and key.isidentifier()
    )
    return f"(SELECT *{more} FROM runs) AS runs"
