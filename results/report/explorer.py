"""The interactive map's data, as the page's script reads them (templates/explorer/data.js)."""

import sqlite3
from typing import Any

import numpy as np

from results.analysis.explorer import ExplorerMap, LockCosts, explorer
from results.analysis.study import Mark
from results.figures.style import look
from results.model.flavours import isa_words
from results.model.label import FENCE_KINDS, LockLabel

HOW = "./lockcross explore"  # the command that computes the grid
_DIGITS = 4  # behind the point, of cycles: what is shown with two is then rounded but once


def explorer_data(connection: sqlite3.Connection) -> dict[str, Any] | None:
    """Everything that the map shows, or None where the database has no map."""
    found = explorer(connection)
    if not found.maps:
        return None
    locks = dict.fromkeys(one.label.lock for map_ in found.maps for one in map_.locks)
    kinds = dict.fromkeys(one.label.fence for map_ in found.maps for one in map_.locks)
    return {
        "maps": [_map(one) for one in found.maps],
        "locks": [(name, LockLabel(name).words()) for name in locks],
        "fences": [(kind, FENCE_KINDS.get(kind, kind)) for kind in kinds],
        "limits": dict(found.limits),
        "notes": list(found.notes),
        "how": HOW,
        "accuracy": vars(found.accuracy) if found.accuracy else None,
    }


def _map(one: ExplorerMap) -> dict[str, Any]:
    return {
        "machine": one.machine,
        "title": one.title,
        "core": "out of order" if one.out_of_order else "in order",
        "isa": isa_words(one.isa.title, one.flavour),
        "flavour": one.flavour,
        "fenceName": one.isa.full_fence,
        "explored": one.explored,
        "cas": {"measured": _rounded(one.cas), "set": one.cas_set},
        "fence": {"measured": _rounded(one.fence), "set": one.fence_set},
        "cancel": one.cancel,
        "share": one.share,
        "tie": one.tie,
        "workload": _workload(one),
        "runs": one.parameters.get("runs", 0),
        "locks": [_lock(lock, one) for lock in one.locks],
        "own": _mark(one.own) if one.own else None,
        "marks": [_mark(mark) for mark in one.marks],
        "crossings": [
            {"pair": [c.lock_a, c.lock_b], "cas": round(c.cas, _DIGITS),
             "fence": round(c.fence, _DIGITS)}
            for c in one.crossings
        ],
        "searched": {"cancel": one.searched[0], "share": one.searched[1]},
    }  # fmt: skip


def _lock(lock: LockCosts, one: ExplorerMap) -> dict[str, Any]:
    return {
        "label": lock.label,
        "lock": lock.label.lock,
        "kind": lock.label.fence,
        "words": lock.label.words(),
        "colour": look(lock.label).colour,
        "aside": lock.label.lock in one.aside,
        "shape": lock.costs.shape,
        "costs": _rounded(np.ravel(lock.costs)),
        "command": lock.command,
    }


def _mark(mark: Mark) -> dict[str, Any]:
    return {
        "name": mark.machine + "*" * mark.assumed,
        "title": mark.title,
        "cas": round(mark.cas, _DIGITS),
        "fence": round(mark.fence, _DIGITS),
    }


def _rounded(values: Any) -> list[float]:
    return [round(float(value), _DIGITS) for value in values]


def _workload(one: ExplorerMap) -> str:
    """The workload in words."""
    given = one.parameters
    threads = "1 thread" if one.threads == 1 else f"{one.threads} threads"
    return (
        f"{threads}; {given.get('objects')} objects, each of which goes through "
        f"{given.get('runs')} runs of {given.get('run_length')} acquisitions by one thread"
    )
