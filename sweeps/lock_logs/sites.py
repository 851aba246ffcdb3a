"""Where in a program its locks are taken, and the possible saving of each place.

A place is a line of source. One in the JDK's own classes, a Vector's or a PrintStream's, says
little by itself: its acquisitions are given to the lines that call it, in the shares that the
stacks of a sample of them have.
"""

import numpy as np
import pandas as pd

from sweeps.lock_logs.locality import with_owners
from sweeps.lock_logs.log import EventLog, Kind, Site, levels

_OF_THE_JDK = ("java.", "javax.", "jdk.", "sun.", "com.sun.")


def sites(log: EventLog) -> pd.DataFrame:
    """Return a row for each place, the one with most acquisitions by the object's first thread
    before any other's first: these a lock that is biased makes free.

    Columns: `line` and, where that is in the JDK and was called from elsewhere, `through` it;
    `acquisitions`, nested ones too; `nested`, `first` (before any other thread's first) and
    `others` (not by the object's first thread) of them, `waited` for another thread; `objects` of
    the place, `changed`: those of them that another thread takes as well.
    """
    counts = _by_site(log)
    rows = []
    callers = _callers(log)
    for site, row in counts.iterrows():
        named = log.sites.get(int(str(site)))
        parts = callers.get(int(str(site))) if named is None or named.jdk else None
        for line, share in parts.items() if parts else [(_line(named), 1.0)]:
            through = f"{named.type}.{named.method}" if named and parts and share else ""
            rows.append({"line": line, "through": through, **(row * share).to_dict()})
    table = pd.DataFrame(rows, columns=["line", "through", *counts.columns])
    table = table.groupby(["line", "through"], as_index=False).sum()
    return table.sort_values(["first", "acquisitions", "line"], ascending=[False, False, True])


def _by_site(log: EventLog) -> pd.DataFrame:
    events = log.events
    acquired = events[events["kind"] == Kind.ACQUIRED]
    begun = events["kind"] == Kind.ACQUIRE
    marked = with_owners(acquired).assign(nested=_nested(acquired, events))
    by_site = marked.groupby("site")
    each = marked.drop_duplicates(["site", "object"]).groupby("site")
    return (
        pd.DataFrame(
            {
                "acquisitions": by_site.size(),
                "nested": by_site["nested"].sum(),
                "first": by_site["before"].sum(),
                "others": by_site["other"].sum(),
                "waited": events[begun].groupby("site").size(),
                "objects": each.size(),
                "changed": each["shared"].sum(),
            }
        )
        .fillna(0)
        .astype(float)
        .loc[lambda table: table["acquisitions"] > 0]
    )


def _nested(acquired: pd.DataFrame, events: pd.DataFrame) -> pd.Series:
    """Return whether each acquisition is by a thread that has the object already."""
    kinds = events["kind"].to_numpy()
    taken = (kinds == Kind.ACQUIRED).astype(np.int64)
    by_thread = np.asarray(events.groupby(["object", "thread"]).ngroup(), np.int64)
    depth = levels(taken - (kinds == Kind.RELEASE), by_thread)
    nested: pd.Series = pd.Series(depth, events.index).loc[acquired.index] > 1
    return nested


def _callers(log: EventLog) -> dict[int, dict[str, float]]:
    """Return for each site the shares of the lines of the program that it is called from."""
    found: dict[int, dict[str, float]] = {}
    pairs = log.stacks.groupby(["site", "stack"]).size().reset_index(name="count")
    for site, stack, count in pairs.astype(int).to_numpy().tolist():
        frames = log.frames.get(stack, ())  # the innermost first
        if line := next((frame for frame in frames if not frame.startswith(_OF_THE_JDK)), ""):
            of_site = found.setdefault(site, {})
            of_site[line] = of_site.get(line, 0.0) + count
    for of_site in found.values():
        total = sum(of_site.values())
        for line in of_site:
            of_site[line] /= total
    return found


def _line(site: Site | None) -> str:
    return "unknown" if site is None else f"{site.type}.{site.method}:{site.line}"
