"""How long cells take, by what cells like them have taken; and how long is left of a job."""

import json
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from results.store.store import Store
from sweeps.model.axes import LATENCIES
from sweeps.model.cell import Cell

GUESS_S = 0.15  # where no similar cell is known: a small program, start of QEMU included
# What makes cells alike, the most telling first.
_LIKE = (
    "engine", "workload", "isa", "threads", "lock", "variant", "parameters", "flavour", "fence",
    "machine", *LATENCIES, "cores",
)  # fmt: skip
_OF_KIND = 4  # of these: cells of about equal length
_GOES_ON = 0.5  # a cell that takes longer than its likes goes on for so much of what it has taken

Key = tuple[object, ...]


def _key(values: Mapping[str, Any]) -> Key:
    """What a cell is like: every beginning of it is had by fewer and more similar ones."""
    parameters = tuple(sorted(values["parameters"].items()))
    return tuple(parameters if name == "parameters" else values[name] for name in _LIKE)


def kind(cell: Cell) -> Key:
    """What cells of about equal length have in common."""
    return _key(vars(cell))[:_OF_KIND]


class Costs:
    """Seconds of cells: the mean of the most similar ones that are known, drawn towards the mean of
    less similar ones as much as one of them would draw it."""

    def __init__(self) -> None:
        self._sums: dict[Key, float] = defaultdict(float)
        self._counts: dict[Key, int] = defaultdict(int)

    @classmethod
    def of(cls, store: Store) -> "Costs":
        """By the stored runs."""
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
            costs._add(_key(known), seconds, count)
        return costs

    def add(self, cell: Cell, seconds: float) -> None:
        """A cell has taken so long."""
        self._add(_key(vars(cell)), seconds, 1)

    def _add(self, key: Key, seconds: float, count: int) -> None:
        for end in range(len(key) + 1):
            self._sums[key[:end]] += seconds
            self._counts[key[:end]] += count

    def knows(self, cell: Cell) -> bool:
        """Whether one of its kind is known."""
        return kind(cell) in self._counts

    def seconds(self, cell: Cell) -> float:
        """What it will take."""
        key, mean = _key(vars(cell)), GUESS_S
        for end in range(len(key) + 1):
            if not (count := self._counts.get(key[:end])):
                break
            mean = (self._sums[key[:end]] + mean) / (count + 1)
        return mean


def drawn(cells: Mapping[str, Cell], programs: Mapping[str, str]) -> list[str]:
    """The order in which cells are run, by their identities, which are as good as drawn: first one
    for each program and number of threads, so that something is soon known of every kind, then
    program by program, for whoever loads one once. In the order of a plan the dear ones might stand
    together at its end."""
    first: dict[tuple[str, int], str] = {}
    for identity in sorted(cells):
        first.setdefault((programs[identity], cells[identity].threads), identity)
    sample = set(first.values())
    others = sorted(cells.keys() - sample, key=lambda one: (programs[one], one))
    return [*first.values(), *others]


class Ahead:
    """What is left of cells that are begun in their order, `slots` at a time. Their work is known
    from their likes, and how fast it is done from what was done; the last long cell counts by
    itself. Cells have their identities. `now`: seconds since the first began."""

    def __init__(self, cells: Mapping[str, Cell], slots: int, costs: Costs) -> None:
        self._waiting = dict(reversed(list(cells.items())))  # the next is the last
        self._running: dict[str, tuple[Cell, float]] = {}
        self._slots, self._costs, self._done_s = slots, costs, 0.0
        self._begin(0.0)

    def _begin(self, now: float) -> None:
        while self._waiting and len(self._running) < self._slots:
            identity, cell = self._waiting.popitem()
            self._running[identity] = (cell, now)

    def __len__(self) -> int:
        return len(self._waiting) + len(self._running)

    def ended(self, identity: str, seconds: float, now: float) -> None:
        """A cell has ended, so that the next one begins."""
        if identity in self._running:
            cell, _ = self._running.pop(identity)
        else:  # a cluster's workers take them in an order of their own
            cell = self._waiting.pop(identity)
        self._costs.add(cell, seconds)
        self._done_s += seconds
        self._begin(now)

    def left_s(self, now: float) -> float:
        """How long they will go on."""
        taken = [now - began for _, began in self._running.values()]
        running = [
            max(self._costs.seconds(cell) - so_far, _GOES_ON * min(so_far, now / 2))
            for (cell, _), so_far in zip(self._running.values(), taken, strict=True)
        ]
        waiting = [self._costs.seconds(cell) for cell in self._waiting.values()]
        busy = self._done_s + sum(taken)
        at_a_time = min(busy / now, self._slots) if self._done_s and busy else self._slots
        return max([sum(running + waiting) / at_a_time, *running, *waiting], default=0.0)
