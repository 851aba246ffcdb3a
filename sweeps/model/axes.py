"""The axes of a cell in one table, and further ones for searches. The fields of cells, columns of
runs, options of commands, keys of plans, tables and figures are made from it."""

from dataclasses import MISSING, dataclass, fields
from typing import Annotated, Any, get_args, get_type_hints

from sweeps.model import engines

MAX_THREADS = 128  # of a program (lockimpl: LOCK_MAX_THREADS)
MAX_LATENCY = 10_000_000  # cycles; the embedded engine's own bound
MAX_SEED = 2**32 - 1


@dataclass(frozen=True)
class Name:
    """An axis whose values are names. `help`: of its option. `known`: a shell's completions, in
    sweeps/cli/options.py."""

    help: str
    known: str = ""


@dataclass(frozen=True)
class Quantity:
    """An axis whose values are numbers. `words`: on a figure's axis. `unit`: of its values, as they
    are stored.

    An axis of a cell also has the bounds, both allowed, and its option's help; a workload's key has
    them in workloads.def. `set_to`: the words before its value in a setting. A latency that can be
    set has the operation that costs it, and the machine's figure whose place it takes ("": its full
    fence's).
    """

    words: str
    unit: str
    low: int = 0
    high: int = 0
    help: str = ""
    set_to: str = ""
    cost_of: str = ""
    figure: str = ""


def _latency(words: str, cost_of: str, figure: str, help: str) -> Quantity:
    set_to = f"{cost_of.removeprefix('full ')} set to"
    return Quantity(words, "cycles", 0, MAX_LATENCY, help, set_to, cost_of, figure)


def _count(name: str, help: str) -> Quantity:
    return Quantity(name, name, 1, MAX_THREADS, help)


_MEASURED = "is set to; `calibrate` measures it."
_MACHINE = "A machine's name (see `machines`) or file; default: generic, natively the host."
_ISA = "Instruction set: x86_64, ppc64le or aarch64; default: the flavour's or machine's."
_THREADS = "Threads; default: the fewest allowed, a core each unless --cores is given."
_CORES = "Cores that the threads share; default: a core each."
_CAS = _latency("CAS latency", "CAS", "cas_success", f"Cycles that an atomic {_MEASURED}")
_FENCE = _latency("full-fence latency", "full fence", "", f"Cycles that a full fence {_MEASURED}")
_CANCEL = _latency(
    "cost of a cancellation",
    "cancellation",
    "charge_stop_running",
    "Cycles that stopping a thread is set to.",
)
_MEMBARRIER = _latency(
    "cost of a process-wide barrier",
    "process-wide barrier",
    "charge_barrier",
    "Cycles that a process-wide barrier is set to, for its caller.",
)
_SEED = Quantity("seed", "seed", 0, MAX_SEED, "Seed of start offsets and random draws.")


@dataclass(frozen=True, kw_only=True)
class Axes:
    """The table: one line per axis, in the order of tables. A number that may be None may be
    left out: then it is as the machine has it."""

    engine: Annotated[str, Name("The engine.", "engines")] = engines.DEFAULT
    machine: Annotated[str, Name(_MACHINE, "machines")]
    isa: Annotated[str, Name(_ISA, "isas")]
    flavour: Annotated[str, Name("Atomic flavour; default: the ISA's first.", "flavours")]
    lock: Annotated[str, Name("A lock's name (see `locks`).", "locks")]
    variant: Annotated[str, Name("The lock's variant; default: its first.")] = ""
    fence: Annotated[str, Name("full, rmw, lock_add, store_forward or membarrier.", "fences")] = (
        "full"
    )
    workload: Annotated[str, Name("A workload's name.", "workloads")]
    threads: Annotated[int, _count("threads", _THREADS)] = 1
    cores: Annotated[int | None, _count("cores", _CORES)] = None
    cas_latency: Annotated[int | None, _CAS] = None
    fence_latency: Annotated[int | None, _FENCE] = None
    cancel_latency: Annotated[int | None, _CANCEL] = None
    membarrier_latency: Annotated[int | None, _MEMBARRIER] = None
    seed: Annotated[int, _SEED] = 1


@dataclass(frozen=True)
class Axis:
    """An axis by its name, with its kind of values. `optional`: it may be None. `default`: None
    where one must be given, too."""

    name: str
    values: Name | Quantity
    optional: bool
    default: int | str | None

    @property
    def quantity(self) -> Quantity | None:
        """Return the table's entry of a number; None for a name."""
        return self.values if isinstance(self.values, Quantity) else None


def _axis(name: str, default: Any, annotated: Any) -> Axis:
    kind, values = get_args(annotated)
    return Axis(name, values, kind == int | None, None if default is MISSING else default)


_TYPES = get_type_hints(Axes, include_extras=True)
AXES = tuple(_axis(field.name, field.default, _TYPES[field.name]) for field in fields(Axes))
_NUMBERS = {axis.name: axis.quantity for axis in AXES if axis.quantity}
MAY_BE_EMPTY = {axis.name for axis in AXES if axis.default == ""}
LATENCIES = tuple(name for name, quantity in _NUMBERS.items() if quantity.cost_of)
# Of axes and of the keys of workloads that searches go along, by name, in the order of tables.
QUANTITIES = {
    **{name: _NUMBERS[name] for name in LATENCIES},
    "owner_share": Quantity("owner's share", "share"),
    "run_length": Quantity("run length", "acquisitions"),
} | _NUMBERS
AXIS_WORDS = {name: quantity.words for name, quantity in QUANTITIES.items()}
UNIT_WORDS = {"share": "%"}  # how a unit is written, where not by its own name


def option(axis: str) -> str:
    return "--" + axis.replace("_", "-")
