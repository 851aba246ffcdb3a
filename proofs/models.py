"""What a proof assumes of the hardware beyond a model: proofs/assumptions.toml."""

from dataclasses import dataclass
from enum import StrEnum


class Flavour(StrEnum):
    """What a program may rely on: the flavours of lockimpl/arch/model.h."""

    WEAK = "weak"
    TSO = "tso"


@dataclass(frozen=True)
class Model:
    """A model of our own checker. `isas`: those that promise at least as much."""

    name: str
    flavour: Flavour
    says: str
    isas: tuple[str, ...]


TSO = Model("tso", Flavour.TSO, "total store order; a load may take bytes from the store buffer "
            "and others from memory", ("x86_64",))  # fmt: skip
TSO_WAIT = Model("tso-wait", Flavour.TSO, "total store order where a load that is wider than a "
                 "buffered store waits until that is in memory", ("x86_64",))  # fmt: skip
WEAK = Model("weak", Flavour.WEAK, "C11's acquire, release and fences, without load buffering; "
             "each byte of an access by itself", ("ppc64le", "aarch64"))  # fmt: skip
WEAK_SI = Model("weak-si", Flavour.WEAK, "as weak, and the bytes of one access are read and "
                "written together", ("aarch64",))  # fmt: skip
MODELS = {one.name: one for one in (TSO, TSO_WAIT, WEAK, WEAK_SI)}


def models_for(flavour: Flavour, fence: str) -> tuple[Model, ...]:
    """The models under which a program is checked. Each promises at least as much as the one before
    it: what is proved under one need not be tried under the next."""
    if flavour == Flavour.WEAK:
        return (WEAK, WEAK_SI)
    return (TSO, TSO_WAIT) if fence == "store_forward" else (TSO,)
