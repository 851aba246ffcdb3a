"""The engines: the one registry of them. The folder of its name in sweeps/engines has an engine's
code; here are the facts for tables and figures."""

from dataclasses import dataclass
from typing import Literal

Line = Literal["-", "--", "-.", ":"]


@dataclass(frozen=True)
class Engine:
    """One entry. `label`: the folder in sweeps/engines, and after a slash the core model where the
    engine has several; after a further slash, an option of the engine.

    `title`: its name for people. `own_costs`: its core model decides the cost of an atomic or a
    fence, not the machine's description, so a real processor cannot be placed among its
    measurements. `colour`, `line` and `marker` are those of figures. `silicon`: it is a processor,
    no simulator.
    """

    label: str
    title: str
    own_costs: bool
    colour: str
    line: Line
    marker: str
    silicon: bool = False

    @property
    def family(self) -> str:
        """Return the folder in sweeps/engines."""
        return self.label.partition("/")[0]


# In the order of figures and tables. The first one is the default wherever an engine is chosen.
ENGINES = [
    Engine("qemu", "embedded engine", False, "#000000", "-", "o"),
    Engine("sst", "SST", False, "#56B4E9", "-.", "v"),
    Engine("gem5/timing", "gem5 TimingSimple", True, "#0072B2", "--", "s"),
    Engine("gem5/minor", "gem5 Minor", True, "#009E73", "-.", "D"),
    Engine("gem5/o3", "gem5 O3", True, "#D55E00", ":", "^"),
    Engine("native", "the host", True, "#CC79A7", "-", "*", silicon=True),
]
DEFAULT = ENGINES[0].label


def labels() -> list[str]:
    return [engine.label for engine in ENGINES]


def entry(label: str) -> Engine:
    """Return the entry of an engine label, whatever its options. One that is in no registry, as a
    database may have it, stands for itself."""
    known = next((engine for engine in ENGINES if f"{label}/".startswith(f"{engine.label}/")), None)
    return known or Engine(label, label, True, "#666666", ":", "x")


def title(label: str) -> str:
    """Return an engine label in words: `gem5/minor/sentinel` is `gem5 Minor, sentinel`."""
    known = entry(label)
    options = label.removeprefix(known.label).strip("/")
    return ", ".join([known.title, *options.split("/")]) if options else known.title


def order(label: str) -> tuple[int, str]:
    """Return a key that sorts engine labels as in the registry; those it does not have come
    last."""
    known = entry(label)
    return (ENGINES.index(known) if known in ENGINES else len(ENGINES), label)
