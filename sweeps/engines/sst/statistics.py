"""SST's own statistics of a run as metrics (docs/interfaces.md, section 7)."""

import csv
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sweeps.engines.base import MAX_OUTPUT
from sweeps.engines.guest import BadRunError, Metrics
from sweeps.support.files import head

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
