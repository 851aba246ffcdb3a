"""SST as the memory system behind the core models of the embedded engine: QEMU with the plugin, as
an element of the user's own SST starts it."""

from pathlib import Path

from results.errors import LockcrossError
from sweeps.engines.base import Capabilities, Check, Limits, ProcessResult, RunOutcome
from sweeps.engines.qemu.engine import find_qemu, plugin_version
from sweeps.engines.sst import output as sst_output
from sweeps.engines.sst.command import (
    INPUT,
    REPLACED,
    check,
    command,
    document,
    misplaced,
    own_options,
    places,
    refused_figures,
    system_of,
)
from sweeps.engines.sst.find import NoSstError, configs_digest, element, find_sst
from sweeps.engines.sst.probe import probe
from sweeps.model.axes import MAX_THREADS
from sweeps.model.cell import Cell
from sweeps.model.isa import ISAS
from sweeps.model.machine import load_machine
from sweeps.programs import Program

_LABEL = "sst"
_WHY = "the memory system is SST's, which [sst] describes"


class SstEngine:
    """Runs cells under SST; `sst[/<place>]`, where the place says which core is at which node.

    Raises LockcrossError (exit code 2) for a label that names none.
    """

    time_limit_s = 1800.0

    def __init__(self, label: str) -> None:
        family, *options = label.split("/")
        if family != _LABEL or len(options) > 1 or "" in options:
            raise LockcrossError(f"engine {label!r} is unknown; known is {_LABEL}[/PLACE]")
        self._place = options[0] if options else ""
        check(self._place, label)

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
        found = probe(find_sst(), cell.flavour)
        if found.alone:
            return f"flavour: {cell.flavour}: {found.alone}"
        if cores > 1 and found.together:
            return f"threads: {cell.threads}: {found.together}"
        return ""

    def options(self, cell: Cell) -> dict[str, int | str]:
        """The plugin's options without its memory system, the table [sst], and where cores are."""
        return own_options(cell) | self._own(cell)

    def program(self, cell: Cell) -> Program:
        """The program as it is: the plugin adds every latency itself."""
        return Program.of(cell)

    def command(self, cell: Cell, binary: Path, limits: Limits) -> list[str]:
        """The SST command."""
        return command(find_sst())

    def inputs(self, cell: Cell, binary: Path, limits: Limits) -> dict[str, str]:
        """What sst-configs/run.py reads."""
        return {INPUT: document(cell, self._places(cell), binary, limits)}

    def read(self, cell: Cell, limits: Limits, end: ProcessResult, folder: Path) -> RunOutcome:
        """What a run said, from SST's record, the guest's line, the plugin's report and SST's
        statistics."""
        refused = {f"refused.{name}": _WHY for name in refused_figures(cell)}
        resolved = self._own(cell) | _mechanisms(cell) | refused
        return sst_output.read(cell, limits, end, folder, resolved)

    def _places(self, cell: Cell) -> list[int]:
        return places(self._place, system_of(cell), _cores(cell))

    def _own(self, cell: Cell) -> dict[str, int | str]:
        """What a run is made of beside the plugin's options."""
        return _table(cell) | {"place": " ".join(map(str, self._places(cell)))}

    def mechanisms(self, isa: str) -> list[str]:
        """One: the plugin adds latencies itself, and this shows that it does so here too."""
        return [_LABEL]

    def regions(self, isa: str) -> list[str]:
        """None: the program tells the plugin of its region."""
        return []

    def doctor(self) -> list[Check]:
        """SST and its elements, our own element, and what the probe shows of each flavour."""
        try:
            sst = find_sst()
        except LockcrossError as error:
            absent = isinstance(error, NoSstError)
            return [Check("SST", False, error.message, True, absent)]
        checks = [
            Check("SST", True, f"{sst.version} ({sst.path}: {sst.why}; memHierarchy, merlin)")
        ]
        try:
            checks.append(Check("element", True, f"compiled ({element(sst).name})"))
            for isa in ISAS.values():
                checks += [_judge(isa.name, flavour) for flavour in isa.flavours]
        except LockcrossError as error:
            checks.append(Check("element", False, error.message, True))
        return checks


def make(label: str) -> SstEngine:
    """The adapter of a label. Raises LockcrossError for an unknown one."""
    return SstEngine(label)


def _table(cell: Cell) -> dict[str, int | str]:
    """The table [sst] as options of a run."""
    return {f"sst_{name}": value for name, value in system_of(cell).settings().items()}


def _mechanisms(cell: Cell) -> dict[str, int | str]:
    """By what the latencies that a cell sets are added."""
    given = {"atomic": cell.cas, "fence": cell.fence_latency, "charge": cell.cancel}
    return {f"mechanism_{kind}": "plugin" for kind, set_to in given.items() if set_to is not None}


def _cores(cell: Cell) -> int:
    return cell.cores or cell.threads


def _judge(isa: str, flavour: str) -> Check:
    part = f"{isa} {flavour}"
    found = probe(find_sst(), flavour)
    if found.alone:
        return Check(part, False, f"refused: {found.alone}", optional=True)
    if found.together:
        return Check(part, True, f"one core only: {found.together}")
    return Check(part, True, "atomics work across cores, messages arrive")
