"""`lockcross serve`: the database in a web browser."""

from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from results.paths import DATABASE
from sweeps.cli.options import Database


def serve(
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")] = 8001,
    downloads: Annotated[
        bool, typer.Option("--downloads", help="Allow downloads of the file and of whole tables.")
    ] = False,
    db: Database = DATABASE,
) -> None:
    """Show the database in a web browser, on this machine alone. Ctrl-C ends it.

    Serves a copy as the database stands now. Installs Datasette when it is first called.
    """
    from results.browser import server, site
    from results.store.store import Store

    with (
        TemporaryDirectory(prefix="lockcross-serve-") as folder,
        Store(db, read_only=True) as store,
    ):
        server.DATASETTE.install()
        chosen = server.free_port(port)
        copied = site.copy_to(store.connection, db, Path(folder))
        words = site.command(copied, chosen, downloads)
        with server.served(words, chosen) as wait_for_end:
            print(f"http://{site.HOST}:{chosen}/{copied.stem}", flush=True)
            print("the database as it is now; Ctrl-C ends it", flush=True)
            with suppress(KeyboardInterrupt):
                wait_for_end()
