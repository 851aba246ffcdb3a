"""A small explored grid from a closed-form cost model, for tests of the report's map."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from results.store.records import CalibrationRecord, MachineRecord
from results.store.store import Store
from sweeps.model.axes import LATENCIES
from sweeps.model.cell import Cell, command
from sweeps.model.locks import FULL, LockLabel
from tests.fakes.records import PAIRS, record

CAS, FENCE, CANCEL = (0, 20, 150), (0, 30, 150), (0, 5000, 50000)
SHARE = (0.5, 0.9, 1)
LABELS = ("tasuki", "reservation", "asym_tasuki", "thin", "asym_tasuki/rmw")
FLAVOURS = {"lock": "x86_64", "larx": "ppc64le"}
MACHINES = {"generic": {"out_of_order": {}}, "generic_inorder": {}}
OVERHEAD = 2  # a latency is measured so much above what is set
OWN_CAS, OWN_FENCE, OWN_SHARE = 44, 66, 0.9  # of every machine as it is
OWN_CANCEL = {"generic": 5000, "generic_inorder": 5000, "known": 18500}
WORKLOAD = {"objects": 8, "runs": 20, "run_length": 20, "critical": 0, "think": 0}
PLAN = {
    "title": "A small grid",
    "cells": [
        {"name": "explore", "machine": "generic", "workload": "lock_sequence"},
        {"name": "explore/as_is", "machine": "zen4", "workload": "lock_sequence"},
    ],
    "aside": ["thin"],
    "tie_percent": 2.0,
    "locks": ["tasuki", "reservation", "asym_tasuki"],
    "limits": {"thin": "it </script> spins"},
}


@dataclass(frozen=True)
class Point:
    """The set values of a run."""

    cas: int
    fence: int
    cancel: int
    share: float


def cost(label: str, at: Point, machine: str, flavour: str) -> float:
    """Cycles per pair. The reservation lock pays a CAS and a fence for each acquisition by others,
    and a revocation for each of them."""
    foreign = 1 - at.share
    tasuki = 40 + at.cas + at.fence
    base = {
        "tasuki": tasuki,
        "reservation": 15 + foreign * (5 * tasuki + at.cancel / 400),
        "asym_tasuki": 33 + 1.9 * at.fence + foreign * at.cas,
        "asym_tasuki/rmw": 31 + 1.8 * at.cas,
        "thin": 30.5 + at.cas,
    }[label]
    return base * (1.5 if machine == "generic_inorder" else 1) + (7 if flavour == "larx" else 0)


def as_is_cost(label: str, machine: str, flavour: str) -> float:
    """Cycles per pair on a machine as it is. The core of machine known takes three cycles more than
    generic's, and twenty more for a reservation lock, so it ranks them otherwise."""
    at = Point(OWN_CAS, OWN_FENCE, OWN_CANCEL[machine], OWN_SHARE)
    more = (3 + 20 * label.startswith("reservation")) * (machine == "known")
    return round(cost(label, at, machine, flavour) + more, 2)


@dataclass
class Explored:
    """Fill a store with explored grids. `costs`: the stored values, by machine, flavour, label and
    point."""

    store: Store
    costs: dict[tuple[str, str, str, Point], float] = field(default_factory=dict)

    def fill(self) -> None:
        """Every machine and flavour of this module."""
        self.store.set_fact("study/explore", PLAN)
        for isa, title, fence in (("x86_64", "x86-64", "mfence"), ("ppc64le", "POWER", "hwsync")):
            self.store.set_fact(f"isa/{isa}", {"title": title, "full_fence": fence})
        for machine, flavour in itertools.product(MACHINES, FLAVOURS):
            runs: dict[int, dict[str, list[int]]] = {}
            for label in LABELS:
                if not (flavour == "larx" and label.endswith("rmw")):
                    runs |= self._runs(machine, flavour, LockLabel(label))
            self.store.set_series(f"explore/{machine}/{FLAVOURS[flavour]}/{flavour}", runs, runs)
            first = next(iter(runs))
            self._calibrate(machine, flavour, first, [(None, None), *((x, x) for x in CAS)])
            self._as_is(machine, flavour)
        self._calibrate("known", "lock", first, [(None, None)])
        self._as_is("known", "lock")
        for name, description in {**MACHINES, "known": {}}.items():
            figures = {"cas_success": {"value": 44, "source": "s"}}
            figures |= {
                f"fence_{one}": {"assumption": 66, "why": "w"} for one in ("mfence", "hwsync")
            }
            latency = dict.fromkeys(FLAVOURS.values(), figures)
            own = {
                "latency": latency,
                "charges": {"stop_blocked": {"assumption": OWN_CANCEL[name]}},
            }
            self.store.set_machine(
                MachineRecord(name, f"The {name} machine", {**description, **own})
            )

    def _as_is(self, machine: str, flavour: str) -> None:
        key = (None, None, None, OWN_SHARE)
        runs = [
            self._run(machine, flavour, LockLabel(label), key, as_is_cost(label, machine, flavour))
            for label in LABELS
            if not (flavour == "larx" and label.endswith("rmw"))
        ]
        self.store.set_series(f"explore/as_is/{machine}/{FLAVOURS[flavour]}/{flavour}", runs)

    def _runs(
        self, machine: str, flavour: str, label: LockLabel
    ) -> dict[int, dict[str, list[int]]]:
        """The runs of a lock, and the latencies at which each stands."""
        ids: dict[object, int] = {}
        runs: dict[int, dict[str, list[int]]] = {}
        for values in itertools.product(CAS, FENCE, CANCEL, SHARE):
            at = Point(*values)
            fence = at.fence if label.fence == FULL else None
            cancel = at.cancel if label.lock == "reservation" else None
            cycles = round(cost(label, at, machine, flavour), 2)
            self.costs[machine, flavour, label, at] = cycles
            key = (at.cas, fence, cancel, at.share)
            if key not in ids:
                ids[key] = self._run(machine, flavour, label, key, cycles)
            of_run = runs.setdefault(ids[key], {})
            for axis, value in zip(LATENCIES[:3], values, strict=False):
                if value not in of_run.setdefault(axis, []):
                    of_run[axis].append(value)
        return runs

    def _run(
        self,
        machine: str,
        flavour: str,
        label: LockLabel,
        key: tuple[int | None, int | None, int | None, int],
        cycles: float,
    ) -> int:
        cas, fence, cancel, share = key
        cell = Cell(
            machine=machine,
            isa=FLAVOURS[flavour],
            flavour=flavour,
            lock=label.lock,
            fence=label.fence,
            workload="lock_sequence",
            threads=2,
            cas_latency=cas,
            fence_latency=fence,
            cancel_latency=cancel,
            parameters={**WORKLOAD, "owner_share": share},
        )
        metrics: Mapping[str, tuple[float, str]] = {
            "core_cycles": (cycles * PAIRS, "cycles"),
            "pairs": (PAIRS, "pairs"),
            "cycles_per_pair": (cycles, "cycles/pair"),
        }
        identity = f"{machine} {flavour} {label} {key}"
        resolved = {"charge_stop_blocked": OWN_CANCEL[machine] if cancel is None else cancel}
        run = record(
            identity,
            **{**vars(cell), "command": command(cell), "metrics": metrics, "resolved": resolved},
        )
        return self.store.add_run(run, "explore")

    def _calibrate(
        self, machine: str, flavour: str, run: int, settings: list[tuple[int | None, int | None]]
    ) -> None:
        for cas, fence in settings:
            for op, own in (("cas", 44), ("fence", 66)):
                cycles = float((own if cas is None else cas) + OVERHEAD)
                self.store.add_calibrations(
                    [
                        CalibrationRecord(
                            machine,
                            FLAVOURS[flavour],
                            flavour,
                            "qemu",
                            cas,
                            fence,
                            op,
                            cycles,
                            run,
                            run,
                        )
                    ]
                )


def explored(path: Path) -> dict[tuple[str, str, str, Point], float]:
    """Make a database with explored grids at `path`, and return the costs that it holds."""
    with Store(path) as store:
        explored_store = Explored(store)
        explored_store.fill()
        return explored_store.costs
