"""Runs as a store holds them, without an engine."""

from sweeps.run.work import CellRecord

PAIRS = 100
# Keys of workload lock_sequence, but for the length of a run.
SEQUENCE = {"objects": 1, "runs": 10, "run_length": 10, "owner_share": 0.9}


def record(identity: str, cycles: float = 1000, **changes: object) -> CellRecord:
    """A good run on x86_64 with the latencies it was given among its resolved options."""
    values: dict[str, object] = {
        "identity": identity,
        "engine_version": "1.0",
        "machine": "generic",
        "isa": "x86_64",
        "flavour": "lock",
        "lock": "tasuki",
        "workload": "lock_sequence",
        "parameters": SEQUENCE,
        "threads": 2,
        "status": "ok",
        "cause": "",
        "output": "",
        "command": f"./lockcross run {identity}",
        "started": "2026-01-01T00:00:00",
        "duration_s": 0.5,
        "attempts": 1,
        "binary_digest": "d",
        "source_revision": "abc",
        "compiler": "x86_64-linux-gnu-gcc (Debian 12.2.0-14+deb12u1) 12.2.0",
        "resolved": {},
        "metrics": {
            "core_cycles": (cycles * PAIRS, "cycles"),
            "pairs": (PAIRS, "pairs"),
            "cycles_per_pair": (cycles, "cycles/pair"),
            "stall_issue": (7, "cycles"),
            "coherence_load_M": (3, "count"),
        },
    }
    return CellRecord(**values | changes)  # type: ignore[arg-type]
