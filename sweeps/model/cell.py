"""Cells: what is chosen for one run. Plans, the columns of runs, queries and comparisons are
made from its axes."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, get_type_hints

from sweeps.model import engines
from sweeps.model.axes import QUANTITIES, Quantity
from sweeps.model.label import FULL, LockLabel


def _default(axis: str) -> Any:
    return QUANTITIES[axis].default


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One run.

    `parameters` are the workload's keys. `variant` is the lock's ("": its first). `cores` are
    shared by the threads (None: a core each). `cas_latency`, `fence_latency` and `cancel_latency`
    are cycles that take the place of the machine's atomics, full fence and stopping cost; None
    leaves them.
    """

    engine: str = engines.DEFAULT
    machine: str
    isa: str
    flavour: str
    lock: str
    variant: str = ""
    fence: str = FULL
    workload: str
    threads: int = _default("threads")
    cores: int | None = _default("cores")
    cas_latency: int | None = _default("cas_latency")
    fence_latency: int | None = _default("fence_latency")
    cancel_latency: int | None = _default("cancel_latency")
    seed: int = _default("seed")
    parameters: Mapping[str, int | float | str] = field(hash=False)

    @property
    def label(self) -> LockLabel:
        """The lock label."""
        return LockLabel.of(self.lock, self.variant, self.fence)

    def setting(self) -> "Cell":
        """The cell without its engine and lock: what the runs of a comparison have in common."""
        return cell_of(self, engine="", lock="", variant="", fence="")


@dataclass(frozen=True)
class Axis:
    """One axis of a cell: a name, or whole numbers, of which the table of axes says more.
    `optional`: it may be none."""

    name: str
    quantity: Quantity | None
    optional: bool
    default: int | str | None  # None where one must be given, too


_TYPES = get_type_hints(Cell)
_DEFAULTS = {one.name: None if one.default is MISSING else one.default for one in fields(Cell)}
AXES = tuple(  # all but the workload's parameters
    Axis(name, QUANTITIES.get(name), _TYPES[name] == int | None, default)
    for name, default in _DEFAULTS.items()
    if name != "parameters"
)
COLUMNS = tuple(_DEFAULTS)  # of a cell in the table runs


def option(axis: str) -> str:
    """The option of the command line that sets an axis."""
    return "--" + axis.replace("_", "-")


def cell_of(one: Cell, **changes: Any) -> Cell:
    """The cell alone of what may say more (a run's record), with changes."""
    return Cell(**{name: getattr(one, name) for name in COLUMNS} | changes)


def read_cell(row: Sequence[Any]) -> Cell:
    """A cell from the values of COLUMNS in the table runs."""
    values = dict(zip(COLUMNS, row, strict=True))
    return Cell(**values | {"parameters": json.loads(values["parameters"])})


def values(cell: Cell) -> dict[str, int | float | str | None]:
    """Every value of a cell by its name: the axes, then the workload's keys. A key with the name
    of an axis is `parameters.NAME`."""
    axes = {axis.name: getattr(cell, axis.name) for axis in AXES}
    keys = {
        f"parameters.{key}" if key in axes else key: value for key, value in cell.parameters.items()
    }
    return axes | keys


def selected() -> str:
    """COLUMNS, to be selected from the table runs."""
    return ", ".join(f"runs.{name}" for name in COLUMNS)
