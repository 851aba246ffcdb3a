"""SST as the memory system behind the core models of the embedded engine: QEMU with the plugin, as
an element of the user's own SST starts it. Cores at their nodes, the file that sst-configs/run.py
reads, the command of a run, and what litmus runs by it show."""

import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from results.errors import LockcrossError
from results.paths import WORK
from sweeps.engines import base
from sweeps.engines.base import Capabilities, Check, Limits, ProcessResult, RunOutcome
from sweeps.engines.qemu.engine import find_qemu, guest_command, plugin_options, plugin_version
from sweeps.engines.sst import output
from sweeps.engines.sst.find import SCRIPT, Sst, configs_digest, element, find_sst
from sweeps.model.axes import MAX_THREADS
from sweeps.model.cell import Cell
from sweeps.model.cells import digest
from sweeps.model.isa import ISAS
from sweeps.model.machine import MemorySystem, load_machine
from sweeps.programs import Builder, Program
from sweeps.support.tools import Probe, probed, run

# As the options of an engine label name it; "" is the order of the nodes, row by row.
NAMED = ("near", "far")

_AT = re.compile(r"at-(\d{1,4})")


def places(name: str, system: MemorySystem, cores: int) -> list[int]:
    """The node of each core. Core 0 is at node 0, a corner of a mesh.

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
    """Why cores cannot be placed so, or nothing."""
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
REPLACED = (
    "l2_size", "l2_ways", "lat_l2", "lat_memory", "lat_dirty", "lat_upgrade", "lat_invalidate",
    "warm",
)  # fmt: skip


def command(sst: Sst) -> list[str]:
    """The command that runs sst-configs/run.py on INPUT in the working directory."""
    return [sst.path, f"--add-lib-path={element(sst)}", str(SCRIPT), "--", INPUT]


def system_of(cell: Cell) -> MemorySystem:
    """The table [sst] of a cell's machine, which must have one."""
    system = load_machine(cell.machine).sst
    assert system is not None  # cells without are refused
    return system


def document(cell: Cell, place: list[int], binary: Path, limits: Limits) -> str:
    """The content of INPUT. `place`: the node of each core."""
    machine, system = load_machine(cell.machine), system_of(cell)
    options = {name: n for name, n in plugin_options(cell).items() if name not in REPLACED}
    options |= {"max_instructions": limits.instructions, "link": _DESCRIPTOR}
    job = {
        "clock_mhz": machine.clock_mhz.number,
        "line": machine.memory.number("line"),
        "cores": len(place),
        "lat_l1": machine.memory.number("lat_l1"),
        "l1_size": machine.memory.number("l1_size"),
        "l1_ways": machine.memory.number("l1_ways"),
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
    return json.dumps(job, indent=1)


# What litmus runs show ---------------------------------------------------------------------------

PROBES = WORK / "build" / "sst"  # of each SST
_TIME_S = 120.0
# Threads that count under a CAS lock, and threads that pass on a message by plain stores and loads:
# the programs verify themselves, and end only if every request is answered.
_TESTS: tuple[tuple[str, str, dict[str, int | str]], ...] = (
    ("threads", "cas_spin", {"iterations": 30, "critical": 0, "think": 0}),
    ("transfer", "null", {"iterations": 30, "op": "store"}),
)


@cache
def probe(sst: Sst, flavour: str) -> Probe:
    """Runs the litmus tests on one core and on two, or returns what is stored of them: by SST, the
    configuration, the plugin and the programs."""
    programs = [Program(workload, lock, "full", flavour) for workload, lock, _ in _TESTS]
    built = Builder().build(programs)
    binaries = [built[program] for program in programs]
    known = [element(sst).name, sst.version, configs_digest(), plugin_version()]
    key = digest([*known, *(binary.digest for binary in binaries)])
    isa = next(isa.name for isa in ISAS.values() if flavour in isa.flavours)
    limits = Limits(_TIME_S, 10_000_000)

    def failure(cell: Cell, binary: Path) -> str:
        """Why a run of a test fails, or nothing."""
        what = f"a litmus run of workload {cell.workload} with {cell.threads} threads"
        with tempfile.TemporaryDirectory(prefix="lockcross-") as folder:
            text = document(cell, list(range(cell.threads)), binary, limits)
            Path(folder, INPUT).write_text(text, encoding="utf-8")
            try:
                done = run(command(sst), _TIME_S, folder, {})
            except subprocess.TimeoutExpired:
                return f"{what} did not end in {_TIME_S:g} s"
            end = ProcessResult(done.returncode, done.stdout, done.stderr, "", 0.0)
            cause = output.read(cell, limits, end, Path(folder), {}).cause
            return cause and f"{what} fails: {cause}"

    def litmus(cores: int) -> str:
        for (workload, lock, parameters), binary in zip(_TESTS, binaries, strict=True):
            cell = Cell(
                engine="sst", machine="sst_bus", isa=isa, flavour=flavour, lock=lock,
                workload=workload, threads=cores, parameters=parameters,
            )  # fmt: skip
            if why := failure(cell, binary.path):
                return why
        return ""

    return probed(PROBES / f"{flavour}-{key[:16]}.json", litmus)


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
        """SST's version, digests of sst-configs/ and of the plugin. Compiles the element."""
        find_qemu(isa)
        sst = find_sst()
        element(sst)
        return f"SST {sst.version}, sst-configs {configs_digest()}, {plugin_version()}"

    def provenance(self, isa: str) -> str:
        """The version, and QEMU's."""
        return f"{self.version(isa)}, QEMU {find_qemu(isa).version}"

    def capabilities(self) -> Capabilities:
        """Every ISA, a simulated core a thread; machines say how many there is room for."""
        tables = (*Capabilities.tables, "sst")
        return Capabilities(
            tuple(ISAS), MAX_THREADS, shared_cores=True, tables=tables, unread=REPLACED
        )

    def refuses(self, cell: Cell) -> str:
        """Why it cannot answer a cell honestly, or nothing. Raises LockcrossError without SST."""
        system = load_machine(cell.machine).sst
        cores = _cores(cell)
        if system is None:
            return f"machine: {cell.machine}: it has no table [sst], which says what SST simulates"
        if cores > system.nodes:
            key = "threads" if cell.cores is None else "cores"
            return (
                f"{key}: {cores}: machine {cell.machine}, a {system.topology}, has room for "
                f"{system.nodes} cores"
            )
        if why := misplaced(self._place, system, cores):
            return f"engine: {cell.engine}: {why}"
        shown = probe(find_sst(), cell.flavour)
        if shown.alone:
            return f"flavour: {cell.flavour}: {shown.alone}"
        if cores > 1 and shown.together:
            return f"threads: {cell.threads}: {shown.together}"
        return ""

    def options(self, cell: Cell) -> dict[str, int | str]:
        """The plugin's options without its memory system, the table [sst], and where cores are."""
        own = {name: n for name, n in plugin_options(cell).items() if name not in REPLACED}
        return own | self._own(cell)

    def command(self, cell: Cell, binary: Path, limits: Limits) -> list[str]:
        return command(find_sst())

    def inputs(self, cell: Cell, binary: Path, limits: Limits) -> dict[str, str]:
        """What sst-configs/run.py reads."""
        return {INPUT: document(cell, self._places(cell), binary, limits)}

    def read(self, cell: Cell, limits: Limits, end: ProcessResult, folder: Path) -> RunOutcome:
        """What a run said, from SST's record, the guest's line, the plugin's report and SST's
        statistics."""
        replaced = [name for name in plugin_options(cell) if name in REPLACED]
        refused = {f"refused.{name}": _WHY for name in replaced}
        # By what the latencies that a cell sets are added.
        given = {
            "atomic": cell.cas_latency,
            "fence": cell.fence_latency,
            "charge": cell.cancel_latency,
        }
        added = {f"mechanism_{kind}": "plugin" for kind, n in given.items() if n is not None}
        resolved = self._own(cell) | added | refused
        return output.read(cell, limits, end, folder, resolved)

    def _places(self, cell: Cell) -> list[int]:
        return places(self._place, system_of(cell), _cores(cell))

    def _own(self, cell: Cell) -> dict[str, int | str]:
        """What a run is made of beside the plugin's options."""
        table = {f"sst_{name}": value for name, value in system_of(cell).settings().items()}
        return table | {"place": " ".join(map(str, self._places(cell)))}

    def mechanisms(self, isa: str) -> list[str]:
        """One: the plugin adds latencies itself, and this shows that it does so here too."""
        return [_LABEL]

    def doctor(self) -> list[Check]:
        """SST and its elements, our own element, and what the probe shows of each flavour."""

        def element_checks() -> Iterator[Check]:
            yield Check("element", True, f"compiled ({element(find_sst()).name})")
            for isa in ISAS.values():
                for flavour in isa.flavours:
                    shown = probe(find_sst(), flavour)
                    well = "atomics work across cores, messages arrive"
                    yield base.judged(f"{isa.name} {flavour}", shown, well)

        def checks() -> Iterator[Check]:
            sst = find_sst()
            libraries = "memHierarchy, merlin"
            yield Check("SST", True, f"{sst.version} ({sst.path}: {sst.why}; {libraries})")
            yield from base.unless_missing("element", element_checks())

        return list(base.unless_missing("SST", checks()))


make = SstEngine


def _cores(cell: Cell) -> int:
    return cell.cores or cell.threads
