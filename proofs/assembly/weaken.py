"""An ordering instruction weakened by itself: what shows that a test can fail."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from proofs.assembly.source import Instruction, Thread
from sweeps.programs import TARGETS

# Instruction -> what is weaker, of each instruction set.
WEAKER: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "aarch64": (
        (r"ldar([bh]?)", (r"ldr\1",)),
        (r"stlr([bh]?)", (r"str\1",)),
        (r"ldaxr", ("ldxr",)),
        (r"stlxr", ("stxr",)),
        (r"(cas|swp|ldadd)al", (r"\1a", r"\1l")),
        (r"(cas|swp|ldadd)[al]", (r"\1",)),
        (r"dmb ish", ("dmb ishld", "dmb ishst")),
    ),
    "ppc64le": (
        (r"hwsync", ("lwsync",)),
        (r"lwsync", ("nop",)),
        (r"isync", ("nop",)),
    ),
    "x86_64": (
        (r"mfence", ("nop",)),
        (r"lock (cmpxchg)", (r"\1",)),
        (r"xchg", ("mov",)),
    ),
}


def is_ordering(one: Instruction, flavour: str) -> bool:
    """Whether an instruction can be weakened."""
    return any(re.fullmatch(p, _text(one)) for p, _ in WEAKER[TARGETS[flavour].isa])


def weakenings(
    threads: Sequence[Thread], tested: frozenset[int], flavour: str
) -> Iterator[tuple[str, list[Thread]]]:
    """What was weakened, and the threads then. The n-th ordering instruction of every thread that
    holds the primitive is weakened at once: it is the same one."""
    count = max((len(_places(threads[i], flavour)) for i in tested), default=0)
    for n in range(count):
        for which in range(2):
            changes = {}
            for i in sorted(tested):
                places = _places(threads[i], flavour)
                if n < len(places) and (done := _weakened(threads[i], places[n], which, flavour)):
                    changes[i] = done
            if changes:
                said = next(iter(changes.values()))[0]
                title = said if count == 1 else f"{n + 1}: {said}"
                yield title, [changes[i][1] if i in changes else t for i, t in enumerate(threads)]


def _places(thread: Thread, flavour: str) -> list[int]:
    return [i for i, one in enumerate(thread.code) if is_ordering(one, flavour)]


def _text(one: Instruction) -> str:
    return f"dmb {one.operands}" if one.mnemonic == "dmb" else one.mnemonic


def _weakened(thread: Thread, place: int, which: int, flavour: str) -> tuple[str, Thread] | None:
    one = thread.code[place]
    for pattern, weaker in WEAKER[TARGETS[flavour].isa]:
        if (found := re.fullmatch(pattern, _text(one))) and which < len(weaker):
            mnemonic, _, operands = found.expand(weaker[which]).partition(" ")
            operands = operands or ("" if mnemonic == "nop" else one.operands)
            if mnemonic != "dmb" and one.mnemonic == "dmb":
                operands = ""
            code = list(thread.code)
            code[place] = replace(one, mnemonic=mnemonic, operands=operands)
            new = f"{mnemonic} {operands}" if mnemonic == "dmb" else mnemonic
            return f"{_text(one)} -> {new}", replace(thread, code=tuple(code))
    return None
