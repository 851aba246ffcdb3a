"""Cells: the choices for one run, which are valid and supported, and when two of them are the
same. Plans, the columns of runs, queries and comparisons are made from a cell's axes."""

import hashlib
import json
import shlex
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from results.errors import known_words
from sweeps.model import workloads
from sweeps.model.axes import AXES, Axes, option
from sweeps.model.isa import FLAVOURS, ISAS, Isa, isa_of
from sweeps.model.locks import FENCE_KINDS, Lock, LockLabel, Trait, load_locks
from sweeps.model.machine import isas_of, load_machine
from sweeps.model.workloads import WORKLOADS, Value
from sweeps.support.text import quoted


@dataclass(frozen=True, kw_only=True)
class Cell(Axes):
    """One run: a value for each axis, and the workload's keys. `variant`: "" is the lock's first.
    `cores` are shared by the threads (None: a core each). Latencies are cycles that take the place
    of the machine's figures; None leaves them."""

    parameters: Mapping[str, int | float | str] = field(hash=False)

    @property
    def label(self) -> LockLabel:
        return LockLabel.of(self.lock, self.variant, self.fence)

    def setting(self, own: Collection[str] = ()) -> "Cell":
        """Return the cell without engine and lock: the common part of the runs of a comparison.
        `own`: further axes that it leaves open."""
        free: dict[str, Any] = {"engine": "", "lock": "", "variant": "", "fence": ""}
        return cell_of(self, **free | dict.fromkeys(own))


NO_LOCK = "nop"  # of a cell whose lock is still to be named


def usual(
    machine: str, flavour: str, workload: str, given: Mapping[str, Value], **axes: Any
) -> Cell:
    """Make a cell in a flavour, which names the ISA: with defaults for the workload's other keys,
    and without a lock if none is given."""
    named = {"machine": machine, "isa": isa_of(flavour), "flavour": flavour, "lock": NO_LOCK}
    parameters = workloads.with_defaults(workload, given)
    return Cell(**named | axes, workload=workload, parameters=parameters)


def isa_and_flavour(machine: str, isa: str, flavour: str) -> tuple[str, str]:
    """Return an ISA and its flavour, worked out where they are empty: the ISA that has the flavour,
    else the machine's first; the ISA's first flavour. Raises LockcrossError."""
    isa = isa or (isa_of(flavour) if flavour in FLAVOURS else isas_of(machine)[0])
    return isa, flavour or (ISAS[isa].flavours[0] if isa in ISAS else "")


COLUMNS = (*(axis.name for axis in AXES), "parameters")  # of a cell in the table runs


def cell_of(cell: Cell, **changes: Any) -> Cell:
    """Return only the cell of an object that may have more fields (a run's record), with
    changes."""
    return Cell(**{name: getattr(cell, name) for name in COLUMNS} | changes)


def read_cell(row: Sequence[Any]) -> Cell:
    """Make a cell from the values of COLUMNS in the table runs."""
    values = dict(zip(COLUMNS, row, strict=True))
    return Cell(**values | {"parameters": json.loads(values["parameters"])})


def values(cell: Cell) -> dict[str, int | float | str | None]:
    """Return the values of a cell by name: the axes, then the workload's keys. A key with the name
    of an axis is `parameters.NAME`."""
    axes = {axis.name: getattr(cell, axis.name) for axis in AXES}
    keys = {
        f"parameters.{key}" if key in axes else key: value for key, value in cell.parameters.items()
    }
    return axes | keys


def selected(connection: sqlite3.Connection) -> str:
    """Return COLUMNS as SQL selects them from the table runs. A table from before there was an axis
    has the axis's default, under its name."""
    stored = {row[1] for row in connection.execute("PRAGMA table_info(runs)")}
    sql = dict.fromkeys(COLUMNS, "runs.{}")
    for axis in (axis for axis in AXES if axis.name not in stored):
        sql[axis.name] = "NULL AS {}" if axis.default is None else f"{axis.default!r} AS {{}}"
    return ", ".join(text.format(name) for name, text in sql.items())


def arguments(cell: Cell) -> list[str]:
    keys = workloads.in_program(cell.workload, cell.parameters)
    pairs = {**keys, "threads": cell.threads, "seed": cell.seed}
    if cell.cores is not None:
        pairs["cores"] = cell.cores
    if load_locks()[cell.lock].reads_time(cell.variant):
        pairs["clock_mhz"] = load_machine(cell.machine).clock_mhz.number
    return [f"{key}={value}" for key, value in sorted(pairs.items())]


def command(cell: Cell) -> str:
    """Return the command line that repeats a run."""
    words = ["./lockcross", "run"]
    for axis in AXES:
        value = getattr(cell, axis.name)
        if value not in (None, ""):
            words += [option(axis.name), str(value)]
    words += [f"{key}={as_written(value)}" for key, value in sorted(cell.parameters.items())]
    return shlex.join(words)


def as_written(value: Value) -> Value:
    """Return a key's value as people write it: a share of 1, or of 0, has no point."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


_LATER = ("membarrier_latency",)  # axes that runs were stored before


def distinguishing(cell: Cell) -> dict[str, object]:
    """Return the values that tell a cell from others: all, except unset axes that came later. So
    earlier runs keep their identity."""
    return {name: n for name, n in vars(cell).items() if name not in _LATER or n is not None}


def digest(document: object) -> str:
    """Return the SHA-256, in hex, of a document's canonical JSON."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def invalid_reason(cell: Cell) -> str:
    """Say which value of a cell is not allowed ("key: value: the allowed ones"); "" where none."""
    for key, value, known in (
        ("isa", cell.isa, list(ISAS)),
        ("lock", cell.lock, list(load_locks())),
        ("fence", cell.fence, list(FENCE_KINDS)),
        ("workload", cell.workload, list(WORKLOADS)),
    ):
        if value not in known:
            return f"{key}: {quoted(value)} is unknown; {known_words(value, known)}"
    keys = WORKLOADS[cell.workload].keys
    for name, number in cell.parameters.items():
        if name not in keys:
            return (
                f"parameters.{name}: workload {cell.workload} has no such key; "
                f"allowed are {', '.join(keys)}"
            )
        if why := keys[name].invalid_reason(number):
            return f"parameters.{name}: {quoted(number)}: {why}"
    if missing := [name for name in keys if name not in cell.parameters]:
        return f"parameters.{missing[0]}: missing; workload {cell.workload} needs it"
    for axis in AXES:
        number, allowed = getattr(cell, axis.name), axis.quantity
        if allowed and number is not None and not allowed.low <= number <= allowed.high:
            bounds = f"from {allowed.low} to {allowed.high}"
            return f"{axis.name}: {quoted(number)}: allowed is a whole number {bounds}"
    return ""


def _lock_unsupported_reason(cell: Cell, isa: Isa, lock: Lock) -> str:
    """Say why a lock cannot be built or used so ("key: value: reason"); "" where it can."""
    if cell.fence not in lock.fence_kinds:
        kinds = ", ".join(lock.fence_kinds)
        return f"fence: {cell.fence}: lock {lock.name} is built with {kinds} only"
    if why := lock.variant_invalid_reason(cell.variant):
        return f"variant: {why}"
    if lock.threads and cell.threads > lock.threads:
        return f"threads: {cell.threads}: lock {lock.name} allows {lock.threads} at most"
    processors = cell.cores or cell.threads
    if lock.has(Trait.UNORDERED, cell.variant) and isa.weakly_ordered and processors > 1:
        return (
            f"threads: {cell.threads} on {cell.isa}: this variant has no acquire and release "
            f"ordering, which {isa.title} needs on more than one processor"
        )
    return ""


def unsupported_reason(cell: Cell) -> str:
    """Say why a cell of allowed values cannot be run ("key: value: reason"); "" where it can."""
    isa, lock, isas = ISAS[cell.isa], load_locks()[cell.lock], isas_of(cell.machine)
    if cell.isa not in isas:
        return f"isa: {cell.isa}: machine {cell.machine} is {', '.join(isas)} only"
    if cell.flavour not in isa.flavours:
        return f"flavour: {cell.flavour}: {cell.isa} has {', '.join(isa.flavours)} only"
    if cell.fence in isa.refused_fence_kinds:
        return f"fence: {cell.fence} on {cell.isa}: {isa.refused_fence_kinds[cell.fence]}"
    if why := _lock_unsupported_reason(cell, isa, lock):
        return why
    if cell.cores is not None and cell.cores > cell.threads:
        return f"cores: {cell.cores}: allowed is a whole number from 1 to threads, {cell.threads}"
    return workloads.unsupported_reason(
        cell.workload, cell.lock, cell.threads, cell.cores, cell.parameters
    )
