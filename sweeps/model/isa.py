"""Instruction sets: their flavours, their full fence, and which fence kinds they allow."""

import platform
from dataclasses import dataclass


def flavour_name(flavour: str) -> str:
    """Return an atomic flavour as people write it: `LL/SC`."""
    return {"lse": "LSE", "llsc": "LL/SC"}.get(flavour, flavour)


def isa_words(title: str, flavour: str) -> str:
    """Return an ISA's title, with the flavour where the ISA has several."""
    words = flavour_name(flavour)
    return title if words == flavour else f"{title} {words}"


@dataclass(frozen=True)
class Isa:
    """One instruction set. `fences` names the latencies a machine must give for it."""

    name: str
    title: str
    flavours: tuple[str, ...]  # the first is the default
    full_fence: str
    fences: tuple[str, ...]
    refused_fence_kinds: dict[str, str]  # fence kind -> why it is not available
    weakly_ordered: bool = True  # a lock needs more than plain loads and stores


def _weak(title: str) -> dict[str, str]:
    return {
        "rmw": "only x86-64's locked instructions order an earlier store before a later load; "
        f"{title}'s atomics do not promise that",
        "lock_add": f"only x86-64's locked instructions are full fences; {title}'s are none",
        "store_forward": f"{title}'s memory model does not promise that a wide load which covers a "
        "narrow store is performed after it",
    }


ISAS: dict[str, Isa] = {
    isa.name: isa
    for isa in (
        Isa(
            "x86_64",
            "x86-64",
            ("lock",),
            "fence_mfence",
            ("fence_mfence", "fence_lfence", "fence_sfence"),
            {},
            weakly_ordered=False,
        ),
        Isa(
            "ppc64le",
            "POWER",
            ("larx",),
            "fence_hwsync",
            ("fence_hwsync", "fence_lwsync", "fence_isync"),
            _weak("POWER"),
        ),
        Isa(
            "aarch64",
            "AArch64",
            ("lse", "llsc"),
            "fence_dmb",
            ("fence_dmb", "fence_dmb_ld", "fence_dmb_st", "fence_dsb", "fence_isb"),
            _weak("AArch64"),
        ),
    )
}
FLAVOURS = tuple(flavour for isa in ISAS.values() for flavour in isa.flavours)


def isa_of(flavour: str) -> str:
    return next(isa.name for isa in ISAS.values() if flavour in isa.flavours)


def host_isa() -> str:
    """Return this host's ISA: one of ISAS, or the kernel's name of one that is none of them."""
    return platform.machine()
