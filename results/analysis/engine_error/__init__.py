"""How far the embedded engine was off where it has been compared with silicon and with simulators
that have cores of their own: counted from stored validations, kept as a CSV, and asked about."""

from results.analysis.engine_error.answers import EngineError, Right, decisive, error_of, kind_of
from results.analysis.engine_error.counts import count, count_stored, read_cells
from results.analysis.engine_error.rows import (
    ANY,
    ATOMIC,
    BOTH,
    CONTENDED,
    IN_TURN,
    LEADS,
    NO_ATOMIC,
    ONE_THREAD,
    STORED,
    Row,
    keep,
    read_rows,
    text_of,
    work_of,
)

__all__ = [
    "ANY", "ATOMIC", "BOTH", "CONTENDED", "IN_TURN", "LEADS", "NO_ATOMIC", "ONE_THREAD", "STORED",
    "EngineError", "Right", "Row", "count", "count_stored", "decisive", "error_of",
    "keep", "kind_of",
    "read_cells", "read_rows", "text_of", "work_of",
]  # fmt: skip
