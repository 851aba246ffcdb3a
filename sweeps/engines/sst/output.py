"""Reads the output of a run on SST, and says why it failed, if it did.

SST's exit code says little: it is 0 after a deadlock, too. A run counts only with its own record,
which is written last, by sst-configs/.
"""

from collections.abc import Mapping
from pathlib import Path

from results.model.cell import Cell
from results.model.schema import Document
from sweeps.engines.base import MAX_OUTPUT, Limits, ProcessResult, RunOutcome
from sweeps.engines.guest import (
    BadRunError,
    Count,
    Metrics,
    check_guest,
    check_metrics,
    own_metrics,
    parse,
    signal_name,
    stand_ins,
)
from sweeps.engines.qemu import output as qemu_output
from sweeps.engines.qemu.engine import REPORT
from sweeps.engines.qemu.report import LinkCounts
from sweeps.engines.sst.find import complaint
from sweeps.engines.sst.statistics import STATISTICS, statistics
from sweeps.support.files import head

GUEST_OUT, GUEST_ERR = "guest.out", "guest.err"
RECORD = "sst-record.json"


class Record(Document):
    """What sst-configs/ writes at the end. `cause`: why a run is not complete; `guest_exit`: the
    exit code of QEMU, or the negative number of the signal that killed it."""

    complete: bool
    sst_version: str = ""
    cycles: Count = 0
    guest_exit: int | None = None
    requests: Count = 0
    turns: Count = 0
    cause: str = ""


def read(
    cell: Cell, limits: Limits, end: ProcessResult, folder: Path, options: Mapping[str, int | str]
) -> RunOutcome:
    """What a run said. Whatever went wrong becomes the outcome's cause. `options`: what it was made
    of beside the plugin's options."""
    try:
        record = _check_record(cell, limits, end, folder)
        guest = check_guest(cell, _text(folder / GUEST_OUT), 0)
        engine = qemu_output.check_engine(cell, folder / REPORT)
        if engine.memory_system is None:
            raise BadRunError("engine output: it does not say what it asked of SST")
        found = qemu_output.metrics(guest.pairs, engine) | own_metrics(guest)
        found |= _link(engine.memory_system) | {"sst_cycles": (record.cycles, "cycles")}
        found |= statistics(folder / STATISTICS, found["cycles"][0])
        check_metrics(found)
    except BadRunError as bad:
        return RunOutcome(str(bad))
    resolved = {**engine.options, **options, "sst_version": record.sst_version, **stand_ins(cell)}
    return RunOutcome("", found, resolved, qemu_output.phase_counts(engine))


def _link(counts: LinkCounts) -> Metrics:
    """What the plugin and SST told each other."""
    return {f"link_{name}": (getattr(counts, name), "count") for name in LinkCounts.model_fields}


def _text(path: Path) -> str:
    try:
        return head(path, MAX_OUTPUT).decode(errors="replace")
    except OSError:
        return ""


def _check_record(cell: Cell, limits: Limits, end: ProcessResult, folder: Path) -> Record:
    """The record of a complete run. Raises BadRunError, with the cause that says most."""
    if end.exceeded:
        raise BadRunError(end.exceeded)
    record = _record(folder)
    if record is not None and record.guest_exit:
        _check_dead_guest(cell, limits, record, folder)
    if end.code < 0:
        raise BadRunError(f"SST was killed by {signal_name(-end.code)}: {complaint(end.stderr)}")
    if record is None:
        raise BadRunError(_without_record(end, folder))
    if not record.complete:
        raise BadRunError(record.cause or "SST's record is not complete, and does not say why")
    if end.code != 0:
        raise BadRunError(f"SST failed (exit code {end.code}): {complaint(end.stderr)}")
    return record


def _record(folder: Path) -> Record | None:
    try:
        data = head(folder / RECORD, MAX_OUTPUT)
    except OSError:
        return None
    return parse(Record, data, "SST's record")


def _check_dead_guest(cell: Cell, limits: Limits, record: Record, folder: Path) -> None:
    """Raises BadRunError for a guest that ended otherwise than well."""
    code = record.guest_exit or 0
    if code < 0:  # which SST may have done, for the cause that it names
        raise BadRunError(record.cause or f"the guest was killed by {signal_name(-code)}")
    said = ProcessResult(code, _text(folder / GUEST_OUT), _text(folder / GUEST_ERR), "", 0.0)
    qemu_output.check_end(limits, said)
    check_guest(cell, said.stdout, code)


def _without_record(end: ProcessResult, folder: Path) -> str:
    """Why SST ended without a record."""
    said = complaint(f"{end.stderr}\n{end.stdout}")
    plugins = [
        line for line in _text(folder / GUEST_ERR).splitlines()
        if line.startswith(qemu_output.PREFIX)
    ]  # fmt: skip
    guest = f"; the guest said: {plugins[-1]}" if plugins else ""
    return f"SST ended without a record (exit code {end.code}): {said}{guest}"
