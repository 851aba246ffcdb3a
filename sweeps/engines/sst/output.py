"""Reads the output of a run on SST, and says why it failed, if it did.

SST's exit code says little: it is 0 after a deadlock, too. A run counts only with its own record,
which is written last, by sst-configs/.
"""

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

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
from sweeps.engines.qemu.output import LinkCounts
from sweeps.engines.sst.find import complaint
from sweeps.model.cell import Cell
from sweeps.support.toml import Document, head

STATISTICS = "sst-statistics.csv"
_RECEIVED = "_recv"  # what the name of a count of events ends with
_CACHES = ("l1", "slice", "directory")
# A component of sst-configs/: what it is, its number, and its part.
_COMPONENT = re.compile(r"(l1|slice|directory|memory|router)_\d+(:.*)?")
_READS = ("requests_received_GetS", "requests_received_GetSX", "requests_received_GetX")
_WRITES = ("requests_received_Write", "requests_received_PutM")


@dataclass(frozen=True)
class Statistic:
    """One statistic of a component: its kind, the sum of what was added, and how often."""

    kind: str
    name: str
    total: int
    count: int


def statistics(path: Path, cycles: float) -> Metrics:
    """The metrics that SST's file gives of a run of so many cycles. Raises BadRunError for a file
    that is not SST's."""
    found = _read(path)
    return _coherence(found) | _homes(found, cycles) | _memory(found) | _network(found)


def _read(path: Path) -> list[Statistic]:
    try:
        text = head(path, MAX_OUTPUT).decode(errors="replace")
    except OSError:
        raise BadRunError("SST's statistics are missing") from None
    rows = csv.DictReader(text.splitlines(), skipinitialspace=True)
    found = []
    try:
        for row in rows:
            if place := _COMPONENT.fullmatch(row["ComponentName"]):
                total, count = int(row["Sum.u64"]), int(row["Count.u64"])
                found.append(Statistic(place[1], row["StatisticName"], total, count))
    except (KeyError, TypeError, ValueError, csv.Error):
        raise BadRunError(f"SST's statistics: line {rows.line_num} is not as expected") from None
    if not found:
        raise BadRunError("SST's statistics are empty")
    return found


def _sum(found: Iterable[Statistic]) -> int:
    return sum(one.total for one in found)


def _coherence(found: Sequence[Statistic]) -> Metrics:
    """Events that caches and directories received, by kind; those that occurred."""
    totals: dict[str, int] = {}
    for one in found:
        if one.kind in _CACHES and one.name.endswith(_RECEIVED) and one.total:
            name = f"coherence_{one.kind}_{one.name.removesuffix(_RECEIVED)}"
            totals[name] = totals.get(name, 0) + one.total
    return {name: (total, "count") for name, total in sorted(totals.items())}


def _homes(found: Sequence[Statistic], cycles: float) -> Metrics:
    """How busy the slices were, which are the lines' homes: requests that are open there, on
    average over the run, of all together and of the busiest. SST counts only cycles in which
    something is done at all."""
    slices = [one for one in found if one.kind == "slice"]
    waiting = [one.total for one in slices if one.name == "MSHR_occupancy"]
    events = [one.total for one in slices if one.name == "TotalEventsReceived"]
    return {
        "home_occupancy": (sum(waiting) / cycles, "requests"),
        "home_occupancy_most": (max(waiting, default=0) / cycles, "requests"),
        "home_events": (sum(events), "count"),
        "home_events_most": (max(events, default=0), "count"),
    }


def _memory(found: Sequence[Statistic]) -> Metrics:
    at_memory = [one for one in found if one.kind == "memory"]
    return {
        "memory_reads": (_sum(one for one in at_memory if one.name in _READS), "count"),
        "memory_writes": (_sum(one for one in at_memory if one.name in _WRITES), "count"),
    }


def _network(found: Sequence[Statistic]) -> Metrics:
    """Messages that nodes gave to the network, their bytes, and the same for all links that they
    passed; none of a bus."""
    links = [one for one in found if one.kind == "router"]
    if not links:
        return {}
    sent = [
        one for one in found
        if one.kind in _CACHES and one.name == "send_bit_count"
    ]  # fmt: skip
    bits = _sum(one for one in links if one.name == "send_bit_count")
    stalled = _sum(one for one in links if one.name == "output_port_stalls")
    return {
        "network_messages": (sum(one.count for one in sent), "count"),
        "network_bytes": (_sum(sent) / 8, "bytes"),
        "network_link_bytes": (bits / 8, "bytes"),
        "network_stalls": (stalled, "count"),
    }


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
