"""Cells and the axes around them: everything stays as a cell has it, one value moves."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from results.errors import LockcrossError, check_known
from sweeps.model.axes import AXES, LATENCIES, QUANTITIES
from sweeps.model.cell import Cell, invalid_reason, unsupported_reason
from sweeps.model.isa import ISAS
from sweeps.model.locks import FULL, LockLabel, cancels, load_locks
from sweeps.model.machine import load_machine
from sweeps.model.workloads import WORKLOADS, Number, Share, Value

FIRST_SEED = 1  # of maps and tables, and of each search


def set_to(cell: Cell, axis: str, x: float) -> Cell:
    """The cell with another value of an axis: one of its own, or a key of its workload."""
    if axis in cell.parameters:
        return replace(cell, parameters={**cell.parameters, axis: x})
    changes: dict[str, Any] = {axis: x}
    return replace(cell, **changes)


def moved(cell: Cell, axis: str, x: float) -> Cell:
    """The same, but for the value that the cell has already: there the run is the cell's own, which
    may leave a latency to the machine."""
    return cell if x == value_of(cell, axis) else set_to(cell, axis, x)


def with_lock(cell: Cell, label: str, seed: int = FIRST_SEED) -> Cell:
    """The cell with a lock. A latency that the lock never pays is left unset, so that one run
    serves for all its values: the full fence's with another fence kind, the cancellation's with a
    lock that cancels nothing."""
    built = LockLabel(label)
    return replace(
        cell,
        lock=built.lock,
        variant=built.variant,
        fence=built.fence,
        seed=seed,
        fence_latency=cell.fence_latency if built.fence == FULL else None,
        cancel_latency=cell.cancel_latency if cancels(label) else None,
    )


def own_latency(cell: Cell, axis: str) -> int:
    """The machine's own latency on an axis, as it would be set."""
    figures = load_machine(cell.machine).figures(cell.isa)
    if axis == "cas_latency":  # a machine's figure is the whole operation, its access too
        return figures["cas_success"].number - figures["lat_l1"].number
    return figures[QUANTITIES[axis].figure or ISAS[cell.isa].full_fence].number


def value_of(cell: Cell, axis: str) -> float:
    """Where a cell stands on an axis."""
    value = cell.parameters[axis] if axis in cell.parameters else getattr(cell, axis)
    if value is None:
        return own_latency(cell, axis)
    return value if isinstance(value, float) else int(value)


def parts(workload: str, axis: str) -> int:
    """So many steps of a line along an axis are 1: many where the axis is a share, since searches
    go along whole numbers."""
    key = WORKLOADS[workload].keys.get(axis) if workload in WORKLOADS else None
    return key.parts if isinstance(key, Share) else 1


def in_parts(workload: str, axis: str, values: Iterable[float]) -> tuple[int, ...]:
    """Values of an axis as a line has them."""
    return tuple(round(x * parts(workload, axis)) for x in values)


@dataclass(frozen=True)
class AxisLine:
    """An axis through the cell `base`, whose lock is still to be named: `cell` gives the run of a
    lock label at a value, with a seed. Its values are whole numbers: of a share its `parts`.

    `setting`: what is held fixed, for the database; left out, all that the cell has. `step`: the
    unit in which values move; `whole`: all values of the axis, where `values` are a part of it;
    `move` makes the cell of a value.
    """

    series: str
    base: Cell
    axis: str
    values: tuple[int, ...]
    tolerance: int = 1
    step: int = 1
    setting: Mapping[str, Value] = field(default_factory=dict)
    unit: str = ""
    whole: tuple[int, ...] = ()
    move: Callable[[Cell, str, Any], Cell] = field(default=moved, compare=False)

    def __post_init__(self) -> None:
        base = self.base
        held = {name: getattr(base, name) for name in ("threads", "cores", *LATENCIES)}
        held = {name: value for name, value in held.items() if value is not None}
        held = {**base.parameters, **held}
        held.pop(self.axis, None)
        object.__setattr__(self, "setting", self.setting or held)
        unit = QUANTITIES[self.axis].unit if self.axis in QUANTITIES else self.axis
        object.__setattr__(self, "unit", self.unit or unit)

    def cell(self, label: str, x: int, seed: int = FIRST_SEED) -> Cell:
        """The run of a lock label at a value."""
        return with_lock(self.move(self.base, self.axis, self.own(x)), label, seed)

    def own(self, x: float | Fraction) -> float:
        """A value of the line as the axis has it: a share from 0 to 1."""
        whole = parts(self.base.workload, self.axis)
        return x if whole == 1 and isinstance(x, int) else float(x / whole)

    @property
    def limits(self) -> tuple[int, int]:
        """The ends of the axis."""
        every = self.whole or self.values
        return every[0], every[-1]


def axis_named(name: str, workload: str) -> str:
    """The axis of a name as people give it: `cas_latency`, `cancel-latency`, `threads`, or a key of
    the workload. Raises LockcrossError for what has no number."""
    names = [axis.name for axis in AXES if axis.quantity and axis.name != "seed"]
    keys = WORKLOADS[workload].keys.items()
    names += [key for key, kind in keys if isinstance(kind, Number | Share)]
    if (plain := name.replace("-", "_")) in names:
        return plain
    known = ", ".join(names)
    raise LockcrossError(f"axis {name!r} is unknown; workload {workload} has {known}")


def check_label(text: str) -> LockLabel:
    """A lock label as people write it: `tasuki`, `tasuki/rmw`, `reservation:signal`. Raises
    LockcrossError."""
    label = LockLabel(text)
    known = load_locks()
    check_known("lock", [label.lock], known)
    lock = known[label.lock]
    if why := lock.variant_invalid_reason(label.variant):
        raise LockcrossError(f"lock {text}: {why}")
    if label.fence not in lock.fence_kinds:
        kinds = ", ".join(lock.fence_kinds)
        raise LockcrossError(f"lock {text}: {lock.name} is built with {kinds} only")
    return label


def check_cell(cell: Cell) -> None:
    """Raises LockcrossError for a cell that no engine would run."""
    if why := invalid_reason(cell) or unsupported_reason(cell):
        raise LockcrossError(why)
