"""An axis around one cell: everything stays as the cell has it, one value moves."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from results.errors import LockcrossError
from sweeps.model.axes import LATENCIES, QUANTITIES
from sweeps.model.cell import AXES, Cell, option
from sweeps.model.cells import invalid_reason, unsupported_reason
from sweeps.model.isa import ISAS
from sweeps.model.label import FULL, LockLabel
from sweeps.model.locks import cancels, load_locks
from sweeps.model.machine import load_machine
from sweeps.model.workloads import WORKLOADS, Number, with_defaults
from sweeps.plans.study import Axis, StudyPlan
from sweeps.search.crossing import Point, first_values

FIRST_SEED = 1  # of maps and tables, and of each search
# Axes along which costs follow a line or, over the run length, a hyperbola. Over owner's shares and
# threads the work itself is another at each value, and costs may cross more than once.
_MODELLED = ("cas", "fence_latency", "cancel", "run_length")
Evaluate = Callable[[Sequence[Cell]], Sequence[Point]]  # what cells cost


@dataclass(frozen=True)
class AxisLine:
    """An axis with everything else held fixed: `cell` gives the run of a lock label at a value,
    with a seed.

    `setting` is what is held fixed, for the database; `step` the unit in which values move;
    `limits` the ends of the axis, where `values` are a part of it; `modelled` is false where a
    search is to look at every value, whatever the axis.
    """

    series: str
    machine: str
    axis: str
    unit: str
    flavour: str
    values: tuple[int, ...]
    tolerance: int
    step: int
    limits: tuple[int, int]
    setting: Mapping[str, int | str]
    cell: Callable[[str, int, int], Cell] = field(compare=False)
    workload: str = "lock_sequence"
    modelled: bool = True

    @property
    def follows_model(self) -> bool:
        """Whether a search may begin with few values, and believe a curve through them."""
        return self.modelled and self.axis in _MODELLED

    @property
    def first_values(self) -> list[int]:
        """Those with which a search over `values` begins."""
        if not self.follows_model:
            return list(self.values)
        steps = [x // self.step for x in self.values]
        return [x * self.step for x in first_values(steps, self.tolerance // self.step)]


def isa_of(flavour: str) -> str:
    """The ISA of a flavour that the plan's reader has checked."""
    return next(isa.name for isa in ISAS.values() if flavour in isa.flavours)


def labels(plan: StudyPlan, flavour: str, locks: list[str]) -> list[LockLabel]:
    """Lock labels with every fence kind of the plan that lock and ISA allow (interfaces, 8)."""
    isa = ISAS[isa_of(flavour)]
    found = [LockLabel(lock) for lock in locks]
    for kind in plan.fence_kinds:
        if kind not in isa.refused_fence_kinds:
            found += [
                LockLabel.of(lock, fence=kind)
                for lock in locks
                if kind in load_locks()[lock].fence_kinds
            ]
    return found


def table_machines(plan: StudyPlan, flavours: list[str]) -> list[tuple[str, str]]:
    """(machine, flavour): the study's machines, and each real one in every flavour it has."""
    isas = {isa_of(flavour) for flavour in flavours}
    found = [(machine, flavour) for machine in plan.machines for flavour in flavours]
    for name in plan.calibration.machines:
        for isa in load_machine(name).isas:
            found += [(name, flavour) for flavour in ISAS[isa].flavours if isa in isas]
    return found


class StudyCells:
    """Makes the cells of a plan on one machine."""

    def __init__(self, plan: StudyPlan, machine: str) -> None:
        self.plan = plan
        self.machine = machine

    def cell(
        self,
        flavour: str,
        parameters: Mapping[str, int],
        threads: int,
        label: str,
        cas: int | None = None,
        fence_latency: int | None = None,
        cancel: int | None = None,
        seed: int = FIRST_SEED,
    ) -> Cell:
        """One run of lock_sequence. A latency that a lock never pays is left unset, so that the
        same run serves for all its values: the full fence's with another fence kind, the
        cancellation's with a lock that cancels nothing."""
        built = LockLabel(label)
        return Cell(
            engine=self.plan.engine,
            machine=self.machine,
            isa=isa_of(flavour),
            flavour=flavour,
            lock=built.lock,
            variant=built.variant,
            fence=built.fence,
            workload="lock_sequence",
            parameters=with_defaults("lock_sequence", parameters),
            threads=threads,
            cas=cas,
            fence_latency=fence_latency if built.fence == FULL else None,
            cancel=cancel if cancels(built) else None,
            seed=seed,
        )

    def on_map(self, flavour: str, label: str, cas: int, fence_latency: int) -> Cell:
        """The run of a lock at one point of the winner map."""
        grid = self.plan.map
        return self.cell(
            flavour, grid.parameters, grid.threads, label, cas=cas, fence_latency=fence_latency
        )

    def at_run_length(
        self, flavour: str, label: str, run_length: int, cancel: int, seed: int = FIRST_SEED
    ) -> Cell:
        """The run of a lock in the run-length experiment."""
        given = self.plan.run_length
        assert given is not None  # only plans with run lengths are asked
        parameters = {**given.parameters, "run_length": run_length}
        return self.cell(flavour, parameters, given.threads, label, cancel=cancel, seed=seed)

    def map_cells(self, flavour: str) -> dict[tuple[LockLabel, int, int], Cell]:
        """The grid: (label, cas, fence latency) -> cell, those of the table alone among them."""
        return {
            (label, cas, fence): self.on_map(flavour, label, cas, fence)
            for label in labels(self.plan, flavour, [*self.plan.locks, *self.plan.table_locks])
            for cas in self.plan.map.cas
            for fence in self.plan.map.fence_latency
        }

    def run_length_cells(self, flavour: str) -> list[Cell]:
        """Every lock at every run length and cancellation cost."""
        given = self.plan.run_length
        return (
            []
            if given is None
            else [
                self.at_run_length(flavour, label, length, cancel)
                for length in given.values
                for cancel in given.cancel
                for label in self.plan.locks
            ]
        )

    def rounds_cells(self) -> list[Cell]:
        """The rounds experiment, a run for each fence kind and lock."""
        given = self.plan.rounds
        return [] if given is None else [
            Cell(
                engine=self.plan.engine, machine=given.machine, isa=isa_of(given.flavour),
                flavour=given.flavour, lock=lock, fence=fence, workload="rounds",
                parameters=with_defaults("rounds", given.parameters), threads=2,
            )
            for fence in given.fences
            for lock in self.plan.locks
        ]  # fmt: skip

    def table_cells(self, flavour: str) -> list[Cell]:
        """Every lock and fence kind on the machine as it is, with the map's workload."""
        grid = self.plan.map
        locks = [*self.plan.locks, *self.plan.table_locks]
        return [
            self.cell(flavour, grid.parameters, grid.threads, label)
            for label in labels(self.plan, flavour, locks)
        ]

    def latency_line(
        self, flavour: str, axis: str, other: int | None, values: list[int]
    ) -> AxisLine:
        """Along CAS or fence latency on the map's workload, the other held at a set value or
        (None) at the machine's own."""
        grid = self.plan.map

        def cell(label: str, x: int, seed: int) -> Cell:
            cas, fence = (x, other) if axis == "cas" else (other, x)
            return self.cell(
                flavour, grid.parameters, grid.threads, label, cas=cas, fence_latency=fence,
                seed=seed,
            )  # fmt: skip

        setting: dict[str, int | str] = {**grid.parameters, "threads": grid.threads}
        if other is not None:
            setting["fence_latency" if axis == "cas" else "cas"] = other
        series = f"axis/{axis}" if other is None else "map"
        whole = grid.cas if axis == "cas" else grid.fence_latency
        return AxisLine(
            series, self.machine, axis, "cycles", flavour, tuple(values), grid.tolerance, 1,
            (whole[0], whole[-1]), setting, cell,
        )  # fmt: skip

    def axis_lines(self, flavour: str) -> list[AxisLine]:
        """Every axis with everything else as on the map and at the machine's own latencies."""
        grid = self.plan.map
        return [
            self.latency_line(flavour, "cas", None, grid.cas),
            self.latency_line(flavour, "fence_latency", None, grid.fence_latency),
            *(self.axis_line(flavour, name, axis) for name, axis in self.plan.axes.items()),
        ]

    def run_length_line(self, flavour: str, cancel: int) -> AxisLine:
        """Along the run length at one cancellation cost: which length pays for one cancellation?"""
        given = self.plan.run_length
        assert given is not None
        setting = {**given.parameters, "threads": given.threads, "cancel": cancel}

        def cell(label: str, x: int, seed: int) -> Cell:
            return self.at_run_length(flavour, label, x, cancel, seed)

        return AxisLine(
            "run_length", self.machine, "run_length", "acquisitions", flavour, tuple(given.values),
            given.tolerance, 1, (given.values[0], given.values[-1]), setting, cell,
        )  # fmt: skip

    def axis_line(self, flavour: str, name: str, axis: Axis) -> AxisLine:
        """Along a further axis, everything else as on the map, with the machine's own latencies."""
        grid = self.plan.map
        setting: dict[str, int | str] = {**grid.parameters, "threads": grid.threads}
        setting.pop(name, None)
        return AxisLine(
            f"axis/{name}", self.machine, name, QUANTITIES[name].unit, flavour, tuple(axis.values),
            axis.tolerance, axis.step, (axis.values[0], axis.values[-1]), setting,
            partial(self._on_axis, flavour, name),
        )  # fmt: skip

    def _on_axis(self, flavour: str, name: str, label: str, x: int, seed: int) -> Cell:
        grid = self.plan.map
        if name == "cancel":
            return self.cell(flavour, grid.parameters, grid.threads, label, cancel=x, seed=seed)
        if name == "threads":
            return self.cell(flavour, grid.parameters, x, label, seed=seed)
        return self.cell(flavour, {**grid.parameters, name: x}, grid.threads, label, seed=seed)


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
    return figures[QUANTITIES[axis].figure or ISAS[cell.isa].full_fence].number


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
    numbers = [axis.name for axis in AXES if axis.quantity and axis.name != "seed"]
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

    unit = QUANTITIES[axis].unit if axis in QUANTITIES else axis
    return AxisLine(
        series, base.machine, axis, unit, base.flavour,
        tuple(values), tolerance, step, (values[0], values[-1]), _held(base, axis), cell,
        base.workload,
    )  # fmt: skip


def _held(base: Cell, axis: str) -> Mapping[str, int | str]:
    """What stays the same along the axis."""
    held: dict[str, int | str] = {**base.parameters, "threads": base.threads}
    held |= {
        name: value for name in ("cores", *LATENCIES) if (value := getattr(base, name)) is not None
    }
    held.pop(axis, None)
    return held
