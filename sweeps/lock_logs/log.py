"""The log of a program's lock events: docs/interfaces.md, section 6. Java programs write it as they
run (`java-agent/`), `run --events` from the events that an engine recorded."""

import json
import re
import struct
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from results.errors import LockcrossError

MAGIC = b"LCEVENTS"
VERSION = 2
HEADER = struct.Struct("<8sII")  # magic, version, 0
BLOCK = struct.Struct("<4sIQ")  # tag, buffer, bytes that follow
TEXT, EVENTS, MARK, DONE = b"TEXT", b"EVTS", b"MARK", b"DONE"
RECORD = np.dtype([("word", "<u8"), ("identity", "<u4"), ("site", "<u4")])
# Where the parts of a record's word begin: the kind has its first four bits.
_BEGUN, _FAT, _TIME = 4, 5, 16
_LONG = 100_000_000  # bytes that take some seconds to read
_ONE = np.uint64(1)
_ROUND = 1 << 64 - _TIME  # of a record's times, which have 48 bits
_BUFFERS = 1 << 32  # more than there are buffers
_FOR_RECORDING = "`./lockcross record` and `./lockcross run ... --events FILE` write one"

# The first release of the JDK whose usual lock it is, the newest first.
_HOTSPOT = ((23, "hotspot_light"), (15, "hotspot_stack"), (0, "biased"))

# What an engine leaves of a run (section 6, too).
ENGINE_VERSION = 1
ENGINE_HEADER = struct.Struct("<8sIIQQQ")  # magic, version, clock, image, objects made, records
ENGINE_RECORD = np.dtype(
    [("cycle", "<u8"), ("object", "<u4"), ("thread", "<u2"), ("kind", "u1"), ("state", "u1")]
)


Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class Kind(IntEnum):
    """The kind of a record. A lock is held from ACQUIRED or WAITED to RELEASE or WAIT."""

    ACQUIRE = 1
    ACQUIRED = 2
    RELEASE = 3
    WAIT = 4
    WAITED = 5
    NOTIFY = 6
    NOTIFY_ALL = 7
    NOTHING_DONE = 8  # ILLEGAL_STATE: what the thread began last was no operation
    STACK = 9  # in a file alone: the stack of the acquisition before
    THREAD = 10  # in a file alone: what follows is of this thread
    # Of a thread, whatever it locks: `pauses` of a log.
    PARK = 11
    PARKED = 12  # and goes on
    END = 13


@dataclass(frozen=True)
class Site:
    """A place in a program that takes a lock, waits or notifies."""

    type: str
    method: str
    file: str
    line: int
    what: str  # block, method, wait, notify or notifyAll
    jdk: bool  # in a class of the JDK itself


@dataclass(frozen=True)
class Totals:
    """Totals of a recording for the whole program; None where nobody knows."""

    seconds: float | None = None  # of what was recorded
    cpu_seconds: float | None = None
    acquisitions: int = 0  # nested ones too
    left_out: int = 0  # acquisitions of objects outside the sample
    lost: int = 0  # records
    end: str = "exit"  # or limit, disk, memory; "cut" where the log says nothing
    cpu_plain: float | None = None  # of the whole process without recording, if both were run
    cpu_recorded: float | None = None  # the same with it
    counted: int | None = None  # acquisitions behind the end
    # Nanoseconds of CPU time that recording a pair took on that host: least, middle and most.
    recording: tuple[float, float, float] | None = None
    start_cpu: float = 0.0  # seconds of CPU time that a JVM's start took
    # Nanoseconds that recording, with the runtime's own lock, adds to what lies between sections
    # and to a section: least, middle and most; none where nobody has measured it.
    gap_ns: tuple[float, ...] = ()
    section_ns: tuple[float, ...] = ()


@dataclass(frozen=True)
class EventLog:
    """The lock events of one program, in the order of time.

    `events` has the columns cycle (of a clock of `clock_mhz`), object, thread, kind, fat and site
    (0: unknown); operations that did nothing are left out.
    """

    name: str
    clock_mhz: int
    objects_made: int | None  # with a lock, used or not; None where nobody knows
    events: pd.DataFrame
    identity_bits: int = 0  # of the hash by which objects are told apart; 0: exactly
    sample: int = 1  # one of so many objects is in the log
    totals: Totals | None = None
    sites: Mapping[int, Site] = field(default_factory=dict)
    # Of some acquisitions: the site, and the number of the stack in `frames`, innermost first.
    stacks: pd.DataFrame = field(default_factory=lambda: pd.DataFrame({"site": [], "stack": []}))
    frames: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    about: Mapping[str, Any] = field(default_factory=dict)
    released_by_others: int = 0  # releases by another thread than took the lock
    # When threads parked, went on and ended: cycle, thread and kind; of Java programs alone.
    pauses: pd.DataFrame = field(
        default_factory=lambda: pd.DataFrame({"cycle": [], "thread": [], "kind": []}, dtype="int64")
    )

    @property
    def tells_modes(self) -> bool:
        """Tell whether the log has the mode of a lock: a simulated one's has."""
        return self.about.get("log") == "engine"

    @property
    def runtime_lock(self) -> str:
        """Return the usual lock of the runtime that the program was recorded on."""
        if self.about.get("log") == "pthread":
            return "futex_mutex"
        if "OpenJ9" in str(self.about.get("java.vm.name")):
            return "j9_flat"
        found = re.match(r"(?:1\.)?(\d+)", str(self.about.get("java.version")))
        release = int(found[1]) if found else _HOTSPOT[0][0]
        return next(lock for first, lock in _HOTSPOT if release >= first)

    @property
    def expected_collisions(self) -> float:
        """Return the number of object pairs that are expected to have one hash."""
        if not self.identity_bits:
            return 0.0
        objects = self.events["object"].nunique() * self.sample
        return float(objects * (objects - 1) / 2 ** (self.identity_bits + 1)) / self.sample


def read_events(path: Path) -> EventLog:
    """Read a log; its name is the file's. A log without an end (the program was killed) is read as
    far as all threads' records go. Raises LockcrossError for a file that is none."""
    with path.open("rb") as file:
        start = file.read(HEADER.size)
    if len(start) < HEADER.size or not start.startswith(MAGIC):
        raise LockcrossError(f"{path}: not a log of lock events; {_FOR_RECORDING}")
    _, version, _ = HEADER.unpack(start)
    if version != VERSION:
        raise LockcrossError(
            f"{path}: version {version} of the log; this program reads {VERSION}; record it again"
        )
    content = np.memmap(path, np.uint8, "r")
    if content.size > _LONG:
        print(f"reading {path.name}, {content.size / 1e6:,.0f} MB", file=sys.stderr, flush=True)
    facts = _Facts()
    buffers: dict[int, list[_Block]] = {}
    marked = None
    for tag, buffer, first, last in _blocks(content):
        if tag == EVENTS:
            end = last - (last - first) % RECORD.itemsize
            records = content[first:end].view(RECORD)
            buffers.setdefault(buffer, []).append(_Block(records, marked or 0))
        elif tag == MARK:
            marked = int.from_bytes(content[first:last].tobytes(), "little")
        else:
            facts.add(content[first:last].tobytes())
    try:
        return facts.log(path.stem, *_events(buffers, None if facts.whole else marked, facts))
    except (KeyError, TypeError, ValueError):
        raise LockcrossError(f"{path}: the log is damaged; record it again") from None


def first_line(path: Path) -> dict[str, Any]:
    """Return the first line of a log: who wrote it. Raises OSError or ValueError for another
    file."""
    with path.open("rb") as file:
        start = file.read(HEADER.size + BLOCK.size)
        if len(start) < HEADER.size + BLOCK.size or not start.startswith(MAGIC):
            raise ValueError
        line: dict[str, Any] = json.loads(file.readline())
    return line


def last_line(path: Path) -> dict[str, Any] | None:
    """Return the last line of a log; None where it has none."""
    if path.stat().st_size < HEADER.size:
        return None
    content = np.memmap(path, np.uint8, "r")
    for tag, _, first, last in _blocks(content):
        if tag == DONE:
            line: dict[str, Any] = json.loads(content[first:last].tobytes())
            return line
    return None


def facts_with(path: Path, name: str) -> Iterator[dict[str, Any]]:
    """Yield the facts of a log that have something of a name."""
    content = np.memmap(path, np.uint8, "r")
    for tag, _, first, last in _blocks(content):
        if tag == TEXT:
            facts = map(_fact, content[first:last].tobytes().splitlines())
            yield from (fact for fact in facts if name in fact)


def _fact(line: bytes) -> dict[str, Any]:
    """Return the fact of a line; nothing where a program put something into a name that breaks
    JSON."""
    try:
        fact: dict[str, Any] = json.loads(line)
    except ValueError:
        return {}
    return fact


def _blocks(content: npt.NDArray[np.uint8]) -> Iterator[tuple[bytes, int, int, int]]:
    """Yield the blocks of a log that are whole: tag, buffer, and where they begin and end."""
    place = HEADER.size
    while place + BLOCK.size <= len(content):
        tag, buffer, size = BLOCK.unpack(content[place : place + BLOCK.size].tobytes())
        first, place = place + BLOCK.size, place + BLOCK.size + size
        if place > len(content) or tag not in (TEXT, EVENTS, MARK, DONE):
            return
        yield tag, buffer, first, place


class _Facts:
    def __init__(self) -> None:
        self._about: dict[str, Any] = {}
        self._totals: dict[str, Any] = {}
        self._sites: dict[int, Site] = {}
        self._frames: dict[int, tuple[str, ...]] = {}

    def add(self, text: bytes) -> None:
        for fact in map(_fact, text.splitlines()):
            if "site" in fact:
                site = (fact[name] for name in ("class", "method", "file", "line", "what", "jdk"))
                self._sites[fact["site"]] = Site(*site)
            elif "stack" in fact:
                self._frames[fact["stack"]] = tuple(fact["frames"])
            elif not fact.keys().isdisjoint(("end", "cpu_plain", "recording_ns")):
                self._totals |= fact
            elif "log" in fact:
                self._about = fact

    @property
    def whole(self) -> bool:
        """All that was recorded is in the log: neither was the program killed nor the disk full."""
        return self._totals.get("end") in ("exit", "limit")

    @property
    def exact(self) -> bool:
        """Tell whether objects are told apart exactly, with records in their order."""
        return not self._about.get("identity_bits")

    @property
    def by_any_thread(self) -> bool:
        """Tell whether a lock may be released by another thread than took it."""
        return self._about.get("log") == "pthread"

    def log(
        self,
        name: str,
        events: pd.DataFrame,
        stacks: pd.DataFrame,
        by_others: int,
        pauses: pd.DataFrame,
    ) -> EventLog:
        about, totals = self._about, self._totals
        clock = int(about["clock_mhz"])
        if clock <= 0:
            raise ValueError
        last = events["cycle"].max() / clock / 1e6 if len(events) else 0.0
        plain = ("left_out", "lost", "cpu_plain", "cpu_recorded", "counted", "start_cpu")
        recording = [f"recording_{name}" for name in ("least", "ns", "most")]
        least, middle, most = (float(totals.get(name, 0)) for name in recording)
        of_java = "time" in totals or "end" not in totals
        return EventLog(
            name,
            clock,
            about.get("objects_made"),
            events,
            about.get("identity_bits", 0),
            about.get("sample", 1),
            Totals(
                seconds=totals.get("time", 0) / 1e9 or float(last),
                cpu_seconds=totals.get("cpu", 0) / 1e9 or None,
                acquisitions=int((events["kind"] == Kind.ACQUIRED).sum()),
                end=totals.get("end", "cut"),
                recording=(least, middle, most) if "recording_ns" in totals else None,
                **{name: totals[name] for name in plain if name in totals},
                gap_ns=tuple(totals.get("gap_ns", ())),
                section_ns=tuple(totals.get("section_ns", ())),
            )
            if of_java
            else None,
            self._sites,
            stacks,
            self._frames,
            about,
            by_others,
            pauses,
        )


@dataclass(frozen=True)
class _Block:
    """Records that were written together, and the last mark before them."""

    records: npt.NDArray[np.void]
    marked: int


def _times(blocks: list[_Block]) -> Integers:
    """Return the whole times of records, which have the last 48 bits: those nearest to the last
    mark."""
    parts = []
    for block in blocks:
        time = (block.records["word"] >> np.uint64(_TIME)).astype(np.int64)
        away = block.marked - time + _ROUND // 2
        parts.append(time + np.maximum(away // _ROUND, 0) * _ROUND)
    return np.concatenate(parts)


def _events(
    buffers: Mapping[int, list[_Block]], marked: int | None, facts: _Facts
) -> tuple[pd.DataFrame, pd.DataFrame, int, pd.DataFrame]:
    """Return the events of all threads in order, up to a time, the stacks, how many releases were
    another thread's, and the pauses of threads that have events. Raises ValueError."""
    parts, stacks = [_table(-1, [_Block(np.empty(0, RECORD), 0)])], []
    paused = [parts[0]]
    for buffer, blocks in sorted(buffers.items()):
        table = _table(buffer, blocks)
        site, at = table["site"].to_numpy(), np.flatnonzero(table["kind"] == Kind.STACK)
        at = at[at > 0]
        stacks.append(pd.DataFrame({"site": site[at - 1], "stack": site[at]}))
        parts.append(table[table["kind"] < Kind.STACK])
        paused.append(table[table["kind"] > Kind.THREAD])
    events, pauses = pd.concat(parts), pd.concat(paused)[["cycle", "thread", "kind"]]
    events = events[events["cycle"] <= marked] if marked is not None else events
    events = events.reset_index(drop=True)
    threads, numbers = np.unique(events["thread"], return_inverse=True)
    events["thread"] = numbers.astype(np.int32)
    pauses = pauses[pauses["thread"].isin(threads)]
    pauses = pauses.assign(thread=np.searchsorted(threads, pauses["thread"]).astype(np.int32))
    by_others = 0
    if facts.exact:
        if (np.diff(events["cycle"].to_numpy()) < 0).any():
            raise ValueError
        del events["begun"]
    else:
        if facts.by_any_thread:
            events = without_idle_operations(events)
            by_others = _give_to_holders(events)
        events = _with_acquisitions(_with_wakings(events))
    all_stacks = pd.concat(stacks) if stacks else pd.DataFrame({"site": [], "stack": []})
    return without_idle_operations(events), all_stacks, by_others, pauses


def _table(buffer: int, blocks: list[_Block]) -> pd.DataFrame:
    """Return the records of a buffer, and whether each says when its thread began. Raises
    ValueError for a record of no kind."""
    records = np.concatenate([block.records for block in blocks])
    word, kind = records["word"], (records["word"] & 15).astype(np.int8)
    if not np.isin(kind, list(Kind)).all():
        raise ValueError
    return pd.DataFrame(
        {
            "cycle": _times(blocks),
            "object": records["identity"].astype(np.int64),
            "thread": _threads(records, kind, buffer),
            "kind": kind,
            "fat": (word >> np.uint64(_FAT) & _ONE).astype(bool),
            "site": records["site"].astype(np.int32),
            "begun": (word >> np.uint64(_BEGUN) & _ONE).astype(bool),
        }
    )


def _give_to_holders(events: pd.DataFrame) -> int:
    """Give each release by a thread that did not have the lock to the one that had it; return how
    many there are. The first of them ends the first section that its own thread does not end, and
    so on: sections of one lock exclude each other."""
    object_, thread = events["object"].to_numpy(), events["thread"].to_numpy()
    kind, cycle = events["kind"].to_numpy(), events["cycle"].to_numpy()
    taken, released = kind == Kind.ACQUIRED, kind == Kind.RELEASE
    # Of one thread at one lock, in its order.
    order = np.lexsort((cycle, thread, object_))
    group = np.append(True, _differ(object_[order]) | _differ(thread[order]))[: len(order)]
    depth = (taken.astype(np.int64) - released)[order]
    below = pd.Series(depth).groupby(np.cumsum(group)).cumsum().to_numpy() < 0
    odd = np.isin(object_[order], np.unique(object_[order][below]))
    if not odd.any():
        return 0
    # Such a lock is not recursive: what takes it and what gives it back follow each other.
    places = order[odd]
    begins = group[odd]
    gain = taken[places] | (kind[places] == Kind.WAITED)
    loss = released[places] | (kind[places] == Kind.WAIT)
    before = np.append(False, gain[:-1]) & ~begins
    behind = np.append(loss[1:] & ~begins[1:], False)
    open_, strange = places[gain & ~behind], places[released[places] & ~before]
    open_ = open_[np.lexsort((cycle[open_], object_[open_]))]
    strange = strange[np.lexsort((cycle[strange], object_[strange]))]
    section = pd.Series(object_[open_]).groupby(object_[open_]).cumcount()
    number = pd.Series(object_[strange]).groupby(object_[strange]).cumcount()
    holders = pd.DataFrame({"object": object_[open_], "number": section, "holder": thread[open_]})
    releases = pd.DataFrame({"object": object_[strange], "number": number})
    found = releases.merge(holders, "left", ["object", "number"])["holder"]
    known = found.notna().to_numpy()
    owners = thread.copy()
    owners[strange[known]] = found[known].to_numpy().astype(thread.dtype)
    events["thread"] = owners
    return len(strange)


def _threads(records: npt.NDArray[np.void], kind: npt.NDArray[np.int8], buffer: int) -> Integers:
    """Return the thread of each record of a buffer. A buffer's own has its number, another one its
    id behind all of those."""
    at = np.flatnonzero(kind == Kind.THREAD)
    if not len(at):
        return np.full(len(records), buffer, np.int64)
    named = records["site"][at].astype(np.int64) << 32 | records["identity"][at].astype(np.int64)
    lengths = np.diff(np.concatenate(([0], at, [len(records)])))
    own = np.concatenate(([buffer], np.where(named == 0, buffer, named + _BUFFERS)))
    found: Integers = np.repeat(own, lengths)
    return found


def _with_wakings(events: pd.DataFrame) -> pd.DataFrame:
    """Return the events with the ends of all waits. A wait that ended by an exception tells
    nothing: it ends where its thread does the next thing with that object, which is mostly to leave
    the section."""
    columns = [events[name].to_numpy() for name in ("cycle", "thread", "object")]
    order = np.lexsort(columns)
    kind = events["kind"].to_numpy()[order]
    same = ~(_differ(columns[1][order]) | _differ(columns[2][order]))
    untold = (kind[:-1] == Kind.WAIT) & (kind[1:] != Kind.WAITED) & same
    places = np.flatnonzero(untold)
    cycle = columns[0][order[places + 1]] - 1
    ends = events.iloc[order[places]].assign(kind=Kind.WAITED, cycle=cycle, site=0, begun=False)
    return pd.concat([events, ends.astype(events.dtypes)], ignore_index=True)


def _with_acquisitions(events: pd.DataFrame) -> pd.DataFrame:
    """Return the events in the order of time. Where a record says when its thread began to acquire
    (`begun`, which is left out), the lock was had when the last one gave it back, if that was
    later: then both are there."""
    begun = events.pop("begun").to_numpy()
    object_, thread = events["object"].to_numpy(), events["thread"].to_numpy()
    kind, cycle = events["kind"].to_numpy(), events["cycle"].to_numpy()
    several = _taken_by_several(events)
    # Of one thread at one object in the order of time, which for a thread is that of its records.
    order = np.lexsort((cycle[several], thread[several], object_[several]))
    places = several[order]
    group = np.concatenate(([True], _differ(object_[places]) | _differ(thread[places])))[
        : len(places)
    ]
    gains, losses = _held(kind[places], np.cumsum(group))
    section = places[gains]
    last = np.full(len(events), np.iinfo(np.int64).max)  # where each section ends, if it does
    ends = np.append(places[losses], -1)
    behind = np.searchsorted(np.flatnonzero(losses), np.flatnonzero(gains))
    end = ends[np.minimum(behind, len(ends) - 1)]
    same = (end >= 0) & (object_[end] == object_[section]) & (thread[end] == thread[section])
    last[section[same]] = cycle[end[same]]
    # Sections of one object exclude each other, so they are in the order in which they end.
    section = section[np.lexsort((last[section], object_[section]))]
    given_back = np.where(np.append(True, _differ(object_[section]))[: len(section)], 0, 1)
    given_back *= np.append(0, last[section][:-1])[: len(section)]
    waited = begun[section] & (given_back > cycle[section]) & (given_back < np.iinfo(np.int64).max)
    late, had = section[waited], given_back[waited]
    begins = events.iloc[late].assign(kind=np.int8(Kind.ACQUIRE))
    events.loc[late, "cycle"] = had
    merged = pd.concat([events, begins], ignore_index=True)
    # What is given back at the same time as another takes it was given back first.
    gives = merged["kind"].isin((Kind.RELEASE, Kind.WAIT)).to_numpy()
    sorted_ = np.argsort((merged["cycle"].to_numpy() << 1) | ~gives, kind="stable")
    return merged.iloc[sorted_].reset_index(drop=True)


def _taken_by_several(events: pd.DataFrame) -> Integers:
    """Return the places of all records of objects that several threads take: others nobody waits
    for."""
    acquired = events.loc[events["kind"] == Kind.ACQUIRED, ["object", "thread"]]
    first = acquired.groupby("object")["thread"].transform("first")
    shared = acquired.loc[acquired["thread"] != first, "object"].unique()
    return np.flatnonzero(events["object"].isin(shared).to_numpy())


def levels(changes: Integers, groups: Integers) -> Integers:
    """Return the running sum of changes within each group, raised where it would go below zero: by
    the state when the log began."""
    level = pd.Series(changes).groupby(groups, sort=False).cumsum()
    lowest = level.groupby(groups, sort=False).transform("min").clip(upper=0)
    return np.asarray(level - lowest, np.int64)


def _held(kind: npt.NDArray[np.int8], group: Integers) -> tuple[Flags, Flags]:
    """Return for records in groups of one thread at one object where it has the lock from, and up
    to where, nested acquisitions apart."""
    taken, released = kind == Kind.ACQUIRED, kind == Kind.RELEASE
    depth = levels(taken.astype(np.int64) - released, group)
    gains = (taken & (depth == 1)) | (kind == Kind.WAITED)
    losses = (released & (depth == 0)) | (kind == Kind.WAIT)
    return gains, losses


def _differ(values: npt.NDArray[Any]) -> Flags:
    """Return whether each but the first is another than the one before."""
    found: Flags = values[1:] != values[:-1]
    return found


def without_idle_operations(events: pd.DataFrame) -> pd.DataFrame:
    """Leave out every NOTHING_DONE and the record of its thread before it, which it undoes."""
    if not (events["kind"] == Kind.NOTHING_DONE).any():
        return events
    thread = events["thread"].to_numpy()
    order = np.argsort(thread, kind="stable")
    idle = np.flatnonzero(events["kind"].to_numpy()[order] == Kind.NOTHING_DONE)
    keep = np.ones(len(events), bool)
    keep[order[idle]] = False
    idle = idle[idle > 0]
    undone = order[idle - 1]  # another thread's where the log has nothing earlier of this one
    keep[undone[thread[undone] == thread[order[idle]]]] = False
    return events[keep].reset_index(drop=True)


def convert(engine_log: Path, log: Path) -> None:
    """Write the log of an engine's recording. Raises LockcrossError for a file that is none."""
    content = engine_log.read_bytes()
    if len(content) < ENGINE_HEADER.size or not content.startswith(MAGIC):
        raise LockcrossError(f"{engine_log}: no engine's lock events", exit_code=1)
    _, version, clock, _, made, count = ENGINE_HEADER.unpack_from(content)
    if version != ENGINE_VERSION or len(content) != (
        ENGINE_HEADER.size + count * ENGINE_RECORD.itemsize
    ):
        raise LockcrossError(f"{engine_log}: the lock events are not whole", exit_code=1)
    records = np.frombuffer(content, ENGINE_RECORD, offset=ENGINE_HEADER.size)
    about = {"log": "engine", "clock_mhz": clock, "objects_made": made, "identity_bits": 0}
    with log.open("wb") as file:
        file.write(HEADER.pack(MAGIC, VERSION, 0))
        told = _in_one_buffer(records).tobytes()
        for tag, body in ((TEXT, _line(about)), (EVENTS, told), (DONE, _line({"end": "exit"}))):
            file.write(BLOCK.pack(tag, 0, len(body)) + body)


def add_line(log: Path, line: Mapping[str, Any]) -> None:
    """Add a fact to a log that is known only behind its end. Raises OSError."""
    body = _line(line)
    with log.open("ab") as file:
        file.write(BLOCK.pack(TEXT, 0, len(body)) + body)


def _line(line: Mapping[str, Any]) -> bytes:
    return json.dumps(line).encode() + b"\n"


def _in_one_buffer(records: npt.NDArray[np.void]) -> npt.NDArray[np.void]:
    """Return an engine's records in their order, with one before each that is of another thread
    than the last."""
    thread = records["thread"].astype(np.int64)
    new = np.diff(thread, prepend=-1) != 0
    places = np.arange(len(records)) + np.cumsum(new)
    made = np.zeros(len(records) + int(new.sum()), RECORD)
    time = records["cycle"].astype(np.uint64) << np.uint64(_TIME)
    fat = (records["state"] & 1).astype(np.uint64) << np.uint64(_FAT)
    made["word"][places] = time | fat | records["kind"].astype(np.uint64)
    made["identity"][places] = records["object"]
    switches = places[new] - 1
    made["word"][switches] = time[new] | np.uint64(Kind.THREAD)
    made["identity"][switches] = thread[new] + 1  # 0 is the buffer's own
    return made
