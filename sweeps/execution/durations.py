"""How long cells may take, from stored runs of similar cells."""

from results.model.cell import Cell
from results.store.store import Store

GUESS_S = 0.15  # where no similar cell is stored: a small program, start of QEMU included
_Kind = tuple[str, str, str, int]


class Durations:
    """Mean seconds of a run by engine, workload, ISA and number of threads."""

    def __init__(self, store: Store) -> None:
        self._known: dict[_Kind, float] = {
            (engine, workload, isa, threads): seconds
            for engine, workload, isa, threads, seconds in store.connection.execute(
                "SELECT engine, workload, isa, threads, avg(duration_s) FROM runs "
                "WHERE status = 'ok' GROUP BY engine, workload, isa, threads"
            )
        }

    def of(self, cell: Cell) -> float | None:
        """Seconds of a cell, or None where no similar one is stored."""
        return self._known.get(kind(cell))


def kind(cell: Cell) -> _Kind:
    """What cells of about equal length have in common."""
    return cell.engine, cell.workload, cell.isa, cell.threads
