"""A small study from a closed-form cost model, for tests of figures and pages from it."""

import json
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

from results.store.records import CalibrationRecord, CrossoverRecord, MachineRecord
from results.store.store import Store
from sweeps.model.workloads import with_defaults
from sweeps.study.crossings import Crossing, CrossoverTask, Point, Repeat, Searched, records
from sweeps.study.lines import AxisLine
from tests.fakes.cells import cell_of
from tests.fakes.costs import costs
from tests.fakes.records import SEQUENCE as MAP
from tests.fakes.records import record
from tests.fakes.searching import find_crossover

MACHINES = ("generic", "narrow")  # with maps; on narrow a CAS takes twice what is set
LOCKS, ASIDE = ("tasuki", "reservation", "asym_tasuki"), ("thin",)
CAS, FENCE, LENGTHS, CANCELS = (0, 60, 120), (0, 60, 120), (2, 20, 200), (500, 5000)
# On processors, by use (workload, threads): cycles per pair of each lock, as the study names it.
PROCESSOR = {
    "hotspot_light": (50, 900),
    "reservation": (6, 2000),
    "asym_tasuki/membarrier": (40, 9000),
}
USES = {"one_thread": ("sync", 1), "contended": ("random_threads", 4)}
# Cycles per pair with so many of work between two sections, which nop alone takes too: an atomic
# costs 35 cycles more than the lock without one, then 6, then none.
WORK = {0: (10, 50, 15), 100: (110, 122, 116), 1000: (1010, 1017, 1017)}
WORK_LOCKS = ("nop", "j9_flat", "reservation")
USUAL = {"cas_latency": 20, "fence_latency": 30, "cancel_latency": 2000, "run_length": 10}
RUN_LENGTH = {"objects": 1, "runs": 2, "owner_share": 0.5}


def at(cas: int, **latencies: Sequence[int]) -> dict[str, Sequence[int]]:
    """Where a run stands on a map."""
    return {"cas_latency": [cas], **{axis: list(cycles) for axis, cycles in latencies.items()}}


def cells_of_plan() -> list[dict[str, Any]]:
    shape = {"workload": "lock_sequence", "threads": 2, "parameters": MAP}
    cells = [{"name": "map", "machine": list(MACHINES), **shape}]
    for (use, (workload, threads)), name in product(USES.items(), PROCESSOR):
        lock, _, fence = name.partition("/")
        built = {"lock": lock, "fence": fence or "production"}
        shape = {"machine": "known", "workload": workload, "threads": threads}
        cells.append({"name": f"processors/{use}", **built, **shape})
    return cells


class Synthetic:
    """Fills a store with a whole study."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.plan: dict[str, Any] = {
            "title": "A synthetic study",
            "seeds": 2,
            "tie_percent": 2.0,
            "limits": {"thin": "it spins"},
            "locks": [*LOCKS],
            "aside": [*ASIDE],
            "cells": cells_of_plan(),
            "borders": [{"cells": "map", "axes": ["cas_latency", "fence_latency"], "tolerance": 2}],
        }
        self._cycles: dict[int, int] = {}  # of runs

    def on(self, engine: str, **of_map: object) -> None:
        """Make it the study of another engine, its map's cells with other keys."""
        cells = [cells | {"engine": engine} for cells in self.plan["cells"]]
        self.plan["cells"] = [cells[0] | of_map, *cells[1:]]

    def fill(self) -> None:
        job = {"started": "2026-01-01", "duration_s": 1.5, "new_runs": 3}
        self.store.set_fact("plan", self.plan)
        self.store.set_fact("isa/x86_64", {"title": "x86-64", "full_fence": "mfence"})
        self.store.set_fact("job", {"command": "./lockcross crossover", **job})
        self._machines()
        for machine in MACHINES:
            self._map(machine)
            self._run_length(machine)
        self._rounds()
        self._processors()
        self._cancel_map()

    def _add(self, identity: str, cycles: int, **changes: object) -> int:
        run = self.store.add_run(record(identity, cycles, **changes), "synthetic")
        self._cycles[run] = cycles
        return run

    def _run(
        self,
        lock: str,
        kind: str = "full",
        machine: str = "generic",
        parameters: dict[str, int] = MAP,
        **changes: int,
    ) -> int:
        """A run of the map's workload, in which reservation alone pays for cancellations."""
        cas, fence, cancel, length = (USUAL | changes).values()
        cancels = lock == "reservation"
        cancel = cancel if cancels else USUAL["cancel_latency"]
        paid = costs(cas * (2 if machine == "narrow" else 1), fence if kind == "full" else 5)
        return self._add(
            json.dumps([lock, cas, fence, cancel, length, kind, machine, parameters]),
            paid[lock] + cancels * cancel // (10 * length),
            lock=lock,
            fence=kind,
            machine=machine,
            parameters={**parameters, "run_length": length},
            cancel_latency=cancel if cancels else None,
            resolved={"cas_success": cas, "fence_mfence": fence, "charge_stop_blocked": cancel},
        )

    def _machines(self) -> None:
        neutral = ({"assumption": 20, "why": "neutral"}, {"assumption": 30, "why": "neutral"})
        figures: dict[str, Sequence[dict[str, Any]]] = {
            **dict.fromkeys(MACHINES, neutral),
            "known": ({"value": 18, "source": "measured"}, {"value": 33, "source": "measured"}),
            "guessed": ({"value": 90, "source": "measured"}, {"assumption": 90, "why": "a guess"}),
        }
        base = self._run("tasuki")
        for name, (cas, fence) in figures.items():
            latency = {"x86_64": {"cas_success": cas, "fence_mfence": fence}}
            stop = {"value": 9000 if name == "guessed" else 2000, "source": "measured"}
            description = {"latency": latency, "charges": {"stop_blocked": stop}}
            self.store.set_machine(MachineRecord(name, f"The {name} machine", description))
            of = name, "x86_64", "lock", "qemu"
            for given in (None, *(CAS if name in MACHINES else ())):
                for op, figure in (("cas", cas), ("fence", fence)):
                    own = figure.get("value", figure.get("assumption"))
                    cycles = float(own if given is None else given) + 2
                    calibration = CalibrationRecord(*of, given, given, op, cycles, base, base)
                    self.store.add_calibrations([calibration])
            runs = [self._run(lock, machine=name) for lock in (*LOCKS, *ASIDE)]
            runs.append(self._run("asym_tasuki", kind="rmw", machine=name))
            self.store.set_series(f"table/{name}/x86_64/lock", runs)

    def _map(self, machine: str) -> None:
        runs = {}
        for lock, cas, fence in product((*LOCKS, *ASIDE), CAS, FENCE):
            run = self._run(lock, cas_latency=cas, fence_latency=fence, machine=machine)
            runs[run] = at(cas, fence_latency=[fence])
        for cas in CAS:
            run = self._run("asym_tasuki", cas_latency=cas, kind="rmw", machine=machine)
            runs[run] = at(cas, fence_latency=FENCE)
        self.store.set_series(f"map/{machine}/x86_64/lock", runs, runs)
        crossovers = []
        lines = [("cas_latency", {"fence_latency": value}) for value in FENCE]
        lines += [("fence_latency", {"cas_latency": value}) for value in CAS]
        for axis, held in lines:
            for pair in (("reservation", "tasuki"), ("asym_tasuki", "reservation")):
                crossovers += self._search(machine, pair, axis, (0, 120), held)
        self.store.set_crossovers(crossovers, f"map/{machine}/x86_64/lock")
        along = []
        for pair in (("tasuki", "reservation"), ("tasuki", "asym_tasuki")):
            along += self._search(machine, pair, "cancel_latency", (0, 9000), {})
        self.store.set_crossovers(along, f"axis/cancel_latency/{machine}/x86_64/lock")

    def _run_length(self, machine: str) -> None:
        pair, runs, crossovers = ("tasuki", "reservation"), [], []
        for cancel in CANCELS:
            held = {"cancel_latency": cancel}
            for lock, length in product(LOCKS, LENGTHS):
                how = {"machine": machine, "parameters": RUN_LENGTH, **held}
                runs.append(self._run(lock, run_length=length, **how))
            crossovers += self._search(machine, pair, "run_length", (2, 200), held, RUN_LENGTH)
        self.store.set_series(f"run_length/{machine}/x86_64/lock", runs)
        self.store.set_crossovers(crossovers, f"run_length/{machine}/x86_64/lock")

    def _rounds(self) -> None:
        runs = []
        for lock in LOCKS:
            cycles = [100, 50, 50, 10_000 if lock == "reservation" else 100, 60, 60]
            metrics = {"cycles_per_pair": (10.0, "cycles/pair")} | {
                f"phase_{n}_cycles": (float(c), "cycles") for n, c in enumerate(cycles, 1)
            }
            runs.append(
                self._add(f"rounds {lock}", 10, lock=lock, workload="rounds", metrics=metrics)
            )
        self.store.set_series("rounds/known/lock", runs)

    def _processors(self) -> None:
        for number, (use, (workload, threads)) in enumerate(USES.items()):
            runs = []
            how = {"machine": "known", "workload": workload, "threads": threads}
            for name, cycles in PROCESSOR.items():
                lock, _, kind = name.partition("/")
                built = {"lock": lock, "fence": kind or "rmw"}
                runs.append(self._add(f"{use} {name}", cycles[number], **built, **how))
            self.store.set_series(f"processors/{use}/known/x86_64/lock", runs)
        runs = []
        for work, costs_there in WORK.items():
            keys = with_defaults("lock_use", {"objects": 1, "critical": 0, "think": work})
            how = {"machine": "known", "threads": 1, "workload": "lock_use", "parameters": keys}
            for lock, cycles in zip(WORK_LOCKS, costs_there, strict=True):
                runs.append(self._add(f"work {work} {lock}", cycles, lock=lock, **how))
        self.store.set_series("work/known/x86_64/lock", runs)

    def _cancel_map(self) -> None:
        runs = {}
        for lock, cas, cancel in product((*LOCKS, *ASIDE), CAS, CANCELS):
            kind = "full" if lock == "thin" else "rmw"
            run = self._run(lock, cas_latency=cas, cancel_latency=cancel, kind=kind)
            runs[run] = at(cas, cancel_latency=[cancel] if lock == "reservation" else CANCELS)
        self.store.set_series("cancel_map/generic/x86_64/lock", sorted(runs), runs)

    def _search(
        self,
        machine: str,
        pair: tuple[str, str],
        axis: str,
        ends: tuple[int, int],
        held: dict[str, int],
        parameters: dict[str, int] = MAP,
    ) -> list[CrossoverRecord]:
        """The crossovers of a pair; a second seed has each a cycle further."""

        def evaluate(wanted: Sequence[tuple[str, Fraction]]) -> list[Point]:
            how = {"machine": machine, "parameters": parameters, **held}
            runs = [self._run(lock, **how, **{axis: int(x)}) for lock, x in wanted]
            return [Point(Fraction(self._cycles[run]), run) for run in runs]

        found = find_crossover(evaluate, *pair, *ends, 2)
        base = cell_of(workload="lock_sequence", machine=machine)
        setting = {**MAP, **held}
        line = AxisLine("", base, axis, (), Fraction(2), setting=setting, unit="cycles")
        again = [
            {2: Repeat(Crossing(one.value + 1, one.low, one.high + 1, one.below), {})}
            for one in found.crossings
        ]
        stored = records(Searched(CrossoverTask(line, *pair), found, again or [{}]))
        return stored if again else [replace(one, seeds=()) for one in stored]


def study(path: Path) -> Path:
    """A database with a whole study in it."""
    with Store(path) as store:
        Synthetic(store).fill()
    return path
