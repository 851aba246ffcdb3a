"""The compiled code of the primitives and of the fast paths, read from the disassembly."""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from sweeps.model.isa import ISAS
from sweeps.model.locks import LockLabel
from sweeps.programs import TARGETS
from sweeps.questions.prove.assembly.instructions import Code, Instruction
from sweeps.questions.prove.assembly.instructions import _functions as instructions_of
from tests.locks.footprint_values import atomics, counts_of, kept_for
from tests.native_build import FLAVOURS, all_variants, build_native, sampled

CONDITIONAL = {
    "lock": re.compile(r"j(?!mp)\w+"),
    "larx": re.compile(r"b(n?eq?|ne|lt|gt|le|ge|so|ns|dnz|dz)[+-]?"),
    "lse": re.compile(r"b\.\w+|cbn?z|tbn?z"),
}
JUMP = {"lock": "jmp", "larx": "b", "lse": "b"}
RETURN = {"lock": re.compile(r"ret"), "larx": re.compile(r"b\w*lr[+-]?"), "lse": re.compile(r"ret")}
CALL = {"lock": "call", "larx": "bl", "lse": "bl"}
# The first instruction of every atomic, and the full fences.
ATOMIC = {
    "lock": re.compile(r"lock .*|xchg .*\(.*"),
    "larx": re.compile(r"l[wdbh]arx .*"),
    "lse": re.compile(r"(cas|ldadd|swp|ldset|ldclr|ldeor)\w* .*"),
    "llsc": re.compile(r"lda?xrh?b? .*"),
}
FULL_FENCE = {"lock": "mfence", "larx": "hwsync|sync|sync 0", "lse": "dmb ish"}
MAIN_JOB = ("tasuki", "reservation", "asym_tasuki")


def _like_lse(flavour: str) -> str:
    return "lse" if flavour == "llsc" else flavour


@cache
def disassemble(binary: Path, flavour: str) -> dict[str, Code]:
    """All functions of a program."""
    command = [f"{TARGETS[flavour].binutils}objdump", "-d", "-w", "--no-show-raw-insn", str(binary)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = instructions_of(done.stdout.splitlines())
    # GCC 14 gives a function whose arguments it has changed another name.
    return {re.sub(r"\.(isra|constprop)\.\d+", "", name): code for name, code in found.items()}


def text(instruction: Instruction) -> str:
    """As objdump shows it, without the place that a branch names."""
    return f"{instruction.mnemonic} {instruction.operands}".strip()


def paths(function: Code, flavour: str) -> set[tuple[int, int]]:
    """(atomics, full fences) of every way from the entry to a return that calls nothing and goes
    through no instruction twice."""
    isa = _like_lse(flavour)
    index = {instruction.address: i for i, instruction in enumerate(function)}
    found: set[tuple[int, int]] = set()
    work: list[tuple[int, int, int, frozenset[int]]] = [(0, 0, 0, frozenset())]
    while work:
        at, atomics, fences, seen = work.pop()
        if at in seen or at >= len(function):
            continue
        instruction = function[at]
        seen |= {at}
        atomics += bool(ATOMIC[flavour].fullmatch(text(instruction)))
        fences += bool(re.fullmatch(FULL_FENCE[isa], text(instruction)))
        name = instruction.mnemonic
        target = index.get(instruction.target) if instruction.target is not None else None
        if RETURN[isa].fullmatch(name):
            found.add((atomics, fences))
            if name not in ("ret", "blr"):
                work.append((at + 1, atomics, fences, seen))
        elif name != CALL[isa]:
            jumps = name == JUMP[isa]
            if not jumps:
                work.append((at + 1, atomics, fences, seen))
            if target is not None and (jumps or CONDITIONAL[isa].fullmatch(name)):
                work.append((target, atomics, fences, seen))
    return found


def probe(name: str, flavour: str, lock: str = "asym_tasuki", fence: str = "full") -> Code:
    """The code of one function of tests/native/probe.c."""
    binary = build_native("probe", lock, flavour, fence, runs=False)
    return disassemble(binary, flavour)[f"probe_{name}"]


def code_of(name: str, flavour: str, fence: str = "full") -> str:
    """One function's instructions."""
    return "; ".join(map(text, probe(name, flavour, fence=fence)))


def counted(lock: str, flavour: str, fence: str, operation: str) -> list[tuple[int, int]]:
    """(atomics, full fences) of every path through `acquire` or `release` that tests/footprint has
    of a lock: by its owner the outermost one and a nested one, then by other threads."""
    label = LockLabel.of(lock, fence=fence)
    full = ISAS[TARGETS[flavour].isa].full_fence.removeprefix("fence_")
    rows = {key: row for kept in kept_for().values() for key, row in kept.items()}
    found = []
    for by in ("owner", "any", "alone", "other"):
        if row := rows.get(f"{label} {flavour} {by}"):
            for path in (operation, f"nested_{operation}"):
                counts = counts_of(row, path)
                found.append((atomics(counts), counts.fences.get(full, 0)))
    return found


@pytest.mark.parametrize(
    ("lock", "flavour", "fence"),
    [
        *(one for one in all_variants() if sampled(one[0], "", one[2], one[1])),
        ("asym_tasuki", "llsc", "full"),
    ],
)
def test_fast_paths(lock: str, flavour: str, fence: str) -> None:
    """Each path that calls nothing is one of those that were counted, or gives up without an
    atomic; the owner's outermost one is there, unless the lock is all calls, and nested ones too
    in locks of the main job."""
    for operation in ("acquire", "release"):
        inlined = paths(probe(operation, flavour, lock, fence), flavour)
        known = counted(lock, flavour, fence, operation)
        assert inlined <= {(0, 0), *known}, operation
        if lock in MAIN_JOB:
            assert set(known[:2]) <= inlined, operation
        else:
            assert known[0] in inlined or inlined <= {(0, 0)}, operation


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_safepoint_is_a_load_and_a_branch(flavour: str) -> None:
    code = probe("safepoint", flavour)
    assert paths(code, flavour) == {(0, 0)}
    assert len(code) <= 12


# The others are those that herd7 has judged (tests/proofs/test_assembly.py).
@pytest.mark.parametrize(
    ("flavour", "name", "pattern"),
    [
        ("lock", "fetch_set", r"lock btsl \$0x8,\(%rdi\); .*mov \(%rdi\),%\w+; .*"),
        ("larx", "swap_u16", r".*lwsync; lwarx [^;]*; andc .*; or .*; stwcx\. .* isync; .*"),
    ],
)
def test_primitives_without_words_of_herd7(flavour: str, name: str, pattern: str) -> None:
    assert re.fullmatch(pattern, code_of(name, flavour)), code_of(name, flavour)


@pytest.mark.parametrize(
    ("flavour", "acquires"), [("larx", "isync"), ("lse", r"\w+al"), ("llsc", "ldaxr")]
)
@pytest.mark.parametrize(
    "lock", ["hotspot_light", "hotspot_stack", "biased", "futex_mutex", "byte_lock", "go_mutex"]
)
def test_a_runtimes_release_does_not_acquire(lock: str, flavour: str, acquires: str) -> None:
    """Behind its CAS, swap or addition POWER has no isync."""
    code = [i.mnemonic for i in probe("release", flavour, lock)]
    assert any(re.fullmatch(r"stwcx\.|stlxr|(cas|swp|ldadd)l", name) for name in code)
    assert not [name for name in code if re.fullmatch(acquires, name)]


@pytest.mark.parametrize(
    ("name", "stored", "loaded"),
    [
        ("u8_then_load", r"%sil,\(%rdi\)", r"mov \(%rdi\),%eax"),
        ("u8_then_load_next", r"%sil,\(%rdi\)", ""),
        ("u16_then_load_next", r"%si,0x2\(%rdi\)", ""),
        ("u32_then_load_next", r"%esi,\(%rdi\)", ""),
    ],
)
def test_fence_kinds_of_x86_64(name: str, stored: str, loaded: str) -> None:
    """With store forwarding the load of the next word is of both."""
    for fence, store, next_word in (
        ("rmw", "xchg", r"mov 0x4\(%rdi\),%eax"),
        ("store_forward", "mov", r"mov \(%rdi\),%rax; shr \$0x20,%rax"),
    ):
        code = code_of(f"store_{name}", "lock", fence)
        assert re.search(f"{store} {stored}; {loaded or next_word}", code), code


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *enumerate(["stop", "park", "unpark", "wake", "switch"]),
        *enumerate(["yield", "stop_blocked", "stop_ended"], 6),
    ],
)
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_charges(flavour: str, kind: int, name: str) -> None:
    register = 20 + kind if kind < 7 else 11 + kind
    known = {
        "lock": f"nopl {0x4C580000 + kind:#x}(%rax)",
        # An `or` of a register with itself, for which objdump has two names.
        "larx": "miso" if register == 26 else f"mr r{register},r{register}",
        "lse": f"hint #{112 + kind:#x}",
    }
    assert text(probe(f"charge_{name}", flavour)[0]) == known[_like_lse(flavour)]


@pytest.mark.parametrize("flavour", ["larx", "lse", "llsc"])
@pytest.mark.parametrize("fence", ["rmw", "store_forward"])
def test_a_fence_kind_that_an_isa_lacks_is_refused(
    flavour: str, fence: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        build_native("probe", "tasuki", flavour, fence, runs=False)
    assert "need x86-64's memory model" in capfd.readouterr().err
