"""`lockcross query --units`: the unit of each column that holds a number, by the column's name. It
means the same in every table, export and list of rows."""

import sqlite3
from collections.abc import Mapping

from results.text.rows import Rows
from sweeps.model.axes import AXES
from sweeps.model.workloads import WORKLOADS, Number, Share

OF_THE_ROW = "as the row's column unit says"
_OF_THE_CROSSOVER = "as crossovers.unit says"
_PAIR = "cycles/pair"
_NUMBERED = "its number"
_TURNS = "turns of a delay loop"

# By name. What stands for a number of things has their name.
_COLUMNS: Mapping[str, str] = {
    # tables of the database
    **dict.fromkeys(
        "id run_id base_run_id crossover_id resolved_id place_id metric_set option_set number "
        "position reference_run candidate_run sentence line".split(),
        _NUMBERED,
    ),
    "duration_s": "s",
    "attempts": "attempts",
    "cycles_per_pair": _PAIR,
    "cycles": "cycles",
    "cost": _PAIR,
    **dict.fromkeys(
        "value bracket_low bracket_high least greatest most median".split(), OF_THE_ROW
    ),
    **dict.fromkeys("x low high tolerance".split(), _OF_THE_CROSSOVER),
    # what queries and commands make of them
    **dict.fromkeys("set_cas set_fence lead_cycles CAS fence".split(), "cycles"),
    **dict.fromkeys("reference_cost candidate_cost core_cycles_per_pair".split(), _PAIR),
    "native_cycles_per_pair": _PAIR,
    "per_pair": "events/pair",
    "messages_per_pair": "messages/pair",
    "bytes_per_pair": "bytes/pair",
    "busiest_home": "share of the time",
    "seconds": "s",
    "ns_per_pair": "ns/pair",
    **dict.fromkeys("difference_percent error_percent lead_percent".split(), "%"),
    **dict.fromkeys(
        (
            f"{what}{end}"
            for what in ("measured", "no_lock_left_out", "predicted")
            for end in ("_ns", "_low", "_high")
        ),
        "ns/pair",
    ),
    "acquisitions": "acquisitions",
    "object_bytes": "bytes",
    "monitor_bytes": "bytes",
    **dict.fromkeys("published simulated".split(), OF_THE_ROW),
    "ratio": "simulated / published",
    **dict.fromkeys("median_error decisive_lead".split(), "share"),
    **dict.fromkeys("least_over_predicted most_over_predicted".split(), "actual / predicted"),
    **dict.fromkeys("order_right pairs".split(), "pairs"),
    "states": "states or executions",
}
# Numbers of things, named after them.
_COUNTS = "runs seeds cells rows refused instructions loads stores cas_won "
_COUNTS += "cas_lost rmw"
# Of workloads' keys that are no share; the others are numbers of things named after them.
_KEYS = dict.fromkeys("critical think hold pause delay lead".split(), _TURNS)
_KEYS |= {"duration": "cycles", "slice": "cycles", "kib": "KiB", "inner": "turns of a loop"}
_KEYS |= dict.fromkeys("first after run_length".split(), "acquisitions")
_KEYS |= dict.fromkeys("high_iterations low_iterations throw_every".split(), "iterations")
_KEYS |= {"high": "threads", "owners": "threads", "shared_objects": "objects"}


def units(connection: sqlite3.Connection) -> dict[str, str]:
    """Return the unit of every column of the database's tables, of `export` and of commands' output
    that may hold a number."""
    axes = {axis.name: axis.quantity.unit for axis in AXES if axis.quantity}
    counts = {name: name.replace("_", " ") for name in _COUNTS.split()}
    metrics = dict(connection.execute("SELECT name, unit FROM metric_names ORDER BY name"))
    measured = {f"metric_{name}": unit.lower() for name, unit in metrics.items()}
    keys = {name: key for workload in WORKLOADS.values() for name, key in workload.keys.items()}
    given = {
        name: "share" if isinstance(key, Share) else _KEYS.get(name, name.replace("_", " "))
        for name, key in keys.items()
        if isinstance(key, Number | Share)
    }
    of_cells = given | {f"parameter_{name}": unit for name, unit in given.items()}
    return {**of_cells, **axes, **counts, **_COLUMNS, **measured}


def rows(connection: sqlite3.Connection) -> Rows:
    """Return a row for each column."""
    return Rows([{"column": name, "unit": unit} for name, unit in units(connection).items()])
