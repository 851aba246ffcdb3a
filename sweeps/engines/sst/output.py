"""Reads the output of a run on SST, and says why it failed, if it did.

SST's exit code says little: it is 0 after a deadlock, too. A run counts only with its own record,
which is written last, by sst-configs/.
"""

import csv
import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from sweeps.engines import guest
from sweeps.engines.base import Limits, ProcessResult, RunOutcome
from sweeps.engines.guest import BadRunError, Count, Metrics, text_of
from sweeps.engines.qemu import output as qemu_output
from sweeps.engines.qemu.engine import REPORT
from sweeps.engines.sst.find import complaint
from sweeps.model.cell import Cell
from sweeps.support.toml import Document

STATISTICS = "sst-statistics.csv"
_RECEIVED = "_recv"  # what the name of a count of events ends with
_CACHES = ("l1", "slice", "directory")
# A component of sst-configs/: what it is, its number, and its part.
_COMPONENT = re.compile(r"(l1|slice|directory|memory|router)_\d+(:.*)?")
_READS = ("requests_received_GetS", "requests_received_GetSX", "requests_received_GetX")
_WRITES = ("requests_received_Write", "requests_received_PutM")


def statistics(path: Path, cycles: float) -> Metrics:
    """Return the metrics that SST's file gives of a run of so many cycles. Raises BadRunError for a
    file that is not SST's.

    `coherence_*`: events that caches and directories received, by kind; those that occurred.
    `home_*`: how busy the slices were, which are the lines' homes: requests that are open there, on
    average over the run, of all together and of the busiest; SST counts only cycles in which
    something is done at all. `network_*`: messages that nodes gave to the network, their bytes, and
    the same for all links that they passed; none of a bus.
    """
    if not path.is_file():
        raise BadRunError("SST's statistics are missing")
    rows = csv.DictReader(text_of(path).splitlines(), skipinitialspace=True)
    # By kind of component and name, of each component: the sum of what was added, and how often.
    every: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    try:
        for row in rows:
            if place := _COMPONENT.fullmatch(row["ComponentName"]):
                added = int(row["Sum.u64"]), int(row["Count.u64"])
                every[place[1], row["StatisticName"]].append(added)
    except (KeyError, TypeError, ValueError, csv.Error):
        raise BadRunError(f"SST's statistics: line {rows.line_num} is not as expected") from None
    if not every:
        raise BadRunError("SST's statistics are empty")

    def sums(kind: str, *names: str) -> list[int]:
        return [total for name in names for total, _ in every[kind, name]]

    metrics: Metrics = {}
    for kind, name in list(every):
        if kind in _CACHES and name.endswith(_RECEIVED) and (count := sum(sums(kind, name))):
            metrics[f"coherence_{kind}_{name.removesuffix(_RECEIVED)}"] = (count, "count")
    metrics = dict(sorted(metrics.items()))
    waiting, events = sums("slice", "MSHR_occupancy"), sums("slice", "TotalEventsReceived")
    metrics |= {
        "home_occupancy": (sum(waiting) / cycles, "requests"),
        "home_occupancy_most": (max(waiting, default=0) / cycles, "requests"),
        "home_events": (sum(events), "count"),
        "home_events_most": (max(events, default=0), "count"),
        "memory_reads": (sum(sums("memory", *_READS)), "count"),
        "memory_writes": (sum(sums("memory", *_WRITES)), "count"),
    }
    if not any(kind == "router" for kind, _ in every):
        return metrics
    sent = [added for kind in _CACHES for added in every[kind, "send_bit_count"]]
    return metrics | {
        "network_messages": (sum(count for _, count in sent), "count"),
        "network_bytes": (sum(bits for bits, _ in sent) / 8, "bytes"),
        "network_link_bytes": (sum(sums("router", "send_bit_count")) / 8, "bytes"),
        "network_stalls": (sum(sums("router", "output_port_stalls")), "count"),
    }


GUEST_OUT, GUEST_ERR = "guest.out", "guest.err"
RECORD = "sst-record.json"


class Record(Document):
    """The record that sst-configs/ writes at the end. `cause`: why a run is not complete;
    `guest_exit`: the exit code of QEMU, or the negative number of the signal that killed it."""

    complete: bool
    sst_version: str = ""
    cycles: Count = 0
    guest_exit: int | None = None
    requests: Count = 0
    turns: Count = 0
    cause: str = ""


@guest.outcome
def read(
    cell: Cell, limits: Limits, end: ProcessResult, folder: Path, options: Mapping[str, int | str]
) -> RunOutcome:
    """Read a run. `options`: its options beyond the plugin's."""
    record = _check_record(cell, limits, end, folder)
    line = guest.check_guest(cell, text_of(folder / GUEST_OUT), 0)
    engine = qemu_output.check_engine(cell, folder / REPORT)
    if (link := engine.memory_system) is None:
        raise BadRunError("engine output: it does not say what it asked of SST")
    metrics = qemu_output.metrics(line.pairs, engine)
    # What the plugin and SST told each other.
    metrics |= {f"link_{name}": (count, "count") for name, count in link}
    metrics["sst_cycles"] = (record.cycles, "cycles")
    metrics |= statistics(folder / STATISTICS, metrics["cycles"][0])
    resolved = {**engine.options, **options, "sst_version": record.sst_version}
    return guest.valid(cell, line, metrics, resolved, qemu_output.phase_counts(engine))


def _check_record(cell: Cell, limits: Limits, end: ProcessResult, folder: Path) -> Record:
    """Return the record of a complete run. Raises BadRunError, with the cause that says most."""
    if end.exceeded:
        raise BadRunError(end.exceeded)
    record = None
    if (folder / RECORD).is_file():
        record = guest.parse_file(Record, folder / RECORD, "SST's record")
    out, err = (text_of(folder / name) for name in (GUEST_OUT, GUEST_ERR))
    if record is not None and (code := record.guest_exit):
        # SST may have killed the guest, for the cause that it names.
        if code < 0:
            killed = f"the guest was killed by {guest.signal_name(-code)}"
            raise BadRunError(record.cause or killed)
        qemu_output.check_end(limits, ProcessResult(code, out, err, "", 0.0))
        guest.check_guest(cell, out, code)
    why = complaint(end.stderr)
    guest.check_alive(end, "SST was ", f": {why}")
    if record is None:
        message = complaint(f"{end.stderr}\n{end.stdout}")
        if plugin := [line for line in err.splitlines() if line.startswith(qemu_output.PREFIX)]:
            message += f"; the guest said: {plugin[-1]}"
        raise BadRunError(f"SST ended without a record (exit code {end.code}): {message}")
    if not record.complete:
        raise BadRunError(record.cause or "SST's record is not complete, and does not say why")
    if end.code != 0:
        raise BadRunError(f"SST failed (exit code {end.code}): {why}")
    return record
