"""How locks look in figures and pages; without Matplotlib, so that a page can have it too."""

from dataclasses import dataclass, replace
from typing import Any

from sweeps.model.engines import Line
from sweeps.model.locks import FENCE_KINDS, LockLabel, load_locks


@dataclass(frozen=True)
class Style:
    """How a lock is drawn. `fill`: which part of a mark has the colour; `edge`: a mark's edge, if
    that has another."""

    colour: str
    hatch: str
    line: Line
    marker: str
    fill: str = "full"
    edge: str = ""

    @property
    def mark(self) -> dict[str, Any]:
        """Return the look of a point, as Matplotlib takes it."""
        return {
            "color": self.colour,
            "marker": self.marker,
            "fillstyle": self.fill,
            "markerfacecoloralt": "white",
            "markeredgecolor": self.edge or self.colour,
            "markersize": 4,
        }

    @property
    def curve(self) -> dict[str, Any]:
        """Return the look of a curve through points, as Matplotlib takes it."""
        return {"ls": self.line, **self.mark}


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
    "tnp": Style("#8C6D31", "oo", "-.", "+"),
    "biased": Style("#332288", "||", "--", "<"),
    "j9_reservation": Style("#88CCEE", "oo", "-.", ">"),
    "hotspot_light": Style("#D55E00", "--", "-", "*"),
    "hotspot_stack": Style("#661100", "++", "--", "p"),
    "j9_flat": Style("#F0E442", "\\\\", "-.", "h"),
    "art_thin": Style("#666633", "..", ":", "d"),
    "clr_thin": Style("#CCCCBB", "xx", "-", "8"),
    "nop": Style("#999999", "++", ":", "x"),
}
FLAVOUR_STYLES = {  # of figures whose colours tell instruction sets apart: colour, marker
    "lock": ("#0072B2", "o"),
    "larx": ("#D55E00", "s"),
    "lse": ("#009E73", "^"),
    "llsc": ("#CC79A7", "v"),
}
_LINES: tuple[Line, ...] = ("-", "--", "-.", ":")
_FILLS = ("full", "none", "left", "bottom", "top")
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
_MARKERS = "osD^vXPd<>p"  # their number and that of the colours have no common divisor
_HATCHES = ("++", "//", "..", "xx", "\\\\")


def style_at(place: int) -> Style:
    """Return the look at a place among things without one of their own; neighbours differ in
    colour, line and marker, and no two of some dozens are alike."""
    again, colour = divmod(place, len(_COLOURS))
    return Style(
        _COLOURS[colour],
        _HATCHES[place % len(_HATCHES)],
        _LINES[(place + again) % len(_LINES)],
        _MARKERS[place % len(_MARKERS)],
    )


# Of locks without a look of their own: what no other lock has.
_FREE = [
    look
    for look in map(style_at, range(len(_COLOURS) * len(_MARKERS)))
    if (look.colour, look.marker) not in {(own.colour, own.marker) for own in STYLES.values()}
]


def style_of(label: LockLabel) -> Style:
    """Return the look of a lock label: its lock's colour and marker; other lines, hatches and
    fillings for each variant and kind of fence. Locks without a look of their own have that of
    their place among them."""
    locks = load_locks()
    others = [name for name in (*locks, label.lock) if name not in STYLES]
    known = STYLES.get(label.lock) or _FREE[others.index(label.lock) % len(_FREE)]
    variants = ("", *locks[label.lock].variants[1:]) if label.lock in locks else ("",)
    kinds = list(FENCE_KINDS)
    # A stored run may have a variant or a kind that is no more.
    variant = variants.index(label.variant) if label.variant in variants else len(variants)
    kind = kinds.index(label.fence) if label.fence in kinds else len(kinds)
    if not (at := variant + kind):
        return known
    return replace(
        known,
        hatch=known.hatch + known.hatch[0] * (1 + at % 2),
        line=_LINES[(_LINES.index(known.line) + at) % len(_LINES)],
        fill=_FILLS[kind % len(_FILLS)],
        edge="black" if variant >= len(_LINES) else "",
    )
