"""A small validation of known errors, for tests."""

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
PARAMETERS: dict[str, int | str] = {"iterations": 100}


class Gem5Data:
    """Fills a store as `lockcross validate` would."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def run(self, engine: str, lock: str, cost: float, **changes: object) -> int:
        """Add a run of known cost (cycles per pair) and return its id."""
        usual: dict[str, object] = {
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
        identity = repr((engine, lock, cost, sorted(changes.items(), key=str)))
        return self.store.add_run(record(identity, **usual | changes), "validate")

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
        none = {"title": "O3", "mean": None, "worst": None, "order": None}
        both = {"timing_uncontended": bars, "o3_contended": none}
        self.store.set_fact("validation_bars", both)
