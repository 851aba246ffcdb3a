"""The embedded engine: QEMU's user mode with the plugin of qemu-timing/."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from results.errors import LockcrossError
from sweeps.engines.base import Capabilities, Check, Limits, ProcessResult, RunOutcome
from sweeps.engines.qemu import output as qemu_output
from sweeps.engines.qemu.find import find_qemu
from sweeps.model.cells import Cell
from sweeps.model.isa import ISAS
from sweeps.model.machine import ATOMICS, load_machine
from sweeps.model.workloads import MAX_THREADS
from sweeps.programs.builder import Program
from sweeps.support.paths import ENGINE_PLUGIN, ENGINE_SOURCES

REPORT = "engine.json"  # the plugin's report, in the run's own folder
EVENTS = "events.bin"  # its log of lock events, there too


class QemuEngine:
    """Runs cells under qemu-<isa> with the timing plugin.

    `events`: with programs that tell their lock events, which the run leaves in its folder. An
    engine label of its own, since telling them takes instructions.
    """

    time_limit_s = 60.0

    def __init__(self, events: bool = False) -> None:
        self._events = events
        self.name = "qemu/events" if events else "qemu"

    def version(self, isa: str) -> str:
        """The plugin's version and a digest of its sources. Not QEMU's: every QEMU gives the same
        cycles (docs/machines-tried.md)."""
        find_qemu(isa)
        return _plugin_version()

    def provenance(self, isa: str) -> str:
        """The version, and QEMU's."""
        return f"{self.version(isa)}, QEMU {find_qemu(isa).version}"

    def capabilities(self) -> Capabilities:
        """Every ISA, one simulated core a thread."""
        return Capabilities(tuple(ISAS), MAX_THREADS)

    def refuses(self, cell: Cell) -> str:
        """Why it cannot answer a cell honestly, or nothing."""
        can = self.capabilities()
        if cell.isa not in can.isas:
            return f"isa: {cell.isa}: engine {self.name} simulates {', '.join(can.isas)} only"
        if (cell.cores or cell.threads) > can.max_cores:
            return f"threads: {cell.threads}: engine {self.name} has {can.max_cores} cores at most"
        return ""

    def options(self, cell: Cell) -> dict[str, int | str]:
        """The plugin's options (interfaces, 6): the machine's figures under the cell's own."""
        options: dict[str, int | str] = dict(_own_options(cell.machine, cell.isa))
        if cell.cas is not None:
            options |= dict.fromkeys(ATOMICS, cell.cas)
        if cell.fence_latency is not None:
            options[ISAS[cell.isa].full_fence] = cell.fence_latency
        if cell.cancel is not None:
            options["charge_stop"] = cell.cancel
        return options | {"seed": cell.seed}

    def program(self, cell: Cell) -> Program:
        """The program as it is: the plugin adds every latency itself."""
        return replace(Program.of(cell), events=self._events)

    def command(self, cell: Cell, binary: Path, limits: Limits) -> list[str]:
        """The QEMU command. The guest's argv[0] is fixed, so that no path reaches it."""
        options = self.options(cell) | {"max_instructions": limits.instructions}
        # QEMU ends an option at a comma, and takes a doubled one as a comma of the path.
        plugin = str(ENGINE_PLUGIN).replace(",", ",,")
        if self._events:
            clock = load_machine(cell.machine).clock_mhz.number
            options |= {"events": EVENTS, "clock_mhz": clock}
        settings = ",".join(f"{name}={value}" for name, value in sorted(options.items()))
        plugin += f",out={REPORT},{settings}"
        return [
            find_qemu(cell.isa).path, "-0", "lockcross", "-plugin", plugin, str(binary),
            *cell.arguments(), "marker=syscall",
        ]  # fmt: skip

    def read(self, cell: Cell, limits: Limits, end: ProcessResult, folder: Path) -> RunOutcome:
        """What a run said, from its exit, the guest's line and the plugin's report."""
        return qemu_output.read(cell, limits, end, folder / REPORT)

    def doctor(self) -> list[Check]:
        """QEMU of each ISA, and the plugin."""
        checks = []
        for isa in ISAS:
            try:
                found = find_qemu(isa)
                detail = f"{found.version} ({found.path}: {found.why})"
                checks.append(Check(f"qemu-{isa}", True, detail))
            except LockcrossError as error:
                checks.append(Check(f"qemu-{isa}", False, error.message))
        try:
            checks.append(Check("engine plugin", True, _plugin_version()))
        except LockcrossError as error:
            checks.append(Check("engine plugin", False, error.message))
        return checks


@cache
def _own_options(machine: str, isa: str) -> Mapping[str, int]:
    """A machine's figures, as the plugin is told them."""
    options = {name: figure.number for name, figure in load_machine(machine).figures(isa).items()}
    # A source's figure is the whole operation; the plugin adds its option to the access.
    return options | {name: options[name] - options["lat_l1"] for name in ATOMICS}


@cache
def _plugin_version() -> str:
    """The plugin's version and a digest of its sources, which stands for the model itself: a change
    of it must never be answered with stored results of the one before."""
    if not ENGINE_PLUGIN.exists():
        raise LockcrossError("the engine plugin is not built; ./lockcross builds it", 1)
    sources = sorted(p for p in ENGINE_SOURCES.rglob("*") if p.suffix in (".cc", ".h"))
    total = hashlib.sha256()
    for path in sources:
        name = path.relative_to(ENGINE_SOURCES).as_posix()
        total.update(name.encode() + b"\0" + path.read_bytes())
    report = (ENGINE_SOURCES / "output" / "report.h").read_text("utf-8")
    found = re.search(r'kVersion = "([^"]+)"', report)
    return f"qemu-timing {found[1] if found else 'unknown'}+{total.hexdigest()[:12]}"
