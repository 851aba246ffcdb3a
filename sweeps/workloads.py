"""What the workloads may be asked for: the keys of docs/interfaces.md, section 4."""

from collections.abc import Mapping
from dataclasses import dataclass, field

MAX_THREADS = 64
PARTS = 1_000_000  # of an owner share: parts per million
CALIBRATE_OPS = (
    "empty", "load", "store", "cas", "cas_fail", "rmw", "fence", "stop", "park", "unpark", "wake",
)  # fmt: skip


@dataclass(frozen=True)
class Key:
    """One parameter: whole numbers from `low` to `high`, or one of `choices`.

    `usual` is what `lockcross run` takes when it is not told; plans say every value.
    """

    usual: int | str
    low: int = 0
    high: int = 2**32 - 1
    choices: tuple[str, ...] = ()

    def wrong(self, value: int | str) -> str:
        """What is allowed, when `value` is not; else nothing."""
        if self.choices:
            return "" if value in self.choices else f"allowed are {', '.join(self.choices)}"
        if isinstance(value, int) and self.low <= value <= self.high:
            return ""
        return f"allowed is a whole number from {self.low} to {self.high}"


_ITERATIONS = {"iterations": Key(1000, low=1)}
_LENGTHS = {"critical": Key(20), "think": Key(100)}
_OBJECTS = {"objects": Key(100, low=1, high=16384)}


@dataclass(frozen=True)
class Workload:
    """One kernel: its keys, and the numbers of threads it can run with."""

    keys: Mapping[str, Key]
    min_threads: int = 1
    max_threads: int = MAX_THREADS
    locks: tuple[str, ...] = field(default=())  # empty: any


WORKLOADS: dict[str, Workload] = {
    "nosync": Workload(_ITERATIONS),
    "sync": Workload(_ITERATIONS),
    "nested_sync": Workload(_ITERATIONS),
    "mixed_sync": Workload(_ITERATIONS),
    "threads": Workload(_ITERATIONS | _LENGTHS),
    "rounds": Workload(
        _OBJECTS | {"rounds": Key(12, low=1, high=1_000_000)}, min_threads=2, max_threads=2
    ),
    "lock_sequence": Workload(
        _OBJECTS
        | {
            "runs": Key(20, low=1),
            "run_length": Key(50, low=1),
            "owner_share": Key(PARTS, high=PARTS),
        }
        | _LENGTHS
    ),
    "conformance": Workload({"iterations": Key(10, low=1, high=256)}),
    "calibrate": Workload(
        {"op": Key("cas", choices=CALIBRATE_OPS)} | _ITERATIONS, max_threads=1, locks=("null",)
    ),
    "transfer": Workload(
        {"op": Key("store", choices=("store", "cas"))} | _ITERATIONS, locks=("null",)
    ),
}


def impossible(workload: str, lock: str, threads: int, parameters: Mapping[str, int | str]) -> str:
    """Why a workload cannot be run like this, or nothing. Keys and values are checked before."""
    kind = WORKLOADS[workload]
    if kind.locks and lock not in kind.locks:
        return f"workload {workload} is built with lock {', '.join(kind.locks)} only"
    if not kind.min_threads <= threads <= kind.max_threads:
        allowed = (
            str(kind.min_threads)
            if kind.min_threads == kind.max_threads
            else f"from {kind.min_threads} to {kind.max_threads}"
        )
        return f"threads: {threads}: workload {workload} runs with {allowed}"
    share = parameters.get("owner_share", PARTS)
    if workload == "lock_sequence" and threads == 1 and isinstance(share, int) and share < PARTS:
        return (
            f"owner_share: {share}: below {PARTS} some acquisitions are another thread's, "
            "so threads must be 2 or more"
        )
    return ""
