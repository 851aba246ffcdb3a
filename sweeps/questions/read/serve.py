"""`lockcross serve`: the database in a web browser, by Datasette."""

import json
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from results.paths import DATABASE, QUERIES
from sweeps.cli.options import Database


def serve(
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")] = 8001,
    db: Database = DATABASE,
) -> None:
    """Show the database in a web browser, on this machine alone. Ctrl-C ends it.

    Nothing can be written there. Installs Datasette when it is first called.
    """
    from results import children
    from results.errors import LockcrossError
    from results.extras import REQUIREMENTS, Extra
    from results.store.queries import named_queries, query_text
    from results.store.store import Store

    with Store(db, read_only=True) as store:
        queries = {
            name: {
                "sql": query_text(store.connection, QUERIES / f"{name}.sql"),
                "title": name,
                "description": description,
                "hide_sql": True,
            }
            for name, description in named_queries().items()
        }
    Extra("Datasette", REQUIREMENTS / "browser.txt", megabytes=5).install()
    with TemporaryDirectory(prefix="lockcross-serve-") as folder:
        metadata = Path(folder, "metadata.json")
        # The address of a query with the name of a table would be the table's.
        pages = {f"query_{name}": query for name, query in queries.items()}
        described = {"title": "Lockcross", "databases": {db.stem: {"queries": pages}}}
        metadata.write_text(json.dumps(described), encoding="utf-8")
        server = children.start([
            sys.executable, "-P", "-m", "datasette", "serve", db, "--metadata", metadata,
            "--host", "127.0.0.1", "--port", str(port),
        ])  # fmt: skip
        try:
            with suppress(KeyboardInterrupt):
                if server.wait():
                    raise LockcrossError("Datasette has ended; it says why above", exit_code=1)
        finally:
            children.end(server)
