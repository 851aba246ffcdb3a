"""How set latencies reach gem5's cores: one mechanism each for atomics, fences and charges.

gem5 has no parameter for the latency of an atomic or a fence, except functional-unit timing of
Minor on AArch64. The other mechanisms are instructions after the operation; lockimpl/arch/latency.h
says how each works, gem5-configs/README.md which is used where.
"""

from dataclasses import dataclass

from results.model.cell import Cell
from sweeps.programs.builder import Mechanisms

# ISA and core model -> mechanisms that work there, the first is the default.
ATOMIC = {
    ("x86_64", "timing"): ("quiesce", "padding"),
    ("x86_64", "minor"): ("sentinel", "quiesce"),
    ("x86_64", "o3"): ("sentinel", "chain"),
    ("aarch64", "timing"): ("quiesce", "padding"),
    ("aarch64", "minor"): ("fu_timing", "sentinel"),
    ("aarch64", "o3"): ("sentinel", "chain"),
    ("ppc64le", "timing"): ("padding",),
    ("ppc64le", "minor"): ("sentinel", "padding"),
}
# POWER has one class for all floating point, so one sentinel.
FENCE = ATOMIC | {("ppc64le", "minor"): ("padding",)}

# Cycles of one turn of the padding loop, as measured; the calibration of charges checks it.
CYCLES_PER_TURN = {
    ("x86_64", "timing"): 2.0,
    ("x86_64", "minor"): 10.5,
    ("x86_64", "o3"): 1.0,
    ("aarch64", "timing"): 2.0,
    ("aarch64", "minor"): 4.0,
    ("aarch64", "o3"): 1.0,
    ("ppc64le", "timing"): 1.0,
    ("ppc64le", "minor"): 4.0,
}
_SINGLE_ISSUE_X86 = 12.0  # Minor, which decodes an operation a cycle then


@dataclass(frozen=True)
class Latencies:
    """What a cell sets, by mechanism.

    `mechanisms`: atomic, fence, charge -> mechanism, where something is set; `program`: what the
    program's arguments are (name -> amount); `config`: gem5's (name -> cycles); `chains`:
    atomic, fence -> operations compiled into the program.
    """

    mechanisms: dict[str, str]
    program: dict[str, int]
    config: dict[str, int]
    chains: dict[str, int]

    def built_in(self) -> Mechanisms:
        """What the program is built with. Functional-unit timing needs nothing there."""
        found = {k: v for k, v in self.mechanisms.items() if v != "fu_timing"}
        return Mechanisms(
            found.get("atomic", "engine"),
            found.get("fence", "engine"),
            found.get("charge", "engine"),
            self.chains.get("atomic", 0),
            self.chains.get("fence", 0),
        )


def mechanism(kind: str, isa: str, model: str, forced: str) -> str:
    """The mechanism of `atomic` or `fence`: the forced one where it works, else the default."""
    works = (ATOMIC if kind == "atomic" else FENCE)[isa, model]
    return forced if forced in works else works[0]


def cycles_per_turn(isa: str, model: str, width: int) -> float:
    """Cycles of one turn of the padding loop on a core of that width."""
    if (isa, model, width) == ("x86_64", "minor", 1):
        return _SINGLE_ISSUE_X86
    return CYCLES_PER_TURN[isa, model]


def latencies(
    cell: Cell, model: str, forced: str, charges: dict[str, int], width: int
) -> Latencies:
    """The mechanisms of a cell and their amounts. `charges`: kind -> cycles of the machine;
    `width`: that of its core."""
    where = (cell.isa, model)
    turn = cycles_per_turn(*where, width)
    mechanisms: dict[str, str] = {}
    program: dict[str, int] = {}
    config: dict[str, int] = {}
    chains: dict[str, int] = {}
    for kind, cycles in (("atomic", cell.cas), ("fence", cell.fence_latency)):
        if cycles is None:
            continue
        chosen = mechanism(kind, *where, forced)
        mechanisms[kind] = chosen
        if chosen == "quiesce":
            program[f"latency_{kind}"] = cycles
        elif chosen == "chain":
            chains[kind] = cycles
        elif chosen == "padding":
            program[f"latency_{kind}"] = round(cycles / turn)
        elif chosen == "sentinel":
            config[f"sentinel_{kind}"] = max(1, cycles)
        elif cycles:
            config[f"fu_{kind}"] = cycles
    if any(charges.values()):
        mechanisms["charge"] = "padding"
        program |= {f"latency_{name}": round(n / turn) for name, n in charges.items()}
    return Latencies(mechanisms, program, config, chains)
