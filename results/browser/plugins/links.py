"""A plugin of Datasette: cells that name a run or a crossover lead to it."""

from typing import Any

from datasette import hookimpl
from markupsafe import Markup, escape

_RUNS = ("run_id", "base_run_id", "reference_run", "candidate_run")
_CROSSOVERS = ("crossover_id",)
_OTHERS = {"lock_a": "crossovers", "lock": "runs", "command": "runs"}  # what else is in the row


@hookimpl
def render_cell(
    row: Any, value: Any, column: str, table: str | None, database: str, datasette: Any
) -> Markup | None:
    """The link, or nothing for other cells. Tables link their own keys."""
    if table is not None or not isinstance(value, int):
        return None
    target = "runs" if column in _RUNS else "crossovers" if column in _CROSSOVERS else None
    if column == "id":
        target = next((its for name, its in _OTHERS.items() if name in row.keys()), None)  # noqa: SIM118
    if target is None:
        return None
    address = datasette.urls.row(database, target, str(value))
    return Markup('<a href="{}">{}</a>').format(escape(address), value)
