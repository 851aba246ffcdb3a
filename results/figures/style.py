"""How locks look in every figure: Okabe-Ito colours, told apart by hatching and line style too."""

from dataclasses import dataclass
from typing import Any, Literal

RC: dict[Any, Any] = {  # what Matplotlib takes; its own type lists every key
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "hatch.linewidth": 0.5,
    "hatch.color": "#00000040",
    "svg.hashsalt": "lockcross",  # the same data give the same bytes
    "savefig.dpi": 200,
}


@dataclass(frozen=True)
class Look:
    """A lock's name in words, and how it is drawn."""

    name: str
    colour: str
    hatch: str
    line: Literal["-", "--", "-.", ":"]
    marker: str


LOOKS = {
    "tasuki": Look("tasuki", "#E69F00", "///", "-", "o"),
    "reservation": Look("reservation", "#0072B2", "...", "--", "s"),
    "asym_tasuki": Look("asymmetric", "#009E73", "\\\\\\", "-.", "D"),
    "thin": Look("thin", "#CC79A7", "xx", ":", "^"),
    "cas_spin": Look("cas_spin", "#56B4E9", "++", ":", "P"),
    "asym_spin1": Look("asym_spin1", "#D55E00", "++", ":", "X"),
    "null": Look("null", "#999999", "++", ":", "v"),
}
FLAVOUR_LOOKS = {  # of figures whose colours tell instruction sets apart: colour, marker
    "lock": ("#0072B2", "o"),
    "larx": ("#D55E00", "s"),
    "lse": ("#009E73", "^"),
    "llsc": ("#CC79A7", "v"),
}
ENGINE_LOOKS: dict[str, tuple[str, Literal["-", "--", "-.", ":"], str]] = {  # colour, line, marker
    "qemu": ("#000000", "-", "o"),
    "gem5/timing": ("#0072B2", "--", "s"),
    "gem5/minor": ("#009E73", "-.", "D"),
    "gem5/o3": ("#D55E00", ":", "^"),
}
_OTHERS = ("#56B4E9", "#D55E00", "#F0E442", "#999999")
LATENCIES = {"cas": "CAS set to", "fence_latency": "fence set to", "cancel": "cancellation set to"}
_MODELS = {"timing": "TimingSimple", "minor": "Minor", "o3": "O3"}
FENCE_KINDS = {"rmw": "locked RMW", "store_forward": "store forwarding"}


def look(label: str) -> Look:
    """The look of a lock label; locks without one of their own get a colour by their name."""
    lock = label.partition("/")[0]
    if lock in LOOKS:
        return LOOKS[lock]
    return Look(lock, _OTHERS[sum(lock.encode()) % len(_OTHERS)], "++", ":", "v")


def name(label: str, separator: str = ", ") -> str:
    """A lock label in words: `asymmetric, store forwarding`."""
    kind = label.partition("/")[2]
    return look(label).name + (f"{separator}{FENCE_KINDS.get(kind, kind)}" if kind else "")


def flavour_name(flavour: str) -> str:
    """An atomic flavour as its architects write it."""
    return {"lse": "LSE", "llsc": "LL/SC"}.get(flavour, flavour)


def isa_words(title: str, flavour: str) -> str:
    """An ISA's title with the flavour where the ISA has several."""
    words = flavour_name(flavour)
    return title if words == flavour else f"{title} {words}"


def engine_name(label: str) -> str:
    """An engine label in words: `gem5/minor/sentinel` is `gem5 Minor, sentinel`."""
    engine, _, rest = label.partition("/")
    model, *variants = rest.split("/")
    if not rest:
        return engine
    return ", ".join([f"{engine} {_MODELS.get(model, model)}", *variants])


def engine_order(label: str) -> tuple[int, str]:
    """Sorts engine labels: the embedded engine, then gem5's models from simple to detailed."""
    engine, _, rest = label.partition("/")
    models = list(_MODELS)
    model = rest.partition("/")[0]
    place = models.index(model) if model in models else len(models)
    return (place + 1 if rest else 0, label if rest else engine)
