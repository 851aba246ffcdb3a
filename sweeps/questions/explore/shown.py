"""The interactive map on the page: its data as the page's script reads them
(templates/data.js)."""

import sqlite3
from collections.abc import Collection
from typing import Any

import numpy as np

from results.draw.drawing import Drawing
from sweeps.model.isa import isa_words
from sweeps.model.locks import FENCE_KINDS, FULL, LockLabel
from sweeps.questions.explore.explorer import PLAN, ExplorerMap, Processor, explorer
from sweeps.report.shown import Part, References, Section, Shown
from sweeps.report.style import look
from sweeps.search.found import PLAN as STUDY
from sweeps.search.found import Mark

HOW = "./lockcross explore"  # the command that computes the grid
# The kinds of fence that a page begins with, where they are: x86-64's production fence is a locked
# operation, the others have full fences alone.
_CHOSEN = ("rmw", FULL)
_DIGITS = 4  # behind the point, of cycles: what is shown with two is then rounded but once


def part(connection: sqlite3.Connection, _: References, __: Collection[Drawing]) -> Part | None:
    """The map; beside a study without any, how it is made."""
    data = explorer_data(connection)
    of_study = STUDY.optional(connection) is not None
    if not (data or of_study):
        return None
    return Part(
        [Section("explorer", "Explore the map", top=True)],
        {"explorer": data, "of_study": of_study, "how": HOW},
        title="Which Java lock is cheapest, and where the answer changes",
        style="explorer.css" if data else "",
    )


SHOWN = Shown(part, alone=lambda connection: PLAN.optional(connection) is not None)


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
        **_shared(one),
        "explored": one.explored,
        "cas": {"measured": _rounded(one.cas), "set": one.cas_set},
        "fence": {"measured": _rounded(one.fence), "set": one.fence_set},
        "runs": one.parameters.get("runs", 0),
        "locks": [
            {
                **_label(lock.label),
                "aside": lock.label.lock in one.aside,
                "shape": lock.costs.shape,
                "costs": _rounded(np.ravel(lock.costs)),
                "command": lock.command,
            }
            for lock in one.locks
        ],
        "own": _mark(one.own) if one.own else None,
        "crossings": [
            {
                "pair": [crossing.lock_a, crossing.lock_b],
                "cas": round(crossing.cas, _DIGITS),
                "fence": round(crossing.fence, _DIGITS),
            }
            for crossing in one.crossings
        ],
        "searched": dict(zip(("cancel", "share"), one.searched, strict=True)),
    }


def _processor(one: Processor) -> dict[str, Any]:
    """A machine as it is. Costs are as stored, and beside them as the tables of the page have
    them."""
    return {
        **_mark(one.place),
        "machine": one.place.machine,
        **_shared(one),
        "locks": [
            {
                **_label(run.label),
                "cost": run.cost,
                "shown": f"{run.cost:.1f}",
                "command": run.command,
            }
            for run in one.locks
        ],
    }


def _shared(one: ExplorerMap | Processor) -> dict[str, Any]:
    """What a map and a machine as it is both have."""
    given = one.parameters
    threads = "1 thread" if one.threads == 1 else f"{one.threads} threads"
    return {
        "core": "out of order" if one.out_of_order else "in order",
        "isa": isa_words(one.isa.title, one.flavour),
        "flavour": one.flavour,
        "fenceName": one.isa.full_fence,
        "cancel": one.cancel,
        "share": one.share,
        "tie": one.tie,
        "workload": f"{threads}; {given.get('objects')} objects, each of which goes through "
        f"{given.get('runs')} runs of {given.get('run_length')} acquisitions by one thread",
    }


def _label(label: LockLabel) -> dict[str, Any]:
    return {
        "label": label,
        "lock": label.lock,
        "kind": label.fence,
        "words": label.words(),
        "colour": look(label).colour,
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
