"""Contention and thread locality, measured from the lock-event log of a run.

The definitions are those of Kawachiya 2005, sections 4.4 and 5.2. Where they are silent:
- A synchronization operation (SyncOp) is an acquire, a release, a wait, a notify or a notify_all,
  nested ones too. Table 4.2 has two of them and a little more for each locked section of Table 4.4.
- A thread that comes to a free lock is not contending, though it needs some time to get it: it does
  from when another thread holds the lock on.
- An operation belongs to the fat section if the object is in one while the operation is made: the
  acquire that has to wait does, and the release that lets it in.
- The life of an object begins in a flat section, and every fat section that ends is followed by
  one. Table 4.3 agrees: its averages give (fat sections + objects) flat ones where nobody waits.
- A lock sequence (5.2) has nested acquisitions, but not those that a wait makes again.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from results.errors import LockcrossError
from sweeps.lock_logs.log import EventLog, Flags, Integers, Kind, levels

_THREAD_BITS = 24  # behind those of an object, where both are one number
_OPERATIONS = (Kind.ACQUIRED, Kind.RELEASE, Kind.WAIT, Kind.NOTIFY, Kind.NOTIFY_ALL)
_NOTIFICATION = (Kind.WAIT, Kind.NOTIFY, Kind.NOTIFY_ALL)


def repetitions(objects: pd.Series, threads: pd.Series) -> pd.DataFrame:
    """Return by object the length of its lock sequence, its `first` and its `longest` repetition.

    The n-th acquisition is that of objects[n] by threads[n]. The first repetition is the beginning
    that consists of the initial locker only, be it one acquisition.
    """
    sequence = pd.DataFrame({"object": objects.to_numpy(), "thread": threads.to_numpy()})
    sequence = sequence.sort_values("object", kind="stable", ignore_index=True)
    new = (sequence != sequence.shift()).any(axis=1)
    runs = sequence.groupby(new.cumsum()).agg(object=("object", "first"), size=("thread", "size"))
    by_object = runs.groupby("object")["size"]
    return pd.DataFrame(
        {"length": by_object.sum(), "first": by_object.first(), "longest": by_object.max()}
    )


def locality(log: EventLog) -> dict[str, int]:
    """Count each object's acquisitions by one thread in a row (repetitions): all `acquisitions`,
    those of the `first` repetitions (Table 5.2) and of each object's `longest`, whoever makes it;
    and the `objects` (5.3), of which `by_many` are synchronized by more than one thread."""
    acquired = log.events[log.events["kind"] == Kind.ACQUIRED]
    sums = repetitions(acquired["object"], acquired["thread"]).sum()
    threads = acquired.groupby("object")["thread"].nunique()
    return {
        "acquisitions": int(sums["length"]),
        "first": int(sums["first"]),
        "longest": int(sums["longest"]),
        "objects": len(threads),
        "by_many": int((threads > 1).sum()),
    }


def with_owners(acquired: pd.DataFrame) -> pd.DataFrame:
    """Return acquisitions with their facts: whether each is by another thread than the
    object's first locker, its owner (`other`), whether the object is `shared` with such a thread,
    and whether it is `before` any other thread's first."""
    other = acquired["thread"] != acquired.groupby("object")["thread"].transform("first")
    by_object = other.groupby(acquired["object"])
    shared, before = by_object.transform("any"), ~by_object.cummax()
    return acquired.assign(other=other, shared=shared, before=before)


@dataclass(frozen=True)
class Pattern:
    """How a program uses its locks, in the terms of `advise`: an object is shared if another thread
    than its owner takes it, too. Acquisitions are outermost ones, but for the last two shares."""

    threads: int
    shared_objects: float  # share of objects
    acquisitions: float  # of an object, in the mean of all
    shared_acquisitions: float  # of a shared one; 0: none is
    owner_share: float  # of all acquisitions
    first_share: float  # of shared objects' acquisitions, before anybody else's first
    run_length: float  # acquisitions in a row by a thread that is not the owner
    nested: float  # share of all acquisitions, nested ones too
    contended: float  # likewise


def pattern(log: EventLog) -> Pattern:
    """Return the pattern of a log. Raises LockcrossError for one without acquisitions."""
    every = Sections(log).acquisitions()
    if every.empty:
        raise LockcrossError(f"{log.name}: nothing is acquired in this log")
    ordered = with_owners(every[~every["nested"]])
    other, shared = ordered["other"], ordered["shared"]
    new = (ordered[["object", "thread"]] != ordered[["object", "thread"]].shift()).any(axis=1)
    objects = int(ordered["object"].nunique())
    changed = int(ordered.loc[shared, "object"].nunique())
    return Pattern(
        threads=int(ordered["thread"].nunique()),
        shared_objects=changed / objects,
        acquisitions=len(ordered) / objects,
        shared_acquisitions=float(shared.sum() / changed) if changed else 0.0,
        owner_share=float(1 - other.mean()),
        first_share=float(ordered.loc[shared, "before"].mean()) if changed else 1.0,
        run_length=float(other.sum() / (new & other).sum()) if changed else 0.0,
        nested=float(every["nested"].mean()),
        contended=float(every["contended"].mean()),
    )


class Sections:
    """The flat, fat and locked sections of every object of a log.

    Raises LockcrossError for a log by which two threads hold one object at once, unless it tells
    objects apart by a hash: then two have one hash; `shared_hashes` counts how often that shows.
    """

    def __init__(self, log: EventLog) -> None:
        order = np.argsort(log.events["object"].to_numpy(), kind="stable")
        self.events = log.events.iloc[order].reset_index(drop=True)
        self.log = log
        self._kind: Integers = self.events["kind"].to_numpy()
        self._object: Integers = self.events["object"].to_numpy()
        # Of one thread at one object, in order.
        thread = self.events["thread"].to_numpy().astype(np.int64)
        self._by_thread: Integers = self._object << _THREAD_BITS | thread
        change = self._is(Kind.ACQUIRED).astype(np.int64) - self._is(Kind.RELEASE)
        self._depth = levels(change, self._by_thread)  # how often a thread has the object
        # Of ACQUIRE, ACQUIRED and RELEASE: which are not nested.
        self._outermost: Flags = self._depth == self._is(Kind.ACQUIRED)
        self._gains = self._is(Kind.WAITED) | (self._is(Kind.ACQUIRED) & self._outermost)
        self._losses = self._is(Kind.WAIT) | (self._is(Kind.RELEASE) & self._outermost)
        places = np.flatnonzero(self._gains | self._losses)
        again = self._gains[places[:-1]] & self._gains[places[1:]]
        again &= self._object[places[:-1]] == self._object[places[1:]]
        self.shared_hashes = int(again.sum())
        if self.shared_hashes and not log.identity_bits:
            cycle = self.events["cycle"].iloc[places[1:][again][0]]
            raise LockcrossError(
                f"{log.name}: at cycle {cycle} a thread acquires a lock that another holds: the "
                "log is of a lock that excludes nobody"
            )
        change, self._waited_for = self._contention()
        level = levels(change, self._object)
        self._fat_after: Flags = level > 0
        self._fat_before: Flags = level - change > 0

    def _is(self, *kinds: Kind) -> Flags:
        return np.isin(self._kind, kinds)

    def _contention(self) -> tuple[Integers, Flags]:
        """Return at each record by how much the number of contending and waiting threads changes,
        and whether a thread gets the lock there that had to contend for it."""
        size = len(self._kind)
        begins = np.flatnonzero(self._is(Kind.ACQUIRE) & self._outermost)
        # Where each has the lock; behind all records where it never does. A thread tells nothing in
        # between.
        index = pd.Series(np.arange(size))
        ends = index.groupby(self._by_thread).shift(-1, fill_value=size).to_numpy()[begins]
        last, following = self._neighbours(begins, self._gains | self._losses)
        _, gain = self._neighbours(begins, self._gains)  # of any thread
        # A lock that is held when the log begins has its release as the first record.
        held = np.where(last >= 0, self._gains[last], np.append(self._losses, False)[following])
        contended = held | ((gain < size) & (gain != ends))
        waited_for: Flags = np.isin(np.arange(size), ends[contended])
        change = self._is(Kind.WAIT).astype(np.int64) - self._is(Kind.WAITED) - waited_for
        np.add.at(change, np.where(held, begins, gain)[contended], 1)
        return change, waited_for

    def _neighbours(self, places: Integers, marked: Flags) -> tuple[Integers, Integers]:
        """Return for records at some places, which are not marked, the last marked one of the same
        object before each (or -1), and the next one behind it (or the number of records)."""
        size = len(marked)
        marks = pd.Series(np.where(marked, np.arange(size), np.nan)).groupby(self._object)
        last, following = marks.ffill().fillna(-1), marks.bfill().fillna(size)
        return np.asarray(last, np.int64)[places], np.asarray(following, np.int64)[places]

    def acquisitions(self) -> pd.DataFrame:
        """Return the records of all acquisitions, those of an object in order: which are `nested`,
        and which `contended`: they found the lock held, or lost it to another thread."""
        marks = {"nested": ~self._outermost, "contended": self._waited_for}
        return self.events.assign(**marks)[self._is(Kind.ACQUIRED)].reset_index(drop=True)

    def operations(self) -> pd.DataFrame:
        """Return the synchronization operations: object, kind, whether in a fat section (`in_fat`),
        whether the lock was inflated (`fat`)."""
        in_fat = np.where(self._is(Kind.ACQUIRED), self._fat_before, self._fat_after)
        table = self.events[["object", "kind", "fat"]].assign(in_fat=in_fat)
        return table[self._is(*_OPERATIONS)]

    def objects(self) -> pd.DataFrame:
        """Return by object its operations, those in fat sections and on an inflated lock, its fat
        and flat sections, whether it takes part in event notification (`waits`)."""
        begins = np.diff(self._object, prepend=-1) != 0  # here the records of an object begin
        before, after = self._fat_before, self._fat_after
        # The log may find an object in a fat section.
        fat = (after & ~before) | (begins & before)
        flat = (before & ~after) | (begins & ~before)
        sums = pd.DataFrame({"fat": fat, "flat": flat}).groupby(self._object).sum()
        done = self.operations().assign(waits=lambda t: t["kind"].isin(_NOTIFICATION))
        by_object = done.groupby("object").agg(
            operations=("kind", "size"),
            in_fat=("in_fat", "sum"),
            inflated=("fat", "sum"),
            waits=("waits", "any"),
        )
        # Of no operation at all, pandas does not know that `waits` is a truth value.
        return by_object.assign(fat=sums["fat"], flat=sums["flat"]).astype({"waits": bool})

    def statistics(self) -> dict[str, int]:
        """Return Table 4.2: threads, synchronized objects and their operations, and those of them
        that are heavily synchronized: with one fat section or more."""
        objects = self.objects()
        heavy = objects[objects["fat"] > 0]
        return {
            "threads": self.events["thread"].nunique(),
            "objects": len(objects),
            "operations": int(objects["operations"].sum()),
            "heavy_objects": len(heavy),
            "heavy_operations": int(heavy["operations"].sum()),
        }

    def contention(self) -> pd.DataFrame:
        """Return Table 4.3, of the heavily synchronized objects in the groups `nowait` and `wait`:
        their number, operations, fat and flat sections, operations in fat sections (`in_fat`) and
        on an inflated lock."""
        objects = self.objects().assign(objects=1)
        sums = objects[objects["fat"] > 0].groupby("waits").sum()
        groups = sums.reindex([False, True], fill_value=0).set_axis(["nowait", "wait"])
        columns = ["objects", "operations", "fat", "flat", "in_fat", "inflated"]
        return groups[columns]

    def dynamics(self) -> dict[str, dict[str, int]]:
        """Return Table 4.6: inflations, deflations and the operations while `inflated`, of locks
        that go by the rules of `thin` and `tasuki` and, where the log tells it, as the program's
        `own` lock went.

        By both rules a thread that had to contend inflates the lock once it has it (Bacon et al.
        1998, 2.3.4), and so does a wait. `tasuki` deflates it at an outermost release when nobody
        contends or waits, but never where somebody has waited: outside the nowait group (4.6).
        Overflows of a nest count are left out. A change of the `own` lock counts if it shows
        between two records of an object: the effect of its last release does not show.
        """
        waits = pd.Series(self._is(Kind.WAIT))
        inflates = self._waited_for | waits.to_numpy()
        nowait = ~waits.groupby(self._object).cummax().to_numpy()
        ceased = self._is(Kind.RELEASE) & self._losses & ~self._fat_after & nowait
        after = {"own": self.events["fat"].to_numpy()} if self.log.tells_modes else {}
        after["thin"] = self._inflated(inflates, np.zeros_like(inflates))
        after["tasuki"] = self._inflated(inflates, ceased)
        found = {}
        for rule, mode in after.items():
            before = np.roll(mode, 1) & (np.diff(self._object, prepend=-1) == 0)
            # An engine records the mode where an acquire ends, and where all else begins.
            at = mode if rule == "own" else np.where(self._is(Kind.ACQUIRED), mode, before)
            found[rule] = {
                "inflations": int((mode & ~before).sum()),
                "deflations": int((before & ~mode).sum()),
                "inflated": int((at & self._is(*_OPERATIONS)).sum()),
            }
        return found

    def _inflated(self, inflates: Flags, deflates: Flags) -> Flags:
        """Return whether an object, flat at first, is inflated behind each record, by the records
        that inflate and deflate it."""
        changes = pd.Series(np.select([inflates, deflates], [1.0, 0.0], np.nan))
        inflated: Flags = (changes.groupby(self._object).ffill() == 1.0).to_numpy()
        return inflated

    def nesting(self) -> pd.Series:
        """Return Figure 3 of Bacon et al. 1998: how many acquisitions are of an object that their
        thread then has once, twice, and so on: by that depth."""
        depth = pd.Series(self._depth[self._is(Kind.ACQUIRED)])
        return depth.value_counts().sort_index()

    def reservations(self) -> dict[str, int]:
        """Return Tables 5.6 and 6.2: of all `acquisitions` those that a `reservation` of the
        object's first locker makes cheap, and those that an `asymmetric` lock does, whose owner
        that thread stays; `cancellations`.

        A hit is an outermost acquisition by the owner (6.6.2), the first one too: in Table 6.2
        _209_db has fewer misses than objects. A reservation is cancelled when another thread begins
        to acquire the object, or its owner waits (Figure 5.6). A recursion count that overflows
        cancels it, too, and is left out.
        """
        thread = self.events["thread"]
        tries = pd.Series(self._is(Kind.ACQUIRE, Kind.ACQUIRED))
        acquired = pd.Series(self._is(Kind.ACQUIRED))
        owner = thread.where(acquired).groupby(self._object).transform("first")
        ends = tries & (thread != owner) & owner.notna() | self._is(Kind.WAIT)
        ended: pd.Series = ends.groupby(self._object).cummax()
        first = acquired & (acquired.groupby(self._object).cumsum() == 1)
        hit = acquired & self._outermost & (thread == owner)
        return {
            "acquisitions": int(acquired.sum()),
            "reservation": int((hit & (first | ~ended)).sum()),
            "cancellations": int(ended.groupby(self._object).last().sum()),
            "asymmetric": int(hit.sum()),
        }

    def locked(self) -> pd.DataFrame:
        """Return the locked sections: object, thread, begin and end (cycles). Those that the log
        does not have whole are left out."""
        changes = self.events[self._gains | self._losses]
        gain = self._gains[changes.index.to_numpy()]
        later = changes[["object", "cycle"]].shift(-1, fill_value=-1)
        complete = gain & (changes["object"] == later["object"]).to_numpy()
        begin = changes[["object", "thread", "cycle"]].rename(columns={"cycle": "begin"})
        sections: pd.DataFrame = begin.assign(end=later["cycle"])[complete]
        return sections

    def durations(self, long: float) -> dict[str, float]:
        """Return Table 4.4: the sections, their average and longest duration (cycles), and how many
        are `long`: of so many cycles or more."""
        sections = self.locked()
        lengths = sections["end"] - sections["begin"]
        return {
            "sections": len(lengths),
            "average": float(lengths.mean()) if len(lengths) else 0.0,
            "longest": int(lengths.max()) if len(lengths) else 0,
            "long": int((lengths >= long).sum()),
        }
