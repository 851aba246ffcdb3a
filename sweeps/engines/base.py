"""The driver's demands on an engine, and how it finds one."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Protocol, runtime_checkable

from results.errors import LockcrossError
from sweeps.model import engines
from sweeps.model.axes import LATENCIES
from sweeps.model.cell import Cell
from sweeps.model.machine import HOST
from sweeps.programs import Program
from sweeps.support.tools import NoToolError, Probe

MAX_OUTPUT = 64 * 1024 * 1024  # bytes of any file a run may write: no run fills the disk


@dataclass(frozen=True)
class Limits:
    """Limits of one run: CPU time in seconds (0: the engine's own limit), instructions over all
    cores, and whether a server may run it."""

    time_s: float = 0.0
    instructions: int = 2_000_000_000
    serve: bool = True


@dataclass(frozen=True)
class ProcessResult:
    """How a run's process ended. A negative code is the number of the signal that killed it;
    `exceeded` says which limit of time it hit, if it did."""

    code: int
    stdout: str
    stderr: str
    exceeded: str
    duration_s: float


@dataclass(frozen=True)
class PhaseCounts:
    """Counts of a core in the region of interest when a phase of the program began there, by the
    names of metrics."""

    phase: int
    counts: Mapping[str, int]


@dataclass(frozen=True)
class RunOutcome:
    """The result of a run. `cause` is empty when it is valid, else why it failed.

    `metrics` are name -> (value, unit), `resolved` the options as the engine reported them,
    `phases` the counts at each phase, of engines that count.
    """

    cause: str
    metrics: dict[str, tuple[float, str]] = field(default_factory=dict)
    resolved: dict[str, int | str] = field(default_factory=dict)
    phases: Sequence[PhaseCounts] = ()


@dataclass(frozen=True)
class Request:
    """A cell as a server runs it (qemu-timing/src/plugin/server.h): the command that starts a
    server of the cell's program, the engine's options and the program's arguments."""

    command: tuple[str, ...]
    options: tuple[str, ...]
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class Capabilities:
    """The abilities of an engine.

    `shared_cores`: it ends time slices, so that threads may share cores. `latencies`: the axes of a
    cell that it can set. `events`: the engine label under which it records lock events, and
    `event_log` the file that such a run leaves in its folder; empty where it cannot.
    `host_machines`: it runs on the host itself, which these machines describe, the best first; it
    needs the host's CPUs for itself, one cell at a time. None: it simulates any machine.
    `like_host`: the machines that are nearest to the host's processor, the best first, and how they
    are like it, in a sentence.
    `tables`: those of a machine file that it reads, and `unread`: the figures there that it leaves.
    """

    isas: tuple[str, ...]
    max_cores: int
    shared_cores: bool = False
    latencies: tuple[str, ...] = LATENCIES
    events: str = ""
    event_log: str = ""
    host_machines: tuple[str, ...] | None = None
    like_host: Mapping[str, str] = field(default_factory=dict)
    tables: tuple[str, ...] = ("core", "out_of_order", "ordering", "memory", "latency", "charges")
    unread: tuple[str, ...] = ()


@dataclass(frozen=True)
class PartCheck:
    """One line of the doctor: a part, its version, or the missing part and the remedy.

    Without an optional one everything else works; one that is `absent` is just not installed.
    """

    part: str
    ok: bool
    detail: str
    optional: bool = False
    absent: bool = False


def judged(part: str, shown: Probe, well: str) -> PartCheck:
    """Return the check of a part by the result of a probe; `well`: the words if all works."""
    if shown.alone:
        return PartCheck(part, False, f"refused: {shown.alone}", optional=True)
    return PartCheck(part, True, f"one core only: {shown.together}" if shown.together else well)


@contextmanager
def noting(checks: list[PartCheck], part: str, optional: bool = True) -> Iterator[None]:
    """Add a check that names the fault of a part, where that prevents further checks."""
    try:
        yield
    except LockcrossError as error:
        checks.append(
            PartCheck(part, False, error.message, optional, isinstance(error, NoToolError))
        )


def sources_digest(folder: Path, *suffixes: str) -> str:
    """Return a digest of the sources below a folder, which stand for the model: results stored for
    one model must never answer for another."""
    total = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.suffix in suffixes):
        total.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return total.hexdigest()[:12]


class Engine(Protocol):
    """One engine. The driver starts and ends the processes; the engine reads their output. Methods
    with a body here hold for engines that do not override them."""

    time_limit_s: float  # CPU time of a run, unless the user sets another limit

    def version(self, isa: str) -> str:
        """Return everything about the engine that can change an answer for `isa`.

        Raises LockcrossError, naming the packages to install, when the engine cannot be used.
        """

    def provenance(self, isa: str) -> str:
        """Return the version, and further facts of the engine that are stored though they change no
        answer."""
        return self.version(isa)

    def capabilities(self) -> Capabilities:
        """Return its abilities."""

    def refuses(self, cell: Cell) -> str:
        """Return why it cannot answer a cell within its capabilities honestly, or nothing."""
        return ""

    def options(self, cell: Cell) -> dict[str, int | str]:
        """Return the resolved machine of a cell, in the engine's own terms."""

    def program(self, cell: Cell) -> Program:
        return Program.of(cell)

    def command(self, cell: Cell, binary: Path, limits: Limits) -> list[str]:
        """Return the command that runs a cell; its working directory is a folder of its own."""

    def inputs(self, cell: Cell, binary: Path, limits: Limits) -> dict[str, str]:
        """Return files that the command expects in that folder, by name; none for most engines."""
        return {}

    def read(self, cell: Cell, limits: Limits, end: ProcessResult, folder: Path) -> RunOutcome:
        """Return a run's result, from how it ended and the files in its folder. Never raises."""

    def doctor(self) -> list[PartCheck]:
        """Return the installed and the missing parts."""


@runtime_checkable
class Serving(Protocol):
    """An engine that has servers, too: processes that have loaded a program, and run a cell of it
    in a child, with the output that `command` would have."""

    def request(self, cell: Cell, binary: Path, limits: Limits) -> Request:
        """Return the cell as a server runs it."""


@runtime_checkable
class Measuring(Protocol):
    """An engine on the host itself that can describe it as a machine."""

    def measurer(self) -> Any:
        """Return the module that measures the host."""


@cache
def load_engine(label: str) -> Engine:
    """Return the adapter of an engine label. Raises LockcrossError for an unknown one."""
    known = engines.entry(label)
    if known not in engines.ENGINES:
        labels = ", ".join(engines.labels())
        raise LockcrossError(f"engine {label!r} is unknown; known are {labels}")
    adapter: Engine = resolve_name(f"sweeps.engines.{known.family}.engine:make")(label)
    return adapter


def refusal(cell: Cell) -> str:
    """Return why the engine of a cell cannot answer it honestly, or nothing. Raises LockcrossError
    when that is unknown because the engine is missing."""
    engine = load_engine(cell.engine)
    can = engine.capabilities()
    if cell.isa not in can.isas:
        return f"isa: {cell.isa}: engine {cell.engine} simulates {', '.join(can.isas)} only"
    if can.host_machines is None and cell.machine == HOST:
        return f"machine: {HOST}: engine {cell.engine} simulates machines of sweeps/machines only"
    if can.host_machines is not None and cell.machine not in can.host_machines:
        return (
            f"machine: {cell.machine}: engine {cell.engine} runs on this host, which is "
            f"{' or '.join(can.host_machines)} (./lockcross measure NAME describes it anew)"
        )
    if cell.cores is not None and not can.shared_cores:
        return f"cores: {cell.cores}: engine {cell.engine} lets no threads share cores"
    if (cell.cores or cell.threads) > can.max_cores:
        return f"threads: {cell.threads}: engine {cell.engine} has {can.max_cores} cores at most"
    for axis in LATENCIES:
        if getattr(cell, axis) is not None and axis not in can.latencies:
            return f"{axis}: {getattr(cell, axis)}: engine {cell.engine} cannot set it"
    return engine.refuses(cell)
