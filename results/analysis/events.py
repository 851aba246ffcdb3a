"""Reads the log of lock events that a run left (docs/interfaces.md, section 6)."""

import struct
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

import numpy as np
import pandas as pd

from results.errors import LockcrossError

MAGIC = b"LCEVENTS"
VERSION = 1
HEADER = struct.Struct("<8sIIQQQ")  # magic, version, clock, image, objects made, records
RECORD = np.dtype(
    [("cycle", "<u8"), ("object", "<u4"), ("thread", "<u2"), ("kind", "u1"), ("state", "u1")]
)
FAT = 1  # bit of the state: the lock is inflated


class Kind(IntEnum):
    """What a record tells. A lock is held from ACQUIRED or WAITED to RELEASE or WAIT."""

    ACQUIRE = 1
    ACQUIRED = 2
    RELEASE = 3
    WAIT = 4
    WAITED = 5
    NOTIFY = 6
    NOTIFY_ALL = 7
    NOTHING_DONE = 8  # ILLEGAL_STATE: what the thread began last was no operation


@dataclass(frozen=True)
class EventLog:
    """The lock events of one run, in the order of simulated time.

    `events` has the columns cycle, object, thread, kind and fat; operations that did nothing are
    left out. `objects_made` counts the objects with a lock, used or not.
    """

    name: str
    clock_mhz: int
    objects_made: int
    events: pd.DataFrame


def read_events(path: Path) -> EventLog:
    """Reads a log; its name is the file's. Raises LockcrossError for a file that is none."""
    content = path.read_bytes()
    if len(content) < HEADER.size or not content.startswith(MAGIC):
        raise LockcrossError(
            f"{path}: not a log of lock events; `./lockcross run ... --events FILE` writes one"
        )
    _, version, clock, _, made, count = HEADER.unpack_from(content)
    if version != VERSION:
        raise LockcrossError(f"{path}: version {version} of the log; this program reads {VERSION}")
    if len(content) != HEADER.size + count * RECORD.itemsize:
        raise LockcrossError(
            f"{path}: the log is truncated, its header announces {count} events; record it again"
        )
    records = np.frombuffer(content, RECORD, offset=HEADER.size)
    if clock == 0 or (
        count
        and (
            records["kind"].min() < Kind.ACQUIRE
            or records["kind"].max() > Kind.NOTHING_DONE
            or bool((np.diff(records["cycle"].astype(np.int64)) < 0).any())
        )
    ):
        raise LockcrossError(f"{path}: the log is damaged; record it again")
    events = pd.DataFrame(
        {name: records[name].astype(np.int64) for name in ("cycle", "object", "thread", "kind")}
    )
    events["fat"] = records["state"] & FAT != 0
    return EventLog(path.stem, clock, made, without_idle_operations(events))


def without_idle_operations(events: pd.DataFrame) -> pd.DataFrame:
    """Leaves out every NOTHING_DONE and the record of its thread before it, which it undoes."""
    thread = events["thread"].to_numpy()
    order = np.argsort(thread, kind="stable")
    idle = np.flatnonzero(events["kind"].to_numpy()[order] == Kind.NOTHING_DONE)
    keep = np.ones(len(events), bool)
    keep[order[idle]] = False
    idle = idle[idle > 0]
    undone = order[idle - 1]  # another thread's where the log has nothing earlier of this one
    keep[undone[thread[undone] == thread[order[idle]]]] = False
    return events[keep].reset_index(drop=True)
