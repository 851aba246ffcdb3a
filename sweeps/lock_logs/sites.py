"""Where in a program its locks are taken, and the possible saving of each place.

A place is a line of source. One in the JDK's own classes, a Vector's or a PrintStream's, says
little by itself: its acquisitions are given to the lines that call it, in the shares that the
stacks of a sample of them have.
"""

from collections import Counter, defaultdict
from math import nan, sqrt

import pandas as pd

from sweeps.lock_logs.locality import Sections, with_owners
from sweeps.lock_logs.log import EventLog, Site

_SURE = 1.96  # standard deviations: 19 times in 20
_OF_THE_JDK = ("java.", "javax.", "jdk.", "sun.", "com.sun.")


def sites(log: EventLog) -> pd.DataFrame:
    """Return a row for each place, the one with most acquisitions first.

    Columns: `line` and, where that is in the JDK and was called from elsewhere, `through` it;
    `acquisitions`, nested ones too; `nested`, `first` (before any other thread's first) and
    `others` (not by the object's first thread) and `contended` of them; `objects` of the place,
    `changed`: those of them that another thread takes as well. `off`: acquisitions by which the
    share of a sampled line may be wrong, 19 times in 20; not a number where nothing was sampled.
    """
    native = log.about.get("log") == "pthread"
    counts, rows = _by_site(log, native), []
    callers = _callers(log)
    for site, row in counts.iterrows():
        named = log.sites.get(int(str(site)))
        parts = callers.get(int(str(site))) if named is None or named.jdk else None
        if not parts:
            rows.append({"line": _line(named, native), "through": "", **row, "off": nan})
            continue
        through, stacks = (
            "" if named is None else f"{named.type}.{named.method}",
            sum(parts.values()),
        )
        for line, count in parts.items():
            share = count / stacks
            off = row["acquisitions"] * _half_width(share, stacks)
            rows.append({"line": line, "through": through, **row * share, "off": off})
    table = pd.DataFrame(rows, columns=["line", "through", *counts.columns, "off"])
    table = table.groupby(["line", "through"], as_index=False).sum(min_count=1)
    return table.sort_values(["acquisitions", "line"], ascending=[False, True])


def _half_width(share: float, count: int) -> float:
    """Return by how much a share that was found in so many draws may be off (Wilson's interval)."""
    part = _SURE**2 / count
    return _SURE * sqrt(share * (1 - share) / count + part / count / 4) / (1 + part)


def _by_site(log: EventLog, native: bool) -> pd.DataFrame:
    marked = with_owners(Sections(log).acquisitions())
    # Several places of one line count as one: of a call that a compiler has repeated, too.
    first = dict[str, int]()
    same = {n: first.setdefault(_line(s, native), n) for n, s in log.sites.items() if not s.jdk}
    marked = marked.assign(site=marked["site"].map(lambda number: same.get(number, number)))
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


def _callers(log: EventLog) -> dict[int, Counter[str]]:
    """Return for each site how many stacks have which line of the program, that calls it."""
    found: dict[int, Counter[str]] = defaultdict(Counter)
    pairs = log.stacks.groupby(["site", "stack"]).size().reset_index(name="count")
    for site, stack, count in pairs.astype(int).to_numpy().tolist():
        frames = log.frames.get(stack, ())  # the innermost first
        if line := next((frame for frame in frames if not frame.startswith(_OF_THE_JDK)), ""):
            found[site][line] += count
    return found


def _line(site: Site | None, native: bool) -> str:
    if site is None:
        return "unknown"
    if native:
        place = f"{site.file}:{site.line}, " if site.line else f"{site.type}, "
        return place + site.method
    return f"{site.type}.{site.method}:{site.line}"
