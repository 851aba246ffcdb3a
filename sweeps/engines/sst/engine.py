"""SST as the memory system behind the core models of the embedded engine: QEMU with the plugin, as
an element of the user's own SST starts it. Cores at their nodes, the file that sst-configs/run.py
reads, the command of a run, and the results of its litmus runs."""

import json
import re
import subprocess
import tempfile
import time
from dataclasses import replace
from functools import cache
from pathlib import Path

from results.errors import LockcrossError
from results.paths import WORK
from sweeps.engines import base
from sweeps.engines.base import Capabilities, Limits, PartCheck, ProcessResult, RunOutcome
from sweeps.engines.qemu.engine import (
    find_qemu,
    guest_command,
    no_barrier,
    plugin_options,
    plugin_version,
)
from sweeps.engines.sst import output
from sweeps.engines.sst.find import NEEDED, SCRIPT, Sst, configs_digest, element, find_sst
from sweeps.model.axes import MAX_THREADS
from sweeps.model.cell import Cell, digest, usual
from sweeps.model.isa import ISAS
from sweeps.model.machine import MemorySystem, load_machine
from sweeps.programs import TARGETS, Builder, Program
from sweeps.support.tools import Probe, probed, run

# As the options of an engine label name it; "" is the order of the nodes, row by row.
NAMED = ("near", "far")

_AT = re.compile(r"at-(\d{1,4})")


def places(name: str, system: MemorySystem, cores: int) -> list[int]:
    """Return the node of each core. Core 0 is at node 0, a corner of a mesh.

    near, far: the others as near to it, or as far from it, as there is room. at-N: core 1 at node
    N, the others row by row. Nodes of one distance are taken by number.
    """
    others = list(range(1, system.nodes))
    if at := _AT.fullmatch(name):
        chosen = int(at[1])
        others = [chosen, *(node for node in others if node != chosen)]
    elif name:
        sign = 1 if name == "near" else -1
        others.sort(key=lambda node: (sign * system.links(0, node), node))
    return [0, *others][:cores]


def misplaced(name: str, system: MemorySystem, cores: int) -> str:
    """Return why cores cannot be placed so, or nothing."""
    if not name:
        return ""
    if system.topology == "bus":
        return f"{name}: on a bus all cores are as near"
    if (at := _AT.fullmatch(name)) and not 0 < int(at[1]) < system.nodes:
        return f"{name}: allowed is a node from 1 to {system.nodes - 1}"
    return f"{name}: one core has nothing to be {name} of" if cores == 1 else ""


INPUT = "sst.json"

_DESCRIPTOR = "@FD@"  # the element puts the number of the shared region's descriptor there

_OLDEST_REQUEST = 10_000_000  # cycles that a request may take until the run counts as hung

# What only the plugin's own memory system needs.
REPLACED = tuple(
    "l2_size l2_ways lat_l2 lat_memory lat_dirty lat_upgrade lat_invalidate cluster lat_dirty_far "
    "lat_upgrade_far lat_far_atomic far_atomic_every warm".split()
)


def _plugin_options(cell: Cell) -> dict[str, int | str]:
    return {name: n for name, n in plugin_options(cell).items() if name not in REPLACED}


def system_of(cell: Cell) -> MemorySystem:
    """Return the table [sst] of a cell's machine, which must have one."""
    system = load_machine(cell.machine).sst
    assert system is not None  # cells without are refused
    return system


PROBES = WORK / "build" / "sst"  # of each SST
_TIME_S = 120.0
# Threads that count under a CAS lock, and threads that pass on a message by plain stores and loads:
# the programs verify themselves, and end only if every request is answered.
_TESTS: tuple[tuple[str, str, dict[str, int | str]], ...] = (
    ("threads", "cas_spin", {"iterations": 30, "critical": 0, "think": 0}),
    ("transfer", "nop", {"iterations": 30, "op": "store"}),
)


@cache
def probe(sst: Sst, flavour: str) -> Probe:
    """Run the litmus tests on one core and on two, or return their stored results: by SST, the
    configuration, the plugin and the programs."""
    cells = [
        usual("sst_bus", flavour, workload, parameters, engine="sst", lock=lock)
        for workload, lock, parameters in _TESTS
    ]
    programs = [Program.of(cell) for cell in cells]
    built = Builder().build(programs)
    binaries = [built[program] for program in programs]
    known = [element(sst).name, sst.version, configs_digest(), plugin_version()]
    key = digest([*known, *(binary.digest for binary in binaries)])

    def litmus(cores: int) -> str:
        for cell, binary in zip(cells, binaries, strict=True):
            what = f"a litmus run of workload {cell.workload} with {cores} threads"
            test = replace(cell, threads=cores)
            try:
                outcome = _run_once(test, binary.path, Limits(_TIME_S, 10_000_000))
            except subprocess.TimeoutExpired:
                return f"{what} did not end in {_TIME_S:g} s"
            if outcome.cause:
                return f"{what} fails: {outcome.cause}"
        return ""

    return probed(PROBES / f"{flavour}-{key[:16]}.json", litmus)


def _run_once(cell: Cell, binary: Path, limits: Limits) -> RunOutcome:
    """Run a cell by itself and read its output. Raises subprocess.TimeoutExpired."""
    engine = SstEngine(cell.engine)
    with tempfile.TemporaryDirectory(prefix="lockcross-") as folder:
        for name, content in engine.inputs(cell, binary, limits).items():
            Path(folder, name).write_text(content, encoding="utf-8")
        began = time.perf_counter()
        done = run(engine.command(cell, binary, limits), limits.time_s or None, folder, {})
        seconds = time.perf_counter() - began
        end = ProcessResult(done.returncode, done.stdout, done.stderr, "", seconds)
        return engine.read(cell, limits, end, Path(folder))


_LABEL = "sst"
_WHY = "the memory system is SST's, which [sst] describes"


class SstEngine(base.Engine):
    """Runs cells under SST; `sst[/<place>]`, where the place says which core is at which node.

    Raises LockcrossError (exit code 2) for a label that names none.
    """

    time_limit_s = 1800.0

    def __init__(self, label: str) -> None:
        family, *options = label.split("/")
        if family != _LABEL or len(options) > 1 or "" in options:
            raise LockcrossError(f"engine {label!r} is unknown; known is {_LABEL}[/PLACE]")
        self._place = options[0] if options else ""
        if self._place not in ("", *NAMED) and not _AT.fullmatch(self._place):
            raise LockcrossError(
                f"engine {label!r}: {self._place!r} is unknown; allowed are {', '.join(NAMED)} and "
                "at-N"
            )

    def version(self, isa: str) -> str:
        """Return SST's version, digests of sst-configs/ and of the plugin. Compiles the element."""
        find_qemu(isa)
        sst = find_sst()
        element(sst)
        return f"SST {sst.version}, sst-configs {configs_digest()}, {plugin_version()}"

    def provenance(self, isa: str) -> str:
        return f"{self.version(isa)}, QEMU {find_qemu(isa).version}"

    def capabilities(self) -> Capabilities:
        tables = (*Capabilities.tables, "sst")
        return Capabilities(
            tuple(ISAS), MAX_THREADS, shared_cores=True, tables=tables, unread=REPLACED
        )

    def refuses(self, cell: Cell) -> str:
        """Return why a cell cannot be answered honestly, or nothing. Raises LockcrossError."""
        machine, cores = load_machine(cell.machine), cell.cores or cell.threads
        system = machine.sst
        if system is None:
            return f"machine: {cell.machine}: it has no table [sst], which says what SST simulates"
        if machine.runs_far(cell.isa):
            return f"machine: {cell.machine}: its atomics may run far, and SST runs all in the core"
        if cores > system.nodes:
            key = "threads" if cell.cores is None else "cores"
            return (
                f"{key}: {cores}: machine {cell.machine}, a {system.topology}, has room for "
                f"{system.nodes} cores"
            )
        if why := no_barrier(cell):
            return why
        if why := misplaced(self._place, system, cores):
            return f"engine: {cell.engine}: {why}"
        shown = probe(find_sst(), cell.flavour)
        if shown.alone:
            return f"flavour: {cell.flavour}: {shown.alone}"
        together = cores > 1 and shown.together
        return f"threads: {cell.threads}: {together}" if together else ""

    def options(self, cell: Cell) -> dict[str, int | str]:
        """Return the plugin's options without its memory system, [sst], and where cores are."""
        return _plugin_options(cell) | self._options(cell)

    def command(self, cell: Cell, binary: Path, limits: Limits) -> list[str]:
        sst = find_sst()
        return [sst.path, f"--add-lib-path={element(sst)}", str(SCRIPT), "--", INPUT]

    def inputs(self, cell: Cell, binary: Path, limits: Limits) -> dict[str, str]:
        machine, system = load_machine(cell.machine), system_of(cell)
        options = _plugin_options(cell)
        options |= {"max_instructions": limits.instructions, "link": _DESCRIPTOR}
        place = self._places(cell)
        l1 = ("line", "lat_l1", "l1_size", "l1_ways")
        job = {
            "clock_mhz": machine.clock_mhz.number,
            "cores": len(place),
            **{name: machine.memory.number(name) for name in l1},
            "sst": system.settings(),
            "guest": guest_command(cell, binary, options),
            "guest_stdout": output.GUEST_OUT,
            "guest_stderr": output.GUEST_ERR,
            "statistics": output.STATISTICS,
            "record": output.RECORD,
            "oldest_request": _OLDEST_REQUEST,
        }
        if system.topology != "bus":
            job["place"] = place
        return {INPUT: json.dumps(job, indent=1)}

    def read(self, cell: Cell, limits: Limits, end: ProcessResult, folder: Path) -> RunOutcome:
        refused = {f"refused.{name}": _WHY for name in plugin_options(cell) if name in REPLACED}
        # By what the latencies that a cell sets are added.
        latencies = {
            "atomic": cell.cas_latency,
            "fence": cell.fence_latency,
            "charge": cell.cancel_latency,
            "barrier": cell.membarrier_latency,
        }
        added = {f"mechanism_{kind}": "plugin" for kind, n in latencies.items() if n is not None}
        resolved = self._options(cell) | added | refused
        return output.read(cell, limits, end, folder, resolved)

    def _places(self, cell: Cell) -> list[int]:
        return places(self._place, system_of(cell), cell.cores or cell.threads)

    def _options(self, cell: Cell) -> dict[str, int | str]:
        table = {f"sst_{name}": value for name, value in system_of(cell).settings().items()}
        return table | {"place": " ".join(map(str, self._places(cell)))}

    def doctor(self) -> list[PartCheck]:
        checks: list[PartCheck] = []
        with base.noting(checks, "SST"):
            sst = find_sst()
            known = f"{sst.version} ({sst.path}: {sst.why}; {', '.join(NEEDED)})"
            checks.append(PartCheck("SST", True, known))
            with base.noting(checks, "element"):
                checks.append(PartCheck("element", True, f"compiled ({element(sst).name})"))
                for flavour, target in TARGETS.items():
                    shown, well = probe(sst, flavour), "atomics work across cores, messages arrive"
                    checks.append(base.judged(f"{target.isa} {flavour}", shown, well))
        return checks


make = SstEngine
