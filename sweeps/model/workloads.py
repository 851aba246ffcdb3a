"""What the workloads may be asked for: the keys of docs/interfaces.md, section 4."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from sweeps.model.locks import load_locks

MAX_THREADS = 64
PARTS = 1_000_000  # of an owner share: parts per million
CALIBRATE_OPS = (
    "empty", "load", "store", "cas", "cas_fail", "rmw", "fence", "stop", "park", "unpark", "wake",
)  # fmt: skip


@dataclass(frozen=True)
class Key:
    """One parameter: whole numbers from `low` to `high`, one of `choices`, or text like `text`.

    `usual` is what `lockcross run` takes when it is not told; plans say every value.
    """

    usual: int | str
    low: int = 0
    high: int = 2**32 - 1
    choices: tuple[str, ...] = ()
    text: str = ""  # a regular expression

    def invalid_reason(self, value: int | str) -> str:
        """What is allowed, when `value` is not; else nothing."""
        if self.choices:
            return "" if value in self.choices else f"allowed are {', '.join(self.choices)}"
        if self.text:
            said = isinstance(value, str) and re.fullmatch(self.text, value)
            return "" if said else f"it is written like {self.usual}"
        if isinstance(value, int) and self.low <= value <= self.high:
            return ""
        return f"allowed is a whole number from {self.low} to {self.high}"


_ITERATIONS = {"iterations": Key(1000, low=1)}
_LENGTHS = {"critical": Key(20), "think": Key(100)}
_NO_LENGTHS = {"critical": Key(0), "think": Key(0)}
_OBJECTS = {"objects": Key(100, low=1, high=16384)}
_RUN = r"\d{1,2}x[1-9]\d{0,8}"  # THREADxACQUISITIONS
_RUNS = f"{_RUN}(,{_RUN})*"  # of one object

# Of the runtime, where threads share cores; a workload has them if what it measures depends on it.
SCHEDULING_KEYS = {
    "slice": Key(80_000),
    "run_queue": Key("round_robin", choices=("priority", "round_robin")),
}


@dataclass(frozen=True)
class Workload:
    """One kernel: its keys, and the numbers of threads it can run with."""

    keys: Mapping[str, Key]
    min_threads: int = 1
    max_threads: int = MAX_THREADS
    locks: tuple[str, ...] = field(default=())  # empty: any
    # What its result line reports beside the pairs: name -> unit.
    metrics: Mapping[str, str] = field(default_factory=dict)
    needs_cores: bool = False  # runs only where threads share cores


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
    "lock_trace": Workload(
        {
            "sequence": Key("0x12,1x3,0x5", text=f"{_RUNS}(/{_RUNS})*"),
            "objects": Key(10, low=1, high=4096),
        }
        | _LENGTHS
    ),
    "lock_mix": Workload(
        _OBJECTS
        | {
            "acquisitions": Key(10_000, low=1),
            "owner_share": Key(PARTS, high=PARTS),
            "return_share": Key(0, high=PARTS),
            "recursive": Key(0, high=PARTS),
            "shared_objects": Key(0, high=16384),
            "owners": Key(0, high=MAX_THREADS),
        }
        | _LENGTHS
    ),
    "multi_sync": Workload(_OBJECTS | _ITERATIONS, max_threads=1),
    "call": Workload(_ITERATIONS),
    "call_sync": Workload(_ITERATIONS),
    "nested_call_sync": Workload(_ITERATIONS),
    "primitive": Workload(
        {
            "objects": Key(1, low=1, high=1024),
            "state": Key("reserved", choices=("reserved", "flat", "foreign", "inflated")),
            "level": Key("outermost", choices=("outermost", "recursive")),
        }
        | _ITERATIONS,
        min_threads=2,
        max_threads=2,
    ),
    "transition": Workload(
        _OBJECTS | {"owner": Key("waiting", choices=("waiting", "running"))},
        min_threads=2,
        max_threads=2,
    ),
    "long_locker": Workload({"hold": Key(100_000, low=1)}),
    "flat_fat": Workload(_ITERATIONS | {"sections": Key(6, low=1, high=1_000_000)} | _NO_LENGTHS),
    "thrashing": Workload(
        {"iterations": Key(100, low=1, high=2**31 - 1), "hold": Key(2000)},
        min_threads=2,
        max_threads=2,
    ),
    "io_put": Workload(
        {
            "mode": Key("single", choices=("single", "multi", "flock")),
            "stream": Key("file", choices=("file", "socket")),
        }
        | _ITERATIONS
    ),
    "structured": Workload(
        {
            "test": Key("sync", choices=("sync", "throw", "notify")),
            "blocks": Key("lock", choices=("lock", "own_handler")),
            "locks": Key(2, low=1, high=8),
            "throw_every": Key(0),
        }
        | _ITERATIONS
    ),
    "counter": Workload(
        {"duration": Key(2_000_000, low=1), "critical": Key(20), "think": Key(0)} | SCHEDULING_KEYS,
        metrics={
            "wait_mean": "cycles",
            "wait_deviation": "cycles",
            "wait_variation": "thousandths",
            "wait_max": "cycles",
            "gap_deviation": "sections",
            "least": "sections",
            "most": "sections",
        },
        needs_cores=True,
    ),
    "priority_mix": Workload(
        {
            "high": Key(1, low=1, high=MAX_THREADS - 1),
            "sections": Key(10, low=1),
            "high_iterations": Key(1000, low=1),
            "low_iterations": Key(5000, low=1),
            "writes": Key(500_000, high=PARTS),
            "pause": Key(20_000),
        }
        | SCHEDULING_KEYS,
        min_threads=2,
        metrics={"high_elapsed": "cycles", "elapsed": "cycles", "roll_backs": "sections"},
        needs_cores=True,
    ),
    "footprint": Workload(
        {"iterations": Key(2, low=1, high=1000)},
        max_threads=2,
        metrics={"object_bytes": "bytes", "monitor_bytes": "bytes"},
    ),
    "conformance": Workload({"iterations": Key(10, low=1, high=256)}),
    "calibrate": Workload(
        {"op": Key("cas", choices=CALIBRATE_OPS)} | _ITERATIONS, max_threads=1, locks=("null",)
    ),
    "transfer": Workload(
        {"op": Key("store", choices=("store", "cas"))} | _ITERATIONS, locks=("null",)
    ),
}


def unsupported_reason(
    workload: str, lock: str, threads: int, parameters: Mapping[str, int | str]
) -> str:
    """Why a workload cannot be run like this, or nothing. Keys and values are checked before."""
    kind = WORKLOADS[workload]
    if kind.locks and lock not in kind.locks:
        return f"workload {workload} is built with lock {', '.join(kind.locks)} only"
    if not kind.min_threads <= threads <= kind.max_threads:
        allowed = (
            str(kind.min_threads)
            if kind.min_threads == kind.max_threads
            else f"{kind.min_threads} to {kind.max_threads}"
        )
        return f"threads: {threads}: workload {workload} runs with {allowed} threads"
    numbers = {key: value for key, value in parameters.items() if isinstance(value, int)}
    if workload == "lock_sequence":
        return _unsupported_sequence(threads, numbers["owner_share"])
    if workload == "lock_mix":
        return _unsupported_mix(threads, numbers)
    if workload == "lock_trace":
        return _unsupported_trace(threads, str(parameters["sequence"]))
    if workload in ("io_put", "structured", "priority_mix"):
        return _unsupported_sections(workload, lock, threads, parameters)
    if parameters.get("state") == "inflated" and not load_locks()[lock].java:
        return f"parameters.state: inflated: lock {lock} has no monitor to inflate to"
    return ""


def _unsupported_sequence(threads: int, share: int) -> str:
    if threads == 1 and share < PARTS:
        return (
            f"owner_share: {share}: below {PARTS} some acquisitions are another thread's, "
            "so threads must be 2 or more"
        )
    return ""


def _unsupported_sections(
    workload: str, lock: str, threads: int, of: Mapping[str, int | str]
) -> str:
    if workload == "io_put" and (of["mode"] == "single") != (threads == 1):
        return f"threads: {threads}: mode single has 1 thread, multi and flock have 2 or more"
    if workload == "structured" and of["test"] == "notify" and not load_locks()[lock].java:
        return f"parameters.test: notify: lock {lock} has no wait and notify"
    if workload == "structured" and of["test"] != "throw" and of["throw_every"] != 0:
        return f"parameters.throw_every: test {of['test']} does not throw"
    if workload == "priority_mix" and int(of["high"]) >= threads:
        return f"parameters.high: {of['high']}: one of {threads} threads must be of low priority"
    return ""


def _unsupported_trace(threads: int, sequence: str) -> str:
    if (most := max(int(number) for number in re.findall(r"(\d+)x", sequence))) >= threads:
        return f"parameters.sequence: thread {most}: threads, from 0, are {threads}"
    return ""


def _unsupported_mix(threads: int, of: Mapping[str, int]) -> str:
    """As lock_mix.c shares the acquisitions out."""
    returned, nested = (
        of["acquisitions"] * of[key] // PARTS for key in ("return_share", "recursive")
    )
    rest = PARTS - of["owner_share"] - of["return_share"] - of["recursive"]
    foreign = of["acquisitions"] * rest // PARTS
    if rest < 0:
        return f"parameters: owner_share, return_share and recursive are more than {PARTS}"
    if of["shared_objects"] > of["objects"]:
        return f"parameters.shared_objects: more than {of['objects']} objects"
    if of["owners"] > threads or (of["shared_objects"] and threads < 2):
        return f"threads: {threads}: too few for owners and other threads"
    if of["acquisitions"] - returned - nested - foreign < of["objects"]:
        return "parameters.owner_share: less than one acquisition for each object"
    if foreign < of["shared_objects"] or (returned + foreign and not of["shared_objects"]):
        return (
            f"parameters.shared_objects: {of['shared_objects']}: does not go with {foreign} "
            f"acquisitions by other threads and {returned} by first lockers after them"
        )
    return ""
