"""The cost of a source line's locks on a processor, and the saving by another lock there.

Costs are of an uncontended pair in a loop that does nothing else: beside work an atomic may be
hidden. A reservation saves on the acquisitions before another thread's first; then the object's
owner is stopped, and its lock goes on as tasuki.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from results.store.store import Store
from sweeps.engines.base import Limits
from sweeps.model.cell import NO_LOCK, isa_and_flavour, usual
from sweeps.model.isa import ISAS
from sweeps.model.locks import FULL, load_locks
from sweeps.model.machine import load_machine
from sweeps.run.runner import Runner
from sweeps.study.crossings import points

_PLAN = "locality"
_RESERVED, _ELSE = "reservation", "tasuki"
_OTHERS = ("thin", _ELSE, "j9_flat")
_USUAL_FENCE = "rmw"  # in production, where an ISA has it


@dataclass(frozen=True)
class Costs:
    """The costs of a pair of each lock on a processor, and of a cancellation: cycles."""

    machine: str
    pair: Mapping[str, float]
    cancellation: int
    hz: float

    def of_line(self, row: Mapping[str, Any], runtime: str) -> dict[str, Any]:
        """Return the cycles that a line's locks take with that of its runtime, those that another
        lock saves of them, and which lock that is."""
        own, acquisitions = self.pair[runtime], row["acquisitions"]
        first, changed = row["first"], row["changed"]
        saved = {lock: acquisitions * (own - self.pair[lock]) for lock in _OTHERS}
        saved[_RESERVED] = (
            first * (own - self.pair[_RESERVED])
            + (acquisitions - first) * (own - self.pair[_ELSE])
            - changed * self.cancellation
        )
        best = max(saved, key=lambda lock: saved[lock])
        gain = max(saved[best], 0.0)
        return {"cost": own * acquisitions, "saved": gain, "by": best if gain else ""}


def costs_of(machine: str, runtimes: Iterable[str], limits: Limits, db: Path) -> Costs:
    """Return the costs on a machine, of some runtimes' locks and those that may be better. Runs
    that are not stored are made. Raises LockcrossError."""
    isa, flavour = isa_and_flavour(machine, "", "")
    described, known = load_machine(machine), load_locks()
    locks = list(dict.fromkeys((NO_LOCK, *sorted(runtimes), _RESERVED, *_OTHERS)))
    kinds = [set(known[lock].fence_kinds) - ISAS[isa].refused_fence_kinds.keys() for lock in locks]
    fences = [_USUAL_FENCE if _USUAL_FENCE in kind else FULL for kind in kinds]
    cells = [
        usual(machine, flavour, "sync", {}, lock=lock, fence=fence)
        for lock, fence in zip(locks, fences, strict=True)
    ]
    with Store(db) as store:
        bare, *found = (
            float(point.cost) for point in points(Runner(store, limits=limits), _PLAN, cells)
        )
    pair = {lock: cost - bare for lock, cost in zip(locks[1:], found, strict=True)}
    stop = described.figures(isa)["charge_stop_running"].number
    return Costs(machine, pair, stop, described.clock_mhz.number * 1e6)
