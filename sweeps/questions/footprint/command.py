"""`lockcross footprint`: what each uncontended path through a lock consists of."""

from typing import Annotated

import typer

from results.errors import LockcrossError
from results.paths import DATABASE
from results.text.rows import Form, Format, print_rows
from sweeps.cli import complete
from sweeps.cli.options import Database, Jobs, NoServer, served


def footprint(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[LOCK]...", help="Locks; default: all.", autocompletion=complete.locks
        ),
    ] = None,
    isa: Annotated[
        str | None,
        typer.Option(help="Only x86_64, ppc64le or aarch64.", autocompletion=complete.isas),
    ] = None,
    form: Format = Form.TABLE,
    jobs: Jobs = 0,
    no_server: NoServer = False,
    db: Database = DATABASE,
) -> None:
    """Count what each uncontended path through a lock consists of, and the bytes of its state.

    Instructions, atomics, fences, loads and stores, by owner and others; the bytes of an object
    and of an inflated monitor.
    """
    from rich.console import Console

    from results.store.queries import Answer
    from results.store.store import Store
    from sweeps.cli.progress import Bar
    from sweeps.model.isa import ISAS
    from sweeps.model.locks import load_locks
    from sweeps.questions.footprint.footprint import COLUMNS, cells, measure, rows, tables
    from sweeps.run.runner import Runner

    known = load_locks()
    if unknown := [name for name in names or () if name not in known]:
        raise LockcrossError(f"lock {unknown[0]!r} is unknown; known are {', '.join(known)}")
    if isa is not None and isa not in ISAS:
        raise LockcrossError(f"isa {isa!r} is unknown; known are {', '.join(ISAS)}")
    wanted = cells([known[name] for name in names or known], [isa] if isa else ISAS)
    with Store(db) as store, Bar() as progress:
        found = measure(Runner(store, jobs, progress, served(no_server)), wanted)
    if form != Form.TABLE:
        print_rows(Answer(list(COLUMNS), [tuple(row) for row in rows(found)]), form)
        return
    console = Console()
    for table in tables(found):
        console.print(table)
        console.print()
