"""When the asymmetric lock overtakes the reservation lock for a program's locks (Kawachiya 2005,
6.6.2): the costs of both on a machine, and the latencies at which they would be equal.

Made by `lockcross reproduce overtake`, which keeps it as the fact `overtake`.
"""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from results.model.label import LockLabel

FACT = "overtake"
AXES = {"cas": "CAS", "fence_latency": "full fence", "cancel": "cancellation"}


@dataclass(frozen=True)
class Border:
    """The latency of one kind, in cycles, at which both locks cost the same, everything else as the
    machine has it; None with the lock that is cheaper over the whole range looked at.

    `above`: the lock that is cheaper just above.
    """

    axis: str
    own: float
    value: float | None
    above: str
    low: int
    high: int

    @property
    def words(self) -> str:
        """The border beside the machine's own latency."""
        if self.value is None:
            cheaper = LockLabel(self.above).words()
            return f"none ({cheaper} from {self.low:,} to {self.high:,})"
        factor = f", {self.value / self.own:.2g} times its own" if self.own else ""
        return f"{self.value:,.0f}{factor}"


@dataclass(frozen=True)
class Case:
    """A program's locks on a machine, with one kind of fence. Costs are cycles an acquisition."""

    program: str
    machine: str
    kind: str
    tasuki: float
    reservation: float
    asymmetric: float
    borders: tuple[Border, ...]

    @property
    def lead(self) -> float:
        """The reservation lock's cost over the asymmetric lock's: above 1 where it is overtaken."""
        return self.reservation / self.asymmetric

    def border(self, axis: str) -> Border | None:
        """The border along an axis, if it was looked for."""
        return next((one for one in self.borders if one.axis == axis), None)


_ADAPTER = TypeAdapter(dict[str, list[Case]])  # {"cases": [...]}


def as_fact(cases: Sequence[Case]) -> dict[str, Any]:
    """For the database."""
    fact: dict[str, Any] = _ADAPTER.dump_python({"cases": list(cases)}, mode="json")
    return fact


def from_fact(fact: Mapping[str, Any]) -> list[Case]:
    """The inverse of `as_fact`. Raises ValidationError for what is none, KeyError without cases."""
    return _ADAPTER.validate_python(fact)["cases"]


def load(connection: sqlite3.Connection) -> list[Case]:
    """What the database has of it; nothing, if it has none."""
    row = connection.execute("SELECT value FROM facts WHERE name = ?", (FACT,)).fetchone()
    return [] if row is None else from_fact(json.loads(row[0]))
