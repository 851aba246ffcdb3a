"""The work around a lock: the cycles that a program takes without one (lock `nop`), which are in no
cost of a lock operation.

The simplest loop, of one thread that does nothing else, stays in: locks are compared with silicon
in such loops, so a lead there is a share of the same cost as anywhere.
"""

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import replace

from sweeps.accuracy.errors import IN_TURN, ONE_THREAD, work_of
from sweeps.model import engines
from sweeps.model.axes import LATENCIES
from sweeps.model.cell import (
    NO_LOCK,
    Cell,
    cell_of,
    read_cell,
    selected,
    unsupported_reason,
    values,
)
from sweeps.model.workloads import with_defaults
from sweeps.study.lines import with_lock

WORK_KEYS = ("critical", "think")  # of a workload: its work in and between sections
_USE = "lock_use"  # whose threads take turns, too
_PAIRS = 400  # of the simplest loop

_Key = tuple[tuple[str, object], ...]


def simplest(setting: Cell) -> Cell:
    """Return the simplest loop without a lock on the machine of a cell."""
    keys = {"objects": 1, "first": _PAIRS, **dict.fromkeys(WORK_KEYS, 0)}
    loop = with_lock(setting, NO_LOCK)
    return replace(loop, workload=_USE, threads=1, cores=None, parameters=with_defaults(_USE, keys))


def unlocked(settings: Iterable[Cell]) -> list[Cell]:
    """Return the runs without a lock that say what the work is in settings of the embedded engine,
    where there is work."""
    cells = dict[Cell, None]()
    for setting in settings:
        if setting.engine == engines.DEFAULT and _has_work(setting) and not _waits(setting):
            alone = with_lock(setting, NO_LOCK)
            if not unsupported_reason(alone):
                cells |= dict.fromkeys((alone, simplest(setting)))
    return list(cells)


class Baseline:
    """The runs without a lock in a database."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        rows = connection.execute(
            f"SELECT cycles_per_pair, {selected(connection)} FROM runs WHERE lock = ? "
            "AND status = 'ok' AND cycles_per_pair IS NOT NULL ORDER BY id DESC",
            (NO_LOCK,),
        )
        self._costs: dict[_Key, float] = {}
        self._loops: dict[_Key, dict[int, float]] = {}  # by the pairs of a loop
        for cost, *columns in rows:  # the latest first: a former one may be of another machine file
            cell = read_cell(columns)
            self._costs.setdefault(_key(cell), cost)
            first = int(cell.parameters.get("first", 0))
            if cell.threads == 1 and _in_loop(cell, first) == _in_loop(simplest(cell), first):
                self._loops.setdefault(_key(simplest(cell)), {}).setdefault(first, cost)

    def work(self, setting: Cell) -> float | None:
        """Return the cycles per pair that a setting takes without a lock, above the simplest loop.
        None where that was not run, or threads may wait for each other while others work."""
        if not _has_work(setting):
            return 0.0
        if _waits(setting):
            return None
        alone = self._costs.get(_key(with_lock(setting, NO_LOCK)))
        loops = self._loops.get(_key(simplest(setting)), {})
        if alone is None or not loops:
            return None
        return alone - loops[min(loops, key=lambda first: abs(first - _PAIRS))]


def _has_work(setting: Cell) -> bool:
    keys: Mapping[str, object] = setting.parameters
    return setting.workload == _USE or any(keys.get(key) for key in WORK_KEYS)


def _waits(setting: Cell) -> bool:
    return work_of(setting.workload, setting.threads) not in (ONE_THREAD, IN_TURN)


def _in_loop(cell: Cell, pairs: int) -> tuple[object, ...]:
    """Return what tells a loop: without turns the length of a run says nothing."""
    return cell.workload, {**cell.parameters, "first": pairs, "run_length": 1}


def _key(cell: Cell) -> _Key:
    """Return the values of a run without a lock, which alone pays no latency."""
    unset = dict.fromkeys(LATENCIES) if cell.threads == 1 else {}
    return tuple(values(cell_of(cell, **unset)).items())
