"""The command of a run, its cores at their nodes, the file that sst-configs/run.py reads, and what
litmus runs show of an SST."""

import json
import re
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from results.errors import LockcrossError
from results.paths import WORK
from sweeps.engines.base import Limits, ProcessResult
from sweeps.engines.qemu.engine import guest_command, plugin_options, plugin_version
from sweeps.engines.sst import output
from sweeps.engines.sst.find import SCRIPT, Sst, configs_digest, element
from sweeps.model.cell import Cell
from sweeps.model.cells import digest
from sweeps.model.isa import ISAS
from sweeps.model.machine import MemorySystem, load_machine
from sweeps.programs import Builder, Program
from sweeps.support.tools import Probe, probed, run

# As the options of an engine label name it; "" is the order of the nodes, row by row.
NAMED = ("near", "far")

_AT = re.compile(r"at-(\d{1,4})")


def check(name: str, label: str) -> None:
    """Raises LockcrossError (2) for an option of an engine label that places no cores."""
    if name not in ("", *NAMED) and not _AT.fullmatch(name):
        raise LockcrossError(
            f"engine {label!r}: {name!r} is unknown; allowed are {', '.join(NAMED)} and at-N"
        )


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
_REPLACED = (
    "l2_size", "l2_ways", "lat_l2", "lat_memory", "lat_dirty", "lat_upgrade", "lat_invalidate",
    "warm",
)  # fmt: skip


def command(sst: Sst) -> list[str]:
    """The command that runs sst-configs/run.py on INPUT in the working directory."""
    return [sst.path, f"--add-lib-path={element(sst)}", str(SCRIPT), "--", INPUT]


def own_options(cell: Cell) -> dict[str, int | str]:
    """The plugin's options for a cell, without those of its own memory system."""
    return {name: n for name, n in plugin_options(cell).items() if name not in _REPLACED}


def refused_figures(cell: Cell) -> list[str]:
    """The machine's figures that SST takes the place of."""
    return [name for name in plugin_options(cell) if name in _REPLACED]


def system_of(cell: Cell) -> MemorySystem:
    """The table [sst] of a cell's machine, which must have one."""
    system = load_machine(cell.machine).sst
    assert system is not None  # cells without are refused
    return system


def document(cell: Cell, place: list[int], binary: Path, limits: Limits) -> str:
    """The content of INPUT. `place`: the node of each core."""
    machine, system = load_machine(cell.machine), system_of(cell)
    options = own_options(cell) | {"max_instructions": limits.instructions, "link": _DESCRIPTOR}
    found = {
        "clock_mhz": machine.clock_mhz.number,
        "line": machine.memory.line.number,
        "cores": len(place),
        "lat_l1": machine.memory.lat_l1.number,
        "l1_size": machine.memory.l1_size.number,
        "l1_ways": machine.memory.l1_ways.number,
        "sst": system.settings(),
        "guest": guest_command(cell, binary, options),
        "guest_stdout": output.GUEST_OUT,
        "guest_stderr": output.GUEST_ERR,
        "statistics": output.STATISTICS,
        "record": output.RECORD,
        "oldest_request": _OLDEST_REQUEST,
    }
    if system.topology != "bus":
        found["place"] = place
    return json.dumps(found, indent=1)


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
