"""The plan of a main job as it was written before it became the one plan document, in files of
users and in databases of schemas up to 11."""

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
    """Return what a fact's `value` is now, in SQL of a connection."""
    connection.create_function(
        "current_plan", 1, lambda text: json.dumps(current_study(json.loads(text)), sort_keys=True)
    )
    return f"CASE name WHEN 'plan' THEN current_plan({value}) ELSE {value} END"


def rename_series(connection: sqlite3.Connection) -> None:
    """Give the crossovers of studies the names of their cells, without what was held."""
    for (text,) in connection.execute("SELECT value FROM facts WHERE name GLOB 'study/*'"):
        for along in json.loads(text).get("along", []):
            name = along["cells"]
            rename = "UPDATE crossovers SET series = ? WHERE series GLOB ?"
            connection.execute(rename, (name, f"{name}/*"))
