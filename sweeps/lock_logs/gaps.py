"""The work of a program between its uses of locks: an out-of-order core hides an atomic
behind it.

- A gap is the time from a thread's last use of a lock, mostly the end of a section, to where it
  begins its next acquisition. Time in which it was parked, or waited, is left out. A gap includes
  causes that no log tells: the system ran another thread, or a system call blocked this one.
- A section is the time from an acquisition to the thread's next use of a lock.
- Work is both: from where one acquisition begins to where the next does.

A recorder adds to each. How much, it says of the loop by which `record` measures it, which does
nothing but lock: its gaps and sections are recording, and the runtime's lock. That is known between
a least and a most, and so is the rest.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pandas as pd

from sweeps.lock_logs.log import EventLog, Kind

Nanoseconds = npt.NDArray[np.float64]
WITHIN = (10, 25, 50, 100, 250, 500)  # nanoseconds: 40 to 2,000 cycles at 4 GHz
_BLOCKED = (Kind.ACQUIRE, Kind.WAIT, Kind.PARK)  # a thread whose last record is one of these
_QUANTILES = (0.05, 0.5, 0.95)  # the least, the middle and the most that recording adds


@dataclass(frozen=True)
class Gaps:
    """Nanoseconds as they were recorded, of each acquisition but the first of each thread: the gap
    before it, the section of the one before, and the work between both."""

    gap: Nanoseconds
    section: Nanoseconds
    work: Nanoseconds


def gaps_of(log: EventLog) -> Gaps:
    """Return the gaps of a log; nothing for a sample of the objects: others may lie between two."""
    told = ["cycle", "thread", "kind"]
    records = pd.concat([log.events[told], log.pauses[told]]).astype(np.int64)
    records = records.sort_values(["thread", "cycle"], kind="stable")
    cycle, thread, kind = (records[name].to_numpy() for name in told)
    same = np.append(False, thread[1:] == thread[:-1])[: len(kind)]
    before = np.where(same, np.append(0, kind[:-1])[: len(kind)], 0)
    ran = np.where(same & ~np.isin(before, _BLOCKED), np.diff(cycle, prepend=0), 0).cumsum()
    ran = ran * 1e3 / log.clock_mhz
    begins = (kind == Kind.ACQUIRE) | ((kind == Kind.ACQUIRED) & (before != Kind.ACQUIRE))
    of_locks, begun = np.flatnonzero(kind < Kind.STACK), np.flatnonzero(begins)
    first, then = begun[:-1], begun[1:]
    pairs = (thread[first] == thread[then]) & (log.sample == 1)
    first, then = first[pairs], then[pairs]
    taken = first + (kind[first] == Kind.ACQUIRE)
    last = of_locks[np.searchsorted(of_locks, then) - 1]
    end = of_locks[np.searchsorted(of_locks, taken, "right")]
    return Gaps(ran[then] - ran[last], ran[end] - ran[taken], ran[then] - ran[first])


def works_of(log: EventLog) -> Nanoseconds | None:
    """Return the work before each acquisition, without the middle of recording's addition; None for
    a log that lacks it."""
    if log.totals is None or not log.totals.gap_ns:
        return None
    taken = sum(ends[1] for ends in (log.totals.gap_ns, log.totals.section_ns))
    return np.maximum(gaps_of(log).work - taken, 0)


def parts_of(values: Nanoseconds, amounts: Sequence[float]) -> list[Fraction]:
    """Return the shares with which some amounts stand for values between them, to a hundredth. A
    value counts for the two around it, the nearer one the more; so the mean does not change."""
    place = np.interp(values, amounts, range(len(amounts)))
    low = np.minimum(place.astype(np.int64), len(amounts) - 2)
    counts = np.bincount(low, low + 1 - place, len(amounts))
    counts += np.bincount(low + 1, place - low, len(amounts))
    parts = [round(100 * count / len(values)) for count in counts]
    return [Fraction(part, sum(parts)) for part in parts]


def added(values: Nanoseconds) -> list[float]:
    """Return the least, the middle and the most that recording adds to each, by its log of a loop
    that does nothing but lock; nothing where that is nothing."""
    quantiles = np.quantile(values, _QUANTILES) if len(values) else ()
    return [round(float(value), 1) for value in quantiles]


def shares_within(values: Nanoseconds, ns: float, added: Sequence[float]) -> list[float]:
    """Return which share is within so many nanoseconds, had recording added so much or so much."""
    return [float((values <= ns + each).mean()) for each in added]
