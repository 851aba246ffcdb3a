"""How locks look in figures and pages; without Matplotlib, so that a page can have it too."""

from dataclasses import dataclass, replace
from typing import Any

from sweeps.model.engines import Line
from sweeps.model.locks import LockLabel


@dataclass(frozen=True)
class Style:
    """How a lock is drawn."""

    colour: str
    hatch: str
    line: Line
    marker: str

    @property
    def curve(self) -> dict[str, Any]:
        """Of a curve through points, as Matplotlib takes it."""
        return {"ls": self.line, "color": self.colour, "marker": self.marker, "markersize": 4}


# The colour-blind tell them apart (tests/report/test_style.py). Blue: the lock is reserved for an
# owner; green: it is asymmetric; the others take an atomic for each acquisition.
STYLES = {
    "tasuki": Style("#E69F00", "///", "-", "o"),
    "reservation": Style("#0072B2", "...", "--", "s"),
    "asym_tasuki": Style("#009E73", "\\\\\\", "-.", "D"),
    "thin": Style("#CC79A7", "xx", ":", "^"),
    "cas_spin": Style("#56B4E9", "++", ":", "P"),
    "asym_spin1": Style("#117733", "++", ":", "X"),
    "mcs": Style("#000000", "**", "--", "v"),
    "tnp": Style("#8C6D31", "oo", "-.", "P"),
    "biased": Style("#332288", "||", "--", "<"),
    "j9_reservation": Style("#88CCEE", "oo", "-.", ">"),
    "hotspot_light": Style("#D55E00", "--", "-", "*"),
    "hotspot_stack": Style("#661100", "++", "--", "p"),
    "j9_flat": Style("#F0E442", "\\\\", "-.", "h"),
    "art_thin": Style("#666633", "..", ":", "d"),
    "clr_thin": Style("#CCCCBB", "xx", "-", "8"),
    "nop": Style("#999999", "++", ":", "v"),
}
FLAVOUR_STYLES = {  # of figures whose colours tell instruction sets apart: colour, marker
    "lock": ("#0072B2", "o"),
    "larx": ("#D55E00", "s"),
    "lse": ("#009E73", "^"),
    "llsc": ("#CC79A7", "v"),
}
_OTHERS = ("#56B4E9", "#D55E00", "#F0E442", "#999999")
_LINES: tuple[Line, ...] = ("-", "--", "-.", ":")


_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
_MARKERS = "osD^vXPd"


def style_at(place: int) -> Style:
    """Return the look of the curve at a place among some that are no locks."""
    colour, marker = _COLOURS[place % len(_COLOURS)], _MARKERS[place % len(_MARKERS)]
    return Style(colour, "", _LINES[place % len(_LINES)], marker)


def style_of(label: LockLabel) -> Style:
    """Return the look of a lock label: its lock's colour, in other lines and hatches for a variant.
    Locks without a look of their own get a colour by their name."""
    colour = _OTHERS[sum(label.lock.encode()) % len(_OTHERS)]
    known = STYLES.get(label.lock, Style(colour, "++", ":", "v"))
    if not label.variant:
        return known
    others = [line for line in _LINES if line != known.line]
    line = others[sum(label.variant.encode()) % len(others)]
    return replace(known, hatch=known.hatch + known.hatch[0], line=line)
