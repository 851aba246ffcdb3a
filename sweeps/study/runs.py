"""The one row of a stored run: its cell, its cost, and its place on the axes."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any

from sweeps.model.axes import LATENCIES
from sweeps.model.cell import Cell, values
from sweeps.model.locks import LockLabel
from sweeps.study import nodes

Value = int | float | str | None  # of an axis or a key
LOCK = "lock"  # stands for the whole lock label, variant and fence kind included
_OF_LABEL = ("variant", "fence")
_STOP = "charge_stop_blocked"
_FORMER_STOP = "charge_stop"  # of runs from before a stop took what the stopped thread's state says


def coordinates(cell: Cell) -> dict[str, Value]:
    """Return where a run stands on every axis: the cell's values, with its whole label as the lock,
    and where core 1 is, if the cell says so."""
    every = {name: x for name, x in values(cell).items() if name not in _OF_LABEL}
    return {**every, LOCK: cell.label, **nodes.values(cell)}


@dataclass(frozen=True)
class StudyRun:
    """A stored run of a plan or of one of its series. `cost`: core cycles per acquire-release pair;
    not a number where it has none; `work`: how many of these the program takes without a lock, None
    where that is not known. `resolved`: the engine's values of all options; `latencies`: by
    axis, the cycles at which the series has the run. Only a series has these two."""

    id: int
    cell: Cell
    cost: float
    status: str = "ok"
    cause: str = ""
    resolved: Mapping[str, int] = field(default_factory=dict)
    latencies: Mapping[str, Sequence[int]] = field(default_factory=dict)
    work: float | None = 0.0

    @property
    def label(self) -> LockLabel:
        """Return the lock label."""
        return self.cell.label

    @property
    def costs(self) -> list[float]:
        """Return its cost, if it is a good run that has one."""
        return [] if self.status != "ok" or isnan(self.cost) else [self.cost]

    @property
    def cancel(self) -> int | None:
        """Return the cost of a revocation: as set, or else the machine's, which the engine may
        report, for an owner that waits: on the maps nearly all do."""
        if self.cell.cancel_latency is not None:
            return self.cell.cancel_latency
        return self.resolved.get(_STOP, self.resolved.get(_FORMER_STOP))

    def values(self, axis: str) -> Sequence[Any]:
        """Return where the run stands on an axis: at several latencies that its lock never pays; at
        none that is not set."""
        if axis in LATENCIES:
            return self.latencies.get(axis, [])
        value = coordinates(self.cell).get(axis)
        return [] if value is None else [value]

    def points(self, *axes: str) -> Iterator[tuple[Any, ...]]:
        """Yield every point that the run stands at, by its values on some axes."""
        return itertools.product(*map(self.values, axes))
