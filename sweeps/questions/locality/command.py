"""`lockcross locality`: how local and how contended the locks of logged programs are."""

from pathlib import Path
from typing import Annotated

import typer

from results.text.rows import Form, Format, print_parts


def locality(
    files: Annotated[
        list[Path],
        typer.Argument(help="Logs that `run --events FILE` wrote.", exists=True, dir_okay=False),
    ],
    long_ms: Annotated[
        float,
        typer.Option("--long", min=0, help="Sections of so many milliseconds or more are long."),
    ] = 10.0,
    form: Format = Form.TABLE,
) -> None:
    """Measure contention and thread locality in logs of lock events.

    Prints the thesis's Tables 4.2 to 4.4, 5.2 and 5.3. A SyncOp is an acquisition, a release, a
    wait or a notification.
    """
    from sweeps.questions.locality.table import tables
    from sweeps.search.locality import read_events

    every = tables([read_events(file) for file in files], long_ms)
    print_parts(form, *(part for rows in every for part in (rows, "")))
