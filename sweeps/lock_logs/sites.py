"""Where in a program its locks are taken, and what each place could save.

A place is a line of source. One in the JDK's own classes, a Vector's or a PrintStream's, says
little by itself: its acquisitions are given to the lines that call it, in the shares that the
stacks of a sample of them have.
"""

import pandas as pd

from sweeps.lock_logs.locality import Sections, with_owners
from sweeps.lock_logs.log import EventLog, Site

_OF_THE_JDK = ("java.", "javax.", "jdk.", "sun.", "com.sun.")


def sites(log: EventLog) -> pd.DataFrame:
    """Return a row for each place, the one with most acquisitions by the object's first thread
    before any other's first: these a lock that is biased makes free.

    Columns: `line` and, where that is in the JDK and was called from elsewhere, `through` it;
    `acquisitions`, nested ones too; `nested`, `first` (before any other thread's first) and
    `others` (not by the object's first thread) and `contended` of them; `objects` of the place,
    `changed`: those of them that another thread takes as well.
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
    marked = with_owners(Sections(log).acquisitions())
    by_site = marked.groupby("site")
    each = marked.drop_duplicates(["site", "object"]).groupby("site")
    return pd.DataFrame(
        {
            "acquisitions": by_site.size(),
            "nested": by_site["nested"].sum(),
            "first": by_site["before"].sum(),
            "others": by_site["other"].sum(),
            "contended": by_site["contended"].sum(),
            "objects": each.size(),
            "changed": each["shared"].sum(),
        }
    ).astype(float)


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
