"""Estimate how long cells take, by the time of cells like them, and the rest of a job."""

import json
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from results.store.store import Store
from sweeps.model.axes import LATENCIES
from sweeps.model.cell import Cell

GUESS_S = 0.15  # where no similar cell is known: a small program, start of QEMU included
# Where a program's keys say its length: its start, a pair, and a cycle of work in or between two.
_START_S, _PAIR_S, _WORK_S = 0.05, 45e-6, 0.25e-6
# What makes cells alike, the most telling first.
_LIKE = (
    "engine", "workload", "isa", "threads", "lock", "variant", "parameters", "flavour", "fence",
    "machine", *LATENCIES, "cores",
)  # fmt: skip
_LENGTH = ("objects", "first", "turns", "run_length", "after", "critical", "think")
_OF_KIND = 4  # of these: cells of about equal length

Key = tuple[object, ...]


def _key(values: Mapping[str, Any]) -> Key:
    """Return a cell's key of similarity: every longer beginning of it is had by fewer and more
    similar cells."""
    parameters = tuple(sorted(values["parameters"].items()))
    return tuple(parameters if name == "parameters" else values[name] for name in _LIKE)


def kind(cell: Cell) -> Key:
    """Return the common part of cells of about equal length."""
    return _key(vars(cell))[:_OF_KIND]


def _guess(values: Mapping[str, Any]) -> float:
    """Return the seconds of a cell like which none is known."""
    if values["workload"] != "lock_use":
        return GUESS_S
    keys = {name: int(values["parameters"].get(name, 0)) for name in _LENGTH}
    pairs = keys["objects"] * (keys["first"] + keys["turns"] * keys["run_length"] + keys["after"])
    return _START_S + pairs * (_PAIR_S + (keys["critical"] + keys["think"]) * _WORK_S)


class Costs:
    """Seconds of cells, by how many times the guess of each was taken: the mean of the most similar
    ones that are known, drawn towards the mean of less similar ones as much as one of them would
    draw it."""

    def __init__(self) -> None:
        self._sums: dict[Key, float] = defaultdict(float)
        self._counts: dict[Key, int] = defaultdict(int)

    @classmethod
    def of(cls, store: Store) -> "Costs":
        """Take in the stored runs."""
        there = {row[1] for row in store.connection.execute("PRAGMA table_info(runs)")}
        columns = ", ".join(name for name in _LIKE if name in there)
        rows = store.connection.execute(
            f"SELECT {columns}, count(*), sum(duration_s) FROM runs WHERE status = 'ok' "
            f"GROUP BY {columns}"
        )
        costs = cls()
        missing: dict[str, Any] = dict.fromkeys(_LIKE)
        for *values, count, seconds in rows:
            known = missing | dict(zip(columns.split(", "), values, strict=True))
            known["parameters"] = json.loads(known["parameters"])
            costs._add(_key(known), seconds / _guess(known), count)
        return costs

    def add(self, cell: Cell, seconds: float) -> None:
        self._add(_key(vars(cell)), seconds / _guess(vars(cell)), 1)

    def _add(self, key: Key, times: float, count: int) -> None:
        for end in range(len(key) + 1):
            self._sums[key[:end]] += times
            self._counts[key[:end]] += count

    def knows(self, cell: Cell) -> bool:
        return kind(cell) in self._counts

    def seconds(self, cell: Cell) -> float:
        key, mean = _key(vars(cell)), 1.0
        for end in range(len(key) + 1):
            if not (count := self._counts.get(key[:end])):
                break
            mean = (self._sums[key[:end]] + mean) / (count + 1)
        return mean * _guess(vars(cell))


def drawn(cells: Mapping[str, Cell], programs: Mapping[str, str]) -> list[str]:
    """Return the order in which cells are run, by their identities, which are as good as drawn:
    first one for each program and number of threads, so that something is soon known of every
    kind, then program by program, for whoever loads one once. In the order of a plan the dear ones
    might stand together at its end."""
    first: dict[tuple[str, int], str] = {}
    for identity in sorted(cells):
        first.setdefault((programs[identity], cells[identity].threads), identity)
    sample = set(first.values())
    others = sorted(cells.keys() - sample, key=lambda identity: (programs[identity], identity))
    return [*first.values(), *others]


class RemainingTime:
    """How long cells go on that run `slots` at a time: the rest of them, as their likes took,
    as fast as they have run so far. Cells have their identities."""

    def __init__(self, cells: Mapping[str, Cell], slots: int, costs: Costs) -> None:
        self._left = dict(cells)
        self._slots, self._costs, self._done_s = slots, costs, 0.0

    def __len__(self) -> int:
        return len(self._left)

    def ended(self, identity: str, seconds: float) -> None:
        """Note that a cell has ended after so many seconds."""
        self._costs.add(self._left.pop(identity), seconds)
        self._done_s += seconds

    def left_s(self, now: float) -> float:
        """Return how many seconds they will go on, `now` seconds after the first began."""
        left = [self._costs.seconds(cell) for cell in self._left.values()]
        busy = self._done_s / now if now else 0.0
        # A cluster may have fewer workers than slots.
        at_a_time = self._slots if 2 * busy > self._slots else max(busy, 1.0)
        return max([sum(left) / at_a_time, *left], default=0.0)
