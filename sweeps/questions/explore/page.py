"""The interactive map's data, as the page's script reads them (templates/explorer/data.js)."""

import sqlite3
from collections.abc import Mapping
from typing import Any

import numpy as np

from results.draw.style import look
from sweeps.model.isa import isa_words
from sweeps.model.label import FENCE_KINDS, FULL, LockLabel
from sweeps.questions.explore.explorer import ExplorerMap, LockCosts, Processor, RunCost, explorer
from sweeps.search.found import Mark

HOW = "./lockcross explore"  # the command that computes the grid
# The kinds of fence that a page begins with, where they are: x86-64's production fence is a locked
# operation, the others have full fences alone.
_CHOSEN = ("rmw", FULL)
_DIGITS = 4  # behind the point, of cycles: what is shown with two is then rounded but once


def explorer_data(connection: sqlite3.Connection) -> dict[str, Any] | None:
    """Everything that the map shows, or None where the database has no map."""
    found = explorer(connection)
    if not found.maps:
        return None
    locks = dict.fromkeys(one.label.lock for map_ in found.maps for one in map_.locks)
    kinds = {one.label.fence for map_ in found.maps for one in map_.locks}
    ordered = [kind for kind in _CHOSEN if kind in kinds] + sorted(kinds - {*_CHOSEN})
    return {
        "maps": [_map(one) for one in found.maps],
        "processors": [_processor(one) for one in found.processors],
        "locks": [(name, LockLabel(name).words()) for name in locks],
        "fences": [(kind, FENCE_KINDS.get(kind, kind)) for kind in ordered],
        "chosen": [kind for kind in _CHOSEN if kind in kinds],
        "limits": dict(found.limits),
        "notes": list(found.notes),
        "how": HOW,
        "accuracy": vars(found.accuracy) if found.accuracy else None,
    }


def _map(one: ExplorerMap) -> dict[str, Any]:
    return {
        "machine": one.machine,
        "title": one.title,
        "core": _core(one.out_of_order),
        "isa": isa_words(one.isa.title, one.flavour),
        "flavour": one.flavour,
        "fenceName": one.isa.full_fence,
        "explored": one.explored,
        "cas": {"measured": _rounded(one.cas), "set": one.cas_set},
        "fence": {"measured": _rounded(one.fence), "set": one.fence_set},
        "cancel": one.cancel,
        "share": one.share,
        "tie": one.tie,
        "workload": _workload(one.threads, one.parameters),
        "runs": one.parameters.get("runs", 0),
        "locks": [_lock(lock, one) for lock in one.locks],
        "own": _mark(one.own) if one.own else None,
        "crossings": [
            {"pair": [c.lock_a, c.lock_b], "cas": round(c.cas, _DIGITS),
             "fence": round(c.fence, _DIGITS)}
            for c in one.crossings
        ],
        "searched": {"cancel": one.searched[0], "share": one.searched[1]},
    }  # fmt: skip


def _processor(one: Processor) -> dict[str, Any]:
    """A machine as it is. Costs are as stored, and beside them as the tables of the page have
    them."""
    return {
        **_mark(one.place),
        "machine": one.place.machine,
        "core": _core(one.out_of_order),
        "isa": isa_words(one.isa.title, one.flavour),
        "flavour": one.flavour,
        "fenceName": one.isa.full_fence,
        "cancel": one.cancel,
        "share": one.share,
        "tie": one.tie,
        "workload": _workload(one.threads, one.parameters),
        "locks": [_run(lock) for lock in one.locks],
    }


def _run(run: RunCost) -> dict[str, Any]:
    return {
        **_label(run.label),
        "cost": run.cost,
        "shown": f"{run.cost:.1f}",
        "command": run.command,
    }


def _core(out_of_order: bool) -> str:
    return "out of order" if out_of_order else "in order"


def _label(label: LockLabel) -> dict[str, Any]:
    return {
        "label": label,
        "lock": label.lock,
        "kind": label.fence,
        "words": label.words(),
        "colour": look(label).colour,
    }


def _lock(lock: LockCosts, one: ExplorerMap) -> dict[str, Any]:
    return {
        **_label(lock.label),
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


def _workload(number: int, given: Mapping[str, int | str]) -> str:
    """The workload of so many threads in words."""
    threads = "1 thread" if number == 1 else f"{number} threads"
    return (
        f"{threads}; {given.get('objects')} objects, each of which goes through "
        f"{given.get('runs')} runs of {given.get('run_length')} acquisitions by one thread"
    )
