"""The one line that a workload prints, and what else is the same under every engine."""

import math
import signal
from typing import Annotated, TypeVar

from pydantic import BaseModel, Field, ValidationError

from sweeps.model.cell import Cell
from sweeps.model.locks import load_locks
from sweeps.model.workloads import WORKLOADS
from sweeps.support.text import shown
from sweeps.support.toml import Document, explain

_MOST = (
    2**53
)  # the largest count: a float has it exactly, the store has room for its sum over cores
Count = Annotated[int, Field(ge=0, le=_MOST)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z]\w{0,63}$")]
Counts = Annotated[dict[Name, Count], Field(max_length=100)]
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


def parse(model: type[Model], text: bytes, what: str) -> Model:
    """Reads a JSON document. Raises BadRunError."""
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        if error.errors()[0]["type"] == "json_invalid":
            raise BadRunError(f"{what} is not JSON") from None
        raise BadRunError(f"{what} does not match the schema: {explain(error, model)}") from None


Line = TypeVar("Line", bound=GuestLine)


def check_guest(cell: Cell, output: str, code: int) -> GuestLine:
    """The line of a run that verified itself. Raises BadRunError for any other."""
    return check_line(GuestLine, cell, output, code)


def check_line(model: type[Line], cell: Cell, output: str, code: int) -> Line:
    """As check_guest, for a program whose line says more."""
    guest = parse(model, output.encode(), "workload output")
    if not guest.ok:
        raise BadRunError(f"check failed: {guest.error or 'the workload did not say which'}")
    if code != 0:
        raise BadRunError(f"exit code {code}, although the workload reports success")
    for key in ("workload", "lock", "isa", "flavour", "fence", "threads", "cores"):
        if getattr(guest, key) != getattr(cell, key):
            raise BadRunError(
                f"workload output belongs to another run: {key} {shown(getattr(guest, key))}, "
                f"not {getattr(cell, key)!r}"
            )
    if guest.extra.keys() != WORKLOADS[cell.workload].metrics.keys():
        raise BadRunError(f"workload output: reports {', '.join(guest.extra) or 'no metrics'}")
    if guest.pairs < 1:
        raise BadRunError("workload output: no pairs were measured")
    return guest


def own_metrics(guest: GuestLine) -> Metrics:
    """What the workload itself reports beside the pairs: name -> (value, unit)."""
    units = WORKLOADS[guest.workload].metrics
    return {name: (value, units[name]) for name, value in guest.extra.items()}


def check_metrics(metrics: Metrics) -> None:
    """Raises BadRunError for metrics that no run can have: each count may be possible by itself,
    but not their difference."""
    for name, (value, _) in metrics.items():
        if not math.isfinite(value) or value < 0:
            raise BadRunError(f"engine output: {name} is {value:g}")


def signal_name(number: int) -> str:
    """A signal's name, where it has one."""
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"


def stand_ins(cell: Cell) -> dict[str, int | str]:
    """What stands in for parts of the cell's lock in simulated time: for the resolved options."""
    return load_locks()[cell.lock].stand_ins(cell.variant)
