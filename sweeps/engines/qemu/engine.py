"""The embedded engine: QEMU's user mode with the plugin of qemu-timing/."""

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from results.errors import LockcrossError, check_known
from sweeps.engines import base
from sweeps.engines.base import Capabilities, Limits, PartCheck, ProcessResult, Request, RunOutcome
from sweeps.engines.qemu import output as qemu_output
from sweeps.model.cell import Cell, arguments
from sweeps.model.isa import ISAS
from sweeps.model.locks import MEMBARRIER
from sweeps.model.machine import ATOMICS, STOPS, load_machine
from sweeps.programs import Program
from sweeps.support.paths import ENGINE_PLUGIN, ENGINE_SOURCES
from sweeps.support.tools import Tool


@dataclass(frozen=True)
class Qemu:
    """One QEMU for an ISA: its path, its version, and why it is used and not another."""

    path: str
    version: str
    why: str


@cache
def find_qemu(isa: str) -> Qemu:
    """Return an ISA's QEMU, which loads plugins. Raises LockcrossError (1), with the remedy."""
    program = f"qemu-{isa}"
    folder = os.environ.get("LOCKCROSS_QEMU")
    path = shutil.which(str(Path(folder, program)) if folder else program)
    if path is None:
        where = f"not in LOCKCROSS_QEMU={folder}" if folder else "missing"
        raise LockcrossError(f"{program} is {where}; ./lockcross finds or builds one", 1)
    tool = Tool(program, (program,))
    if "-plugin" not in tool.ask(path, "--help").stdout:
        lack = f"{program} ({path}) was built without plugins, which the engine needs"
        advice = "./lockcross finds or builds another, unless LOCKCROSS_QEMU names this one"
        raise LockcrossError(f"{lack}; {advice}", 1)
    if not (version := tool.version(r"version (\d\S*)", path, "--version")):
        raise LockcrossError(f"{path} --version prints no version; install it again", 1)
    return Qemu(path, version, os.environ.get("LOCKCROSS_QEMU_WHY", "the first on PATH"))


REPORT = "engine.json"  # the plugin's report, in the run's own folder
EVENTS = "events.bin"  # its log of lock events, there too
MAX_CORES = 128  # qemu-timing: kMaxCores
_LABEL, _WITH_EVENTS, _FAR = "qemu", "qemu/events", "qemu/far"


class QemuEngine(base.Engine):
    """Runs cells under qemu-<isa> with the timing plugin.

    `events`: runs programs that report their lock events; the log is left in the run's folder. It
    has an engine label of its own, since reporting takes instructions. `far`: every core is in a
    cluster of its own, where else cores fill one cluster after the other.
    """

    time_limit_s = 60.0

    def __init__(self, events: bool = False, far: bool = False) -> None:
        self._events = events
        self._far = far

    def version(self, isa: str) -> str:
        """Return the plugin's version and a digest of its sources. Not QEMU's: every QEMU gives the
        same cycles (docs/machines-tried.md)."""
        find_qemu(isa)
        return plugin_version()

    def provenance(self, isa: str) -> str:
        return f"{self.version(isa)}, QEMU {find_qemu(isa).version}"

    def capabilities(self) -> Capabilities:
        return Capabilities(
            tuple(ISAS), MAX_CORES, shared_cores=True, events=_WITH_EVENTS, event_log=EVENTS
        )

    def refuses(self, cell: Cell) -> str:
        """Refuse far cores on a machine without clusters, and barriers whose cost is unknown."""
        if self._far and "cluster" not in load_machine(cell.machine).figures(cell.isa):
            return f"machine: {cell.machine}: it has no clusters, and so no cores that are far"
        return no_barrier(cell)

    def options(self, cell: Cell) -> dict[str, int | str]:
        """Return the plugin's options (interfaces, 6)."""
        return plugin_options(cell) | ({"cluster": 1} if self._far else {})

    def program(self, cell: Cell) -> Program:
        return replace(Program.of(cell), events=self._events)

    def command(self, cell: Cell, binary: Path, limits: Limits) -> list[str]:
        return guest_command(cell, binary, self._settings(cell, limits))

    def request(self, cell: Cell, binary: Path, limits: Limits) -> Request:
        server = (*_with_plugin(cell.isa), str(binary), "@serve")
        options = _words(self._settings(cell, limits))
        return Request(server, tuple(options), (*arguments(cell), _MARKER))

    def _settings(self, cell: Cell, limits: Limits) -> dict[str, int | str]:
        bounds = {"max_instructions": limits.instructions, "max_cpu_ms": int(1000 * limits.time_s)}
        settings = self.options(cell) | bounds
        if self._events:
            clock = load_machine(cell.machine).clock_mhz.number
            settings |= {"events": EVENTS, "clock_mhz": clock}
        return settings

    def read(self, cell: Cell, limits: Limits, end: ProcessResult, folder: Path) -> RunOutcome:
        return qemu_output.read(cell, limits, end, folder / REPORT)

    def doctor(self) -> list[PartCheck]:
        checks: list[PartCheck] = []
        for isa in ISAS:
            with base.noting(checks, f"qemu-{isa}", optional=False):
                qemu = find_qemu(isa)
                known = f"{qemu.version} ({qemu.path}: {qemu.why})"
                checks.append(PartCheck(f"qemu-{isa}", True, known))
        with base.noting(checks, "engine plugin", optional=False):
            checks.append(PartCheck("engine plugin", True, plugin_version()))
        return checks


def make(label: str) -> QemuEngine:
    check_known("engine", [label], (_LABEL, _WITH_EVENTS, _FAR))
    return QemuEngine(events=label == _WITH_EVENTS, far=label == _FAR)


def plugin_options(cell: Cell) -> dict[str, int | str]:
    """Return the plugin's options for a cell: the machine's figures under the cell's own."""
    options: dict[str, int | str] = dict(own_options(cell.machine, cell.isa))
    if cell.cas_latency is not None:
        options |= dict.fromkeys(ATOMICS, cell.cas_latency)
    if cell.fence_latency is not None:
        options[ISAS[cell.isa].full_fence] = cell.fence_latency
    if cell.cancel_latency is not None:
        options |= {f"charge_{stop}": cell.cancel_latency for stop in STOPS}
    if cell.membarrier_latency is not None:
        options |= {"charge_barrier": cell.membarrier_latency, "charge_barrier_core": 0}
    return options | {"seed": cell.seed}


def no_barrier(cell: Cell) -> str:
    """Return the complaint that a machine lacks the cost of a cell's process-wide barrier, or
    nothing."""
    if cell.fence != MEMBARRIER or "charge_barrier" in own_options(cell.machine, cell.isa):
        return ""
    return (
        f"machine: {cell.machine}: it says nothing of process-wide barriers, which fence kind "
        f"{MEMBARRIER} needs: give charges.barrier, charges.barrier_core and charges.interrupt"
    )


_MARKER = "marker=syscall"  # how the program tells the plugin of its region


def guest_command(cell: Cell, binary: Path, options: Mapping[str, int | str]) -> list[str]:
    """Return the command of QEMU with the plugin, whose report goes to REPORT."""
    *qemu, plugin = _with_plugin(cell.isa)
    told = ",".join([plugin, *_words(options)])
    return [*qemu, told, str(binary), *arguments(cell), _MARKER]


def _with_plugin(isa: str) -> list[str]:
    """Return QEMU with the plugin. The guest's argv[0] is fixed, so that no path reaches it."""
    # QEMU ends an option at a comma, and takes a doubled one as a comma of the path.
    plugin = str(ENGINE_PLUGIN).replace(",", ",,")
    return [find_qemu(isa).path, "-0", "lockcross", "-plugin", plugin]


def _words(options: Mapping[str, int | str]) -> list[str]:
    return [f"out={REPORT}", *(f"{name}={value}" for name, value in sorted(options.items()))]


@cache
def own_options(machine: str, isa: str) -> Mapping[str, int]:
    options = {name: figure.number for name, figure in load_machine(machine).figures(isa).items()}
    # A source's figure is the whole operation; the plugin adds its option to the access.
    return options | {name: options[name] - options["lat_l1"] for name in ATOMICS}


@cache
def plugin_version() -> str:
    """Return the plugin's version and a digest of its sources, which stands for the model itself.
    Raises LockcrossError when it is not built."""
    if not ENGINE_PLUGIN.exists():
        raise LockcrossError("the engine plugin is not built; ./lockcross builds it", 1)
    sources = base.sources_digest(ENGINE_SOURCES, ".cc", ".h", ".def")
    report = (ENGINE_SOURCES / "output" / "report.h").read_text("utf-8")
    version = re.search(r'kVersion = "([^"]+)"', report)
    return f"qemu-timing {version[1] if version else 'unknown'}+{sources}"
