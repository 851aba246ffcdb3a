"""The state of an object's owner when another thread first takes it: the cost of a revocation
depends on it.

Ends of threads, parks and waits for monitors are in the log of a Java program. A thread that did
something with locks just before and does so just behind runs. Its other actions no log tells: it
may run, or be blocked in a system call.
"""

import numpy as np
import pandas as pd

from sweeps.lock_logs.locality import with_owners
from sweeps.lock_logs.log import EventLog, Kind

_NEAR = 10  # microseconds: no thread blocks in a system call and is back by then
_BLOCKED = (Kind.ACQUIRE, Kind.WAIT, Kind.PARK)  # a thread whose last record is one of these


def owners(log: EventLog) -> dict[str, float]:
    """Return in which shares the owners of a log's objects were running, blocked and ended when
    another thread came, and of which that is untold: they ran, or were blocked out of sight. Empty
    where no other thread came."""
    acquired = log.events[log.events["kind"] == Kind.ACQUIRED]
    marked = with_owners(acquired)
    marked = marked.assign(owner=marked.groupby("object")["thread"].transform("first"))
    takes = marked[marked["other"]].drop_duplicates("object")[["cycle", "owner"]]
    if takes.empty:
        return {}
    takes = takes.rename(columns={"owner": "thread"})
    told = ["cycle", "thread", "kind"]
    states = pd.concat([log.events[told], log.pauses[told]]).astype(np.int64)
    states = states.sort_values("cycle", kind="stable").assign(at=lambda t: t["cycle"])
    takes = takes.astype(np.int64).sort_values("cycle", kind="stable")
    before = pd.merge_asof(takes, states, on="cycle", by="thread", allow_exact_matches=False)
    behind = pd.merge_asof(takes, states, on="cycle", by="thread", direction="forward")
    # A thread that ends gives up its group's and its own monitors behind that.
    ends = log.pauses[log.pauses["kind"] == Kind.END].groupby("thread")["cycle"].min()
    ended = (before["thread"].map(ends) < before["cycle"]).to_numpy()
    blocked = before["kind"].isin(_BLOCKED).to_numpy() & ~ended
    near = (behind["at"] - before["at"]).to_numpy() <= _NEAR * log.clock_mhz
    running = near & ~ended & ~blocked
    states_of = {"running": running, "blocked": blocked, "ended": ended}
    untold = ~(running | blocked | ended)
    return {name: float(flags.mean()) for name, flags in (states_of | {"untold": untold}).items()}
