"""An axis around one cell: everything stays as the cell has it, one value moves."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from results.errors import LockcrossError
from results.model.cell import AXES, LATENCIES, Cell, option
from results.model.label import FULL, LockLabel
from sweeps.experiments.crossover.cells import AxisLine
from sweeps.model.cells import invalid_reason, unsupported_reason
from sweeps.model.isa import ISAS
from sweeps.model.locks import cancels, load_locks
from sweeps.model.machine import load_machine
from sweeps.model.workloads import WORKLOADS
from sweeps.model.workloads.keys import Number

UNITS = {"owner_share": "ppm", "run_length": "acquisitions", "threads": "threads"}


def moved(cell: Cell, axis: str, x: int) -> Cell:
    """The cell with another value of an axis: one of its own, or a key of its workload."""
    if axis in cell.parameters:
        return replace(cell, parameters={**cell.parameters, axis: x})
    return changed(cell, axis, x)


def changed(cell: Cell, axis: str, x: int) -> Cell:
    """The cell with another value of one of its own axes."""
    changes: dict[str, Any] = {axis: x}
    return replace(cell, **changes)


def with_lock(cell: Cell, label: str, seed: int = 1) -> Cell:
    """The cell with a lock. A latency that the lock never pays is left unset, so that one run
    serves for all its values."""
    built = LockLabel(label)
    return replace(
        cell, lock=built.lock, variant=built.variant, fence=built.fence, seed=seed,
        fence_latency=cell.fence_latency if built.fence == FULL else None,
        cancel=cell.cancel if cancels(label) else None,
    )  # fmt: skip


def own_latency(cell: Cell, axis: str) -> int:
    """The machine's own latency on an axis, as it would be set."""
    machine = load_machine(cell.machine)
    figures = machine.figures(cell.isa)
    if axis == "cas":  # a machine's figure is the whole operation, its access too
        return figures["cas_success"].number - figures["lat_l1"].number
    name = {"fence_latency": ISAS[cell.isa].full_fence, "cancel": "charge_stop"}[axis]
    return figures[name].number


def value_of(cell: Cell, axis: str) -> int:
    """Where a cell stands on an axis."""
    if axis in cell.parameters:
        return int(cell.parameters[axis])
    given = getattr(cell, axis)
    return own_latency(cell, axis) if given is None else int(given)


def axis_named(name: str, workload: str) -> str:
    """The axis of a name as people give it: `cas_latency`, `cancel-latency`, `threads`, or a key of
    the workload. Raises LockcrossError for what has no number."""
    plain = name.replace("-", "_")
    numbers = [axis.name for axis in AXES if axis.number and axis.name not in ("seed",)]
    keys = [key for key, kind in WORKLOADS[workload].keys.items() if isinstance(kind, Number)]
    names = {option(axis).removeprefix("--").replace("-", "_"): axis for axis in numbers}
    names |= {axis: axis for axis in (*LATENCIES, *numbers, *keys)}
    if plain in names:
        return names[plain]
    known = [*(option(axis).removeprefix("--").replace("-", "_") for axis in numbers), *keys]
    raise LockcrossError(f"axis {name!r} is unknown; workload {workload} has {', '.join(known)}")


def check_label(text: str) -> LockLabel:
    """A lock label as people write it: `tasuki`, `tasuki/rmw`, `reservation:signal`. Raises
    LockcrossError."""
    label = LockLabel(text)
    known = load_locks()
    if label.lock not in known:
        raise LockcrossError(f"lock {label.lock!r} is unknown; known are {', '.join(known)}")
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


def line_through(
    base: Cell,
    axis: str,
    values: Sequence[int],
    series: str,
    tolerance: int = 1,
    step: int = 1,
) -> AxisLine:
    """The axis through a cell. At the cell's own value the run is the cell's."""
    here = value_of(base, axis)

    def cell(label: str, x: int, seed: int) -> Cell:
        return with_lock(base if x == here else moved(base, axis, x), label, seed)

    return AxisLine(
        series, base.machine, axis, UNITS.get(axis, _unit(base, axis)), base.flavour,
        tuple(values), tolerance, step, (values[0], values[-1]), _held(base, axis), cell,
        base.workload,
    )  # fmt: skip


def _unit(base: Cell, axis: str) -> str:
    return "cycles" if axis in LATENCIES else axis


def _held(base: Cell, axis: str) -> Mapping[str, int | str]:
    """What stays the same along the axis."""
    held: dict[str, int | str] = {**base.parameters, "threads": base.threads}
    held |= {
        name: value for name in ("cores", *LATENCIES) if (value := getattr(base, name)) is not None
    }
    held.pop(axis, None)
    return held
