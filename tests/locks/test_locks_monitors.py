"""Locks whose monitors are found by a header word or shared by objects in turn, and the variants
of the thin lock: under bare QEMU, and in the code that the compiler made."""

import re

import pytest

from sweeps.model.cell import unsupported_reason
from sweeps.model.isa import ISAS
from sweeps.model.locks import Trait, load_locks
from sweeps.programs import TARGETS
from sweeps.questions.prove.assembly.instructions import Code
from tests.fakes.cells import cell_of
from tests.locks.running import bare, passes
from tests.locks.test_generated_code import disassemble, paths, text
from tests.native_build import FLAVOURS, build_native

THIN = load_locks()["thin"]
VARIANTS = THIN.variants  # the default first
CALLED = VARIANTS[2:]
UNORDERED = [variant for variant in VARIANTS if THIN.has(Trait.UNORDERED, variant)]
# So few monitors that they go from object to object all the time.
FEW = "-DMONITOR_CACHE_SIZE=4 -DMONITOR_FREE_MAX=2 -DHOT_LOCKS=2 -DHOT_THRESHOLD=2".split()


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("lock", ["direct", "monitor_cache", "monitor_cache:jdk111", "hot"])
def test_nothing_is_lost(lock: str, flavour: str) -> None:
    """The waiter, the bound of the free list and the 33rd hot object are in monitors.c."""
    passes("monitors", lock, flavour, threads=2, iterations=20)
    if lock != "direct":
        for threads in (2, 3):
            passes("monitors", lock, flavour, *FEW, threads=threads, iterations=60, seed=threads)


ACQUIRE = {"larx": r"\bisync", "lse": r"\bcasa ", "llsc": r"\bldaxr "}
RELEASE = {"larx": r"\blwsync", "lse": r"\bstlr ", "llsc": r"\bstlr "}
CAS = {"larx": r"\blwarx ", "lse": r"\bcasa? ", "llsc": r"\blda?xr "}


def weakly_ordered(flavour: str) -> bool:
    return ISAS[TARGETS[flavour].isa].weakly_ordered


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("variant", UNORDERED)
def test_without_orders_it_is_for_one_processor(variant: str, flavour: str) -> None:
    """By the program itself; threads may be more. x86-64 needs none of these orders."""
    for cores in ({}, {"cores": 1}, {"cores": 2}):
        keys = {"threads": 2, "iterations": 1, **cores}
        outcome = bare("sync", f"thin:{variant}", flavour, **keys)
        refused = weakly_ordered(flavour) and cores != {"cores": 1}
        said = "a thin lock without orders is for one processor on this ISA" if refused else ""
        assert (outcome.code, outcome.result["error"]) == (int(refused), said)


def test_cells_are_refused_for_the_same_reason() -> None:
    def refusal(isa: str, variant: str, threads: int, cores: int | None = None) -> str:
        chosen = {"flavour": ISAS[isa].flavours[0], "variant": variant, "threads": threads}
        keys = {"iterations": 9, "critical": 0, "think": 0}
        cell = cell_of("thin", "threads", parameters=keys, cores=cores, **chosen)
        return unsupported_reason(cell)

    for isa in ISAS:
        for variant in VARIANTS[1:]:
            refused = isa != "x86_64" and variant in ("inline", "fn_call")
            assert ("no acquire and release ordering" in refusal(isa, variant, 2)) == refused
            assert refusal(isa, variant, 1) == refusal(isa, variant, 2, cores=1) == ""


def code(variant: str, flavour: str) -> dict[str, Code]:
    """The functions of tests/native/probe.c, with a variant of thin."""
    built = "" if variant == VARIANTS[0] else variant
    binary = build_native("probe", "thin", flavour, "full", variant=built, runs=False)
    return disassemble(binary, flavour)


def operation(name: str, variant: str, flavour: str) -> Code:
    """`acquire` or `release`: the routine where there is one, else the inlined code."""
    functions = code(variant, flavour)
    return functions.get(f"thin_{name}") or functions[f"probe_{name}"]


RELEASES = {  # atomics and full fences: outermost; nested
    "mp_sync": {(0, 1), (0, 0)},
    "dynamic": {(0, 1), (0, 0)},
    "unlk_cas": {(1, 1), (1, 0)},
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_code_of_thins_variants(variant: str, flavour: str) -> None:
    functions = code(variant, flavour)
    for name in ("acquire", "release"):
        routine = functions.get(f"thin_{name}")
        assert (routine is not None) == (variant in CALLED)
        if routine:
            # A local entry of POWER lies behind the global one.
            entries = {i.address for i in routine[:3]}
            assert any(i.target in entries for i in functions[f"probe_{name}"])
    assert paths(operation("acquire", variant, flavour), flavour) == {(1, 0)}
    released = paths(operation("release", variant, flavour), flavour)
    assert released == RELEASES.get(variant, {(0, 0)})


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_orders_of_thins_variants(flavour: str) -> None:
    if not weakly_ordered(flavour):
        for name in ("acquire", "release"):
            assert operation(name, "inline", flavour) == operation(name, "inline_mp", flavour)
        return
    for variant in VARIANTS:
        acquire, release = (
            "; ".join(map(text, operation(name, variant, flavour)))
            for name in ("acquire", "release")
        )
        orders = len(re.findall(ACQUIRE[flavour], acquire))
        assert (orders > 0) == (variant not in UNORDERED), variant
        # The others have the full fence.
        assert bool(re.search(RELEASE[flavour], release)) == (variant == "inline_mp"), variant
        if variant in ("dynamic", "unlk_cas"):  # both ways; x86-64 has one instruction for both
            assert (len(re.findall(CAS[flavour], acquire)), orders) == (2, 1)
