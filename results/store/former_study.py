"""Studies as they were before schema 12: the plan of a main job before it became the one plan
document, in files of users too, and series whose runs did not say at which latencies they stand."""

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

SCHEMA = 11  # the last whose databases have it
_ISAS = {"lock": "x86_64", "larx": "ppc64le", "lse": "aarch64", "llsc": "aarch64"}
_SERIES = ["machine", "isa", "flavour"]
_KEPT = ("title", "locks", "fence_kinds", "production", "limits", "seeds", "tie_percent")
Table = dict[str, Any]


def current_study(former: Table) -> Table:
    """Return such a plan as the document that it is now; any other as it is."""
    if not isinstance(of_map := former.get("map"), dict):
        return former
    flavours = former.get("flavours", [])
    isas = list(dict.fromkeys(_ISAS[name] for name in flavours if name in _ISAS))
    engine = {"engine": former["engine"]} if "engine" in former else {}
    machines = [former.get("machine", ""), *former.get("beside", [])]
    used = {"workload": "lock_sequence", **_some(of_map, "threads", "parameters")}
    on = {**engine, "apart": _SERIES, "isa": isas, "skip_unsupported": True}
    maps = {**on, "machine": machines, "flavour": flavours}
    axes = _some(of_map, "cas_latency", "fence_latency")
    cells = [{"name": "map", **maps, **used, **axes}]
    if of_map.get("cancel_latency") and former.get("production"):
        both = _some(of_map, "cas_latency", "cancel_latency")
        made = {"name": "cancel_map", "fence": "production", "flavour": [*former["production"]]}
        cells.append({**maps, **used, **both, **made})
    cells.append({"name": "table", **maps, **used})
    calibration = former.get("calibration") or {}
    if real := calibration.get("machines"):
        cells.append({"name": "table", **on, "machine": real, "flavour": "all", **used})
    along = [_along(name, {**of_map, "values": axes[name]}) for name in axes]
    along += [_along(name, axis) for name, axis in former.get("axes", {}).items()]
    for axis in along:
        axis.setdefault("tolerance", of_map.get("tolerance"))
    produced = {"lock": former.get("locks"), "fence": "production"}
    if lengths := former.get("run_length"):
        given = {**lengths.get("parameters", {}), "run_length": lengths.get("values")}
        also = {**_some(lengths, "threads", "cancel_latency"), "parameters": given}
        cells.append({"name": "run_length", **maps, **produced, **used, **also})
        along.append(
            {
                "cells": "run_length",
                "axis": "run_length",
                "by": ["cancel_latency"],
                "fences": ["production"],
                "cancels": True,
                **_some(lengths, "tolerance"),
            }
        )
    if rounds := former.get("rounds"):
        where = {"apart": ["machine", "flavour"], "isa": _ISAS.get(rounds.get("flavour"))}
        how = {"lock": former.get("locks"), "fence": rounds.get("fences"), "threads": 2}
        with_rounds = _some(rounds, "machine", "flavour", "parameters")
        cells.append(
            {"name": "rounds", "workload": "rounds", **engine, **where, **how, **with_rounds}
        )
    cells += _processors(former.get("processors") or {}, isas)
    document = {
        **_some(former, *_KEPT),
        "aside": former.get("table_locks", []),
        "cells": cells,
        "borders": [{"cells": "map", "axes": [*axes], **_some(of_map, "tolerance")}],
        "along": along,
    }
    if calibration:
        on_maps = {"cells": ["map", "table"]}
        document["calibration"] = {**on_maps, **_some(calibration, "latencies")}
    return document


def _some(table: Mapping[str, Any], *keys: str) -> Table:
    return {key: table[key] for key in keys if table.get(key) is not None}


def _along(name: str, axis: Mapping[str, Any]) -> Table:
    contests = {"fences": ["production", "full"]}
    return {"cells": "map", "axis": name, **contests, **_some(axis, "values", "tolerance", "step")}


def _processors(of: Mapping[str, Any], isas: list[str]) -> list[Table]:
    """Return the cells of real processors, by use and by the kind of fence that a lock is named
    with."""
    kinds: dict[str, list[str]] = {}
    for label in of.get("locks", []):
        lock, _, kind = label.partition("/")
        kinds.setdefault(kind or "production", []).append(lock)
    return [
        {
            "name": f"processors/{use}",
            "apart": _SERIES,
            "isa": isas,
            "skip_unsupported": True,
            "machine": of.get("machines"),
            "lock": locks,
            "fence": kind,
            **of[use],
        }
        for use in ("one_thread", "contended")
        if use in of
        for kind, locks in kinds.items()
    ]


def as_now(connection: sqlite3.Connection, value: str) -> str:
    """Return the current form of a fact's `value`, in SQL of a connection."""
    connection.create_function(
        "current_plan", 1, lambda text: json.dumps(current_study(json.loads(text)), sort_keys=True)
    )
    return f"CASE name WHEN 'plan' THEN current_plan({value}) ELSE {value} END"


def rename_series(connection: sqlite3.Connection) -> None:
    """Give the crossovers of studies the names of their cells, without the values that were
    held."""
    for (text,) in connection.execute("SELECT value FROM facts WHERE name GLOB 'study/*'"):
        for along in json.loads(text).get("along", []):
            name = along["cells"]
            rename = "UPDATE crossovers SET series = ? WHERE series GLOB ?"
            connection.execute(rename, (name, f"{name}/*"))


# The figure of an axis as engines report it; what a full fence's is depends on the ISA.
_FIGURES = {"cas_latency": "cas_success", "cancel_latency": "charge_stop"}
_FENCES = {"x86_64": "fence_mfence", "ppc64le": "fence_hwsync", "aarch64": "fence_dmb"}
_AXES = ("cas_latency", "fence_latency", "cancel_latency")
_RUNS = f"""SELECT series.name, runs.id, runs.isa, runs.fence, runs.lock || ':' || runs.variant,
{", ".join(f"runs.{axis}" for axis in _AXES)}, resolved FROM main.series AS series
JOIN main.runs AS runs ON runs.id = series.run_id LEFT JOIN resolved ON resolved.run_id = runs.id
WHERE series.name GLOB 'map/*' OR series.name GLOB 'cancel_map/*'
OR series.name GLOB 'run_length/*' OR series.name GLOB 'rounds/*'
OR series.name GLOB 'explore/*/*/*'
AND series.name NOT GLOB 'explore/as_is/*'"""


def add_latencies(connection: sqlite3.Connection) -> None:
    """Say of the runs of maps and run lengths at which latencies they stand: those that are set, or
    the machine's own where another job has run them so; all of the series where the lock never pays
    them."""
    series: dict[str, list[tuple[Any, ...]]] = {}
    for name, *run in connection.execute(_RUNS).fetchall():
        series.setdefault(name, []).append(tuple(run))
    for name, runs in series.items():
        known: dict[int, dict[str, list[int]]] = {run[0]: {} for run in runs}
        for number, axis in enumerate(_AXES):
            paying = {lock for _, _, _, lock, *of_run in runs if of_run[number] is not None}
            at: dict[int, int] = {}
            for run_id, isa, fence, lock, *of_run, resolved in runs:
                own = json.loads(resolved or "{}").get(_FIGURES.get(axis, _FENCES[isa]))
                cycles = own if of_run[number] is None else of_run[number]
                if lock in paying and (axis != "fence_latency" or fence == "full"):
                    at |= {} if cycles is None else {run_id: cycles}
            for run_id in known if at else ():
                known[run_id][axis] = [at[run_id]] if run_id in at else sorted(set(at.values()))
        connection.executemany(
            "UPDATE series SET latencies = ? WHERE name = ? AND run_id = ?",
            [(json.dumps(at, sort_keys=True), name, run_id) for run_id, at in known.items()],
        )
