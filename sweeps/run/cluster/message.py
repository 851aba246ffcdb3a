"""What the driver sends to a worker, and what comes back. Both sides have the same code."""

from dataclasses import dataclass, field

from results.store.records import Place
from sweeps.run.kept import Entry
from sweeps.run.work import Done, Work


@dataclass(frozen=True)
class Chunk:
    """Cells for one worker, some two seconds of them. `plugin`: digest of the engine plugin.
    `programs` are compressed, by digest; None: they are on the shared tree."""

    works: list[Work]
    scratch: str
    plugin: str
    programs: dict[str, bytes] | None = None


@dataclass(frozen=True)
class Question:
    """Asks a node what it is. `engines`: label and ISA of each engine that the driver has, with its
    version; `chunk`: a small cell to run."""

    engines: list[tuple[str, str, str]]
    chunk: Chunk


@dataclass(frozen=True)
class Node:
    """What a node says of itself. `wrong`: what keeps it from running cells, nothing when all is
    well. `clock`: its time when it answered. `cycles` are those of the cell."""

    place: Place
    cpus: int
    memory_gb: float
    scratch_gb: float
    limits: str
    clock: float
    cycles: float | None
    wrong: list[str]


@dataclass(frozen=True)
class Reply:
    """What came of a chunk. `span`: when it began and ended, by the worker's clock. `folders` are
    those of runs that are kept, by identity. `refused`: why the node cannot run cells, so that
    those without a result must run elsewhere. `missing`: digests of programs that it lacks."""

    place: Place
    manager: str
    done: list[Done]
    span: tuple[float, float] = (0.0, 0.0)
    folders: dict[str, list[Entry]] = field(default_factory=dict)
    refused: str = ""
    missing: list[str] = field(default_factory=list)
