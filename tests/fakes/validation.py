"""A small validation of known errors, and sweeps of latencies of known lines, for tests."""

from results.store.records import CalibrationRecord
from results.store.store import Store
from tests.fakes.records import record

COSTS = {  # set -> lock -> (gem5, embedded engine), cycles per pair
    "timing_uncontended": {
        "nop": (10.0, 10.0), "thin": (50.0, 51.0), "tasuki": (100.0, 98.0),
        "reservation": (40.0, 40.0),
    },
    "o3_contended": {"thin": (30.0, 60.0), "tasuki": (80.0, 64.0), "reservation": (33.0, 55.0)},
}  # fmt: skip
MODELS = {"timing_uncontended": "gem5/timing", "o3_contended": "gem5/o3"}
LATENCIES = (0, 20, 50, 100, 200)
PARAMETERS: dict[str, int | str] = {"iterations": 100}


class Gem5Data:
    """Fills a store as `lockcross validate` and the latency sweeps would."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def run(self, engine: str, lock: str, cost: float, **changes: object) -> int:
        """Adds a run of known cost (cycles per pair) and returns its id."""
        given: dict[str, object] = {
            "engine": engine,
            "lock": lock,
            "workload": "threads",
            "parameters": PARAMETERS,
            "threads": 1,
            "resolved": {},
            "duration_s": 2.0 if engine == "qemu" else 20.0,
            "metrics": {
                "cycles_per_pair": (cost, "cycles/pair"),
                "pairs": (100.0, "pairs"),
                "instructions": (10_000.0, "count"),
            },
        }
        given |= changes
        identity = repr((engine, lock, cost, sorted(changes.items(), key=str)))
        return self.store.add_run(record(identity, **given), "validate")

    def validation(self, isas: tuple[str, ...] = ("x86_64",)) -> None:
        """Both engines' runs of COSTS, with the bars of the first set."""
        for name, locks in COSTS.items():
            threads = 2 if name.endswith("_contended") else 1
            runs = []
            for isa in isas:
                for lock, costs in locks.items():
                    for engine, cost in zip((MODELS[name], "qemu"), costs, strict=True):
                        runs.append(self.run(engine, lock, cost, isa=isa, threads=threads))
            self.store.set_series(f"validation/{name}", runs)
        bars = {"title": "Uncontended", "mean": 0.03, "worst": 0.1, "order": 0.95}
        self.store.set_fact(
            "validation_bars",
            {
                "timing_uncontended": bars,
                "o3_contended": {"title": "O3", "mean": None, "worst": None, "order": None},
            },
        )

    def sweep(
        self,
        engine: str,
        mechanism: str,
        op: str = "cas",
        slope: float = 1.0,
        offset: float = 3.0,
        isa: str = "x86_64",
        flavour: str = "lock",
    ) -> None:
        """The latency sweep of one operation on a line of `slope` and `offset` (cycles)."""
        kinds = ("atomic", "fence", "charge") if mechanism != "unknown" else ()
        resolved = dict.fromkeys(kinds, mechanism)
        for value in LATENCIES:
            run = self.run(
                engine,
                "nop",
                1.0,
                isa=isa,
                flavour=flavour,
                workload="calibrate",
                parameters={"op": op, "iterations": 100},
                cas_latency=value,
                fence_latency=value,
                cancel_latency=value,
                resolved={f"mechanism_{key}": m for key, m in resolved.items()},
            )
            self.store.add_calibrations(
                [
                    CalibrationRecord(
                        "generic",
                        isa,
                        flavour,
                        engine,
                        value,
                        value,
                        op,
                        offset + slope * value,
                        run,
                        run,
                    )
                ]
            )

    def regions(self, isa: str, costs: dict[str, float], total: tuple[float, float]) -> None:
        """Runs of 100 and 200 pairs under each way of finding the region of interest, by its
        name in the engine label; `total`: whole program's cycles of the shorter and the longer."""
        runs = []
        for way, cost in costs.items():
            for pairs, cycles in zip((100, 200), total, strict=True):
                metrics = {
                    "cycles_per_pair": (cost, "cycles/pair"),
                    "pairs": (float(pairs), "pairs"),
                    "total_cycles": (cycles, "cycles"),
                }
                runs.append(
                    self.run(
                        f"gem5/timing/{way}",
                        "thin",
                        cost,
                        isa=isa,
                        metrics=metrics,
                        parameters={"iterations": pairs},
                    )
                )
        self.store.set_series(f"roi/{isa}/timing", runs)
