"""What Datasette shows of a database: queries, facets, links, limits.

It serves a copy, as the database stood at the start: Datasette reads an immutable file, and a
driver may go on writing the database meanwhile.
"""

import json
import re
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from results.paths import QUERIES
from results.store.database import explained, migrate
from results.store.queries import TABLES, named_queries, query_text

HOST = "127.0.0.1"  # this machine alone; there is no option for another
SQL_LIMIT_MS = 1000
FACETS = ("status", "engine", "machine", "isa", "workload", "lock")
_HERE = Path(__file__).parent
_INNER = tuple(
    (
        "run_metrics metric_sets metric_names option_sets resolved_options metrics resolved "
        "migrations"
    ).split()
)
_WIDE = tuple(
    (
        "identity binary_digest source_revision engine_version compiler command output "
        "resolved_id place_id"
    ).split()
)
_SETTINGS: dict[str, object] = {
    "sql_time_limit_ms": SQL_LIMIT_MS,
    "facet_time_limit_ms": SQL_LIMIT_MS,
    "suggest_facets": "off",
    "default_page_size": 50,
    "truncate_cells_html": 100,
}
_DOWNLOADS = ("allow_download", "allow_csv_stream")


def copy_to(connection: sqlite3.Connection, path: Path, folder: Path) -> Path:
    """A copy in a folder, as the database stands; addresses have its name."""
    copied = folder / f"{re.sub(r'[^A-Za-z0-9_-]', '_', path.stem)}.db"
    with explained(copied):
        target = sqlite3.connect(copied, isolation_level=None)
        try:
            connection.backup(target)
            migrate(target)
            target.execute("PRAGMA journal_mode = DELETE")
        finally:
            target.close()
    return copied


def command(copied: Path, port: int, downloads: bool = False) -> list[str]:
    """What serves a copy. Its configuration is written beside it."""
    configuration = copied.with_suffix(".json")
    with closing(sqlite3.connect(copied)) as connection:
        described = configuration_of(copied.stem, connection)
    configuration.write_text(json.dumps(described), encoding="utf-8")
    settings = _SETTINGS | dict.fromkeys(_DOWNLOADS, "on" if downloads else "off")
    words = [sys.executable, "-P", "-m", "datasette", "serve", "--immutable", str(copied)]
    words += ["--host", HOST, "--port", str(port), "--metadata", str(configuration)]
    words += ["--plugins-dir", str(_HERE / "plugins"), "--template-dir", str(_HERE / "templates")]
    for name, value in settings.items():
        words += ["--setting", name, str(value)]
    return words


def configuration_of(name: str, connection: sqlite3.Connection) -> dict[str, Any]:
    """Datasette's metadata of the database."""
    without = "&".join(f"_nocol={column}" for column in _WIDE)
    tables: dict[str, dict[str, Any]] = {table: {"hidden": True} for table in _INNER}
    tables["runs"] = {"facets": list(FACETS), "sort_desc": "id"}
    words = f'<a href="/{name}/runs?{without}">All runs</a>, without what made them; queries below.'
    queries = {
        query_name(query): {
            "sql": query_text(connection, folder / f"{query}.sql").partition("\n")[2],
            "title": query,
            "description": description,
            "hide_sql": True,
        }
        for folder in (QUERIES, _HERE / "queries")
        for query, description in named_queries(folder).items()
    }
    return {
        "title": "Lockcross",
        "databases": {name: {"description_html": words, "queries": queries, "tables": tables}},
    }


def query_name(name: str) -> str:
    """A named query's in addresses, where tables have their names too."""
    return f"list_of_{name}" if name in TABLES else name
