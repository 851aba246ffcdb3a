"""The axes that are numbers, in one table: those of a cell, and the keys of workloads that searches
go along. Plans, options, columns, tables and figures read it."""

from dataclasses import dataclass

MAX_THREADS = 128  # of a program (lockimpl: LOCK_MAX_THREADS)
MAX_LATENCY = 10_000_000  # cycles; the embedded engine's own bound
MAX_SEED = 2**32 - 1


@dataclass(frozen=True)
class Quantity:
    """What is varied. `words`: on a figure's axis. `unit`: of its values, as they are stored.

    Of an axis of a cell also the bounds, both allowed, and the default; None: it may be left out. A
    workload's key has them in workloads.def. Of a latency that can be set, what it is the cost of,
    what stands before its cycles, and the machine's figure whose place it takes ("": its full
    fence's).
    """

    words: str
    unit: str
    low: int = 0
    high: int = 0
    default: int | None = None
    cost_of: str = ""
    set_to: str = ""
    figure: str = ""


def _latency(words: str, cost_of: str, set_to: str, figure: str) -> Quantity:
    return Quantity(words, "cycles", 0, MAX_LATENCY, None, cost_of, set_to, figure)


# By name, in the order of tables.
QUANTITIES = {
    "cas_latency": _latency("CAS latency", "CAS", "CAS set to", "cas_success"),
    "fence_latency": _latency("full-fence latency", "full fence", "fence set to", ""),
    "cancel_latency": _latency(
        "cost of a cancellation", "cancellation", "cancellation set to", "charge_stop"
    ),
    "owner_share": Quantity("owner's share", "share"),
    "run_length": Quantity("run length", "acquisitions"),
    "threads": Quantity("threads", "threads", 1, MAX_THREADS, 1),
    "cores": Quantity("cores", "cores", 1, MAX_THREADS),
    "seed": Quantity("seed", "seed", 0, MAX_SEED, 1),
}
# Those of workload `use`, which stands for a program and is never run, where they are others.
USE_QUANTITIES = {
    "owner_share": Quantity("owner's share, shared objects", "share"),
    "first_share": Quantity("owner's first share", "share"),
    "shared_objects": Quantity("objects that are shared", "share"),
    "acquisitions": Quantity("acquisitions, shared objects", "acquisitions"),
    "think": Quantity("work between sections", "cycles"),
}
AXIS_WORDS = {name: quantity.words for name, quantity in QUANTITIES.items()}
LATENCIES = tuple(name for name, quantity in QUANTITIES.items() if quantity.cost_of)
UNIT_WORDS = {"share": "%"}  # how a unit is written, where not by its own name
