"""What the driver sends to a worker, and what comes back. Both sides have the same code."""

from dataclasses import dataclass, field

from results.store.records import Place
from sweeps.execution.kept import Entry
from sweeps.execution.work import Done, Work


@dataclass(frozen=True)
class Chunk:
    """Cells for one worker, some two seconds of them. `plugin`: digest of the engine plugin."""

    works: list[Work]
    scratch: str
    plugin: str


@dataclass(frozen=True)
class Reply:
    """What came of a chunk. `folders` are those of runs that are kept, by identity. `refused`: why
    the node cannot run cells, so that those without a result must run elsewhere."""

    place: Place
    manager: str
    done: list[Done]
    folders: dict[str, list[Entry]] = field(default_factory=dict)
    refused: str = ""
