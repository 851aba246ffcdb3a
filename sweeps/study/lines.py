"""Cells and the axes around them: everything stays as a cell has it, one value moves."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from results.errors import LockcrossError, check_known
from sweeps.model.axes import AXES, LATENCIES, QUANTITIES
from sweeps.model.cell import Cell, invalid_reason, unsupported_reason
from sweeps.model.isa import ISAS
from sweeps.model.locks import FULL, MEMBARRIER, LockLabel, cancels, load_locks
from sweeps.model.machine import load_machine
from sweeps.model.workloads import WORKLOADS, Number, Share, Value

FIRST_SEED = 1  # of maps and tables, and of each search


def set_to(cell: Cell, axis: str, x: float) -> Cell:
    """Return the cell with another value of an axis: one of its own, or a key of its workload."""
    if axis in cell.parameters:
        return replace(cell, parameters={**cell.parameters, axis: x})
    changes: dict[str, Any] = {axis: x}
    return replace(cell, **changes)


def moved(cell: Cell, axis: str, x: float) -> Cell:
    """Return the same, except at the value that the cell has already: there the run is the cell's
    own, which may leave a latency to the machine."""
    return cell if x == value_of(cell, axis) else set_to(cell, axis, x)


def with_lock(cell: Cell, label: str, seed: int = FIRST_SEED) -> Cell:
    """Return the cell with a lock. A latency that the lock never pays is left unset, so that one
    run serves for all its values: the full fence's with another fence kind, the cancellation's with
    a lock that cancels nothing, the process-wide barrier's with a lock that has none."""
    built = LockLabel(label)
    return replace(
        cell,
        lock=built.lock,
        variant=built.variant,
        fence=built.fence,
        seed=seed,
        fence_latency=cell.fence_latency if built.fence == FULL else None,
        cancel_latency=cell.cancel_latency if cancels(label) else None,
        membarrier_latency=cell.membarrier_latency if built.fence == MEMBARRIER else None,
    )


def own_latency(cell: Cell, axis: str) -> int:
    """Return the machine's own latency on an axis, as it would be set."""
    figures = load_machine(cell.machine).figures(cell.isa)
    if axis == "cas_latency":  # a machine's figure is the whole operation, its access too
        return figures["cas_success"].number - figures["lat_l1"].number
    if axis == "membarrier_latency":  # what is set has the part of each other running core in it
        core = figures.get("charge_barrier_core")
        return figures["charge_barrier"].number + (cell.threads - 1) * (core.number if core else 0)
    return figures[QUANTITIES[axis].figure or ISAS[cell.isa].full_fence].number


def value_of(cell: Cell, axis: str) -> float:
    """Return where a cell stands on an axis."""
    value = cell.parameters[axis] if axis in cell.parameters else getattr(cell, axis)
    if value is None:
        return own_latency(cell, axis)
    return value if isinstance(value, float) else int(value)


def parts(workload: str, axis: str) -> int:
    """Return how many parts of a value are 1: many where the axis is a share, which a program has
    in whole parts."""
    key = WORKLOADS[workload].keys.get(axis) if workload in WORKLOADS else None
    return key.parts if isinstance(key, Share) else 1


def exact(x: float) -> Fraction:
    """Return a number by the decimals that it is written with: 0.1 is a tenth."""
    return Fraction(str(x))


def granularity(workload: str, axis: str) -> Fraction:
    """Return the least distance of two values of an axis, in its unit."""
    return Fraction(1, parts(workload, axis))


@dataclass(frozen=True)
class AxisLine:
    """An axis through the cell `base`, whose lock is still to be named: `cell` gives the run of a
    lock label at a value, with a seed. Values are exact, in the unit of the axis.

    `step`: the values tried are multiples of it; `setting`: the values held fixed, for the
    database, left out, all that the cell has; `move` makes the cell of a value.
    """

    series: str
    base: Cell
    axis: str
    values: tuple[Fraction, ...]
    tolerance: Fraction = Fraction(1)
    step: Fraction = Fraction(1)
    setting: Mapping[str, Value] = field(default_factory=dict)
    unit: str = ""
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

    def cell(self, label: str, x: Fraction, seed: int = FIRST_SEED) -> Cell:
        """Return the run of a lock label at a value."""
        return with_lock(self.move(self.base, self.axis, self.in_unit(x)), label, seed)

    def in_unit(self, x: Fraction) -> float:
        """Return a value as cells have it: whole, except for a share."""
        share = granularity(self.base.workload, self.axis) < 1
        return float(x) if share or x.denominator > 1 else int(x)


def axis_named(name: str, workload: str) -> str:
    """Return the axis of a name as people give it: `cas_latency`, `cancel-latency`, `threads`, or a
    key of the workload. Raises LockcrossError for a name without numbers."""
    names = [axis.name for axis in AXES if axis.quantity and axis.name != "seed"]
    keys = WORKLOADS[workload].keys.items()
    names += [key for key, kind in keys if isinstance(kind, Number | Share)]
    if (plain := name.replace("-", "_")) in names:
        return plain
    known = ", ".join(names)
    raise LockcrossError(f"axis {name!r} is unknown; workload {workload} has {known}")


def check_label(text: str) -> LockLabel:
    """Read a lock label as people write it: `tasuki`, `tasuki/rmw`, `reservation:signal`. Raises
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
    """Raise LockcrossError for a cell that no engine would run."""
    if why := invalid_reason(cell) or unsupported_reason(cell):
        raise LockcrossError(why)
