"""The grid behind the report's interactive map: `lockcross explore`."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Annotated, Self

from pydantic import Field, field_validator, model_validator

from results.errors import LockcrossError
from results.model import engines
from results.model.cell import MAX_LATENCY, MAX_THREADS, Cell
from results.model.label import FULL, LockLabel
from results.model.schema import Document
from results.store.store import Store
from sweeps.execution.runner import Runner
from sweeps.experiments.calibrate import Setting, calibrate
from sweeps.experiments.facts import store_isas, store_machines
from sweeps.model.isa import FENCE_KINDS, ISAS
from sweeps.model.locks import cancels, load_locks
from sweeps.model.machine import load_machine, machine_names
from sweeps.model.workloads import WORKLOADS, with_defaults
from sweeps.support.paths import EXPLORATIONS
from sweeps.support.toml import load

NAME = "explore"
WORKLOAD = "lock_sequence"
_OPS = ("empty", "store", "cas", "fence")  # what the axes are calibrated with
_WHOLE = 1_000_000  # parts of a share

Latency = Annotated[int, Field(ge=0, le=MAX_LATENCY)]
Share = Annotated[int, Field(ge=0, le=_WHOLE)]


class Grid(Document):
    """Set latencies in cycles, and shares in parts per million."""

    cas: Annotated[list[Latency], Field(min_length=2)]
    fence_latency: Annotated[list[Latency], Field(min_length=2)]
    cancel: Annotated[list[Latency], Field(min_length=1)]
    owner_share: Annotated[list[Share], Field(min_length=1)]

    @field_validator("cas", "fence_latency", "cancel", "owner_share")
    @classmethod
    def _rising(cls, values: list[int]) -> list[int]:
        if sorted(set(values)) != values:
            raise ValueError("values must rise, each given once")
        return values


class Workload(Document):
    """Threads and parameters of the workload, but for the owner's share."""

    threads: Annotated[int, Field(ge=1, le=MAX_THREADS)]
    parameters: dict[str, int]

    @field_validator("parameters")
    @classmethod
    def _known_keys(cls, parameters: dict[str, int]) -> dict[str, int]:
        keys = WORKLOADS[WORKLOAD].keys
        for name, value in parameters.items():
            if name not in keys or name == "owner_share":
                raise ValueError(f"{name}: unknown here; workload {WORKLOAD} has {', '.join(keys)}")
            if why := keys[name].invalid_reason(value):
                raise ValueError(f"{name}: {value}: {why}")
        return parameters


class Calibration(Document):
    """Set latencies at which CAS and fence are measured, and the real processors."""

    latencies: Annotated[list[Latency], Field(min_length=2)]
    machines: list[str]


class ExplorePlan(Document):
    """A file of sweeps/explorations."""

    title: Annotated[str, Field(min_length=1)]
    machines: Annotated[list[str], Field(min_length=1)]
    flavours: Annotated[list[str], Field(min_length=1)]
    locks: Annotated[list[str], Field(min_length=2)]
    aside: list[str] = []
    fence_kinds: list[str] = []
    tie_percent: Annotated[float, Field(ge=0, le=100)] = 2.0
    limits: dict[str, str] = {}
    workload: Workload
    grid: Grid
    calibration: Calibration

    @model_validator(mode="after")
    def _known_names(self) -> Self:
        flavours = [flavour for isa in ISAS.values() for flavour in isa.flavours]
        for key, values, known in (
            ("machines", self.machines, machine_names()),
            ("flavours", self.flavours, flavours),
            ("locks", [*self.locks, *self.aside], list(load_locks())),
            ("fence_kinds", self.fence_kinds, [kind for kind in FENCE_KINDS if kind != FULL]),
            ("limits", list(self.limits), self.aside),
            ("calibration.machines", self.calibration.machines, machine_names()),
        ):
            if unknown := [value for value in values if value not in known]:
                raise ValueError(
                    f"{key}: {unknown[0]!r} is unknown; allowed are {', '.join(known)}"
                )
        measured = self.calibration.latencies
        for axis in (self.grid.cas, self.grid.fence_latency):
            if axis[0] < min(measured) or axis[-1] > max(measured):
                raise ValueError(
                    f"calibration.latencies: must reach from {axis[0]} to {axis[-1]}, "
                    "since the map's axes are shown as measured"
                )
        return self


def load_exploration(name: str = NAME) -> ExplorePlan:
    """Reads sweeps/explorations/<name>.toml.

    Raises LockcrossError (exit code 2) that names file, key, value and what is allowed.
    """
    return load(ExplorePlan, EXPLORATIONS, name, "exploration")


def isa_of(flavour: str) -> str:
    """The ISA of a flavour."""
    return next(isa.name for isa in ISAS.values() if flavour in isa.flavours)


def labels(plan: ExplorePlan, flavour: str) -> list[LockLabel]:
    """Every lock of the plan with every fence kind that it and the ISA allow."""
    refused = ISAS[isa_of(flavour)].refused_fence_kinds
    return [
        LockLabel.of(lock, fence=kind)
        for kind in (FULL, *plan.fence_kinds)
        for lock in (*plan.locks, *plan.aside)
        if kind not in refused and kind in load_locks()[lock].fence_kinds
    ]


def map_cells(plan: ExplorePlan, machine: str, flavour: str) -> list[Cell]:
    """The runs of one map, each once. A latency that a lock never pays is left unset, so that one
    run serves for all its values."""
    grid = plan.grid
    cells = {}
    for label, cas, fence, cancel, share in itertools.product(
        labels(plan, flavour), grid.cas, grid.fence_latency, grid.cancel, grid.owner_share
    ):
        paid = (fence if label.fence == FULL else None, cancel if cancels(label) else None)
        if (label, cas, *paid, share) not in cells:
            parameters = {**plan.workload.parameters, "owner_share": share}
            cells[label, cas, *paid, share] = Cell(
                engine=engines.DEFAULT, machine=machine, isa=isa_of(flavour), flavour=flavour,
                lock=label.lock, variant=label.variant, fence=label.fence, workload=WORKLOAD,
                parameters=with_defaults(WORKLOAD, parameters), threads=plan.workload.threads,
                cas=cas, fence_latency=paid[0], cancel=paid[1],
            )  # fmt: skip
    return list(cells.values())


def maps(plan: ExplorePlan, machines: Sequence[str], isas: Sequence[str]) -> list[tuple[str, str]]:
    """(machine, flavour) of every map asked for; without names, the plan's.

    Raises LockcrossError (exit code 2) for a machine or an ISA that there is no map of.
    """
    for key, given, known in (("machine", machines, machine_names()), ("isa", isas, list(ISAS))):
        if unknown := [value for value in given if value not in known]:
            raise LockcrossError(
                f"--{key}: {unknown[0]!r} is unknown; known are {', '.join(known)}"
            )
    found = [
        (machine, flavour)
        for machine in machines or plan.machines
        for flavour in plan.flavours
        if isa_of(flavour) in load_machine(machine).isas and isa_of(flavour) in (isas or ISAS)
    ]
    if not found:
        raise LockcrossError("none of these machines is of one of these ISAs")
    return found


class Exploration:
    """Runs a plan's maps and stores them."""

    def __init__(
        self, plan: ExplorePlan, asked: Sequence[tuple[str, str]], store: Store, runner: Runner
    ) -> None:
        self._plan = plan
        self._asked = asked
        self._store = store
        self._runner = runner

    def cells(self) -> list[Cell]:
        """Every run that is needed."""
        found = [cell for one in self._asked for cell in map_cells(self._plan, *one)]
        return found + [s.cell(*loop) for s in self._settings() for loop in s.loops()]

    def run(self) -> None:
        """Runs what is missing and stores series, calibrations and facts.

        Raises LockcrossError (exit code 1) when a run fails.
        """
        self._runner.require(self.cells(), NAME)
        calibrate(self._runner, self._store, self._settings())
        for machine, flavour in self._asked:
            runs = self._runner.require(map_cells(self._plan, machine, flavour), NAME)
            name = f"{NAME}/{machine}/{isa_of(flavour)}/{flavour}"
            self._store.set_series(name, [run.id for run in runs])
        store_machines(self._store, {setting.machine for setting in self._settings()})
        store_isas(self._store)
        self._store.set_fact(NAME, self._fact())

    def _fact(self) -> Mapping[str, object]:
        return self._plan.model_dump()

    def _settings(self) -> list[Setting]:
        """Calibrations along both axes of each map, and of each machine as it is."""
        settings = [
            Setting(machine, isa_of(flavour), flavour, latency, latency, ops=_OPS)
            for machine, flavour in self._asked
            for latency in self._plan.calibration.latencies
        ]
        flavours = dict.fromkeys(flavour for _, flavour in self._asked)
        real = [
            (machine, flavour)
            for machine in self._plan.calibration.machines
            for flavour in flavours
            if isa_of(flavour) in load_machine(machine).isas
        ]
        asis = [*dict.fromkeys([*self._asked, *real])]
        return settings + [Setting(m, isa_of(f), f, ops=_OPS) for m, f in asis]
