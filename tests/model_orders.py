"""The orders of a sequence of instructions, and whether they are all that lockimpl/arch/model.h
asks. A small table by hand has the orders of each instruction within its thread. It needs no herd7,
and does not say in which order several threads see things (IRIW, WRC): that is herd7's to say.
"""

import re
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

from results.errors import LockcrossError
from results.paths import ROOT
from sweeps.programs import TARGETS, find_compiler
from sweeps.questions.prove.assembly.instructions import Instruction, compiler_flags, probe_source
from sweeps.support import tools

Order = tuple[str, str]  # an access that comes before another one

_ALL = frozenset({"RR", "RW", "WR", "WW"})
_NOT_STORE_LOAD = _ALL - {"WR"}


@dataclass(frozen=True)
class Step:
    """An access, a barrier, or both. `number` is shared by the load and the store of an atomic."""

    number: int = -1
    loads: bool = False
    stores: bool = False
    acquires: bool = False
    releases: bool = False
    store_before_later: bool = False  # its store, too, is before later accesses
    barrier: frozenset[str] = frozenset()  # before and after it, by kind: RW is load, then store
    import_barrier: bool = False  # isync: own loads that a branch depends on, then everything

    @property
    def slots(self) -> list[str]:
        """Its load and its store."""
        return [f"R{self.number}"] * self.loads + [f"W{self.number}"] * self.stores


def orders(steps: Sequence[Step]) -> set[Order]:
    """The pairs of accesses that a sequence keeps in order: its own, and earlier and later ones of
    the thread (eR, eW, lR, lW)."""
    own = [step.slots for step in steps]
    ordered: set[Order] = set()
    for i, step in enumerate(steps):
        before = ["eR", "eW", *(slot for slots in own[:i] for slot in slots)]
        after = [slot for slots in own[i + 1 :] for slot in slots] + ["lR", "lW"]
        if step.acquires:
            ordered |= set(product([f"R{step.number}"], after))
        if step.store_before_later:
            ordered |= set(product([f"W{step.number}"], after))
        if step.releases:
            ordered |= set(product(before, [f"W{step.number}"]))
        if step.import_barrier:
            ordered |= set(product([event for event in before if event[0] == "R"], after))
        if step.barrier:
            around = product(before + step.slots, step.slots + after)
            ordered |= {
                (a, b)
                for a, b in around
                if a != b
                and _kind(a) + _kind(b) in step.barrier
                and (a not in step.slots or b not in step.slots)
            }
    return _closed(ordered)


def _kind(slot: str) -> str:
    return slot[1] if slot[0] in "el" else slot[0]


def _closed(pairs: set[Order]) -> set[Order]:
    """Add the orders that follow from two in a row."""
    while more := {(a, d) for a, b in pairs for c, d in pairs if b == c} - pairs:
        pairs = pairs | more
    return pairs


_BARRIERS = {
    "mfence": Step(barrier=_ALL),
    "sync": Step(barrier=_ALL),
    "hwsync": Step(barrier=_ALL),
    "lwsync": Step(barrier=_NOT_STORE_LOAD),
    "isync": Step(import_barrier=True),
    "dmb ish": Step(barrier=_ALL),
    "dmb ishld": Step(barrier=frozenset({"RR", "RW"})),
    "dmb ishst": Step(barrier=frozenset({"WW"})),
}


def machine_steps(code: Iterable[Instruction], flavour: str) -> list[Step]:
    """A compiled primitive."""
    reader = {"x86_64": _x86_64, "ppc64le": _power, "aarch64": _aarch64}[TARGETS[flavour].isa]
    steps: list[Step] = []
    number = -1
    for instruction in code:
        if barrier := _BARRIERS.get(instruction.order):
            steps.append(barrier)
        elif instruction.touches_memory():
            ends_pair = re.fullmatch(r"stl?xrh?|stwcx\.", instruction.mnemonic)
            number += not ends_pair
            steps.append(reader(instruction, number))
    return steps


def _x86_64(instruction: Instruction, number: int) -> Step:
    """Total store order: a load is before all later accesses, a store after all earlier ones."""
    if instruction.mnemonic.startswith("lock ") or instruction.mnemonic == "xchg":
        return Step(number, loads=True, stores=True, barrier=_ALL)
    stores = instruction.operands.endswith(")")
    return Step(number, not stores, stores, acquires=not stores, releases=stores)


def _power(instruction: Instruction, number: int) -> Step:
    stores = instruction.mnemonic.startswith("st")
    return Step(number, not stores, stores)


def _aarch64(instruction: Instruction, number: int) -> Step:
    name = instruction.mnemonic
    if ordering := re.fullmatch(r"(?:cas|swp|ldadd|ldset)(a?)(l?)h?", name):
        acquires, releases = bool(ordering[1]), bool(ordering[2])
        # With both, nothing passes it in either direction.
        return Step(number, True, True, acquires, releases, acquires and releases)
    stores = name.startswith("st")
    releases, acquires = name.startswith("stl"), bool(re.match(r"lda[xrp]", name))
    return Step(number, not stores, stores, acquires, releases)


_OPERATION = re.compile(
    r"__atomic_(?P<name>load|store|exchange|fetch_add|fetch_or(?!_4 \([^;]*, 0, 0\)))_\d+ "
    r"\([^;]*?(?P<order>\d)\)|"  # an update that changes nothing is of the model alone
    r"__atomic_(?P<fence>thread_fence) \((?P<kind>\d)\)|"
    r"ATOMIC_COMPARE_EXCHANGE \([^;]*, (?P<success>\d), \d\)"
)
_ACQUIRE, _RELEASE, _ACQ_REL, _SEQ_CST = 2, 3, 4, 5


def model_steps(text: str) -> list[Step]:
    """Return a primitive as C11 atomics, from GCC's form before it chooses instructions. A
    failed CAS promises nothing. A read-modify-write that is seq_cst stands for x86-64's, which is
    a full fence (lockimpl/arch/model.h)."""
    steps, number = [], -1
    for operation in _OPERATION.finditer(text):
        if operation["fence"]:
            full = int(operation["kind"]) == _SEQ_CST
            steps.append(Step(barrier=_ALL if full else frozenset()))
            continue
        number += 1
        order = int(operation["order"] or operation["success"])
        loads, stores = operation["name"] != "store", operation["name"] != "load"
        if loads and stores and order == _SEQ_CST:
            steps.append(Step(number, True, True, barrier=_ALL))
            continue
        acquires = loads and order in (_ACQUIRE, _ACQ_REL, _SEQ_CST)
        releases = stores and order in (_RELEASE, _ACQ_REL, _SEQ_CST)
        steps.append(Step(number, loads, stores, acquires, releases))
    return steps


@cache
def compile_model(model: str, fence: str) -> dict[str, list[Step]]:
    """Each primitive of lockimpl/arch/model.h, of its flavour MODEL_WEAK or MODEL_TSO."""
    with tempfile.TemporaryDirectory(prefix="lockcross-") as folder:
        source = Path(folder) / "model.c"
        source.write_text(probe_source(fence))
        flags = [*compiler_flags("lock", fence), f"-DLOCKCROSS_MODEL={model}"]
        dump = ["-fdump-tree-optimized=/dev/stdout", "-S", "-o", "/dev/null"]
        done = tools.run([find_compiler("lock"), *flags, *dump, str(source)], cwd=ROOT)
    if done.returncode != 0:
        raise LockcrossError(f"lockimpl/arch/model.h: {done.stderr[:2000]}", exit_code=1)
    texts = re.split(r"^;; Function (?:probe_)?(\w+).*$", done.stdout, flags=re.MULTILINE)
    return {name: model_steps(text) for name, text in zip(texts[1::2], texts[2::2], strict=True)}
