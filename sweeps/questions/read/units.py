"""`lockcross query --units`: the unit of each column that holds a number, by the column's name. It
means the same in every table, export and list of rows."""

import sqlite3
import tomllib
from collections.abc import Mapping
from pathlib import Path

from results.text.rows import Rows
from sweeps.model.axes import AXES
from sweeps.model.workloads import WORKLOADS, Number, Share

_KNOWN = tomllib.loads(Path(__file__).with_name("units.toml").read_text(encoding="utf-8"))
OF_THE_ROW = "as the row's column unit says"


def _by_name(table: Mapping[str, str]) -> dict[str, str]:
    return {name: unit for unit, names in table.items() for name in names.split()}


def units(connection: sqlite3.Connection) -> dict[str, str]:
    """Return the unit of every column of the database's tables, of `export` and of commands' output
    that may hold a number."""
    axes = {axis.name: axis.quantity.unit for axis in AXES if axis.quantity}
    counts = {name: name.replace("_", " ") for name in _KNOWN["counts"].split()}
    of_keys, columns = _by_name(_KNOWN["keys"]), _by_name(_KNOWN["columns"])
    metrics = dict(connection.execute("SELECT name, unit FROM metric_names ORDER BY name"))
    measured = {f"metric_{name}": unit.lower() for name, unit in metrics.items()}
    keys = {name: key for workload in WORKLOADS.values() for name, key in workload.keys.items()}
    given = {
        name: "share" if isinstance(key, Share) else of_keys.get(name, name.replace("_", " "))
        for name, key in keys.items()
        if isinstance(key, Number | Share)
    }
    of_cells = given | {f"parameter_{name}": unit for name, unit in given.items()}
    return {**of_cells, **axes, **counts, **columns, **measured}


def rows(connection: sqlite3.Connection) -> Rows:
    return Rows([{"column": name, "unit": unit} for name, unit in units(connection).items()])
