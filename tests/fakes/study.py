"""A small study from a closed-form cost model, for tests of figures and pages from it."""

import json
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from results.store.records import (
    CalibrationRecord,
    CrossoverRecord,
    CrossoverRun,
    CrossoverSeed,
    MachineRecord,
)
from results.store.store import Store
from sweeps.model.workloads import with_defaults
from sweeps.study.crossings import Point
from tests.fakes.costs import costs
from tests.fakes.records import SEQUENCE as MAP
from tests.fakes.records import record
from tests.fakes.searching import find_crossover

MACHINES = ("generic", "narrow")  # with maps; on narrow a CAS takes twice what is set
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
RUN_LENGTH = {"objects": 1, "runs": 2, "owner_share": 0.5}


def at(cas: int, **latencies: Sequence[int]) -> dict[str, Sequence[int]]:
    """Where a run stands on a map."""
    return {"cas_latency": [cas], **{axis: list(cycles) for axis, cycles in latencies.items()}}


class Synthetic:
    """Fills a store with a whole study."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.plan: dict[str, Any] = {
            "title": "A synthetic study",
            "seeds": 2,
            "tie_percent": 2.0,
            "limits": {"thin": "it spins"},
            "locks": ["tasuki", "reservation", "asym_tasuki"],
            "aside": ["thin"],
            "cells": [
                {
                    "name": "map",
                    "machine": list(MACHINES),
                    "workload": "lock_sequence",
                    "threads": 2,
                    "parameters": MAP,
                },
                *(
                    {
                        "name": f"processors/{use}",
                        "machine": "known",
                        "lock": lock,
                        "fence": fence or "production",
                        "workload": workload,
                        "threads": threads,
                    }
                    for use, (workload, threads) in USES.items()
                    for lock, _, fence in (name.partition("/") for name in PROCESSOR)
                ),
            ],
            "borders": [{"cells": "map", "axes": ["cas_latency", "fence_latency"], "tolerance": 2}],
        }

    def on(self, engine: str, **of_map: object) -> None:
        """Make it the study of another engine, its map's cells with other keys."""
        cells = [cells | {"engine": engine} for cells in self.plan["cells"]]
        self.plan["cells"] = [cells[0] | of_map, *cells[1:]]

    def fill(self) -> None:
        self.store.set_fact("plan", self.plan)
        self.store.set_fact("isa/x86_64", {"title": "x86-64", "full_fence": "mfence"})
        self.store.set_fact(
            "job",
            {
                "command": "./lockcross crossover",
                "started": "2026-01-01",
                "duration_s": 1.5,
                "new_runs": 3,
            },
        )
        self._machines()
        for machine in MACHINES:
            self._map(machine)
            self._run_length(machine)
        self._rounds()
        self._processors()
        self._cancel_map()

    def run(
        self,
        lock: str,
        cas: int = 20,
        fence: int = 30,
        cancel: int = 2000,
        length: int = 10,
        kind: str = "full",
        machine: str = "generic",
        parameters: dict[str, int] = MAP,
    ) -> int:
        identity = json.dumps([lock, cas, fence, cancel, length, kind, machine, parameters])
        paid = (cas * (2 if machine == "narrow" else 1), fence if kind == "full" else 5)
        resolved: dict[str, int | str] = {
            "cas_success": cas,
            "fence_mfence": fence,
            "charge_stop_blocked": cancel,
        }
        return self.store.add_run(
            record(
                identity,
                costs(*paid)[lock] + (lock == "reservation") * cancel // (10 * length),
                lock=lock,
                fence=kind,
                machine=machine,
                parameters={**parameters, "run_length": length},
                cancel_latency=cancel if lock == "reservation" else None,
                resolved=resolved,
            ),
            "synthetic",
        )

    def _machines(self) -> None:
        figures = {
            **dict.fromkeys(
                MACHINES,
                ({"assumption": 20, "why": "neutral"}, {"assumption": 30, "why": "neutral"}),
            ),
            "known": ({"value": 18, "source": "measured"}, {"value": 33, "source": "measured"}),
            "guessed": ({"value": 90, "source": "measured"}, {"assumption": 90, "why": "a guess"}),
        }
        base = self.run("tasuki")
        for name, (cas, fence) in figures.items():
            latency = {"x86_64": {"cas_success": cas, "fence_mfence": fence}}
            stop = {"value": 9000 if name == "guessed" else 2000, "source": "measured"}
            description = {"latency": latency, "charges": {"stop_blocked": stop}}
            self.store.set_machine(MachineRecord(name, f"The {name} machine", description))
            settings = [(None, None)] + ([(x, x) for x in CAS] if name in MACHINES else [])
            for setting in settings:
                for op, figure in (("cas", cas), ("fence", fence)):
                    own = figure.get("value", figure.get("assumption"))
                    cycles = float(own if setting[0] is None else setting[0]) + 2  # type: ignore[arg-type]
                    self.store.add_calibrations(
                        [
                            CalibrationRecord(
                                name, "x86_64", "lock", "qemu", *setting, op, cycles, base, base
                            )
                        ]
                    )
            runs = [
                self.run(lock, 20, 30, machine=name)
                for lock in ("tasuki", "reservation", "asym_tasuki", "thin")
            ]
            runs.append(self.run("asym_tasuki", 20, 30, kind="rmw", machine=name))
            self.store.set_series(f"table/{name}/x86_64/lock", runs)

    def _map(self, machine: str) -> None:
        runs = {
            self.run(lock, cas, fence, machine=machine): at(cas, fence_latency=[fence])
            for lock in (*self.plan["locks"], *self.plan["aside"])
            for cas in CAS
            for fence in FENCE
        }
        for cas in CAS:
            run = self.run("asym_tasuki", cas, 30, kind="rmw", machine=machine)
            runs[run] = at(cas, fence_latency=FENCE)
        self.store.set_series(f"map/{machine}/x86_64/lock", runs, runs)
        crossovers: list[CrossoverRecord] = []
        for axis, fixed, values in (
            ("cas_latency", "fence_latency", FENCE),
            ("fence_latency", "cas_latency", CAS),
        ):
            for value in values:
                for pair in (("reservation", "tasuki"), ("asym_tasuki", "reservation")):

                    def one(lock: str, x: int, value: int = value, axis: str = axis) -> int:
                        place = (x, value) if axis == "cas_latency" else (value, x)
                        return self.run(lock, *place, machine=machine)

                    crossovers += self._search(machine, one, pair, axis, 0, 120, {fixed: value})
        self.store.set_crossovers(crossovers, f"map/{machine}/x86_64/lock")
        along = []
        for pair in (("tasuki", "reservation"), ("tasuki", "asym_tasuki")):
            along += self._search(
                machine,
                lambda lock, x: self.run(lock, cancel=x, machine=machine),
                pair,
                "cancel_latency",
                0,
                9000,
                {},
            )
        self.store.set_crossovers(along, f"axis/cancel_latency/{machine}/x86_64/lock")

    def _run_length(self, machine: str) -> None:
        runs, crossovers = [], []
        for cancel in CANCELS:
            for lock in self.plan["locks"]:
                dear = cancel if lock == "reservation" else 2000
                runs += [
                    self.run(
                        lock, cancel=dear, length=length, parameters=RUN_LENGTH, machine=machine
                    )
                    for length in LENGTHS
                ]

            def one(lock: str, x: int, cancel: int = cancel) -> int:
                dear = cancel if lock == "reservation" else 2000
                return self.run(lock, cancel=dear, length=x, parameters=RUN_LENGTH, machine=machine)

            crossovers += self._search(
                machine,
                one,
                ("tasuki", "reservation"),
                "run_length",
                2,
                200,
                {"cancel_latency": cancel},
            )
        self.store.set_series(f"run_length/{machine}/x86_64/lock", runs)
        self.store.set_crossovers(crossovers, f"run_length/{machine}/x86_64/lock")

    def _rounds(self) -> None:
        runs = []
        for lock in self.plan["locks"]:
            cycles = [100, 50, 50, 10_000 if lock == "reservation" else 100, 60, 60]
            metrics = {"cycles_per_pair": (10.0, "cycles/pair")} | {
                f"phase_{n}_cycles": (float(c), "cycles") for n, c in enumerate(cycles, 1)
            }
            run = record(f"rounds {lock}", lock=lock, workload="rounds", metrics=metrics)
            runs.append(self.store.add_run(run, "synthetic"))
        self.store.set_series("rounds/known/lock", runs)

    def _processors(self) -> None:
        for number, (use, (workload, threads)) in enumerate(USES.items()):
            runs = []
            for name, cycles in PROCESSOR.items():
                lock, _, kind = name.partition("/")
                how = {"lock": lock, "fence": kind or "rmw", "workload": workload}
                run = record(
                    f"{use} {name}", cycles[number], machine="known", threads=threads, **how
                )
                runs.append(self.store.add_run(run, "synthetic"))
            self.store.set_series(f"processors/{use}/known/x86_64/lock", runs)
        runs = []
        for work, costs_there in WORK.items():
            keys = with_defaults("lock_use", {"objects": 1, "critical": 0, "think": work})
            how = {"machine": "known", "threads": 1, "workload": "lock_use", "parameters": keys}
            for lock, cycles in zip(WORK_LOCKS, costs_there, strict=True):
                run = record(f"work {work} {lock}", cycles, lock=lock, **how)
                runs.append(self.store.add_run(run, "synthetic"))
        self.store.set_series("work/known/x86_64/lock", runs)

    def _cancel_map(self) -> None:
        runs = {}
        for lock in (*self.plan["locks"], *self.plan["aside"]):
            kind, cancels = "full" if lock == "thin" else "rmw", lock == "reservation"
            for cas in CAS:
                for cancel in CANCELS if cancels else (2000,):
                    run = self.run(lock, cas, cancel=cancel, kind=kind)
                    runs[run] = at(cas, cancel_latency=[cancel] if cancels else CANCELS)
        self.store.set_series("cancel_map/generic/x86_64/lock", sorted(runs), runs)

    def _search(
        self,
        machine: str,
        run: Callable[[str, int], int],
        pair: tuple[str, str],
        axis: str,
        low: int,
        high: int,
        setting: dict[str, int],
    ) -> list[CrossoverRecord]:
        """The crossovers of a pair; a second seed has each a cycle further."""

        def evaluate(wanted: Sequence[tuple[str, Fraction]]) -> list[Point]:
            points = []
            for lock, x in wanted:
                run_id = run(lock, int(x))
                (value,) = self.store.connection.execute(
                    "SELECT value FROM metrics WHERE run_id = ? AND name = 'cycles_per_pair'",
                    (run_id,),
                ).fetchone()
                points.append(Point(Fraction(int(value)), run_id))
            return points

        crossover = find_crossover(evaluate, *pair, low, high, 2)
        runs = tuple(
            CrossoverRun(p.run_id, 1, lock, int(x), float(p.cost))
            for (lock, x), p in crossover.points.items()
        )
        always = crossover.always
        ends = [(c.below, float(c.value), int(c.low), int(c.high)) for c in crossover.crossings]
        return [
            CrossoverRecord(
                machine=machine,
                isa="x86_64",
                flavour="lock",
                engine="qemu",
                workload="lock_sequence",
                setting={**MAP, **setting},
                axis=axis,
                unit="cycles",
                lock_a=pair[0],
                lock_b=pair[1],
                low=low,
                high=high,
                tolerance=2,
                verdict=crossover.verdict,
                below=below,
                value=value,
                bracket_low=left,
                bracket_high=right,
                runs=runs,
                seeds=()
                if value is None
                else (
                    CrossoverSeed(1, value, left, right),
                    CrossoverSeed(2, value + 1, left, right + 1),
                ),
            )
            for below, value, left, right in ends or [(always, None, None, None)]
        ]


def study(path: Path) -> Path:
    """A database with a whole study in it."""
    with Store(path) as store:
        Synthetic(store).fill()
    return path
