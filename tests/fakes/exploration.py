"""A small explored grid from a closed-form cost model, for tests of the report's map."""

import itertools
from pathlib import Path
from typing import NamedTuple

from results.store.records import CalibrationRecord, MachineRecord
from results.store.store import Store
from sweeps.model.axes import LATENCIES
from sweeps.model.cell import command
from sweeps.model.locks import FULL, LockLabel
from tests.fakes.cells import cell_of
from tests.fakes.records import record

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


class Point(NamedTuple):
    """The set values of a run; None leaves them to the machine."""

    cas: int | None
    fence: int | None
    cancel: int | None
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


def labels(flavour: str) -> list[LockLabel]:
    """The locks of a flavour: POWER has no locked RMW."""
    return [LockLabel(one) for one in LABELS if flavour == "lock" or not one.endswith("rmw")]


def explored(path: Path) -> Path:
    """Make a database with explored grids at `path`."""
    with Store(path) as store:
        store.set_fact("study/explore", PLAN)
        for isa, title, fence in (("x86_64", "x86-64", "mfence"), ("ppc64le", "POWER", "hwsync")):
            store.set_fact(f"isa/{isa}", {"title": title, "full_fence": fence})
        for machine, flavour in itertools.product(MACHINES, FLAVOURS):
            first = _grid(store, machine, flavour)
            _calibrate(store, machine, flavour, first, (None, *CAS))
            _as_is(store, machine, flavour)
        _calibrate(store, "known", "lock", first, (None,))
        _as_is(store, "known", "lock")
        for name, description in {**MACHINES, "known": {}}.items():
            fence = {"assumption": OWN_FENCE, "why": "w"}
            figures = {"cas_success": {"value": OWN_CAS, "source": "s"}}
            figures |= {"fence_mfence": fence, "fence_hwsync": fence}
            own = {
                "latency": dict.fromkeys(FLAVOURS.values(), figures),
                "charges": {"stop_blocked": {"assumption": OWN_CANCEL[name]}},
            }
            store.set_machine(MachineRecord(name, f"The {name} machine", description | own))
    return path


def _grid(store: Store, machine: str, flavour: str) -> int:
    """Store the runs of a grid, with the latencies at which each stands, and return the first."""
    runs: dict[int, dict[str, list[int]]] = {}
    values = itertools.product(CAS, FENCE, CANCEL, SHARE)
    for label, at in itertools.product(labels(flavour), map(Point._make, values)):
        cycles = round(cost(label, at, machine, flavour), 2)
        of_run = runs.setdefault(_run(store, machine, flavour, label, at, cycles), {})
        for axis, value in zip(LATENCIES[:3], at, strict=False):
            if value not in of_run.setdefault(axis, []):
                of_run[axis].append(value)
    store.set_series(f"explore/{machine}/{FLAVOURS[flavour]}/{flavour}", runs, runs)
    return next(iter(runs))


def _as_is(store: Store, machine: str, flavour: str) -> None:
    at = Point(None, None, None, OWN_SHARE)
    runs = [
        _run(store, machine, flavour, label, at, as_is_cost(label, machine, flavour))
        for label in labels(flavour)
    ]
    store.set_series(f"explore/as_is/{machine}/{FLAVOURS[flavour]}/{flavour}", runs)


def _run(
    store: Store, machine: str, flavour: str, label: LockLabel, at: Point, cycles: float
) -> int:
    """Store a run, and the same one for all values of a latency that its lock does not pay."""
    cancel = at.cancel if label.lock == "reservation" else None
    cell = cell_of(
        label.lock,
        "lock_sequence",
        machine=machine,
        flavour=flavour,
        fence=label.fence,
        threads=2,
        cas_latency=at.cas,
        fence_latency=at.fence if label.fence == FULL else None,
        cancel_latency=cancel,
        parameters={**WORKLOAD, "owner_share": at.share},
    )
    resolved = {"charge_stop_blocked": OWN_CANCEL[machine] if cancel is None else cancel}
    said = {"command": command(cell), "resolved": resolved}
    return store.add_run(record(command(cell), cycles, **vars(cell), **said), "explore")


def _calibrate(
    store: Store, machine: str, flavour: str, run: int, latencies: tuple[int | None, ...]
) -> None:
    of = machine, FLAVOURS[flavour], flavour, "qemu"
    for given, (op, own) in itertools.product(
        latencies, {"cas": OWN_CAS, "fence": OWN_FENCE}.items()
    ):
        cycles = float((own if given is None else given) + OVERHEAD)
        store.add_calibrations([CalibrationRecord(*of, given, given, op, cycles, run, run)])
