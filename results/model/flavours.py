"""Instruction sets and their atomic flavours, as their architects write them."""


def flavour_name(flavour: str) -> str:
    """An atomic flavour: `LL/SC`."""
    return {"lse": "LSE", "llsc": "LL/SC"}.get(flavour, flavour)


def isa_words(title: str, flavour: str) -> str:
    """An ISA's title with the flavour where the ISA has several."""
    words = flavour_name(flavour)
    return title if words == flavour else f"{title} {words}"
