"""The engine of silicon: programs run on the host itself."""

import hashlib
import json
import os
import sys
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from types import ModuleType

from results.errors import LockcrossError
from results.paths import WORK
from sweeps.engines import base
from sweeps.engines.base import Capabilities, Limits, PartCheck, ProcessResult, RunOutcome
from sweeps.engines.native import host, sample
from sweeps.engines.native import output as native_output
from sweeps.model.cell import Cell, arguments
from sweeps.model.isa import ISAS, host_isa
from sweeps.model.machine import HOST, machine_names, machines_like, machines_of
from sweeps.model.workloads import WORKLOADS
from sweeps.programs import Program

_LABEL = "native"
_LOCK = WORK / "build" / "native.lock"
_LONGER = 2  # times the cell's own length
_COUNTS = "footprint"  # the workload that is counted, not timed
_CHARGES = ("stop", "park", "unpark", "wake")
_NEEDS = {"lse": "atomics"}  # flavour -> what the kernel calls the feature


@cache
def _capabilities(isa: str, kind: str, cpus: int, machines: tuple[str, ...]) -> Capabilities:
    """Return what a host of this kind can run. `machines`: the files that its answer rests on, so
    that another one is asked about anew."""
    measured, advice = machines_of(kind), "`./lockcross measure NAME` describes this very host"
    # Machines measured on this kind of processor, then those that name it, or the nearest.
    like = {name: f"host: {name}, measured on {kind}; {advice}" for name in measured}
    describe = [*measured]
    for name, all_of_it in machines_like(kind):
        near = f"{name}, which is of {kind}" if all_of_it else f"nearest to {kind} is {name}"
        like[name] = f"host: {near}; {advice}"
        describe += [name] * all_of_it
    return Capabilities(
        tuple(known for known in ISAS if known == isa),
        cpus,
        shared_cores=True,
        latencies=(),
        host_machines=(*describe, HOST),
        like_host=like,
        tables=(),
    )


class NativeEngine(base.Engine):
    """Runs cells on the host, each thread bound to a CPU of its own."""

    time_limit_s = 60.0

    def version(self, isa: str) -> str:
        """Return the host, and a digest of how samples are taken.

        Raises LockcrossError for an ISA that is not the host's.
        """
        if isa != host_isa():
            raise LockcrossError(
                f"isa: {isa}: engine native runs programs of this host only, which is {host_isa()}"
            )
        method = hashlib.sha256(Path(sample.__file__).read_bytes()).hexdigest()[:12]
        return f"native {method}: {host.identity()}"

    def capabilities(self) -> Capabilities:
        # Asked of every cell of a plan, and most of it is in files.
        cpus = len(os.sched_getaffinity(0))
        return _capabilities(host_isa(), host.processor(), cpus, tuple(machine_names()))

    def refuses(self, cell: Cell) -> str:
        need = _NEEDS.get(cell.flavour, "")
        if need and need not in host.features():
            return f"flavour: {cell.flavour}: this processor does not have it"
        if cell.workload == _COUNTS:
            return f"workload: {_COUNTS}: its paths are counted, and the host counts nothing"
        if cell.workload == "calibrate" and cell.parameters.get("op") in _CHARGES:
            return (
                f"parameters.op: {cell.parameters['op']}: the host charges nothing; what the "
                "system takes is measured by ./lockcross measure"
            )
        return host.no_clock()

    def options(self, cell: Cell) -> dict[str, int | str]:
        """Return the resolved options of a cell: its machine is the host, its seed the number of
        the repeat. Two lengths where the workload has a length."""
        lengths = {f"length_{i}": n for i, n in enumerate(_lengths(cell))}
        return {"machine": cell.machine, "repeat": cell.seed, "cpus": _cpus(cell), **lengths}

    def program(self, cell: Cell) -> Program:
        return replace(Program.of(cell), host=True)

    def command(self, cell: Cell, binary: Path, limits: Limits) -> list[str]:
        """Return the sampler, which runs the program in one length or two."""
        key = WORKLOADS[cell.workload].length
        cells = [replace(cell, parameters={**cell.parameters, key: n}) for n in _lengths(cell)]
        cpus = f"cpus={_cpus(cell)}"
        commands = [[str(binary), *arguments(each), cpus] for each in cells or [cell]]
        job = asdict(sample.Job(commands, str(_LOCK)))
        return [sys.executable, "-I", str(Path(sample.__file__)), json.dumps(job)]

    def read(self, cell: Cell, limits: Limits, end: ProcessResult, folder: Path) -> RunOutcome:
        return native_output.read(cell, end, folder)

    def measurer(self) -> ModuleType:
        from sweeps.engines.native import measure

        return measure

    def doctor(self) -> list[PartCheck]:
        why = host.no_clock()
        if host_isa() not in ISAS:
            why = f"this host is {host_isa()}; known are {', '.join(ISAS)}"
        if why:
            return [PartCheck("native", False, why, optional=True)]
        cpus = ", ".join(str(cpu.number) for cpu in host.cpus())
        return [PartCheck("native", True, f"{host.identity()}; CPUs in the order of use: {cpus}")]


def make(label: str) -> NativeEngine:
    if label != _LABEL:
        raise LockcrossError(f"engine {label!r} is unknown; known is {_LABEL}")
    return NativeEngine()


def _cpus(cell: Cell) -> str:
    return ",".join(str(cpu.number) for cpu in host.cpus()[: cell.cores or cell.threads])


def _lengths(cell: Cell) -> list[int]:
    """Return the two lengths of a cell, none where its workload has no length."""
    key = WORKLOADS[cell.workload].length
    length = int(cell.parameters[key]) if key else 0
    return [length, _LONGER * length] if key else []
