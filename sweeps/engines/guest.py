"""The one line that a workload prints, and further parts that are the same under every engine."""

import math
import signal
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Annotated, ParamSpec, TypeVar

from pydantic import BaseModel, Field, ValidationError

from sweeps.engines.base import MAX_OUTPUT, PhaseCounts, ProcessResult, RunOutcome
from sweeps.model.cell import Cell
from sweeps.model.locks import load_locks
from sweeps.model.workloads import WORKLOADS
from sweeps.support.text import quoted
from sweeps.support.toml import Document, explain, head

# The largest count: a float has it exactly, the store has room for its sum over cores.
_MOST = 2**53
Count = Annotated[int, Field(ge=0, le=_MOST)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z]\w{0,63}$")]
Counts = Annotated[dict[Name, Count], Field(max_length=1000)]
Metrics = dict[str, tuple[float, str]]  # name -> (value, unit)


class GuestLine(Document):
    """The line of the workload (interfaces, 4)."""

    workload: str
    lock: str
    isa: str
    flavour: str
    fence: str
    threads: Count
    pairs: Count
    ok: bool
    error: str
    ticks: Annotated[int, Field(ge=0, le=2**64 - 1)]
    cores: Count | None = None
    extra: Counts = {}


class BadRunError(Exception):
    """The run is invalid; the text says why."""


Model = TypeVar("Model", bound=BaseModel)
Arguments = ParamSpec("Arguments")


def parse(model: type[Model], text: bytes, what: str) -> Model:
    """Read a JSON document. Raises BadRunError."""
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        if error.errors()[0]["type"] == "json_invalid":
            raise BadRunError(f"{what} is not JSON") from None
        raise BadRunError(f"{what} does not match the schema: {explain(error, model)}") from None


def parse_file(model: type[Model], path: Path, what: str) -> Model:
    """Read a JSON document that a run has left. Raises BadRunError."""
    try:
        return parse(model, head(path, MAX_OUTPUT), what)
    except OSError:
        raise BadRunError(f"{what} is missing") from None


def text_of(path: Path) -> str:
    """Return the text that a run has left in a file; nothing where that is no plain file."""
    try:
        return head(path, MAX_OUTPUT).decode(errors="replace")
    except OSError:
        return ""


def outcome(read: Callable[Arguments, RunOutcome]) -> Callable[Arguments, RunOutcome]:
    """Wrap a function that reads a run: any fault it finds becomes the outcome's cause."""

    @wraps(read)
    def never_raises(*words: Arguments.args, **named: Arguments.kwargs) -> RunOutcome:
        try:
            return read(*words, **named)
        except BadRunError as bad:
            return RunOutcome(str(bad))

    return never_raises


def valid(
    cell: Cell,
    guest: "GuestLine",
    metrics: Metrics,
    resolved: Mapping[str, int | str],
    phases: Sequence[PhaseCounts] = (),
) -> RunOutcome:
    """Return the outcome of a run without fault, with the workload's report and the stand-ins for
    parts of the cell's lock in simulated time. Raises BadRunError as check_metrics."""
    units = WORKLOADS[guest.workload].metrics
    reported = metrics | {name: (value, units[name]) for name, value in guest.extra.items()}
    check_metrics(reported)
    stand_ins = load_locks()[cell.lock].stand_ins(cell.variant)
    return RunOutcome("", reported, {**resolved, **stand_ins}, phases)


def check_alive(end: ProcessResult, what: str = "", why: str = "") -> None:
    """Raise BadRunError for a process that hit a limit of time, or that a signal has killed."""
    if end.exceeded:
        raise BadRunError(end.exceeded)
    if end.code < 0:
        raise BadRunError(f"{what}killed by {signal_name(-end.code)}{why}")


Line = TypeVar("Line", bound=GuestLine)


def check_guest(cell: Cell, output: str, code: int) -> GuestLine:
    """Return the line of a run that verified itself. Raises BadRunError for any other."""
    return check_line(GuestLine, cell, output, code)


def check_line(model: type[Line], cell: Cell, output: str, code: int) -> Line:
    """Do as check_guest, for a program whose line says more."""
    guest = parse(model, output.encode(), "workload output")
    if not guest.ok:
        raise BadRunError(f"check failed: {guest.error or 'the workload did not say which'}")
    if code != 0:
        raise BadRunError(f"exit code {code}, although the workload reports success")
    for key in ("workload", "lock", "isa", "flavour", "fence", "threads", "cores"):
        if getattr(guest, key) != getattr(cell, key):
            raise BadRunError(
                f"workload output belongs to another run: {key} {quoted(getattr(guest, key))}, "
                f"not {getattr(cell, key)!r}"
            )
    if guest.extra.keys() != WORKLOADS[cell.workload].metrics.keys():
        raise BadRunError(f"workload output: reports {', '.join(guest.extra) or 'no metrics'}")
    if guest.pairs < 1:
        raise BadRunError("workload output: no pairs were measured")
    return guest


def check_metrics(metrics: Metrics) -> None:
    """Raise BadRunError where counts that are possible by themselves have no possible
    difference."""
    for name, (value, _) in metrics.items():
        if not math.isfinite(value) or value < 0:
            raise BadRunError(f"engine output: {name} is {value:g}")


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"


def cost(pairs: int, cycles: Sequence[float]) -> Metrics:
    """Return the cost of lock and unlock, from the cycles of each core (interfaces, 7)."""
    return {
        "cycles": (max(cycles), "cycles"),
        "core_cycles": (sum(cycles), "cycles"),
        "pairs": (pairs, "pairs"),
        "cycles_per_pair": (sum(cycles) / pairs, "cycles/pair"),
    }


def phase_times(marks: Iterable[tuple[int, float]], last: float) -> Metrics:
    """Return cycles of each phase, from its first core's entry to the first core's entry into the
    next, or the end. `marks`: phase and cycle of a core's entry."""
    begins: dict[int, float] = {}
    for phase, cycle in sorted(marks):  # of each phase its first core before the others
        begins.setdefault(phase, cycle)
    ends = [*begins.values(), last][1:]
    return {
        f"phase_{phase}_cycles": (end - begin, "cycles")
        for (phase, begin), end in zip(begins.items(), ends, strict=True)
    }
