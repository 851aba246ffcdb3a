"""Cells: one run each, and when two of them are the same."""

import hashlib
import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from sweeps.model import workloads
from sweeps.model.bounds import MAX_LATENCY, MAX_SEED
from sweeps.model.isa import ISAS, Isa
from sweeps.model.locks import Lock, load_locks
from sweeps.model.machine import load_machine
from sweeps.model.workloads import WORKLOADS
from sweeps.support.text import shown

# Variants without acquire and release orders (lock, variant), made for a uniprocessor.
UNORDERED = {("thin", "inline"), ("thin", "fn_call")}


@dataclass(frozen=True)
class Cell:
    """One run (docs/interfaces.md, section 7).

    `parameters` are the workload's keys. `cas`, `fence_latency` and `cancel` are cycles that
    take the place of the machine's atomics, full fence and stopping cost; None leaves them.
    `variant` is the lock's ("": its default); `cores` are shared by the threads (None: one each).
    """

    engine: str
    machine: str
    isa: str
    flavour: str
    lock: str
    fence: str
    workload: str
    parameters: Mapping[str, int | str]
    threads: int = 1
    cas: int | None = None
    fence_latency: int | None = None
    cancel: int | None = None
    seed: int = 1
    variant: str = ""
    cores: int | None = None

    def arguments(self) -> list[str]:
        """What the workload's program is told."""
        pairs = {**self.parameters, "threads": self.threads, "seed": self.seed}
        if self.cores is not None:
            pairs["cores"] = self.cores
        return [f"{key}={value}" for key, value in sorted(pairs.items())]

    def command(self) -> str:
        """The command line that repeats this run."""
        words = ["./lockcross", "run"]
        for option in (
            "engine", "machine", "isa", "flavour", "lock", "variant", "fence", "workload",
            "threads", "cores", "cas", "fence_latency", "cancel", "seed",
        ):  # fmt: skip
            value = getattr(self, option)
            if value not in (None, ""):
                words += ["--" + option.replace("_", "-"), str(value)]
        words += [f"{key}={value}" for key, value in sorted(self.parameters.items())]
        return shlex.join(words)


def digest(document: object) -> str:
    """SHA-256, in hex, of a document's canonical JSON."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def invalid_reason(cell: Cell) -> str:
    """What in a cell is no allowed value at all ("key: value: what is allowed"), or nothing."""
    for key, value, known in (
        ("isa", cell.isa, list(ISAS)),
        ("lock", cell.lock, list(load_locks())),
        ("workload", cell.workload, list(WORKLOADS)),
    ):
        if value not in known:
            return f"{key}: {shown(value)} is unknown; known are {', '.join(known)}"
    keys = WORKLOADS[cell.workload].keys
    for name, given in cell.parameters.items():
        if name not in keys:
            return (
                f"parameters.{name}: workload {cell.workload} has no such key; "
                f"allowed are {', '.join(keys)}"
            )
        if why := keys[name].invalid_reason(given):
            return f"parameters.{name}: {shown(given)}: {why}"
    if missing := [name for name in keys if name not in cell.parameters]:
        return f"parameters.{missing[0]}: missing; workload {cell.workload} must be told it"
    for key, number, low, high in (
        ("threads", cell.threads, 1, workloads.MAX_THREADS),
        ("cores", cell.cores, 1, workloads.MAX_THREADS),
        ("cas", cell.cas, 0, MAX_LATENCY),
        ("fence_latency", cell.fence_latency, 0, MAX_LATENCY),
        ("cancel", cell.cancel, 0, MAX_LATENCY),
        ("seed", cell.seed, 0, MAX_SEED),
    ):
        if number is not None and not low <= number <= high:
            return f"{key}: {shown(number)}: allowed is a whole number from {low} to {high}"
    return ""


def _lock_unsupported_reason(cell: Cell, isa: Isa, lock: Lock) -> str:
    """Why a lock cannot be had as a cell wants it ("key: value: reason"), or nothing."""
    if cell.fence not in lock.fence_kinds:
        kinds = ", ".join(lock.fence_kinds)
        return f"fence: {cell.fence}: lock {lock.name} is built with {kinds} only"
    if why := lock.variant_invalid_reason(cell.variant):
        return f"variant: {why}"
    if lock.threads and cell.threads > lock.threads:
        return f"threads: {cell.threads}: lock {lock.name} is for {lock.threads} at most"
    processors = cell.cores or cell.threads
    if (cell.lock, cell.variant) in UNORDERED and isa.weakly_ordered and processors > 1:
        return (
            f"threads: {cell.threads} on {cell.isa}: this variant has no acquire and release "
            f"orders, which {isa.title} needs on more than one processor"
        )
    return ""


def unsupported_reason(cell: Cell) -> str:
    """Why a cell of allowed values cannot be run ("key: value: reason"), or nothing."""
    isa, lock, machine = ISAS[cell.isa], load_locks()[cell.lock], load_machine(cell.machine)
    if cell.isa not in machine.isas:
        return f"isa: {cell.isa}: machine {cell.machine} is {', '.join(machine.isas)} only"
    if cell.flavour not in isa.flavours:
        return f"flavour: {cell.flavour}: {cell.isa} has {', '.join(isa.flavours)} only"
    if cell.fence in isa.refused_fence_kinds:
        return f"fence: {cell.fence} on {cell.isa}: {isa.refused_fence_kinds[cell.fence]}"
    if why := _lock_unsupported_reason(cell, isa, lock):
        return why
    if cell.cores is not None and cell.cores > cell.threads:
        return f"cores: {cell.cores}: allowed is a whole number from 1 to threads, {cell.threads}"
    if WORKLOADS[cell.workload].needs_cores and cell.cores is None:
        return (
            f"cores: none: workload {cell.workload} is for threads that share cores; say how many"
        )
    return workloads.unsupported_reason(cell.workload, cell.lock, cell.threads, cell.parameters)
